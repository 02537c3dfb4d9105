/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Asks for BYTES within MILLISECONDS, and counts the received bytes.
 *
 * client ADDRESS PORT BYTES MILLISECONDS */
#include <arpa/inet.h>
#include <d2tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	static char buffer[1 << 16];
	long bytes, received = 0;

	if (count != 5 || inet_pton(AF_INET, arguments[1], &address.sin_addr) != 1) {
		fprintf(stderr, "client ADDRESS PORT BYTES MILLISECONDS\n");
		return 2;
	}
	address.sin_port = htons((uint16_t)atoi(arguments[2]));
	bytes = atol(arguments[3]);
	if (d2tcp_use(fd)) /* both ends, or ECN is not negotiated */
		fprintf(stderr, "not under D2TCP: %s\n", strerror(errno));
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    dprintf(fd, "%ld %s\n", bytes, arguments[4]) < 0) {
		perror("client");
		return 1;
	}
	while (received < bytes) {
		ssize_t got = read(fd, buffer, sizeof(buffer));

		if (got <= 0) {
			fprintf(stderr, "client: the reply ended after %ld of %ld bytes\n", received, bytes);
			return 1;
		}
		received += got;
	}
	printf("received %ld\n", received);
	return 0;
}
