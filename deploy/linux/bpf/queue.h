/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* The queue of the announced messages of one connection: announcing, ending, cancelling and completing them, and the d
 * that follows.
 *
 * Plain C like law.h, and tested on the host as well. Positions count the connection's bytes from 0. */
#ifndef D2TCP_QUEUE_H
#define D2TCP_QUEUE_H

#include "law.h"

/* Linkage of a function that handles one message of a loop. In BPF these are functions of the program, so that the
 * verifier checks each of them once, and not each path through all messages. They therefore check their pointers,
 * too. */
#ifndef LAW_PART
#define LAW_PART LAW
#endif

/* A queued message. */
struct law_waiting {
	struct law_message message;
	law_u64 begin;
	law_u64 tag;
};

struct law_queue {
	law_u32 first;
	law_u32 count;
	law_u64 last_end;	/* of the message announced last, less bytes that will never be written */
	law_u64 met;
	law_u64 missed;
	law_u64 cancelled;
	law_u64 gap;		/* used while messages are removed */
	law_u32 kept;
	law_u32 reserved;
	struct law_waiting waiting[D2TCP_QUEUE];
	struct d2tcp_outcome outcomes[D2TCP_OUTCOMES_KEPT];
};

/* Results of an announcement. */
enum { LAW_NOTHING, LAW_ANNOUNCED, LAW_CORRECTED, LAW_FULL };

/* The arguments of an announcement. */
struct law_announcement {
	law_u64 bytes;
	law_u64 deadline_ns;	/* absolute time */
	law_u64 tag;
	law_u64 written;	/* everything before this position has been written */
	law_u64 now_ns;
	law_u32 flags;
	law_u32 reserved;
};

LAW struct law_waiting *law_waiting(struct law_queue *queue, law_u32 number)
{
	return &queue->waiting[(queue->first + number) & (D2TCP_QUEUE - 1)];
}

/* Records the outcome of a message. */
LAW void law_ended(struct law_queue *queue, const struct law_waiting *which, law_u32 result, law_u64 now_ns)
{
	struct d2tcp_outcome *outcome;
	law_u64 number;

	if (result == D2TCP_MET)
		queue->met++;
	else if (result == D2TCP_MISSED)
		queue->missed++;
	else
		queue->cancelled++;
	number = queue->met + queue->missed + queue->cancelled;
	outcome = &queue->outcomes[(number - 1) & (D2TCP_OUTCOMES_KEPT - 1)];
	outcome->tag = which->tag;
	outcome->left_ns = which->message.deadline_ns - now_ns;
	outcome->result = result;
	outcome->number = number;
}

/* Removes the first message if its last byte has been acknowledged. */
LAW_PART law_u32 law_complete_one(struct law_queue *queue, law_u64 una, law_u64 now_ns)
{
	const struct law_waiting *first;

	if (!queue || !queue->count)
		return 0;
	first = law_waiting(queue, 0);
	if (first->message.end > una)
		return 0;
	law_ended(queue, first, first->message.deadline_ns >= now_ns ? D2TCP_MET : D2TCP_MISSED, now_ns);
	queue->first++;
	queue->count--;
	return 1;
}

/* Removes the messages whose last byte has been acknowledged. */
LAW void law_complete(struct law_queue *queue, law_u64 una, law_u64 now_ns)
{
	int i;

	for (i = 0; i < D2TCP_QUEUE; i++)
		if (!law_complete_one(queue, una, now_ns))
			break;
}

/* The filter by which messages are removed. With `overdue` it selects messages whose deadline passed before their last
 * byte was written, and they count as missed. Otherwise it selects the messages with this tag, or all for 0, and they
 * count as cancelled. */
struct law_sieve {
	law_u64 written;
	law_u64 tag;
	law_u64 now_ns;
	law_u64 overdue;
};

LAW_PART law_u32 law_sift(struct law_queue *queue, law_u32 number, const struct law_sieve *by)
{
	struct law_waiting *one, *to;
	law_u64 reached;
	law_u32 goes;

	if (!queue || !by || number >= queue->count)
		return 0;
	one = law_waiting(queue, number);
	if (by->overdue)
		goes = one->message.deadline_ns < by->now_ns && one->message.end > by->written;
	else
		goes = !by->tag || one->tag == by->tag;
	if (goes) {
		law_ended(queue, one, by->overdue ? D2TCP_MISSED : D2TCP_CANCELLED, by->now_ns);
		reached = law_max(one->begin, by->written);
		queue->gap += law_max(one->message.end, reached) - reached;
		return 1;
	}
	to = law_waiting(queue, queue->kept);
	to->message.end = one->message.end - queue->gap;
	to->message.deadline_ns = one->message.deadline_ns;
	to->begin = law_max(one->begin, queue->gap) - queue->gap;
	to->tag = one->tag;
	queue->kept++;
	return 1;
}

/* Removes the messages that a filter selects. Their unwritten bytes will never be written, so later messages move
 * up. */
LAW void law_take_out(struct law_queue *queue, const struct law_sieve *by)
{
	int i;

	queue->gap = 0;
	queue->kept = 0;
	for (i = 0; i < D2TCP_QUEUE; i++)
		if (!law_sift(queue, i, by))
			break;
	queue->count = queue->kept;
	queue->last_end -= law_min(queue->gap, queue->last_end);
}

LAW_PART law_u32 law_truncate(struct law_queue *queue, law_u32 number, law_u64 written, law_u64 now_ns)
{
	struct law_waiting *one;

	if (!queue || number >= queue->count)
		return 0;
	one = law_waiting(queue, number);
	if (one->begin >= written) {
		law_ended(queue, one, D2TCP_CANCELLED, now_ns);
	} else {
		one->message.end = law_min(one->message.end, written);
		queue->kept++;
	}
	return 1;
}

/* Truncates the messages to the bytes written so far. */
LAW void law_end_previous(struct law_queue *queue, law_u64 written, law_u64 now_ns)
{
	int i;

	queue->kept = 0;
	for (i = 0; i < D2TCP_QUEUE; i++)
		if (!law_truncate(queue, i, written, now_ns))
			break;
	queue->count = queue->kept;
	queue->last_end = law_min(queue->last_end, written);
}

/* Announces a message; see D2TCP_MESSAGE in d2tcp.h. */
LAW law_u32 law_announce(struct law_queue *queue, const struct law_announcement *wanted)
{
	struct law_waiting *slot;

	if (!wanted->bytes || wanted->flags & D2TCP_ENDS_PREVIOUS)
		law_end_previous(queue, wanted->written, wanted->now_ns);
	if (!wanted->bytes && queue->last_end >= wanted->written) {
		if (!queue->count)
			return LAW_NOTHING;
		slot = law_waiting(queue, queue->count - 1);
		slot->message.deadline_ns = wanted->deadline_ns;
		slot->tag = wanted->tag;
		return LAW_CORRECTED;
	}
	if (queue->count >= D2TCP_QUEUE) {
		struct law_sieve overdue = { .written = wanted->written, .now_ns = wanted->now_ns, .overdue = 1 };

		law_take_out(queue, &overdue);
	}
	if (queue->count >= D2TCP_QUEUE)
		return LAW_FULL;
	slot = law_waiting(queue, queue->count);
	if (wanted->bytes) {
		slot->begin = law_max(wanted->written, queue->last_end);
		slot->message.end = slot->begin + wanted->bytes;
	} else {
		slot->begin = queue->last_end;
		slot->message.end = wanted->written;
	}
	slot->message.deadline_ns = wanted->deadline_ns;
	slot->tag = wanted->tag;
	queue->last_end = slot->message.end;
	queue->count++;
	return LAW_ANNOUNCED;
}

/* Returns d for one message, from all bytes up to its end; 0 if there is no message of this number. */
LAW_PART law_u32 law_imminence_of(const struct law_parameters *params, const struct law_queue *queue, law_u32 number,
				  law_u64 cwnd, const struct law_ack *ack)
{
	const struct law_message *message;

	if (!params || !queue || !ack || number >= queue->count)
		return 0;
	message = &queue->waiting[(queue->first + number) & (D2TCP_QUEUE - 1)].message;
	return law_imminence(params, message, cwnd, ack);
}

/* Returns d of a connection with several messages: the largest over the queue, or 1 without any. TCP sends in order, so
 * that a later message may have the nearest deadline. */
LAW law_u32 law_queue_imminence(const struct law_parameters *params, const struct law_queue *queue, law_u64 cwnd,
				const struct law_ack *ack)
{
	law_u32 most = 0, i;

	for (i = 0; i < D2TCP_QUEUE && i < queue->count; i++)
		most = law_max(most, law_imminence_of(params, queue, i, cwnd, ack));
	return most ? most : LAW_UNIT;
}

/* Applies the law to an acknowledgement. Returns LAW_CUT and LAW_WINDOW as law_count does, and LAW_LIMITED. */
LAW law_u32 law_on_ack(struct law_state *state, const struct law_parameters *params, const struct law_queue *queue,
		       const struct law_ack *ack)
{
	law_u32 what = law_count(state, params, ack), limited = 0;

	if (what) {
		state->d = law_queue_imminence(params, queue, state->cwnd, ack);
		if (ack->max_d && state->d > ack->max_d) {
			state->d = ack->max_d;
			limited = LAW_LIMITED;
		}
		state->p = law_penalty(state->alpha, state->d);
	}
	law_answer(state, ack, what);
	return what | limited;
}

#endif
