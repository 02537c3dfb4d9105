/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* The interface of maps between the programs in the kernel and the operator's tool. The tool's side is
 * `deploy/linux/d2tcp/src/kernel.rs`, whose test compares the layouts. */
#ifndef D2TCP_SHARED_H
#define D2TCP_SHARED_H

#include "budget.h"

/* The version of the layouts below and of the state per connection, raised with every change. An upgrade keeps the maps
 * of the earlier version only if this number is the same. */
#define D2TCP_LAYOUT 6

/* Facts about the attachment, written once. The first fields keep their places in every layout, so that a tool can tell
 * whether it may read the rest. */
struct d2tcp_about {
	__u32 layout;
	__u32 unlisted;		/* 1 if the kernel refuses the iterator over connections */
	__u32 reserved;
	__u32 pid;		/* of the process that attached and holds the links, or 0 */
	__u64 since_ns;		/* time of attaching, as CLOCK_BOOTTIME */
	char version[16];
	__u64 pid_namespace;	/* inode of the namespace of `pid` */
	__u64 root;		/* id of the cgroup that is the root of the tool's hierarchy */
	__u64 key[2];		/* keys of the hash of paths: see rules.h */
	char prior_control[16];	/* the namespace's default before; empty if unchanged */
	char namespace[64];	/* path of that namespace */
};

/* The maximum number of rules, each a bit of a number. There are two banks of rules: one in force, and one to which the
 * next policy is written. */
#define D2TCP_RULES 64

/* The outcomes of messages of one user (UID of the socket) that count per second and rule, unless the rule has another
 * number. As many may count at once. */
#define D2TCP_USER_MESSAGES 1000

/* The outcomes of a user that still count, as a time: an outcome costs 1 s divided by the number per second. */
struct d2tcp_allowance {
	__u64 left_ns;
	__u64 at_ns;		/* of the last change; 0: never */
};

/* Key of the accounts of users: each has one in each rule. */
struct d2tcp_user {
	__u32 rule;
	__u32 uid;
};

/* The limits of one user: the outcomes that the counters of rules still count, and the budget of urgency. */
struct d2tcp_account {
	struct d2tcp_allowance allowance;
	struct law_account urgency;
	__u64 limited;		/* cuts with d = 1 because nothing was left */
};

/* The budget of urgency of one user, unless the rule has another one: a share of LAW_ONE, and a burst in bytes. */
#define D2TCP_USER_URGENCY (LAW_ONE / 4)
#define D2TCP_USER_BURST 4000000ull

/* A rule's setting for the connections that it governs. */
enum {
	D2TCP_CONTROL_ASK,	/* the control, if the program asks for it by TCP_CONGESTION */
	D2TCP_CONTROL_USE,	/* the control */
	D2TCP_CONTROL_LEAVE,	/* never the control; announcements are refused */
};

/* Bits of d2tcp_rule.flags. */
#define D2TCP_RULE_USED 1u
#define D2TCP_RULE_PRIVATE 2u	/* only peers in private ranges */
#define D2TCP_RULE_PREFIX 4u	/* only peers with this prefix */
#define D2TCP_RULE_DENY_ANNOUNCE 8u	/* programs may not announce deadlines */

/* A rule of the operator's policy. The first rule that matches a connection governs it. Its cgroup is matched
 * separately, by d2tcp_paths. */
struct d2tcp_rule {
	struct law_parameters law; /* for its connections */
	__u32 flags;
	__u32 control;
	__u32 share;		/* share of its connections that get the control, of LAW_ONE */
	__u32 prefix;		/* significant bits of `address`; IPv4 as ::ffff:0:0/96 */
	__u8 address[16];
	__u16 port_low;		/* local or remote, both inclusive; 0 and 65535: any */
	__u16 port_high;
	__u32 own;		/* the parameters in `law` that the rule sets itself, as bits in their order */
	__u64 deadline_ns;	/* deadline of a message without an announcement; 0: none */
	__u64 bytes;		/* and its assumed minimum size */
	__u64 min_deadline_ns; /* shorter deadlines are lengthened to this; 0: no limit, as below */
	__u64 max_bytes;	/* longer messages are refused */
	__u64 max_rate;	/* bytes per second: deadlines that need more are lengthened */
	__u64 budget_rate;	/* bytes per second that may be announced in all */
	__u64 budget_bytes;	/* and the size of a burst */
	__u32 max_loss;	/* a canary's lost segments, of LAW_ONE: the tool rolls back above these; 0: no limit */
	__u32 max_timeouts;	/* timeouts per segment */
	__u32 max_missed;	/* missed messages, of all */
	__u32 user_messages;	/* outcomes of one user that count per second; 0: D2TCP_USER_MESSAGES */
	__u64 user_burst;	/* a user's budget of urgency, as in budget.h */
	__u32 user_urgency;	/* its share of LAW_ONE; LAW_ONE: no limit */
	__u32 tolerance;	/* of a canary: a part of the other arm's shares, of LAW_ONE, by which ours may be above */
	char name[32];
	char cgroup[256];	/* for display only */
};

/* The present state of a rule's budget. */
struct d2tcp_budget {
	__u64 left;
	__u64 at_ns;
};

/* The arms of a canary: control (connections keep their own control) and treatment (connections get ours). */
enum { D2TCP_ARM_CONTROL, D2TCP_ARM_TREATMENT, D2TCP_ARMS };

/* Key of an arm's measurements: twice the rule's index, plus the arm, and the user. Users without an entry of
 * their own, for lack of room, share D2TCP_OTHERS. */
struct d2tcp_arm_key {
	__u32 arm;
	__u32 uid;
};

#define D2TCP_OTHERS 0xffffffffu

/* Measurements of one user in one arm; both arms are measured in the same way. A connection's life is divided into
 * slices of one second or less. The sums of squares and products give confidence intervals. */
struct d2tcp_arm {
	__u64 opened;
	__u64 closed;
	__u64 slices;
	__u64 segments;		/* sent, retransmissions included */
	__u64 retransmitted;
	__u64 timeouts;
	__u64 segments_squared;
	__u64 retransmitted_squared;
	__u64 segments_retransmitted;
	__u64 timeouts_squared;
	__u64 segments_timeouts;
	__u64 met;		/* as far as the user's allowance permits, as below */
	__u64 missed;
	__u64 message_slices;	/* slices in which messages ended */
	__u64 messages_squared;
	__u64 missed_squared;
	__u64 messages_missed;
	__u64 uncounted;	/* outcomes beyond the allowance */
	struct d2tcp_allowance allowance;
};

/* Key of the rules that concern a path. */
struct d2tcp_path {
	__u64 hash;
	__u64 bank;
};

#define D2TCP_ALPHA_BUCKETS 16 /* of equal width */
#define D2TCP_D_BUCKETS 14

#define D2TCP_COST_BUCKETS 12

/* Indices of single numbers. D2TCP_TRACED_UNTIL: the time (CLOCK_MONOTONIC, ns) until which a tracer reads events, so
 * that a dead tracer expires. D2TCP_LAST_ID: the id of the youngest connection. D2TCP_EPOCH: the policy in force; it
 * grows with every reload, and its lowest bit is the bank. */
enum { D2TCP_TRACED_UNTIL, D2TCP_LAST_ID, D2TCP_EPOCH, D2TCP_WORDS };

/* Counters, one per CPU and rule; the first is for connections that no rule governs. */
struct d2tcp_counters {
	__u64 opened;		/* connections brought under the control */
	__u64 closed;		/* connections that left it, by closing or otherwise */
	__u64 without_ecn;	/* opened, but the peer refused ECN: Reno */
	__u64 calls;		/* of cong_control */
	__u64 sampled;		/* of these, timed */
	__u64 sampled_ns;
	__u64 receiver_calls;	/* for CE or no CE on received data */
	__u64 receiver_sampled;
	__u64 receiver_sampled_ns;
	__u64 windows;
	__u64 windows_deadline;	/* of these, with a deadline */
	__u64 cuts;
	__u64 losses;
	__u64 timeouts;
	__u64 undone;		/* spurious losses */
	__u64 held;		/* holds of a message (LAW_PLUS) */
	__u64 delivered;	/* segments */
	__u64 delivered_ce;	/* of these, with an echo */
	__u64 messages;
	__u64 met;
	__u64 missed;
	__u64 cancelled;
	__u64 unfinished;	/* its connection ended before its deadline and its end */
	__u64 implied;		/* messages with a deadline by policy */
	__u64 refused;		/* setsockopt with invalid values */
	__u64 queue_full;	/* setsockopt with D2TCP_QUEUE messages queued */
	__u64 no_memory;	/* calls without memory for a connection's state: the law's short form */
	__u64 lengthened;	/* deadlines that the policy lengthened */
	__u64 denied;		/* announcements that the policy refused */
	__u64 uncounted;	/* outcomes beyond the allowance of their user, in none of the counts above */
	__u64 limited;		/* cuts with d = 1, as the budget of urgency of their user was spent */
	__u64 events_lost;	/* events dropped because the tracer was too slow */
	__u64 alpha_sum;	/* sum over windows, of LAW_ONE */
	__u64 d_sum;		/* sum over windows with a deadline, of LAW_UNIT */
	__u64 alpha[D2TCP_ALPHA_BUCKETS]; /* windows by alpha */
	__u64 d[D2TCP_D_BUCKETS]; /* windows with a deadline, by d: see D2TCP_D_BOUNDS */
	__u64 cost[D2TCP_COST_BUCKETS]; /* sampled calls, by upper bounds of 2^5, 2^6, ... ns; the last has none */
};

/* Upper bounds of the buckets of d, except the last, of 1/100. */
#define D2TCP_D_BOUNDS { 25, 50, 60, 70, 80, 90, 100, 110, 125, 150, 175, 200, 400 }

struct d2tcp_address {
	__u64 netns;		/* cookie of the network namespace */
	__u32 family;
	__u16 local_port;
	__u16 remote_port;
	__u8 local[16];		/* IPv4: the first four bytes */
	__u8 remote[16];
};

/* A connection, as the iterator reports it. Values as in struct d2tcp_state. */
struct d2tcp_flow {
	__u64 id;
	struct d2tcp_address address;
	__u32 flags;
	__u32 tcp_state;
	__u64 cwnd;
	__u64 ssthresh;
	__u32 alpha;		/* of LAW_ONE, as p */
	__u32 d;
	__u32 p;
	__u32 srtt_us;
	__u64 bytes_acked;
	__u64 bytes_left;
	__s64 time_left_ns;
	__u64 messages;
	__u64 met;
	__u64 missed;
	__u64 cuts;
	__u64 losses;
	__u32 queued;
	__u32 mss;
	__u64 cgroup;		/* id of the socket's cgroup */
	__u64 inode;		/* of the socket; 0 if no program holds it any longer */
	__u32 rule;		/* from 1; 0: none */
	__u32 without_memory;
};

/* Reasons for an event, as bits. */
enum { D2TCP_EVENT_WINDOW = 1, D2TCP_EVENT_CUT = 2, D2TCP_EVENT_LOSS = 4, D2TCP_EVENT_DONE = 8 };

/* An event for a tracer: one per window, and one at each cut, loss and end of a message. */
struct d2tcp_event {
	__u64 time_ns;		/* CLOCK_MONOTONIC */
	__u64 id;
	struct d2tcp_address address;
	__u32 kind;
	__u32 flags;
	__u64 cwnd;
	__u64 ssthresh;
	__u32 alpha;
	__u32 d;
	__u32 p;
	__u32 srtt_us;
	__u64 bytes_acked;
	__u64 messages_done;	/* completed on this connection before the present one */
};

#endif
