/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* What the programs in the kernel and the operator's tool say to each other through maps. The tool's side is
 * `linux/d2tcp/src/kernel.rs`; sizes are checked on both sides. */
#ifndef D2TCP_SHARED_H
#define D2TCP_SHARED_H

#include "law.h"

/* Raised with every change of what is below or of the state kept per connection: an upgrade keeps the maps of
 * the version before only if this number is the same. */
#define D2TCP_LAYOUT 4

/* Written once when attached. The first fields stay where they are in every layout: by them a tool knows what it
 * must not read. */
struct d2tcp_about {
	__u32 layout;
	__u32 reserved[2];
	__u32 pid;		/* of the process that attached and holds the links, or 0 */
	__u64 since_ns;		/* when, as CLOCK_BOOTTIME */
	char version[16];
	__u64 pid_namespace;	/* inode of the one that pid is of */
	__u64 root;		/* id of the cgroup that is the root of the tool's hierarchy */
	__u64 key[2];		/* of the hash of paths: see rules.h */
	char prior_control[16];	/* default of the namespace before, empty if it was not changed */
	char namespace[64];	/* path of that namespace */
};

/* Rules that may be in force: bits of a number. There are two banks of them, one in force and one to write the next
 * policy to. */
#define D2TCP_RULES 64

/* What a rule wants for the connections that it governs. */
enum {
	D2TCP_CONTROL_ASK,	/* the control if the program asks by TCP_CONGESTION */
	D2TCP_CONTROL_USE,	/* the control */
	D2TCP_CONTROL_LEAVE,	/* nothing of ours; deadlines are not taken */
};

/* Bits of d2tcp_rule.flags. */
#define D2TCP_RULE_USED 1u
#define D2TCP_RULE_PRIVATE 2u	/* only peers in private ranges */
#define D2TCP_RULE_PREFIX 4u	/* only peers with this prefix */
#define D2TCP_RULE_SILENT 8u	/* programs may not tell deadlines */

/* A rule of the operator's policy: the first one that matches a connection governs it. Its cgroup is matched apart,
 * by d2tcp_paths. */
struct d2tcp_rule {
	struct law_parameters law; /* for its connections */
	__u32 flags;
	__u32 control;
	__u32 share;		/* of its connections that get the control, of LAW_ONE */
	__u32 prefix;		/* bits of address that count; IPv4 as ::ffff:0:0/96 */
	__u8 address[16];
	__u16 port_low;		/* local or remote, both included; 0 and 65535: any */
	__u16 port_high;
	__u32 reserved;
	__u64 deadline_ns;	/* what a message has without an announcement; 0: none */
	__u64 bytes;		/* and how long it is taken to be at least */
	__u64 least_deadline_ns; /* shorter deadlines are lengthened to this; 0: no limit, as below */
	__u64 most_bytes;	/* longer messages are refused */
	__u64 most_rate;	/* bytes per second: deadlines that ask for more are lengthened */
	__u64 budget_rate;	/* bytes per second that may be announced in all */
	__u64 budget_bytes;	/* and at once */
	__u32 most_loss;	/* of a canary's segments, of LAW_ONE: beyond these the tool rolls it back; 0: no limit */
	__u32 most_timeouts;	/* per segment */
	__u32 most_missed;	/* of its messages */
	__u32 reserved_too;
	char name[32];
	char cgroup[256];	/* for people */
};

/* The budget of a rule as it stands. */
struct d2tcp_budget {
	__u64 left;
	__u64 at_ns;
};

/* Of connections of a rule whose share is not all: those that keep their control, and those that get ours. */
enum { D2TCP_ARM_CONTROL, D2TCP_ARM_OURS, D2TCP_ARMS };

/* What both arms did, measured in the same way, in slices of a connection's life of a second or what is left of it:
 * sums, and sums of squares and products, from which intervals follow. One per CPU, rule and arm. */
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
	__u64 met;
	__u64 missed;
};

/* Which rules a path concerns. */
struct d2tcp_path {
	__u64 hash;
	__u64 bank;
};

#define D2TCP_ALPHA_BUCKETS 16 /* of equal width */
#define D2TCP_D_BUCKETS 14

#define D2TCP_COST_BUCKETS 12

/* Single numbers, by index: until when (CLOCK_MONOTONIC, ns) somebody reads the events, so that a tracer that dies
 * is forgotten by itself; the id that the youngest connection got; and which policy is in force: it grows with every
 * reload, and its lowest bit is the bank. */
enum { D2TCP_TRACED_UNTIL, D2TCP_LAST_ID, D2TCP_EPOCH, D2TCP_WORDS };

/* One per CPU and rule; the first is for what no rule governs. */
struct d2tcp_counters {
	__u64 opened;		/* connections that came under the control */
	__u64 closed;		/* and left it, closing or not */
	__u64 without_ecn;	/* of these, that the peer refused ECN: Reno */
	__u64 calls;		/* of cong_control */
	__u64 sampled;		/* of these, measured */
	__u64 sampled_ns;
	__u64 receiver_calls;	/* CE or no CE on arriving data */
	__u64 receiver_sampled;
	__u64 receiver_sampled_ns;
	__u64 windows;
	__u64 windows_deadline;	/* of these, with a deadline */
	__u64 cuts;
	__u64 losses;
	__u64 timeouts;
	__u64 undone;		/* losses that were none */
	__u64 held;		/* times that a message stood back (LAW_PLUS) */
	__u64 delivered;	/* segments */
	__u64 delivered_ce;	/* of these, with an echo */
	__u64 messages;
	__u64 met;
	__u64 missed;
	__u64 cancelled;
	__u64 unfinished;	/* the connection ended before the message's deadline and its end */
	__u64 implied;		/* of the messages, those with a deadline by policy */
	__u64 refused;		/* setsockopt with impossible values */
	__u64 queue_full;	/* setsockopt with D2TCP_QUEUE messages waiting */
	__u64 no_memory;	/* calls without room for a connection's state: the law in short */
	__u64 lengthened;	/* deadlines that the policy lengthened */
	__u64 denied;		/* announcements that the policy refused */
	__u64 events_lost;	/* the tracer was too slow */
	__u64 alpha_sum;	/* over windows, of LAW_ONE */
	__u64 d_sum;		/* over windows with a deadline, of LAW_UNIT */
	__u64 alpha[D2TCP_ALPHA_BUCKETS]; /* windows by alpha */
	__u64 d[D2TCP_D_BUCKETS]; /* windows with a deadline, by d: see D2TCP_D_BOUNDS */
	__u64 cost[D2TCP_COST_BUCKETS]; /* sampled calls, by 2^5, 2^6, ... ns, upper bounds of all but the last */
};

/* Upper bounds of d's buckets but the last, of 1/100. */
#define D2TCP_D_BOUNDS { 25, 50, 60, 70, 80, 90, 100, 110, 125, 150, 175, 200, 400 }

struct d2tcp_address {
	__u64 netns;		/* cookie of the network namespace */
	__u32 family;
	__u16 local_port;
	__u16 remote_port;
	__u8 local[16];		/* IPv4: the first four bytes */
	__u8 remote[16];
};

/* A connection, as the iterator tells. Values as in struct d2tcp_state. */
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
	__u64 cgroup;		/* id of the cgroup that the socket is of */
	__u64 inode;		/* of the socket; 0 if no program has it any more */
	__u32 rule;		/* from 1; 0: none */
	__u32 without_memory;
};

/* Why there is an event: bits. */
enum { D2TCP_EVENT_WINDOW = 1, D2TCP_EVENT_CUT = 2, D2TCP_EVENT_LOSS = 4, D2TCP_EVENT_DONE = 8 };

/* What a tracer gets of a connection, once per window and at each cut, loss and end of a message. */
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
	__u64 messages_done;	/* on this connection before the present one */
};

_Static_assert(sizeof(struct law_parameters) == 56, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_about) == 152, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_rule) == 456, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_arm) == 104, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_counters) == 592, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_flow) == 192, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_event) == 120, "as in kernel.rs");

#endif
