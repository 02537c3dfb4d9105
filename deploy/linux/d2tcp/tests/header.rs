//! `d2tcp.h` in programs of C and C++, in old and new standards, with the installed compilers.

use std::process::{Command, Stdio};

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../include/d2tcp.h");
const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];

fn compiles(compiler: &str, language: &str, standard: &str) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    // Include it twice, and next to the header that defines TCP's other options.
    let text = format!(
        "#include <netinet/tcp.h>\n#include \"{HEADER}\"\n#include \"{HEADER}\"\n\
         int main(void) {{ struct d2tcp_state s; d2tcp_use(-1); d2tcp_get_state(-1, &s);\n\
         struct d2tcp_outcome o[8]; if (d2tcp_get_outcomes(-1, o, 8) != -1 || d2tcp_cancel(-1, 1) != -1) return 2;\n\
         if (d2tcp_announce(-1, 0, 1, 7, D2TCP_ENDS_PREVIOUS) != -1) return 3;\n\
         if (d2tcp_expect(-1, 1, 1) != -1) return 4;\n\
         return d2tcp_send_deadline(-1, 1, 1) == -1 && s.met == 0 ? 0 : 1; }}\n"
    );
    std::fs::write(&program, text).unwrap();
    let built = Command::new(compiler)
        .args([&format!("-std={standard}"), "-x", language])
        .args(WARNINGS)
        .arg(&program)
        .arg("-o")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{compiler} -std={standard}: {said}");
    assert!(Command::new(folder.path().join("out")).status().unwrap().success());
}

#[test]
fn the_header_is_c_and_cpp_without_a_warning() {
    let is_here = |compiler: &&str| {
        let mut asked = Command::new(compiler);
        asked.arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    for (compilers, language, standards) in
        [(["gcc", "clang"], "c", ["c99", "c11", "gnu17"]), (["g++", "clang++"], "c++", ["c++11", "c++17", "c++20"])]
    {
        for compiler in compilers {
            if !is_here(&compiler) {
                println!("SKIPPED: there is no {compiler}");
                continue;
            }
            standards.iter().for_each(|standard| compiles(compiler, language, standard));
        }
    }
}
