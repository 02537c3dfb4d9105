//! Transports whose packets collect records of the ports on their path (INT): `hpcc`, `powertcp`.
//!
//! Each data packet has [`Records`], into which every switch port writes when its transmission begins; the receiving end
//! returns them. The ends are the ends of window transports, with the laws of `controllers/telemetry/`. There are no agents:
//! agents see arrivals, and the records are of departures.

pub use crate::agent::NoAgents as Agents;
pub use crate::controllers::telemetry::Telemetry as Config;
pub use crate::records::{MAX_RECORDS, Record, Records, Records as Header};

pub(crate) use crate::controllers::telemetry::DESCRIPTORS;

use crate::Packet;
use crate::controllers::{Boxed, Controller, Ecn};
use crate::header_echo::{self, Asks, How, Returns};

/// See [`Entry::reads`](crate::registry::Entry::reads): its ends are the ends of window transports.
pub(crate) const READS: Option<&[&str]> = None;

impl Config {
    /// Returns none: ports write records without agents.
    pub fn agents(&self) -> Option<Agents> {
        None
    }
}

/// Connections of one host share nothing beyond its port.
pub type Host = ();

/// The sending end of a connection, whose data packets collect records.
pub type Sender = header_echo::Sender<Config>;

impl Asks for Config {
    fn law(&self) -> Controller {
        Controller::from(self.clone())
    }

    fn header(packet: &Packet) -> crate::Header {
        crate::Header::Telemetry(Box::new(Records::of_packet(packet.end())))
    }

    fn hear(law: &mut Controller, header: &crate::Header) {
        let (crate::Header::Telemetry(records), Controller::Boxed(law)) = (header, law) else { return };
        if let Boxed::Telemetry(law) = &mut **law {
            law.hear(records);
        }
    }
}

/// The receiving end of a connection.
pub type Receiver = header_echo::Receiver<Config>;

impl Returns for Config {
    const ECN: Ecn = Ecn::Off;

    fn how(_: &crate::Header) -> How {
        How::Acknowledged
    }
}
