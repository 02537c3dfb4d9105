//! `d2tcp check`: the features that this kernel supports, and the missing ones.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::attach;
use crate::escape::{self, Shown};
use crate::failure::{Failure, Kind, Result};
use crate::kernel::CONTROLS;
use crate::place::{self, Pins};
use crate::privileges;

#[derive(Serialize)]
struct Finding {
    what: &'static str,
    holds: bool,
    /// False if only one command needs it, which `detail` names.
    needed: bool,
    detail: String,
}

#[derive(Serialize)]
struct Report {
    kernel: String,
    supported: bool,
    findings: Vec<Finding>,
}

/// Runs `d2tcp check` and prints its findings.
pub fn run(pins: &Pins, json: bool) -> Result<()> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
    let findings = findings(pins);
    let missing: Vec<&str> =
        findings.iter().filter(|finding| finding.needed && !finding.holds).map(|finding| finding.what).collect();
    let permitted = privileges::missing(&privileges::TO_ATTACH).is_empty();
    let failed = (!missing.is_empty()).then(|| {
        let kind = if permitted { Kind::Unsupported } else { Kind::NotPermitted };
        Failure::new(kind, format!("missing: {}", missing.join(", ")))
    });
    let report = Report { kernel, supported: failed.is_none(), findings };
    if json {
        println!("{}", escape::json_lines(&report).expect("plain data always becomes JSON"));
    } else {
        println!("kernel {}", escape::lines(&report.kernel));
        for Finding { what, holds, needed, detail } in &report.findings {
            let answer = match (holds, needed) {
                (true, _) => "yes",
                (false, true) => "NO ",
                (false, false) => "no ",
            };
            println!("{answer} {what}: {}", escape::lines(detail));
        }
    }
    failed.map_or(Ok(()), Err)
}

fn findings(pins: &Pins) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |what, holds: bool, yes: &str, no: &str| {
        findings.push(Finding { what, holds, needed: true, detail: if holds { yes } else { no }.to_owned() });
        holds
    };
    let lacking: Vec<String> = privileges::missing(&privileges::TO_ATTACH).iter().map(ToString::to_string).collect();
    let permitted = add(
        "permission",
        lacking.is_empty(),
        "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are there",
        &format!("{} missing: run it as root; what follows can be told only in part", lacking.join(", ")),
    );
    let btf = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let types = Names::of(&btf);
    add(
        "description of types (BTF)",
        !btf.is_empty(),
        "/sys/kernel/btf/vmlinux is there",
        "/sys/kernel/btf/vmlinux is missing: a kernel with CONFIG_DEBUG_INFO_BTF is needed",
    );
    if !btf.is_empty() {
        add(
            "congestion controls in BPF",
            types.has("bpf_struct_ops_tcp_congestion_ops") || types.has("bpf_tcp_ca_ops"),
            "the kernel takes tcp_congestion_ops",
            "the kernel does not take tcp_congestion_ops: 5.6 or later with CONFIG_BPF_JIT and CONFIG_BPF_SYSCALL",
        );
        add(
            "links for them",
            types.has("BPF_STRUCT_OPS"),
            "attached controls can be pinned and exchanged",
            "attached controls can be neither pinned nor exchanged: 6.4 or later is needed",
        );
        add(
            "kernel structures in socket hooks",
            types.has("bpf_rdonly_cast") && types.has("bpf_cast_to_kern_ctx"),
            "bpf_rdonly_cast and bpf_cast_to_kern_ctx are there",
            "bpf_rdonly_cast or bpf_cast_to_kern_ctx is missing: 6.2 or later is needed",
        );
    }
    match place::cgroup_root() {
        Ok(path) => add("cgroup2", true, &format!("mounted at {}", path.shown()), ""),
        Err(failure) => add("cgroup2", false, "", &failure.message),
    };
    let accurate = place::accurate_ecn();
    add(
        "ECN",
        accurate.is_none(),
        "connections of this namespace negotiate it as RFC 3168 has it",
        accurate.as_deref().unwrap_or(""),
    );
    let bpffs = place::has_bpffs(pins);
    let known = fs::read_to_string("/proc/filesystems").is_ok_and(|kinds| kinds.contains("\tbpf\n"));
    let parent = pins.folder.parent().unwrap_or(Path::new("/")).shown().to_string();
    add(
        "bpffs",
        bpffs || known,
        &if bpffs { format!("mounted at {parent}") } else { format!("attach will mount it at {parent}") },
        "the kernel does not know this file system",
    );
    if permitted && !btf.is_empty() {
        for (what, programs) in [
            ("the congestion control loads", &["d2tcp_init", "d2tcp_cong_control"][..]),
            ("the deadline hook loads", &["d2tcp_setsockopt", "d2tcp_getsockopt"]),
            ("the selection loads", &["d2tcp_select"]),
            ("the measuring of a canary loads", &["d2tcp_arrive"]),
        ] {
            let tried = load_only(programs);
            add(what, tried.is_ok(), "the kernel accepts it", tried.as_ref().err().map_or("", |error| error));
        }
    }
    let (found, free) = (attach::require(pins), !place::is_registered(CONTROLS[0]));
    let hidden = found.as_ref().is_err_and(|failure| failure.kind == Kind::NotPermitted);
    add(
        "name",
        found.is_ok() || free || hidden,
        match found {
            Ok(_) => "attached now",
            _ if free => "no other control is called d2tcp",
            _ => "attached now, or another control is called d2tcp: root can tell",
        },
        "another control is called d2tcp: names are one for the whole kernel",
    );
    if permitted && !btf.is_empty() {
        let refused = load_only(&[attach::LISTING]).err();
        findings.push(Finding {
            what: "the list of connections loads",
            holds: refused.is_none(),
            needed: false,
            detail: refused.map_or("the kernel accepts it".to_owned(), |why| format!("{why}; only `top` needs it")),
        });
    }
    findings
}

/// Loads these programs without attaching them, and all programs of a control. Returns the kernel's reason if it
/// refuses.
fn load_only(programs: &[&str]) -> std::result::Result<(), String> {
    let mut open = attach::programs().map_err(|failure| failure.message)?;
    let control = programs[0] == "d2tcp_init";
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let of_control = !["d2tcp_setsockopt", "d2tcp_getsockopt", "d2tcp_select", "d2tcp_arrive", attach::LISTING]
            .contains(&&*name);
        program.set_autoload(if control { of_control } else { programs.contains(&&*name) });
    }
    if !control {
        for mut map in open.maps_mut() {
            if map.map_type() == libbpf_rs::MapType::StructOps {
                let _ = map.set_autocreate(false);
            }
        }
    }
    attach::complaints();
    open.load().map(|_| ()).map_err(|error| {
        let said = attach::complaints();
        format!("the kernel refuses it: {}", reason(&said).unwrap_or_else(|| error.to_string()))
    })
}

/// Returns the most informative line of the messages of libbpf and the verifier: the last one before the statistics.
fn reason(said: &str) -> Option<String> {
    let telling = |line: &&str| {
        let line = line.trim();
        !line.is_empty()
            && !line.starts_with("processed ")
            && !line.starts_with("--")
            && !line.starts_with("libbpf: failed to load object")
            && !line.starts_with("libbpf: prog '")
            && !line.starts_with("libbpf: map '")
            // libbpf's guess for every EPERM; the limit matters for kernels before 5.11 only.
            && !line.contains("try raising 'ulimit -l'")
    };
    said.lines().rfind(telling).map(|line| line.trim().trim_start_matches("libbpf: ").to_owned())
}

/// The names in a kernel's BTF, its description of types.
struct Names<'b> {
    strings: &'b [u8],
}

impl<'b> Names<'b> {
    /// Reads the string section of BTF, whose offset and length are in the header.
    fn of(btf: &'b [u8]) -> Names<'b> {
        let word = |at: usize| btf.get(at..at + 4).map(|b| u32::from_ne_bytes(b.try_into().expect("4 bytes")) as usize);
        let section = || {
            let begin = word(4)? + word(16)?;
            btf.get(begin..begin + word(20)?)
        };
        Names { strings: section().unwrap_or_default() }
    }
    fn has(&self, name: &str) -> bool {
        self.strings.split(|byte| *byte == 0).any(|known| known == name.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_the_section_of_strings() {
        let mut btf = vec![0u8; 24];
        btf[4..8].copy_from_slice(&24u32.to_ne_bytes());
        btf[20..24].copy_from_slice(&9u32.to_ne_bytes());
        btf.extend(b"\0one\0two\0");
        let names = Names::of(&btf);
        assert!(names.has("one") && names.has("two") && !names.has("on") && !names.has("three"));
        assert!(!Names::of(&btf[..10]).has("one"));
    }

    #[test]
    fn the_reason_is_the_verifiers_last_word() {
        let said = "libbpf: prog 'd2tcp_setsockopt': BPF program load failed: Invalid argument\n\
                    libbpf: prog 'd2tcp_setsockopt': -- BEGIN PROG LOAD LOG --\n\
                    calling kernel function bpf_rdonly_cast is not allowed\n\
                    processed 11 insns\n-- END PROG LOAD LOG --\n\
                    libbpf: failed to load object 'd2tcp_bpf'\n";
        assert_eq!(reason(said).unwrap(), "calling kernel function bpf_rdonly_cast is not allowed");
        assert_eq!(reason(""), None);
    }
}
