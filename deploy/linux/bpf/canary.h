// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* A canary: a share of a rule's connections gets the control, and the others keep theirs. Both arms are measured in
 * the same way, whatever their control: messages by the ACKs received in the cgroup, and segments by the kernel's
 * counts. */
#ifndef D2TCP_CANARY_H
#define D2TCP_CANARY_H

#include "messages.h"

/* The length of a slice of a connection's life. */
#define SLICE_NS 1000000000ull

/* The measured state of a connection of either arm, independent of its control. */
struct d2tcp_measured {
	__u64 since_ns;		/* start of the slice */
	__u32 number;		/* of the rule */
	__u32 arm;
	__u32 segments;		/* the kernel's counts at the start of the slice */
	__u32 retransmitted;
	__u32 timeouts;		/* in the slice, as the following */
	__u32 met;
	__u32 missed;
	__u32 uid;		/* of the arm's entry, which may be D2TCP_OTHERS */
	struct law_queue queue;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct d2tcp_measured);
} d2tcp_measured SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, struct d2tcp_arm_key);
	__type(value, struct d2tcp_arm);
} d2tcp_arms SEC(".maps");

static __always_inline struct d2tcp_arm *arm_of(const struct d2tcp_measured *m)
{
	struct d2tcp_arm_key key = { (m->number - 1) * D2TCP_ARMS + (m->arm & 1), m->uid };

	return bpf_map_lookup_elem(&d2tcp_arms, &key);
}

/* Creates the entry of a connection's user and arm. The tool has created the entry of the others. */
static __always_inline void make_arm(struct d2tcp_measured *m)
{
	struct d2tcp_arm_key key = { (m->number - 1) * D2TCP_ARMS + (m->arm & 1), m->uid };
	struct d2tcp_arm fresh = {};

	if (!bpf_map_lookup_elem(&d2tcp_arms, &key) && bpf_map_update_elem(&d2tcp_arms, &key, &fresh, BPF_NOEXIST) &&
	    !bpf_map_lookup_elem(&d2tcp_arms, &key))
		m->uid = D2TCP_OTHERS;
}

/* Adds to a field of an arm. Connections of one user may end their slices on several CPUs at the same time. */
#define ADD(arm, field, n) __sync_fetch_and_add(&(arm)->field, n)

static __always_inline bool is_canary(const struct d2tcp_rule *rule)
{
	return rule->control == D2TCP_CONTROL_USE && rule->share < LAW_ONE;
}

/* Returns true if a connection belongs to the treatment. The decision is a hash of its endpoints, so that it is the
 * same at each call. The key keeps outsiders from choosing it. */
static __always_inline bool is_chosen(struct sock *sk, const struct d2tcp_rule *rule)
{
	__u32 zero = 0, word[4] = {};
	struct d2tcp_about *about = bpf_map_lookup_elem(&d2tcp_about, &zero);
	__u64 hash;

	if (!about)
		return false;
	bpf_core_read(word, sizeof(word), &sk->__sk_common.skc_v6_daddr);
	hash = about->key[0] ^ ((__u64)BPF_CORE_READ(sk, __sk_common.skc_dport) << 16 |
				BPF_CORE_READ(sk, __sk_common.skc_num));
	hash = mixed(hash, BPF_CORE_READ(sk, __sk_common.skc_daddr), about->key[1]);
	if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET6) {
		hash = mixed(hash, (__u64)word[0] << 32 | word[1], about->key[1]);
		hash = mixed(hash, (__u64)word[2] << 32 | word[3], about->key[1]);
	}
	hash = mixed(hash, 1, about->key[1]);
	return (hash >> 34) < rule->share;
}

/* Records the messages of a slice, as many as the user's allowance permits. If only a part counts, it has the same
 * share of missed ones. */
static __always_inline void book_outcomes(struct d2tcp_measured *m, struct d2tcp_arm *arm)
{
	__u64 all = (__u64)m->met + m->missed, counted, missed;

	counted = take(&arm->allowance, rule_of(m->number, epoch()), all);
	ADD(arm, uncounted, all - counted);
	if (!counted)
		return;
	missed = (m->missed * counted + all / 2) / all;
	ADD(arm, message_slices, 1);
	ADD(arm, met, counted - missed);
	ADD(arm, missed, missed);
	ADD(arm, messages_squared, counted * counted);
	ADD(arm, missed_squared, missed * missed);
	ADD(arm, messages_missed, counted * missed);
}

/* Records a slice. */
static __always_inline void book(struct d2tcp_measured *m, __u32 segments, __u32 retransmitted, __u64 now)
{
	struct d2tcp_arm *arm = arm_of(m);
	__u64 sent = segments - m->segments, again = retransmitted - m->retransmitted, timeouts = m->timeouts;

	if (arm && m->met + m->missed)
		book_outcomes(m, arm);
	m->since_ns = now;
	m->segments = segments;
	m->retransmitted = retransmitted;
	m->timeouts = 0;
	m->met = 0;
	m->missed = 0;
	if (!arm || (!sent && !timeouts))
		return;
	ADD(arm, slices, 1);
	ADD(arm, segments, sent);
	ADD(arm, retransmitted, again);
	ADD(arm, timeouts, timeouts);
	ADD(arm, segments_squared, sent * sent);
	ADD(arm, retransmitted_squared, again * again);
	ADD(arm, segments_retransmitted, sent * again);
	ADD(arm, timeouts_squared, timeouts * timeouts);
	ADD(arm, segments_timeouts, sent * timeouts);
}

/* Completes the acknowledged messages, and notes their outcomes in the slice. */
static __always_inline void book_messages(struct d2tcp_measured *m, __u64 una, __u64 now)
{
	__u64 met = m->queue.met, missed = m->queue.missed;

	if (!m->queue.count)
		return;
	complete(&m->queue, una, now);
	m->met += m->queue.met - met;
	m->missed += m->queue.missed - missed;
}

/* Queues the same announcement for the measurement as the control gets, or would get. */
static __always_inline void measure_message(struct d2tcp_measured *m, const struct law_announcement *wanted, __u64 una)
{
	book_messages(m, una, wanted->now_ns);
	announce(&m->queue, wanted);
}

/* Reads the ACK of every packet received in the cgroup, for connections of a canary. */
SEC("cgroup_skb/ingress")
int d2tcp_arrive(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct d2tcp_measured *m;
	struct bpf_tcp_sock *tp;
	__u8 version = 0, length = 0;
	__u32 at, ack = 0;
	__u64 now;

	if (!sk)
		return 1;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return 1;
	m = bpf_sk_storage_get(&d2tcp_measured, sk, NULL, 0);
	if (!m)
		return 1;
	tp = bpf_tcp_sock(sk);
	if (!tp || bpf_skb_load_bytes(skb, 0, &version, 1))
		return 1;
	at = version >> 4 == 4 ? (version & 15) * 4 : 40;
	if (bpf_skb_load_bytes(skb, at + 8, &ack, sizeof(ack)) || bpf_skb_load_bytes(skb, at + 13, &length, 1) ||
	    !(length & 16))
		return 1;
	now = bpf_ktime_get_ns();
	ack = bpf_ntohl(ack) - tp->snd_una;
	book_messages(m, tp->bytes_acked + ((__s32)ack > 0 ? ack : 0), now);
	if (now - m->since_ns >= SLICE_NS)
		book(m, tp->segs_out, tp->total_retrans, now);
	return 1;
}

/* Starts to measure a connection of a canary. */
static __always_inline void begin_measuring(struct bpf_sock_ops *ctx, __u32 number, bool ours, __u32 uid)
{
	struct bpf_sock *sk = ctx->sk;
	struct d2tcp_measured *m;
	struct d2tcp_arm *arm;

	if (!sk)
		return;
	m = bpf_sk_storage_get(&d2tcp_measured, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!m || m->number)
		return;
	m->number = number;
	m->arm = ours ? D2TCP_ARM_TREATMENT : D2TCP_ARM_CONTROL;
	m->since_ns = bpf_ktime_get_ns();
	m->uid = uid;
	make_arm(m);
	arm = arm_of(m);
	if (arm)
		ADD(arm, opened, 1);
	bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG);
}

/* Handles a timeout or the end of a measured connection. */
static __always_inline void go_on_measuring(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct d2tcp_measured *m;
	struct bpf_tcp_sock *tp;
	struct d2tcp_arm *arm;
	__u64 now;

	if (!sk)
		return;
	m = bpf_sk_storage_get(&d2tcp_measured, sk, NULL, 0);
	if (!m)
		return;
	if (ctx->op == BPF_SOCK_OPS_RTO_CB) {
		m->timeouts++;
		return;
	}
	if (ctx->args[1] != TCP_CLOSE)
		return;
	tp = bpf_tcp_sock(sk);
	now = bpf_ktime_get_ns();
	if (tp) {
		book_messages(m, tp->bytes_acked, now);
		book(m, tp->segs_out, tp->total_retrans, now);
	}
	arm = arm_of(m);
	if (arm)
		ADD(arm, closed, 1);
}

#endif
