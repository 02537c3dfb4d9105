//! Compiles the law for the host.

fn main() {
    for header in
        ["../bpf/law.h", "../bpf/queue.h", "../bpf/plus.h", "../bpf/law_tables.h", "../include/d2tcp.h", "src/law.c"]
    {
        println!("cargo:rerun-if-changed={header}");
    }
    cc::Build::new()
        .file("src/law.c")
        .include("../bpf")
        .include("../include")
        .warnings_into_errors(true)
        .extra_warnings(true)
        .flag_if_supported("-std=c11")
        .compile("law");
}
