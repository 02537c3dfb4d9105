//! The common part of all window transports: parameters, the sending end of a window, the receiver.

pub(crate) mod config;
mod receiver;
mod sender;
mod usage;

pub use config::{ALIASES, Config, KEYS, NicLimit};
pub(crate) use config::{RECOVERIES, TOLERATED, packet, settle};
pub use receiver::Receiver;
pub use sender::Sender;

pub(crate) use sender::ENDLESS;

use crate::Signal;

/// The signals of every window transport, beside the signals of its congestion controller.
pub const SIGNALS: &[Signal] = &[CWND, SSTHRESH, SRTT];

/// The congestion window, in segments.
pub(crate) const CWND: Signal = Signal { name: "cwnd", help: "the congestion window", unit: "segments" };
/// The slow-start threshold; not shown while it is infinite.
pub(crate) const SSTHRESH: Signal =
    Signal { name: "ssthresh", help: "the slow-start threshold, once a loss or mark has set it", unit: "segments" };
/// The smoothed round-trip time.
pub(crate) const SRTT: Signal = Signal { name: "srtt", help: "the smoothed round-trip time", unit: "us" };
/// The rate in force, of transports that have one.
pub(crate) const RATE: Signal = Signal {
    name: "rate",
    help: "the rate at which it paces, with headers: granted by the network (D3's family, pdq), or its own (MCP's family, timely, hpcc, powertcp)",
    unit: "Mbit/s",
};
