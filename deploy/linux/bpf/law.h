/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* The window law of D2TCP in integers: the response of a sender's window to acknowledgements, marks and losses.
 *
 * Plain C without a clock, a socket or a float, so that BPF and the host can run it. The tests on the host compare it
 * with the simulator's law. Sources: D2TCP (SIGCOMM 2012) 3.2, DCTCP's estimator as in RFC 8257 3.3, growth and halving
 * as in RFC 5681.
 *
 * Fixed-point formats: alpha, p, g and shares have 30 fractional bits (LAW_ONE). Windows in segments, d and round trips
 * have 20 (LAW_UNIT). */
#ifndef D2TCP_LAW_H
#define D2TCP_LAW_H

#include "law_tables.h"

typedef unsigned int law_u32;
typedef unsigned long long law_u64;
typedef long long law_s64;

#define LAW_ONE (1u << 30)
#define LAW_UNIT (1ull << 20)
/* The floor of a cut: two segments, as in RFC 8257 and Linux. */
#define LAW_FLOOR (2 * LAW_UNIT)
/* More segments than a window scaled by 2^14 can hold. */
#define LAW_MAX_WINDOW (LAW_UNIT << 20)
#define LAW_NEVER (~0ull)

#if defined(__GNUC__)
#define LAW static inline __attribute__((always_inline, unused))
#else
#define LAW static inline
#endif

/* Treatment of a message past its deadline, which the paper leaves open: d = 1, n, or 1/n. */
enum { LAW_NEUTRAL, LAW_CAP, LAW_YIELD };

/* The law of messages with a deadline: this file's, or that of plus.h. */
enum { LAW_D2TCP, LAW_PLUS };

struct law_parameters {
	law_u32 g;		/* weight of the last window's share of marks in alpha */
	law_u32 initial_alpha;
	law_u32 cap;		/* n, as a window: d is clamped to [1/n, n] */
	law_u32 expired;	/* LAW_NEUTRAL, ... */
	law_u32 precise;	/* not 0: T_c from the sawtooth's sum instead of B/(3W/4) */
	law_u32 minimum_rtt;	/* not 0: T_c in smallest, not smoothed, round trips */
	law_u32 mode;		/* LAW_D2TCP, ... */
	law_u32 initial_window;	/* segments; 0: the kernel's default */
	law_u32 time_scale;	/* factor of the times of LAW_PLUS, of LAW_UNIT */
	law_u32 reserved;
	law_u64 rto_min_ns;	/* the minimum retransmission timeout in LAW_PLUS; 0: the kernel's */
	law_u64 margin_ns;	/* subtracted from the time left */
};

struct law_state {
	law_u64 cwnd;
	law_u64 ssthresh;
	law_u32 alpha;
	law_u32 d;		/* as of the last cut or end of a window */
	law_u32 p;
	law_u32 started;
	law_u64 acked;		/* in this window */
	law_u64 marked;		/* of `acked` */
	law_u64 window_end;	/* the window ends when this position is passed */
	law_u64 cut_end;	/* no second cut before this position is passed */
	law_u64 loss_end;	/* no second reduction for loss, and none for marks, before this position is passed */
	law_u64 prior_cwnd;	/* before the last reduction for loss; restored if the loss was spurious */
	law_u64 prior_ssthresh;
};

/* The message being sent; none if end is 0. */
struct law_message {
	law_u64 end;		/* position of its end in the stream */
	law_u64 deadline_ns;	/* absolute time */
};

/* An acknowledgement of new data. */
struct law_ack {
	law_u64 now_ns;
	/* Newly delivered data, including data beyond a gap (tp->delivered, tp->delivered_ce), in bytes or segments,
	 * but always in the same unit. An echo for data beyond a gap may cut here, before the loss is known, as in the
	 * kernel's own DCTCP. In the simulator it counts for alpha only, and the loss cuts. */
	law_u64 acked;
	law_u64 marked;		/* of `acked`, with an echo */
	law_u32 segments;	/* newly acknowledged segments */
	law_u32 may_grow;	/* no loss is being repaired, and the window limits the sender */
	law_u32 may_cut;	/* no loss for which the window was cut is being repaired: neither Recovery nor Loss */
	law_u32 mss;
	law_u64 una;		/* everything before this position is acknowledged */
	law_u64 next;		/* the next position to send */
	law_u64 rtt_ns;		/* 0 before the first RTT sample */
	law_u32 max_d;		/* limits d, for a user whose budget is spent; 0: no limit */
	law_u32 reserved;
};

/* Results of an acknowledgement, as bits. LAW_LIMITED: max_d made d smaller. */
enum { LAW_CUT = 1, LAW_WINDOW = 2, LAW_LIMITED = 16 };

LAW law_u64 law_min(law_u64 a, law_u64 b)
{
	return a < b ? a : b;
}

LAW law_u64 law_max(law_u64 a, law_u64 b)
{
	return a > b ? a : b;
}

/* Returns the number of bits before the first 1; 64 for 0. It has no branches, as BPF's verifier would follow them
 * all. */
LAW law_u32 law_leading_zeros(law_u64 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	/* Count the bits that are not set now. */
	x = ~x;
	x -= (x >> 1) & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (x * 0x0101010101010101ull) >> 56;
}

/* Returns a * b / c * 2^shift to 29 bits, for any a, b, c and 0 <= shift <= 20. Returns LAW_NEVER if the result does
 * not fit or c is 0. Every factor is normalized to its leading bits, as a float would be, because BPF has no 128-bit
 * arithmetic. */
LAW law_u64 law_scale(law_u64 a, law_u64 b, law_u64 c, law_u32 shift)
{
	law_u32 left_a, left_b, left_c, up;
	law_u64 quotient;

	if (!a || !b)
		return 0;
	if (!c)
		return LAW_NEVER;
	left_a = law_leading_zeros(a) & 63;
	left_b = law_leading_zeros(b) & 63;
	left_c = law_leading_zeros(c) & 63;
	a = a << left_a >> 32;
	b = b << left_b >> 32;
	c = c << left_c >> 33;
	/* a b 2^64 / (c 2^33), less the bits shifted in on the left. At least its 33 leading bits are exact. */
	quotient = a * b / c;
	up = 31 + left_c + shift;
	if (up >= left_a + left_b) {
		up -= left_a + left_b;
		if (up > law_leading_zeros(quotient))
			return LAW_NEVER;
		return quotient << (up & 63);
	}
	up = left_a + left_b - up;
	if (up > 63)
		return 0;
	return ((quotient >> (up - 1)) + 1) >> 1;
}

/* Returns the product of two fractions. */
LAW law_u32 law_times(law_u32 a, law_u32 b)
{
	return ((law_u64)a * b + LAW_ONE / 2) >> 30;
}

/* Returns the square root, rounded down, by Newton's iteration. The start is a power of two above the root, at most
 * twice it. */
LAW law_u64 law_root(law_u64 x)
{
	law_u64 root;
	int i;

	if (!x)
		return 0;
	root = 1ull << ((65 - law_leading_zeros(x)) / 2 & 63);
#pragma GCC unroll 6
	for (i = 0; i < 6; i++)
		root = (root + x / root) >> 1;
	return x / root < root ? root - 1 : root;
}

/* Returns -log2 of a fraction, with 24 fractional bits. 0 is treated as the smallest fraction above it. */
LAW law_u32 law_minus_log2(law_u32 x)
{
	law_u32 zeros, mantissa, step, rest, low, high;

	if (x >= LAW_ONE)
		return 0;
	if (!x)
		x = 1;
	zeros = law_leading_zeros(x) - 33;
	mantissa = (x << (zeros & 31)) - LAW_ONE;
	step = mantissa >> (30 - LAW_STEP_BITS);
	step &= LAW_STEPS - 1;
	rest = mantissa & ((1u << (30 - LAW_STEP_BITS)) - 1);
	low = law_log2_table[step];
	high = law_log2_table[step + 1];
	low += ((law_u64)(high - low) * rest) >> (30 - LAW_STEP_BITS);
	return (zeros << 24) - ((low + 32) >> 6);
}

/* Returns 2^-x as a fraction, for x with 24 fractional bits. */
LAW law_u32 law_exp2_minus(law_u64 x)
{
	law_u32 whole, step, rest, low, high;

	if (x >= 31ull << 24)
		return 0;
	whole = (x >> 24) & 31;
	step = (x >> (24 - LAW_STEP_BITS)) & (LAW_STEPS - 1);
	rest = x & ((1u << (24 - LAW_STEP_BITS)) - 1);
	low = law_exp2_table[step];
	high = law_exp2_table[step + 1];
	low -= ((law_u64)(low - high) * rest) >> (24 - LAW_STEP_BITS);
	return ((low >> whole) + 1) >> 1;
}

/* Returns p = alpha^d (D2TCP 3.2.1). It is exactly alpha when d is 1, so that without a deadline this is DCTCP. */
LAW law_u32 law_penalty(law_u32 alpha, law_u32 d)
{
	if (d == LAW_UNIT || !alpha || alpha >= LAW_ONE)
		return alpha;
	return law_exp2_minus(((law_u64)law_minus_log2(alpha) * d) >> 20);
}

/* Returns the round trips that `left` bytes need with a sawtooth up to `cwnd` (D2TCP 3.2.3). */
LAW law_u64 law_rounds(law_u64 left, law_u32 mss, law_u64 cwnd, law_u32 precise)
{
	law_u64 segments = law_scale(left, 1, mss, 20), over_periods, half, root;

	if (!precise)
		return law_scale(segments, 4, 3 * cwnd, 20);
	/* B / (3W/4 - 1/2), over more than one period of L = W/2 round trips. */
	over_periods = law_scale(segments, 4, law_max(3 * cwnd, 2 * LAW_UNIT + 1) - 2 * LAW_UNIT, 20);
	if (over_periods > cwnd / 2)
		return over_periods;
	/* Within the first period: sqrt(h^2 + 2B) - h with h = (W - 1)/2, written so that nothing cancels. B is at most
	 * 3/8 W^2 there. The square of a large window fits with fewer fractional bits. */
	half = (law_max(cwnd, LAW_UNIT) - LAW_UNIT) / 2;
	if (cwnd <= LAW_UNIT << 16)
		root = law_root((half >> 4) * (half >> 4) + (law_min(segments, 1ull << 50) << 13)) << 4;
	else
		root = law_root((half >> 8) * (half >> 8) + (law_min(segments, 1ull << 58) << 5)) << 8;
	return law_scale(2 * segments, 1, root + half, 20);
}

/* Returns the imminence of the deadline, d = T_c / D within [1/n, n] (D2TCP 3.2.3). It is 1 without a deadline, with no
 * bytes left, or before the first RTT sample. */
LAW law_u32 law_imminence(const struct law_parameters *params, const struct law_message *message, law_u64 cwnd,
			  const struct law_ack *ack)
{
	law_u64 deadline = message->deadline_ns, left_ns, rounds, d;
	law_u32 cap = params->cap < LAW_UNIT ? LAW_UNIT : params->cap;
	law_u32 least = (LAW_UNIT * LAW_UNIT + cap / 2) / cap;

	if (!message->end)
		return LAW_UNIT;
	left_ns = deadline > ack->now_ns ? deadline - ack->now_ns : 0;
	if (left_ns <= params->margin_ns) {
		switch (params->expired) {
		case LAW_CAP:
			return cap;
		case LAW_YIELD:
			return least;
		default:
			return LAW_UNIT;
		}
	}
	left_ns -= params->margin_ns;
	if (!ack->rtt_ns || message->end <= ack->una)
		return LAW_UNIT;
	rounds = law_rounds(message->end - ack->una, ack->mss, cwnd, params->precise);
	d = law_scale(rounds, ack->rtt_ns, left_ns, 0);
	return law_max(law_min(d, cap), least);
}

/* Starts a connection with this window. An ssthresh of LAW_MAX_WINDOW means that there is no threshold. */
LAW void law_start(struct law_state *state, const struct law_parameters *params, law_u64 cwnd, law_u64 ssthresh)
{
	struct law_state fresh = {
		.cwnd = law_min(cwnd, LAW_MAX_WINDOW),
		.ssthresh = law_min(ssthresh, LAW_MAX_WINDOW),
		.alpha = params->initial_alpha,
		.d = LAW_UNIT,
		.p = params->initial_alpha,
		.started = 1,
	};
	*state = fresh;
}

/* Grows the window as in RFC 5681 3.1: slow start below ssthresh, then one segment per window. */
LAW void law_grow(struct law_state *state, law_u32 segments)
{
	law_u64 add = (law_u64)segments << 20, room;

	room = state->ssthresh > state->cwnd ? state->ssthresh - state->cwnd : 0;
	if (room >= add) {
		state->cwnd += add;
	} else {
		state->cwnd += room;
		add = law_min(add - room, LAW_UNIT << 16);
		if (state->cwnd)
			state->cwnd += ((add << 20) + state->cwnd / 2) / state->cwnd;
	}
	state->cwnd = law_min(state->cwnd, LAW_MAX_WINDOW);
}

/* Sets cwnd to cwnd (1 - p/2) and ends slow start. The floor applies in each case: a smaller window is raised to it. */
LAW void law_cut(struct law_state *state, law_u32 p)
{
	law_u64 off = ((state->cwnd >> 20) * p + (((state->cwnd & (LAW_UNIT - 1)) * p) >> 20)) >> 11;

	state->cwnd = law_max(state->cwnd - law_min(off, state->cwnd), LAW_FLOOR);
	state->ssthresh = state->cwnd;
}

/* Ends a window of data: RFC 8257 3.3, steps 4 to 8. */
LAW void law_close_window(struct law_state *state, law_u32 g, law_u64 next)
{
	law_u64 share = law_scale(law_min(state->marked, state->acked), LAW_UNIT, state->acked, 10);
	law_u32 alpha = state->alpha;

	if (state->acked)
		alpha = alpha - law_times(alpha, g) + law_times(law_min(share, LAW_ONE), g);
	state->alpha = law_min(alpha, LAW_ONE);
	state->acked = 0;
	state->marked = 0;
	state->window_end = next;
}

/* Counts marks. Returns LAW_CUT at the first echo of a window, at most once per window. Returns LAW_WINDOW at the end
 * of a window: d and p are then to be computed from the present window. */
LAW law_u32 law_count(struct law_state *state, const struct law_parameters *params, const struct law_ack *ack)
{
	law_u32 what = 0;

	state->acked += ack->acked;
	state->marked += ack->marked;
	if (ack->marked && ack->may_cut && ack->una > state->cut_end && ack->una > state->loss_end)
		what |= LAW_CUT;
	if (ack->una > state->window_end) {
		law_close_window(state, params->g, ack->next);
		what |= LAW_WINDOW;
	}
	return what;
}

/* Cuts the window where law_count returned LAW_CUT; otherwise grows it as TCP does. */
LAW void law_answer(struct law_state *state, const struct law_ack *ack, law_u32 what)
{
	if (what & LAW_CUT) {
		state->cut_end = ack->next;
		law_cut(state, state->p);
	} else if (ack->may_grow && !ack->marked) {
		law_grow(state, ack->segments);
	}
}

/* Halves the window after a loss: RFC 5681 eq. 4, by the window as in Linux; alpha stays. It acts at most once per
 * window of data, whose marks then cause no cut (law_count). Returns 1 if it halved the window. */
LAW law_u32 law_on_loss(struct law_state *state, law_u64 una, law_u64 next)
{
	if (state->loss_end && una <= state->loss_end)
		return 0;
	state->loss_end = next;
	state->prior_cwnd = state->cwnd;
	state->prior_ssthresh = state->ssthresh;
	state->ssthresh = law_max(state->cwnd / 2, LAW_FLOOR);
	state->cwnd = law_min(state->cwnd, state->ssthresh);
	return 1;
}

/* Reverts the last reduction, for a spurious loss. */
LAW void law_undo(struct law_state *state)
{
	if (!state->loss_end)
		return;
	state->cwnd = law_max(state->cwnd, state->prior_cwnd);
	state->ssthresh = law_max(state->ssthresh, state->prior_ssthresh);
	state->loss_end = 0;
}

/* Returns the pacing rate of a window in bytes per second, as the kernel computes it for its own controls. By default
 * it is twice the window per round trip in slow start and 1.2 times afterwards. `ratios` has the namespace's values in
 * percent. Returns 0 before the first RTT sample. */
LAW law_u64 law_pacing_rate(law_u64 cwnd, law_u64 ssthresh, law_u32 in_flight, law_u32 mss, law_u64 srtt_ns,
			    law_u64 ratios)
{
	law_u64 window = law_max(cwnd >> 20, in_flight);
	law_u64 percent = cwnd < ssthresh / 2 ? ratios >> 32 : ratios & 0xffffffff;

	if (!srtt_ns)
		return 0;
	return law_scale(window * mss, percent * 10000000, srtt_ns, 0);
}

/* Halves the window for each retransmission timeout of an idle time, down to `initial` segments. Three quarters of the
 * old window become a lower limit of the threshold (RFC 2861 3.2; Linux's tcp_cwnd_restart). */
LAW void law_idle(struct law_state *state, law_u64 timeouts, law_u32 initial)
{
	law_u64 least = law_min((law_u64)initial << 20, state->cwnd);

	if (!timeouts)
		return;
	if (state->ssthresh < LAW_MAX_WINDOW)
		state->ssthresh = law_max(state->ssthresh, state->cwnd / 4 * 3);
	state->cwnd = law_max(timeouts > 40 ? 0 : state->cwnd >> timeouts, least);
}

/* Adapts the window to larger segments, after a successful probe of the path's MTU: its size in bytes stays (Linux's
 * tcp_mtup_probe_success). When segments become smaller, their number stays. */
LAW void law_resize(struct law_state *state, law_u32 before, law_u32 mss)
{
	law_u64 cwnd;

	if (!before || mss <= before)
		return;
	cwnd = law_scale(state->cwnd, before, mss, 0);
	state->cwnd = law_max(cwnd, LAW_UNIT);
	if (state->ssthresh < LAW_MAX_WINDOW)
		state->ssthresh = law_max(law_scale(state->ssthresh, before, mss, 0), LAW_FLOOR);
}

/* The state of a window reduction: proportional rate reduction (RFC 6937 3). */
struct law_reduction {
	law_u32 prior;		/* window before the reduction, in segments */
	law_u32 target;		/* window after the reduction */
	law_u32 flight;		/* segments in flight */
	law_u32 delivered;	/* by this acknowledgement */
	law_u32 delivered_all;	/* since the reduction began */
	law_u32 out;		/* segments sent since then */
	law_u32 first;		/* the start of a repair, in which at least one segment is sent */
};

/* Returns the present window of a reduction, in segments. */
LAW law_u32 law_reduced(const struct law_reduction *now)
{
	law_u32 prior = now->prior ? now->prior : 1, send;

	if (now->flight > now->target) {
		law_u64 allowed = ((law_u64)now->target * now->delivered_all + prior - 1) / prior;

		send = allowed > now->out ? allowed - now->out : 0;
	} else {
		send = now->delivered_all > now->out ? now->delivered_all - now->out : 0;
		send = law_max(send, now->delivered);
		send = law_min(send, now->target - now->flight);
	}
	if (now->first && !now->out && !send)
		send = 1;
	return now->flight + send;
}

#endif
