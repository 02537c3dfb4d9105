/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "parser.h"

#include <string.h>
#include <strings.h>

#define BLANKS " \t"

void parser_start(struct parser *p, bool response, const char *deadline_name)
{
	memset(p, 0, offsetof(struct parser, line));
	p->response = response;
	p->length = -1;
	p->deadline_name = deadline_name;
}

/* Reads digits at `*text`. Returns their number, or -1 if there are none or it is above `max`. */
static int64_t digits(const char **text, int base, int64_t max)
{
	const char *begin = *text;
	int64_t value = 0;

	for (;; (*text)++) {
		int digit, letter = **text | 0x20;

		if (**text >= '0' && **text <= '9')
			digit = **text - '0';
		else if (base == 16 && letter >= 'a' && letter <= 'f')
			digit = letter - 'a' + 10;
		else
			return *text > begin ? value : -1;
		/* The limit is checked at each digit, so the value stays below 16 times the limit. */
		value = value * base + digit;
		if (value > max)
			return -1;
	}
}

int64_t parser_number(const char *text, int64_t max)
{
	int64_t value;

	text += strspn(text, BLANKS);
	value = digits(&text, 10, max);
	return text[strspn(text, BLANKS)] ? -1 : value;
}

/* Returns the length in a chunk's first line (RFC 9112 7.1); -1 if it is invalid, or not completely stored. */
static int64_t chunk_length(const struct parser *p)
{
	const char *text = p->line;
	int64_t length = digits(&text, 16, PARSER_MAX_LENGTH);

	if (*text ? !strchr(BLANKS ";", *text) : p->cut)
		return -1;
	return length;
}

/* Returns the text after the colon in a line of the header field `name`; NULL for other fields. */
static const char *value_of(const char *line, const char *name)
{
	size_t length = strlen(name);

	return !strncasecmp(line, name, length) && line[length] == ':' ? line + length + 1 : NULL;
}

/* Returns true if the last of several transfer codings is chunked. */
static bool ends_chunked(const char *codings)
{
	static const char chunked[] = "chunked";
	const char *comma = strrchr(codings, ','), *last = comma ? comma + 1 : codings;

	last += strspn(last, BLANKS);
	if (strncasecmp(last, chunked, sizeof(chunked) - 1))
		return false;
	last += sizeof(chunked) - 1;
	return !last[strspn(last, BLANKS)];
}

static enum parser_event first_line(struct parser *p)
{
	const char *line = p->line;

	p->begun = true;
	if (p->response) {
		if (strncmp(line, "HTTP/1.", 7) || strlen(line) < 12 || line[8] != ' ')
			return PARSER_NOT_HTTP;
		line += 9;
		p->status = digits(&line, 10, 999);
		if (line != p->line + 12 || p->status < 100)
			return PARSER_NOT_HTTP;
		return p->status == 101 ? PARSER_NOT_HTTP : PARSER_MORE;
	}
	if (!strncmp(line, "PRI ", 4) || !strncmp(line, "CONNECT ", 8) || !strchr(line, ' '))
		return PARSER_NOT_HTTP;
	p->bodiless = !strncmp(line, "HEAD ", 5);
	return PARSER_MORE;
}

static enum parser_event field(struct parser *p)
{
	const char *value;
	int64_t length;

	/* A continuation line of the field before (RFC 9112 5.2), which is already parsed. */
	if (strchr(BLANKS, *p->line))
		return PARSER_NOT_HTTP;
	if ((value = value_of(p->line, "Content-Length"))) {
		length = p->cut ? -1 : parser_number(value, PARSER_MAX_LENGTH);
		/* Equal repeated values are allowed (RFC 9112 6.3). */
		if (length < 0 || (p->length >= 0 && p->length != length))
			return PARSER_NOT_HTTP;
		p->length = length;
	} else if ((value = value_of(p->line, "Transfer-Encoding"))) {
		if (p->cut)
			return PARSER_NOT_HTTP;
		p->coded = true;
		p->chunked = ends_chunked(value);
	} else if (!p->response && (value = value_of(p->line, p->deadline_name))) {
		length = p->cut ? -1 : parser_number(value, PARSER_MAX_DEADLINE_MS);
		p->deadline_ms = length > 0 ? length : 0;
	}
	return PARSER_MORE;
}

/* Determines at the end of the head how the body ends (RFC 9112 6.3). */
static enum parser_event body(struct parser *p)
{
	if (p->response && (p->bodiless || p->status < 200 || p->status == 204 || p->status == 304)) {
		p->coded = p->chunked = false;
		p->length = 0;
	}
	if (p->chunked) {
		p->where = PARSER_CHUNK_LINE;
	} else if (p->coded) {
		if (!p->response)
			return PARSER_NOT_HTTP;
		p->where = PARSER_UNTIL_CLOSE;
	} else if (p->length >= 0 || !p->response) {
		p->where = PARSER_SIZED;
		p->left = p->length > 0 ? p->length : 0;
	} else {
		p->where = PARSER_UNTIL_CLOSE;
	}
	return PARSER_HEAD_ENDS;
}

/* Handles a complete line, without its line end. */
static enum parser_event line(struct parser *p)
{
	int64_t length;

	switch (p->where) {
	case PARSER_HEAD:
		if (!p->begun)
			/* Empty lines before a request are allowed. */
			return !*p->line && !p->response ? PARSER_MORE : first_line(p);
		return *p->line ? field(p) : body(p);
	case PARSER_CHUNK_LINE:
		length = chunk_length(p);
		if (length < 0)
			return PARSER_NOT_HTTP;
		p->where = length ? PARSER_CHUNK : PARSER_TRAILER;
		p->left = length ? length + 2 : 0;
		return PARSER_MORE;
	default:
		return *p->line ? PARSER_MORE : PARSER_MESSAGE_ENDS;
	}
}

/* Adds a byte to the present line. Returns PARSER_MORE until a head or message ends. */
static enum parser_event next(struct parser *p, char byte)
{
	enum parser_event event;

	if (p->where == PARSER_HEAD && ++p->head > PARSER_MAX_HEAD)
		return PARSER_NOT_HTTP;
	/* Servers differ in their treatment of a NUL, and of a CR that ends no line (RFC 9112 2.2). */
	if (!byte || (p->after_cr && byte != '\n'))
		return PARSER_NOT_HTTP;
	/* Detect TLS and other protocols before the end of a line. */
	if (!p->begun && !p->filled && byte != '\r' && byte != '\n' && (byte < 'A' || byte > 'Z'))
		return PARSER_NOT_HTTP;
	p->after_cr = byte == '\r';
	if (p->after_cr)
		return PARSER_MORE;
	if (byte != '\n') {
		if (p->filled < PARSER_LINE - 1)
			p->line[p->filled++] = byte;
		else
			p->cut = true;
		return PARSER_MORE;
	}
	p->line[p->filled] = 0;
	event = line(p);
	p->filled = 0;
	p->cut = false;
	return event;
}

enum parser_event parser_read(struct parser *p, const char *data, size_t size, size_t *used)
{
	*used = 0;
	for (;;) {
		enum parser_event event;

		if (p->where == PARSER_SIZED && !p->left)
			return PARSER_MESSAGE_ENDS;
		if (p->where == PARSER_CHUNK && !p->left)
			p->where = PARSER_CHUNK_LINE;
		if (*used == size)
			return PARSER_MORE;
		if (p->where == PARSER_UNTIL_CLOSE) {
			*used = size;
			return PARSER_MORE;
		}
		if (p->where == PARSER_SIZED || p->where == PARSER_CHUNK) {
			uint64_t left = (uint64_t)p->left, step = size - *used < left ? size - *used : left;

			p->left -= (int64_t)step;
			*used += step;
			continue;
		}
		if (!data)
			return PARSER_NOT_HTTP;
		event = next(p, data[(*used)++]);
		if (event != PARSER_MORE)
			return event;
	}
}
