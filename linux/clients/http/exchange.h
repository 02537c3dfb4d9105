/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The requests and responses of one connection of a server, and what the kernel is told of them. */
#ifndef D2TCP_HTTP_EXCHANGE_H
#define D2TCP_HTTP_EXCHANGE_H

#include "parser.h"

/* Time taken off the client's deadline before the kernel is told of it. The client counts from before its request
 * was sent until it has read the last byte, the kernel until it knows that the last byte has arrived, and D2TCP
 * arrives at a deadline rather than before it. */
#define MARGIN_MS 80
/* But never more than one part in so many of the time left, so that short deadlines keep most of themselves. */
#define MARGIN_PARTS 4
/* Requests that may wait for their responses on one connection; one with more is not followed. A power of two. */
#define PIPELINE 8
/* Of a response of unknown length: how much is written between two announcements. */
#define STEP (1 << 16)

/* The operator's settings, for all connections. */
extern struct exchange_settings {
	char header[64];
	int64_t margin_ms;
} exchange_settings;

struct request {
	int64_t deadline_ns;	/* on the monotonic clock; 0 without one */
	bool head;
};

struct exchange {
	bool followed;
	struct parser in;
	struct parser out;
	struct request requests[PIPELINE];
	unsigned int first;
	unsigned int waiting;
	int64_t written;	/* bytes so far */
	int64_t announced;	/* up to this one */
	uint64_t tag;		/* of the present response */
};

/* Begins with a new connection. */
void exchange_start(struct exchange *e);

/* The program has read `size` bytes; `data` is NULL where they were discarded unseen. */
void exchange_read(struct exchange *e, const char *data, size_t size);

/* The program will write `size` bytes, of which the kernel may take fewer: announces responses of known length. `e` is
 * a copy for this; `in_kernel` is what had been written before. */
void exchange_write(int fd, struct exchange *e, const char *data, size_t size, int64_t in_kernel);

/* The program has written `size` bytes, of a file where `data` is NULL: announces responses of unknown length. */
void exchange_wrote(int fd, struct exchange *e, const char *data, size_t size);

/* The program writes no more: cancels what was announced beyond. */
void exchange_end(int fd, struct exchange *e);

#endif
