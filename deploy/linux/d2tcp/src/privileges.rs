//! Capabilities: those needed, each for no longer than needed.

use caps::{CapSet, Capability};

use crate::failure::{Context, Failure, Kind, Result};

/// The capabilities to load and attach the programs. CAP_SYS_ADMIN is needed in addition only to mount bpffs, and to
/// set the default of a network namespace.
pub const TO_ATTACH: [Capability; 3] = [Capability::CAP_BPF, Capability::CAP_NET_ADMIN, Capability::CAP_PERFMON];

/// Returns the capabilities of `needed` that are missing.
pub fn missing(needed: &[Capability]) -> Vec<Capability> {
    let has = |capability: &Capability| caps::has_cap(None, CapSet::Effective, *capability).unwrap_or(false);
    // CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON.
    let all = has(&Capability::CAP_SYS_ADMIN);
    needed
        .iter()
        .filter(|capability| !(has(capability) || all && **capability != Capability::CAP_NET_ADMIN))
        .copied()
        .collect()
}

/// Fails if a capability is missing for `what`.
pub fn require(what: &str, needed: &[Capability]) -> Result<()> {
    let missing = missing(needed);
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
    Err(Failure::new(Kind::NotPermitted, format!("{what} needs {}: run it as root", names.join(", "))))
}

/// Drops every capability except these, permanently.
pub fn keep(kept: &[Capability]) -> Result<()> {
    // Ignore errors: a set may be unknown to the kernel, or already empty.
    let _ = caps::clear(None, CapSet::Ambient);
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).unwrap_or(false) {
        // Our own capabilities stay. Child processes get none.
        for capability in caps::all() {
            let _ = caps::drop(None, CapSet::Bounding, capability);
        }
    }
    let have = caps::read(None, CapSet::Permitted).context("read the capabilities")?;
    let left = have.intersection(&kept.iter().copied().collect()).copied().collect();
    for (set, wanted) in
        [(CapSet::Effective, &left), (CapSet::Inheritable, &Default::default()), (CapSet::Permitted, &left)]
    {
        caps::set(None, set, wanted).context("give up capabilities")?;
    }
    // SAFETY: the arguments are numbers.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    Ok(())
}
