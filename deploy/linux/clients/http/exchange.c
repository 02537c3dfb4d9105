/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#define _GNU_SOURCE
#include "exchange.h"

#include <d2tcp.h>
#include <time.h>

#define MS 1000000LL

_Static_assert(PARSER_MAX_LENGTH == D2TCP_MAX_BYTES, "what the kernel takes as one message");
_Static_assert(PARSER_MAX_DEADLINE_MS * MS == D2TCP_MAX_DEADLINE_NS, "and as a deadline");

struct exchange_settings exchange_settings = { "X-Deadline-Ms", MARGIN_MS };

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void restart(struct parser *p, bool response)
{
	parser_start(p, response, exchange_settings.header);
}

void exchange_start(struct exchange *e)
{
	restart(&e->in, false);
	restart(&e->out, true);
	e->first = e->waiting = 0;
	e->written = e->announced = 0;
	e->tag = 1;
	e->followed = true;
}

/* Announces that so many bytes, or the written ones for 0, belong to the response to `request`. Returns true if the
 * kernel accepts it. If the kernel accepts no deadlines, the connection is no longer followed. */
static bool announce(int fd, struct exchange *e, const struct request *request, int64_t bytes)
{
	int64_t left = request->deadline_ns - now(), margin = exchange_settings.margin_ms * MS;

	if (left <= 0)
		return false;
	if (margin > left / MARGIN_PARTS)
		margin = left / MARGIN_PARTS;
	if (d2tcp_announce(fd, bytes, left - margin, e->tag, 0) == 0)
		return true;
	if (errno == ENOPROTOOPT || errno == EOPNOTSUPP)
		e->followed = false;
	if (errno != ENOBUFS)
		return false;
	/* Too many parts of one response: merge them into one. */
	d2tcp_cancel(fd, e->tag);
	return d2tcp_announce(fd, bytes, left - margin, e->tag, 0) == 0;
}

void exchange_read(struct exchange *e, const char *data, size_t size)
{
	size_t at = 0;

	while (e->followed && at < size) {
		size_t used;
		enum parser_event event = parser_read(&e->in, data ? data + at : NULL, size - at, &used);

		at += used;
		if (event == PARSER_HEAD_ENDS) {
			int64_t ms = e->in.deadline_ms;
			struct request *request = &e->requests[(e->first + e->waiting) % PIPELINE];

			if (e->waiting == PIPELINE) {
				e->followed = false;
				return;
			}
			e->waiting++;
			request->deadline_ns = ms ? now() + ms * MS : 0;
			request->head = e->in.bodiless;
			/* A request without a body ends here as well. */
			event = parser_read(&e->in, NULL, 0, &used);
		}
		if (event == PARSER_MESSAGE_ENDS)
			restart(&e->in, false);
		if (event == PARSER_NOT_HTTP)
			e->followed = false;
	}
}

/* Adds to a position in the stream. A connection whose positions overflow is no longer followed. */
static bool advance(struct exchange *e, int64_t from, int64_t bytes, int64_t *to)
{
	int64_t sum;

	if (__builtin_add_overflow(from, bytes, &sum)) {
		e->followed = false;
		return false;
	}
	*to = sum;
	return true;
}

static bool is_unsized(const struct parser *p)
{
	return p->where != PARSER_HEAD && p->where != PARSER_SIZED;
}

/* Follows a program's bytes through its responses. Before they are written, `in_kernel` is the number of bytes before
 * them, and responses of known length are announced. Afterwards it is negative, and other responses are announced as
 * far as they were written. */
static void respond(int fd, struct exchange *e, const char *data, size_t size, int64_t in_kernel)
{
	size_t at = 0;

	/* A response without a body ends without another byte. */
	while (e->followed && (at < size || (e->out.where == PARSER_SIZED && !e->out.left))) {
		struct request *request = &e->requests[e->first % PIPELINE];
		enum parser_event event;
		size_t used;

		if (!e->waiting) {
			/* There is no request for this response. */
			e->followed = false;
			return;
		}
		if (!e->out.begun)
			e->out.bodiless = request->head;
		event = parser_read(&e->out, data ? data + at : NULL, size - at, &used);
		at += used;
		if (used > INT64_MAX || !advance(e, e->written, used, &e->written) || event == PARSER_NOT_HTTP) {
			e->followed = false;
			return;
		}
		if (in_kernel >= 0 && event == PARSER_HEAD_ENDS && e->out.where == PARSER_SIZED && e->out.status >= 200) {
			int64_t end, from = e->announced > in_kernel ? e->announced : in_kernel;

			if (!advance(e, e->written, e->out.left, &end))
				return;
			if (request->deadline_ns && end > from && announce(fd, e, request, end - from))
				e->announced = end;
		}
		if (in_kernel < 0 && request->deadline_ns && is_unsized(&e->out) &&
		    (event == PARSER_MESSAGE_ENDS || e->written - e->announced >= STEP) && announce(fd, e, request, 0))
			e->announced = e->written;
		if (event == PARSER_MESSAGE_ENDS) {
			if (e->out.status >= 200)
				e->first++, e->waiting--, e->tag++;
			restart(&e->out, true);
		}
	}
}

void exchange_write(int fd, struct exchange *e, const char *data, size_t size, int64_t in_kernel)
{
	respond(fd, e, data, size, in_kernel);
}

void exchange_wrote(int fd, struct exchange *e, const char *data, size_t size)
{
	respond(fd, e, data, size, -1);
}

void exchange_end(int fd, struct exchange *e)
{
	if (e->announced > e->written)
		d2tcp_cancel(fd, 0);
	e->followed = false;
}
