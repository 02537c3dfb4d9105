#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| d2tcp_tool::read_any_policy(bytes));
