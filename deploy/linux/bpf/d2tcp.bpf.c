// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* D2TCP for stock Linux: a congestion control, the socket options by which programs announce deadlines, and the
 * selection of the connections that get the control.
 *
 * Some kernels occasionally skip the call of a BPF program, so no callback relies on another one having run. Our own
 * state holds the window, and the kernel's snd_cwnd only gets a copy. Segments delivered, marked or lost since the last
 * call are read from the kernel's counters. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#define D2TCP_KERNEL_SIDE
#include "../include/d2tcp.h"

/* Some of the kernel's functions are only for programs under the GPL. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Constants from the kernel's sources that are not in its types. */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
/* ECN modes: classic or accurate ECN was negotiated. */
#define TCP_ECN_MODES (1 | 16)
#define TCP_ECN_DEMAND_CWR 4
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_BPF_RTO_MIN 1004
/* Values of sock.sk_pacing_status: TCP itself paces its packets if no queueing discipline does. */
#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
#define PAGE_SIZE 4096
/* Flag of bpf_map_update_elem: only a new key. */
#define BPF_NOEXIST 1

/* The name of the same control for connections whose peer refused ECN: their packets must not carry ECT. */
#define RENO_NAME "d2tcp_reno"

/* The number of calls per timed call. */
#define SAMPLE_EVERY 64

#define BPF_SOCK_OPS_RTO_CB_FLAG 1
#define BPF_SOCK_OPS_STATE_CB_FLAG 4

/* The window to which an idle connection falls back, and Linux's initial window (RFC 6928). */
#define INITIAL_WINDOW 10

extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym;
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

#define LAW_PART __noinline
#include "plus.h"
#include "control.h"
#include "hooks.h"

/* Newer kernels pass (sk, ack, flag, rs), older ones (sk, rs). Only the first argument is used. */
SEC("struct_ops")
void BPF_PROG(d2tcp_cong_control, struct sock *sk)
{
	struct d2tcp_counters *c = counters(0);
	__u64 start = c ? sampled(&c->calls) : 0;

	control(sk);
	if (c && start)
		count_cost(c, bpf_ktime_get_ns() - start);
}

SEC("struct_ops")
void BPF_PROG(d2tcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct d2tcp_counters *c;
	struct d2tcp_socket *s;
	__u64 start;

	switch (event) {
	case CA_EVENT_ECN_IS_CE:
	case CA_EVENT_ECN_NO_CE:
		c = counters(0);
		start = c ? sampled(&c->receiver_calls) : 0;
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
		COUNT(s->rule, timeouts, 1);
		break;
	case CA_EVENT_TX_START:
		s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, 0);
		if (s)
			start_sending(sk, s);
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
	/* The law has not responded to a loss that it has not seen; it may still hold an older loss. */
	if (!s->asked && !s->timed_out)
		law_undo(&s->law);
	s->lost = tp->lost;
	s->asked = 0;
	s->timed_out = 0;
	COUNT(s->rule, undone, 1);
	window = law_max(s->law.cwnd >> 20, 2);
	s->written = window;
	return window;
}

static __always_inline void open(struct sock *sk, bool plain)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct law_parameters *params;
	struct d2tcp_socket *s;

	icsk->icsk_ca_priv[RECEIVER] = 0;
	icsk->icsk_ca_priv[OWNER] = generation();
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s) {
		/* The law's short form begins with the first acknowledgement. */
		COUNT(0, no_memory, 1);
		return;
	}
	params = law_of(govern(s, sk));
	if (!params)
		return;
	if (plain)
		COUNT(s->rule, without_ecn, 1);
	s->plain = plain;
	if (s->switching)
		return;
	lower_rto(sk, s, params);
	count_opened(s);
	/* During the handshake neither the first window nor the peer's answer on ECN is known. */
	s->connecting = sk->__sk_common.skc_state == TCP_SYN_SENT;
	if (s->connecting)
		return;
	begin(s, tp, params);
	open_window(sk, s, params);
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

	if (!s || s->switching)
		return;
	close_messages(s, (struct tcp_sock *)sk);
	if (s->counted)
		COUNT(s->rule, closed, 1);
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

