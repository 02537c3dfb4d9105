//! Capabilities: what is needed, and nothing else for longer than it is needed.

use caps::{CapSet, Capability};

use crate::failure::{Context, Failure, Kind, Result};

/// To load the programs and to attach them. CAP_SYS_ADMIN is needed besides only to mount bpffs, and to set the
/// default of a network namespace.
pub const TO_ATTACH: [Capability; 3] = [Capability::CAP_BPF, Capability::CAP_NET_ADMIN, Capability::CAP_PERFMON];

/// Of these, which are missing.
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

/// Fails if one is missing for `what`.
pub fn require(what: &str, needed: &[Capability]) -> Result<()> {
    let missing = missing(needed);
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
    Err(Failure::new(Kind::NotPermitted, format!("{what} needs {}: run it as root", names.join(", "))))
}

/// Gives up every capability but these, for good.
pub fn keep(kept: &[Capability]) -> Result<()> {
    // Sets that a kernel does not know, or that were empty from the start, are as they should be.
    let _ = caps::clear(None, CapSet::Ambient);
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).unwrap_or(false) {
        // What we have is not touched by it; what we start gets none.
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
    // SAFETY: numbers only.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    Ok(())
}
