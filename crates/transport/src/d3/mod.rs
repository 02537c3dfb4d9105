//! D3's family: the network grants rates on request.
//!
//! The sending end requests a rate once per round trip. The [`Router`] of every port on the path answers by adding a
//! grant to the request's [`Header`]. The receiving end returns it, and the sending end paces at the smallest grant. A
//! transport of this family is one file here and one line in [`DESCRIPTORS`].

mod agent;
mod asks;
mod header;
mod rcpdc;
mod sender;

pub use agent::{Agents, Router};
pub use asks::{Config, Rounding};
pub use header::{Ask, Header};
pub use sender::Sender;

use crate::connection::{RATE, SRTT};
use crate::controllers::Ecn;
use crate::header_echo::{self, How, Returns};
use crate::{Descriptor, Signal};

/// Connections of one host share nothing beyond its port.
pub type Host = ();

/// The receiving end of a connection.
pub type Receiver = header_echo::Receiver<Config>;

impl Returns for Config {
    const ECN: Ecn = Ecn::Off;

    fn how(header: &crate::Header) -> How {
        // The sender expects no answer to a FIN.
        let over = matches!(header, crate::Header::D3(request) if request.ask == Ask::Close);
        if over { How::Never } else { How::AtOnce }
    }
}

/// See [`Entry::reads`](crate::registry::Entry::reads): the keys of segments, ACKs, timers and loss recovery.
pub(crate) const READS: Option<&[&str]> = Some(crate::stream::READS);

/// The family's transports, in the order of `duetime transports`.
pub(crate) const DESCRIPTORS: &[Descriptor<Config>] = &[asks::DESCRIPTOR, rcpdc::DESCRIPTOR];

/// The needs of the family from switches.
const GRANTS: &str = "a rate for each request: a header that every port reads and writes, three counters per port";

/// The signals of the family.
const SIGNALS: &[Signal] = &[SRTT, RATE, REQUEST];
/// The requested rate, with headers.
const REQUEST: Signal =
    Signal { name: "request", help: "the rate that was last asked for, with headers (D3's family)", unit: "Mbit/s" };
