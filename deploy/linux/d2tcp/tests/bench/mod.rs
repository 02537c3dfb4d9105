//! The bench of the tests on a real kernel: a network namespace and a cgroup of their own, sockets, and the tool.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};

pub const LEVEL: i32 = 0xd27c;
pub const MESSAGE: i32 = 1;
pub const STATE: i32 = 2;
pub const CANCEL: i32 = 3;
pub const OUTCOMES: i32 = 4;
pub const ENDS_PREVIOUS: u32 = 1;
pub const FLAG_ECN: u32 = 1;
pub const FLAG_LIMITED: u32 = 32;
pub const FLAG_EXPIRED: u32 = 8;
pub const ONE: u32 = 1 << 20;

/// The path of the tool under test.
pub const TOOL: &str = env!("CARGO_BIN_EXE_d2tcp");

/// The lock of the test that registers our control. Names of congestion controls are global in the kernel.
const LOCK: &str = "/run/lock/d2tcp-test.lock";

/// Returns the reason for which the tests on a real kernel cannot run here, if there is one.
pub fn why_not() -> Option<String> {
    // SAFETY: the call has no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return Some("root is needed".to_owned());
    }
    let checked = Command::new(TOOL).args(["check"]).output().expect("the tool starts");
    (!checked.status.success()).then(|| String::from_utf8_lossy(&checked.stderr).trim().to_owned())
}

/// A private environment, removed when dropped: cgroup, network namespace of this thread, and pins.
pub struct Bench {
    pub cgroup: PathBuf,
    /// A second cgroup, without hooks.
    pub outside: PathBuf,
    pub pins: PathBuf,
    before: PathBuf,
    wire: Option<(Object, Vec<Link>)>,
    _lock: File,
    _only: std::sync::MutexGuard<'static, ()>,
}

static ONLY: Mutex<()> = Mutex::new(());

impl Bench {
    pub fn new() -> Bench {
        let only = ONLY.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let lock = File::create(LOCK).unwrap();
        // SAFETY: the file is open.
        assert_eq!(unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) }, 0);
        let root = cgroup_root();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap().to_owned();
        let before = root.join(own.trim());
        let folder = |name: &str| {
            let path = root.join(format!("d2tcp-test-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            path
        };
        let (cgroup, outside) = (folder("inside"), folder("outside"));
        // SAFETY: the argument is a number. The call affects this thread and its children.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
        let bench = Bench {
            cgroup,
            outside,
            pins: PathBuf::from(format!("/sys/fs/bpf/d2tcp-test-{}", std::process::id())),
            before,
            wire: None,
            _lock: lock,
            _only: only,
        };
        sh("ip link set lo up mtu 1500");
        sh("ethtool -K lo tso off gso off gro off 2>/dev/null || ip link set lo gso_max_segs 1");
        // On a busy machine, connections may be idle for longer than a test intends.
        sh("sysctl -q -w net.ipv4.tcp_slow_start_after_idle=0");
        bench.enter(&bench.cgroup);
        bench
    }
    /// Moves this process, and so its new sockets, to a cgroup.
    pub fn enter(&self, cgroup: &Path) {
        fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string()).unwrap();
    }
    /// Runs the tool with these arguments, separated by spaces.
    pub fn tool(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(TOOL);
        command.arg("--pins").arg(&self.pins).args(arguments.split_whitespace());
        command
    }
    /// Runs the tool, which must succeed, and returns its output.
    pub fn says(&self, arguments: &str) -> String {
        let output = self.tool(arguments);
        assert!(output.status.success(), "d2tcp {arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
    /// Runs the tool, which must fail, and returns its exit code and its one-line message.
    pub fn fails(&self, arguments: &str) -> (i32, String) {
        let output = self.tool(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.lines().count() == 1 && said.starts_with("d2tcp: "), "d2tcp {arguments}: {said}");
        (output.status.code().unwrap(), said)
    }
    /// Attaches to our cgroup, with additional options.
    pub fn attach(&self, options: &str) -> String {
        self.says(&format!("attach --cgroup {} {options}", self.cgroup.display()))
    }
    pub fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.says("status --json")).unwrap()
    }
    /// Returns true if this kernel takes the list of connections; if not, the parts of tests that need it are skipped.
    pub fn lists(&self) -> bool {
        let top = self.tool("top --once");
        if top.status.code() == Some(5) {
            println!("SKIPPED in part: {}", String::from_utf8_lossy(&top.stderr).trim());
        }
        top.status.code() != Some(5)
    }
    pub fn flows(&self) -> Vec<serde_json::Value> {
        self.says("top --json").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
    /// Sets the numbers of our cgroup's data packets per mark and per loss; 0 for none.
    pub fn wire(&mut self, mark_every: u64, lose_every: u64) {
        let cgroup = File::open(&self.cgroup).unwrap();
        let (object, _) = self.wire.get_or_insert_with(|| {
            let object = ObjectBuilder::default().open_file(env!("WIRE_OBJECT")).unwrap().load().unwrap();
            let links = object.progs_mut().map(|program| program.attach_cgroup(cgroup.as_raw_fd()).unwrap()).collect();
            (object, links)
        });
        for (word, value) in [(0u32, mark_every), (1, lose_every), (2, 0), (3, 0)] {
            let map = object.maps().find(|map| map.name() == "wire").unwrap();
            map.update(&word.to_ne_bytes(), &value.to_ne_bytes(), MapFlags::ANY).unwrap();
        }
    }
    /// Starts or stops dropping all packets except data; requires an earlier [`Bench::wire`].
    pub fn lose_acks(&self, lose: bool) {
        self.switch(4, lose);
    }
    /// Limits losses to packets of connections with ECN, or not; requires an earlier [`Bench::wire`].
    pub fn lose_only_ect(&self, only: bool) {
        self.switch(5, only);
    }
    fn switch(&self, word: u32, on: bool) {
        let (object, _) = self.wire.as_ref().unwrap();
        let map = object.maps().find(|map| map.name() == "wire").unwrap();
        map.update(&word.to_ne_bytes(), &u64::from(on).to_ne_bytes(), MapFlags::ANY).unwrap();
    }
    /// Returns the data packets sent by our cgroup since the last [`Bench::wire`], and the number of these with ECT.
    pub fn sent(&self) -> (u64, u64) {
        let (object, _) = self.wire.as_ref().unwrap();
        let map = object.maps().find(|map| map.name() == "wire").unwrap();
        let word = |which: u32| {
            let found = map.lookup(&which.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
            u64::from_ne_bytes(found.try_into().unwrap())
        };
        (word(2), word(3))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.tool("detach");
        self.wire = None;
        let _ = fs::write(self.before.join("cgroup.procs"), std::process::id().to_string());
        // A cgroup stays busy for a moment after its last process has left.
        for path in [&self.cgroup, &self.outside] {
            for _ in 0..100 {
                if fs::remove_dir(path).is_ok() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

pub fn cgroup_root() -> PathBuf {
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2")).expect("cgroup2 is mounted");
    PathBuf::from(mount.split(' ').nth(1).unwrap())
}

pub fn sh(line: &str) {
    let output = Command::new("sh").args(["-c", line]).output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

/// Calls setsockopt with these bytes. Returns the errno of a failure.
pub fn set(socket: &impl AsRawFd, level: i32, name: i32, bytes: &[u8]) -> Result<(), i32> {
    set_length(socket, level, name, bytes, bytes.len() as u32)
}

/// Calls setsockopt with any stated length.
pub fn set_length(socket: &impl AsRawFd, level: i32, name: i32, bytes: &[u8], length: u32) -> Result<(), i32> {
    // SAFETY: the kernel copies the readable bytes, and returns EFAULT otherwise.
    let failed = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, bytes.as_ptr().cast(), length) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap()) }
}

pub fn get(socket: &impl AsRawFd, level: i32, name: i32, room: usize) -> Result<Vec<u8>, i32> {
    let mut bytes = vec![0u8; room.max(1)];
    let mut length = room as u32;
    // SAFETY: the buffer has the stated size.
    let failed = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, bytes.as_mut_ptr().cast(), &mut length) };
    bytes.truncate(length as usize);
    if failed == 0 { Ok(bytes) } else { Err(io::Error::last_os_error().raw_os_error().unwrap()) }
}

pub fn deadline(socket: &impl AsRawFd, bytes: i64, within: Duration) -> Result<(), i32> {
    let mut message = bytes.to_ne_bytes().to_vec();
    message.extend((within.as_nanos() as i64).to_ne_bytes());
    set(socket, LEVEL, MESSAGE, &message)
}

/// Announces a message in the full form, with tag and flags.
pub fn announce(socket: &impl AsRawFd, bytes: i64, within: Duration, tag: u64, flags: u32) -> Result<(), i32> {
    let mut message = bytes.to_ne_bytes().to_vec();
    message.extend((within.as_nanos() as i64).to_ne_bytes());
    message.extend(tag.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(0u32.to_ne_bytes());
    set(socket, LEVEL, MESSAGE, &message)
}

pub fn cancel(socket: &impl AsRawFd, tag: u64) -> Result<(), i32> {
    set(socket, LEVEL, CANCEL, &tag.to_ne_bytes())
}

pub fn choose(socket: &impl AsRawFd, control: &str) -> Result<(), i32> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, control.as_bytes())
}

pub fn control_of(socket: &impl AsRawFd) -> String {
    let name = get(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, 16).unwrap();
    String::from_utf8(name).unwrap().trim_end_matches('\0').to_owned()
}

/// The fields of `struct d2tcp_state` that the tests use.
#[derive(Debug, Default)]
pub struct State {
    pub flags: u32,
    pub mss: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub srtt_us: u32,
    pub alpha: u32,
    pub d: u32,
    pub p: u32,
    pub queued: u32,
    pub messages: u64,
    pub met: u64,
    pub missed: u64,
    pub time_left_ns: i64,
    pub bytes_left: u64,
    pub bytes_acked: u64,
    pub bytes_marked: u64,
    pub windows: u64,
    pub cuts: u64,
    pub losses: u64,
    pub timeouts: u64,
    pub cancelled: u64,
    pub tag: u64,
    pub rule: u32,
}

pub fn state(socket: &impl AsRawFd) -> State {
    let bytes = get(socket, LEVEL, STATE, 160).unwrap();
    assert_eq!(bytes.len(), 160);
    let small = |at: usize| u32::from_ne_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
    let large = |at: usize| u64::from_ne_bytes(bytes[48 + 8 * at..56 + 8 * at].try_into().unwrap());
    assert_eq!((small(0), small(1)), (1, 160));
    State {
        flags: small(2),
        mss: small(3),
        cwnd: small(4),
        ssthresh: small(6),
        srtt_us: small(7),
        alpha: small(8),
        d: small(9),
        p: small(10),
        queued: small(11),
        messages: large(0),
        met: large(1),
        missed: large(2),
        time_left_ns: large(3) as i64,
        bytes_left: large(4),
        bytes_acked: large(5),
        bytes_marked: large(6),
        windows: large(7),
        cuts: large(8),
        losses: large(9),
        timeouts: large(10),
        cancelled: large(11),
        tag: large(12),
        rule: small(38),
    }
}

/// Returns tag, time left, result and number of the messages that ended last, the youngest first.
pub fn outcomes(socket: &impl AsRawFd) -> Vec<(u64, i64, u32, u32)> {
    let bytes = get(socket, LEVEL, OUTCOMES, 24 * 8).unwrap();
    bytes
        .chunks_exact(24)
        .map(|one| {
            let large = |at: usize| u64::from_ne_bytes(one[at..at + 8].try_into().unwrap());
            let small = |at: usize| u32::from_ne_bytes(one[at..at + 4].try_into().unwrap());
            (large(0), large(8) as i64, small(16), small(20))
        })
        .collect()
}

pub fn listen(address: &str) -> TcpListener {
    TcpListener::bind(address).unwrap()
}

/// Returns the two ends of a new connection: the connecting one and the accepting one.
pub fn connect(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// Returns a socket that is neither connected nor listening.
pub fn socket(address: &str) -> OwnedFd {
    use std::os::fd::FromRawFd;
    let ip: IpAddr = address.parse().unwrap();
    let family = if ip.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: the arguments are numbers, and the descriptor is new.
    unsafe {
        let fd = libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0);
        OwnedFd::from_raw_fd(fd)
    }
}

/// Sends so many bytes and reads them at the other end. Returns the time until the last one is read.
pub fn transfer(from: &TcpStream, to: &TcpStream, bytes: usize) -> Duration {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut from = from;
            from.write_all(&vec![7; bytes]).unwrap();
        });
        let (mut to, mut room, mut got) = (to, vec![0; 1 << 18], 0);
        to.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        while got < bytes {
            let read = to.read(&mut room).unwrap();
            assert!(read > 0, "closed after {got} bytes");
            got += read;
        }
    });
    begun.elapsed()
}

/// Waits for a condition, at most 10 s.
pub fn wait(what: &str, holds: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < patience, "{what}: not within 10 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn is_registered() -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_whitespace().any(|name| name.starts_with("d2tcp"))
}

/// A child process that is killed when dropped.
pub struct Held(pub Child);

impl Held {
    pub fn spawn(mut command: Command) -> Held {
        Held(command.stdout(Stdio::piped()).spawn().unwrap())
    }
    /// Returns the next line of its output.
    pub fn line(&mut self) -> String {
        let (mut line, mut byte) = (String::new(), [0]);
        while self.0.stdout.as_mut().unwrap().read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0].into());
        }
        line
    }
    pub fn signal(&self, signal: i32) {
        // SAFETY: the process is our child, and not yet reaped.
        unsafe { libc::kill(self.0.id() as i32, signal) };
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A position in the kernel's log, after which complaints are found.
pub struct Log(usize);

impl Log {
    pub fn here() -> Log {
        Log(Log::lines().len())
    }
    fn lines() -> Vec<String> {
        let output = Command::new("dmesg").output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }
    pub fn complaints(&self) -> Vec<String> {
        let telling = ["WARNING", "BUG", "Oops", "refcount", "Call Trace", "divide error", "RCU stall", "rcu: INFO"];
        let all = Log::lines();
        // The oldest lines are dropped when the buffer is full: then search all lines.
        let new = if all.len() >= self.0 { &all[self.0..] } else { &all[..] };
        new.iter().filter(|line| telling.iter().any(|word| line.contains(word))).cloned().collect()
    }
}

pub fn address(socket: &TcpStream) -> SocketAddr {
    socket.local_addr().unwrap()
}

/// Returns the numbers of our maps, programs and links in the kernel, and of this test's cgroups.
pub fn objects() -> (usize, usize, usize, usize) {
    use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
    let ours = |name: &[u8]| name.starts_with(b"d2tcp");
    let maps = MapInfoIter::default().filter(|map| ours(map.name.as_encoded_bytes())).count();
    let programs: Vec<u32> = ProgInfoIter::default()
        .filter(|program| ours(program.name.as_encoded_bytes()))
        .map(|program| program.id)
        .collect();
    let links = LinkInfoIter::default().filter(|link| programs.contains(&link.prog_id)).count();
    let own = format!("d2tcp-test-{}-", std::process::id());
    let cgroups = fs::read_dir(cgroup_root()).unwrap().flatten();
    let cgroups = cgroups.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).count();
    (maps, programs.len(), links, cgroups)
}

/// Returns the same numbers once they are stable, as the kernel frees objects in the background.
pub fn settled() -> (usize, usize, usize, usize) {
    let (mut last, mut same) = (objects(), 0);
    while same < 10 {
        std::thread::sleep(Duration::from_millis(100));
        let now = objects();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}
