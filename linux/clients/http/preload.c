/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Deadlines for the replies of an HTTP/1.1 server that knows nothing of them:
 *
 *     LD_PRELOAD=/usr/lib/d2tcp/libd2tcp-http.so nginx
 *
 * Follows what a program reads from and writes to the connections that it has accepted. A request with the header
 * `X-Deadline-Ms: 500` gives its response 500 ms from when its head was read, less a margin. When the response's head
 * is written, its length is known from Content-Length and the kernel is told, right before the bytes go; chunked
 * responses, and those that end with the connection, are told by and by as they are written. A connection that is
 * closed before its response is complete is cancelled.
 *
 * What is not HTTP/1.1 (TLS within the program, HTTP/2, WebSocket) is left alone from its first bytes on, and so are
 * requests without the header. Nothing that the program does fails for this: errors of our own are dropped, errno is
 * kept.
 *
 *     D2TCP_HTTP_HEADER      name of the header, X-Deadline-Ms if not set
 *     D2TCP_HTTP_MARGIN_MS   instead of MARGIN_MS
 */
#define _GNU_SOURCE
#include <d2tcp.h>

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* What is taken off the client's deadline before the kernel is told of it. The client counts from before its request
 * was sent until it has read the last byte, the kernel until it knows that the last byte has arrived, and D2TCP
 * arrives at a deadline rather than before it. */
#define MARGIN_MS 80
/* But never more than one part in so many of the time left, so that short deadlines keep most of themselves. */
#define MARGIN_PARTS 4

/* As much of a header line as is looked at: name, colon and a number. */
#define LINE 96
/* A head that is longer is none. */
#define LONGEST_HEAD (1 << 16)
/* Requests that may wait for their responses on one connection; those of before are forgotten. */
#define PIPELINE 8
/* Of a response of unknown length: how much is written between two announcements. */
#define STEP (1 << 16)
#define MS 1000000LL
/* A day. */
#define LONGEST_MS 86400000LL

/* One message, request or response, from its first line to its end. */
struct parser {
	enum { HEAD, SIZED, CHUNK_LINE, CHUNK, TRAILER, UNTIL_CLOSE } where;
	bool response;
	bool bodiless;		/* a response to HEAD */
	bool chunked;
	bool begun;		/* its first line has been read */
	int status;
	int64_t length;		/* Content-Length; -1 without one */
	int64_t deadline_ms;	/* 0 without one */
	int64_t left;		/* of the body, or of the chunk and its line end */
	uint32_t head;		/* its bytes so far */
	uint32_t filled;
	char line[LINE];
};

/* What parse() came to. */
enum event { MORE, HEAD_ENDS, MESSAGE_ENDS, NOT_HTTP };

struct request {
	int64_t deadline_ns;	/* on the monotonic clock; 0 without one */
	bool head;
};

struct connection {
	atomic_flag busy;
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

/* By descriptor, in pages that are made when they are needed. */
#define PAGE 64
#define PAGES (1 << 14)
static struct connection *_Atomic pages[PAGES];

static char header[64] = "X-Deadline-Ms";
static int64_t margin_ms = MARGIN_MS;

#define REAL(name) static __typeof__(&name) real_##name
REAL(accept);
REAL(accept4);
REAL(read);
REAL(readv);
REAL(recv);
REAL(recvfrom);
REAL(recvmsg);
REAL(write);
REAL(writev);
REAL(send);
REAL(sendto);
REAL(sendmsg);
REAL(sendfile);
REAL(sendfile64);
REAL(shutdown);
REAL(close);

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("D2TCP_HTTP_HEADER"), *margin = getenv("D2TCP_HTTP_MARGIN_MS");

#define FIND(name) real_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
	FIND(accept);
	FIND(accept4);
	FIND(read);
	FIND(readv);
	FIND(recv);
	FIND(recvfrom);
	FIND(recvmsg);
	FIND(write);
	FIND(writev);
	FIND(send);
	FIND(sendto);
	FIND(sendmsg);
	FIND(sendfile);
	FIND(sendfile64);
	FIND(shutdown);
	FIND(close);
	if (name && *name && strlen(name) < sizeof(header))
		strcpy(header, name);
	if (margin && *margin)
		margin_ms = atoll(margin);
}

/* Others may call us before our constructor has run. */
#define CALL(name, ...) ((real_##name ? (void)0 : begin()), real_##name(__VA_ARGS__))

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 * MS + time.tv_nsec;
}

/* --- Messages */

static void restart(struct parser *p, bool response)
{
	memset(p, 0, offsetof(struct parser, line));
	p->response = response;
	p->length = -1;
}

/* The number after a line's name and colon; -1 if there is none. */
static int64_t number(const char *text)
{
	char *end;
	long long value;

	while (*text == ' ' || *text == '\t')
		text++;
	if (*text < '0' || *text > '9')
		return -1;
	value = strtoll(text, &end, 10);
	while (*end == ' ' || *end == '\t')
		end++;
	return *end ? -1 : value;
}

static const char *value_of(const char *line, const char *name)
{
	size_t length = strlen(name);

	return !strncasecmp(line, name, length) && line[length] == ':' ? line + length + 1 : NULL;
}

/* A line of a head, without its end. */
static enum event head_line(struct parser *p)
{
	const char *line = p->line, *value;

	if (!p->begun) {
		/* Empty lines before a request are allowed. */
		if (!*line && !p->response)
			return MORE;
		p->begun = true;
		if (p->response) {
			if (strncmp(line, "HTTP/1.", 7) || strlen(line) < 12)
				return NOT_HTTP;
			p->status = atoi(line + 9);
			return p->status == 101 ? NOT_HTTP : MORE;
		}
		if (!strncmp(line, "PRI ", 4) || !strncmp(line, "CONNECT ", 8) || !strchr(line, ' '))
			return NOT_HTTP;
		p->bodiless = !strncmp(line, "HEAD ", 5);
		return MORE;
	}
	if (*line) {
		if ((value = value_of(line, "Content-Length")))
			p->length = number(value);
		else if ((value = value_of(line, "Transfer-Encoding")))
			p->chunked = strcasestr(value, "chunked");
		else if (!p->response && (value = value_of(line, header)))
			p->deadline_ms = number(value);
		return MORE;
	}
	if (p->response && (p->bodiless || p->status < 200 || p->status == 204 || p->status == 304))
		p->length = 0, p->chunked = false;
	if (p->chunked)
		p->where = CHUNK_LINE;
	else if (p->length >= 0 || !p->response)
		p->where = SIZED, p->left = p->length > 0 ? p->length : 0;
	else
		p->where = UNTIL_CLOSE;
	return HEAD_ENDS;
}

/* Reads on, from `data` or, if that is not given, over a body's bytes; says how far it came. Stops after a head and
 * after a message. */
static enum event parse(struct parser *p, const char *data, size_t size, size_t *used)
{
	*used = 0;
	for (;;) {
		enum event event = MORE;
		char byte;

		if (p->where == SIZED && !p->left)
			return MESSAGE_ENDS;
		if (p->where == CHUNK && !p->left)
			p->where = CHUNK_LINE;
		if (*used == size)
			return MORE;
		if (p->where == UNTIL_CLOSE) {
			*used = size;
			return MORE;
		}
		if (p->where == SIZED || p->where == CHUNK) {
			size_t step = size - *used;

			if ((int64_t)step > p->left)
				step = p->left;
			p->left -= step;
			*used += step;
			continue;
		}
		if (!data)
			return NOT_HTTP;
		byte = data[(*used)++];
		if (p->where == HEAD && ++p->head > LONGEST_HEAD)
			return NOT_HTTP;
		/* TLS and the like do not wait for the end of a line. */
		if (!p->begun && !p->filled && byte != '\r' && byte != '\n' && (byte < 'A' || byte > 'Z'))
			return NOT_HTTP;
		if (byte != '\n') {
			if (byte != '\r' && p->filled < LINE - 1)
				p->line[p->filled++] = byte;
			continue;
		}
		p->line[p->filled] = 0;
		p->filled = 0;
		if (p->where == HEAD) {
			event = head_line(p);
		} else if (p->where == CHUNK_LINE) {
			char *end;
			int64_t length = strtoll(p->line, &end, 16);

			if (end == p->line || length < 0)
				return NOT_HTTP;
			if (length)
				p->where = CHUNK, p->left = length + 2;
			else
				p->where = TRAILER;
		} else if (!p->line[0]) {
			return MESSAGE_ENDS;
		}
		if (event != MORE)
			return event;
	}
}

/* --- Connections */

static struct connection *find(int fd)
{
	struct connection *page;

	if (fd < 0 || fd >= PAGE * PAGES)
		return NULL;
	page = atomic_load_explicit(&pages[fd / PAGE], memory_order_acquire);
	return page ? &page[fd % PAGE] : NULL;
}

static void lock(struct connection *c)
{
	while (atomic_flag_test_and_set_explicit(&c->busy, memory_order_acquire))
		sched_yield();
}

static void unlock(struct connection *c)
{
	atomic_flag_clear_explicit(&c->busy, memory_order_release);
}

/* A connection that is followed, locked; nothing for other descriptors. */
static struct connection *followed(int fd)
{
	struct connection *c = find(fd);

	if (!c || !c->followed)
		return NULL;
	lock(c);
	if (c->followed)
		return c;
	unlock(c);
	return NULL;
}

static void follow(int fd)
{
	int saved = errno;
	struct connection *c, *page, *expected = NULL;

	if (fd < 0 || fd >= PAGE * PAGES)
		return;
	if (!find(fd)) {
		page = calloc(PAGE, sizeof(*page));
		if (page && !atomic_compare_exchange_strong(&pages[fd / PAGE], &expected, page))
			free(page);
	}
	c = find(fd);
	if (c) {
		lock(c);
		restart(&c->in, false);
		restart(&c->out, true);
		c->waiting = 0;
		c->written = c->announced = 0;
		c->tag = 1;
		c->followed = true;
		unlock(c);
	}
	errno = saved;
}

/* Tells the kernel that so many bytes (0: those that have been written) belong to the response to `request`; says
 * whether it knows now. Where it takes no deadlines the connection is not followed any more. */
static bool announce(int fd, struct connection *c, const struct request *request, int64_t bytes)
{
	int64_t left = request->deadline_ns - now(), margin = margin_ms * MS;

	if (left <= 0)
		return false;
	if (margin > left / MARGIN_PARTS)
		margin = left / MARGIN_PARTS;
	if (d2tcp_announce(fd, bytes, left - margin, c->tag, 0) == 0)
		return true;
	if (errno == ENOPROTOOPT || errno == EOPNOTSUPP)
		c->followed = false;
	if (errno != ENOBUFS)
		return false;
	/* Too many parts of one response: they become one. */
	d2tcp_cancel(fd, c->tag);
	return d2tcp_announce(fd, bytes, left - margin, c->tag, 0) == 0;
}

/* What a program has read. */
static void heard(int fd, const char *data, ssize_t size)
{
	struct connection *c = size > 0 ? followed(fd) : NULL;
	int saved = errno;
	size_t at = 0;

	if (!c)
		return;
	while (at < (size_t)size) {
		size_t used;
		enum event event = parse(&c->in, data + at, size - at, &used);

		at += used;
		if (event == HEAD_ENDS) {
			int64_t ms = c->in.deadline_ms;
			struct request *request;

			if (c->waiting == PIPELINE)
				c->first++, c->waiting--;
			request = &c->requests[(c->first + c->waiting++) % PIPELINE];
			request->deadline_ns = ms > 0 && ms <= LONGEST_MS ? now() + ms * MS : 0;
			request->head = c->in.bodiless;
			/* One without a body ends here as well. */
			event = parse(&c->in, NULL, 0, &used);
		}
		if (event == MESSAGE_ENDS)
			restart(&c->in, false);
		if (event == NOT_HTTP) {
			c->followed = false;
			break;
		}
	}
	unlock(c);
	errno = saved;
}

static bool is_unsized(const struct parser *p)
{
	return p->where != HEAD && p->where != SIZED;
}

/* Follows bytes of a program through its responses. Before they are written `in_kernel` says how many were before:
 * responses of a known length are announced. Afterwards it is negative: others are announced as far as they went. */
static void respond(int fd, struct connection *c, const char *data, size_t size, int64_t in_kernel)
{
	size_t at = 0;

	/* A response without a body ends without another byte. */
	while (c->followed && (at < size || (c->out.where == SIZED && !c->out.left))) {
		struct request *request = &c->requests[c->first % PIPELINE];
		enum event event;
		size_t used;

		if (!c->waiting) {
			/* Nobody has asked for this. */
			c->followed = false;
			return;
		}
		if (!c->out.begun)
			c->out.bodiless = request->head;
		event = parse(&c->out, data ? data + at : NULL, size - at, &used);
		at += used;
		c->written += used;
		if (event == NOT_HTTP) {
			c->followed = false;
			return;
		}
		if (in_kernel >= 0 && event == HEAD_ENDS && c->out.where == SIZED && c->out.status >= 200) {
			int64_t end = c->written + c->out.left, from = c->announced > in_kernel ? c->announced : in_kernel;

			if (request->deadline_ns && end > from && announce(fd, c, request, end - from))
				c->announced = end;
		}
		if (in_kernel < 0 && request->deadline_ns && is_unsized(&c->out) &&
		    (event == MESSAGE_ENDS || c->written >= c->announced + STEP) && announce(fd, c, request, 0))
			c->announced = c->written;
		if (event == MESSAGE_ENDS) {
			if (c->out.status >= 200)
				c->first++, c->waiting--, c->tag++;
			restart(&c->out, true);
		}
	}
}

/* Before a program writes, since the kernel may take fewer bytes, their meaning is followed on a copy. */
static void before(int fd, const struct iovec *parts, size_t count)
{
	int saved = errno;
	struct connection *c = followed(fd), copy;
	size_t i;

	if (!c)
		return;
	copy = *c;
	for (i = 0; i < count; i++)
		respond(fd, &copy, parts[i].iov_base, parts[i].iov_len, c->written);
	c->announced = copy.announced;
	c->followed = copy.followed;
	unlock(c);
	errno = saved;
}

/* After it: so many bytes of `parts`, or of a file. */
static void after(int fd, const struct iovec *parts, ssize_t size)
{
	int saved = errno;
	struct connection *c = size > 0 ? followed(fd) : NULL;

	if (!c)
		return;
	for (; parts && size > 0; parts++) {
		size_t length = parts->iov_len < (size_t)size ? parts->iov_len : (size_t)size;

		respond(fd, c, parts->iov_base, length, -1);
		size -= length;
	}
	if (size > 0)
		respond(fd, c, NULL, size, -1);
	unlock(c);
	errno = saved;
}

/* A program writes no more: what it has announced beyond will never come. */
static void over(int fd)
{
	int saved = errno;
	struct connection *c = followed(fd);

	if (!c)
		return;
	if (c->announced > c->written)
		d2tcp_cancel(fd, 0);
	c->followed = false;
	unlock(c);
	errno = saved;
}

/* --- What programs call */

int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	int got = CALL(accept, fd, address, length);

	follow(got);
	return got;
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	int got = CALL(accept4, fd, address, length, flags);

	follow(got);
	return got;
}

ssize_t read(int fd, void *room, size_t size)
{
	ssize_t got = CALL(read, fd, room, size);

	heard(fd, room, got);
	return got;
}

ssize_t recv(int fd, void *room, size_t size, int flags)
{
	ssize_t got = CALL(recv, fd, room, size, flags);

	if (!(flags & MSG_PEEK))
		heard(fd, room, got < (ssize_t)size ? got : (ssize_t)size);
	return got;
}

ssize_t recvfrom(int fd, void *room, size_t size, int flags, struct sockaddr *address, socklen_t *length)
{
	ssize_t got = CALL(recvfrom, fd, room, size, flags, address, length);

	if (!(flags & MSG_PEEK))
		heard(fd, room, got < (ssize_t)size ? got : (ssize_t)size);
	return got;
}

/* What programs that are compiled with checks call instead. */
ssize_t __read_chk(int fd, void *room, size_t size, size_t most);
ssize_t __recv_chk(int fd, void *room, size_t size, size_t most, int flags);

ssize_t __read_chk(int fd, void *room, size_t size, size_t most)
{
	if (size > most)
		abort();
	return read(fd, room, size);
}

ssize_t __recv_chk(int fd, void *room, size_t size, size_t most, int flags)
{
	if (size > most)
		abort();
	return recv(fd, room, size, flags);
}

static void heard_parts(int fd, const struct iovec *parts, ssize_t got)
{
	for (; got > 0; parts++) {
		ssize_t length = (ssize_t)parts->iov_len < got ? (ssize_t)parts->iov_len : got;

		heard(fd, parts->iov_base, length);
		got -= length;
	}
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
	ssize_t got = CALL(readv, fd, parts, count);

	heard_parts(fd, parts, got);
	return got;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t got = CALL(recvmsg, fd, message, flags);

	if (!(flags & (MSG_PEEK | MSG_TRUNC)))
		heard_parts(fd, message->msg_iov, got);
	return got;
}

ssize_t write(int fd, const void *data, size_t size)
{
	struct iovec part = { (void *)data, size };
	ssize_t done;

	before(fd, &part, 1);
	done = CALL(write, fd, data, size);
	after(fd, &part, done);
	return done;
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	struct iovec part = { (void *)data, size };
	ssize_t done;

	before(fd, &part, 1);
	done = CALL(send, fd, data, size, flags);
	after(fd, &part, done);
	return done;
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length)
{
	struct iovec part = { (void *)data, size };
	ssize_t done;

	before(fd, &part, 1);
	done = CALL(sendto, fd, data, size, flags, address, length);
	after(fd, &part, done);
	return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t done;

	before(fd, parts, count > 0 ? count : 0);
	done = CALL(writev, fd, parts, count);
	after(fd, parts, done);
	return done;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t done;

	before(fd, message->msg_iov, message->msg_iovlen);
	done = CALL(sendmsg, fd, message, flags);
	after(fd, message->msg_iov, done);
	return done;
}

ssize_t sendfile(int fd, int file, off_t *offset, size_t size)
{
	ssize_t done = CALL(sendfile, fd, file, offset, size);

	after(fd, NULL, done);
	return done;
}

ssize_t sendfile64(int fd, int file, off64_t *offset, size_t size)
{
	ssize_t done = CALL(sendfile64, fd, file, offset, size);

	after(fd, NULL, done);
	return done;
}

int shutdown(int fd, int how)
{
	if (how != SHUT_RD)
		over(fd);
	return CALL(shutdown, fd, how);
}

int close(int fd)
{
	over(fd);
	return CALL(close, fd);
}
