//! The owner of a connection: the process that holds its socket, and the path of its cgroup.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::escape::Name;

/// A process that holds a socket.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Process {
    /// The PID, in the namespace of the tool.
    pub pid: u32,
    /// The name of its command.
    pub name: Name,
}

/// A cache of owners, rebuilt when an unknown number is looked up.
#[derive(Default)]
pub struct Owners {
    sockets: BTreeMap<u64, Process>,
    cgroups: BTreeMap<u64, Name>,
    root: Option<PathBuf>,
}

impl Owners {
    /// Returns an empty cache, for the paths of cgroups below this folder.
    pub fn below(root: Option<PathBuf>) -> Owners {
        Owners { root, ..Owners::default() }
    }
    /// Reads the sockets and cgroups anew, unless all of these numbers are known.
    pub fn find(&mut self, sockets: impl Iterator<Item = u64>, mut cgroups: impl Iterator<Item = u64>) {
        let wanted: Vec<u64> = sockets.filter(|inode| *inode != 0).collect();
        if wanted.iter().any(|inode| !self.sockets.contains_key(inode)) {
            self.sockets = sockets_of(Path::new("/proc"));
        }
        if cgroups.any(|id| !self.cgroups.contains_key(&id)) {
            self.cgroups.clear();
            if let Some(root) = self.root.clone() {
                paths_below(&root, b"/".to_vec(), &mut self.cgroups);
            }
        }
    }
    /// Returns the process that holds the socket; none if it is closed or not visible.
    pub fn process(&self, inode: u64) -> Option<&Process> {
        self.sockets.get(&inode)
    }
    /// Returns the path of a cgroup; none if it no longer exists.
    pub fn cgroup(&self, id: u64) -> Option<&Name> {
        self.cgroups.get(&id)
    }
}

/// Returns every socket that a process has open. If several processes share it, the one with the lowest PID is
/// returned.
fn sockets_of(proc: &Path) -> BTreeMap<u64, Process> {
    let mut found = BTreeMap::new();
    let mut pids: Vec<u32> = fs::read_dir(proc)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    for pid in pids {
        let folder = proc.join(pid.to_string());
        let mut name = None;
        for file in fs::read_dir(folder.join("fd")).into_iter().flatten().flatten() {
            let Ok(target) = fs::read_link(file.path()) else { continue };
            let Some(inode) = socket(&target.to_string_lossy()) else { continue };
            let name = name.get_or_insert_with(|| command(&folder));
            found.entry(inode).or_insert_with(|| Process { pid, name: name.clone() });
        }
    }
    found
}

/// Returns the name of a process's command: any bytes, and a line feed that the kernel adds.
fn command(folder: &Path) -> Name {
    let name = fs::read(folder.join("comm")).unwrap_or_default();
    Name::new(name.strip_suffix(b"\n").unwrap_or(&name))
}

/// Returns the inode in a link target such as `socket:[4711]`.
fn socket(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn paths_below(folder: &Path, path: Vec<u8>, found: &mut BTreeMap<u64, Name>) {
    let Ok(about) = fs::metadata(folder) else { return };
    found.insert(about.ino(), Name::new(&path));
    let begin = if path == b"/" { Vec::new() } else { path };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = [&begin, b"/".as_slice(), entry.file_name().as_bytes()].concat();
            paths_below(&entry.path(), path, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_by_its_socket() {
        use std::os::fd::AsRawFd;
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let inode = super::socket(&link.to_string_lossy()).unwrap();
        let mut owners = Owners::default();
        owners.find([inode, 0].into_iter(), [].into_iter());
        assert_eq!(owners.process(inode).unwrap().pid, std::process::id());
        assert_eq!((owners.process(0), super::socket("pipe:[3]"), super::socket("/x")), (None, None, None));
    }

    #[test]
    fn cgroups_are_known_by_their_number() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        let id = |path: &str| fs::metadata(root.path().join(path)).unwrap().ino();
        let mut owners = Owners::below(Some(root.path().to_owned()));
        owners.find([].into_iter(), [id("a/b")].into_iter());
        assert_eq!(owners.cgroup(id("a/b")), Some(&Name::new("/a/b")));
        assert_eq!((owners.cgroup(id("")), owners.cgroup(1)), (Some(&Name::new("/")), None));
    }

    #[test]
    fn names_need_not_be_utf_8() {
        let proc = tempfile::tempdir().unwrap();
        fs::create_dir_all(proc.path().join("7/fd")).unwrap();
        std::os::unix::fs::symlink("socket:[77]", proc.path().join("7/fd/3")).unwrap();
        fs::write(proc.path().join("7/comm"), b"a\xff\n \n").unwrap();
        let sockets = sockets_of(proc.path());
        assert_eq!(sockets[&77], Process { pid: 7, name: Name::new(b"a\xff\n ") });
        let root = tempfile::tempdir().unwrap();
        let odd = root.path().join(std::ffi::OsStr::from_bytes(b"b\xff"));
        fs::create_dir_all(odd.join("c")).unwrap();
        let mut found = BTreeMap::new();
        paths_below(root.path(), b"/".to_vec(), &mut found);
        let names: Vec<&Name> = found.values().collect();
        assert_eq!(names.len(), 3);
        assert!(names.contains(&&Name::new(b"/b\xff/c")), "{names:?}");
    }
}
