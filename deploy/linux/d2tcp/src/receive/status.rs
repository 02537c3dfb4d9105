//! The state of the daemon, by a socket in the file system.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::connections::{Counts, Shown};
use crate::escape::{self, Shown as _};
use crate::failure::{Context, Failure, Kind, Result};

/// The time for which the daemon waits for a client, which would hold the schedule up.
const PATIENCE: Duration = Duration::from_millis(20);

/// The state of the daemon.
#[derive(Serialize)]
pub struct State {
    /// The name of the interface.
    pub interface: String,
    /// The rate of payload that the schedule assumes.
    pub rate_mbps: f64,
    /// True if the rate follows from the traffic.
    pub rate_is_measured: bool,
    /// The credit, in bytes.
    pub credit: u64,
    /// The process of the guard.
    pub guard: i32,
    /// The processor's time that the daemon has taken.
    pub cpu_s: f64,
    /// The number of scheduled connections.
    pub connections: usize,
    /// Counts of messages and decisions.
    #[serde(flatten)]
    pub counts: Counts,
    /// Packets whose window was reduced.
    pub packets_reduced: u64,
    /// Packets that passed because the daemon gave no sign of life.
    pub packets_passed_by_age: u64,
    /// Connections that found no room.
    pub unscheduled: u64,
    /// Events that found no room.
    pub lost_events: u64,
    /// Every scheduled connection, by its slot.
    pub each: Vec<Shown>,
}

/// Returns the processor's time of this process, in seconds.
pub fn cpu_seconds() -> f64 {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: there is room for the answer.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The socket at which the daemon answers.
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// Opens the socket. A file that a killed daemon left is replaced.
    pub fn open(path: &Path) -> Result<Door> {
        if UnixStream::connect(path).is_ok() {
            let message = format!("a daemon runs already, and answers at {}", path.shown());
            return Err(Failure::new(Kind::Attached, message));
        }
        let is_socket = |about: fs::Metadata| std::os::unix::fs::FileTypeExt::is_socket(&about.file_type());
        if fs::symlink_metadata(path).is_ok_and(is_socket) {
            fs::remove_file(path).context(format!("remove {}", path.shown()))?;
        }
        let listener = UnixListener::bind(path).context(format!("listen at {}", path.shown()))?;
        let made = fs::set_permissions(path, fs::Permissions::from_mode(0o600)).and(listener.set_nonblocking(true));
        made.context(format!("listen at {}", path.shown()))?;
        Ok(Door { listener, path: path.to_owned() })
    }

    /// Returns the descriptor to wait for.
    pub fn descriptor(&self) -> RawFd {
        self.listener.as_raw_fd()
    }

    /// Sends the state to the next client.
    pub fn answer(&self, state: &State) {
        let Ok((mut client, _)) = self.listener.accept() else { return };
        let ready = client.set_nonblocking(false).and(client.set_write_timeout(Some(PATIENCE)));
        if let (Ok(()), Ok(text)) = (ready, escape::json(state)) {
            // A client that has left needs no answer.
            let _ = client.write_all(text.as_bytes());
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Prints the state of the daemon behind a socket.
pub fn print(path: &Path, json: bool) -> Result<()> {
    let mut stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            Failure::new(Kind::NotAttached, format!("no daemon answers at {}", path.shown()))
        }
        ErrorKind::PermissionDenied => {
            Failure::new(Kind::NotPermitted, format!("{} may not be opened: run it as root", path.shown()))
        }
        _ => Failure::new(Kind::Failed, format!("could not open {}: {error}", path.shown())),
    })?;
    let mut text = String::new();
    stream.read_to_string(&mut text).context("read the daemon's answer")?;
    let state: Value = serde_json::from_str(&text).context("understand the daemon's answer")?;
    if json {
        println!("{text}");
    } else {
        print!("{}", in_words(&state));
    }
    Ok(())
}

fn in_words(state: &Value) -> String {
    let number = |key: &str| state[key].as_u64().unwrap_or(0);
    let float = |key: &str| state[key].as_f64().unwrap_or(0.0);
    let measured = if state["rate_is_measured"] == true { ", as measured" } else { "" };
    let shown = |name: &str| escape::lines(state[name].as_str().unwrap_or_default());
    let messages = (number("met") + number("missed")).max(1);
    format!(
        "interface {}: {:.0} Mbit/s of payload{measured}, credit {} bytes\n\
         connections {} (without a place: {})\n\
         messages: {} met, {} missed ({:.2} %), {} set back; {} announced, {} by rule\n\
         daemon: {} decisions, {} window updates, {} packets reduced, {:.2} s of a processor; guard {}\n",
        shown("interface"),
        float("rate_mbps"),
        number("credit"),
        number("connections"),
        number("unscheduled"),
        number("met"),
        number("missed"),
        number("missed") as f64 / messages as f64 * 100.0,
        number("set_back"),
        number("announced"),
        number("requested"),
        number("plans"),
        number("updates"),
        number("packets_reduced"),
        float("cpu_s"),
        number("guard"),
    )
}
