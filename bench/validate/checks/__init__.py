"""The closed forms: one file each, and one line in `CHECKS`."""

from collections.abc import Callable, Iterable

from validate.check import Check
from validate.checks import (
    completion,
    d3,
    dctcp,
    delayed_ack,
    ecmp,
    fast,
    incast,
    max_min,
    md1,
    nic,
    nscc,
    parking_lot,
    paths,
    peers,
    pfc,
    reno,
    requests,
    round_trips,
    shared_buffer,
    swift,
    timely,
    timeout,
)

CHECKS: dict[str, Callable[[], Iterable[Check]]] = {
    "completion": completion.checks,
    "delayed-ack": delayed_ack.checks,
    "timeout": timeout.checks,
    "incast": incast.checks,
    "shared-buffer": shared_buffer.checks,
    "md1": md1.checks,
    "dctcp": dctcp.checks,
    "reno": reno.checks,
    "swift": swift.checks,
    "timely": timely.checks,
    "nscc": nscc.checks,
    "d3": d3.checks,
    "max-min": max_min.checks,
    "ecmp": ecmp.checks,
    "paths": paths.checks,
    "pfc": pfc.checks,
    "nic": nic.checks,
    "round-trips": round_trips.checks,
    "requests": requests.checks,
    "parking-lot": parking_lot.checks,
    "fast": fast.checks,
    "peers": peers.checks,
}
