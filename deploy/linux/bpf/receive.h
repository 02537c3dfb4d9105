/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* The structures that the programs of `d2tcp receive` share with its daemon. Positions are TCP sequence numbers. */
#ifndef D2TCP_RECEIVE_H
#define D2TCP_RECEIVE_H

/* Maximum number of scheduled connections. */
#define RECEIVE_SLOTS 16384
/* The bytes of a message's beginning that the daemon can ask for. */
#define RECEIVE_HEAD 512

/* Both ends of a connection. IPv4 addresses are written as IPv6 ones (::ffff:a.b.c.d). */
struct receive_key {
	__u32 local[4];		/* network byte order */
	__u32 remote[4];
	__u16 local_port;	/* host byte order */
	__u16 remote_port;
};

/* Bits of receive_slot.flags. */
enum { RECEIVE_TIMESTAMPS = 1, RECEIVE_BEGUN = 2, RECEIVE_HEAD_DUE = 4 };

/* Values of receive_slot.mode. */
enum { RECEIVE_HELD = 0, RECEIVE_LEFT_ALONE = 1 };

/* Bits of receive_slot.wanted: tell requests; show the beginning of each answer. A connection begins with both, as its
 * first request may be sent before the daemon knows of it. */
enum { RECEIVE_WANT_REQUESTS = 1, RECEIVE_WANT_HEAD = 2 };

/* A connection. The programs write the first part, and the daemon the second; neither needs a lock. */
struct receive_slot {
	struct receive_key key;
	__u32 generation;	/* of connections in this slot; 0: none yet */
	__u64 cgroup;		/* id of the socket's cgroup; 0 if it is in another network namespace */
	__u64 seen_ns;		/* when payload arrived last, or the connection began; CLOCK_MONOTONIC; 0: unused */
	__u32 interface;
	__u32 base;		/* the peer's first byte */
	__u32 arrived;		/* the end of the payload that has arrived */
	__u32 ack;		/* of the last packet sent, as the next four */
	__u32 seq;		/* the next byte of ours */
	__u32 field;		/* the window field that the kernel wrote */
	__u32 ts_value;
	__u32 ts_echo;
	__u32 edge;		/* the right edge that was advertised */
	__u32 request_ack;	/* the acknowledgement in the last request */
	__u16 mss;
	__u8 scale;
	__u8 family;		/* 4 or 6 */
	__u32 flags;
	__u8 link[16];		/* the Ethernet header of the last packet sent */

	__u32 mode;
	__u32 limit;		/* the right edge does not pass it ... */
	__u32 window;		/* ... nor the acknowledgement by more than this; 0: the limit alone counts */
	__u32 wake;		/* with `armed`: tell the daemon when payload up to this position has arrived */
	__u32 armed;
	__u32 wanted;
};

enum receive_kind {
	RECEIVE_OPENED = 1,	/* a connection begins; `position` is its generation's base, or 0 before it is known */
	RECEIVE_REQUEST = 2,	/* a program sends after it has received; `position` is its acknowledgement */
	RECEIVE_ARRIVED = 3,	/* payload has arrived up to `wake` */
	RECEIVE_EXPECT = 4,	/* a program expects `bytes` from `position` on, due at `deadline_ns` */
	RECEIVE_CLOSED = 5,
	RECEIVE_BEGINS = 6,	/* the first payload after a request, in struct receive_head; `position` is its begin */
};

struct receive_event {
	__u32 kind;
	__u32 slot;
	__u32 generation;
	__u32 position;
	__u64 time_ns;
	__u64 bytes;
	__u64 deadline_ns;
};

struct receive_head {
	struct receive_event event;
	__u32 length;
	__u32 reserved;
	__u8 bytes[RECEIVE_HEAD];
};

/* The daemon's sign of life, and counters. */
struct receive_control {
	__u64 heartbeat_ns;	/* by the daemon, CLOCK_MONOTONIC */
	__u64 stale_ns;		/* without a heartbeat for so long, windows are open */
	__u64 rewritten;	/* packets whose window was reduced */
	__u64 opened_by_age;	/* packets that passed because the daemon gave no sign of life */
	__u64 unscheduled;	/* connections that found no slot */
	__u64 lost_events;
	__u64 bytes;		/* received by the interfaces, with all headers */
};

#endif
