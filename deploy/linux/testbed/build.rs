//! Compiles the marking program. `src/switch.rs` includes its skeleton.

use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("mark.skel.rs");
    // A distribution's clang searches asm/types.h only next to its own architecture's headers.
    let headers =
        format!("-I/usr/include/{}-linux-gnu", std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it"));
    SkeletonBuilder::new()
        .source("bpf/mark.bpf.c")
        .clang_args([headers])
        .build_and_generate(out)
        .expect("bpf/mark.bpf.c compiles with clang");
}
