/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Choices from the bytes of a fuzzer; zeros when they are used up. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct input {
	const uint8_t *at, *end;
};

/* Stops with a finding, which the fuzzer stores. */
#define CHECK(holds) ((holds) ? (void)0 : check_failed(#holds, __FILE__, __LINE__))

static inline void check_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, what);
	abort();
}

static inline uint8_t take_byte(struct input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

static inline uint64_t take(struct input *input, size_t bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | take_byte(input);
	return value;
}

/* Returns a number below 2^`bits`. The number of its bits is chosen first, so that all magnitudes occur. */
static inline uint64_t take_magnitude(struct input *input, unsigned int bits)
{
	unsigned int used = take_byte(input) % (bits + 1);
	uint64_t value = take(input, (used + 7) / 8);

	return used == 64 ? value : value & ((1ull << used) - 1);
}

/* Returns a copy of the next `size` bytes, or of the rest, without readable memory after it. */
static inline char *take_bytes(struct input *input, size_t *size)
{
	char *copy;

	if (*size > (size_t)(input->end - input->at))
		*size = (size_t)(input->end - input->at);
	copy = malloc(*size);
	if (*size)
		memcpy(copy, input->at, *size);
	input->at += *size;
	return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
