//! The bound of the data in flight of controllers that pace at a rate.

use units::{Span, Values};

use super::Cwnd;
use crate::connection;

/// The largest window, in segments: none.
pub(super) const MOST: f64 = 1e9;

/// A bound of the data in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    kind: Kind,
    /// The round trip of the product, in picoseconds.
    round_trip: f64,
    /// Packets of a window beside the product: a part of one, and ones with a delayed ACK.
    held_back: f64,
    packet_bits: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Fixed,
    Scaled,
    None,
}

impl Bound {
    /// Reads the key `window`, for a round trip.
    pub(super) fn from_values(values: &Values, connection: &connection::Config, round_trip: Span) -> Bound {
        Bound {
            kind: match values.choice("window") {
                "fixed" => Kind::Fixed,
                "scaled" => Kind::Scaled,
                _ => Kind::None,
            },
            round_trip: round_trip.0 as f64,
            held_back: 1.0 + f64::from(connection.ack_every),
            packet_bits: f64::from(connection.mss + connection.header) * 8.0,
        }
    }

    /// Sets the window, which only bounds the data in flight, for a rate on a link of the rate `line`.
    pub(super) fn set(&self, window: &mut Cwnd, rate: f64, line: f64) {
        let product = line * self.round_trip / 1e12 / self.packet_bits + self.held_back;
        let bound = match self.kind {
            Kind::Fixed => product,
            Kind::Scaled => product * rate / line,
            Kind::None => f64::MAX,
        };
        window.cwnd = bound.min(window.limit).clamp(1.0, MOST);
        window.ssthresh = window.cwnd;
    }
}
