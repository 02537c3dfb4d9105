/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Deadlines for the replies of an unchanged HTTP/1.1 server:
 *
 *     LD_PRELOAD=/usr/lib/d2tcp/libd2tcp-http.so nginx
 *
 * It follows the bytes that a program reads and writes on the connections that it has accepted. A request with the
 * header `X-Deadline-Ms: 500` gives its response 500 ms from the reading of its head, less a margin. A response with
 * Content-Length is announced right before its head is written. Chunked responses, and responses that end with the
 * connection, are announced in steps as they are written. If a connection is closed before its response is complete,
 * the announcements are cancelled.
 *
 * Other protocols (TLS within the program, HTTP/2, WebSocket) are ignored from their first bytes on, and so are
 * requests without the header. A connection is ignored, too, if its messages cannot be followed for certain, or if
 * they state a length above PARSER_MAX_LENGTH. No call of the program fails because of this library: its own errors
 * are dropped, and errno is preserved.
 *
 *     D2TCP_HTTP_HEADER      name of the header, X-Deadline-Ms if not set
 *     D2TCP_HTTP_MARGIN_MS   the margin instead of MARGIN_MS
 */
#define _GNU_SOURCE
#include "exchange.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct connection {
	atomic_flag busy;
	atomic_bool followed;	/* `exchange` is followed; changed under the lock */
	struct exchange exchange;
};

/* Connections by descriptor, in pages allocated on demand. */
#define PAGE 64
#define PAGES (1 << 14)
static struct connection *_Atomic pages[PAGES];

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
	const char *name = getenv("D2TCP_HTTP_HEADER"), *text = getenv("D2TCP_HTTP_MARGIN_MS");
	int64_t margin = text ? parser_number(text, PARSER_MAX_DEADLINE_MS) : -1;

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
	if (name && *name && strlen(name) < sizeof(exchange_settings.header))
		strcpy(exchange_settings.header, name);
	if (margin >= 0)
		exchange_settings.margin_ms = margin;
}

/* Other libraries may call these functions before our constructor has run. */
#define CALL(name, ...) ((real_##name ? (void)0 : begin()), real_##name(__VA_ARGS__))

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
	c->followed = c->exchange.followed;
	atomic_flag_clear_explicit(&c->busy, memory_order_release);
}

/* Returns a followed connection, locked; NULL for other descriptors. */
static struct connection *followed(int fd)
{
	struct connection *c = find(fd);

	if (!c || !c->followed)
		return NULL;
	lock(c);
	if (c->exchange.followed)
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
		exchange_start(&c->exchange);
		unlock(c);
	}
	errno = saved;
}

/* Follows bytes that a program has read; `data` is NULL if they were discarded. */
static void heard(int fd, const char *data, ssize_t size)
{
	struct connection *c = size > 0 ? followed(fd) : NULL;
	int saved = errno;

	if (!c)
		return;
	exchange_read(&c->exchange, data, (size_t)size);
	unlock(c);
	errno = saved;
}

/* Follows bytes before they are written, on a copy, since the kernel may accept fewer bytes. */
static void before(int fd, const struct iovec *parts, size_t count)
{
	int saved = errno;
	struct connection *c = followed(fd);
	struct exchange copy;
	size_t i;

	if (!c)
		return;
	copy = c->exchange;
	for (i = 0; i < count; i++)
		exchange_write(fd, &copy, parts[i].iov_base, parts[i].iov_len, c->exchange.written);
	c->exchange.announced = copy.announced;
	c->exchange.followed = copy.followed;
	unlock(c);
	errno = saved;
}

/* Follows the bytes of `parts`, or of a file, that the kernel has accepted. */
static void after(int fd, const struct iovec *parts, ssize_t size)
{
	int saved = errno;
	struct connection *c = size > 0 ? followed(fd) : NULL;

	if (!c)
		return;
	for (; parts && size > 0; parts++) {
		size_t length = parts->iov_len < (size_t)size ? parts->iov_len : (size_t)size;

		exchange_wrote(fd, &c->exchange, parts->iov_base, length);
		size -= (ssize_t)length;
	}
	if (size > 0)
		exchange_wrote(fd, &c->exchange, NULL, (size_t)size);
	unlock(c);
	errno = saved;
}

/* Handles the end of a program's writing: announced, unwritten bytes will never be written. */
static void over(int fd)
{
	int saved = errno;
	struct connection *c = followed(fd);

	if (!c)
		return;
	exchange_end(fd, &c->exchange);
	unlock(c);
	errno = saved;
}

/* --- The functions that programs call. No other name is exported, since it could replace a program's own */

#pragma GCC visibility push(default)

/* Flags of reads that leave the data in place, or whose data is not part of the stream. */
#define ASIDE (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE)
/* With MSG_TRUNC, TCP discards the data instead of copying it. */

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

	if (!(flags & ASIDE))
		heard(fd, flags & MSG_TRUNC ? NULL : room, got);
	return got;
}

ssize_t recvfrom(int fd, void *room, size_t size, int flags, struct sockaddr *address, socklen_t *length)
{
	ssize_t got = CALL(recvfrom, fd, room, size, flags, address, length);

	if (!(flags & ASIDE))
		heard(fd, flags & MSG_TRUNC ? NULL : room, got);
	return got;
}

/* The variants that programs compiled with checks call. */
ssize_t __read_chk(int fd, void *room, size_t size, size_t most);
ssize_t __recv_chk(int fd, void *room, size_t size, size_t most, int flags);
ssize_t __recvfrom_chk(int fd, void *room, size_t size, size_t most, int flags, struct sockaddr *address,
		       socklen_t *length);

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

ssize_t __recvfrom_chk(int fd, void *room, size_t size, size_t most, int flags, struct sockaddr *address,
		       socklen_t *length)
{
	if (size > most)
		abort();
	return recvfrom(fd, room, size, flags, address, length);
}

static void heard_parts(int fd, const struct iovec *parts, ssize_t got)
{
	for (; got > 0; parts++) {
		size_t length = parts->iov_len < (size_t)got ? parts->iov_len : (size_t)got;

		heard(fd, parts->iov_base, (ssize_t)length);
		got -= (ssize_t)length;
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

	if (got <= 0 || flags & ASIDE)
		return got;
	if (flags & MSG_TRUNC)
		heard(fd, NULL, got);
	else
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

#pragma GCC visibility pop
