// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* The messages of a connection, announced by its program or implied by the operator's policy. */
#ifndef D2TCP_MESSAGES_H
#define D2TCP_MESSAGES_H

#include "watch.h"

/* These functions are not static, so that the verifier checks each of them once, and not each path through all of
 * them. */

__noinline int complete(struct law_queue *queue, __u64 una, __u64 now)
{
	if (queue)
		law_complete(queue, una, now);
	return 0;
}

__noinline int take_out(struct law_queue *queue, const struct law_sieve *by)
{
	if (queue && by)
		law_take_out(queue, by);
	return 0;
}

__noinline int end_previous(struct law_queue *queue, __u64 until, __u64 now)
{
	if (queue)
		law_end_previous(queue, until, now);
	return 0;
}

__noinline __u32 announce(struct law_queue *queue, const struct law_announcement *wanted)
{
	return queue && wanted ? law_announce(queue, wanted) : LAW_NOTHING;
}

/* The counts of a queue's ended messages, to compare before and after a change. */
struct ended {
	__u64 met;
	__u64 missed;
	__u64 cancelled;
};

static __always_inline struct ended ended(const struct d2tcp_socket *s)
{
	struct ended now = { s->queue.met, s->queue.missed, s->queue.cancelled };

	return now;
}

/* Counts the messages that have ended since `before`. Returns D2TCP_EVENT_DONE if there are any. */
static __always_inline __u32 count_ended(const struct d2tcp_socket *s, struct ended before)
{
	__u64 met = s->queue.met - before.met, missed = s->queue.missed - before.missed;
	__u64 cancelled = s->queue.cancelled - before.cancelled;

	if (!met && !missed && !cancelled)
		return 0;
	count_outcomes(s->rule, s->uid, met, missed, cancelled);
	return D2TCP_EVENT_DONE;
}

/* Removes the messages whose last byte has been acknowledged. A message with a deadline by policy is not removed, as it
 * may grow. */
static __always_inline __u32 finish(struct d2tcp_socket *s, __u64 una, __u64 now)
{
	struct ended before = ended(s);

	if (!s->queue.count || s->implied)
		return 0;
	complete(&s->queue, una, now);
	return count_ended(s, before);
}

/* Ends a message with a deadline by policy. Its end is the last byte acknowledged before the next message begins, or
 * before the connection ends. */
static __always_inline void finish_implied(struct d2tcp_socket *s, __u64 una)
{
	struct ended before = ended(s);

	s->implied = 0;
	end_previous(&s->queue, una, s->quiet_ns);
	complete(&s->queue, una, s->quiet_ns);
	count_ended(s, before);
}

/* Announces an implied message when the connection sends after all earlier data was acknowledged. The data is a message
 * to the policy if the peer has sent since the last one, or if it is the first. */
static __always_inline void imply(struct d2tcp_socket *s, const struct tcp_sock *tp, const struct d2tcp_rule *rule)
{
	struct law_announcement wanted = {};

	if (s->announced || !rule || !rule->deadline_ns || rule->control == D2TCP_CONTROL_LEAVE ||
	    (s->heard == tp->rcv_nxt && s->messages))
		return;
	if (s->implied)
		finish_implied(s, tp->bytes_acked);
	s->heard = tp->rcv_nxt;
	wanted.now_ns = bpf_ktime_get_ns();
	wanted.written = tp->bytes_acked;
	wanted.bytes = law_max(rule->bytes, 1);
	wanted.deadline_ns = wanted.now_ns + rule->deadline_ns;
	if (announce(&s->queue, &wanted) != LAW_ANNOUNCED)
		return;
	s->implied = 1;
	s->messages++;
	COUNT(s->rule, messages, 1);
	COUNT(s->rule, implied, 1);
}

/* Extends an implied message that is longer than assumed. */
static __always_inline void lengthen(struct d2tcp_socket *s, __u64 until)
{
	struct law_message *message = &law_waiting(&s->queue, 0)->message;

	if (s->implied && s->queue.count && message->end < until) {
		message->end = until;
		s->queue.last_end = until;
	}
}

/* Discards the announcements of a connection that no longer exists. */
static __always_inline void forget(struct d2tcp_socket *s)
{
	s->queue.count = 0;
	s->queue.last_end = 0;
	s->implied = 0;
}

/* Discards stale announcements: a socket that could not connect may try again, with a new connection. */
static __always_inline void check_stream(struct d2tcp_socket *s, const struct tcp_sock *tp)
{
	__u32 stream = tp->snd_una - (__u32)tp->bytes_acked;

	if (s->stream == stream)
		return;
	s->stream = stream;
	COUNT(s->rule, unfinished, s->queue.count);
	forget(s);
}

/* Counts the queued messages of a connection that leaves: as missed if their deadline has passed, else as
 * unfinished. */
static __always_inline void close_messages(struct d2tcp_socket *s, const struct tcp_sock *tp)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 late = 0;
	int i;

	if (s->implied && written(tp) == tp->bytes_acked)
		finish_implied(s, tp->bytes_acked);
	for (i = 0; i < D2TCP_QUEUE && i < s->queue.count; i++)
		if (law_waiting(&s->queue, i)->message.deadline_ns < now)
			late++;
	count_outcomes(s->rule, s->uid, 0, late, 0);
	COUNT(s->rule, unfinished, s->queue.count - late);
}

#endif
