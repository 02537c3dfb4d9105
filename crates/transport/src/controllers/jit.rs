//! `jit`: paces at the rate that the deadline needs, whatever the network's state. A yardstick for MCP's law.

use units::Instant;

use super::dctcp::{self, ALPHA};
use super::rate::{Feedback, GAMMA, Paced, by_paced, keys};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::connection::RATE;
use crate::{Descriptor, Message, Needs, Observation, Site};

/// The descriptor of just-in-time pacing.
pub(super) const DESCRIPTOR: Descriptor<Jit> = Descriptor {
    name: "jit",
    help: "just in time, a yardstick: paces at bytes left over time left and hears nothing of the network; messages \
           without a deadline as dctcp",
    source: "our choice: where it does as well as MCP, a result says nothing of MCP's law",
    aliases: &[],
    groups: &[keys::DEMAND, dctcp::KEYS, &dctcp::AS_RFC.keys()],
    needs: Needs::of("nothing", "sizes and deadlines from the application, and pacing"),
    signals: &[RATE, GAMMA, ALPHA],
    build: |values, connection| Ok(Jit { paced: Box::new(Paced::from_values(values, connection, Feedback::None)) }),
};

/// A sender that paces at gamma.
#[derive(Clone, Debug, PartialEq)]
pub struct Jit {
    paced: Box<Paced>,
}

impl Window for Jit {
    by_paced!();
}
