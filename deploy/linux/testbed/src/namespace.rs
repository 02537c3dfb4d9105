//! The network namespace of a process, and the dropping of its privileges.

use std::fs;
use std::io::Error;
use std::path::Path;

use serde::Serialize;

use crate::{Result, line};

/// The message that the namespace exists.
#[derive(Serialize)]
struct Ready {
    pid: u32,
}

/// Moves to a new network namespace and reports it. The process ends with its parent.
pub fn enter_new() -> Result<()> {
    // SAFETY: neither call accesses memory.
    let done = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::unshare(libc::CLONE_NEWNET)
    };
    if done != 0 {
        return Err(format!("no network namespace of its own: {}", Error::last_os_error()).into());
    }
    line::write(&Ready { pid: std::process::id() })
}

/// Sets one of the namespace's parameters, such as `net.ipv4.tcp_ecn`.
pub fn set(name: &str, value: &str) -> Result<()> {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    fs::write(&path, value).map_err(|error| format!("{name} = {value}: {error}").into())
}

/// Joins a control group.
pub fn join(cgroup: &Path) -> Result<()> {
    fs::write(cgroup.join("cgroup.procs"), "0").map_err(|error| format!("{}: {error}", cgroup.display()).into())
}

/// Raises the priority above the machine's other processes, so that hosts wait for the network and not for the
/// processor. They sleep most of the time, and the kernel reserves a twentieth of the time for others anyway.
pub fn raise_priority() {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: `priority` is valid. If both calls are refused, the process continues unchanged.
    unsafe {
        if libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const priority) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, -10);
        }
    }
}

const CAP_NET_ADMIN: u32 = 12;

/// An element of the data of capset: struct __user_cap_data_struct of linux/capability.h. Version 3 needs two.
#[repr(C)]
struct Capabilities {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Changes to an ordinary user and drops all privileges, except CAP_NET_ADMIN if it is to be kept.
pub fn drop_privileges(user: u32, keep_net_admin: bool) -> Result<()> {
    let header = [0x2008_0522u32, 0]; // _LINUX_CAPABILITY_VERSION_3, this process
    let kept = if keep_net_admin { 1 << CAP_NET_ADMIN } else { 0 };
    let data = [
        Capabilities { effective: kept, permitted: kept, inheritable: 0 },
        Capabilities { effective: 0, permitted: 0, inheritable: 0 },
    ];
    // SAFETY: capset reads the two structures, which live until it returns; the other calls access no memory.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0
            && libc::setresgid(user, user, user) == 0
            && libc::setresuid(user, user, user) == 0
            && libc::syscall(libc::SYS_capset, header.as_ptr(), data.as_ptr()) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            // A change of user clears the signal at the parent's end, so it is set again.
            && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
    };
    if done { Ok(()) } else { Err(format!("privileges stay: {}", Error::last_os_error()).into()) }
}
