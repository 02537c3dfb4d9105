// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* The receiver's side: windows of incoming connections by a schedule.
 *
 * `receive_out` sees every packet that this machine sends. It reduces the window field to the schedule's right edge, and
 * never moves an edge back. `receive_in` sees each packet that arrives, and wakes the daemon where the schedule is due again. The
 * sockets are left alone: without these programs, the next packet has the kernel's own window.
 *
 * AC/DC TCP (SIGCOMM 2016, section 3.3) enforces windows this way in a virtual switch. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#define D2TCP_KERNEL_SIDE
#include "../include/d2tcp.h"
#include "receive.h"

/* Only programs under the GPL may call bpf_rdonly_cast. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym;

#define PASS -1			/* TCX_NEXT: other programs, and then the network */
#define ETHERNET 14
#define IPV4 0x0800
#define IPV6 0x86dd
#define FRAGMENT 0x3fff		/* of IPv4's flags and offset: more fragments, or an offset */
#define TCP_HEADER 20
#define TCP_WINDOW 14		/* offsets in it */
#define TCP_CHECKSUM 16
#define MAX_OPTIONS 40
#define MAX_SCALE 14		/* RFC 7323, 2.3 */
#define DEFAULT_MSS 536

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

/* Options of TCP by their kinds. */
enum { OPTION_END = 0, OPTION_NOP = 1, OPTION_MSS = 2, OPTION_SCALE = 3, OPTION_TIMESTAMPS = 8, OPTION_MD5 = 19,
       OPTION_AO = 29, OPTION_MPTCP = 30 };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, RECEIVE_SLOTS);
	__type(key, struct receive_key);
	__type(value, __u32);
} receive_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RECEIVE_SLOTS);
	__type(key, __u32);
	__type(value, struct receive_slot);
} receive_slots SEC(".maps");

/* The unused slots: filled by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, RECEIVE_SLOTS);
	__type(value, __u32);
} receive_free SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct receive_control);
} receive_control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} receive_events SEC(".maps");

/* A TCP packet without its payload. */
struct packet {
	struct receive_key key;
	__u32 tcp;		/* offset of its TCP header */
	__u32 header;		/* bytes of that header */
	__u32 payload;
	__u32 seq;
	__u32 ack;
	__u16 window;
	__u8 flags;
	__u8 family;
};

struct ipv4_header {
	__u8 version_length;
	__u8 tos;
	__be16 length;
	__be16 id;
	__be16 fragment;
	__u8 ttl;
	__u8 protocol;
	__be16 checksum;
	__be32 source;
	__be32 destination;
};

struct ipv6_header {
	__be32 version_class_label;
	__be16 length;
	__u8 next;
	__u8 hops;
	__be32 source[4];
	__be32 destination[4];
};

struct tcp_header {
	__be16 source;
	__be16 destination;
	__be32 seq;
	__be32 ack;
	__u8 length;		/* in the upper half, in words */
	__u8 flags;
	__be16 window;
	__be16 checksum;
	__be16 urgent;
};

/* What the options of a SYN tell. */
struct offer {
	__u16 mss;
	__u8 scale;
	bool scaled;
	bool timestamps;
	bool foreign;		/* signed packets, or one window for several subflows: left alone */
};

static __always_inline struct receive_control *control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&receive_control, &zero);
}

static __always_inline void set_addresses(struct receive_key *key, const __u32 *source, const __u32 *destination,
					  bool out)
{
	__builtin_memcpy(out ? key->local : key->remote, source, 16);
	__builtin_memcpy(out ? key->remote : key->local, destination, 16);
}

/* Reads the headers of a TCP packet. Returns false for all others. */
static __always_inline bool parse(struct __sk_buff *skb, struct packet *p, bool out)
{
	struct tcp_header tcp;
	__u32 end, length;

	if (skb->protocol == bpf_htons(IPV4)) {
		struct ipv4_header ip;
		__u32 source[4] = { 0, 0, bpf_htonl(0xffff) }, destination[4] = { 0, 0, bpf_htonl(0xffff) };

		if (bpf_skb_load_bytes(skb, ETHERNET, &ip, sizeof(ip)))
			return false;
		if (ip.protocol != IPPROTO_TCP || ip.fragment & bpf_htons(FRAGMENT))
			return false;
		source[3] = ip.source;
		destination[3] = ip.destination;
		set_addresses(&p->key, source, destination, out);
		p->family = 4;
		p->tcp = ETHERNET + (ip.version_length & 15) * 4;
		end = ETHERNET + bpf_ntohs(ip.length);
	} else if (skb->protocol == bpf_htons(IPV6)) {
		struct ipv6_header ip;

		if (bpf_skb_load_bytes(skb, ETHERNET, &ip, sizeof(ip)) || ip.next != IPPROTO_TCP)
			return false;
		set_addresses(&p->key, ip.source, ip.destination, out);
		p->family = 6;
		p->tcp = ETHERNET + sizeof(ip);
		end = p->tcp + bpf_ntohs(ip.length);
	} else {
		return false;
	}
	/* A train beyond 64 kB has no length in its header. */
	if (end <= p->tcp)
		end = skb->len;
	if (bpf_skb_load_bytes(skb, p->tcp, &tcp, sizeof(tcp)))
		return false;
	p->header = (tcp.length >> 4) * 4;
	length = p->tcp + p->header;
	if (p->header < TCP_HEADER || length > end)
		return false;
	p->payload = end - length;
	p->key.local_port = bpf_ntohs(out ? tcp.source : tcp.destination);
	p->key.remote_port = bpf_ntohs(out ? tcp.destination : tcp.source);
	p->seq = bpf_ntohl(tcp.seq);
	p->ack = bpf_ntohl(tcp.ack);
	p->window = bpf_ntohs(tcp.window);
	p->flags = tcp.flags;
	return true;
}

/* The options of a SYN while they are read. */
struct reading {
	__u8 options[64];
	__u32 length;
	__u32 at;
	struct offer offer;
};

/* Reads one option. Returns 1 after the last one. */
static long read_option(__u32 index, void *context)
{
	struct reading *r = context;
	__u32 at = r->at;
	const __u8 *option;
	__u8 kind;

	if (at >= r->length || at >= MAX_OPTIONS)
		return 1;
	option = &r->options[at];
	kind = option[0];
	if (kind == OPTION_END)
		return 1;
	if (kind == OPTION_NOP) {
		r->at = at + 1;
		return 0;
	}
	if (option[1] < 2)
		return 1;
	if (kind == OPTION_MSS)
		r->offer.mss = option[2] << 8 | option[3];
	if (kind == OPTION_SCALE) {
		r->offer.scaled = true;
		r->offer.scale = option[2] > MAX_SCALE ? MAX_SCALE : option[2];
	}
	if (kind == OPTION_TIMESTAMPS)
		r->offer.timestamps = true;
	if (kind == OPTION_MD5 || kind == OPTION_AO || kind == OPTION_MPTCP)
		r->offer.foreign = true;
	r->at = at + option[1];
	return 0;
}

/* Returns the offer in a SYN. */
static __always_inline struct offer read_offer(struct __sk_buff *skb, const struct packet *p)
{
	struct reading r = { .length = p->header - TCP_HEADER };

	if (r.length > MAX_OPTIONS)
		r.length = MAX_OPTIONS;
	if (r.length && !bpf_skb_load_bytes(skb, p->tcp + TCP_HEADER, r.options, r.length))
		bpf_loop(MAX_OPTIONS, read_option, &r, 0);
	return r.offer;
}

static __always_inline struct receive_slot *find(const struct receive_key *key, __u32 *number)
{
	__u32 *found = bpf_map_lookup_elem(&receive_flows, key);

	if (!found)
		return NULL;
	*number = *found;
	return bpf_map_lookup_elem(&receive_slots, number);
}

static __always_inline void tell(const struct receive_slot *s, __u32 number, enum receive_kind kind, __u32 position)
{
	struct receive_event *event = bpf_ringbuf_reserve(&receive_events, sizeof(*event), 0);
	struct receive_control *c;

	if (!event) {
		c = control();
		if (c)
			__sync_fetch_and_add(&c->lost_events, 1);
		return;
	}
	event->kind = kind;
	event->slot = number;
	event->generation = s->generation;
	event->position = position;
	event->time_ns = bpf_ktime_get_ns();
	event->bytes = 0;
	event->deadline_ns = 0;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline bool after(__u32 a, __u32 b)
{
	return (__s32)(a - b) > 0;
}

/* Moves a position forward; another processor may do the same. */
static __always_inline void advance(__u32 *at, __u32 to)
{
	int i;

	for (i = 0; i < 4; i++) {
		__u32 old = *(volatile __u32 *)at;

		if (!after(to, old) || __sync_val_compare_and_swap(at, old, to) == old)
			return;
	}
}

/* Returns true if the daemon lives. */
static __always_inline bool is_attended(void)
{
	struct receive_control *c = control();

	if (!c)
		return false;
	if (bpf_ktime_get_ns() - *(volatile __u64 *)&c->heartbeat_ns < c->stale_ns)
		return true;
	__sync_fetch_and_add(&c->opened_by_age, 1);
	return false;
}

/* Writes another window field into a packet. */
static __always_inline void write_window(struct __sk_buff *skb, const struct packet *p, __u32 field)
{
	__be16 before = bpf_htons(p->window), now = bpf_htons(field);
	struct receive_control *c = control();

	if (bpf_l4_csum_replace(skb, p->tcp + TCP_CHECKSUM, before, now, sizeof(now)))
		return;
	bpf_skb_store_bytes(skb, p->tcp + TCP_WINDOW, &now, sizeof(now), 0);
	if (c)
		__sync_fetch_and_add(&c->rewritten, 1);
}

/* Takes a slot for a connection that begins, or the one that an earlier connection of the same ends had. */
static __always_inline struct receive_slot *begin(struct __sk_buff *skb, const struct packet *p, __u32 *number)
{
	struct receive_slot *s = find(&p->key, number);
	struct receive_control *c;
	struct offer offer = read_offer(skb, p);
	__u32 generation;

	if (offer.foreign)
		return NULL;
	if (!s) {
		if (bpf_map_pop_elem(&receive_free, number)) {
			c = control();
			if (c)
				__sync_fetch_and_add(&c->unscheduled, 1);
			return NULL;
		}
		s = bpf_map_lookup_elem(&receive_slots, number);
		if (!s)
			return NULL;
		if (bpf_map_update_elem(&receive_flows, &p->key, number, 0)) {
			bpf_map_push_elem(&receive_free, number, 0);
			return NULL;
		}
	}
	generation = s->generation + 1;
	__builtin_memset(s, 0, sizeof(*s));
	s->key = p->key;
	s->generation = generation ? generation : 1;
	s->cgroup = bpf_skb_cgroup_id(skb);
	s->seen_ns = bpf_ktime_get_ns();
	s->interface = skb->ifindex;
	s->mss = offer.mss ? offer.mss : DEFAULT_MSS;
	s->scale = offer.scaled ? offer.scale : 0;
	s->flags = offer.timestamps ? RECEIVE_TIMESTAMPS : 0;
	s->family = p->family;
	s->wanted = RECEIVE_WANT_REQUESTS | RECEIVE_WANT_HEAD;
	return s;
}

/* Handles a reset. A connection that was refused has not begun, and gives its slot back. */
static __always_inline void reset(struct receive_slot *s, __u32 number, const struct packet *p)
{
	if (s->flags & RECEIVE_BEGUN) {
		tell(s, number, RECEIVE_CLOSED, p->seq);
	} else if (!bpf_map_delete_elem(&receive_flows, &p->key)) {
		s->seen_ns = 0;
		bpf_map_push_elem(&receive_free, &number, 0);
	}
}

/* Sets the positions after the peer's first sequence number. */
static __always_inline void settle(struct receive_slot *s, __u32 number, const struct packet *p, __u32 window)
{
	s->base = p->ack;
	s->arrived = p->ack;
	s->ack = p->ack;
	s->edge = p->ack + window;
	s->limit = p->ack + 2 * s->mss;
	s->wake = p->ack + s->mss / 2;
	s->armed = 1;
	s->flags |= RECEIVE_BEGUN;
	tell(s, number, RECEIVE_OPENED, p->ack);
}

/* Keeps of a packet what a window update needs. */
static __always_inline void remember(struct __sk_buff *skb, struct receive_slot *s, const struct packet *p)
{
	__u32 next = p->seq + p->payload + (p->flags & FIN ? 1 : 0);
	/* Linux writes two NOPs before the timestamps. */
	struct { __be32 kind, value, echo; } stamps;

	/* A packet of the daemon's, or one that was overtaken, tells nothing new. */
	if (after(s->ack, p->ack) || after(s->seq, next))
		return;
	s->seq = next;
	s->ack = p->ack;
	s->field = p->window;
	if (s->flags & RECEIVE_TIMESTAMPS && p->header >= TCP_HEADER + sizeof(stamps) &&
	    !bpf_skb_load_bytes(skb, p->tcp + TCP_HEADER, &stamps, sizeof(stamps)) &&
	    stamps.kind == bpf_htonl(0x0101080a)) {
		s->ts_value = stamps.value;
		s->ts_echo = stamps.echo;
	}
	bpf_skb_load_bytes(skb, 0, s->link, ETHERNET);
}

/* Returns the schedule's right edge: not beyond the kernel's own, nor before the advertised one. */
static __always_inline __u32 scheduled(const struct receive_slot *s, const struct packet *p)
{
	__u32 own = p->ack + ((__u32)p->window << (s->scale & 15));
	__u32 edge = s->limit;

	if (s->window && after(edge, p->ack + s->window))
		edge = p->ack + s->window;
	if (after(s->edge, edge))
		edge = s->edge;
	return after(edge, own) ? own : edge;
}

/* Returns the window field of a right edge. It is rounded up, as Linux does: a field that was rounded down could leave
 * less than the segment that the edge is for. The rounding is not part of the edge, or it would add up. */
static __always_inline __u32 field_of(const struct receive_slot *s, const struct packet *p, __u32 edge)
{
	__u32 scale = s->scale & 15;

	return after(edge, p->ack) ? (edge - p->ack + (1u << scale) - 1) >> scale : 0;
}

SEC("tcx/egress")
int receive_out(struct __sk_buff *skb)
{
	struct packet p = {};
	struct receive_slot *s;
	__u32 number, field, edge;

	if (!parse(skb, &p, true))
		return PASS;
	if (p.flags & SYN) {
		s = begin(skb, &p, &number);
		if (!s)
			return PASS;
		/* The window of a SYN has no scale. Two segments: a sender takes half of the largest window that it has
		 * seen as its largest segment. */
		field = p.window;
		if (is_attended() && field > 2 * s->mss) {
			field = 2 * s->mss;
			write_window(skb, &p, field);
		}
		s->seq = p.seq + 1;
		s->edge = field;
		if (p.flags & ACK)
			settle(s, number, &p, field);
		return PASS;
	}
	s = find(&p.key, &number);
	if (!s)
		return PASS;
	if (p.flags & RST) {
		reset(s, number, &p);
		return PASS;
	}
	if (!(s->flags & RECEIVE_BEGUN))
		settle(s, number, &p, s->edge);
	remember(skb, s, &p);
	edge = p.ack + ((__u32)p.window << (s->scale & 15));
	if (s->mode == RECEIVE_HELD && is_attended()) {
		edge = scheduled(s, &p);
		field = field_of(s, &p, edge);
		if (field < p.window)
			write_window(skb, &p, field);
	}
	advance(&s->edge, edge);
	if (p.payload && s->wanted & RECEIVE_WANT_REQUESTS && s->request_ack != p.ack) {
		s->request_ack = p.ack;
		s->flags |= RECEIVE_HEAD_DUE;
		tell(s, number, RECEIVE_REQUEST, p.ack);
	}
	return PASS;
}

/* Gives the daemon the beginning of a message. */
static __always_inline void show(struct __sk_buff *skb, const struct receive_slot *s, __u32 number,
				 const struct packet *p)
{
	struct receive_head *head = bpf_ringbuf_reserve(&receive_events, sizeof(*head), 0);
	__u32 length = p->payload;

	if (!head)
		return;
	if (length > RECEIVE_HEAD)
		length = RECEIVE_HEAD;
	head->event.kind = RECEIVE_BEGINS;
	head->event.slot = number;
	head->event.generation = s->generation;
	head->event.position = p->seq;
	head->event.time_ns = bpf_ktime_get_ns();
	head->event.bytes = 0;
	head->event.deadline_ns = 0;
	head->reserved = 0;
	head->length = length;
	if (length < 1 || bpf_skb_load_bytes(skb, p->tcp + p->header, head->bytes, length))
		head->length = 0;
	bpf_ringbuf_submit(head, 0);
}

SEC("tcx/ingress")
int receive_in(struct __sk_buff *skb)
{
	struct receive_control *c = control();
	struct packet p = {};
	struct receive_slot *s;
	__u32 number, end;

	if (c)
		__sync_fetch_and_add(&c->bytes, skb->len);
	if (!parse(skb, &p, false))
		return PASS;
	if (!p.payload && !(p.flags & (SYN | FIN | RST)))
		return PASS;
	s = find(&p.key, &number);
	if (!s)
		return PASS;
	if (p.flags & SYN) {
		struct offer offer;

		/* Scales and timestamps are used if both ends have offered them (RFC 7323, 2.2 and 3.2). */
		if (p.flags & ACK) {
			offer = read_offer(skb, &p);
			if (!offer.scaled)
				s->scale = 0;
			if (!offer.timestamps)
				s->flags &= ~RECEIVE_TIMESTAMPS;
		}
		return PASS;
	}
	if (p.flags & RST) {
		reset(s, number, &p);
		return PASS;
	}
	if (p.payload && s->flags & RECEIVE_BEGUN) {
		end = p.seq + p.payload;
		s->seen_ns = bpf_ktime_get_ns();
		advance(&s->arrived, end);
		if (s->wanted & RECEIVE_WANT_HEAD && s->flags & RECEIVE_HEAD_DUE) {
			s->flags &= ~RECEIVE_HEAD_DUE;
			show(skb, s, number, &p);
		}
		if (s->armed && !after(s->wake, s->arrived) && __sync_lock_test_and_set(&s->armed, 0))
			tell(s, number, RECEIVE_ARRIVED, end);
	}
	if (p.flags & FIN)
		tell(s, number, RECEIVE_CLOSED, p.seq + p.payload);
	return PASS;
}

static __always_inline int refuse(int error)
{
	bpf_set_retval(-error);
	return 0;
}

/* Reads the ends of a socket. */
static __always_inline void read_ends(const struct sock_common *sk, struct receive_key *key)
{
	if (sk->skc_family == AF_INET6) {
		__builtin_memcpy(key->local, sk->skc_v6_rcv_saddr.in6_u.u6_addr32, sizeof(key->local));
		__builtin_memcpy(key->remote, sk->skc_v6_daddr.in6_u.u6_addr32, sizeof(key->remote));
	} else {
		key->local[2] = key->remote[2] = bpf_htonl(0xffff);
		key->local[3] = sk->skc_rcv_saddr;
		key->remote[3] = sk->skc_daddr;
	}
	key->local_port = sk->skc_num;
	key->remote_port = bpf_ntohs(sk->skc_dport);
}

SEC("cgroup/setsockopt")
int receive_expect(struct bpf_sockopt *ctx)
{
	struct d2tcp_message *wanted = ctx->optval;
	struct receive_key key = {};
	struct receive_event *event;
	struct bpf_sock *sk = ctx->sk;
	struct receive_slot *s;
	struct tcp_sock *tp;
	__u64 now;
	__u32 number;

	if (ctx->level != D2TCP_LEVEL || ctx->optname != D2TCP_EXPECT) {
		/* Only a part of a value above one page is visible, so the kernel must use the program's own. */
		if (ctx->level != D2TCP_LEVEL && ctx->optlen > 4096)
			ctx->optlen = 0;
		return 1;
	}
	if (!sk || sk->type != SOCK_STREAM || sk->protocol != IPPROTO_TCP)
		return refuse(EOPNOTSUPP);
	if (ctx->optlen != sizeof(*wanted) || (void *)(wanted + 1) > ctx->optval_end)
		return refuse(EINVAL);
	if (wanted->bytes <= 0 || wanted->bytes > D2TCP_MAX_BYTES || wanted->deadline_ns <= 0 ||
	    wanted->deadline_ns > D2TCP_MAX_DEADLINE_NS)
		return refuse(EINVAL);
	if (!((1 << (sk->state & 15)) & (1 << TCP_ESTABLISHED | 1 << TCP_FIN_WAIT1 | 1 << TCP_FIN_WAIT2)))
		return refuse(ENOTCONN);
	tp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	read_ends(&tp->inet_conn.icsk_inet.sk.__sk_common, &key);
	s = find(&key, &number);
	if (!s || s->mode != RECEIVE_HELD)
		return refuse(EOPNOTSUPP);
	event = bpf_ringbuf_reserve(&receive_events, sizeof(*event), 0);
	if (!event)
		return refuse(ENOBUFS);
	now = bpf_ktime_get_ns();
	event->kind = RECEIVE_EXPECT;
	event->slot = number;
	event->generation = s->generation;
	event->position = tp->copied_seq;
	event->time_ns = now;
	event->bytes = wanted->bytes;
	event->deadline_ns = now + wanted->deadline_ns;
	bpf_ringbuf_submit(event, 0);
	/* The option is handled, so the kernel must not look for it. */
	ctx->optlen = -1;
	return 1;
}
