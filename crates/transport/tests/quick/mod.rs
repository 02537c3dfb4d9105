//! Every quick test of this folder as a module of the crate, for `make mutants`: one program is compiled and linked for
//! each mutant instead of a dozen. `cargo test` leaves this out.

#[path = "../by_hand.rs"]
mod by_hand;
#[path = "../common/mod.rs"]
mod common;
#[path = "../d2tcp_queue.rs"]
mod d2tcp_queue;
#[path = "../go_back_n.rs"]
mod go_back_n;
#[path = "../grants.rs"]
mod grants;
#[path = "../header_echo.rs"]
mod header_echo;
#[path = "../kernel_vectors.rs"]
mod kernel_vectors;
#[path = "../marks.rs"]
mod marks;
#[path = "../mcp.rs"]
mod mcp;
#[path = "../pacing.rs"]
mod pacing;
#[path = "../pdq.rs"]
mod pdq;
#[path = "../pfabric.rs"]
mod pfabric;
#[path = "../rates.rs"]
mod rates;
#[path = "../receive.rs"]
mod receive;
#[path = "../rfc2018.rs"]
mod rfc2018;
#[path = "../rfc3168.rs"]
mod rfc3168;
#[path = "../rfc5681.rs"]
mod rfc5681;
#[path = "../rfc6298.rs"]
mod rfc6298;
#[path = "../rfc6582.rs"]
mod rfc6582;
#[path = "../rfc6675.rs"]
mod rfc6675;
#[path = "../rfc8257.rs"]
mod rfc8257;
#[path = "../rfc8985.rs"]
mod rfc8985;
#[path = "../rfc9438.rs"]
mod rfc9438;
#[path = "../sending.rs"]
mod sending;
