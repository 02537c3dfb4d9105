//! Every quick test of this folder in one program, for `make mutants`, which would otherwise spend its time linking a
//! dozen of them for each mutant. `cargo test` leaves it out: it runs each file by itself.
#![allow(clippy::duplicate_mod, reason = "each file brings what they share")]

#[path = "by_hand.rs"]
mod by_hand;
#[path = "kernel_vectors.rs"]
mod kernel_vectors;
#[path = "marks.rs"]
mod marks;
#[path = "rates.rs"]
mod rates;
#[path = "rfc3168.rs"]
mod rfc3168;
#[path = "rfc5681.rs"]
mod rfc5681;
#[path = "rfc6298.rs"]
mod rfc6298;
#[path = "rfc6582.rs"]
mod rfc6582;
#[path = "rfc6675.rs"]
mod rfc6675;
#[path = "rfc8257.rs"]
mod rfc8257;
#[path = "rfc9438.rs"]
mod rfc9438;
