/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* Exports the law's inline functions, and the compiler's layout of the structures that programs use. */
#include <stddef.h>

/* The interface without its client side, which needs Linux. */
#define D2TCP_KERNEL_SIDE
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef long long __s64;
#include "d2tcp.h"

#include "budget.h"
#include "law.h"
#include "plus.h"

law_u64 host_scale(law_u64 a, law_u64 b, law_u64 c, law_u32 shift)
{
	return law_scale(a, b, c, shift);
}

law_u64 host_root(law_u64 x)
{
	return law_root(x);
}

law_u32 host_penalty(law_u32 alpha, law_u32 d)
{
	return law_penalty(alpha, d);
}

law_u64 host_rounds(law_u64 left, law_u32 mss, law_u64 cwnd, law_u32 precise)
{
	return law_rounds(left, mss, cwnd, precise);
}

law_u32 host_imminence(const struct law_parameters *params, const struct law_message *message, law_u64 cwnd,
		       const struct law_ack *ack)
{
	return law_imminence(params, message, cwnd, ack);
}

law_u32 host_queue_imminence(const struct law_parameters *params, const struct law_queue *queue, law_u64 cwnd,
			     const struct law_ack *ack)
{
	return law_queue_imminence(params, queue, cwnd, ack);
}

law_u32 host_announce(struct law_queue *queue, const struct law_announcement *wanted)
{
	return law_announce(queue, wanted);
}

void host_complete(struct law_queue *queue, law_u64 una, law_u64 now_ns)
{
	law_complete(queue, una, now_ns);
}

void host_cancel(struct law_queue *queue, law_u64 written, law_u64 tag, law_u64 now_ns)
{
	struct law_sieve by = { .written = written, .tag = tag, .now_ns = now_ns };

	law_take_out(queue, &by);
}

law_u64 host_pacing_rate(law_u64 cwnd, law_u64 ssthresh, law_u32 in_flight, law_u32 mss, law_u64 srtt_ns,
			 law_u64 ratios)
{
	return law_pacing_rate(cwnd, ssthresh, in_flight, mss, srtt_ns, ratios);
}

void host_idle(struct law_state *state, law_u64 timeouts, law_u32 initial)
{
	law_idle(state, timeouts, initial);
}

void host_resize(struct law_state *state, law_u32 before, law_u32 mss)
{
	law_resize(state, before, mss);
}

law_u32 host_plus_on_ack(struct law_state *state, struct law_plus *plus, const struct law_parameters *params,
			 const struct law_queue *queue, const struct law_ack *ack, const struct law_draws *draws)
{
	return law_plus_on_ack(state, plus, params, queue, ack, draws);
}

law_u32 host_plus_on_loss(struct law_state *state, struct law_plus *plus, const struct law_parameters *params,
			  const struct law_queue *queue, const struct law_ack *ack, const struct law_draws *draws)
{
	return law_plus_on_loss(state, plus, params, queue, ack, draws);
}

law_u32 host_plus_standing(const struct law_plus *plus, const struct law_parameters *params, const struct law_queue *queue,
			   const struct law_ack *ack, law_u64 cwnd, law_u64 *need, law_s64 *laxity)
{
	struct law_standing standing = {};

	if (!law_most_pressing(&standing, queue, ack))
		return 0;
	*need = standing.need;
	*laxity = law_laxity(plus, params, &standing, cwnd);
	return 1;
}

law_u64 host_hold_rate(const struct law_plus *plus, law_u32 mss, law_u64 now_ns)
{
	return law_hold_rate(plus, mss, now_ns);
}

law_u32 host_reduced(const struct law_reduction *now)
{
	return law_reduced(now);
}

void host_start(struct law_state *state, const struct law_parameters *params, law_u64 cwnd, law_u64 ssthresh)
{
	law_start(state, params, cwnd, ssthresh);
}

law_u32 host_on_ack(struct law_state *state, const struct law_parameters *params, const struct law_queue *queue,
		    const struct law_ack *ack)
{
	return law_on_ack(state, params, queue, ack);
}

law_u32 host_on_loss(struct law_state *state, law_u64 una, law_u64 next)
{
	return law_on_loss(state, una, next);
}

void host_undo(struct law_state *state)
{
	law_undo(state);
}

void host_refill(struct law_account *account, law_u64 burst, law_u64 now_ns)
{
	law_refill(account, burst, now_ns);
}

void host_spend(struct law_account *account, law_u64 burst, law_u32 share, law_u64 bytes, law_u32 d)
{
	law_spend(account, burst, share, bytes, d);
}

law_u32 host_table(law_u32 which, law_u32 step)
{
	return which ? law_exp2_table[step] : law_log2_table[step];
}

law_u32 host_size(law_u32 which)
{
	switch (which) {
	case 0:
		return sizeof(struct law_parameters);
	case 1:
		return sizeof(struct law_state);
	case 2:
		return sizeof(struct law_message);
	case 3:
		return sizeof(struct law_queue);
	case 4:
		return sizeof(struct law_announcement);
	case 5:
		return sizeof(struct law_reduction);
	case 6:
		return sizeof(struct law_ack);
	case 7:
		return sizeof(struct law_account);
	default:
		return sizeof(struct law_plus);
	}
}

law_u32 host_layout(law_u32 which)
{
	switch (which) {
	case 0:
		return sizeof(struct d2tcp_message);
	case 1:
		return offsetof(struct d2tcp_message, deadline_ns);
	case 2:
		return sizeof(struct d2tcp_state);
	case 3:
		return offsetof(struct d2tcp_state, alpha);
	case 4:
		return offsetof(struct d2tcp_state, messages);
	case 5:
		return offsetof(struct d2tcp_state, time_left_ns);
	case 6:
		return offsetof(struct d2tcp_state, timeouts);
	case 7:
		return D2TCP_LEVEL;
	case 8:
		return D2TCP_MESSAGE << 24 | D2TCP_STATE << 16 | D2TCP_CANCEL << 8 | D2TCP_OUTCOMES;
	case 9:
		return sizeof(struct d2tcp_announcement);
	case 10:
		return offsetof(struct d2tcp_announcement, tag) << 8 | offsetof(struct d2tcp_announcement, flags);
	case 11:
		return sizeof(struct d2tcp_outcome);
	case 12:
		return offsetof(struct d2tcp_outcome, left_ns) << 8 | offsetof(struct d2tcp_outcome, number);
	case 13:
		return offsetof(struct d2tcp_state, cancelled) << 8 | offsetof(struct d2tcp_state, rule);
	case 14:
		return D2TCP_ENDS_PREVIOUS | D2TCP_MET << 4 | D2TCP_MISSED << 8 | D2TCP_CANCELLED << 12;
	default:
		return D2TCP_ECN | D2TCP_SLOW_START << 4 | D2TCP_DEADLINE << 8 | D2TCP_EXPIRED << 12 |
		       D2TCP_RECOVERY << 16 | D2TCP_LIMITED << 20;
	}
}
