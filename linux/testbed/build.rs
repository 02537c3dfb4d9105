//! Compiles the marking program; its skeleton is included by `src/switch.rs`.

use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("mark.skel.rs");
    // A distribution's clang looks for asm/types.h only where its own architecture's headers are.
    let headers =
        format!("-I/usr/include/{}-linux-gnu", std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it"));
    SkeletonBuilder::new()
        .source("bpf/mark.bpf.c")
        .clang_args([headers])
        .build_and_generate(out)
        .expect("bpf/mark.bpf.c compiles with clang");
}
