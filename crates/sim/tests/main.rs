//! All tests of the simulator as one program, which is compiled and linked once.

mod alone;
mod balance;
mod common;
mod cool_down;
mod cutoffs;
mod engine;
mod faults;
mod grants;
mod host_queue;
mod hosts;
mod lockstep;
mod mcp;
mod nic;
mod packets;
mod paths;
mod peers;
mod ports;
mod rates;
mod receive;
mod recovery;
mod shared;
mod stages;
mod taken;
mod threads;
mod trees;
mod trimming;
