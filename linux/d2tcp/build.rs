//! Compiles the programs for the kernel.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=../bpf");
    println!("cargo:rerun-if-changed=../include");
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("d2tcp.bpf.o");
    libbpf_cargo::SkeletonBuilder::new()
        .source("../bpf/d2tcp.bpf.c")
        .obj(object)
        // Every kernel that can load the programs knows these instructions, and all CPUs run the same code.
        .clang_args(["-mcpu=v3", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-sign-compare"])
        .build()
        .unwrap_or_else(|error| panic!("the programs for the kernel do not compile: {error:?}"));
}
