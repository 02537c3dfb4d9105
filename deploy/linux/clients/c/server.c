/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Answers each line "BYTES MILLISECONDS" with so many bytes, after an announcement of their deadline.
 *
 * server PORT (0: any) */
#include <d2tcp.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int listen_on(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (d2tcp_use(fd)) /* before listen, for ECN; without it the server serves all the same */
		fprintf(stderr, "not under D2TCP: %s\n", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&address, &length)) {
		perror("server");
		exit(1);
	}
	printf("listening %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static int write_all(int fd, int64_t bytes)
{
	static const char zeros[1 << 16];

	while (bytes > 0) {
		ssize_t written = write(fd, zeros, bytes < (int64_t)sizeof(zeros) ? (size_t)bytes : sizeof(zeros));

		if (written < 0)
			return -1;
		bytes -= written;
	}
	return 0;
}

/* The maximum size of a query, so that no sum overflows: the kernel's limit for one message. */
#define MAX_MS (D2TCP_MAX_DEADLINE_NS / 1000000)

static int reply(int fd, int64_t bytes, int64_t milliseconds)
{
	struct d2tcp_state state;

	if (d2tcp_send_deadline(fd, bytes, milliseconds * 1000000))
		printf("reply %" PRId64 " deadline not told: %s\n", bytes, strerror(errno));
	else
		printf("reply %" PRId64 " deadline told\n", bytes);
	if (write_all(fd, bytes))
		return -1;
	if (!d2tcp_get_state(fd, &state))
		printf("state messages=%" PRIu64 " alpha=%.3f d=%.3f cwnd=%u\n", (uint64_t)state.messages,
		       (double)state.alpha / D2TCP_ONE, (double)state.d / D2TCP_ONE, state.cwnd);
	fflush(stdout);
	return 0;
}

int main(int count, char **arguments)
{
	int listener = listen_on(count > 1 ? (uint16_t)atoi(arguments[1]) : 0);

	for (;;) {
		int fd = accept(listener, NULL, NULL);
		FILE *queries = fdopen(fd, "r");
		int64_t bytes, milliseconds;

		if (!queries)
			continue;
		while (fscanf(queries, "%15" SCNd64 " %15" SCNd64, &bytes, &milliseconds) == 2)
			if (bytes < 0 || bytes > D2TCP_MAX_BYTES || milliseconds < 0 || milliseconds > MAX_MS ||
			    reply(fd, bytes, milliseconds))
				break;
		fclose(queries);
	}
}
