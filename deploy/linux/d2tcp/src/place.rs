//! The tool's places: cgroup2, bpffs and our folder in it, and network namespaces.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::escape::Shown;
use crate::failure::{Context, Failure, Kind, Result};

/// The usual mount point of bpffs.
const BPF_FS: &str = "/sys/fs/bpf";
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;
const CGROUP2_MAGIC: i64 = 0x6367_7270;
/// The time to wait for the lock; an attach takes a second or two.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// Our folder in bpffs, which holds the pins.
#[derive(Clone, Debug)]
pub struct Pins {
    /// The path of the folder.
    pub folder: PathBuf,
}

impl Pins {
    /// Returns the path of an object's pin.
    pub fn of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
    /// Returns the names of all pins, in order; none if the folder does not exist.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
    /// Creates the folder. It mounts bpffs if needed, but only at its usual mount point, since a mount elsewhere would
    /// hide existing files.
    pub fn prepare(&self) -> Result<()> {
        let parent = self.parent()?;
        if file_system(parent) != Some(BPF_FS_MAGIC) {
            let (kind, at, mode) = (c"bpf", c_string(parent)?, c"mode=0700");
            // SAFETY: all arguments are strings that end with a zero.
            if unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, mode.as_ptr().cast()) } != 0 {
                let error = io::Error::last_os_error();
                return Err(Failure::new(
                    Kind::Unsupported,
                    format!("no bpffs at {}, and it could not be mounted there: {error}", parent.shown()),
                ));
            }
        }
        match fs::create_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.trusted(),
            made => made.context(format!("create {}", self.folder.shown())),
        }
    }
    /// Returns the parent of the folder. It must be in bpffs, or be the usual mount point of bpffs.
    pub fn parent(&self) -> Result<&Path> {
        let parent = self.folder.parent().filter(|_| self.folder.is_absolute());
        parent.filter(|parent| *parent == Path::new(BPF_FS) || file_system(parent) == Some(BPF_FS_MAGIC)).ok_or_else(
            || {
                Failure::new(
                    Kind::Usage,
                    format!(
                        "--pins {}: this is not in bpffs; expected a folder like {BPF_FS}/d2tcp",
                        self.folder.shown()
                    ),
                )
            },
        )
    }
    /// Fails if the folder exists outside bpffs, or if another user owns it. bpffs may be open to all users, and the
    /// folder's owner could remove or replace its content.
    fn trusted(&self) -> Result<()> {
        let Ok(found) = fs::symlink_metadata(&self.folder) else { return Ok(()) };
        if file_system(&self.folder) != Some(BPF_FS_MAGIC) {
            return Err(Failure::new(Kind::Usage, format!("--pins {}: this is not in bpffs", self.folder.shown())));
        }
        // SAFETY: the call has no arguments.
        let own = unsafe { libc::geteuid() };
        if found.is_dir() && found.uid() == own && found.mode() & 0o022 == 0 {
            return Ok(());
        }
        Err(Failure::new(
            Kind::Failed,
            format!(
                "{} is not a folder that user {own} alone may change: remove it, or choose another by --pins",
                self.folder.shown()
            ),
        ))
    }
    /// Removes everything, and the links first, which detaches them.
    pub fn remove(&self) -> Result<()> {
        for name in self.names() {
            let path = self.of(&name);
            fs::remove_file(&path).context(format!("remove {}", path.shown()))?;
        }
        match fs::remove_dir(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).context(format!("remove {}", self.folder.shown()))
            }
            _ => Ok(()),
        }
    }
    /// Keeps other tools from attaching or detaching until the file is closed.
    pub fn lock(&self) -> Result<Option<File>> {
        self.trusted()?;
        let Some(parent) = self.folder.parent().filter(|parent| parent.is_dir()) else { return Ok(None) };
        let file = File::open(parent).context(format!("open {}", parent.shown()))?;
        let begun = Instant::now();
        // SAFETY: the file is open.
        while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = io::Error::last_os_error();
            // Any user with read permission on the folder can hold its lock.
            if error.kind() != io::ErrorKind::WouldBlock || begun.elapsed() > LOCK_PATIENCE {
                return Err(error).context(format!("lock {}: is another d2tcp at work?", parent.shown()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(file))
    }
    /// Marks the attachment as held by this process while the file is open.
    pub fn hold(&self) -> Result<File> {
        let file = File::open(&self.folder).context(format!("open {}", self.folder.shown()))?;
        // SAFETY: the file is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(io::Error::last_os_error()).context(format!("hold {}", self.folder.shown()));
        }
        Ok(file)
    }
    /// Returns true if a process of any namespace holds the attachment.
    pub fn is_held(&self) -> bool {
        self.folder.exists() && self.hold().is_err()
    }
    /// Returns true if the folder exists and this user may not read it.
    pub fn is_hidden(&self) -> bool {
        fs::read_dir(&self.folder).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    }
}

/// Moves this process to the mounts around `ip netns exec` if it runs in it, and keeps its network namespace. That command
/// hides cgroup2 and bpffs behind a `/sys` of its own, where pins would end with the process. Call it before the first
/// thread starts. Without the permission it does nothing, and `check` reports the hidden mounts.
pub fn leave_hidden_mounts() -> Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if mount_of(&mounts, "cgroup2").is_some() || hiding(&mounts).is_none() {
        return Ok(());
    }
    let Some(file) = outer_mounts().and_then(|path| File::open(path).ok()) else { return Ok(()) };
    let folder = std::env::current_dir().context("find the working directory")?;
    // SAFETY: the file is open, and the kernel checks that it is a namespace.
    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNS) } != 0 {
        return Ok(());
    }
    // The call has changed the working directory to `/`, and arguments may be relative paths.
    std::env::set_current_dir(&folder).context(format!("return to {}", folder.shown()))
}

/// Returns the name of the namespace whose `ip netns exec` has mounted `/sys`: it is the source of that mount.
fn hiding(mountinfo: &str) -> Option<&str> {
    let (_, right) = mountinfo.lines().rfind(|line| line.split(' ').nth(4) == Some("/sys"))?.split_once(" - ")?;
    let (kind, source) = right.split(' ').next().zip(right.split(' ').nth(1))?;
    (kind == "sysfs" && Path::new("/run/netns").join(source).is_file()).then_some(source)
}

/// Returns the mount namespace of the first process, or else of the nearest ancestor, that has the same root and other
/// mounts: as around `ip netns exec`, and not around a container.
fn outer_mounts() -> Option<PathBuf> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let (own, root) = (identity(Path::new("/proc/self/ns/mnt"))?, identity(Path::new("/"))?);
    std::iter::once(1).chain(ancestors()).map(|pid| Path::new("/proc").join(pid.to_string())).find_map(|process| {
        let mounts = process.join("ns/mnt");
        (identity(&mounts)? != own && identity(&process.join("root"))? == root).then_some(mounts)
    })
}

/// Returns the processes above this one, from its parent to the first that it may see.
fn ancestors() -> impl Iterator<Item = u32> {
    std::iter::successors(Some(std::os::unix::process::parent_id()), |pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
    })
    .take_while(|pid| *pid > 1)
}

/// Returns the mount point of cgroup2.
pub fn cgroup_root() -> Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").context("read /proc/self/mountinfo")?;
    mount_of(&mounts, "cgroup2").ok_or_else(|| {
        let why = match hiding(&mounts) {
            Some(name) => {
                format!("ip netns exec {name} hides cgroup2: run d2tcp outside of it, with --namespace={name}")
            }
            None => "cgroup2 is not mounted: mount -t cgroup2 none /sys/fs/cgroup/unified".to_owned(),
        };
        Failure::new(Kind::Unsupported, why)
    })
}

/// Returns the mount point of the first mount of a file system.
fn mount_of(mountinfo: &str, kind: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        (right.split(' ').next()? == kind).then_some(())?;
        left.split(' ').nth(4).map(PathBuf::from)
    })
}

/// Returns the path of a cgroup, which need not exist, relative to the root of cgroup2.
pub fn cgroup_path(root: &Path, given: &Path) -> Result<PathBuf> {
    let wrong = |why: &str| Err(Failure::new(Kind::Usage, format!("--cgroup {}: {why}", given.shown())));
    let inside = if given.is_absolute() { given.strip_prefix(root).ok() } else { Some(given) };
    let Some(path) = inside else { return wrong(&format!("this is not in cgroup2, which is at {}", root.shown())) };
    if path.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
        return wrong("expected a path without . and ..");
    }
    let full = root.join(path);
    if full.exists() && file_system(&full) != Some(CGROUP2_MAGIC) {
        return wrong("this is not a folder of cgroup2");
    }
    Ok(path.components().collect())
}

/// Returns the kernel's id of a cgroup.
pub fn cgroup_id(path: &Path) -> Result<u64> {
    fs::metadata(path).map(|found| found.ino()).context(format!("look at {}", path.shown()))
}

/// Returns the PID namespace of this process.
pub fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino())
}

fn file_system(path: &Path) -> Option<i64> {
    let path = c_string(path).ok()?;
    // SAFETY: zeros are a value of this structure of numbers.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the string ends with a zero, and there is room for the answer.
    (unsafe { libc::statfs(path.as_ptr(), &mut about) } == 0).then_some(about.f_type as i64)
}

/// Returns true if bpffs is mounted at the parent of the pins.
pub fn has_bpffs(pins: &Pins) -> bool {
    pins.folder.parent().is_some_and(|parent| file_system(parent) == Some(BPF_FS_MAGIC))
}

fn c_string(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_encoded_bytes()).context(format!("use the path {}", path.shown()))
}

/// A network namespace, with a path that outlives this process.
pub struct Namespace {
    /// The path of the namespace.
    pub path: PathBuf,
    file: File,
}

impl Namespace {
    /// Opens a namespace by a name of `ip netns` or a path, or, if empty, the tool's own.
    pub fn named(name: &str) -> Result<Namespace> {
        let path = match name {
            "" => own_namespace()?,
            path if path.contains('/') => PathBuf::from(path),
            name => Path::new("/run/netns").join(name),
        };
        // Open it now: another process's namespace can only be opened with all capabilities of that process.
        let file = File::open(&path)
            .map_err(|error| Failure::new(Kind::Usage, format!("--namespace={name}: {}: {error}", path.shown())))?;
        Ok(Namespace { path, file })
    }
    /// Returns the default congestion control of the namespace, after setting it if requested.
    pub fn default_control(&self, set: Option<&str>) -> Result<String> {
        const SETTING: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
        std::thread::scope(|scope| {
            // A separate thread, so that this process stays in its namespace.
            let there = scope.spawn(|| -> Result<String> {
                // SAFETY: the file is open, and the kernel checks that it is a namespace.
                if unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                    return Err(io::Error::last_os_error()).context("enter the network namespace");
                }
                if let Some(control) = set {
                    fs::write(SETTING, control).context(format!("write {SETTING}"))?;
                }
                Ok(fs::read_to_string(SETTING).context(format!("read {SETTING}"))?.trim().to_owned())
            });
            there.join().unwrap_or_else(|_| Err(Failure::new(Kind::Failed, "a thread died")))
        })
    }
}

fn own_namespace() -> Result<PathBuf> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let own = identity(Path::new("/proc/self/ns/net"));
    let named = fs::read_dir("/run/netns").into_iter().flatten().flatten().map(|entry| entry.path());
    std::iter::once(PathBuf::from("/proc/1/ns/net"))
        .chain(named)
        .find(|path| own.is_some() && identity(path) == own)
        .ok_or_else(|| {
            Failure::new(Kind::Usage, "this network namespace has no name that lasts: give it one (ip netns attach)")
        })
}

/// Returns the reason for which D2TCP cannot be used with the present ECN setting of this network namespace, if there
/// is one.
pub fn accurate_ecn() -> Option<String> {
    accurate(&fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").unwrap_or_default())
}

fn accurate(setting: &str) -> Option<String> {
    // Settings 3 to 5 exist in kernels with accurate ECN.
    setting.trim().parse::<u32>().ok().filter(|setting| *setting > 2).map(|setting| {
        format!(
            "net.ipv4.tcp_ecn is {setting}: connections negotiate accurate ECN, with which D2TCP has not been tried; set \
             it to 1 or 2"
        )
    })
}

/// Returns true if the kernel has a congestion control of this name.
pub fn is_registered(control: &str) -> bool {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .is_ok_and(|names| names.split_whitespace().any(|name| name == control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroups_are_named_from_the_root_or_in_full() {
        let root = Path::new("/nowhere/cgroup");
        for given in ["system.slice/a.service", "/nowhere/cgroup/system.slice/a.service/"] {
            assert_eq!(cgroup_path(root, Path::new(given)).unwrap(), Path::new("system.slice/a.service"));
        }
        assert_eq!(cgroup_path(root, root).unwrap(), Path::new(""));
        for (given, told) in [("/etc", "not in cgroup2"), ("a/../b", "without . and ..")] {
            let failure = cgroup_path(root, Path::new(given)).unwrap_err();
            assert!(failure.kind == Kind::Usage && failure.message.contains(told), "{failure}");
        }
    }

    #[test]
    fn accurate_ecn_is_refused_in_words() {
        assert!(["0\n", "1\n", "2\n", ""].iter().all(|setting| accurate(setting).is_none()));
        assert!(["3\n", "5"].iter().all(|setting| accurate(setting).unwrap().contains("set it to 1 or 2")));
    }

    #[test]
    fn pins_are_in_bpffs_or_refused() {
        for wrong in ["/etc/d2tcp", "pins", "d2tcp/pins", "/proc/x/y", "/"] {
            let failure = Pins { folder: wrong.into() }.parent().unwrap_err();
            assert!(failure.kind == Kind::Usage && failure.message.contains("not in bpffs"), "{failure}");
        }
        assert_eq!(Pins { folder: "/sys/fs/bpf/x".into() }.parent().unwrap(), Path::new("/sys/fs/bpf"));
    }

    #[test]
    fn a_sys_is_hidden_by_a_namespace_that_exists() {
        let mounts =
            |source: &str| format!("24 30 0:22 / /sys rw - sysfs sysfs rw\n81 60 0:44 / /sys rw - {source} rw\n");
        assert_eq!(hiding(&mounts("sysfs sysfs")), None);
        assert_eq!(hiding(&mounts("tmpfs none")), None);
        assert_eq!(hiding("30 24 0:26 / /proc rw - proc proc rw\n"), None);
    }

    #[test]
    fn mounts_are_found_by_their_kind() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup rw shared:5 - tmpfs tmpfs rw\n\
                      31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:6 - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_of(mounts, "cgroup2"), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount_of(mounts, "bpf"), None);
    }
}
