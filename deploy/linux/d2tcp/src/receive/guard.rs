//! The guard: a second process that opens every window when the daemon has died or no longer answers.
//!
//! The programs in the kernel leave windows alone as soon as the daemon's links are closed, or its heartbeat is old.
//! But a sender with a closed window learns of that only by a packet. The guard sends it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering::Relaxed;

use super::frame::Wire;
use super::layout::{Control, Slot};
use crate::failure::{Context, Result};

/// The interval at which the guard looks at the heartbeat.
const LOOK_MS: i32 = 100;

/// The guard as the daemon knows it.
pub struct Guard {
    pid: libc::pid_t,
    /// The daemon's end of the pipe, which the kernel closes with the daemon.
    pipe: OwnedFd,
}

impl Guard {
    /// Starts the guard. `links` are descriptors that only the daemon may hold.
    pub fn start(slots: &[Slot], control: &Control, wire: &Wire, links: &[RawFd]) -> Result<Guard> {
        let mut ends = [0; 2];
        // SAFETY: there is room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error()).context("make a pipe");
        }
        // SAFETY: both descriptors are new and ours.
        let (read, write) = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
        // SAFETY: this process has a single thread, so that the child may continue as it.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()).context("start the guard"),
            0 => {
                drop(write);
                for link in links {
                    // SAFETY: the child's copies are used nowhere.
                    unsafe { libc::close(*link) };
                }
                watch(slots, control, wire, &read)
            }
            pid => Ok(Guard { pid, pipe: write }),
        }
    }

    /// Returns true if the guard has ended.
    pub fn has_ended(&self) -> bool {
        // SAFETY: without room for a status there is none.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::WNOHANG) != 0 }
    }

    /// Returns the guard's process.
    pub fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Ends the guard, which opens the windows that are still closed.
    pub fn end(self) {
        drop(self.pipe);
        // SAFETY: the process is our child.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

/// Waits for the daemon's end, and opens every window then, and whenever the heartbeat is old.
fn watch(slots: &[Slot], control: &Control, wire: &Wire, pipe: &OwnedFd) -> ! {
    // Keys at the terminal are for the daemon.
    // SAFETY: the arguments are numbers and a name that ends with a zero.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"d2tcp-guard".as_ptr());
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    let mut opened_for = 0;
    loop {
        let mut waiting = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: it is one entry.
        let ended = unsafe { libc::poll(&mut waiting, 1, LOOK_MS) } > 0;
        if ended {
            open_all(slots, wire);
            // SAFETY: the child has nothing to tidy up.
            unsafe { libc::_exit(0) };
        }
        let heartbeat = control.heartbeat_ns.load(Relaxed);
        let stale = now_ns().saturating_sub(heartbeat) > control.stale_ns.load(Relaxed);
        if stale && opened_for != heartbeat {
            opened_for = heartbeat;
            open_all(slots, wire);
        }
    }
}

/// Sends the kernel's own window to every peer whose window is smaller. Returns their number.
pub fn open_all(slots: &[Slot], wire: &Wire) -> usize {
    let reduced = slots.iter().filter(|slot| slot.generation.load(Relaxed) != 0 && slot.is_reduced());
    reduced.filter(|slot| wire.update(slot)).count()
}

/// Returns the time of the kernel's programs.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
