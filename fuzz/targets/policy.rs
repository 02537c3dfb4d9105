//! Any bytes as a policy of `d2tcp`. The tool is a program that links libbpf, so its reader is compiled here by itself.
#![no_main]
#![allow(dead_code, reason = "the tool uses the rest of these modules")]

#[path = "../../deploy/linux/d2tcp/src/escape.rs"]
mod escape;
#[path = "../../deploy/linux/d2tcp/src/excerpt.rs"]
mod excerpt;
#[path = "../../deploy/linux/d2tcp/src/failure.rs"]
mod failure;
#[path = "../../deploy/linux/d2tcp/src/kernel.rs"]
mod kernel;
#[path = "../../deploy/linux/d2tcp/src/parameters.rs"]
mod parameters;
#[path = "../../deploy/linux/d2tcp/src/place.rs"]
mod place;
#[path = "../../deploy/linux/d2tcp/src/policy.rs"]
mod policy;
#[path = "../../deploy/linux/d2tcp/src/rules.rs"]
mod rules;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| policy::read_any(bytes));
