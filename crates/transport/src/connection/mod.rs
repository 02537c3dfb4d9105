//! What all TCP-like transports share: sequence space, loss recovery, timers, the receiver.

mod config;
mod ranges;
mod receiver;
mod rto;
mod scoreboard;
mod sender;

pub use config::{ALIASES, Config, KEYS};
pub use receiver::Receiver;
pub use sender::Sender;

pub(crate) use rto::RtoEstimator;
pub(crate) use scoreboard::Scoreboard;
pub(crate) use sender::{ENDLESS, rules};
