/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* The budget of urgency of one user: how much d may exceed 1.
 *
 * d acts at cuts only, so accounts change only there. A cut of a window of W bytes with d > 1 costs (d - 1) W. Each cut
 * of a connection with a deadline earns a share of its W. While an account has nothing left, d is at most 1. So the
 * mean of d over all cuts, weighted by W, is at most 1 + share, apart from the burst. Link rates and numbers of
 * connections have no part in it. docs/decisions/urgency.md has the reasons.
 *
 * Plain C like law.h, and tested on the host as well. Several CPUs may change an account at the same time. */
#ifndef D2TCP_BUDGET_H
#define D2TCP_BUDGET_H

#include "law.h"

/* The time in which an empty account is refilled to its burst without any cut. */
#define LAW_REFILL_NS 60000000000ull
/* The minimum time between two refills, so that rounding loses little. */
#define LAW_REFILL_STEP_NS 1000000ull
/* The largest accounted window, in bytes: above any real one. */
#define LAW_MAX_ACCOUNTED (1ull << 40)

struct law_account {
	law_s64 left;		/* bytes of window times (d - 1); negative: overdrawn by a cut */
	law_u64 at_ns;		/* of the last refill */
};

/* Adds to an account. */
LAW void law_earn(struct law_account *account, law_u64 burst, law_s64 change)
{
	law_s64 left = __sync_fetch_and_add(&account->left, change) + change;

	if (left > (law_s64)burst)
		account->left = burst;
}

/* Adds the refill since the last one. Only one of several CPUs adds it. */
LAW void law_refill(struct law_account *account, law_u64 burst, law_u64 now_ns)
{
	law_u64 at = account->at_ns, elapsed = now_ns > at ? now_ns - at : 0;

	if (elapsed < LAW_REFILL_STEP_NS || __sync_val_compare_and_swap(&account->at_ns, at, now_ns) != at)
		return;
	law_earn(account, burst, law_scale(burst, law_min(elapsed, LAW_REFILL_NS), LAW_REFILL_NS, 0));
}

/* Accounts for a cut of a window of so many bytes with this d. `share` is of LAW_ONE. */
LAW void law_spend(struct law_account *account, law_u64 burst, law_u32 share, law_u64 bytes, law_u32 d)
{
	law_u64 window = law_min(bytes, LAW_MAX_ACCOUNTED);
	law_s64 change = law_scale(window, share, LAW_ONE, 0);

	if (d > LAW_UNIT)
		change -= law_scale(window, d - LAW_UNIT, LAW_UNIT, 0);
	law_earn(account, burst, change);
}

#endif
