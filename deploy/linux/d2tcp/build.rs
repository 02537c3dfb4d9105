//! Compiles the kernel's programs: of the tool, and of the wire in its tests.

use std::env;
use std::path::PathBuf;

fn main() {
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for seen in ["../bpf", "../include", "tests/wire.bpf.c"] {
        println!("cargo:rerun-if-changed={seen}");
    }
    compile("../bpf/d2tcp.bpf.c", folder.join("d2tcp.bpf.o"));
    compile("../bpf/receive.bpf.c", folder.join("receive.bpf.o"));
    let wire = folder.join("wire.bpf.o");
    compile("tests/wire.bpf.c", wire.clone());
    println!("cargo:rustc-env=WIRE_OBJECT={}", wire.display());
}

fn compile(source: &str, object: PathBuf) {
    libbpf_cargo::SkeletonBuilder::new()
        .source(source)
        .obj(object)
        // Every kernel that can load the programs knows these instructions, and all CPUs run the same code.
        .clang_args(["-mcpu=v3", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-sign-compare"])
        .build()
        .unwrap_or_else(|error| panic!("{source} does not compile: {error:?}"));
}
