/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The requests and responses of one connection of a server, and their announcements to the kernel. */
#ifndef D2TCP_HTTP_EXCHANGE_H
#define D2TCP_HTTP_EXCHANGE_H

#include "parser.h"

/* The time subtracted from the client's deadline. The client's time begins before its request is sent, and ends when it
 * has read the last byte. The kernel's ends when it knows that the last byte has been received. Also, D2TCP completes a
 * message at its deadline rather than before it. */
#define MARGIN_MS 80
/* The margin is at most one part in so many of the time left, so that short deadlines stay useful. */
#define MARGIN_PARTS 4
/* The maximum number of pipelined requests; a connection with more is not followed. A power of two. */
#define PIPELINE 8
/* The bytes between two announcements for a response of unknown length. */
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

/* Starts to follow a new connection. */
void exchange_start(struct exchange *e);

/* The program has read `size` bytes; `data` is NULL if they were discarded unseen. */
void exchange_read(struct exchange *e, const char *data, size_t size);

/* The program will write `size` bytes, of which the kernel may accept fewer: announces responses of known length. `e`
 * is a copy for this purpose; `in_kernel` is the number of bytes written before. */
void exchange_write(int fd, struct exchange *e, const char *data, size_t size, int64_t in_kernel);

/* The program has written `size` bytes, of a file if `data` is NULL: announces responses of unknown length. */
void exchange_wrote(int fd, struct exchange *e, const char *data, size_t size);

/* The program stops writing: cancels announcements of unwritten bytes. */
void exchange_end(int fd, struct exchange *e);

#endif
