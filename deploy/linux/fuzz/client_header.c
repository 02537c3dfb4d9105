/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The functions of d2tcp.h with any answer of the kernel: they neither write nor count beyond the room given. */
#include "input.h"

#include <d2tcp.h>

static struct input *answers;

int getsockopt(int fd, int level, int option, void *value, socklen_t *length)
{
	size_t room = *length, filled = take_byte(answers) % (room + 1), i;

	CHECK(fd == 7 && level == D2TCP_LEVEL && (option == D2TCP_STATE || option == D2TCP_OUTCOMES));
	if (take_byte(answers) % 4 == 0) {
		errno = ENOPROTOOPT;
		return -1;
	}
	for (i = 0; i < filled; i++)
		((uint8_t *)value)[i] = take_byte(answers);
	*length = (socklen_t)filled;
	return 0;
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	char copy[32];

	CHECK(fd == 7 && (level == D2TCP_LEVEL || level == 6) && length <= sizeof(copy));
	memcpy(copy, value, length);
	CHECK(option == D2TCP_CANCEL ? length == 8 : option == 13 ? length == 5 : length == 16 || length == 32);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, data + size };
	int most = take_byte(&input) % (D2TCP_OUTCOMES_KEPT + 1), got;
	struct d2tcp_outcome *outcomes = malloc(sizeof(*outcomes) * (size_t)most);
	struct d2tcp_state *state = malloc(sizeof(*state));

	answers = &input;
	memset(outcomes, 0, sizeof(*outcomes) * (size_t)most);
	got = most ? d2tcp_get_outcomes(7, outcomes, most) : 0;
	CHECK(got >= -1 && got <= most);
	got = d2tcp_get_state(7, state);
	CHECK(got == 0 || got == -1);
	CHECK(!d2tcp_send_deadline(7, (int64_t)take(&input, 8), (int64_t)take(&input, 8)));
	CHECK(!d2tcp_announce(7, (int64_t)take(&input, 8), (int64_t)take(&input, 8), take(&input, 8), 1));
	CHECK(!d2tcp_cancel(7, take(&input, 8)) && !d2tcp_use(7));
	free(outcomes);
	free(state);
	return 0;
}
