/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* Gives the inline functions of the law an address each. */
#include "law.h"

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

law_u32 host_imminence(const struct law_parameters *how, const struct law_message *message, law_u64 cwnd,
		       const struct law_ack *ack)
{
	return law_imminence(how, message, cwnd, ack);
}

law_u64 host_pacing_rate(law_u64 cwnd, law_u64 ssthresh, law_u32 in_flight, law_u32 mss, law_u64 srtt_ns)
{
	return law_pacing_rate(cwnd, ssthresh, in_flight, mss, srtt_ns);
}

void host_start(struct law_state *state, const struct law_parameters *how, law_u64 cwnd, law_u64 ssthresh)
{
	law_start(state, how, cwnd, ssthresh);
}

law_u32 host_on_ack(struct law_state *state, const struct law_parameters *how, const struct law_message *message,
		    const struct law_ack *ack)
{
	return law_on_ack(state, how, message, ack);
}

law_u32 host_on_loss(struct law_state *state, law_u64 una, law_u64 next)
{
	return law_on_loss(state, una, next);
}

void host_undo(struct law_state *state)
{
	law_undo(state);
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
	default:
		return sizeof(struct law_ack);
	}
}
