/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* The window law of d2tcp_plus in integers, as far as a congestion control of Linux can carry it: needed rates,
 * multiplicative growth, and standing back by laxity. Messages without a deadline are law.h's.
 *
 * Plain C like law.h, and tested like it against the simulator's law, whose parameters have the same names. Chance is
 * the caller's: it passes numbers drawn evenly from all 32 bits. */
#ifndef D2TCP_PLUS_H
#define D2TCP_PLUS_H

#include "queue.h"

#define LAW_MS 1000000ull

/* Times are for round trips of some tenths of a millisecond. They are all multiplied by the operator's time_scale where
 * round trips are longer. */

/* The first RTT sample lifts the window to this many times what the deadline needs. */
#define LAW_START 2
/* Segments acknowledged without a mark for one that the window grows by, after the first mark or loss; 1 before. */
#define LAW_GROWTH_LATER 4
/* A cut takes half of what is above the need times this over the time left, */
#define LAW_FLOOR_HORIZON_NS (10 * LAW_MS)
/* and times this at most. */
#define LAW_FLOOR_MOST 4
/* The share of its laxity for which a message may be held back at once, as a fraction, and for how long at most. */
#define LAW_HOLD_SHARE (LAW_ONE / 10 * 7)
#define LAW_HOLD_MOST_NS (20 * LAW_MS)
/* Of the rest's time at the window as cut this share's inverse is kept as a guard, at most so long, and at most this
 * share's inverse of the time that the message had at first. */
#define LAW_GUARD_PART 2
#define LAW_GUARD_MOST_NS (10 * LAW_MS)
#define LAW_GUARD_SHARE_PART 4
/* How long a message without laxity lets others pass: from half of it to one and a half times. */
#define LAW_HOPELESS_HOLD_NS (100 * LAW_MS)

/* What is kept of a connection beside struct law_state; zeros at first. */
struct law_plus {
	law_u64 end;		/* of the message that what follows is about */
	law_u64 allowed_ns;	/* what it had when it was first seen */
	law_u64 held_until_ns;	/* no more than a segment is to leave before */
	law_u32 lifted;		/* its window was lifted to its need */
	law_u32 stirred;	/* it has seen a mark or a loss */
	law_u32 pressed;	/* it needs more than a segment per round trip */
	law_u32 hopeless;	/* its last sign of congestion found no laxity */
};

/* Where a message stands. */
struct law_standing {
	law_u64 end;
	law_u64 rest;		/* segments that are left before it is complete, with 20 bits of fraction */
	law_u64 left_ns;	/* to the deadline, 0 from then on */
	law_u64 rtt_ns;		/* 0 before the first sample */
	law_u64 need;		/* segments per round trip, as rest; LAW_NEVER without time */
	law_u32 share;		/* of the message that is left, of LAW_ONE */
	law_u32 reserved;
};

/* Draws of one call: whether it stands back, and for how long. */
struct law_draws {
	law_u32 whether;
	law_u32 length;
};

/* LAW_ANSWERED: there was a message with a deadline, so law_on_ack is not to be asked. LAW_HELD: it stands back. */
enum { LAW_HELD = 4, LAW_ANSWERED = 8 };

/* What a message needs; gives 0 where there is none of this number. */
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

/* Of those that wait the one that needs most, each with what is to be sent before it: the first of equal ones. */
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

LAW law_u64 law_scaled(const struct law_parameters *how, law_u64 ns)
{
	return (ns * how->time_scale) >> 20;
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

/* The window after a sign of congestion: half of what is above the floor is taken off. */
LAW law_u64 law_cut_plus(const struct law_plus *plus, const struct law_parameters *how,
			 const struct law_standing *standing, law_u64 cwnd)
{
	law_u64 floor = 0, factor;

	if (plus->pressed) {
		factor = law_scale(law_scaled(how, LAW_FLOOR_HORIZON_NS), 1, standing->left_ns, 20);
		factor = law_min(factor, LAW_FLOOR_MOST * LAW_UNIT);
		floor = law_min(law_scale(standing->need, factor, LAW_UNIT, 0), cwnd);
	}
	return law_max(floor + (cwnd - floor) / 2, LAW_UNIT);
}

/* Time to spare at this window; negative if it will be late. */
LAW law_s64 law_laxity(const struct law_plus *plus, const struct law_parameters *how,
		       const struct law_standing *standing, law_u64 cwnd)
{
	law_u64 guard = law_scale(standing->rest, standing->rtt_ns, cwnd, 0) / LAW_GUARD_PART;

	guard = law_min(guard, law_scaled(how, LAW_GUARD_MOST_NS));
	guard = law_min(guard, plus->allowed_ns / LAW_GUARD_SHARE_PART);
	return (law_s64)standing->left_ns - (law_s64)guard - (law_s64)standing->rtt_ns;
}

/* a * share, of LAW_ONE. */
LAW law_u64 law_part(law_u64 a, law_u32 share)
{
	return law_scale(a, share, LAW_ONE, 0);
}

/* A sign of congestion: sets the window, and until when to stand back. Gives LAW_HELD where it does. */
LAW law_u32 law_stand_back(struct law_state *state, struct law_plus *plus, const struct law_parameters *how,
			   const struct law_standing *standing, const struct law_ack *ack,
			   const struct law_draws *draws)
{
	law_u64 cut = law_cut_plus(plus, how, standing, state->cwnd), hold;
	law_s64 laxity = law_laxity(plus, how, standing, cut);
	law_u32 power;

	plus->stirred = 1;
	plus->hopeless = laxity < 0;
	state->cwnd = cut;
	if (laxity < 0) {
		hold = LAW_HOPELESS_HOLD_NS / 2 + law_part(LAW_HOPELESS_HOLD_NS, draws->length >> 2);
		hold = law_scaled(how, hold);
	} else {
		/* The chance, and how long, go with the fourth power of the share that is left. */
		power = law_times(standing->share, standing->share);
		power = law_times(power, power);
		if (plus->pressed || (draws->whether >> 2) >= power)
			return 0;
		hold = law_part(law_part(law_part(laxity, LAW_HOLD_SHARE), power), draws->length >> 2);
		hold = law_min(hold, law_scaled(how, LAW_HOLD_MOST_NS));
	}
	plus->held_until_ns = ack->now_ns + hold;
	state->cwnd = LAW_UNIT;
	return LAW_HELD;
}

/* The answer to an acknowledgement; nothing without a deadline. */
LAW law_u32 law_plus_on_ack(struct law_state *state, struct law_plus *plus, const struct law_parameters *how,
			    const struct law_queue *queue, const struct law_ack *ack, const struct law_draws *draws)
{
	struct law_standing standing = {};
	law_u32 what;

	if (!law_most_pressing(&standing, queue, ack))
		return 0;
	what = law_count(state, how, ack) | LAW_ANSWERED;
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
		what |= law_stand_back(state, plus, how, &standing, ack, draws);
		state->ssthresh = state->cwnd;
	} else if (ack->may_grow && !ack->marked) {
		state->cwnd += ((law_u64)ack->segments << 20) / (plus->stirred ? LAW_GROWTH_LATER : 1);
		state->cwnd = law_min(state->cwnd, LAW_MAX_WINDOW);
	}
	return what;
}

/* A loss, found by duplicate acknowledgements or by time; the kernel's own back-off answers one that its timer finds.
 * Gives 0 where it was answered already, or nothing has a deadline. */
LAW law_u32 law_plus_on_loss(struct law_state *state, struct law_plus *plus, const struct law_parameters *how,
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
	what = law_stand_back(state, plus, how, &standing, ack, draws);
	state->ssthresh = state->cwnd;
	return what | LAW_ANSWERED | LAW_CUT;
}

/* Bytes per second while it stands back: one segment, then nothing for the rest of the time. 0: it does not. */
LAW law_u64 law_hold_rate(const struct law_plus *plus, law_u32 mss, law_u64 now_ns)
{
	if (plus->held_until_ns <= now_ns)
		return 0;
	return law_max(law_scale(mss, 1000000000, plus->held_until_ns - now_ns, 0), 1);
}

#endif
