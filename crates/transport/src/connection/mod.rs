//! What all TCP-like transports share: sequence space, loss recovery, timers, the receiver.

pub mod config;

pub use config::{Config, KEYS};
