/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Deadlines for TCP messages under D2TCP: the interface between a program and the kernel side.
 *
 * Before it writes a message to a connected TCP socket, a program announces the length of the message and its
 * deadline:
 *
 *     d2tcp_send_deadline(fd, 65536, 20 * 1000 * 1000);   // 64 KiB, 20 ms from now
 *     write(fd, reply, 65536);
 *
 * If it learns the length only by writing (TLS, compression, HTTP/2), it writes first and then announces:
 *
 *     SSL_write(tls, reply, 65536);
 *     d2tcp_send_deadline(fd, 0, 20 * 1000 * 1000);       // all bytes written so far
 *
 * The calls need no privilege, and only change the congestion window's response to marks. A program can ignore
 * each of their errors: the message is then sent like any other.
 *
 * This file is the whole interface. Numbers, sizes and offsets never change, and new fields of struct d2tcp_state
 * are added at its end.
 */
#ifndef D2TCP_H
#define D2TCP_H

#ifndef D2TCP_KERNEL_SIDE
#include <errno.h>
#include <linux/types.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#endif

/* Name of the congestion control, for TCP_CONGESTION. */
#define D2TCP_NAME "d2tcp"

/* The level of all options; no protocol of the kernel has it. */
#define D2TCP_LEVEL 0xd27c

/* setsockopt, struct d2tcp_message or struct d2tcp_announcement: the next message and its deadline. The kernel side
 * distinguishes the two by their length (16 and 32 bytes). A kernel side older than struct d2tcp_announcement answers
 * EINVAL to it, and to bytes = 0.
 *
 *   EINVAL       bytes is negative or above its limit, deadline_ns is not positive or above its limit, a flag is
 *                unknown, reserved is not 0, or the length is neither of the two
 *   ENOTCONN     the socket is not connected (nor connecting)
 *   EOPNOTSUPP   the connection is under another congestion control, or is not TCP, or D2TCP was detached and
 *                attached again since it began
 *   ENOBUFS      D2TCP_QUEUE messages are queued already, and none of them is overdue without having been written
 *   EPERM        the operator's policy accepts no deadlines from this program
 *   ENOMEM       the kernel has no memory for the connection's state
 *   ENOPROTOOPT  D2TCP is not attached where the program runs
 */
#define D2TCP_MESSAGE 1

/* getsockopt, struct d2tcp_state: the state of the connection.
 *
 *   EINVAL       fewer than 8 bytes of room
 *   ENOMEM       as above
 *   EOPNOTSUPP   the connection is under another congestion control, or is not TCP; or D2TCP is not attached
 *                where the program runs, and the socket is an IPv4 one
 *   ENOPROTOOPT  D2TCP is not attached where the program runs
 */
#define D2TCP_STATE 2

/* setsockopt, __u64: cancels the messages with this tag whose last byte has not been acknowledged, or all of them for
 * 0. Their unwritten bytes will never be written, so messages announced after them move up. It is no error if there is
 * no such message.
 *
 *   EINVAL       the length is not 8
 *   ENOTCONN, EOPNOTSUPP, ENOMEM, ENOPROTOOPT  as at D2TCP_MESSAGE
 */
#define D2TCP_CANCEL 3

/* getsockopt, struct d2tcp_outcome[]: the outcomes of the last messages, the youngest first. There are as many as fit,
 * and D2TCP_OUTCOMES_KEPT at most. getsockopt returns the length that was filled. If no message has ended, it is that of
 * one outcome with result 0.
 *
 *   EINVAL       less room than for one outcome
 *   others       as at D2TCP_STATE
 */
#define D2TCP_OUTCOMES 4
#define D2TCP_OUTCOMES_KEPT 8

/* setsockopt, struct d2tcp_message: the next `bytes` bytes that the program will read from the socket are one message,
 * and should have been received within `deadline_ns`. It is for the receiving end, where `d2tcp receive` runs, and needs
 * neither D2TCP nor a change at the sender. Several messages may be announced in order.
 *
 *   EINVAL       the length is not 16, or bytes or deadline_ns is outside its limits.
 *   ENOTCONN     The socket is not connected.
 *   EOPNOTSUPP   The connection is not TCP, or `d2tcp receive` does not schedule it.
 *   ENOBUFS      The daemon is behind. The message is received like any other.
 *   ENOPROTOOPT  `d2tcp receive` does not run here.
 */
#define D2TCP_EXPECT 5

/* Limits of bytes and deadline_ns, both inclusive. */
#define D2TCP_MAX_BYTES (1LL << 40)
#define D2TCP_MAX_DEADLINE_NS (86400LL * 1000 * 1000 * 1000)

/* Maximum number of queued messages on one connection. */
#define D2TCP_QUEUE 32

/* A message in the short form. */
struct d2tcp_message {
	/* The length in bytes. The message begins at the later of two positions: the end of the message before it,
	 * and the last byte written. So messages may be announced before their bytes are written, in order.
	 *
	 * 0: all bytes written so far. The message begins at the end of the message before it. Announcements of bytes
	 * that are not yet written become void, as with D2TCP_ENDS_PREVIOUS. If no byte was written since the last
	 * announcement, that message gets this deadline (and tag) instead of its own. */
	__s64 bytes;
	/* Time from this call until its last byte should have been acknowledged, in ns. */
	__s64 deadline_ns;
};

/* A message in the full form. */
struct d2tcp_announcement {
	__s64 bytes;		/* as above */
	__s64 deadline_ns;
	__u64 tag;		/* the program's name for it in D2TCP_CANCEL and D2TCP_OUTCOMES; need not be unique */
	__u32 flags;		/* D2TCP_ENDS_PREVIOUS or 0 */
	__u32 reserved;		/* 0 */
};

/* Bit of d2tcp_announcement.flags: earlier messages end with the bytes written so far, whatever their announced length.
 * Messages of which no byte was written are cancelled. It is for replies that were broken off, and for messages
 * shorter than announced. */
#define D2TCP_ENDS_PREVIOUS 1u

/* The outcome of a message. */
struct d2tcp_outcome {
	__u64 tag;		/* 0 if it had none */
	__s64 left_ns;		/* time left when it was acknowledged or cancelled; negative: late */
	__u32 result;		/* D2TCP_MET, ... */
	__u32 number;		/* of the connection's ended messages, including it; shows which outcomes are new */
};

enum { D2TCP_MET = 1, D2TCP_MISSED = 2, D2TCP_CANCELLED = 3 };

/* Bits of d2tcp_state.flags. */
#define D2TCP_ECN 1u		/* both ends agreed on ECN; without it the connection behaves as Reno */
#define D2TCP_SLOW_START 2u	/* the window is below ssthresh */
#define D2TCP_DEADLINE 4u	/* a message with a deadline is being sent */
#define D2TCP_EXPIRED 8u	/* and its deadline, less the margin, has passed */
#define D2TCP_RECOVERY 16u	/* a loss is being repaired */
#define D2TCP_LIMITED 32u	/* the user's budget of urgency is spent, so d is at most 1 for now */

/* Fractions are fixed-point numbers: D2TCP_ONE represents 1. */
#define D2TCP_ONE (1u << 20)

#define D2TCP_STATE_VERSION 1

/* The state of a connection. Counts begin with the connection. A program with less or more room gets the beginning:
 * getsockopt returns the length that was filled. */
struct d2tcp_state {
	__u32 version;		/* D2TCP_STATE_VERSION */
	__u32 size;		/* bytes of this structure that the kernel side knows */
	__u32 flags;		/* D2TCP_ECN, ... */
	__u32 mss;		/* payload bytes of a full segment */
	__u32 cwnd;		/* segments */
	__u32 cwnd_fraction;	/* fraction of cwnd, of D2TCP_ONE */
	__u32 ssthresh;		/* segments */
	__u32 srtt_us;		/* smoothed RTT, us; 0 before the first sample */
	__u32 alpha;		/* extent of marking, of D2TCP_ONE */
	__u32 d;		/* imminence of the deadline, of D2TCP_ONE; D2TCP_ONE without one */
	__u32 p;		/* alpha^d, of D2TCP_ONE: a cut would take half of it */
	__u32 queued;		/* messages whose last byte has not been acknowledged */
	__u64 messages;		/* accepted so far */
	__u64 met;		/* acknowledged in time */
	__u64 missed;		/* acknowledged late */
	__s64 time_left_ns;	/* until the first message's deadline; negative when it has passed; 0 without one */
	__u64 bytes_left;	/* of that message, to be acknowledged */
	__u64 bytes_acked;
	__u64 bytes_marked;	/* of these, with an ECN echo */
	__u64 windows;		/* windows over which alpha was updated */
	__u64 cuts;		/* windows cut because of marks */
	__u64 losses;		/* windows cut because of loss, timeouts included */
	__u64 timeouts;
	__u64 cancelled;	/* messages, by D2TCP_CANCEL or by a later one before a byte of them was written */
	__u64 tag;		/* of the first queued message; 0 without one */
	__u32 rule;		/* number, from 1, of the operator's rule that governs the connection; 0: none does */
	__u32 reserved;
};

#ifndef D2TCP_KERNEL_SIDE

/* Announces that the next `bytes` bytes written to `fd`, or with 0 all written bytes, should be acknowledged within
 * `deadline_ns`. Returns 0, or -1 with errno set as listed at D2TCP_MESSAGE. */
static inline int d2tcp_send_deadline(int fd, int64_t bytes, int64_t deadline_ns)
{
	struct d2tcp_message message;

	message.bytes = bytes;
	message.deadline_ns = deadline_ns;
	return setsockopt(fd, D2TCP_LEVEL, D2TCP_MESSAGE, &message, sizeof(message));
}

/* Announces a message with a tag and flags; otherwise as d2tcp_send_deadline. */
static inline int d2tcp_announce(int fd, int64_t bytes, int64_t deadline_ns, uint64_t tag, uint32_t flags)
{
	struct d2tcp_announcement announcement;

	announcement.bytes = bytes;
	announcement.deadline_ns = deadline_ns;
	announcement.tag = tag;
	announcement.flags = flags;
	announcement.reserved = 0;
	return setsockopt(fd, D2TCP_LEVEL, D2TCP_MESSAGE, &announcement, sizeof(announcement));
}

/* Announces that the next `bytes` bytes read from `fd` should have been received within `deadline_ns`. Returns 0, or -1
 * with errno set as listed at D2TCP_EXPECT. */
static inline int d2tcp_expect(int fd, int64_t bytes, int64_t deadline_ns)
{
	struct d2tcp_message message;

	message.bytes = bytes;
	message.deadline_ns = deadline_ns;
	return setsockopt(fd, D2TCP_LEVEL, D2TCP_EXPECT, &message, sizeof(message));
}

/* Cancels the messages with this tag, or all for 0. Returns 0, or -1 with errno set as listed at D2TCP_CANCEL. */
static inline int d2tcp_cancel(int fd, uint64_t tag)
{
	__u64 wanted = tag;

	return setsockopt(fd, D2TCP_LEVEL, D2TCP_CANCEL, &wanted, sizeof(wanted));
}

/* Reads the outcomes of the last messages, the youngest first, into an array of `most`. Returns their number, or -1
 * with errno set as listed at D2TCP_OUTCOMES. */
static inline int d2tcp_get_outcomes(int fd, struct d2tcp_outcome *outcomes, int most)
{
	socklen_t length = (socklen_t)(sizeof(*outcomes) * (unsigned int)most);

	if (getsockopt(fd, D2TCP_LEVEL, D2TCP_OUTCOMES, outcomes, &length))
		return -1;
	return outcomes->result ? (int)(length / sizeof(*outcomes)) : 0;
}

/* Reads the connection's state. Fields that the kernel side does not know are 0. Returns 0, or -1 with errno set as
 * listed at D2TCP_STATE. */
static inline int d2tcp_get_state(int fd, struct d2tcp_state *state)
{
	socklen_t length = sizeof(*state);

	memset(state, 0, sizeof(*state));
	return getsockopt(fd, D2TCP_LEVEL, D2TCP_STATE, state, &length);
}

/* Puts `fd` under D2TCP. It must be called before connect(2) or listen(2), or ECN will not be negotiated. Returns 0, or
 * -1 with errno set: ENOENT where D2TCP is not attached. */
static inline int d2tcp_use(int fd)
{
	/* IPPROTO_TCP and TCP_CONGESTION, without the header that declares them: <netinet/tcp.h> and
	 * <linux/tcp.h> cannot be included together, and the program may need either. */
	return setsockopt(fd, 6, 13, D2TCP_NAME, sizeof(D2TCP_NAME) - 1);
}

#endif
#endif
