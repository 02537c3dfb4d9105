//! The section `[network]`: the keys that all topologies share.

use transport::Surroundings;
use units::{Alias, Amount, Bytes, Default, Key, Kind, Marks, Problem, Range, Rate, Span, Values};

use crate::class::Transport;
use crate::fabric::balance::{self, BALANCERS, Sprays};
use crate::fabric::buffer;
pub use crate::fabric::buffer::Sharing;
use crate::fabric::lossless::{self, Lossless};
use crate::fabric::marker::{self, MARKERS};
use crate::fabric::qdisc::trimming::{self, Trim};
use crate::fabric::qdisc::{self, DISCIPLINES};
use crate::priorities::Priorities;
use crate::topology::Graph;

/// Returns every key of `[network]` beside the topology's: the keys of disciplines, markers and balancers are last.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    let disciplines = DISCIPLINES.iter().flat_map(|discipline| discipline.keys);
    let markers = MARKERS.iter().flat_map(|marker| marker.keys);
    KEYS.iter()
        .chain(trimming::KEYS)
        .chain(lossless::KEYS)
        .chain(disciplines)
        .chain(markers)
        .chain(BALANCERS.iter().flat_map(|balancer| balancer.keys))
}

/// Other words for keys of `[network]`.
pub const ALIASES: &[Alias] = &[
    ("alpha", "dynamic_alpha"),
    ("bandwidth", "rate"),
    ("capacity", "rate"),
    ("capacity", "buffer"),
    ("ecn_k", "mark"),
    ("ecn_threshold", "mark"),
    ("k", "mark"),
    ("kmax", "red_kmax"),
    ("kmin", "mark"),
    ("latency", "delay"),
    ("marking_threshold", "mark"),
    ("pmax", "red_pmax"),
    ("queue", "buffer"),
    ("queue_limit", "buffer"),
    ("red", "mark"),
    ("red_kmin", "mark"),
    ("rtt", "delay"),
    ("speed", "rate"),
    ("threshold", "mark"),
];

/// Keys of `[network]` except the topology's, trimming's, lossless networks', the disciplines', the markers' and the balancers'.
const KEYS: &[Key] = &[
    Key {
        name: "rate",
        kind: Kind::Rate,
        default: Default::Required,
        range: Range::at_least(1e4).more_is_easier(),
        help: "rate of every host's link",
        source: "",
    },
    Key {
        name: "delay",
        kind: Kind::Time,
        default: Default::Required,
        range: Range::POSITIVE.less_is_easier(),
        help: "propagation delay of every link, one way",
        source: "",
    },
    Key {
        name: "buffer",
        kind: Kind::AmountBySwitch,
        default: Default::Is("4 MB"),
        range: Range::POSITIVE.more_is_easier(),
        help: "a switch's buffer: the whole switch for dynamic and static, each port for per-port; { left = \"50 KB\", others = \
               \"4 MB\" } tells switches apart by name, and a name without its number is for all of them (leaf)",
        source: "D2TCP 4.1.1, 4.2.1: 4 MB; how it is shared is not stated",
    },
    buffer::KEY,
    buffer::ALPHA,
    Key {
        name: "mark",
        kind: Kind::Marks,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "ECN marking threshold K: an arriving packet is marked when the queue with it exceeds K; see `mark_at`",
        source: "DCTCP 3.1; 20 packets at 1 Gbps, 65 at 10 Gbps (D2TCP 4.1.1)",
    },
    Key {
        name: "non_ect",
        kind: Kind::Choice(&["pass", "drop"]),
        default: Default::Is("pass"),
        range: Range::ANY,
        help: "what happens above K to packets that cannot be marked",
        source: "RED drops them; open in the papers, and it decides every mix with plain TCP",
    },
    qdisc::KEY,
    marker::KEY,
    marker::AT,
    balance::KEY,
    balance::PATHS,
    balance::PATH_CHOICE,
    Key {
        name: "frame_overhead",
        kind: Kind::Size,
        default: Default::Is("0 B"),
        range: Range::between(0.0, 1000.0),
        help: "bytes on the wire that each packet costs beside its headers (38 B on Ethernet)",
        source: "0 B: the papers count 1500 B for a full packet",
    },
    Key {
        name: "host_queue",
        kind: Kind::Choice(&["fair", "fifo", "unlimited"]),
        default: Default::Is("unlimited"),
        range: Range::ANY,
        help: "how data is queued at a host: fair: its port holds host_buffer, and those that find it full send one packet \
               each by turns; fifo: each in its turn fills the port's queue, and has at most two segments or 1 ms of the \
               link's rate there unless nic_limit says otherwise; unlimited: all that windows allow is queued at once, first \
               in, first out, as in ns-2; where switches' discipline orders hosts' ports too, it takes the place of this",
        source: "Linux: the driver's queue by BQL, TCP small queues (tcp_limit_output_bytes, sk_pacing_shift) and fq (fair) or \
                 pfifo_fast (fifo); ns-2: unlimited",
    },
    Key {
        name: "host_buffer",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "how much may be at a host's port before senders wait, in packets of the largest size or wire bytes, and never \
               less than one packet; when left out, 2 packets if fair, 1000 packets if fifo",
        source: "BQL keeps what the wire needs until the next interrupt, here none: one packet is sent and one waits; \
                 net_device.tx_queue_len: 1000 packets",
    },
    Key {
        name: "host_jitter",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::between(0.0, 1.0).less_is_easier(),
        help: "a data packet reaches its host's switch up to this later than it could, drawn evenly, and never out of \
               order; when left out, up to the time that the packet itself takes on the host's link; \"0 s\": exact",
        source: "Floyd and Jacobson 1992: a random time of up to one packet's service at the source breaks phase effects, by \
                 which perfect clocks let one flow starve another; the papers say nothing of it",
    },
];

/// Nodes, links and the configuration of switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Nodes and links of the network.
    pub graph: Graph,
    /// Buffers and marking of every switch.
    pub switch: Switch,
    /// Bytes of each packet on the wire beside its headers.
    pub frame_overhead: Bytes,
    /// Maximum delay of a data packet on its way to its host's switch; `None`: the time of its transmission.
    pub host_jitter: Option<Span>,
    /// The queue of data at hosts' ports.
    pub host_queue: HostQueue,
    /// All checked values of the section, for the discipline and the marker.
    pub settings: Values,
}

/// The queue of data at a host's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostQueue {
    /// A limited queue, with one packet of each sender in turn.
    Fair(Amount),
    /// A limited queue, which each sender fills in its turn.
    Fifo(Amount),
    /// An unlimited queue for all data.
    Unlimited,
}

impl HostQueue {
    /// As BQL: one packet in transmission and one queued.
    const FAIR: Amount = Amount::Packets(2);
    /// As Linux: its `DEFAULT_TX_QUEUE_LEN`.
    const FIFO: Amount = Amount::Packets(1000);

    fn from_values(values: &Values) -> Result<HostQueue, Problem> {
        let limit = values.amount_if_set("host_buffer");
        match (values.choice("host_queue"), limit) {
            ("fair", limit) => Ok(HostQueue::Fair(limit.unwrap_or(HostQueue::FAIR))),
            ("fifo", limit) => Ok(HostQueue::Fifo(limit.unwrap_or(HostQueue::FIFO))),
            (_, None) => Ok(HostQueue::Unlimited),
            (unlimited, Some(_)) => {
                let problem = format!("limits nothing where `host_queue` is \"{unlimited}\"");
                Err(Problem::new("host_buffer", problem).hint("write host_queue = \"fair\" or \"fifo\""))
            }
        }
    }
}

/// Buffers and marking of every switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Size for the whole switch, or for each port, where a switch has none of its own.
    pub buffer: Amount,
    /// Division of the buffer among ports.
    pub sharing: Sharing,
    /// Marking thresholds; `None` means no marking.
    pub marks: Marks,
    /// Drops packets above the threshold that are not ECN-capable.
    pub drop_non_ect: bool,
}

impl Network {
    /// Checks the buffers of a lossless network whose packets have up to `largest` bytes without their frame.
    ///
    /// # Errors
    /// A buffer is too small for thresholds and headroom.
    pub fn check_lossless(&self, largest: Bytes) -> Result<(), Problem> {
        let Some(lossless) = Lossless::from_values(&self.settings) else { return Ok(()) };
        let buffers = (self.switch.buffer, self.switch.sharing);
        lossless.divide(&self.graph, buffers, self.host_jitter, largest + self.frame_overhead).map(|_| ())
    }

    /// Returns the network of the checked values of `[network]`.
    ///
    /// # Errors
    /// `host_buffer` limits a queue that is unlimited, `buffer` names switches wrongly, a marker's keys do not fit, or a
    /// lossless network drops packets.
    pub fn from_values(values: &Values, mut graph: Graph) -> Result<Network, Problem> {
        let buffer =
            graph.set_buffers(&values.amount_by_switch("buffer")).map_err(|why| Problem::new("buffer", why))?;
        marker::check(values, &graph)?;
        Lossless::check(values, &graph)?;
        Ok(Network {
            graph,
            switch: Switch {
                buffer,
                sharing: Sharing::from_values(values),
                marks: values.marks_if_set("mark").unwrap_or(Marks { host: None, uplink: None }),
                drop_non_ect: values.choice("non_ect") == "drop",
            },
            frame_overhead: values.size("frame_overhead"),
            host_jitter: values.time_if_set("host_jitter"),
            host_queue: HostQueue::from_values(values)?,
            settings: values.clone(),
        })
    }

    /// Returns the disciplines and the marker of ports: as the scenario sets them, else as the run's transports and
    /// priorities require.
    pub fn service(&self, transports: &[Transport], priorities: &Priorities) -> Service {
        let needs = || transports.iter().map(Transport::needs);
        let by_class = || priorities.discipline();
        let asked = || needs().find_map(|needs| needs.discipline).or_else(by_class);
        let switches = self.settings.choice_if_set("discipline").or_else(asked).unwrap_or(FIFO);
        let switches = qdisc::find(switches).expect("keys and needs name only disciplines of the list");
        let hosts =
            if switches.at_hosts { switches } else { qdisc::find(FIFO).expect("`fifo` is a discipline of the list") };
        let asked = || needs().find_map(|needs| needs.marking);
        let marking = match self.settings.choice_if_set("marking").or_else(asked) {
            Some(name) => marker::find(name).expect("keys and needs name only markers of the list"),
            None => &MARKERS[0],
        };
        let trim = Trim::from_values(&self.settings);
        let records = needs().any(|needs| needs.records);
        let lossless = lossless::is_lossless(&self.settings);
        let at_departure = marker::at_departure(&self.settings);
        let weights = priorities.weights().to_vec();
        Service { switches, hosts, marking, at_departure, weights, trim, records, lossless }
    }

    /// Returns whether hosts have several links, over which the packets of a message are sprayed.
    pub fn sprays(&self) -> bool {
        balance::of(&self.settings).sprays == Sprays::AtHosts && self.graph.hosts_route()
    }

    /// Returns the properties of the network that transports may use.
    pub fn surroundings(&self) -> Surroundings {
        let longest = self.graph.longest_round_trip(Surroundings::PACKET, Surroundings::ACK);
        Surroundings {
            line_rate: longest.first.max(Rate(1)),
            base_rtt: longest.round_trip,
            per_kilobyte: longest.per_kilobyte,
            longest_queue: self.longest_queue(),
            hops: longest.links,
            reorders: balance::of(&self.settings).reorders(),
            trims: Trim::from_values(&self.settings).is_some(),
        }
    }

    /// Returns the longest time for which a switch may queue a packet.
    fn longest_queue(&self) -> Span {
        let of_switches = self.graph.links.iter().filter_map(|link| {
            let switch = self.graph.switches.get(link.from.checked_sub(self.graph.hosts)? as usize)?;
            if switch.unlimited {
                return Some(Span::MAX);
            }
            let buffer = match switch.buffer.unwrap_or(self.switch.buffer) {
                Amount::Bytes(bytes) => bytes,
                Amount::Packets(packets) => packets.saturating_mul(Surroundings::PACKET.0),
            };
            Some(Span::from_ps_f64(buffer as f64 * 8e12 / link.rate.as_bps_f64().max(1.0)))
        });
        of_switches.max().unwrap_or(Span::ZERO)
    }
}

const FIFO: &str = "fifo";

/// The disciplines and the marker of ports.
#[derive(Clone)]
pub struct Service {
    /// The discipline of the switches' ports.
    pub switches: &'static qdisc::Descriptor,
    /// The discipline of the hosts' ports.
    pub hosts: &'static qdisc::Descriptor,
    /// The marker of the switches' ports.
    pub marking: &'static marker::Descriptor,
    /// Markers decide on a packet when its transmission begins, not on its arrival.
    pub at_departure: bool,
    /// The weight of each priority of the run's packets, for disciplines that use them.
    pub weights: Vec<f64>,
    /// How the switches' ports trim packets, if they do.
    pub trim: Option<Trim>,
    /// The switches' ports write records into packets at their departure.
    pub records: bool,
    /// The ports before switches may be paused, and nothing is dropped.
    pub lossless: bool,
}
