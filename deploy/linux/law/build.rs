//! Compiles the law for the host.

fn main() {
    for header in ["budget.h", "law.h", "law_tables.h", "plus.h", "queue.h"]
        .map(|name| format!("../bpf/{name}"))
        .into_iter()
        .chain(["../include/d2tcp.h", "src/law.c"].map(String::from))
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
