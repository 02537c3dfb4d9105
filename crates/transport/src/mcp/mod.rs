//! MCP with the path's price in a header: `mcp-opt`.
//!
//! Each data packet has a [`Header`], to which the agent of every port on the path adds its queue and the price of its
//! load; the receiving end returns it. The ends are the ends of window transports, with the law of `mcp`
//! (`controllers/rate/`).

mod agent;

pub use agent::{Agents, Price};

use crate::connection::{CWND, RATE, SRTT, SSTHRESH};
use crate::controllers::mcp::{ALIASES, Mcp};
use crate::controllers::rate::{BACKLOG, Feedback, GAMMA, NETWORK, keys};
use crate::controllers::{Controller, Ecn, dctcp};
use crate::header_echo::{self, Asks, How, Returns};
use crate::{Descriptor, Needs, Packet};

/// See [`Entry::reads`](crate::registry::Entry::reads): its ends are the ends of window transports.
pub(crate) const READS: Option<&[&str]> = None;

/// The family's transports, in the order of `duetime transports`.
pub(crate) const DESCRIPTORS: &[Descriptor<Config>] = &[Descriptor {
    name: "mcp-opt",
    help: "MCP with feedback from switches: paces at bytes left over time left, corrected by queues and prices that each \
           hop adds up in a header. Messages without a deadline as dctcp",
    source: "Chen, Hu, Chen, Wu, Tsang, HotNets 2013, (10): its MCP-Opt",
    aliases: ALIASES,
    groups: &[keys::DEMAND, keys::LAW, dctcp::KEYS, &dctcp::AS_RFC.keys()],
    needs: Needs::of(
        "a header in each packet to which every port adds what waits there and the price of its load",
        "sizes and deadlines from the application, and pacing",
    ),
    signals: &[CWND, SSTHRESH, SRTT, RATE, GAMMA, BACKLOG, NETWORK, dctcp::ALPHA],
    build: |values, connection| {
        let law = Controller::Mcp(Mcp::from_values(values, connection, Feedback::Header));
        Ok(Config { law, agents: Agents::from_values(values) })
    },
}];

/// Parameters of a connection's ends and of the ports on its path.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    law: Controller,
    agents: Agents,
}

impl Config {
    /// Returns the agents of every port.
    pub fn agents(&self) -> Option<Agents> {
        Some(self.agents)
    }
}

/// Connections of one host share nothing beyond its port.
pub type Host = ();

/// The sending end of a connection, whose packets request the price of each hop.
pub type Sender = header_echo::Sender<Config>;

impl Asks for Config {
    fn law(&self) -> Controller {
        self.law.clone()
    }

    fn header(_: &Packet) -> crate::Header {
        crate::Header::Mcp(Box::default())
    }

    fn hear(law: &mut Controller, header: &crate::Header) {
        if let (crate::Header::Mcp(answer), Controller::Mcp(law)) = (header, law) {
            law.paced().hear(answer.network, answer.largest);
        }
    }
}

/// The receiving end of a connection.
pub type Receiver = header_echo::Receiver<Config>;

impl Returns for Config {
    const ECN: Ecn = Ecn::Exact;

    fn how(_: &crate::Header) -> How {
        How::Acknowledged
    }
}

/// The header of data packets along their path, and of their acknowledgements on the way back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Header {
    /// The sum over all hops of the queue as a share of C tau, and the price of the load.
    pub network: f64,
    /// The rate of the largest link, in bit/s.
    pub largest: u64,
}
