//! A host: sends messages at their times, and records the arrival of messages of other hosts.
//!
//! Input: [`Setup`], then [`Go`]. Output: a line with its pid, one when it listens, and [`Report`] at the end.

use std::collections::BTreeMap;
use std::io::Error;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::receiver::{Incoming, Ledger, Received};
use crate::sender::{Message, Outgoing, Sent};
use crate::socket::{Socket, check};
use crate::{Result, clock, line, namespace};

/// The maximum number of bytes written in one turn, six segments, before other connections get theirs.
const AT_ONCE: usize = 1 << 13;

/// The configuration of a host.
#[derive(Deserialize)]
struct Setup {
    /// The parameters of its namespace.
    sysctl: Vec<(String, String)>,
    /// The cgroup of D2TCP's hooks.
    cgroup: Option<PathBuf>,
    /// The user under which it runs.
    user: u32,
    /// True to keep CAP_NET_ADMIN, which some congestion controls require.
    net_admin: bool,
    listen: Vec<Listen>,
    /// The messages, in the order of their times.
    messages: Vec<Message>,
    sample_ns: Option<i64>,
}

#[derive(Deserialize)]
struct Listen {
    address: SocketAddr,
    control: String,
}

/// The time of the start, on the monotonic clock, and the durations.
#[derive(Deserialize)]
struct Go {
    start_ns: i64,
    duration_ns: i64,
    warm_up_ns: i64,
}

#[derive(Serialize)]
struct Listening {
    listening: usize,
}

#[derive(Serialize)]
struct Report {
    sent: Vec<Sent>,
    received: BTreeMap<u64, Received>,
    segments: u64,
    samples: Vec<Sample>,
}

/// A sample: its signal, its time after the start, its message and its value.
#[derive(Serialize)]
struct Sample(&'static str, i64, u64, f64);

/// Runs the host from its setup to its report.
pub fn main() -> Result<()> {
    namespace::enter_new()?;
    let setup: Setup = line::read()?;
    for (name, value) in &setup.sysctl {
        namespace::set(name, value)?;
    }
    if let Some(cgroup) = &setup.cgroup {
        namespace::join(cgroup)?;
    }
    namespace::raise_priority();
    namespace::drop_privileges(setup.user, setup.net_admin)?;
    let mut host = Host::new(&setup)?;
    line::write(&Listening { listening: setup.listen.len() })?;
    let go: Go = line::read()?;
    host.run(&setup, &go)?;
    line::write(&host.report())?;
    line::wait_for_end()
}

/// The subject of an event.
enum Peer {
    Listener(Socket),
    Incoming(Incoming),
    Outgoing(Outgoing),
}

struct Host {
    poll: OwnedFd,
    peers: BTreeMap<RawFd, Peer>,
    /// The shared connection to each address, for persistent messages.
    persistent: BTreeMap<(SocketAddr, String), RawFd>,
    ledger: Ledger,
    sent: Vec<Sent>,
    samples: Vec<Sample>,
    zeros: Vec<u8>,
}

impl Host {
    fn new(setup: &Setup) -> Result<Host> {
        // SAFETY: the descriptor is new.
        let poll = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let mut host = Host {
            poll,
            peers: BTreeMap::new(),
            persistent: BTreeMap::new(),
            ledger: Ledger { messages: BTreeMap::new(), segments: 0, counted_from_ns: i64::MAX },
            sent: Vec::new(),
            samples: Vec::new(),
            zeros: vec![0; AT_ONCE],
        };
        for Listen { address, control } in &setup.listen {
            let socket = Socket::listen(address, control).map_err(|error| format!("{address}: {error}"))?;
            host.watch(socket.as_raw_fd(), libc::EPOLLIN)?;
            host.peers.insert(socket.as_raw_fd(), Peer::Listener(socket));
        }
        Ok(host)
    }

    fn run(&mut self, setup: &Setup, go: &Go) -> Result<()> {
        let end = go.start_ns + go.duration_ns;
        self.ledger.counted_from_ns = go.start_ns + go.warm_up_ns;
        let mut next_sample = setup.sample_ns.map(|step| go.start_ns + step);
        let mut waiting = setup.messages.iter();
        let mut next = waiting.next();
        loop {
            let now = clock::now();
            if now >= end {
                return Ok(());
            }
            while let Some(message) = next.filter(|message| go.start_ns + message.at_ns <= now) {
                self.start(message.clone(), go.start_ns + message.at_ns);
                next = waiting.next();
                give_way();
            }
            if let (Some(at), Some(step)) = (next_sample, setup.sample_ns)
                && now >= at
            {
                self.sample(at - go.start_ns, step);
                // A sample that is late by more than a step is skipped.
                next_sample = Some(at + step * ((now - at) / step + 1));
            }
            let times = [next.map(|message| go.start_ns + message.at_ns), next_sample];
            let until = times.into_iter().flatten().fold(end, i64::min);
            self.wait(until)?;
        }
    }

    /// Starts a message that was due at `due_ns`.
    fn start(&mut self, message: Message, due_ns: i64) {
        let number = message.number;
        let key = (message.to, message.control.clone());
        if message.persistent
            && let Some(fd) = self.persistent.get(&key).copied()
        {
            let Some(Peer::Outgoing(connection)) = self.peers.get_mut(&fd) else {
                unreachable!("an open connection is a peer")
            };
            match connection.push(message, due_ns, &mut self.sent, &self.zeros) {
                Ok(()) => self.rewatch(fd),
                Err(error) => self.close(fd, Some(error.to_string())),
            }
            return;
        }
        let persistent = message.persistent;
        match Outgoing::open(message) {
            Ok(connection) => {
                let fd = connection.socket().as_raw_fd();
                if persistent {
                    self.persistent.insert(key, fd);
                }
                self.peers.insert(fd, Peer::Outgoing(connection));
                if let Err(error) = self.watch(fd, libc::EPOLLIN | libc::EPOLLOUT) {
                    self.close(fd, Some(error.to_string()));
                }
            }
            Err(error) => {
                let error = Some(error.to_string());
                self.sent.push(Sent { number, start_ns: clock::now(), error, ..Sent::default() });
            }
        }
    }

    fn wait(&mut self, until: i64) -> Result<()> {
        let left = (until - clock::now()).max(0);
        let timeout = libc::timespec { tv_sec: left / 1_000_000_000, tv_nsec: left % 1_000_000_000 };
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        // SAFETY: there is room for 64 events, and the timeout is valid. It is a raw system call, since not every libc
        // has the function.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.poll.as_raw_fd(),
                events.as_mut_ptr(),
                events.len() as i32,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        if ready < 0 {
            let error = Error::last_os_error();
            return if error.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(error.into()) };
        }
        for event in &events[..ready as usize] {
            self.handle(event.u64 as RawFd, event.events as i32);
        }
        give_way();
        Ok(())
    }

    fn handle(&mut self, fd: RawFd, events: i32) {
        match self.peers.get_mut(&fd) {
            None => {}
            Some(Peer::Listener(socket)) => {
                let mut accepted = Vec::new();
                while let Ok(Some(connection)) = socket.accept() {
                    accepted.push(connection);
                }
                for connection in accepted {
                    let fd = connection.as_raw_fd();
                    self.peers.insert(fd, Peer::Incoming(Incoming::new(connection)));
                    if self.watch(fd, libc::EPOLLIN).is_err() {
                        self.peers.remove(&fd);
                    }
                }
            }
            Some(Peer::Incoming(connection)) => {
                let open = connection.read(&mut self.ledger);
                if !open {
                    self.close(fd, None);
                }
            }
            Some(Peer::Outgoing(connection)) => {
                let error = if events & libc::EPOLLERR != 0 { connection.socket().error() } else { None };
                let over = events & (libc::EPOLLHUP | libc::EPOLLIN) != 0;
                let written = connection.write(&mut self.sent, &self.zeros);
                match error.or(written.err()) {
                    Some(error) => self.close(fd, Some(error.to_string())),
                    // The receiver sends no data, so a readable socket means its end.
                    None if over => self.close(fd, None),
                    None => self.rewatch(fd),
                }
            }
        }
    }

    fn sample(&mut self, at_ns: i64, step_ns: i64) {
        for (number, bytes) in self.ledger.sample() {
            self.samples.push(Sample("throughput", at_ns, number, bytes as f64 * 8e3 / step_ns as f64));
        }
        let under_way = self.peers.values().filter_map(|peer| match peer {
            Peer::Outgoing(connection) => connection.under_way(),
            _ => None,
        });
        for (number, socket) in under_way {
            let info = socket.info();
            self.samples.push(Sample("cwnd", at_ns, number, f64::from(info.cwnd)));
            self.samples.push(Sample("srtt", at_ns, number, f64::from(info.rtt_us)));
            if let Some(state) = socket.state() {
                self.samples.push(Sample("alpha", at_ns, number, state.alpha));
                self.samples.push(Sample("d", at_ns, number, state.d));
                self.samples.push(Sample("p", at_ns, number, state.p));
            }
        }
    }

    fn close(&mut self, fd: RawFd, why: Option<String>) {
        match self.peers.remove(&fd) {
            Some(Peer::Incoming(connection)) => connection.settle(&mut self.ledger),
            Some(Peer::Outgoing(connection)) => {
                connection.settle(why, &mut self.sent);
                self.persistent.retain(|_, open| *open != fd);
            }
            Some(Peer::Listener(_)) | None => {}
        }
    }

    /// Returns the records. Connections stay open, as their other ends may still need them.
    fn report(&mut self) -> Report {
        for peer in self.peers.values() {
            match peer {
                Peer::Incoming(connection) => connection.settle(&mut self.ledger),
                Peer::Outgoing(connection) => connection.settle(None, &mut self.sent),
                Peer::Listener(_) => {}
            }
        }
        Report {
            sent: std::mem::take(&mut self.sent),
            received: std::mem::take(&mut self.ledger.messages),
            segments: self.ledger.segments,
            samples: std::mem::take(&mut self.samples),
        }
    }

    fn watch(&self, fd: RawFd, events: i32) -> std::result::Result<(), Error> {
        self.control(libc::EPOLL_CTL_ADD, fd, events)
    }

    /// Asks for events of a writable socket only if there is data to write.
    fn rewatch(&self, fd: RawFd) {
        if let Some(Peer::Outgoing(connection)) = self.peers.get(&fd) {
            let write = if connection.wants_to_write() { libc::EPOLLOUT } else { 0 };
            self.control(libc::EPOLL_CTL_MOD, fd, libc::EPOLLIN | write).expect("the socket is watched and open");
        }
    }

    fn control(&self, operation: i32, fd: RawFd, events: i32) -> std::result::Result<(), Error> {
        let mut event = libc::epoll_event { events: events as u32, u64: fd as u64 };
        // SAFETY: the event is valid.
        check(unsafe { libc::epoll_ctl(self.poll.as_raw_fd(), operation, fd, &raw mut event) }).map(|_| ())
    }
}

/// Yields to processes of the same priority: forty hosts that begin at the same time must not wait for each other's
/// messages.
fn give_way() {
    // SAFETY: the call accesses no memory.
    unsafe { libc::sched_yield() };
}
