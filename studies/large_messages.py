"""Where D2TCP's law decides: large answers that nearly fit, and one urgent message among relaxed ones."""

from typing import Any

import matplotlib as mpl

import duetime
from common import SCENARIOS, draw, each, mean, span, table, write
from duetime.plots import style

SCENARIO = SCENARIOS / "large-messages.toml"
TRANSPORTS = ("tcp", "dctcp", "d2tcp")
RATIOS = (1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3)
SEEDS = (1, 2, 3, 4, 5)
#: Twenty answers of 300 KB at 1 Gbps with 40 B of headers per 1460 B, in ms.
BURST_MS = 20 * 300e3 * 8 / 1e9 * 1500 / 1460 * 1e3

SIZES_MB = (1, 2, 3, 5, 10, 20, 30)
#: (rate in Gbps, K in packets)
PORTS = ((1, 20), (1, 65), (10, 20), (10, 65))
#: When the urgent message starts after the first relaxed one, in us.
STARTS_US = (0, 37, 111, 250, 503, 777)
RELAXED = 5
#: Deadlines as multiples of the time that a message takes alone.
URGENT_DEADLINE, RELAXED_DEADLINE = 2.2, 20


def study() -> None:
    """Run everything; write tables and picture."""
    cases = [(ratio, name, seed) for ratio in RATIOS for name in TRANSPORTS for seed in SEEDS]
    missed = dict(zip(cases, each(misses, cases), strict=True))
    rows = []
    for ratio in RATIOS:
        by_name = {name: [missed[ratio, name, seed] for seed in SEEDS] for name in TRANSPORTS}
        fewer = 100 * (1 - mean(by_name["d2tcp"]) / mean(by_name["dctcp"])) if mean(by_name["dctcp"]) else 0.0
        cells = [f"{mean(values):.2f} ({span(values, 2)})" for values in by_name.values()]
        rows.append([f"{ratio:.2f}", f"{BURST_MS / ratio:.1f}", *cells, f"{fewer:.0f} %"])
    head = ["burst / base", "base deadline (ms)", *(f"{name}: missed (%)" for name in TRANSPORTS)]
    write("large-messages", table([*head, "d2tcp: fewer than dctcp"], rows))

    urgent = [(port, size, start) for port in PORTS for size in SIZES_MB for start in STARTS_US]
    factors = dict(zip(urgent, each(speed_up, urgent), strict=True))
    by_size = {
        (port, size): [factors[port, size, start] for start in STARTS_US]
        for port in PORTS
        for size in SIZES_MB
    }
    write(
        "urgent",
        table(
            ["size (MB)", *(f"{rate} Gbps, K = {mark}" for rate, mark in PORTS)],
            [
                [
                    str(size),
                    *(f"{mean(by_size[port, size]):.2f} ({span(by_size[port, size], 2)})" for port in PORTS),
                ]
                for size in SIZES_MB
            ],
        ),
    )
    picture(missed, by_size)


def misses(case: tuple[float, str, int]) -> float:
    """Percent of deadlines missed: burst over base deadline, transport, seed."""
    ratio, transport, seed = case
    changes = {"traffic.answers.deadline.base": f"{BURST_MS / ratio:.4f} ms"}
    summary = duetime.run(SCENARIO, seed=seed, transport=transport, set=changes).summary
    return float(summary["missed_percent"])


def one_urgent(port: tuple[int, int], size_mb: float, start_us: float) -> dict[str, Any]:
    """A scenario: one message in a hurry, the others of the same size with time to spare."""
    rate, mark = port
    alone_ms = size_mb * 8 / rate * 1500 / 1460
    receiver = RELAXED + 1
    message = {"to": receiver, "size": f"{size_mb} MB"}
    urgent = {"from": 0, "deadline": f"{URGENT_DEADLINE * alone_ms} ms", "start": f"{start_us} us"}
    relaxed = {
        "from": f"1..{receiver}",
        "deadline": f"{RELAXED_DEADLINE * alone_ms} ms",
        "start": "index * 10 us",
    }
    return {
        "title": "One in a hurry",
        "run": {"duration": f"{2 * (RELAXED + 1) * alone_ms} ms"},
        "network": {
            "topology": "star",
            "hosts": receiver + 1,
            "rate": f"{rate} Gbps",
            "delay": "20 us",
            "buffer": "4 MB",
            "sharing": "per-port",
            "mark": f"{mark} packets",
        },
        "transport": {"name": "d2tcp"},
        "traffic": [
            {"name": "urgent", "pattern": "flows", "flows": [urgent | message]},
            {"name": "relaxed", "pattern": "flows", "flows": [relaxed | message]},
        ],
    }


def speed_up(case: tuple[tuple[int, int], float, float]) -> float:
    """The mean time under dctcp over the urgent message's time under d2tcp."""
    scenario = one_urgent(*case)
    before = duetime.run(scenario, transport="dctcp").summary["fct_us"]["mean"]
    urgent = duetime.run(scenario, transport="d2tcp").classes["urgent"]
    return float(before) / float(urgent["fct_us"]["mean"])


def picture(
    missed: dict[tuple[float, str, int], float], by_size: dict[tuple[tuple[int, int], int], list[float]]
) -> None:
    """Misses over the ratio, speed-up over the size."""
    with mpl.rc_context(style.RC):
        figure = style.figure(
            "Where the law of D2TCP decides",
            f"Mean and range: over {len(SEEDS)} seeds on the left, over {len(STARTS_US)} starts on the right",
            11,
            4.4,
        )
        left, right = figure.subplots(1, 2)
        looks = style.looks(TRANSPORTS)
        for name in TRANSPORTS:
            values = [[missed[ratio, name, seed] for seed in SEEDS] for ratio in RATIOS]
            left.fill_between(
                RATIOS,
                *zip(*((min(v), max(v)) for v in values), strict=True),
                alpha=0.2,
                color=looks[name].colour,
            )
            left.plot(RATIOS, [mean(v) for v in values], label=name, **looks[name].line())
        left.set(title="Large answers, fan-in 20", xlabel="time for the burst / base deadline")
        left.set_ylabel("deadlines missed (%)")
        left.set_ylim(bottom=0)
        left.legend()
        for look, port in zip(style.CYCLE, PORTS, strict=False):
            values = [by_size[port, size] for size in SIZES_MB]
            low, high = zip(*((min(v), max(v)) for v in values), strict=True)
            right.fill_between(SIZES_MB, low, high, alpha=0.12, color=look.colour)
            rate, mark = port
            right.plot(
                SIZES_MB,
                [mean(v) for v in values],
                label=f"{rate} Gbps, K = {mark}",
                marker="o",
                color=look.colour,
            )
        right.axhline(1, color=style.FAINT, linewidth=1)
        right.axhline(1.8, color=style.FAINT, linewidth=1, linestyle="--")
        right.set_xscale("log")
        right.set_xticks(SIZES_MB, [str(size) for size in SIZES_MB], minor=False)
        right.minorticks_off()
        right.set(title="One urgent message among five relaxed", xlabel="size of each message (MB)")
        right.set_ylabel("dctcp's mean time / urgent d2tcp's time")
        right.legend(loc="lower right", frameon=True, edgecolor="none", framealpha=0.9)
        draw(figure, "study-large-messages")
