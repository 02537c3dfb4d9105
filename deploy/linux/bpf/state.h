// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* The state of the programs: per connection, per rule, and global. */
#ifndef D2TCP_STATE_H
#define D2TCP_STATE_H

#include "plus.h"
#include "shared.h"

/* Words in the room that a socket has for its congestion control, 13 in all. They hold the receiver's state, the owner
 * of the connection (0 before it begins), and the law's short form (short.h). */
enum { RECEIVER, OWNER, SHORT };

/* Reasons for which the window is being reduced. */
enum { NOT_REDUCING, REDUCING_FOR_MARKS, REDUCING_FOR_LOSS };

/* The state of a connection, zero at first. Every access is under the socket's lock. */
struct d2tcp_socket {
	struct law_state law;
	struct law_plus plus;
	__u64 id;
	__u32 delivered;	/* the kernel's counters at the last call */
	__u32 delivered_ce;
	__u32 lost;
	__u32 written;		/* the window last given to the kernel */
	__u32 mss;		/* at the last call */
	__u32 reducing;		/* REDUCING_... */
	__u32 reduced_from;	/* the window before */
	__u32 prr_delivered;	/* RFC 6937 */
	__u32 prr_out;		/* the kernel's value at the last call, and at the start of the reduction */
	__u32 prr_before;
	__u32 stream;		/* first sequence number, which identifies the socket's connection */
	__u32 asked;		/* the kernel wanted a lower ssthresh */
	__u32 timed_out;	/* the kernel reported a timeout since the last call */
	__u32 in_loss;		/* the kernel repaired the loss of a timeout at the last call */
	__u32 plain;		/* under RENO_NAME, without ECN */
	__u32 switching;
	__u32 counted;		/* as opened */
	__u32 connecting;	/* under the control before the peer had answered */
	__u32 rule;		/* the rule that governs it, from 1, by the policy of that epoch */
	__u32 epoch;
	__u32 uid;		/* the user that owns the socket, noted with the rule */
	__u32 announced;	/* its program announces deadlines itself */
	__u32 implied;		/* the queued message has its deadline from the policy */
	__u32 heard;		/* position received (rcv_nxt) at the start of the message */
	__u32 sent_at_hold;	/* data segments sent before the hold */
	__u32 limited;		/* its user's budget of urgency was spent at the last sign of congestion */
	__u32 reserved;
	__u32 lower_rto;	/* its minimum timeout is its rule's, or the smallest that the kernel accepts */
	char prior[16];		/* the control before ours, for the rollback of a canary */
	__u64 quiet_ns;		/* time since which all sent data is acknowledged */
	__u64 bytes_marked;
	__u64 messages;
	__u64 windows;
	__u64 cuts;
	__u64 losses;
	__u64 timeouts;
	struct law_queue queue;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct d2tcp_socket);
} d2tcp_sockets SEC(".maps");

/* The parameters of connections that no rule governs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct law_parameters);
} d2tcp_law SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct d2tcp_about);
} d2tcp_about SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, D2TCP_RULES + 1);
	__type(key, __u32);
	__type(value, struct d2tcp_counters);
} d2tcp_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, D2TCP_WORDS);
	__type(key, __u32);
	__type(value, __u64);
} d2tcp_words SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} d2tcp_events SEC(".maps");

static __always_inline struct d2tcp_counters *counters(__u32 rule)
{
	return bpf_map_lookup_elem(&d2tcp_counts, &rule);
}

/* Adds to a counter of a rule; rule 0 is for connections that no rule governs. */
#define COUNT(rule, field, n)                                 \
	do {                                                  \
		struct d2tcp_counters *c_ = counters(rule);   \
		if (c_)                                       \
			c_->field += (n);                     \
	} while (0)

/* Returns the time in one of SAMPLE_EVERY calls, and 0 in the others. */
static __always_inline __u64 sampled(__u64 *calls)
{
	return (*calls)++ & (SAMPLE_EVERY - 1) ? 0 : bpf_ktime_get_ns();
}

static __always_inline __u64 *word(__u32 which)
{
	return bpf_map_lookup_elem(&d2tcp_words, &which);
}

static __always_inline __u32 epoch(void)
{
	__u64 *now = word(D2TCP_EPOCH);

	return now ? *now : 0;
}

/* Returns the number that distinguishes this attachment's connections from an earlier attachment's, whose maps no
 * longer exist. */
static __always_inline __u64 generation(void)
{
	__u32 zero = 0;
	struct d2tcp_about *about = bpf_map_lookup_elem(&d2tcp_about, &zero);

	return about ? about->since_ns : 0;
}

static __always_inline bool ecn_agreed(const struct tcp_sock *tp)
{
	return tp->ecn_flags & TCP_ECN_MODES;
}

static __always_inline __u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* Returns the position before which everything has been written. */
static __always_inline __u64 written(const struct tcp_sock *tp)
{
	return tp->bytes_acked + (__u32)(tp->write_seq - tp->snd_una);
}

#endif
