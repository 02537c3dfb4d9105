// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* The socket options, and the selection of the connections that get the control. */
#ifndef D2TCP_HOOKS_H
#define D2TCP_HOOKS_H

#include "canary.h"
#include "control.h"

/* Returns true if the socket's control is one of ours. */
static __always_inline bool is_ours(const struct inet_connection_sock *icsk)
{
	const char *name = icsk->icsk_ca_ops->name;

	return name[0] == 'd' && name[1] == '2' && name[2] == 't' && name[3] == 'c' && name[4] == 'p' &&
	       (name[5] == 0 || name[5] == '_');
}

/* Refuses the call with an error. */
static __always_inline int refuse(int error)
{
	bpf_set_retval(-error);
	return 0;
}

/* The buffer of an option: a value that a program passed, or the room for one. */
struct option {
	void *begin;
	void *end;
	__s32 length;
};

/* Returns the error of a socket that cannot take our options; 0 if it can. */
static __always_inline int unfit(struct bpf_sock *sk, const struct tcp_sock *tp)
{
	__u64 owner;

	if (sk->type != SOCK_STREAM || sk->protocol != IPPROTO_TCP)
		return EOPNOTSUPP;
	if (!is_ours(&tp->inet_conn))
		return EOPNOTSUPP;
	owner = tp->inet_conn.icsk_ca_priv[OWNER];
	return owner && owner != generation() ? EOPNOTSUPP : 0;
}

/* Returns true if the socket's state allows announcements. */
static __always_inline bool connected(const struct bpf_sock *sk)
{
	return (1 << (sk->state & 15)) &
	       (1 << TCP_ESTABLISHED | 1 << TCP_SYN_SENT | 1 << TCP_SYN_RECV | 1 << TCP_CLOSE_WAIT);
}

/* Returns the rule that governs a socket, which may have no state of ours; 0 if none does. */
static __always_inline __u32 reach(struct bpf_sock *sk)
{
	return rule_for(bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct sock)), epoch());
}

/* Applies the policy's limits to an announcement. Returns an error if the policy refuses it. */
static __always_inline int limit(const struct d2tcp_rule *rule, __u32 number, struct law_announcement *wanted,
				 __u64 length)
{
	__u64 least = rule->min_deadline_ns, now = wanted->now_ns;
	__u32 index = number - 1;
	struct d2tcp_budget *budget;

	if (rule->flags & D2TCP_RULE_DENY_ANNOUNCE || (rule->max_bytes && length > rule->max_bytes))
		return EPERM;
	if (rule->budget_rate) {
		budget = bpf_map_lookup_elem(&d2tcp_budgets, &index);
		if (!budget)
			return EPERM;
		/* Two programs at the same time may both pass, which exceeds the budget by one message. */
		budget->left = law_min(budget->left + law_scale(rule->budget_rate, now - budget->at_ns, 1000000000, 0),
				       rule->budget_bytes);
		budget->at_ns = now;
		if (budget->left < length)
			return EPERM;
		budget->left -= length;
	}
	if (rule->max_rate)
		least = law_max(least, law_scale(length, 1000000000, rule->max_rate, 0));
	if (wanted->deadline_ns - now < least) {
		wanted->deadline_ns = now + least;
		COUNT(number, lengthened, 1);
	}
	return 0;
}

/* Returns the state of one of our sockets, ready for a message. */
static __always_inline struct d2tcp_socket *ready(struct bpf_sock *sk, const struct tcp_sock *tp, int *error)
{
	struct d2tcp_socket *s;

	*error = unfit(sk, tp);
	if (!*error && !connected(sk))
		*error = ENOTCONN;
	if (*error)
		return NULL;
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (s)
		check_stream(s, tp);
	else
		*error = ENOMEM;
	return s;
}

/* Handles an announcement on a connection that the rule `number` governs. Returns its error; 0 if it has none. */
static __always_inline int take_message(const struct option *given, struct bpf_sock *sk, struct tcp_sock *tp,
					__u32 number)
{
	struct d2tcp_announcement *full = given->begin;
	struct d2tcp_message *brief = given->begin;
	struct law_announcement wanted = {};
	struct d2tcp_measured *m;
	struct d2tcp_socket *s;
	struct d2tcp_rule *rule;
	struct ended before;
	__s64 bytes, deadline;
	__u64 begin;
	__u32 what;
	int error;

	if ((void *)(brief + 1) > given->end)
		return EINVAL;
	bytes = brief->bytes;
	deadline = brief->deadline_ns;
	if (given->length == sizeof(*full)) {
		if ((void *)(full + 1) > given->end)
			return EINVAL;
		wanted.tag = full->tag;
		wanted.flags = full->flags;
		wanted.reserved = full->reserved;
	} else if (given->length != sizeof(*brief)) {
		return EINVAL;
	}
	if (bytes < 0 || bytes > D2TCP_MAX_BYTES || deadline <= 0 || deadline > D2TCP_MAX_DEADLINE_NS ||
	    wanted.flags & ~D2TCP_ENDS_PREVIOUS || wanted.reserved)
		return EINVAL;
	wanted.bytes = bytes;
	wanted.written = written(tp);
	wanted.now_ns = bpf_ktime_get_ns();
	wanted.deadline_ns = wanted.now_ns + deadline;
	m = bpf_sk_storage_get(&d2tcp_measured, sk, NULL, 0);
	s = ready(sk, tp, &error);
	/* A socket of a canary's control arm is measured, and its announcements have the same limits. */
	if (!s && !(error == EOPNOTSUPP && m))
		return error;
	begin = tp->bytes_acked;
	if (s) {
		if (s->implied)
			forget(s);
		s->announced = 1;
		finish(s, tp->bytes_acked, wanted.now_ns);
		rule = govern(s, bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct sock)));
		number = s->rule;
		begin = law_max(begin, s->queue.last_end);
	} else {
		rule = rule_of(number, epoch());
		if (m)
			begin = law_max(begin, m->queue.last_end);
	}
	if (rule) {
		error = limit(rule, number, &wanted,
			      bytes ? bytes : wanted.written > begin ? wanted.written - begin : 0);
		if (error) {
			COUNT(number, denied, 1);
			return error;
		}
	}
	if (m)
		measure_message(m, &wanted, tp->bytes_acked);
	if (!s)
		return 0;
	before = ended(s);
	what = announce(&s->queue, &wanted);
	if (what == LAW_ANNOUNCED) {
		s->messages++;
		COUNT(s->rule, messages, 1);
		complete(&s->queue, tp->bytes_acked, wanted.now_ns);
	}
	count_ended(s, before);
	if (what == LAW_FULL) {
		COUNT(s->rule, queue_full, 1);
		return ENOBUFS;
	}
	return 0;
}

/* Cancels messages. Returns an error, or 0. */
static __always_inline int take_cancel(const struct option *given, struct bpf_sock *sk, struct tcp_sock *tp)
{
	__u64 *tag = given->begin, now = bpf_ktime_get_ns();
	struct law_sieve cancelled = {};
	struct d2tcp_socket *s;
	struct ended before;
	int error;

	if (given->length != sizeof(*tag) || (void *)(tag + 1) > given->end)
		return EINVAL;
	s = ready(sk, tp, &error);
	if (!s)
		return error;
	finish(s, tp->bytes_acked, now);
	before = ended(s);
	cancelled.written = written(tp);
	cancelled.tag = *tag;
	cancelled.now_ns = now;
	if (!s->implied)
		take_out(&s->queue, &cancelled);
	count_ended(s, before);
	return 0;
}

SEC("cgroup/setsockopt")
int d2tcp_setsockopt(struct bpf_sockopt *ctx)
{
	struct option given = { ctx->optval, ctx->optval_end, ctx->optlen };
	struct bpf_sock *sk = ctx->sk;
	__s32 option = ctx->optname;
	struct tcp_sock *tp;
	__u32 number;
	int error;

	if (ctx->level != D2TCP_LEVEL) {
		/* Only a part of a value above one page is visible, so the kernel must use the program's own. */
		if (given.length > PAGE_SIZE)
			ctx->optlen = 0;
		return 1;
	}
	if ((option != D2TCP_MESSAGE && option != D2TCP_CANCEL) || !sk)
		return 1;
	number = reach(sk);
	if (!number)
		return 1;
	tp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	if (option == D2TCP_MESSAGE)
		error = take_message(&given, sk, tp, number);
	else
		error = take_cancel(&given, sk, tp);
	if (error) {
		if (error == EINVAL)
			COUNT(0, refused, 1);
		return refuse(error);
	}
	/* The option is handled, so the kernel must not look for it. */
	ctx->optlen = -1;
	return 1;
}

static __always_inline void describe(struct d2tcp_state *to, struct d2tcp_socket *s, const struct tcp_sock *tp,
				     const struct law_parameters *params)
{
	const struct law_waiting *first = law_waiting(&s->queue, 0);
	__u64 now = bpf_ktime_get_ns(), acked = tp->bytes_acked;
	/* Before its first acknowledgement, and between a timeout and the next one, the window is the kernel's. */
	bool of_law = s->law.started && tp->snd_cwnd >= s->written &&
		      (BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) != TCP_CA_Loss || s->in_loss);
	__u64 cwnd = of_law ? s->law.cwnd : (__u64)tp->snd_cwnd << 20;
	__u64 ssthresh = s->law.started ? s->law.ssthresh : LAW_MAX_WINDOW;

	to->version = D2TCP_STATE_VERSION;
	to->size = sizeof(*to);
	to->flags = flags_of(s, tp, now, params ? params->margin_ns : 0);
	to->mss = tp->mss_cache;
	to->cwnd = cwnd >> 20;
	to->cwnd_fraction = cwnd & (LAW_UNIT - 1);
	to->ssthresh = ssthresh >= LAW_MAX_WINDOW ? TCP_INFINITE_SSTHRESH : ssthresh >> 20;
	to->srtt_us = tp->srtt_us >> 3;
	to->alpha = (s->law.alpha + 512) >> 10;
	to->d = s->law.started ? s->law.d : LAW_UNIT;
	to->p = (s->law.p + 512) >> 10;
	to->queued = s->queue.count;
	to->messages = s->messages;
	to->met = s->queue.met;
	to->missed = s->queue.missed;
	to->time_left_ns = s->queue.count ? first->message.deadline_ns - now : 0;
	to->bytes_left = s->queue.count && first->message.end > acked ? first->message.end - acked : 0;
	to->bytes_acked = acked;
	to->bytes_marked = s->bytes_marked;
	to->windows = s->windows;
	to->cuts = s->cuts;
	to->losses = s->losses;
	to->timeouts = s->timeouts;
	to->cancelled = s->queue.cancelled;
	to->tag = s->queue.count ? first->tag : 0;
	to->rule = s->rule;
}

/* Copies the state as far as there is room. Returns the number of bytes. */
static __always_inline __u32 give_state(const struct option *room, const struct d2tcp_state *state)
{
	struct d2tcp_state *whole = room->begin;
	const __u32 *from = (const __u32 *)state;
	__u32 *into = room->begin;
	int i;

	if ((void *)(whole + 1) <= room->end && room->length >= (__s32)sizeof(*whole)) {
		*whole = *state;
		return sizeof(*whole);
	}
	/* A program built for an older interface gets the beginning, in whole words. */
	for (i = 0; i < sizeof(*state) / 4; i++) {
		if (4 * i + 4 > room->length || (void *)(into + i + 1) > room->end)
			break;
		into[i] = from[i];
	}
	return 4 * i;
}

/* Copies outcomes, the youngest first. Returns the number of bytes. */
static __always_inline __u32 give_outcomes(const struct option *room, const struct d2tcp_socket *s)
{
	struct d2tcp_outcome *into = room->begin;
	__u64 number = s->queue.met + s->queue.missed + s->queue.cancelled;
	int i;

	for (i = 0; i < D2TCP_OUTCOMES_KEPT; i++) {
		if (i >= number || (i + 1) * (__s32)sizeof(*into) > room->length || (void *)(into + i + 1) > room->end)
			break;
		into[i] = s->queue.outcomes[(number - 1 - i) & (D2TCP_OUTCOMES_KEPT - 1)];
	}
	if (!i && (void *)(into + 1) <= room->end) {
		/* A length of 0 would leave the answer to the kernel. */
		__builtin_memset(into, 0, sizeof(*into));
		i = 1;
	}
	return i * sizeof(*into);
}

SEC("cgroup/getsockopt")
int d2tcp_getsockopt(struct bpf_sockopt *ctx)
{
	struct option room = { ctx->optval, ctx->optval_end, ctx->optlen };
	struct bpf_sock *sk = ctx->sk;
	__s32 option = ctx->optname;
	struct d2tcp_state state = {};
	struct law_parameters *params;
	struct d2tcp_socket *s;
	struct tcp_sock *tp;
	__u32 filled;
	int error;

	if (ctx->level != D2TCP_LEVEL) {
		if (room.length > PAGE_SIZE)
			ctx->optlen = 0;
		return 1;
	}
	if ((option != D2TCP_STATE && option != D2TCP_OUTCOMES) || !sk)
		return 1;
	if (!reach(sk))
		return 1;
	if (room.length < (option == D2TCP_STATE ? 8 : (__s32)sizeof(struct d2tcp_outcome)))
		return refuse(EINVAL);
	tp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	error = unfit(sk, tp);
	if (error)
		return refuse(error);
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s)
		return refuse(ENOMEM);
	check_stream(s, tp);
	params = law_of(govern(s, bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct sock))));
	finish(s, tp->bytes_acked, bpf_ktime_get_ns());
	if (option == D2TCP_OUTCOMES) {
		filled = give_outcomes(&room, s);
	} else {
		describe(&state, s, tp, params);
		filled = give_state(&room, &state);
	}
	ctx->optlen = filled;
	ctx->retval = 0;
	return 1;
}

/* Stores the connection's present control, for the rollback of a canary. */
static __always_inline void note_prior(struct bpf_sock_ops *ctx)
{
	char name[16] = {};
	struct bpf_sock *sk = ctx->sk;
	struct d2tcp_socket *s;

	if (!sk || bpf_getsockopt(ctx, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name)))
		return;
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (s)
		__builtin_memcpy(s->prior, name, sizeof(name));
}

/* Gives the control to new connections. Two kinds of sockets do not get it here: older listeners, and listeners whose
 * rule depends on the peer. Their new connections are handled one by one, including ECN. */
SEC("sockops")
int d2tcp_select(struct bpf_sock_ops *ctx)
{
	struct bpf_sock_ops_kern *kernel;
	char name[] = D2TCP_NAME;
	struct d2tcp_rule *rule;
	__u32 number, now;

	switch (ctx->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_NEEDS_ECN:
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		break;
	case BPF_SOCK_OPS_RTO_CB:
	case BPF_SOCK_OPS_STATE_CB:
		go_on_measuring(ctx);
		return 1;
	default:
		return 1;
	}
	kernel = bpf_cast_to_kern_ctx(ctx);
	now = epoch();
	number = rule_for(kernel->sk, now);
	rule = rule_of(number, now);
	if (!rule || rule->control != D2TCP_CONTROL_USE)
		return 1;
	if (is_canary(rule)) {
		bool ours;

		/* The peers of a listener are not yet known. */
		if (ctx->op == BPF_SOCK_OPS_TCP_LISTEN_CB)
			return 1;
		ours = is_chosen(kernel->sk, rule);
		if (ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB || ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB)
			begin_measuring(ctx, number, ours, BPF_CORE_READ(kernel->sk, sk_uid.val));
		if (!ours)
			return 1;
		if (ctx->op == BPF_SOCK_OPS_TCP_CONNECT_CB || ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
			note_prior(ctx);
	}
	if (ctx->op == BPF_SOCK_OPS_NEEDS_ECN)
		ctx->reply = 1;
	else if (ctx->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB)
		bpf_setsockopt(ctx, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name) - 1);
	return 1;
}

#endif
