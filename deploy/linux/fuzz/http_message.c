/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Any bytes as HTTP messages: the parser does not read beyond them, and the ends of messages do not depend on the
 * pieces in which they are read. */
#include "input.h"
#include "parser.h"

/* The parser's results for a stream: the events, their positions, and its state at each. */
struct trace {
	uint64_t hash;
	size_t at;
	bool is_over;
};

static void note(struct trace *trace, uint64_t value)
{
	trace->hash = (trace->hash ^ value) * 0x9e3779b97f4a7c15ull;
	trace->hash ^= trace->hash >> 29;
}

static void check(const struct parser *p)
{
	CHECK(p->left >= 0 && p->left <= PARSER_MAX_LENGTH + 2);
	CHECK(p->length >= -1 && p->length <= PARSER_MAX_LENGTH);
	CHECK(p->deadline_ms >= 0 && p->deadline_ms <= PARSER_MAX_DEADLINE_MS);
	CHECK(p->filled < PARSER_LINE && p->head <= PARSER_MAX_HEAD + 1);
	CHECK(!p->response || !p->begun || p->status <= 999);
}

/* A body may be skipped unseen, in steps of any size. */
static void skip(const struct parser *parser)
{
	struct parser p = *parser;
	int64_t left = p.left;
	size_t used;

	CHECK(parser_read(&p, NULL, SIZE_MAX, &used) == (p.where == PARSER_SIZED ? PARSER_MESSAGE_ENDS : PARSER_NOT_HTTP));
	CHECK(used == (size_t)left && !p.left);
}

/* Reads one piece, with all messages in it. */
static void read_piece(struct trace *trace, struct parser *p, bool response, const char *data, size_t size)
{
	size_t at = 0, used;

	while (!trace->is_over && (at < size || (p->where == PARSER_SIZED && !p->left))) {
		enum parser_event event = parser_read(p, data + at, size - at, &used);

		CHECK(used <= size - at && (event != PARSER_MORE || used == size - at));
		check(p);
		at += used;
		trace->at += used;
		if (event == PARSER_MORE)
			continue;
		note(trace, event);
		note(trace, trace->at);
		if (event == PARSER_HEAD_ENDS) {
			note(trace, p->where);
			note(trace, (uint64_t)p->length);
			note(trace, (uint64_t)p->deadline_ms);
		}
		if (p->where == PARSER_SIZED || (p->where == PARSER_CHUNK && p->left))
			skip(p);
		trace->is_over = event == PARSER_NOT_HTTP;
		if (event == PARSER_MESSAGE_ENDS)
			parser_start(p, response, "X-Deadline-Ms");
	}
}

static struct trace read_all(struct input input, bool response, bool bodiless, bool whole)
{
	struct trace trace = { 0 };
	struct input pieces = input;
	struct parser p;

	parser_start(&p, response, "X-Deadline-Ms");
	p.bodiless = bodiless;
	while (input.at < input.end) {
		/* The sizes of pieces are taken from the same bytes, so that inputs stay readable. */
		size_t size = whole ? SIZE_MAX : 1 + take_byte(&pieces) % 23;
		char *data = take_bytes(&input, &size);

		read_piece(&trace, &p, response, data, size);
		free(data);
	}
	note(&trace, p.where);
	note(&trace, (uint64_t)p.left);
	return trace;
}

/* The first byte selects requests or responses. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, data + size };
	uint8_t side = take_byte(&input);
	bool response = side & 1, bodiless = response && side & 2;
	struct trace whole = read_all(input, response, bodiless, true);
	struct trace pieces = read_all(input, response, bodiless, false);

	CHECK(whole.is_over == pieces.is_over && whole.at == pieces.at && whole.hash == pieces.hash);
	return 0;
}
