//! What all window transports share: parameters, the window's sending end, the receiver.

pub(crate) mod config;
mod receiver;
mod sender;

pub use config::{ALIASES, Config, KEYS};
pub use receiver::Receiver;
pub use sender::Sender;

pub(crate) use sender::ENDLESS;
