/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* The window law of d2tcp_plus in integers, as far as a congestion control of Linux can apply it: needed rates,
 * multiplicative growth, and holds by laxity. Messages without a deadline follow law.h.
 *
 * Plain C like law.h, and tested like it against the simulator's law, whose parameters have the same names. The caller
 * draws the random numbers, evenly from all 32 bits. */
#ifndef D2TCP_PLUS_H
#define D2TCP_PLUS_H

#include "queue.h"

#define LAW_MS 1000000ull

/* Times are for round trips of some tenths of a millisecond. Where round trips are longer, the operator's time_scale
 * multiplies them all. */

/* The window after the first RTT sample, at least: this many times the window that the deadline needs. */
#define LAW_START 2
/* Acknowledged, unmarked segments per segment of growth after the first mark or loss; 1 before. */
#define LAW_GROWTH_LATER 4
/* The floor of a cut is the need times this over the time left. A cut removes half of the window above it. */
#define LAW_FLOOR_HORIZON_NS (10 * LAW_MS)
/* The maximum of that factor. */
#define LAW_FLOOR_MOST 4
/* The share of its laxity for which a message may be held at once, as a fraction, and the maximum of a hold. */
#define LAW_HOLD_SHARE (LAW_ONE / 10 * 7)
#define LAW_HOLD_MOST_NS (20 * LAW_MS)
/* The guard in the laxity: the time of the rest at the window after the cut, divided by LAW_GUARD_PART. It is at most
 * LAW_GUARD_MOST_NS, and at most the time that the message had at first, divided by LAW_GUARD_SHARE_PART. */
#define LAW_GUARD_PART 2
#define LAW_GUARD_MOST_NS (10 * LAW_MS)
#define LAW_GUARD_SHARE_PART 4
/* The mean hold of a message without laxity; a hold is from half of it to one and a half times. */
#define LAW_HOPELESS_HOLD_NS (100 * LAW_MS)

/* The state of a connection in addition to struct law_state; zero at first. */
struct law_plus {
	law_u64 end;		/* of the message to which the next fields apply */
	law_u64 allowed_ns;	/* the time left when it was first seen */
	law_u64 held_until_ns;	/* until then at most one segment is sent */
	law_u32 lifted;		/* its window was lifted to its need */
	law_u32 stirred;	/* it has seen a mark or a loss */
	law_u32 pressed;	/* it needs more than a segment per round trip */
	law_u32 hopeless;	/* its last sign of congestion found no laxity */
};

/* The state of a message relative to its deadline. */
struct law_standing {
	law_u64 end;
	law_u64 rest;		/* segments left until it is complete, with 20 fractional bits */
	law_u64 left_ns;	/* to the deadline, 0 from then on */
	law_u64 rtt_ns;		/* 0 before the first RTT sample */
	law_u64 need;		/* segments per round trip, with 20 fractional bits; LAW_NEVER if no time is left */
	law_u32 share;		/* share of the message that is left, of LAW_ONE */
	law_u32 reserved;
};

/* The random numbers of one call: for the decision to hold, and for the length of the hold. */
struct law_draws {
	law_u32 whether;
	law_u32 length;
};

/* LAW_ANSWERED: a message has a deadline, so law_on_ack must not be called. LAW_HELD: the message is held. */
enum { LAW_HELD = 4, LAW_ANSWERED = 8 };

/* Computes the need of one message. Returns 0 if there is no message of this number. */
LAW_PART law_u32 law_stand(struct law_standing *standing, const struct law_queue *queue, law_u32 number,
			   const struct law_ack *ack)
{
	const struct law_waiting *one;
	law_u64 rest;

	if (!standing || !queue || !ack || number >= queue->count)
		return 0;
	one = &queue->waiting[(queue->first + number) & (D2TCP_QUEUE - 1)];
	rest = one->message.end > ack->una ? one->message.end - ack->una : 0;
	standing->end = one->message.end;
	standing->rest = law_scale(rest, 1, ack->mss, 20);
	standing->left_ns = one->message.deadline_ns > ack->now_ns ? one->message.deadline_ns - ack->now_ns : 0;
	standing->rtt_ns = ack->rtt_ns;
	standing->need = LAW_NEVER;
	if (standing->left_ns)
		standing->need = law_scale(standing->rest, ack->rtt_ns, standing->left_ns, 0);
	standing->share = LAW_ONE;
	if (one->message.end > one->begin)
		standing->share = law_min(law_scale(rest, LAW_UNIT, one->message.end - one->begin, 10), LAW_ONE);
	return 1;
}

/* Finds the queued message with the largest need, which includes the bytes before it; the first of equal ones. */
LAW law_u32 law_most_pressing(struct law_standing *most, const struct law_queue *queue, const struct law_ack *ack)
{
	struct law_standing one = {};
	law_u32 found = 0, i;

	for (i = 0; i < D2TCP_QUEUE && i < queue->count; i++) {
		if (!law_stand(&one, queue, i, ack))
			break;
		if (!found || one.need > most->need)
			*most = one;
		found = 1;
	}
	return found;
}

LAW law_u64 law_scaled(const struct law_parameters *params, law_u64 ns)
{
	return (ns * params->time_scale) >> 20;
}

LAW void law_see(struct law_plus *plus, const struct law_standing *standing)
{
	if (plus->end != standing->end) {
		plus->end = standing->end;
		plus->allowed_ns = standing->left_ns;
		plus->lifted = 0;
		plus->stirred = 0;
		plus->hopeless = 0;
	}
	plus->pressed = standing->left_ns && standing->need >= LAW_UNIT;
}

/* Returns the window after a sign of congestion: half of the window above the floor is removed. */
LAW law_u64 law_cut_plus(const struct law_plus *plus, const struct law_parameters *params,
			 const struct law_standing *standing, law_u64 cwnd)
{
	law_u64 floor = 0, factor;

	if (plus->pressed) {
		factor = law_scale(law_scaled(params, LAW_FLOOR_HORIZON_NS), 1, standing->left_ns, 20);
		factor = law_min(factor, LAW_FLOOR_MOST * LAW_UNIT);
		floor = law_min(law_scale(standing->need, factor, LAW_UNIT, 0), cwnd);
	}
	return law_max(floor + (cwnd - floor) / 2, LAW_UNIT);
}

/* Returns the spare time at this window; negative if the message will be late. */
LAW law_s64 law_laxity(const struct law_plus *plus, const struct law_parameters *params,
		       const struct law_standing *standing, law_u64 cwnd)
{
	law_u64 guard = law_scale(standing->rest, standing->rtt_ns, cwnd, 0) / LAW_GUARD_PART;

	guard = law_min(guard, law_scaled(params, LAW_GUARD_MOST_NS));
	guard = law_min(guard, plus->allowed_ns / LAW_GUARD_SHARE_PART);
	return (law_s64)standing->left_ns - (law_s64)guard - (law_s64)standing->rtt_ns;
}

/* Returns a * share, of LAW_ONE. */
LAW law_u64 law_part(law_u64 a, law_u32 share)
{
	return law_scale(a, share, LAW_ONE, 0);
}

/* Responds to a sign of congestion: sets the window and the end of a hold. Returns LAW_HELD if the message is held. */
LAW law_u32 law_stand_back(struct law_state *state, struct law_plus *plus, const struct law_parameters *params,
			   const struct law_standing *standing, const struct law_ack *ack,
			   const struct law_draws *draws)
{
	law_u64 cut = law_cut_plus(plus, params, standing, state->cwnd), hold;
	law_s64 laxity = law_laxity(plus, params, standing, cut);
	law_u32 power;

	plus->stirred = 1;
	plus->hopeless = laxity < 0;
	state->cwnd = cut;
	if (laxity < 0) {
		hold = LAW_HOPELESS_HOLD_NS / 2 + law_part(LAW_HOPELESS_HOLD_NS, draws->length >> 2);
		hold = law_scaled(params, hold);
	} else {
		/* The probability and the length of a hold are proportional to the fourth power of the share left. */
		power = law_times(standing->share, standing->share);
		power = law_times(power, power);
		if (plus->pressed || (draws->whether >> 2) >= power)
			return 0;
		hold = law_part(law_part(law_part(laxity, LAW_HOLD_SHARE), power), draws->length >> 2);
		hold = law_min(hold, law_scaled(params, LAW_HOLD_MOST_NS));
	}
	plus->held_until_ns = ack->now_ns + hold;
	state->cwnd = LAW_UNIT;
	return LAW_HELD;
}

/* Applies the law to an acknowledgement. Returns 0 if no message has a deadline. */
LAW law_u32 law_plus_on_ack(struct law_state *state, struct law_plus *plus, const struct law_parameters *params,
			    const struct law_queue *queue, const struct law_ack *ack, const struct law_draws *draws)
{
	struct law_standing standing = {};
	law_u32 what;

	if (!law_most_pressing(&standing, queue, ack))
		return 0;
	what = law_count(state, params, ack) | LAW_ANSWERED;
	state->p = state->alpha;
	law_see(plus, &standing);
	if (what & LAW_CUT)
		state->cut_end = ack->next;
	if (!standing.rest)
		return what & ~LAW_CUT;
	if (!plus->lifted && standing.rtt_ns && standing.left_ns) {
		plus->lifted = 1;
		state->cwnd = law_max(state->cwnd, law_min(LAW_START * standing.need, LAW_MAX_WINDOW));
	}
	if (what & LAW_CUT) {
		what |= law_stand_back(state, plus, params, &standing, ack, draws);
		state->ssthresh = state->cwnd;
	} else if (ack->may_grow && !ack->marked) {
		state->cwnd += ((law_u64)ack->segments << 20) / (plus->stirred ? LAW_GROWTH_LATER : 1);
		state->cwnd = law_min(state->cwnd, LAW_MAX_WINDOW);
	}
	return what;
}

/* Applies the law to a loss found by duplicate acknowledgements or by time (RACK). The kernel's own back-off responds
 * to a loss that its timer finds. Returns 0 if no message has a deadline, and LAW_ANSWERED alone for a loss of the same
 * window. */
LAW law_u32 law_plus_on_loss(struct law_state *state, struct law_plus *plus, const struct law_parameters *params,
			     const struct law_queue *queue, const struct law_ack *ack, const struct law_draws *draws)
{
	struct law_standing standing = {};
	law_u32 what;

	if (!law_most_pressing(&standing, queue, ack))
		return 0;
	if (state->loss_end && ack->una <= state->loss_end)
		return LAW_ANSWERED;
	law_see(plus, &standing);
	state->loss_end = ack->next;
	state->prior_cwnd = state->cwnd;
	state->prior_ssthresh = state->ssthresh;
	what = law_stand_back(state, plus, params, &standing, ack, draws);
	state->ssthresh = state->cwnd;
	return what | LAW_ANSWERED | LAW_CUT;
}

/* Returns the pacing rate of a held message in bytes per second: one segment in the rest of the hold. Returns 0 without
 * a hold. */
LAW law_u64 law_hold_rate(const struct law_plus *plus, law_u32 mss, law_u64 now_ns)
{
	if (plus->held_until_ns <= now_ns)
		return 0;
	return law_max(law_scale(mss, 1000000000, plus->held_until_ns - now_ns, 0), 1);
}

#endif
