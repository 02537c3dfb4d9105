//! Puts the programs into the kernel, and takes them out again.
//!
//! Attached means: the control is registered and the links are pinned in our folder of bpffs, or a process in the
//! foreground holds them. Whatever else is found in the folder is what a crash left, and is cleared away.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use caps::Capability;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel};

use crate::failure::{Context, Failure, Kind, Result};
use crate::hooks::{self, CONTROL_LINKS};
use crate::kernel::{self, ABOUT_HEAD, About, CONTROLS, Control, LAYOUT, Law, Plain};
use crate::options::{DEFAULTS, Parameters};
use crate::place::{self, Namespace, Pins};
use crate::privileges;
use crate::rules::{self, Peers, Rule};

const PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/d2tcp.bpf.o"));

/// Maps, as they are called in the programs and in our folder.
pub const MAPS: [(&str, &str); 10] = [
    ("d2tcp_sockets", "sockets"),
    ("d2tcp_law", "law"),
    ("d2tcp_about", "about"),
    ("d2tcp_counts", "counts"),
    ("d2tcp_words", "words"),
    ("d2tcp_events", "events"),
    ("d2tcp_rules", "rules"),
    ("d2tcp_paths", "paths"),
    ("d2tcp_budgets", "budgets"),
    ("d2tcp_cgroups", "cgroups"),
];
/// The iterator over connections.
pub const FLOWS: &str = "flows";

/// Which connections get the control without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// None.
    None,
    /// All of the cgroups.
    All,
    /// Those with a local or remote port in this range, both included.
    Ports(u16, u16),
}

/// What `attach` was asked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Whose connections, as given; empty: all.
    pub cgroups: Vec<PathBuf>,
    /// Which of them.
    pub select: Select,
    /// Only those with peers in private ranges.
    pub private: bool,
    /// The namespace whose default it shall be, as given; empty: the one the tool runs in.
    pub namespace: Option<String>,
    /// Parameters: over the defaults, or over those in force if programs are exchanged.
    pub parameters: Parameters,
    /// Exchange the programs of what is attached.
    pub replace: bool,
    /// Stay, and detach when ended.
    pub foreground: bool,
}

/// What is the case.
pub enum Found {
    /// Attached, and what is known of it.
    Attached(Box<About>),
    /// Attached by a tool of this version, whose structures are others.
    Skewed(String),
    /// Not attached, but something was left by a crash.
    Remains,
    /// Nothing.
    Nothing,
    /// The control is registered, and not by us.
    Foreign,
}

/// Looks.
pub fn look(pins: &Pins) -> Found {
    let registered = place::is_registered(CONTROLS[0]);
    let names = pins.names();
    let head = map(pins, "about").and_then(|about| value(&about, 0)).unwrap_or_default();
    let layout = head.get(..4).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().expect("4 bytes")));
    let held = names.iter().any(|name| name == "control") || pins.is_held();
    if registered && held && layout != 0 && layout != LAYOUT {
        return Found::Skewed(kernel::text(head.get(24..ABOUT_HEAD).unwrap_or_default()).to_owned());
    }
    match About::read(&head).filter(|about| about.layout == LAYOUT) {
        Some(about) if registered && held => Found::Attached(Box::new(about)),
        _ if !names.is_empty() => Found::Remains,
        _ if registered => Found::Foreign,
        _ => Found::Nothing,
    }
}

/// What a crash left says of itself, if it is of this layout.
fn left(pins: &Pins) -> Option<About> {
    let bytes = map(pins, "about").and_then(|about| value(&about, 0)).ok()?;
    About::read(&bytes).filter(|about| about.layout == LAYOUT)
}

/// Fails if there is anything in the folder that is not ours: what a crash left is removed, and nothing else.
fn only_ours(pins: &Pins) -> Result<()> {
    let ours = |name: &str| {
        name == FLOWS || hooks::is_hook(name) || MAPS.iter().chain(&CONTROL_LINKS).any(|(_, pin)| *pin == name)
    };
    pins.names().iter().find(|name| !ours(name)).map_or(Ok(()), |name| {
        Err(Failure::new(Kind::Usage, format!("--pins {}: {name} in it is not of d2tcp", pins.folder.display())))
    })
}

/// What is attached; fails if nothing is.
pub fn require(pins: &Pins) -> Result<About> {
    if pins.is_hidden() {
        let folder = pins.folder.display();
        return Err(Failure::new(Kind::NotPermitted, format!("{folder} may not be read: run it as root")));
    }
    match look(pins) {
        Found::Attached(about) => Ok(*about),
        Found::Skewed(version) => Err(skewed(&version)),
        _ if map(pins, "about").is_err_and(|failure| failure.kind == Kind::NotPermitted) => Err(Failure::new(
            Kind::NotPermitted,
            format!("what is in {} may not be read: run it as root", pins.folder.display()),
        )),
        Found::Foreign => Err(foreign(Kind::NotAttached, pins)),
        Found::Remains => Err(Failure::new(
            Kind::NotAttached,
            format!("not attached; {} holds what a crash left: attach or detach clears it", pins.folder.display()),
        )),
        Found::Nothing => Err(Failure::new(Kind::NotAttached, "not attached")),
    }
}

fn skewed(version: &str) -> Failure {
    Failure::new(
        Kind::Attached,
        format!(
            "attached by version {version}, which keeps its state in another form than {}: use that version's tool, or \
             detach and attach again",
            env!("CARGO_PKG_VERSION")
        ),
    )
}

fn foreign(kind: Kind, pins: &Pins) -> Failure {
    Failure::new(
        kind,
        format!(
            "a congestion control named {} is registered, but not from {}: names are one for the whole kernel",
            CONTROLS[0],
            pins.folder.display()
        ),
    )
}

/// A map in our folder.
pub fn map(pins: &Pins, name: &str) -> Result<MapHandle> {
    MapHandle::from_pinned_path(pins.of(name)).map_err(|error| {
        let kind = match error.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => Kind::NotPermitted,
            _ => Kind::Failed,
        };
        Failure::new(kind, format!("could not open {}: {error:#}", pins.of(name).display()))
    })
}

/// An array's value.
pub fn value(map: &MapHandle, index: u32) -> Result<Vec<u8>> {
    let found = map.lookup(&index.to_ne_bytes(), MapFlags::ANY).context("read a map")?;
    found.ok_or_else(|| Failure::new(Kind::Failed, "a map is empty"))
}

/// Parameters that are in force.
pub fn law(pins: &Pins) -> Result<Law> {
    let bytes = value(&map(pins, "law")?, 0)?;
    Law::read(&bytes).ok_or_else(|| Failure::new(Kind::Failed, "what is attached is of another version"))
}

/// Puts parameters into force, for connections that are there, too.
pub fn set_law(pins: &Pins, law: &Law) -> Result<()> {
    map(pins, "law")?.update(&0u32.to_ne_bytes(), law.bytes(), MapFlags::ANY).context("change the parameters")?;
    rules::set_law(pins, law)
}

static COMPLAINTS: Mutex<String> = Mutex::new(String::new());

/// Keeps what libbpf says, for the message of an error.
pub fn keep_complaints() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        if let Ok(mut kept) = COMPLAINTS.lock() {
            kept.push_str(&text);
        }
    })));
}

/// What libbpf said since the last call.
pub fn complaints() -> String {
    COMPLAINTS.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
}

/// The programs, not yet in the kernel.
pub fn programs() -> Result<OpenObject> {
    keep_complaints();
    ObjectBuilder::default().open_memory(PROGRAMS).context("read the programs")
}

fn loaded(open: OpenObject) -> Result<Object> {
    open.load().map_err(|error| {
        if std::env::var_os("D2TCP_VERBOSE").is_some() {
            eprintln!("{}", complaints());
        }
        Failure::new(
            Kind::Unsupported,
            format!("the kernel does not take the programs ({error:#}): d2tcp check says what is missing"),
        )
    })
}

/// Attaches as wanted. In the foreground it returns when a signal ends it.
pub fn attach(pins: &Pins, wanted: &Wanted, version: &str) -> Result<About> {
    let mut needed = privileges::TO_ATTACH.to_vec();
    privileges::require("attach", &needed)?;
    if wanted.namespace.is_some() || !place::has_bpffs(pins) {
        needed.push(Capability::CAP_SYS_ADMIN);
        privileges::require("attach (with --namespace, or to mount bpffs)", &needed)?;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Failure::new(
            Kind::Unsupported,
            "the kernel does not describe its types: /sys/kernel/btf/vmlinux is missing (CONFIG_DEBUG_INFO_BTF)",
        ));
    }
    if let Some(why) = place::accurate_ecn() {
        return Err(Failure::new(Kind::Unsupported, why));
    }
    let root = place::cgroup_root()?;
    let rules = chosen(wanted, &root)?;
    let law = wanted.parameters.harmless_over(DEFAULTS)?;
    pins.parent()?;
    let namespace = wanted.namespace.as_deref().map(Namespace::named).transpose()?;
    privileges::keep(&needed)?;
    let lock = pins.lock()?;
    only_ours(pins)?;
    match (look(pins), wanted.replace) {
        (Found::Attached(before), true) => return replace(pins, wanted, *before, version),
        (Found::Skewed(version), _) => return Err(skewed(&version)),
        (Found::Attached(about), false) => {
            return Err(Failure::new(
                Kind::Attached,
                format!("attached already (version {}): --replace exchanges it", kernel::text(&about.version)),
            ));
        }
        (Found::Foreign, _) => return Err(foreign(Kind::Attached, pins)),
        // The pin of a control may be missing as any other one.
        (Found::Remains, true) if left(pins).is_some_and(|about| about.pid == 0) => {
            return replace(pins, wanted, left(pins).expect("just seen"), version);
        }
        (Found::Remains, _) => {
            pins.remove()?;
            wait_until_gone()?;
        }
        (Found::Nothing, _) => {}
    }
    pins.prepare()?;
    let done = fresh(pins, wanted, &root, &rules, &law, namespace.as_ref(), version);
    let (about, links) = match done {
        Ok(done) => done,
        Err(failure) => {
            // Nothing half-done stays; the first failure is the one to tell.
            let _ = pins.remove();
            return Err(failure);
        }
    };
    if wanted.foreground {
        let held = pins.hold()?;
        drop(lock);
        stay(pins, links, held)?;
    }
    Ok(about)
}

/// The rules that options of `attach` stand for. Where only a part of a cgroup's connections is chosen, the others may
/// still ask.
fn chosen(wanted: &Wanted, root: &Path) -> Result<Vec<Rule>> {
    let mut cgroups =
        wanted.cgroups.iter().map(|path| place::cgroup_path(root, path)).collect::<Result<Vec<PathBuf>>>()?;
    if cgroups.is_empty() {
        cgroups.push(PathBuf::new());
    }
    let mut rules: Vec<Rule> = Vec::new();
    let add = |rules: &mut Vec<Rule>, name: String, cgroup: &Path, control| {
        let again = rules.iter().filter(|rule| rule.name.trim_end_matches('\'') == name).count();
        rules.push(Rule::of(&format!("{name}{}", "'".repeat(again)), cgroup, control));
        rules.len() - 1
    };
    for cgroup in &cgroups {
        let name = cgroup.file_name().map_or("all".into(), |name| name.to_string_lossy());
        let name: String = name.chars().take(20).collect();
        if wanted.select != Select::None {
            let at = add(&mut rules, name.clone(), cgroup, Control::Use);
            let rule = &mut rules[at];
            rule.peers = if wanted.private { Peers::Private } else { Peers::Any };
            if let Select::Ports(low, high) = wanted.select {
                rule.ports = Some((low, high));
            }
        }
        if wanted.private || wanted.select != Select::All {
            add(&mut rules, format!("{name} asked"), cgroup, Control::Ask);
        }
    }
    Ok(rules)
}

fn fresh(
    pins: &Pins,
    wanted: &Wanted,
    root: &Path,
    rules: &[Rule],
    law: &Law,
    namespace: Option<&Namespace>,
    version: &str,
) -> Result<(About, Vec<Link>)> {
    let mut object = loaded(programs()?)?;
    for (name, pin) in MAPS {
        let mut map = object.maps_mut().find(|map| map.name() == name).expect("in the programs");
        map.pin(pins.of(pin)).context(format!("pin {pin}"))?;
    }
    set_law(pins, law)?;
    let prior = namespace.map(|namespace| namespace.default_control(None)).transpose()?;
    let mut about = describe(wanted, root, version)?;
    if let Some((namespace, prior)) = namespace.zip(prior) {
        about.namespace = fit(&namespace.path.display().to_string(), "the namespace's path")?;
        about.prior_control = fit(&prior, "a name")?;
    }
    write_about(pins, &about)?;
    let rules: Vec<kernel::Rule> = rules.iter().map(|rule| rule.compiled(*law)).collect::<Result<_>>()?;
    rules::enact(pins, about.key, &rules)?;
    let mut links = Vec::new();
    let mut keep = |mut link: Link, name: String| -> Result<()> {
        if !wanted.foreground {
            link.pin(pins.of(&name)).context(format!("pin {name}"))?;
        }
        links.push(link);
        Ok(())
    };
    pin_flows(&object, pins)?;
    hooks::settle(&object, pins, &hooks::places(root, &rules)?, &mut keep)?;
    for (name, pin) in CONTROL_LINKS {
        let mut map = object.maps_mut().find(|map| map.name() == name).expect("in the programs");
        keep(map.attach_struct_ops().context("register the control")?, pin.to_owned())?;
    }
    if let Some(namespace) = namespace {
        namespace.default_control(Some(CONTROLS[0]))?;
    }
    Ok((about, links))
}

/// The iterator, in place of the one that may be there.
fn pin_flows(object: &Object, pins: &Pins) -> Result<()> {
    let sockets = map(pins, "sockets")?;
    let mut flows = program(object, "d2tcp_flows").attach_iter(sockets.as_fd()).context("attach the iterator")?;
    let _ = std::fs::remove_file(pins.of(FLOWS));
    flows.pin(pins.of(FLOWS)).context("pin the iterator")
}

/// One of the programs.
pub fn program<'o>(object: &'o Object, name: &str) -> libbpf_rs::ProgramMut<'o> {
    object.progs_mut().find(|program| program.name() == name).expect("in the programs")
}

fn write_about(pins: &Pins, about: &About) -> Result<()> {
    map(pins, "about")?.update(&0u32.to_ne_bytes(), about.bytes(), MapFlags::ANY).context("write a map")
}

fn describe(wanted: &Wanted, root: &Path, version: &str) -> Result<About> {
    let mut key = [0u64; 2];
    // SAFETY: room for as many bytes.
    let got = unsafe { libc::getrandom(key.as_mut_ptr().cast(), size_of_val(&key), 0) };
    if got != size_of_val(&key) as isize {
        return Err(std::io::Error::last_os_error()).context("draw a key");
    }
    Ok(About {
        layout: LAYOUT,
        reserved: [0; 2],
        pid: if wanted.foreground { std::process::id() } else { 0 },
        since_ns: clock(libc::CLOCK_BOOTTIME),
        version: fit(version, "the version")?,
        pid_namespace: place::pid_namespace(),
        root: place::cgroup_id(root)?,
        key,
        prior_control: [0; 16],
        namespace: [0; 64],
    })
}

fn fit<const N: usize>(text: &str, what: &str) -> Result<[u8; N]> {
    kernel::field(text).ok_or_else(|| Failure::new(Kind::Usage, format!("{what}: more than {} bytes", N - 1)))
}

/// A clock, in ns.
pub fn clock(which: libc::clockid_t) -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: room for the answer, which is zero if the clock does not exist.
    let now = unsafe {
        libc::clock_gettime(which, now.as_mut_ptr());
        now.assume_init()
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Exchanges the programs under running connections: those keep the programs that they began with, together with
/// their state; new ones get the new programs. Selection, cgroups and namespace stay as they are.
fn replace(pins: &Pins, wanted: &Wanted, before: About, version: &str) -> Result<About> {
    if before.pid != 0 {
        return Err(Failure::new(
            Kind::Attached,
            format!("{} holds it in the foreground: end that one first", holder(&before)),
        ));
    }
    let mut open = programs()?;
    for (name, pin) in MAPS {
        let mut map = open.maps_mut().find(|map| map.name() == name).expect("in the programs");
        map.reuse_pinned_map(pins.of(pin)).context(format!("take over {pin}"))?;
    }
    let mut object = loaded(open)?;
    set_law(pins, &wanted.parameters.harmless_over(law(pins)?)?)?;
    let keep = |mut link: Link, name: String| link.pin(pins.of(&name)).context(format!("pin {name}"));
    let rules: Vec<kernel::Rule> = rules::in_force(pins)?.into_iter().map(|(_, rule)| rule).collect();
    hooks::settle(&object, pins, &hooks::places(&place::cgroup_root()?, &rules)?, keep)?;
    for (name, pin) in CONTROL_LINKS {
        let mut map = object.maps_mut().find(|map| map.name() == name).expect("in the programs");
        if !pins.of(pin).exists() {
            let mut link = map.attach_struct_ops().context("register the control")?;
            link.pin(pins.of(pin)).context(format!("pin {pin}"))?;
            continue;
        }
        let link = Link::open(pins.of(pin)).context(format!("open {pin}"))?;
        // libbpf fills the map only on the way to a new link, which cannot be while the name is taken; what is
        // wanted is the filled map, for the link that is there.
        if let Ok(second) = map.attach_struct_ops() {
            drop(second);
            return Err(Failure::new(Kind::Failed, "the control was not registered any more: detach and attach again"));
        }
        // SAFETY: open files; no options.
        let failed =
            unsafe { libbpf_sys::bpf_link_update(link.as_fd().as_raw_fd(), map.as_fd().as_raw_fd(), std::ptr::null()) };
        if failed != 0 {
            return Err(std::io::Error::from_raw_os_error(-failed)).context("exchange the control");
        }
    }
    pin_flows(&object, pins)?;
    let about = About { version: fit(version, "the version")?, ..before };
    write_about(pins, &about)?;
    Ok(about)
}

/// Who holds what is attached in the foreground. A number is good only in the namespace that it is of.
pub fn holder(about: &About) -> String {
    if about.pid_namespace == place::pid_namespace() {
        format!("process {}", about.pid)
    } else {
        "a process in another PID namespace".to_owned()
    }
}

/// Holds the links until a signal comes, without any capability. `held` says to others that it does.
fn stay(pins: &Pins, links: Vec<Link>, held: File) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]).context("wait for signals")?;
    privileges::keep(&[])?;
    println!("attached; ends with this process");
    signals.forever().next();
    drop(links);
    pins.remove()?;
    drop(held);
    wait_until_gone()
}

/// Takes everything out. Connections that are under the control keep it until they end.
pub fn detach(pins: &Pins) -> Result<()> {
    privileges::require("detach", &[Capability::CAP_NET_ADMIN])?;
    let _lock = pins.lock()?;
    only_ours(pins)?;
    let found = look(pins);
    let mut restored = Ok(());
    match found {
        Found::Nothing => {
            // An attach that was killed before it pinned anything leaves the folder.
            pins.remove()?;
            return Err(Failure::new(Kind::NotAttached, "not attached"));
        }
        Found::Foreign => return Err(foreign(Kind::NotAttached, pins)),
        Found::Attached(about) if about.pid != 0 => {
            return Err(Failure::new(
                Kind::Attached,
                format!("{} holds it in the foreground: end that one", holder(&about)),
            ));
        }
        Found::Attached(about) => restored = restore(&about),
        Found::Remains => restored = left(pins).map_or(Ok(()), |about| restore(&about)),
        Found::Skewed(_) => {}
    }
    for name in pins.names().iter().filter(|name| !MAPS.iter().any(|(_, map)| map == name)) {
        // At once, where the kernel can; removing the pin does it a little later.
        let _ = Link::open(pins.of(name)).map(|link| link.detach());
    }
    pins.remove()?;
    wait_until_gone()?;
    restored
}

/// Gives the namespace the default back that it had, if ours is still it.
fn restore(about: &About) -> Result<()> {
    let (path, prior) = (kernel::text(&about.namespace), kernel::text(&about.prior_control));
    // A namespace that is gone needs nothing.
    if path.is_empty() || !Path::new(path).exists() {
        return Ok(());
    }
    let namespace = Namespace::named(path)?;
    if namespace.default_control(None)? == CONTROLS[0] {
        namespace
            .default_control(Some(prior))
            .map_err(|failure| Failure::new(failure.kind, format!("{failure}; the default is still d2tcp")))?;
    }
    Ok(())
}

/// The kernel takes links apart when nobody looks; names come free then.
fn wait_until_gone() -> Result<()> {
    let patience = Instant::now() + Duration::from_secs(10);
    while CONTROLS.iter().any(|control| place::is_registered(control)) {
        if Instant::now() > patience {
            return Err(Failure::new(Kind::Failed, "the kernel still has the control registered after 10 s"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
