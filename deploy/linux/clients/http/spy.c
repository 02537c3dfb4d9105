/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* For tests without D2TCP: receives the announcements of libd2tcp-http.so in place of the kernel. It writes a line for
 * each to the descriptor in SPY: "announce FD BYTES MILLISECONDS TAG" or "cancel FD TAG". */
#define _GNU_SOURCE
#include <d2tcp.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	static int (*real)(int, int, int, const void *, socklen_t);

	if (!real)
		real = (int (*)(int, int, int, const void *, socklen_t))dlsym(RTLD_NEXT, "setsockopt");
	if (level != D2TCP_LEVEL)
		return real(fd, level, option, value, length);
	if (option == D2TCP_MESSAGE) {
		const struct d2tcp_announcement *told = value;

		dprintf(atoi(getenv("SPY")), "announce %d %lld %lld %llu\n", fd, (long long)told->bytes,
			(long long)told->deadline_ns / 1000000, (unsigned long long)told->tag);
	} else {
		dprintf(atoi(getenv("SPY")), "cancel %d %llu\n", fd, *(const unsigned long long *)value);
	}
	return 0;
}
