//! The keys of requests of stages: of the class, and of its roles, stages and goals.

use units::{Default, Key, Kind, Nested, Range};

use super::super::{COUNT, START};

/// Keys of the class.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "every",
        kind: Kind::TimeDistribution,
        default: Default::Absent,
        range: Range::POSITIVE.more_is_easier(),
        help: "time from one request to the next; the first arrives one draw after `start`",
        source: "",
    },
    Key {
        name: "clients",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::between(1.0, 1e6).less_is_easier(),
        help: "instead of `every`: so many clients, each of which asks again when its request has ended",
        source: "",
    },
    Key {
        name: "think",
        kind: Kind::TimeDistribution,
        default: Default::Absent,
        range: Range::at_least(0.0).more_is_easier(),
        help: "with `clients`: time from the end of a request to the client's next, and before its first",
        source: "",
    },
    Key {
        name: "requests",
        kind: Kind::RequestFile,
        default: Default::Absent,
        range: Range::ANY,
        help: "instead of `every`: a file of requests, whose columns formulas may use as `$name`",
        source: "",
    },
    START,
    COUNT,
    Key {
        name: "deadline",
        kind: Kind::Allowed,
        default: Default::Absent,
        range: Range::POSITIVE.more_is_easier(),
        help: "allowed time from the arrival of a request to its end, when its last stage has ended",
        source: "",
    },
    Key {
        name: "deadlines",
        kind: Kind::Choice(&["request", "remaining", "split", "none"]),
        default: Default::Is("request"),
        range: Range::ANY,
        help: "the deadline that the transport of a message is told. request: when its request is due; remaining: \
               earlier by the shortest time of what follows; split: the stages have equal shares of the time; none",
        source: "request: an application passes on its own deadline",
    },
    Key {
        name: "late",
        kind: Kind::Choice(&["finish", "abandon"]),
        default: Default::Is("finish"),
        range: Range::ANY,
        help: "a request that can no longer be in time goes on, or starts nothing more",
        source: "",
    },
    Key {
        name: "pieces",
        kind: Kind::Bool,
        default: Default::Is("false"),
        range: Range::ANY,
        help: "keep the times of every message and work of the requests: a table of its own, and timelines of requests",
        source: "off: the table is long",
    },
    Key {
        name: "roles",
        kind: Kind::Named(&ROLES),
        default: Default::Required,
        range: Range::ANY,
        help: "hosts by the part that they take in a request",
        source: "",
    },
    Key {
        name: "stage",
        kind: Kind::Tables(&STAGES),
        default: Default::Required,
        range: Range::ANY,
        help: "the stages of a request; a message or work starts at its host when everything of the stages that it \
               follows has ended there",
        source: "",
    },
    Key {
        name: "goal",
        kind: Kind::Tables(&GOALS),
        default: Default::Absent,
        range: Range::ANY,
        help: "allowed times for parts of a request",
        source: "",
    },
];

/// Hosts by the part that they take in a request.
pub(super) const ROLES: Nested = Nested {
    what: "role",
    keys: &[
        Key {
            name: "hosts",
            kind: Kind::Hosts,
            default: Default::Required,
            range: Range::ANY,
            help: "hosts of which each request takes some",
            source: "",
        },
        Key {
            name: "count",
            kind: Kind::Count,
            default: Default::Absent,
            range: Range::at_least(1.0),
            help: "number of different hosts that a request takes; left out: one, or all where it takes all",
            source: "",
        },
        Key {
            name: "pick",
            kind: Kind::Choice(&["random", "all", "round-robin", "least-loaded"]),
            default: Default::Is("random"),
            range: Range::ANY,
            help: "the hosts that a request takes: drawn; all of them; the next ones in turn; or those with the fewest \
                   open requests of the class, in the order of the list where they have equally many",
            source: "",
        },
    ],
    shorthand: Some("hosts"),
    example: "{ hosts = \"4..64\", count = 20 }",
};

/// The stages of a request.
pub(super) const STAGES: Nested = Nested {
    what: "stage",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Text,
            default: Default::Required,
            range: Range::ANY,
            help: "its name, different from the other stages'",
            source: "",
        },
        Key {
            name: "from",
            kind: Kind::Text,
            default: Default::Absent,
            range: Range::ANY,
            help: "a stage of messages: the role whose hosts send them",
            source: "",
        },
        Key {
            name: "to",
            kind: Kind::Text,
            default: Default::Absent,
            range: Range::ANY,
            help: "the role whose hosts receive them, one from each sender; or `next(role)`, the next host of the \
                   sender's own role, the first again after the last; or `others(role)`, all other hosts of that role",
            source: "",
        },
        Key {
            name: "size",
            kind: Kind::RequestSize,
            default: Default::Absent,
            range: Range::POSITIVE.less_is_easier(),
            help: "bytes of each message; of a collective: of each host's data, or of each message of an all-to-all",
            source: "",
        },
        Key {
            name: "at",
            kind: Kind::Text,
            default: Default::Absent,
            range: Range::ANY,
            help: "a stage of work, or a collective: the role whose hosts do it",
            source: "",
        },
        Key {
            name: "time",
            kind: Kind::RequestTime,
            default: Default::Absent,
            range: Range::at_least(0.0).less_is_easier(),
            help: "duration of the work at each host",
            source: "",
        },
        Key {
            name: "servers",
            kind: Kind::Count,
            default: Default::Absent,
            range: Range::at_least(1.0).more_is_easier(),
            help: "works of this stage that each host does at a time; left out: any number",
            source: "",
        },
        Key {
            name: "order",
            kind: Kind::Choice(&["fifo", "earliest-deadline"]),
            default: Default::Absent,
            range: Range::ANY,
            help: "the order of works that wait for a server; left out: fifo",
            source: "",
        },
        Key {
            name: "after",
            kind: Kind::NamesOf("stage"),
            default: Default::Absent,
            range: Range::ANY,
            help: "the stages that it follows; left out: the one above; an empty list: none, it starts with the request",
            source: "",
        },
        Key {
            name: "repeat",
            kind: Kind::Count,
            default: Default::Is("1"),
            range: Range::between(1.0, 1e6),
            help: "so many times, each following the one before it",
            source: "",
        },
        Key {
            name: "quorum",
            kind: Kind::Share,
            default: Default::Is("1"),
            range: Range::above(0.0, 1.0),
            help: "share of what ends at a host with which the stage has ended there; the rest is late",
            source: "",
        },
        Key {
            name: "barrier",
            kind: Kind::Bool,
            default: Default::Is("false"),
            range: Range::ANY,
            help: "it begins when the stages that it follows have ended at all hosts, of which these learn at once",
            source: "ideal: the messages of a real barrier take time",
        },
        Key {
            name: "collective",
            kind: Kind::Choice(&["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"]),
            default: Default::Absent,
            range: Range::ANY,
            help: "short form for the stages of a collective operation of the hosts of `at`",
            source: "",
        },
        Key {
            name: "algorithm",
            kind: Kind::Choice(&["ring", "halving-doubling", "tree"]),
            default: Default::Absent,
            range: Range::ANY,
            help: "the stages that a collective has; `ring` when left out",
            source: "Thakur, Rabenseifner and Gropp 2005",
        },
    ],
    shorthand: None,
    example: "{ name = \"question\", from = \"front\", to = \"shard\", size = \"1 KB\" }",
};

/// Allowed times for parts of a request.
pub(super) const GOALS: Nested = Nested {
    what: "goal",
    keys: &[
        Key {
            name: "name",
            kind: Kind::Text,
            default: Default::Required,
            range: Range::ANY,
            help: "its name, different from the other goals'",
            source: "",
        },
        Key {
            name: "stage",
            kind: Kind::Text,
            default: Default::Required,
            range: Range::ANY,
            help: "the stage that must have ended",
            source: "",
        },
        Key {
            name: "within",
            kind: Kind::Allowed,
            default: Default::Required,
            range: Range::POSITIVE.more_is_easier(),
            help: "from the arrival of the request: a time, or a multiple of the time that the same request takes in an \
                   empty network until then",
            source: "",
        },
    ],
    shorthand: None,
    example: "{ name = \"first token\", stage = \"decode\", within = \"2 s\" }",
};
