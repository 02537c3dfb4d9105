//! The record of a run: every message, samples and packets, and the outcome that they become.

pub mod arrivals;
pub mod message_log;
pub mod outcome;
pub mod packet_log;
pub mod rest;
pub mod rows;
