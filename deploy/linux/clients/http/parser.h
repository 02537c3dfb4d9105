/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Finds the boundaries of HTTP/1.1 messages, and reads the few fields that deadlines need.
 *
 * Bytes are read in pieces of any size. It allocates no memory and calls no system function, so that it compiles
 * alone for deploy/linux/fuzz. A message whose boundaries are uncertain is PARSER_NOT_HTTP: a wrong announcement is worse
 * than none. */
#ifndef D2TCP_HTTP_PARSER_H
#define D2TCP_HTTP_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The stored bytes of a line: a name, a colon and a number. The rest of a longer line is skipped. */
#define PARSER_LINE 96
/* The maximum size of a head, in bytes; servers have lower limits. */
#define PARSER_MAX_HEAD (1 << 16)
/* The maximum size of a body and of a chunk, in bytes: the kernel's limit for one message (D2TCP_MAX_BYTES). Messages
 * with a larger stated length are not announced. With this limit, no sum of lengths can overflow. */
#define PARSER_MAX_LENGTH (1LL << 40)
/* The maximum deadline: a day (D2TCP_MAX_DEADLINE_NS). Longer ones are ignored. */
#define PARSER_MAX_DEADLINE_MS 86400000LL

/* One message, request or response, from its first line to its end. */
struct parser {
	enum { PARSER_HEAD, PARSER_SIZED, PARSER_CHUNK_LINE, PARSER_CHUNK, PARSER_TRAILER, PARSER_UNTIL_CLOSE } where;
	bool response;
	bool bodiless;		/* a request by HEAD, or the response to one */
	bool coded;		/* it has a Transfer-Encoding, */
	bool chunked;		/* whose last coding is chunked */
	bool begun;		/* its first line has been read */
	bool after_cr;		/* the last byte was a CR */
	bool cut;		/* the present line is longer than `line` */
	int status;
	int64_t length;		/* Content-Length; -1 without one */
	int64_t deadline_ms;	/* 0 without one */
	int64_t left;		/* of the body, or of the chunk and its line end */
	uint32_t head;		/* bytes of the head so far */
	uint32_t filled;	/* bytes of `line` */
	const char *deadline_name;
	char line[PARSER_LINE];
};

enum parser_event { PARSER_MORE, PARSER_HEAD_ENDS, PARSER_MESSAGE_ENDS, PARSER_NOT_HTTP };

/* Begins a message. A request's deadline is in the header field `deadline_name`, which must outlive the parser. */
void parser_start(struct parser *p, bool response, const char *deadline_name);

/* Reads `size` bytes of `data`, or, where that is NULL, unseen bytes of a body. Stops after a head, after a message,
 * and at bytes that are not HTTP. Sets `used` to the number of bytes read: all of them for PARSER_MORE. */
enum parser_event parser_read(struct parser *p, const char *data, size_t size, size_t *used);

/* Returns the decimal number in `text`, which may have blanks around it. Returns -1 if there is none, or if it is above
 * `max`, which is at most INT64_MAX / 16. */
int64_t parser_number(const char *text, int64_t max);

#endif
