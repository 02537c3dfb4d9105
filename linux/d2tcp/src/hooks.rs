//! The programs at cgroups: where they go, and whether they are there.
//!
//! The kernel takes a cgroup's programs off when the cgroup goes, and the next one of the same path begins without
//! them. So they are attached to a folder that stays, and find out by a socket's path whether it concerns them.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, Object};

use crate::attach::{FLOWS, program};
use crate::failure::{Context, Result};
use crate::kernel::{self, CONTROLS};
use crate::place::{self, Pins};

/// Programs for each place, and the beginning of their links' names.
const HOOKS: [(&str, &str); 3] =
    [("d2tcp_setsockopt", "setsockopt"), ("d2tcp_getsockopt", "getsockopt"), ("d2tcp_select", "select")];
/// Controls: their map in the programs and their link in our folder.
pub const CONTROL_LINKS: [(&str, &str); 2] = [("d2tcp_reno", "control-reno"), ("d2tcp", "control")];

/// A cgroup that programs are attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its folder.
    pub path: PathBuf,
    /// The kernel's number for it.
    pub id: u64,
}

/// Where the programs go: to the topmost folders of the rules' cgroups, which stay for as long as the machine is up, if
/// all of them are below one; else to the root. The deeper, the fewer the programs whose socket options cost more.
pub fn places(root: &Path, rules: &[kernel::Rule]) -> Result<Vec<Place>> {
    let top = |rule: &kernel::Rule| {
        let path = Path::new(kernel::text(&rule.cgroup));
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
    paths.into_iter().map(|path| place::cgroup_id(&path).map(|id| Place { path, id })).collect()
}

/// Whether a name in our folder is that of a hook's link.
pub fn is_hook(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(kind, number)| {
        HOOKS.iter().any(|(_, pin)| *pin == kind) && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// Attaches the programs to places; those that are there already get the new programs, those that are dead or not
/// wanted any more are removed. `keep` takes what is new.
pub fn settle(
    object: &Object,
    pins: &Pins,
    places: &[Place],
    mut keep: impl FnMut(Link, String) -> Result<()>,
) -> Result<()> {
    for place in places {
        for (name, pin) in HOOKS {
            let pin = format!("{pin}-{}", place.id);
            if let Some(mut link) = alive(pins, &pin) {
                let program = object.progs().find(|program| program.name() == name).expect("in the programs");
                link.update_prog(&program).context(format!("exchange {pin}"))?;
                continue;
            }
            let _ = std::fs::remove_file(pins.of(&pin));
            let folder = File::open(&place.path).context(format!("open {}", place.path.display()))?;
            let link = program(object, name).attach_cgroup(folder.as_raw_fd());
            keep(link.context(format!("attach to {}", place.path.display()))?, pin)?;
        }
    }
    let wanted = |name: &str| places.iter().any(|place| name.ends_with(&format!("-{}", place.id)));
    for name in pins.names().iter().filter(|name| is_hook(name) && !wanted(name)) {
        std::fs::remove_file(pins.of(name)).context(format!("remove {name}"))?;
    }
    Ok(())
}

/// A pinned link whose cgroup is still there.
fn alive(pins: &Pins, name: &str) -> Option<Link> {
    let link = Link::open(pins.of(name)).ok()?;
    let info = link.info().ok()?;
    // Of a link that was severed the kernel says cgroup 0.
    matches!(info.info, LinkTypeInfo::Cgroup(ref cgroup) if cgroup.cgroup_id != 0).then_some(link)
}

/// What is wanted in force and is not, as names of links; nothing where a process holds them, since there they cannot
/// be looked at.
pub fn dead(pins: &Pins, held: bool, places: &[Place]) -> Vec<String> {
    let mut dead: Vec<String> =
        CONTROLS.iter().filter(|name| !place::is_registered(name)).map(|name| format!("control {name}")).collect();
    if held {
        return dead;
    }
    for place in places {
        for (_, pin) in HOOKS {
            let name = format!("{pin}-{}", place.id);
            match (pins.of(&name).exists(), alive(pins, &name).is_some()) {
                (_, true) => {}
                (true, false) => dead.push(format!("{name}: its cgroup has gone")),
                (false, _) => dead.push(format!("{name}: its pin is missing ({})", place.path.display())),
            }
        }
    }
    let pinned = CONTROL_LINKS.iter().map(|(_, pin)| *pin).chain([FLOWS]);
    dead.extend(pinned.filter(|pin| !pins.of(pin).exists()).map(|pin| format!("{pin}: its pin is missing")));
    dead
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Control;
    use crate::options::DEFAULTS;
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
