// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* The response of the window to an acknowledgement. */
#ifndef D2TCP_CONTROL_H
#define D2TCP_CONTROL_H

#include "messages.h"
#include "short.h"

/* Applies the law to an acknowledgement. */
__noinline __u32 step(struct law_state *law, const struct law_parameters *params, const struct law_queue *queue,
		      const struct law_ack *ack)
{
	if (!law || !params || !queue || !ack)
		return 0;
	return law_on_ack(law, params, queue, ack);
}

/* Applies LAW_PLUS to an acknowledgement; returns 0 if no message has a deadline. */
__noinline __u32 step_plus(struct law_state *law, struct law_plus *plus, const struct law_parameters *params,
			   const struct law_queue *queue, const struct law_ack *ack)
{
	struct law_draws draws = { bpf_get_prandom_u32(), bpf_get_prandom_u32() };

	if (!law || !plus || !params || !queue || !ack)
		return 0;
	return law_plus_on_ack(law, plus, params, queue, ack, &draws);
}

/* Applies LAW_PLUS to a loss. */
__noinline __u32 lose_plus(struct law_state *law, struct law_plus *plus, const struct law_parameters *params,
			   const struct law_queue *queue, const struct law_ack *ack)
{
	struct law_draws draws = { bpf_get_prandom_u32(), bpf_get_prandom_u32() };

	if (!law || !plus || !params || !queue || !ack)
		return 0;
	return law_plus_on_loss(law, plus, params, queue, ack, &draws);
}

static __always_inline void count_opened(struct d2tcp_socket *s)
{
	if (s->counted)
		return;
	s->counted = 1;
	COUNT(s->rule, opened, 1);
}

/* Starts the state of a connection that begins, or that switches from another control in mid-life. */
static __always_inline void begin(struct d2tcp_socket *s, const struct tcp_sock *tp, const struct law_parameters *params)
{
	__u64 *last_id = word(D2TCP_LAST_ID);

	law_start(&s->law, params, (__u64)tp->snd_cwnd << 20, (__u64)tp->snd_ssthresh << 20);
	check_stream(s, tp);
	/* The SYN is the first delivery. The packet of this call acknowledges the rest. */
	s->delivered = s->connecting ? 1 : tp->delivered;
	s->delivered_ce = s->connecting ? 0 : tp->delivered_ce;
	s->lost = tp->lost;
	s->written = tp->snd_cwnd;
	s->mss = tp->mss_cache;
	s->reducing = NOT_REDUCING;
	s->asked = 0;
	s->timed_out = 0;
	s->quiet_ns = bpf_ktime_get_ns();
	if (!s->id && last_id)
		s->id = __sync_fetch_and_add(last_id, 1) + 1;
	count_opened(s);
}

/* Sets the minimum retransmission timeout of LAW_PLUS. The kernel accepts no less than two ticks of its clock, which
 * are 2, 8 or 20 ms. A limit of the route has precedence. */
static __always_inline void lower_rto(struct sock *sk, struct d2tcp_socket *s, const struct law_parameters *params)
{
	__u32 least[] = { params->rto_min_ns / 1000, 2000, 8000, 20000 };
	int i;

	if (params->mode != LAW_PLUS || !params->rto_min_ns || s->lower_rto)
		return;
	s->lower_rto = 1;
	for (i = 0; i < 4; i++)
		if (least[i] >= least[0] && !bpf_setsockopt(sk, IPPROTO_TCP, TCP_BPF_RTO_MIN, &least[i], sizeof(least[i])))
			break;
}

/* Sets the initial window of LAW_PLUS, before any data is sent. */
static __always_inline void open_window(struct sock *sk, struct d2tcp_socket *s, const struct law_parameters *params)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (params->mode != LAW_PLUS || !params->initial_window || tp->data_segs_out)
		return;
	s->law.cwnd = (__u64)params->initial_window << 20;
	tp->snd_cwnd = params->initial_window;
	s->written = params->initial_window;
}

/* Returns the window during a reduction, after marks as after a loss: in proportion to the delivered data, as the
 * kernel does for tcp_dctcp. For a control with cong_control the kernel skips its own code, except for the count of
 * sent segments. */
static __always_inline __u32 reduced(struct d2tcp_socket *s, const struct tcp_sock *tp, __u32 delivered, __u32 why)
{
	struct law_reduction now = {
		.prior = why == REDUCING_FOR_LOSS ? s->law.prior_cwnd >> 20 : s->reduced_from,
		.target = why == REDUCING_FOR_LOSS ? s->law.ssthresh >> 20 : s->law.cwnd >> 20,
		.flight = in_flight(tp),
		.delivered = delivered,
		.first = why == REDUCING_FOR_LOSS,
	};

	/* The counts begin at the first echo, and continue if a loss occurs in the window of a cut. They begin anew
	 * when one repair follows another. */
	if (s->reducing != why) {
		s->prr_before = s->reducing ? tp->prr_out : 0;
		if (why == REDUCING_FOR_LOSS && !s->reducing)
			s->prr_before = tp->prr_out;
		s->prr_delivered = 0;
		s->reducing = why;
	} else if (tp->prr_out < s->prr_out) {
		s->prr_before = 0;
		s->prr_delivered = 0;
	}
	s->prr_out = tp->prr_out;
	s->prr_delivered += delivered;
	now.delivered_all = s->prr_delivered;
	now.out = tp->prr_out - s->prr_before;
	return law_reduced(&now);
}

/* Switches to plain Reno where ECN was refused. The name is visible in ss, and the packets do not carry ECT. */
static __always_inline void change_to_reno(struct sock *sk, struct d2tcp_socket *s)
{
	char name[] = RENO_NAME;
	long failed;

	s->switching = 1;
	failed = bpf_setsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name) - 1);
	s->switching = 0;
	if (!failed)
		s->plain = 1;
}

/* Restores a connection's earlier control after the rollback of its canary. The switch releases our control and its
 * state. */
static __always_inline bool roll_back(struct sock *sk, struct d2tcp_socket *s, const struct d2tcp_rule *rule)
{
	char name[sizeof(s->prior)];

	if (!rule || rule->share || rule->control != D2TCP_CONTROL_USE || !s->prior[0])
		return false;
	__builtin_memcpy(name, s->prior, sizeof(name));
	s->prior[0] = 0;
	return !bpf_setsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name) - 1);
}

/* Notes whether the budget of urgency of a connection's user is spent, where that may matter: at marks, and for LAW_PLUS,
 * which lifts windows without marks. Deadlines by policy are the operator's own, and have no budget. Returns the
 * account if it was looked up. */
static __always_inline struct d2tcp_account *look_up_budget(struct d2tcp_socket *s, const struct d2tcp_rule *rule,
							   __u32 marked, __u64 now)
{
	struct d2tcp_account *account;

	if (!rule || rule->user_urgency >= LAW_ONE || !s->queue.count || s->implied) {
		s->limited = 0;
		return NULL;
	}
	if (!marked && rule->law.mode != LAW_PLUS)
		return NULL;
	account = account_of(s->rule, s->uid, rule);
	if (account)
		law_refill(&account->urgency, rule->user_burst, now);
	s->limited = !account || account->urgency.left <= 0;
	if (s->limited)
		s->plus.pressed = 0;
	return account;
}

/* Accounts for a cut of a window of so many segments. LAW_PLUS keeps the rate of pressed messages, which costs as much as
 * a d of 2. */
static __always_inline void account_for(struct d2tcp_socket *s, struct d2tcp_account *account,
					const struct d2tcp_rule *rule, __u32 what, __u64 segments)
{
	__u32 d = what & LAW_ANSWERED ? (1 + !!s->plus.pressed) * LAW_UNIT : s->law.d;

	if (!account || !rule || !(what & LAW_CUT))
		return;
	law_spend(&account->urgency, rule->user_burst, rule->user_urgency, segments * s->mss, d);
	if (what & LAW_LIMITED) {
		__sync_fetch_and_add(&account->limited, 1);
		COUNT(s->rule, limited, 1);
	}
}

/* Returns the namespace's pacing ratios: of slow start in the upper half, of other phases in the lower. */
static __always_inline __u64 pacing_ratios(struct sock *sk)
{
	struct net *net = sk->__sk_common.skc_net.net;

	return (__u64)net->ipv4.sysctl_tcp_pacing_ss_ratio << 32 | (__u32)net->ipv4.sysctl_tcp_pacing_ca_ratio;
}

/* Returns the pacing rate of a connection in LAW_PLUS. A held connection sends one segment, and then nothing for the
 * rest of the hold: the rate set when that segment is sent delays the next ones. A pressed connection is paced by its
 * law, and not at the rate of slow start. */
static __always_inline __u64 pace_plus(struct sock *sk, struct d2tcp_socket *s, __u64 rate, __u32 held, __u64 now)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 slow;

	if (held) {
		s->sent_at_hold = tp->data_segs_out;
		COUNT(s->rule, held, 1);
	}
	if (sk->sk_pacing_status == SK_PACING_NONE && (held || (s->queue.count && s->plus.pressed)))
		sk->sk_pacing_status = SK_PACING_NEEDED;
	if (s->sent_at_hold != tp->data_segs_out || !s->queue.count)
		return rate;
	slow = law_hold_rate(&s->plus, tp->mss_cache, now);
	return slow ? slow : rate;
}

static __always_inline void control(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	__u32 what = 0, kind = 0, delivered, marked, state, window, before, threshold, held;
	struct d2tcp_account *account;
	struct d2tcp_rule *rule = NULL;
	struct law_parameters *params;
	struct law_ack ack = {};
	struct d2tcp_socket *s;
	bool limited, rushing, pressed, lost = false;
	__u64 rate;

	/* The answer to our SYN: the first window is not yet known. */
	if (sk->__sk_common.skc_state == TCP_SYN_SENT)
		return;
	if (!icsk->icsk_ca_priv[OWNER])
		icsk->icsk_ca_priv[OWNER] = generation();
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (s)
		rule = govern(s, sk);
	params = law_of(rule);
	if (!params || (s && roll_back(sk, s, rule)))
		return;
	if (!s) {
		COUNT(0, no_memory, 1);
		control_in_short(sk, params);
		return;
	}
	if (!s->law.started)
		begin(s, tp, params);
	lower_rto(sk, s, params);
	if (!s->plain && !ecn_agreed(tp))
		change_to_reno(sk, s);

	delivered = tp->delivered - s->delivered;
	marked = tp->delivered_ce - s->delivered_ce;
	if (marked > delivered)
		marked = delivered;
	s->delivered = tp->delivered;
	s->delivered_ce = tp->delivered_ce;
	state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);

	ack.now_ns = bpf_ktime_get_ns();
	ack.mss = tp->mss_cache;
	ack.una = tp->bytes_acked;
	ack.next = ack.una + (tp->snd_nxt - tp->snd_una);
	ack.acked = delivered;
	ack.marked = marked;
	ack.segments = delivered;
	ack.rtt_ns = 1000ull * (params->minimum_rtt ? tp->rtt_min.s[0].v : tp->srtt_us >> 3);
	if (params->minimum_rtt && tp->rtt_min.s[0].v == ~0u)
		ack.rtt_ns = 0;
	law_resize(&s->law, s->mss, ack.mss);
	s->mss = ack.mss;
	if (ack.una == ack.next)
		s->quiet_ns = ack.now_ns;
	account = look_up_budget(s, rule, marked, ack.now_ns);
	ack.max_d = s->limited ? LAW_UNIT : 0;

	/* Lost segments were counted since the last call, or the kernel repaired a loss with a tail loss probe (RFC
	 * 8985 7.4). In the latter case it asked for ssthresh without an echo, and no further response is needed. */
	if (tp->lost != s->lost || (s->asked && !marked && state <= TCP_CA_Disorder)) {
		/* After a timeout the kernel backs off by itself. */
		if (params->mode == LAW_PLUS && !s->limited && !s->timed_out && state != TCP_CA_Loss)
			what = lose_plus(&s->law, &s->plus, params, &s->queue, &ack);
		account_for(s, account, rule, what, s->law.prior_cwnd >> 20);
		if (what ? what & LAW_CUT : law_on_loss(&s->law, ack.una, ack.next)) {
			s->losses++;
			COUNT(s->rule, losses, 1);
			kind |= D2TCP_EVENT_LOSS;
		}
		s->lost = tp->lost;
		lost = true;
	}
	/* After a timeout the kernel sets its window to the flight plus one segment. It reports the timeout only if no
	 * loss was being repaired; otherwise its state or its window shows it. */
	if (s->timed_out || (state == TCP_CA_Loss && !s->in_loss) || (lost && tp->snd_cwnd < s->written)) {
		s->law.cwnd = (__u64)(tp->snd_cwnd ? tp->snd_cwnd : 1) << 20;
		s->plus.stirred = 1;
		if (!s->timed_out) {
			s->timeouts++;
			COUNT(s->rule, timeouts, 1);
		}
	}
	s->in_loss = state == TCP_CA_Loss;
	s->asked = 0;
	s->timed_out = 0;

	rushing = params->mode == LAW_PLUS && s->queue.count && !s->limited ? !s->plus.stirred :
									      s->law.cwnd < s->law.ssthresh;
	limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) || (rushing && tp->snd_cwnd < 2 * tp->max_packets_out);
	/* In the round of a cut the window stays as cut, as in tcp_dctcp. */
	ack.may_grow = limited && state < TCP_CA_CWR;
	ack.may_cut = state < TCP_CA_Recovery;

	lengthen(s, written(tp));
	kind |= finish(s, ack.una, ack.now_ns);
	before = s->law.cwnd >> 20;
	held = what & LAW_HELD;
	what = 0;
	if (delivered) {
		if (params->mode == LAW_PLUS && !s->limited)
			what = step_plus(&s->law, &s->plus, params, &s->queue, &ack);
		if (what)
			held |= what & LAW_HELD;
		else
			what = step(&s->law, params, &s->queue, &ack);
		account_for(s, account, rule, what, before);
		s->bytes_marked += (__u64)marked * ack.mss;
		COUNT(s->rule, delivered, delivered);
		COUNT(s->rule, delivered_ce, marked);
	}
	if (what & LAW_WINDOW) {
		kind |= D2TCP_EVENT_WINDOW;
		s->windows++;
		count_window(&s->law, s->rule, s->queue.count);
	}
	if (what & LAW_CUT) {
		kind |= D2TCP_EVENT_CUT;
		s->cuts++;
		COUNT(s->rule, cuts, 1);
		s->reduced_from = before;
		s->reducing = NOT_REDUCING;
	}

	/* An unusable part of the window must not grow, or no cut would ever have an effect. */
	s->law.cwnd = law_min(s->law.cwnd, (__u64)tp->snd_cwnd_clamp << 20);
	window = s->law.cwnd >> 20;
	if (state == TCP_CA_Recovery)
		window = reduced(s, tp, delivered, REDUCING_FOR_LOSS);
	else if (state == TCP_CA_CWR && (what & LAW_CUT || s->reducing == REDUCING_FOR_MARKS))
		window = reduced(s, tp, delivered, REDUCING_FOR_MARKS);
	else
		s->reducing = NOT_REDUCING;
	if (window > tp->snd_cwnd_clamp)
		window = tp->snd_cwnd_clamp;
	if (!window)
		window = 1;
	/* A kernel that skips a call of ssthresh takes its result as 0. Set the right value here. */
	threshold = s->law.ssthresh >= LAW_MAX_WINDOW ? TCP_INFINITE_SSTHRESH : s->law.ssthresh >> 20;
	tp->snd_cwnd = window;
	tp->snd_ssthresh = threshold;
	s->written = window;

	/* The kernel does not set the pacing rate for a control with cong_control, though it sizes its bursts by it. */
	pressed = params->mode == LAW_PLUS && s->queue.count && s->plus.pressed;
	rate = law_pacing_rate((__u64)window << 20, pressed ? 0 : s->law.ssthresh, tp->packets_out, tp->mss_cache,
			       125ull * tp->srtt_us, pacing_ratios(sk));
	if (params->mode == LAW_PLUS)
		rate = pace_plus(sk, s, rate, held, ack.now_ns);
	if (rate)
		sk->sk_pacing_rate = law_min(rate, sk->sk_max_pacing_rate);
	if (kind)
		tell(sk, tp, s, kind, ack.now_ns, params->margin_ns);
}

/* Handles the first transmission when no data was in flight. The kernel does not shrink the window of a control with
 * cong_control after an idle time. It shrinks here as for other controls, unless net.ipv4.tcp_slow_start_after_idle is
 * 0. */
static __always_inline void start_sending(struct sock *sk, struct d2tcp_socket *s)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 idle = (__u32)bpf_jiffies64() - tp->lsndtime, rto = icsk->icsk_rto;
	struct law_parameters *params;
	struct d2tcp_rule *rule;

	/* After a timeout no data is in flight either. */
	if (tp->packets_out)
		return;
	check_stream(s, tp);
	rule = govern(s, sk);
	imply(s, tp, rule);
	params = law_of(rule);
	if (params) {
		lower_rto(sk, s, params);
		open_window(sk, s, params);
	}
	if (!s->law.started || !tp->lsndtime || !rto || (__s32)idle <= (__s32)rto ||
	    !sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_slow_start_after_idle)
		return;
	law_idle(&s->law, idle / rto, INITIAL_WINDOW);
	tp->snd_cwnd = law_max(s->law.cwnd >> 20, 1);
	if (s->law.ssthresh < LAW_MAX_WINDOW)
		tp->snd_ssthresh = s->law.ssthresh >> 20;
	s->written = tp->snd_cwnd;
}

/* Sets the echo as a receiver (RFC 8257 3.2): every ACK tells whether the data that it acknowledges was marked. When
 * the mark changes while an ACK is delayed, that ACK is sent first, with the old mark. The word holds the position
 * received so far in its lower half, and 1 + the mark of the last data in its upper half. */
static __always_inline void receive(struct sock *sk, bool marked)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 before = icsk->icsk_ca_priv[RECEIVER] >> 32, now = 1 + marked;

	if (before != now) {
		if (before && icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			if (before == 2)
				tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
			else
				tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
			bpf_tcp_send_ack(tp, (__u32)icsk->icsk_ca_priv[RECEIVER]);
		}
		if (before || marked)
			icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	icsk->icsk_ca_priv[RECEIVER] = (__u64)now << 32 | tp->rcv_nxt;
	if (marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

#endif
