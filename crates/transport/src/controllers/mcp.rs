//! `mcp`: paces at the rate that the deadline needs, corrected by the ECN marks of the network.
//!
//! The law itself is in `rate/`; with the path's price in a header instead of marks it is `mcp-opt`, in `crate::mcp`.

use units::{Instant, Values};

use super::dctcp::{self, ALPHA};
use super::rate::{BACKLOG, Feedback, GAMMA, NETWORK, Paced, QUEUE_ESTIMATE, by_paced, keys};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::connection::{self, RATE};
use crate::{Descriptor, Message, Needs, Observation, Site};

/// MCP by ECN alone.
pub(crate) const DESCRIPTOR: Descriptor<Mcp> = Descriptor {
    name: "mcp",
    help: "MCP: paces at bytes left over time left, corrected by what marks tell of queue and load; messages without a \
           deadline as dctcp",
    source: "Chen, Hu, Chen, Wu, Tsang, HotNets 2013, (11): its MCP-Approx",
    aliases: ALIASES,
    groups: &[keys::DEMAND, keys::LAW, keys::ECN, dctcp::KEYS, &dctcp::AS_RFC.keys()],
    needs: Needs::of(
        dctcp::ON_MARKS.switches,
        "sizes and deadlines from the application, pacing, an exact echo of marks",
    ),
    signals: &[RATE, GAMMA, BACKLOG, NETWORK, QUEUE_ESTIMATE, ALPHA],
    build: |values, connection| Ok(Mcp::from_values(values, connection, Feedback::Ecn)),
};

/// Other words for parameters of the law.
pub(crate) const ALIASES: &[units::Alias] = &[("kappa", "gain"), ("V", "price_weight")];

/// MCP's law, with any kind of feedback. (Boxed: it is larger than the controllers of most runs.)
#[derive(Clone, Debug, PartialEq)]
pub struct Mcp {
    paced: Box<Paced>,
}

impl Mcp {
    /// Reads the checked values of the groups above; the keys of marks only with that feedback.
    pub fn from_values(values: &Values, connection: &connection::Config, feedback: Feedback) -> Mcp {
        Mcp { paced: Box::new(Paced::from_values(values, connection, feedback)) }
    }

    /// Returns the pacing sender.
    pub(crate) fn paced(&mut self) -> &mut Paced {
        &mut self.paced
    }
}

impl Window for Mcp {
    by_paced!();
}
