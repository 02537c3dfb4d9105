//! All tests of the transports as one program, which is compiled and linked once.

mod by_hand;
mod common;
mod d2tcp_queue;
mod every_transport;
mod go_back_n;
mod grants;
mod header_echo;
mod kernel_vectors;
mod marks;
mod mcp;
mod pacing;
mod pdq;
mod pfabric;
mod rates;
mod receive;
mod rfc2018;
mod rfc3168;
mod rfc5681;
mod rfc6298;
mod rfc6582;
mod rfc6675;
mod rfc8257;
mod rfc8985;
mod rfc9438;
mod sending;
