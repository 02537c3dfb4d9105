"""What the columns of the result tables mean: table -> column -> meaning.

The engine writes the tables; a test compares the names with those of a run.
"""

COLUMNS: dict[str, dict[str, str]] = {
    "flows": {
        "class": "the traffic class",
        "from": "the sending host",
        "to": "the receiving host",
        "query": "which query of a fan-in it answers; none for other patterns",
        "bytes": "its size; none for a flow without end",
        "start_us": "when it was handed to the transport, from the start of the run",
        "end_us": "when its last byte arrived; none if it did not",
        "fct_us": "`end_us` - `start_us`",
        "ideal_fct_us": "what it would take on an empty network",
        "slowdown": "`fct_us` / `ideal_fct_us`",
        "deadline_us": "the allowed time, from `start_us`",
        "missed": "whether it was too late; none without a deadline, and where the run ended before it",
        "aborted": "whether the transport gave it up",
        "counted": "false for what the summaries leave out: messages that start in the warm-up",
        "timeouts": "retransmission timeouts",
        "retransmits": "packets sent again",
        "marks": "packets that arrived with an ECN mark",
    },
    "links": {
        "from": "the sending end: a host or a switch",
        "to": "the receiving end",
        "rate_bps": "its rate",
        "packets": "packets sent",
        "bytes": "bytes on the wire",
        "drops": "packets dropped at the port that feeds it",
        "marks": "packets marked there",
        "utilisation": "bytes sent over what the link could carry, 0 to 1",
        "queue_mean": "packets that wait at the port, mean over time after the warm-up",
        "queue_p5": "5th percentile over time",
        "queue_p50": "median over time",
        "queue_p99": "99th percentile over time",
        "queue_max": "largest",
    },
    "trace": {
        "time_s": "when the sample was taken, from the start of the run",
        "what": "the signal: one of `run.trace.what`",
        "class": "the class of the message; none for a queue",
        "from": "its sending host",
        "to": "its receiving host",
        "message": "its row in `flows`, counted from 0",
        "link": "the link whose queue it is; none for a message",
        "value": "the value, in the unit that the language page gives for the signal",
    },
}
