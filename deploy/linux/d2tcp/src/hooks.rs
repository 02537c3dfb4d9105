//! The programs at cgroups: the folders to which they are attached, and their state.
//!
//! The kernel detaches a cgroup's programs when the cgroup is removed, and the next cgroup of the same path begins
//! without them. The programs are therefore attached to a folder that stays, and match a connection by its socket's
//! path.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, Object};

use crate::escape::Shown;
use crate::failure::{Context, Result};
use crate::kernel::{self, About, CONTROLS, Control, ONE};
use crate::maps::FLOWS;
use crate::place::{self, Pins};

/// The programs for each place, and the prefixes of their links' names.
const HOOKS: [(&str, &str); 4] = [
    ("d2tcp_setsockopt", "setsockopt"),
    ("d2tcp_getsockopt", "getsockopt"),
    ("d2tcp_select", "select"),
    // Only attached where a canary is measured, since it runs for every packet.
    ("d2tcp_arrive", "arrive"),
];
/// The controls: their map in the programs and their link in our folder.
pub const CONTROL_LINKS: [(&str, &str); 2] = [("d2tcp_reno", "control-reno"), ("d2tcp", "control")];

/// A cgroup to which programs are attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path of its folder.
    pub path: PathBuf,
    /// The kernel's id of the cgroup.
    pub id: u64,
    /// True if a canary is measured there.
    pub measures: bool,
}

impl Place {
    /// Returns the programs, and the names of their links.
    fn hooks(&self) -> impl Iterator<Item = (&'static str, String)> {
        let most = if self.measures { HOOKS.len() } else { HOOKS.len() - 1 };
        HOOKS[..most].iter().map(|(name, pin)| (*name, format!("{pin}-{}", self.id)))
    }
}

/// Returns the places for the programs. If each rule's cgroup is below a top-level folder, these are the folders, which
/// stay while the machine is up. Otherwise it is the root. Deeper places make the socket options of fewer programs
/// slower.
pub fn places(root: &Path, rules: &[kernel::Rule]) -> Result<Vec<Place>> {
    let top = |rule: &kernel::Rule| {
        let path = kernel::path(&rule.cgroup);
        let mut parts = path.components();
        let first = parts.next().map(|part| root.join(part));
        first.filter(|first| parts.next().is_some() && first.is_dir())
    };
    let mut paths = rules.iter().map(top).collect::<Option<Vec<_>>>().unwrap_or_else(|| vec![root.to_owned()]);
    if paths.is_empty() {
        paths.push(root.to_owned());
    }
    paths.sort();
    paths.dedup();
    let measures = rules.iter().any(|rule| rule.control == Control::Use as u32 && rule.share < ONE);
    paths.into_iter().map(|path| place::cgroup_id(&path).map(|id| Place { path, id, measures })).collect()
}

/// Returns true if a name in our folder is that of a hook's link.
pub fn is_hook(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(kind, number)| {
        HOOKS.iter().any(|(_, pin)| *pin == kind) && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// Returns one of the programs.
pub fn program<'o>(object: &'o Object, name: &str) -> libbpf_rs::ProgramMut<'o> {
    object.progs_mut().find(|program| program.name() == name).expect("a program of the embedded object")
}

/// Attaches the programs to `places`. Existing links get the new programs, and dead or unwanted links are removed.
/// `keep` receives each new link.
pub fn settle(
    object: &Object,
    pins: &Pins,
    places: &[Place],
    mut keep: impl FnMut(Link, String) -> Result<()>,
) -> Result<()> {
    for place in places {
        for (name, pin) in place.hooks() {
            if let Some(mut link) = alive(pins, &pin) {
                let program =
                    object.progs().find(|program| program.name() == name).expect("a program of the embedded object");
                link.update_prog(&program).context(format!("exchange {pin}"))?;
                continue;
            }
            let _ = std::fs::remove_file(pins.of(&pin));
            let folder = File::open(&place.path).context(format!("open {}", place.path.shown()))?;
            let link = program(object, name).attach_cgroup(folder.as_raw_fd());
            keep(link.context(format!("attach to {}", place.path.shown()))?, pin)?;
        }
    }
    for name in unwanted(pins, places) {
        std::fs::remove_file(pins.of(&name)).context(format!("remove {name}"))?;
    }
    Ok(())
}

/// Returns the names of links that no place needs.
fn unwanted(pins: &Pins, places: &[Place]) -> Vec<String> {
    let wanted: Vec<String> = places.iter().flat_map(|place| place.hooks().map(|(_, pin)| pin)).collect();
    pins.names().into_iter().filter(|name| is_hook(name) && !wanted.contains(name)).collect()
}

/// Returns true if all links that the places need are alive, and there are no others.
pub fn is_settled(pins: &Pins, about: &About, places: &[Place]) -> bool {
    dead(pins, about, places).is_empty() && unwanted(pins, places).is_empty()
}

/// Returns a pinned link if its cgroup still exists.
fn alive(pins: &Pins, name: &str) -> Option<Link> {
    let link = Link::open(pins.of(name)).ok()?;
    let info = link.info().ok()?;
    // The kernel reports cgroup 0 for a severed link.
    matches!(info.info, LinkTypeInfo::Cgroup(ref cgroup) if cgroup.cgroup_id != 0).then_some(link)
}

/// Returns the names of links that should be in force but are not. It returns only the controls if a process holds the
/// links, as these cannot be inspected.
pub fn dead(pins: &Pins, about: &About, places: &[Place]) -> Vec<String> {
    let mut dead: Vec<String> =
        CONTROLS.iter().filter(|name| !place::is_registered(name)).map(|name| format!("control {name}")).collect();
    if about.pid != 0 {
        return dead;
    }
    for place in places {
        for (_, name) in place.hooks() {
            match (pins.of(&name).exists(), alive(pins, &name).is_some()) {
                (_, true) => {}
                (true, false) => dead.push(format!("{name}: its cgroup has gone")),
                (false, _) => dead.push(format!("{name}: its pin is missing ({})", place.path.shown())),
            }
        }
    }
    let pinned = CONTROL_LINKS.iter().map(|(_, pin)| *pin).chain((about.unlisted == 0).then_some(FLOWS));
    dead.extend(pinned.filter(|pin| !pins.of(pin).exists()).map(|pin| format!("{pin}: its pin is missing")));
    dead
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::DEFAULTS;
    use crate::rules::Rule;

    #[test]
    fn programs_go_to_folders_that_stay() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["system.slice/a.service", "kube"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let of = |cgroups: &[&str]| -> Vec<PathBuf> {
            let rules: Vec<_> = cgroups
                .iter()
                .map(|path| Rule::of("r", Path::new(path), Control::Use).compiled(DEFAULTS).unwrap())
                .collect();
            let places = places(root.path(), &rules).unwrap();
            places.iter().map(|place| place.path.strip_prefix(root.path()).unwrap().to_owned()).collect()
        };
        let path = |text: &str| PathBuf::from(text);
        assert_eq!(of(&["system.slice/a.service", "system.slice/b.service"]), [path("system.slice")]);
        assert_eq!(of(&["system.slice/a.service", "kube/pod"]), [path("kube"), path("system.slice")]);
        assert_eq!(of(&["kube"]), [path("")], "it may go itself");
        assert_eq!(of(&["later/a"]), [path("")], "it is not there yet");
        assert_eq!((of(&["", "kube/pod"]), of(&[])), (vec![path("")], vec![path("")]));
    }

    #[test]
    fn hooks_are_known_by_their_names() {
        assert!(is_hook("setsockopt-1") && is_hook("select-4294967297"));
        assert!(!is_hook("setsockopt") && !is_hook("other-1") && !is_hook("select-1x"));
    }
}
