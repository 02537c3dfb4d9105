// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* The operator's view: events for a tracer, distributions, and a list of the connections. */
#ifndef D2TCP_WATCH_H
#define D2TCP_WATCH_H

#include "rules.h"

static __always_inline __u32 flags_of(struct d2tcp_socket *s, const struct tcp_sock *tp, __u64 now, __u64 margin)
{
	const struct law_message *message = &law_waiting(&s->queue, 0)->message;
	__u32 flags = 0;

	if (ecn_agreed(tp))
		flags |= D2TCP_ECN;
	if (s->law.cwnd < s->law.ssthresh)
		flags |= D2TCP_SLOW_START;
	if (s->reducing == REDUCING_FOR_LOSS)
		flags |= D2TCP_RECOVERY;
	if (s->queue.count) {
		flags |= D2TCP_DEADLINE;
		if (s->limited)
			flags |= D2TCP_LIMITED;
		if (message->deadline_ns <= now + margin)
			flags |= D2TCP_EXPIRED;
	}
	return flags;
}

static __always_inline void address_of(struct d2tcp_address *to, struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;

	to->netns = common->skc_net.net->net_cookie;
	to->family = common->skc_family;
	to->local_port = common->skc_num;
	to->remote_port = bpf_ntohs(common->skc_dport);
	if (to->family == AF_INET6) {
		__u32 *local = (__u32 *)to->local, *remote = (__u32 *)to->remote;

		local[0] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[0];
		local[1] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[1];
		local[2] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[2];
		local[3] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[3];
		remote[0] = common->skc_v6_daddr.in6_u.u6_addr32[0];
		remote[1] = common->skc_v6_daddr.in6_u.u6_addr32[1];
		remote[2] = common->skc_v6_daddr.in6_u.u6_addr32[2];
		remote[3] = common->skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		__builtin_memset(to->local, 0, sizeof(to->local));
		__builtin_memset(to->remote, 0, sizeof(to->remote));
		*(__u32 *)to->local = common->skc_rcv_saddr;
		*(__u32 *)to->remote = common->skc_daddr;
	}
}

static __always_inline void tell(struct sock *sk, struct tcp_sock *tp, struct d2tcp_socket *s, __u32 kind, __u64 now,
				 __u64 margin)
{
	__u64 *until = word(D2TCP_TRACED_UNTIL);
	struct d2tcp_event *event;

	if (!until || *until < now)
		return;
	event = bpf_ringbuf_reserve(&d2tcp_events, sizeof(*event), 0);
	if (!event) {
		COUNT(s->rule, events_lost, 1);
		return;
	}
	event->time_ns = now;
	event->id = s->id;
	address_of(&event->address, sk);
	event->kind = kind;
	event->flags = flags_of(s, tp, now, margin);
	event->cwnd = s->law.cwnd;
	event->ssthresh = s->law.ssthresh;
	event->alpha = s->law.alpha;
	event->d = s->law.d;
	event->p = s->law.p;
	event->srtt_us = tp->srtt_us >> 3;
	event->bytes_acked = tp->bytes_acked;
	event->messages_done = s->queue.met + s->queue.missed + s->queue.cancelled;
	bpf_ringbuf_submit(event, 0);
}

/* Counts a window in the distributions. It is not static, so that the verifier checks it once, by itself. */
__noinline int count_window(const struct law_state *law, __u32 rule, __u32 deadline)
{
	static const __u32 bounds[] = D2TCP_D_BOUNDS;
	struct d2tcp_counters *c = counters(rule);
	__u32 bucket;

	if (!c || !law)
		return 0;
	c->windows++;
	bucket = law->alpha >> 26;
	if (bucket >= D2TCP_ALPHA_BUCKETS)
		bucket = D2TCP_ALPHA_BUCKETS - 1;
	c->alpha[bucket]++;
	c->alpha_sum += law->alpha;
	if (!deadline)
		return 0;
	c->windows_deadline++;
	c->d_sum += law->d;
#pragma unroll
	for (bucket = 0; bucket < D2TCP_D_BUCKETS - 1; bucket++)
		if ((__u64)law->d * 100 <= (__u64)bounds[bucket] * LAW_UNIT) {
			c->d[bucket]++;
			return 0;
		}
	c->d[D2TCP_D_BUCKETS - 1]++;
	return 0;
}

static __always_inline void count_cost(struct d2tcp_counters *c, __u64 ns)
{
	__u32 bucket = 64 - law_leading_zeros(ns >> 5);

	c->sampled++;
	c->sampled_ns += ns;
	if (bucket >= D2TCP_COST_BUCKETS)
		bucket = D2TCP_COST_BUCKETS - 1;
	c->cost[bucket]++;
}

/* Returns the inode of a program's socket, by which it is found among the files of processes; 0 if no program has
 * it. */
static __always_inline __u64 inode_of(struct sock *sk)
{
	struct socket *socket = BPF_CORE_READ(sk, sk_socket);

	return socket ? BPF_CORE_READ((struct socket_alloc *)socket, vfs_inode.i_ino) : 0;
}

SEC("iter/bpf_sk_storage_map")
int d2tcp_flows(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct d2tcp_socket *s;
	const struct law_message *message;
	struct d2tcp_flow flow = {};
	struct tcp_sock *tp;
	__u64 now;

	if (!sk || !ctx->value)
		return 0;
	/* ctx->value would not do: it must not be indexed by a variable. */
	s = bpf_sk_storage_get(&d2tcp_sockets, sk, NULL, 0);
	tp = bpf_skc_to_tcp_sock(sk);
	if (!s || !s->id || !tp)
		return 0;
	now = bpf_ktime_get_ns();
	message = &law_waiting(&s->queue, 0)->message;
	flow.id = s->id;
	address_of(&flow.address, sk);
	flow.flags = flags_of(s, tp, now, 0);
	flow.tcp_state = sk->__sk_common.skc_state;
	flow.cwnd = s->law.cwnd;
	flow.ssthresh = s->law.ssthresh;
	flow.alpha = s->law.alpha;
	flow.d = s->law.d;
	flow.p = s->law.p;
	flow.srtt_us = tp->srtt_us >> 3;
	flow.bytes_acked = tp->bytes_acked;
	if (s->queue.count) {
		flow.time_left_ns = message->deadline_ns - now;
		flow.bytes_left = message->end > flow.bytes_acked ? message->end - flow.bytes_acked : 0;
	}
	flow.messages = s->messages;
	flow.met = s->queue.met;
	flow.missed = s->queue.missed;
	flow.cuts = s->cuts;
	flow.losses = s->losses;
	flow.queued = s->queue.count;
	flow.mss = tp->mss_cache;
	flow.cgroup = BPF_CORE_READ(sk, sk_cgrp_data.cgroup, kn, id);
	flow.inode = inode_of(sk);
	flow.rule = s->rule;
	bpf_seq_write(ctx->meta->seq, &flow, sizeof(flow));
	return 0;
}

#endif
