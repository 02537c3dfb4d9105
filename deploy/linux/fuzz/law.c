/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The window laws of deploy/linux/bpf (law.h, budget.h, queue.h, plus.h) under any parameters of the tool, any announcements that the
 * kernel's side accepts, and any acknowledgements. There must be no undefined behaviour, and each value must stay in
 * its range. */
#include "input.h"

#include <d2tcp.h>

#include "budget.h"
#include "law.h"
#include "plus.h"

/* The limits of the tool (deploy/linux/d2tcp/src/parameters.rs). */
#define MAX_CAP 16
#define MAX_SCALE 1000
#define DAY_NS (86400ull * 1000000000)
/* Clocks and positions beyond this many bits are centuries and exabytes away. */
#define CLOCK_BITS 60
#define POSITION_BITS 60
/* A smoothed RTT has 32 bits of an eighth of a microsecond. */
#define RTT_BITS 39
/* A burst of a user's budget, in bytes. */
#define BURST 4000000

/* The state of one connection. */
struct connection {
	struct law_parameters params;
	struct law_state state;
	struct law_plus plus;
	struct law_queue queue;
	struct law_account account;
	law_u64 now_ns, una, written;
	law_u64 accepted;
};

static void pure(struct input *input)
{
	law_u64 a = take_magnitude(input, 64), b = take_magnitude(input, 64), c = take_magnitude(input, 64), got, root;
	law_u32 shift = take_byte(input) % 21, alpha, d;
	struct law_reduction reduction = {
		.prior = (law_u32)a, .target = (law_u32)b, .flight = (law_u32)c, .delivered = (law_u32)(a >> 32),
		.delivered_all = (law_u32)(b >> 32), .out = (law_u32)(c >> 32), .first = shift & 1,
	};

	got = law_scale(a, b, c, shift);
	if (c) {
		long double exact = (long double)a * (long double)b / (long double)c * (1u << shift);

		if (got == LAW_NEVER)
			CHECK(exact > 18446744073709551615.0L * 0.999999L);
		else
			CHECK(exact - (long double)got <= exact / (1 << 29) + 1 && (long double)got - exact <= exact / (1 << 29) + 1);
	}
	root = law_root(a);
	CHECK((unsigned __int128)root * root <= a && (unsigned __int128)(root + 1) * (root + 1) > a);
	alpha = (law_u32)law_min((law_u32)a, LAW_ONE);
	d = (law_u32)b;
	CHECK(law_penalty(alpha, d) <= LAW_ONE);
	CHECK(law_exp2_minus(a) <= LAW_ONE && law_minus_log2((law_u32)a) <= 30u << 24);
	law_rounds(a, (law_u32)b, law_min(c, LAW_MAX_WINDOW), shift & 1);
	law_pacing_rate(law_min(a, LAW_MAX_WINDOW), law_min(b, LAW_MAX_WINDOW), (law_u32)c, (law_u32)(c >> 32), b, a);
	law_reduced(&reduction);
}

static void parameters(struct input *input, struct law_parameters *params)
{
	params->g = (law_u32)law_min(take(input, 4), LAW_ONE);
	params->initial_alpha = (law_u32)law_min(take(input, 4), LAW_ONE);
	params->cap = (law_u32)(LAW_UNIT + take(input, 4) % ((MAX_CAP - 1) * LAW_UNIT + 1));
	params->expired = take_byte(input) % 4;
	params->precise = take_byte(input) & 1;
	params->mode = take_byte(input) & 1;
	params->time_scale = (law_u32)(LAW_UNIT / 10 + take(input, 4) % (MAX_SCALE * LAW_UNIT));
	params->margin_ns = take_magnitude(input, 47) % (DAY_NS + 1);
}

static void check(const struct connection *c)
{
	const struct law_queue *queue = &c->queue;
	law_u32 cap = c->params.cap, least = (law_u32)((LAW_UNIT * LAW_UNIT + cap / 2) / cap), i;
	law_u64 end = 0;

	CHECK(c->state.cwnd <= LAW_MAX_WINDOW && c->state.ssthresh <= LAW_MAX_WINDOW);
	CHECK(c->state.alpha <= LAW_ONE && c->state.p <= LAW_ONE);
	CHECK(c->state.d >= least && c->state.d <= cap);
	CHECK(c->plus.lifted <= 1 && c->plus.stirred <= 1 && c->plus.pressed <= 1 && c->plus.hopeless <= 1);
	CHECK(c->account.left <= BURST && c->account.at_ns <= c->now_ns);
	CHECK(queue->count <= D2TCP_QUEUE);
	CHECK(c->accepted == queue->met + queue->missed + queue->cancelled + queue->count);
	for (i = 0; i < queue->count; i++) {
		const struct law_waiting *one = &queue->waiting[(queue->first + i) & (D2TCP_QUEUE - 1)];

		CHECK(end <= one->begin && one->begin < one->message.end);
		end = one->message.end;
	}
	CHECK(end <= queue->last_end);
}

static void announce(struct input *input, struct connection *c)
{
	struct law_announcement wanted = {
		/* As hooks.h accepts it. */
		.bytes = take_magnitude(input, 40),
		.deadline_ns = c->now_ns + 1 + take_magnitude(input, 47) % DAY_NS,
		.tag = take_byte(input),
		.written = c->written,
		.now_ns = c->now_ns,
		.flags = take_byte(input) & D2TCP_ENDS_PREVIOUS,
	};

	c->accepted += law_announce(&c->queue, &wanted) == LAW_ANNOUNCED;
}

static void acknowledge(struct input *input, struct connection *c)
{
	struct law_draws draws = { .whether = (law_u32)take(input, 4), .length = (law_u32)take(input, 4) };
	law_u64 before = c->state.cwnd, acked = take_magnitude(input, 40);
	struct law_ack ack = {
		.now_ns = c->now_ns,
		.segments = (law_u32)take_magnitude(input, 32),
		.mss = (law_u32)take_magnitude(input, 16),
		.rtt_ns = take_magnitude(input, RTT_BITS),
	};
	uint8_t flags = take_byte(input);
	law_u32 what = 0;

	c->una += law_min(acked, c->written - c->una);
	ack.una = c->una;
	ack.next = c->written;
	ack.acked = acked;
	/* More marks than bytes are possible, since a peer may echo anything. */
	ack.marked = flags & 1 ? take_magnitude(input, 41) : 0;
	ack.may_grow = flags >> 1 & 1;
	ack.may_cut = flags >> 2 & 1;
	law_complete(&c->queue, c->una, c->now_ns);
	law_refill(&c->account, BURST, c->now_ns);
	if (c->account.left <= 0)
		ack.max_d = LAW_UNIT;
	if (flags & 8) {
		if (c->params.mode == LAW_PLUS)
			what = law_plus_on_loss(&c->state, &c->plus, &c->params, &c->queue, &ack, &draws);
		if (!(what & LAW_ANSWERED))
			law_on_loss(&c->state, ack.una, ack.next);
		return;
	}
	if (c->params.mode == LAW_PLUS)
		what = law_plus_on_ack(&c->state, &c->plus, &c->params, &c->queue, &ack, &draws);
	if (!(what & LAW_ANSWERED)) {
		what = law_on_ack(&c->state, &c->params, &c->queue, &ack);
		CHECK(!(what & LAW_CUT) || c->state.cwnd >= law_min(before, LAW_FLOOR));
		CHECK(!(what & (LAW_CUT | LAW_WINDOW)) || !ack.max_d || c->state.d <= ack.max_d);
		CHECK(!(what & LAW_LIMITED) || c->state.d == LAW_UNIT);
		if (what & LAW_CUT)
			law_spend(&c->account, BURST, c->params.g, (before >> 20) * ack.mss, c->state.d);
	}
	CHECK(!(what & LAW_HELD) || c->plus.held_until_ns >= c->now_ns);
	law_hold_rate(&c->plus, ack.mss, c->now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, data + size };
	struct connection *c = calloc(1, sizeof(*c));

	parameters(&input, &c->params);
	c->now_ns = take_magnitude(&input, CLOCK_BITS);
	law_start(&c->state, &c->params, take_magnitude(&input, 64), take_magnitude(&input, 64));
	while (input.at < input.end) {
		uint8_t what = take_byte(&input);

		switch (what % 10) {
		case 0:
			pure(&input);
			break;
		case 1:
			c->now_ns = law_min(c->now_ns + take_magnitude(&input, 50), 1ull << CLOCK_BITS);
			break;
		case 2:
			c->written = law_min(c->written + take_magnitude(&input, 50), 1ull << POSITION_BITS);
			break;
		case 3:
		case 4:
			announce(&input, c);
			break;
		case 5: {
			struct law_sieve by = { .written = c->written, .tag = take_byte(&input), .now_ns = c->now_ns };

			law_take_out(&c->queue, &by);
			break;
		}
		case 6:
			law_idle(&c->state, take_byte(&input), take_byte(&input));
			break;
		case 7:
			if (what & 0x80)
				law_undo(&c->state);
			else
				law_resize(&c->state, (law_u32)take(&input, 2), (law_u32)take(&input, 2));
			break;
		default:
			acknowledge(&input, c);
			break;
		}
		check(c);
	}
	free(c);
	return 0;
}
