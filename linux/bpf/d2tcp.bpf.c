// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* D2TCP for stock Linux: a congestion control, the socket options by which programs tell deadlines, and the choice
 * of the connections that get it.
 *
 * Some kernels leave a BPF program out now and then, so no callback relies on another one having run. The window
 * lives in our own state; the kernel's snd_cwnd only ever gets a copy of it, and what happened since the last
 * call (segments delivered, marked, lost) is read from the kernel's own counters. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#define D2TCP_KERNEL_SIDE
#include "../include/d2tcp.h"
#include "shared.h"

/* The kernel lets only programs under the GPL call some of its functions. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* From the kernel's sources, where they are not types. */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
/* Classic ECN or accurate ECN was negotiated. */
#define TCP_ECN_MODES (1 | 16)
#define TCP_ECN_DEMAND_CWR 4
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define PAGE_SIZE 4096

/* The same control for connections whose peer refused ECN: their packets must not say that they can be marked. */
#define RENO_NAME "d2tcp_reno"

/* One in so many calls is timed. */
#define SAMPLE_EVERY 64

extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym;

/* In the room that the socket has for its control: 1 + whether the last data was marked, what had been received until
 * then, and whose connection it is, 0 before it has begun. */
enum { MARKED, RECEIVED, OWNER };

/* What is kept of a connection: zeros at first. Whoever touches it holds the socket's lock. */
struct d2tcp_socket {
	struct law_state law;
	__u64 id;
	__u32 delivered;	/* the kernel's counters at the last call */
	__u32 delivered_ce;
	__u32 lost;
	__u32 written;		/* the window that we gave the kernel */
	__u32 prr_delivered;	/* RFC 6937 */
	__u32 prr_out;		/* the kernel's at the last call, and when the repair began */
	__u32 prr_before;
	__u32 stream;		/* which connection of the socket this is: its first sequence number */
	__u32 repairing;
	__u32 asked;		/* the kernel wanted a lower ssthresh */
	__u32 timed_out;
	__u32 plain;		/* under RENO_NAME */
	__u32 switching;
	__u32 counted;		/* as opened */
	__u32 connecting;	/* came under the control before the peer had answered */
	__u64 bytes_marked;
	__u64 messages;
	__u64 met;
	__u64 missed;
	__u64 windows;
	__u64 cuts;
	__u64 losses;
	__u64 timeouts;
	__u64 last_end;		/* of the message announced last */
	__u32 first;		/* of the queue */
	__u32 queued;
	struct law_message queue[D2TCP_QUEUE];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct d2tcp_socket);
} d2tcp_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct law_parameters);
} d2tcp_law SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct d2tcp_about);
} d2tcp_about SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct d2tcp_counters);
} d2tcp_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, D2TCP_WORDS);
	__type(key, __u32);
	__type(value, __u64);
} d2tcp_words SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} d2tcp_events SEC(".maps");

static __always_inline struct d2tcp_counters *counters(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&d2tcp_counts, &zero);
}

#define COUNT(field, n)                                  \
	do {                                             \
		struct d2tcp_counters *c = counters();   \
		if (c)                                   \
			c->field += (n);                 \
	} while (0)

static __always_inline __u64 *word(__u32 which)
{
	return bpf_map_lookup_elem(&d2tcp_words, &which);
}

static __always_inline bool ecn_agreed(const struct tcp_sock *tp)
{
	return tp->ecn_flags & TCP_ECN_MODES;
}

static __always_inline __u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

static __always_inline __u32 flags_of(const struct d2tcp_socket *s, const struct tcp_sock *tp, __u64 now,
				      __u64 margin)
{
	const struct law_message *message = &s->queue[s->first & (D2TCP_QUEUE - 1)];
	__u32 flags = 0;

	if (ecn_agreed(tp))
		flags |= D2TCP_ECN;
	if (s->law.cwnd < s->law.ssthresh)
		flags |= D2TCP_SLOW_START;
	if (s->repairing)
		flags |= D2TCP_RECOVERY;
	if (s->queued) {
		flags |= D2TCP_DEADLINE;
		if (message->deadline_ns <= now + margin)
			flags |= D2TCP_EXPIRED;
	}
	return flags;
}

static __always_inline void address_of(struct d2tcp_address *to, struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;

	to->netns = common->skc_net.net->net_cookie;
	to->family = common->skc_family;
	to->local_port = common->skc_num;
	to->remote_port = bpf_ntohs(common->skc_dport);
	if (to->family == AF_INET6) {
		__u32 *local = (__u32 *)to->local, *remote = (__u32 *)to->remote;

		local[0] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[0];
		local[1] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[1];
		local[2] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[2];
		local[3] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[3];
		remote[0] = common->skc_v6_daddr.in6_u.u6_addr32[0];
		remote[1] = common->skc_v6_daddr.in6_u.u6_addr32[1];
		remote[2] = common->skc_v6_daddr.in6_u.u6_addr32[2];
		remote[3] = common->skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		__builtin_memset(to->local, 0, sizeof(to->local));
		__builtin_memset(to->remote, 0, sizeof(to->remote));
		*(__u32 *)to->local = common->skc_rcv_saddr;
		*(__u32 *)to->remote = common->skc_daddr;
	}
}

static __always_inline void tell(struct sock *sk, struct tcp_sock *tp, struct d2tcp_socket *s, __u32 kind, __u64 now,
				 __u64 margin)
{
	__u64 *until = word(D2TCP_TRACED_UNTIL);
	struct d2tcp_event *event;

	if (!until || *until < now)
		return;
	event = bpf_ringbuf_reserve(&d2tcp_events, sizeof(*event), 0);
	if (!event) {
		COUNT(events_lost, 1);
		return;
	}
	event->time_ns = now;
	event->id = s->id;
	address_of(&event->address, sk);
	event->kind = kind;
	event->flags = flags_of(s, tp, now, margin);
	event->cwnd = s->law.cwnd;
	event->ssthresh = s->law.ssthresh;
	event->alpha = s->law.alpha;
	event->d = s->law.d;
	event->p = s->law.p;
	event->srtt_us = tp->srtt_us >> 3;
	event->bytes_acked = tp->bytes_acked;
	event->messages_done = s->met + s->missed;
	bpf_ringbuf_submit(event, 0);
}

/* The following are not static: so the verifier looks at each of them once and for itself, instead of at every way
 * through all of them together. */

/* Takes the messages from the queue whose last byte has been acknowledged. Gives D2TCP_EVENT_DONE if there was
 * one. */
__noinline __u32 complete(struct d2tcp_socket *s, __u64 una, __u64 now)
{
	__u64 met, missed;
	int i;

	if (!s)
		return 0;
	met = s->met;
	missed = s->missed;
	for (i = 0; i < D2TCP_QUEUE; i++) {
		const struct law_message *message = &s->queue[s->first & (D2TCP_QUEUE - 1)];

		if (!s->queued || message->end > una)
			break;
		/* Counted in memory: the verifier follows every value that a variable can have. */
		if (message->deadline_ns >= now)
			s->met++;
		else
			s->missed++;
		s->first++;
		s->queued--;
	}
	met = s->met - met;
	missed = s->missed - missed;
	if (!met && !missed)
		return 0;
	COUNT(met, met);
	COUNT(missed, missed);
	return D2TCP_EVENT_DONE;
}

/* The law's answer to an acknowledgement. */
__noinline __u32 step(struct law_state *law, const struct law_parameters *how, const struct law_message *message,
		      const struct law_ack *ack)
{
	if (!law || !how || !message || !ack)
		return 0;
	return law_on_ack(law, how, message, ack);
}

__noinline int count_window(const struct law_state *law, __u64 deadline)
{
	static const __u32 bounds[] = D2TCP_D_BOUNDS;
	struct d2tcp_counters *c = counters();
	__u32 bucket;

	if (!c || !law)
		return 0;
	c->windows++;
	bucket = law->alpha >> 26;
	if (bucket >= D2TCP_ALPHA_BUCKETS)
		bucket = D2TCP_ALPHA_BUCKETS - 1;
	c->alpha[bucket]++;
	c->alpha_sum += law->alpha;
	if (!deadline)
		return 0;
	c->windows_deadline++;
	c->d_sum += law->d;
#pragma unroll
	for (bucket = 0; bucket < D2TCP_D_BUCKETS - 1; bucket++)
		if ((__u64)law->d * 100 <= (__u64)bounds[bucket] * LAW_UNIT) {
			c->d[bucket]++;
			return 0;
		}
	c->d[D2TCP_D_BUCKETS - 1]++;
	return 0;
}

/* What tells this attachment's connections from those of an earlier one, which has taken its maps with it. */
static __always_inline __u64 generation(void)
{
	__u32 zero = 0;
	struct d2tcp_about *about = bpf_map_lookup_elem(&d2tcp_about, &zero);

	return about ? about->since_ns : 0;
}

/* A socket that could not connect may try again: what was announced for the connection before is void. */
static __always_inline void check_stream(struct d2tcp_socket *s, const struct tcp_sock *tp)
{
	__u32 stream = tp->snd_una - (__u32)tp->bytes_acked;

	if (s->stream == stream)
		return;
	s->stream = stream;
	COUNT(unfinished, s->queued);
	s->queued = 0;
	s->last_end = 0;
}

static __always_inline void count_opened(struct d2tcp_socket *s)
{
	if (s->counted)
		return;
	s->counted = 1;
	COUNT(opened, 1);
}

/* The connection begins, or comes over from another control in the middle of its life. */
static __always_inline void begin(struct d2tcp_socket *s, const struct tcp_sock *tp, const struct law_parameters *how)
{
	__u64 *last_id = word(D2TCP_LAST_ID);

	law_start(&s->law, how, (__u64)tp->snd_cwnd << 20, (__u64)tp->snd_ssthresh << 20);
	check_stream(s, tp);
	/* The SYN is the first delivery: the rest is acknowledged by the packet that we are called for. */
	s->delivered = s->connecting ? 1 : tp->delivered;
	s->delivered_ce = s->connecting ? 0 : tp->delivered_ce;
	s->lost = tp->lost;
	s->written = tp->snd_cwnd;
	s->repairing = 0;
	s->asked = 0;
	s->timed_out = 0;
	if (!s->id && last_id)
		s->id = __sync_fetch_and_add(last_id, 1) + 1;
	count_opened(s);
}

/* What may be sent while a loss is repaired: proportional rate reduction, RFC 6937 3. */
static __always_inline __u32 reduced(struct d2tcp_socket *s, const struct tcp_sock *tp, __u32 delivered)
{
	__u32 flight = in_flight(tp), target = s->law.ssthresh >> 20, prior = s->law.prior_cwnd >> 20, out, send;

	/* The kernel counts what is sent from the first echo on, if the loss comes in the window of a cut; and anew if
	 * one repair follows another. */
	if (!s->repairing || tp->prr_out < s->prr_out) {
		s->prr_before = s->repairing ? 0 : tp->prr_out;
		s->prr_delivered = 0;
	}
	s->prr_out = tp->prr_out;
	out = tp->prr_out - s->prr_before;
	s->prr_delivered += delivered;
	if (!prior)
		prior = 1;
	if (flight > target) {
		__u64 allowed = ((__u64)target * s->prr_delivered + prior - 1) / prior;

		send = allowed > out ? allowed - out : 0;
	} else {
		send = s->prr_delivered > out ? s->prr_delivered - out : 0;
		if (send < delivered)
			send = delivered;
		if (send > target - flight)
			send = target - flight;
	}
	/* The first retransmission must leave. */
	if (!out && !send)
		send = 1;
	return flight + send;
}

/* Reno in all but name where ECN was refused: visible in ss, and without ECT in the packets. */
static __always_inline void change_to_reno(struct sock *sk, struct d2tcp_socket *s)
{
	char name[] = RENO_NAME;
	long failed;

	s->switching = 1;
	failed = bpf_setsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name) - 1);
	s->switching = 0;
	if (!failed)
		s->plain = 1;
}

static __always_inline void control(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	__u32 zero = 0, what = 0, kind = 0, delivered, marked, state, window, threshold;
	struct law_parameters *how = bpf_map_lookup_elem(&d2tcp_law, &zero);
	struct law_message message = {};
	struct law_ack ack = {};
	struct d2tcp_socket *s;
	bool limited;
	__u64 rate;

	/* The answer to our SYN: the first window is not known yet. */
	if (sk->__sk_common.skc_state == TCP_SYN_SENT)
		return;
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s || !how) {
		COUNT(no_memory, 1);
		return;
	}
	if (!s->law.started)
		begin(s, tp, how);
	if (!icsk->icsk_ca_priv[OWNER])
		icsk->icsk_ca_priv[OWNER] = generation();
	if (!s->plain && !ecn_agreed(tp))
		change_to_reno(sk, s);

	delivered = tp->delivered - s->delivered;
	marked = tp->delivered_ce - s->delivered_ce;
	if (marked > delivered)
		marked = delivered;
	s->delivered = tp->delivered;
	s->delivered_ce = tp->delivered_ce;
	state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);

	ack.now_ns = bpf_ktime_get_ns();
	ack.mss = tp->mss_cache;
	ack.una = tp->bytes_acked;
	ack.next = ack.una + (tp->snd_nxt - tp->snd_una);
	ack.acked = delivered;
	ack.marked = marked;
	ack.segments = delivered;
	ack.rtt_ns = 1000ull * (how->minimum_rtt ? tp->rtt_min.s[0].v : tp->srtt_us >> 3);
	if (how->minimum_rtt && tp->rtt_min.s[0].v == ~0u)
		ack.rtt_ns = 0;

	/* Lost segments have been counted since the last call, or the kernel repaired a loss with a probe of its
	 * tail (RFC 8985 7.4): then it asked for ssthresh though there was no echo and nothing is left to do. */
	if (tp->lost != s->lost || (s->asked && !marked && state <= TCP_CA_Disorder)) {
		if (law_on_loss(&s->law, ack.una, ack.next)) {
			s->losses++;
			COUNT(losses, 1);
			kind |= D2TCP_EVENT_LOSS;
		}
		/* On a timeout the kernel begins again with what is in flight and one segment. It tells of it only
		 * where no loss was being repaired. */
		if (s->timed_out || tp->snd_cwnd < s->written) {
			s->law.cwnd = (__u64)(tp->snd_cwnd ? tp->snd_cwnd : 1) << 20;
			if (!s->timed_out) {
				s->timeouts++;
				COUNT(timeouts, 1);
			}
		}
		s->lost = tp->lost;
	}
	s->asked = 0;
	s->timed_out = 0;

	limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) ||
		  (s->law.cwnd < s->law.ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
	ack.may_grow = limited && state != TCP_CA_Recovery;
	ack.may_cut = state < TCP_CA_Recovery;

	if (s->queued) {
		kind |= complete(s, ack.una, ack.now_ns);
		if (s->queued)
			message = s->queue[s->first & (D2TCP_QUEUE - 1)];
	}
	if (delivered) {
		what = step(&s->law, how, &message, &ack);
		s->bytes_marked += (__u64)marked * ack.mss;
		COUNT(delivered, delivered);
		COUNT(delivered_ce, marked);
	}
	if (what & LAW_WINDOW) {
		kind |= D2TCP_EVENT_WINDOW;
		s->windows++;
		count_window(&s->law, message.end);
	}
	if (what & LAW_CUT) {
		kind |= D2TCP_EVENT_CUT;
		s->cuts++;
		COUNT(cuts, 1);
	}

	/* A window that may not be used must not grow, or no cut would ever be felt. */
	s->law.cwnd = law_min(s->law.cwnd, (__u64)tp->snd_cwnd_clamp << 20);
	window = s->law.cwnd >> 20;
	if (state == TCP_CA_Recovery) {
		window = reduced(s, tp, delivered);
		s->repairing = 1;
	} else {
		s->repairing = 0;
	}
	if (window > tp->snd_cwnd_clamp)
		window = tp->snd_cwnd_clamp;
	if (!window)
		window = 1;
	threshold = s->law.ssthresh >= LAW_MAX_WINDOW ? TCP_INFINITE_SSTHRESH : s->law.ssthresh >> 20;
	tp->snd_cwnd = window;
	tp->snd_ssthresh = threshold;
	s->written = window;

	/* With this kind of control the kernel leaves the pacing rate alone, though it sizes its bursts by it. */
	rate = law_pacing_rate((__u64)window << 20, s->law.ssthresh, tp->packets_out, tp->mss_cache,
			       125ull * tp->srtt_us);
	if (rate)
		sk->sk_pacing_rate = law_min(rate, sk->sk_max_pacing_rate);
	if (kind)
		tell(sk, tp, s, kind, ack.now_ns, how->margin_ns);
}

/* Newer kernels pass (sk, ack, flag, rs), older ones (sk, rs): the first is all that is needed. */
SEC("struct_ops")
void BPF_PROG(d2tcp_cong_control, struct sock *sk)
{
	struct d2tcp_counters *c = counters();
	__u64 start = 0;

	if (c && !(c->calls++ & (SAMPLE_EVERY - 1)))
		start = bpf_ktime_get_ns();
	control(sk);
	if (c && start) {
		c->sampled++;
		c->sampled_ns += bpf_ktime_get_ns() - start;
	}
}

/* The receiver (RFC 8257 3.2): every ACK says whether the data that it acknowledges was marked. When that changes
 * while an ACK is held back, that one goes first and says what was. */
static __always_inline void receive(struct sock *sk, bool marked)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 *before = &icsk->icsk_ca_priv[MARKED], *received = &icsk->icsk_ca_priv[RECEIVED];
	__u64 now = 1 + marked;

	if (*before != now) {
		if (*before && icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			if (*before == 2)
				tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
			else
				tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
			bpf_tcp_send_ack(tp, *received);
		}
		if (*before || marked)
			icsk->icsk_ack.pending |= ICSK_ACK_NOW;
		*before = now;
	}
	*received = tp->rcv_nxt;
	if (marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

SEC("struct_ops")
void BPF_PROG(d2tcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct d2tcp_counters *c;
	struct d2tcp_socket *s;
	__u64 start = 0;

	switch (event) {
	case CA_EVENT_ECN_IS_CE:
	case CA_EVENT_ECN_NO_CE:
		c = counters();
		if (c && !(c->receiver_calls++ & (SAMPLE_EVERY - 1)))
			start = bpf_ktime_get_ns();
		receive(sk, event == CA_EVENT_ECN_IS_CE);
		if (c && start) {
			c->receiver_sampled++;
			c->receiver_sampled_ns += bpf_ktime_get_ns() - start;
		}
		break;
	case CA_EVENT_LOSS:
		s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, 0);
		if (!s)
			break;
		s->timed_out = 1;
		s->timeouts++;
		COUNT(timeouts, 1);
		break;
	default:
		break;
	}
}

SEC("struct_ops")
__u32 BPF_PROG(d2tcp_ssthresh, struct sock *sk)
{
	struct d2tcp_socket *s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, 0);
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (!s || !s->law.started)
		return tp->snd_cwnd > 4 ? tp->snd_cwnd / 2 : 2;
	s->asked = 1;
	return law_max(law_min(s->law.ssthresh, s->law.cwnd) >> 20, 2);
}

SEC("struct_ops")
__u32 BPF_PROG(d2tcp_undo_cwnd, struct sock *sk)
{
	struct d2tcp_socket *s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, 0);
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 window;

	if (!s || !s->law.started)
		return tp->snd_cwnd;
	/* What the law has not heard of, it has not answered: it remembers an older loss, if any. */
	if (!s->asked && !s->timed_out)
		law_undo(&s->law);
	s->lost = tp->lost;
	s->asked = 0;
	s->timed_out = 0;
	COUNT(undone, 1);
	window = law_max(s->law.cwnd >> 20, 2);
	s->written = window;
	return window;
}

static __always_inline void open(struct sock *sk, bool plain)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 zero = 0;
	struct law_parameters *how = bpf_map_lookup_elem(&d2tcp_law, &zero);
	struct d2tcp_socket *s;

	icsk->icsk_ca_priv[MARKED] = 0;
	icsk->icsk_ca_priv[RECEIVED] = 0;
	icsk->icsk_ca_priv[OWNER] = generation();
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s || !how) {
		COUNT(no_memory, 1);
		return;
	}
	if (plain)
		COUNT(without_ecn, 1);
	s->plain = plain;
	if (s->switching)
		return;
	count_opened(s);
	/* While it connects neither the first window nor the peer's answer on ECN is known. */
	s->connecting = sk->__sk_common.skc_state == TCP_SYN_SENT;
	if (s->connecting)
		return;
	begin(s, tp, how);
	if (!plain && !ecn_agreed(tp))
		change_to_reno(sk, s);
}

SEC("struct_ops")
void BPF_PROG(d2tcp_init, struct sock *sk)
{
	open(sk, false);
}

SEC("struct_ops")
void BPF_PROG(d2tcp_reno_init, struct sock *sk)
{
	open(sk, true);
}

SEC("struct_ops")
void BPF_PROG(d2tcp_release, struct sock *sk)
{
	struct d2tcp_socket *s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, 0);
	__u64 now = bpf_ktime_get_ns(), missed;
	int i;

	if (!s || s->switching)
		return;
	missed = s->missed;
	for (i = 0; i < D2TCP_QUEUE && i < s->queued; i++)
		if (s->queue[(s->first + i) & (D2TCP_QUEUE - 1)].deadline_ns < now)
			s->missed++;
	missed = s->missed - missed;
	COUNT(missed, missed);
	COUNT(unfinished, s->queued - missed);
	if (s->counted)
		COUNT(closed, 1);
	bpf_sk_storage_delete(&d2tcp_sockets, sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops d2tcp = {
	.init = (void *)d2tcp_init,
	.release = (void *)d2tcp_release,
	.ssthresh = (void *)d2tcp_ssthresh,
	.undo_cwnd = (void *)d2tcp_undo_cwnd,
	.cwnd_event = (void *)d2tcp_cwnd_event,
	.cong_control = (void *)d2tcp_cong_control,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = D2TCP_NAME,
};

SEC(".struct_ops.link")
struct tcp_congestion_ops d2tcp_reno = {
	.init = (void *)d2tcp_reno_init,
	.release = (void *)d2tcp_release,
	.ssthresh = (void *)d2tcp_ssthresh,
	.undo_cwnd = (void *)d2tcp_undo_cwnd,
	.cwnd_event = (void *)d2tcp_cwnd_event,
	.cong_control = (void *)d2tcp_cong_control,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = RENO_NAME,
};

/* Whether the socket's control is one of ours. */
static __always_inline bool is_ours(const struct inet_connection_sock *icsk)
{
	const char *name = icsk->icsk_ca_ops->name;

	return name[0] == 'd' && name[1] == '2' && name[2] == 't' && name[3] == 'c' && name[4] == 'p' &&
	       (name[5] == 0 || name[5] == '_');
}

/* Refuses the call. */
static __always_inline int refuse(int error)
{
	bpf_set_retval(-error);
	return 0;
}

/* What is wrong with the socket: 0 if nothing is. */
static __always_inline int unfit(struct bpf_sock *sk, const struct tcp_sock *tp)
{
	__u64 owner;

	if (sk->type != SOCK_STREAM || sk->protocol != IPPROTO_TCP)
		return EOPNOTSUPP;
	if (!is_ours(&tp->inet_conn))
		return EOPNOTSUPP;
	owner = tp->inet_conn.icsk_ca_priv[OWNER];
	return owner && owner != generation() ? EOPNOTSUPP : 0;
}

SEC("cgroup/setsockopt")
int d2tcp_setsockopt(struct bpf_sockopt *ctx)
{
	struct d2tcp_message *wanted = ctx->optval;
	struct bpf_sock *sk = ctx->sk;
	struct law_message *slot;
	struct d2tcp_socket *s;
	struct tcp_sock *tp;
	__u64 written;
	int error;

	if (ctx->level != D2TCP_LEVEL) {
		/* More than a page is seen only in part: the kernel shall take the program's own. */
		if (ctx->optlen > PAGE_SIZE)
			ctx->optlen = 0;
		return 1;
	}
	if (ctx->optname != D2TCP_MESSAGE)
		return 1;
	if (!sk)
		return 1;
	tp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	if (ctx->optlen != sizeof(*wanted) || (void *)(wanted + 1) > ctx->optval_end || wanted->bytes <= 0 ||
	    wanted->bytes > D2TCP_MAX_BYTES || wanted->deadline_ns <= 0 ||
	    wanted->deadline_ns > D2TCP_MAX_DEADLINE_NS) {
		COUNT(refused, 1);
		return refuse(EINVAL);
	}
	error = unfit(sk, tp);
	if (error)
		return refuse(error);
	if (!((1 << (sk->state & 15)) &
	      (1 << TCP_ESTABLISHED | 1 << TCP_SYN_SENT | 1 << TCP_SYN_RECV | 1 << TCP_CLOSE_WAIT)))
		return refuse(ENOTCONN);
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		return refuse(ENOMEM);
	check_stream(s, tp);
	if (s->queued)
		complete(s, tp->bytes_acked, bpf_ktime_get_ns());
	if (s->queued >= D2TCP_QUEUE) {
		COUNT(queue_full, 1);
		return refuse(ENOBUFS);
	}
	written = tp->bytes_acked + (__u32)(tp->write_seq - tp->snd_una);
	if (written < s->last_end)
		written = s->last_end;
	slot = &s->queue[(s->first + s->queued) & (D2TCP_QUEUE - 1)];
	slot->end = written + wanted->bytes;
	slot->deadline_ns = bpf_ktime_get_ns() + wanted->deadline_ns;
	s->last_end = slot->end;
	s->queued++;
	s->messages++;
	COUNT(messages, 1);
	/* Done: the kernel shall not look for the option. */
	ctx->optlen = -1;
	return 1;
}

static __always_inline void describe(struct d2tcp_state *to, const struct d2tcp_socket *s, const struct tcp_sock *tp)
{
	const struct law_message *message = &s->queue[s->first & (D2TCP_QUEUE - 1)];
	__u32 zero = 0;
	struct law_parameters *how = bpf_map_lookup_elem(&d2tcp_law, &zero);
	__u64 now = bpf_ktime_get_ns(), acked = tp->bytes_acked;
	/* Before its first acknowledgement, and between a timeout and the next, the window is the kernel's. */
	__u64 cwnd = s->law.started && tp->snd_cwnd >= s->written ? s->law.cwnd : (__u64)tp->snd_cwnd << 20;
	__u64 ssthresh = s->law.started ? s->law.ssthresh : LAW_MAX_WINDOW;

	to->version = D2TCP_STATE_VERSION;
	to->size = sizeof(*to);
	to->flags = flags_of(s, tp, now, how ? how->margin_ns : 0);
	to->mss = tp->mss_cache;
	to->cwnd = cwnd >> 20;
	to->cwnd_fraction = cwnd & (LAW_UNIT - 1);
	to->ssthresh = ssthresh >= LAW_MAX_WINDOW ? TCP_INFINITE_SSTHRESH : ssthresh >> 20;
	to->srtt_us = tp->srtt_us >> 3;
	to->alpha = (s->law.alpha + 512) >> 10;
	to->d = s->law.started ? s->law.d : LAW_UNIT;
	to->p = (s->law.p + 512) >> 10;
	to->queued = s->queued;
	to->messages = s->messages;
	to->met = s->met;
	to->missed = s->missed;
	to->time_left_ns = s->queued ? message->deadline_ns - now : 0;
	to->bytes_left = s->queued && message->end > acked ? message->end - acked : 0;
	to->bytes_acked = acked;
	to->bytes_marked = s->bytes_marked;
	to->windows = s->windows;
	to->cuts = s->cuts;
	to->losses = s->losses;
	to->timeouts = s->timeouts;
}

SEC("cgroup/getsockopt")
int d2tcp_getsockopt(struct bpf_sockopt *ctx)
{
	struct d2tcp_state *to = ctx->optval;
	struct bpf_sock *sk = ctx->sk;
	struct d2tcp_socket *s;
	struct d2tcp_state state = {};
	struct tcp_sock *tp;
	__u32 room;
	int error;

	if (ctx->level != D2TCP_LEVEL) {
		if (ctx->optlen > PAGE_SIZE)
			ctx->optlen = 0;
		return 1;
	}
	if (ctx->optname != D2TCP_STATE || !sk)
		return 1;
	if (ctx->optlen < 8)
		return refuse(EINVAL);
	tp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	error = unfit(sk, tp);
	if (error)
		return refuse(error);
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		return refuse(ENOMEM);
	check_stream(s, tp);
	if (s->queued)
		complete(s, tp->bytes_acked, bpf_ktime_get_ns());
	describe(&state, s, tp);
	room = ctx->optlen;
	if (room > sizeof(state))
		room = sizeof(state);
	if ((void *)(to + 1) <= ctx->optval_end) {
		*to = state;
	} else {
		/* A program of an older interface: the beginning, in whole words. */
		__u32 *from = (__u32 *)&state, *into = ctx->optval;
		int i;

		room &= ~3u;
		for (i = 0; i < sizeof(state) / 4; i++) {
			if ((void *)(into + i + 1) > ctx->optval_end)
				break;
			into[i] = from[i];
		}
	}
	ctx->optlen = room;
	ctx->retval = 0;
	return 1;
}

/* Whether the operator wants the control for a connection with these ports. */
static __always_inline bool selected(__u32 local, __u32 remote)
{
	__u32 zero = 0;
	struct d2tcp_about *about = bpf_map_lookup_elem(&d2tcp_about, &zero);

	if (!about)
		return false;
	switch (about->select) {
	case D2TCP_SELECT_ALL:
		return true;
	case D2TCP_SELECT_PORTS:
		return (local >= about->port_low && local <= about->port_high) ||
		       (remote >= about->port_low && remote <= about->port_high);
	default:
		return false;
	}
}

/* Gives the control to connections as they begin. Listeners that were there before cannot be told; their new
 * connections are asked for one by one, and so is ECN for them. */
SEC("sockops")
int d2tcp_select(struct bpf_sock_ops *ctx)
{
	char name[] = D2TCP_NAME;

	switch (ctx->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		if (selected(ctx->local_port, bpf_ntohl(ctx->remote_port)))
			bpf_setsockopt(ctx, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name) - 1);
		break;
	case BPF_SOCK_OPS_NEEDS_ECN:
		if (selected(ctx->local_port, bpf_ntohl(ctx->remote_port)))
			ctx->reply = 1;
		break;
	default:
		break;
	}
	return 1;
}

SEC("iter/bpf_sk_storage_map")
int d2tcp_flows(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct d2tcp_socket *s;
	const struct law_message *message;
	struct d2tcp_flow flow = {};
	struct tcp_sock *tp;
	__u64 now;

	if (!sk || !ctx->value)
		return 0;
	/* Not by ctx->value: that must not be indexed by a variable. */
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, 0);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!s || !s->id || !tp)
		return 0;
	now = bpf_ktime_get_ns();
	message = &s->queue[s->first & (D2TCP_QUEUE - 1)];
	flow.id = s->id;
	address_of(&flow.address, sk);
	flow.flags = flags_of(s, tp, now, 0);
	flow.tcp_state = sk->__sk_common.skc_state;
	flow.cwnd = s->law.cwnd;
	flow.ssthresh = s->law.ssthresh;
	flow.alpha = s->law.alpha;
	flow.d = s->law.d;
	flow.p = s->law.p;
	flow.srtt_us = tp->srtt_us >> 3;
	flow.bytes_acked = tp->bytes_acked;
	if (s->queued) {
		flow.time_left_ns = message->deadline_ns - now;
		flow.bytes_left = message->end > flow.bytes_acked ? message->end - flow.bytes_acked : 0;
	}
	flow.messages = s->messages;
	flow.met = s->met;
	flow.missed = s->missed;
	flow.cuts = s->cuts;
	flow.losses = s->losses;
	flow.queued = s->queued;
	flow.mss = tp->mss_cache;
	bpf_seq_write(ctx->meta->seq, &flow, sizeof(flow));
	return 0;
}
