/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Any requests and responses of a connection, in any pieces, with any answers of the kernel: each announcement is
 * within the kernel's limits. */
#include "exchange.h"
#include "input.h"

#include <d2tcp.h>

/* The kernel: checks each announcement, and answers by the fuzzer's bytes. */
static struct input *answers;

int setsockopt(int fd, int level, int option, const void *value, socklen_t length)
{
	static const int errors[] = { 0, 0, 0, ENOBUFS, EINVAL, ENOPROTOOPT, EOPNOTSUPP, EPERM };
	struct d2tcp_announcement told;

	CHECK(fd == 7 && level == D2TCP_LEVEL);
	if (option == D2TCP_CANCEL) {
		CHECK(length == sizeof(__u64));
	} else {
		CHECK(option == D2TCP_MESSAGE && length == sizeof(told));
		memcpy(&told, value, sizeof(told));
		/* A head in addition to the longest body may exceed the limit; the kernel refuses that. */
		CHECK(told.bytes >= 0 && told.bytes <= D2TCP_MAX_BYTES + PARSER_MAX_HEAD);
		CHECK(told.deadline_ns > 0 && told.deadline_ns <= D2TCP_MAX_DEADLINE_NS);
		CHECK(!told.flags && !told.reserved && told.tag);
	}
	errno = errors[take_byte(answers) % 8];
	return errno ? -1 : 0;
}

static void check(const struct exchange *e)
{
	CHECK(e->waiting <= PIPELINE && e->written >= 0 && e->announced >= 0);
	CHECK(e->in.left >= 0 && e->out.left >= 0);
}

/* Writes `size` bytes, of which the kernel accepts some, as the library does. */
static void write_some(struct exchange *e, const char *data, size_t size, size_t taken)
{
	struct exchange copy = *e;
	int64_t before = e->written;

	exchange_write(7, &copy, data, size, e->written);
	check(&copy);
	e->announced = copy.announced;
	e->followed = copy.followed;
	if (taken && e->followed)
		exchange_wrote(7, e, data, taken < size ? taken : size);
	CHECK(e->written >= before);
}

/* Operations: the first byte, then its arguments. A long run in one direction is one operation. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, data + size };
	struct exchange e;

	answers = &input;
	exchange_settings.margin_ms = (int64_t)take_magnitude(&input, 26);
	exchange_start(&e);
	while (input.at < input.end && e.followed) {
		uint8_t what = take_byte(&input);
		size_t length = take(&input, 2), given = length;
		char *bytes = NULL;

		switch (what % 8) {
		case 0:
		case 1:
		case 2:
			bytes = take_bytes(&input, &given);
			exchange_read(&e, bytes, given);
			break;
		case 3:
		case 4:
		case 5:
			bytes = take_bytes(&input, &given);
			write_some(&e, bytes, given, what & 0x80 ? take(&input, 2) : given);
			break;
		case 6:
			/* A file, and programs that state any number of written bytes. */
			exchange_wrote(7, &e, NULL, take_magnitude(&input, 64));
			break;
		default:
			exchange_read(&e, NULL, take_magnitude(&input, 64));
			break;
		}
		free(bytes);
		check(&e);
	}
	exchange_end(7, &e);
	CHECK(!e.followed);
	return 0;
}
