// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* The law in its short form, for a connection without stored state, because the socket's room for options is full or no
 * memory is left. It is DCTCP without deadlines and without traces. Its state fits in the words that the kernel gives
 * every congestion control. */
#ifndef D2TCP_SHORT_H
#define D2TCP_SHORT_H

#include "state.h"

/* Positions are the lower halves of the law's positions; windows have 12 fractional bits. */
struct short_state {
	__u32 cwnd;		/* 0 before the first acknowledgement */
	__u32 ssthresh;		/* segments */
	__u32 alpha;
	__u32 acked;
	__u32 marked;
	__u32 window_end;
	__u32 cut_end;
	__u32 loss_end;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 lost;
	__u32 written;
};

_Static_assert(8 * SHORT + sizeof(struct short_state) <= 13 * 8, "as much as the kernel gives");

/* Returns the position near `near` that has this lower half; 0 stays 0, as it was never set. */
static __always_inline __u64 position(__u32 half, __u64 near)
{
	return half ? near + (__s32)(half - (__u32)near) : 0;
}

static __always_inline void control_in_short(struct sock *sk, const struct law_parameters *params)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 delivered, marked, what, window, ca = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	struct short_state now;
	struct law_state law = {};
	struct law_ack ack = {};
	int i;

	for (i = 0; i < sizeof(now) / 8; i++)
		((__u64 *)&now)[i] = icsk->icsk_ca_priv[SHORT + i];
	if (!now.cwnd) {
		law_start(&law, params, (__u64)tp->snd_cwnd << 20, (__u64)tp->snd_ssthresh << 20);
		now.delivered = tp->delivered;
		now.delivered_ce = tp->delivered_ce;
		now.lost = tp->lost;
		now.written = tp->snd_cwnd;
	} else {
		law.cwnd = (__u64)now.cwnd << 8;
		law.ssthresh = (__u64)now.ssthresh << 20;
		law.alpha = now.alpha;
		law.acked = now.acked;
		law.marked = now.marked;
		law.window_end = position(now.window_end, tp->bytes_acked);
		law.cut_end = position(now.cut_end, tp->bytes_acked);
		law.loss_end = position(now.loss_end, tp->bytes_acked);
	}
	delivered = tp->delivered - now.delivered;
	marked = law_min(tp->delivered_ce - now.delivered_ce, delivered);
	ack.mss = tp->mss_cache;
	ack.una = tp->bytes_acked;
	ack.next = ack.una + (tp->snd_nxt - tp->snd_una);
	ack.acked = delivered;
	ack.marked = marked;
	ack.segments = delivered;
	if (tp->lost != now.lost) {
		law_on_loss(&law, ack.una, ack.next);
		if (tp->snd_cwnd < now.written)
			law.cwnd = (__u64)law_max(tp->snd_cwnd, 1) << 20;
	}
	ack.may_grow = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) && ca < TCP_CA_CWR;
	ack.may_cut = ca < TCP_CA_Recovery;
	what = law_count(&law, params, &ack);
	law.p = law.alpha;
	law_answer(&law, &ack, what);
	law.cwnd = law_min(law.cwnd, (__u64)tp->snd_cwnd_clamp << 20);
	window = law.cwnd >> 20;
	/* During a repair the window is limited to the delivered segments, to avoid a burst. */
	if (ca == TCP_CA_Recovery)
		window = law_min(window, in_flight(tp) + law_max(delivered, 1));
	if (!window)
		window = 1;
	tp->snd_cwnd = window;
	tp->snd_ssthresh = law.ssthresh >= LAW_MAX_WINDOW ? TCP_INFINITE_SSTHRESH : law.ssthresh >> 20;

	now.cwnd = law.cwnd >> 8;
	now.ssthresh = law.ssthresh >> 20;
	now.alpha = law.alpha;
	now.acked = law.acked;
	now.marked = law.marked;
	now.window_end = law.window_end;
	now.cut_end = law.cut_end;
	now.loss_end = law.loss_end;
	now.delivered = tp->delivered;
	now.delivered_ce = tp->delivered_ce;
	now.lost = tp->lost;
	now.written = window;
	for (i = 0; i < sizeof(now) / 8; i++)
		icsk->icsk_ca_priv[SHORT + i] = ((__u64 *)&now)[i];
}

#endif
