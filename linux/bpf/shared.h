/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* What the programs in the kernel and the operator's tool say to each other through maps. The tool's side is
 * `linux/d2tcp/src/kernel.rs`; sizes are checked on both sides. */
#ifndef D2TCP_SHARED_H
#define D2TCP_SHARED_H

#include "law.h"

/* Raised with every change of what is below or of the state kept per connection: an upgrade keeps the maps of
 * the version before only if this number is the same. */
#define D2TCP_LAYOUT 2

/* Which connections get the control without asking. */
enum { D2TCP_SELECT_NONE, D2TCP_SELECT_ALL, D2TCP_SELECT_PORTS };

/* Written once when attached. */
struct d2tcp_about {
	__u32 layout;
	__u32 select;
	__u16 port_low;		/* both included */
	__u16 port_high;
	__u32 pid;		/* of the process that attached */
	__u64 since_ns;		/* when, as CLOCK_BOOTTIME */
	char version[16];
	char prior_control[16];	/* default of the namespace before, empty if it was not changed */
	char namespace[64];	/* path of that namespace */
	char cgroups[512];	/* where the hooks are, separated by line feeds */
};

#define D2TCP_ALPHA_BUCKETS 16 /* of equal width */
#define D2TCP_D_BUCKETS 14

/* Single numbers, by index: until when (CLOCK_MONOTONIC, ns) somebody reads the events, so that a tracer that dies
 * is forgotten by itself; and the id that the youngest connection got. */
enum { D2TCP_TRACED_UNTIL, D2TCP_LAST_ID, D2TCP_WORDS };

/* One per CPU. */
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
	__u64 delivered;	/* segments */
	__u64 delivered_ce;	/* of these, with an echo */
	__u64 messages;
	__u64 met;
	__u64 missed;
	__u64 unfinished;	/* the connection ended before the message's deadline and its end */
	__u64 refused;		/* setsockopt with impossible values */
	__u64 queue_full;	/* setsockopt with D2TCP_QUEUE messages waiting */
	__u64 no_memory;	/* connections whose state could not be kept */
	__u64 events_lost;	/* the tracer was too slow */
	__u64 alpha_sum;	/* over windows, of LAW_ONE */
	__u64 d_sum;		/* over windows with a deadline, of LAW_UNIT */
	__u64 alpha[D2TCP_ALPHA_BUCKETS]; /* windows by alpha */
	__u64 d[D2TCP_D_BUCKETS]; /* windows with a deadline, by d: see D2TCP_D_BOUNDS */
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

_Static_assert(sizeof(struct law_parameters) == 32, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_about) == 632, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_counters) == 456, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_flow) == 168, "as in kernel.rs");
_Static_assert(sizeof(struct d2tcp_event) == 120, "as in kernel.rs");

#endif
