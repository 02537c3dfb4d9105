//! The transports, pure: told what happens and when, they say what to send.
//!
//! They own no clock, queue, socket or thread. [`registry::TRANSPORTS`] is the list of them all; a
//! window transport is one file under `laws/` and one line in [`laws`]. A family that talks to switches is a
//! folder, such as [`d3`], and one line in `families.rs`: its header, its [`agent`] at each port, its ends.
//!
//! Whoever runs them hands each end of a connection its packets and timers together with the
//! time, and an [`Output`] that takes what the end wants done.

#![forbid(unsafe_code)]

pub mod agent;
pub mod connection;
pub mod d3;
mod descriptor;
mod families;
pub mod laws;
mod pacing;
mod packet;
mod recovery;
pub mod registry;

pub use descriptor::{Build, Descriptor};
pub use families::{Agents, Header, Receiver, Sender};
pub use packet::{Blocks, Extension, Flags, Packet};

use units::Time;

/// What an end of a connection may ask of whoever runs it.
pub trait Output {
    /// Puts a packet into the host's NIC queue.
    fn send(&mut self, packet: Packet);
    /// Puts a packet with more than its header into the host's NIC queue.
    fn send_extended(&mut self, packet: Packet, extension: Extension);
    /// Asks to be woken at `at` or earlier; an earlier request stays in force.
    fn arm(&mut self, at: Time);
    /// Says that the retransmission timer expired, for the statistics.
    fn timed_out(&mut self);
    /// Says that the message that ends at position `end` of the stream is given up and that its last
    /// `unsent` bytes will never be sent, so that it and those after it end that much earlier.
    fn abandon(&mut self, end: u64, unsent: u64);
}

/// A message as it is handed to a connection's sending end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Its size; none for a flow without end.
    pub bytes: Option<u64>,
    /// When its last byte should have arrived, if that matters.
    pub deadline: Option<Time>,
    /// What the application says of it: short, long, or nothing.
    pub short: Option<bool>,
    /// The priority of its packets where switches have priorities, or [`Packet::UNTAGGED`].
    pub priority: u8,
}

impl Message {
    /// A message of so many bytes, with nothing else said of it.
    pub fn of(bytes: u64) -> Message {
        Message { bytes: Some(bytes), deadline: None, short: None, priority: Packet::UNTAGGED }
    }
}

/// What can be observed of a connection's sending end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// Congestion window, in segments, for transports that have one.
    pub cwnd: Option<f64>,
    /// Slow-start threshold, in segments, for transports that have one.
    pub ssthresh: Option<f64>,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Time>,
    /// Extent of marking, for transports that estimate it.
    pub alpha: Option<f64>,
    /// Imminence of the deadline, for transports that know it.
    pub d: Option<f64>,
    /// The penalty that a cut would apply now.
    pub p: Option<f64>,
    /// The rate that the network has granted, in Mbit/s with headers, for transports that ask for one.
    pub rate: Option<f64>,
    /// The rate that was last asked for, in Mbit/s with headers, for transports that ask for one.
    pub request: Option<f64>,
}
