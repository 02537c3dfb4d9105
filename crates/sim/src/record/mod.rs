//! The record of a run: every message, samples and packets, and the outcome that they become.

pub(crate) mod arrivals;
pub(crate) mod message_log;
pub mod outcome;
pub(crate) mod packet_log;
pub(crate) mod rest;
pub(crate) mod rows;
