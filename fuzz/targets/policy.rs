//! Any bytes as a policy of `d2tcp`. The tool is a program that links libbpf, so its reader is compiled here by itself.
#![no_main]
#![allow(dead_code, reason = "the tool uses the rest of these modules")]

#[path = "../../linux/d2tcp/src/escape.rs"]
mod escape;
#[path = "../../linux/d2tcp/src/excerpt.rs"]
mod excerpt;
#[path = "../../linux/d2tcp/src/failure.rs"]
mod failure;
#[path = "../../linux/d2tcp/src/kernel.rs"]
mod kernel;
#[path = "../../linux/d2tcp/src/parameters.rs"]
mod parameters;
#[path = "../../linux/d2tcp/src/place.rs"]
mod place;
#[path = "../../linux/d2tcp/src/policy.rs"]
mod policy;
#[path = "../../linux/d2tcp/src/rules.rs"]
mod rules;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| policy::read_any(bytes));
