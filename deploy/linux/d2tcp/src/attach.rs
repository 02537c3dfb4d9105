//! Attaching the programs to the kernel, and detaching them.
//!
//! In the attached state the control is registered, and the links are pinned in our folder of bpffs or held by a
//! process in the foreground. Any other content of the folder is the remains of a crash, and is removed.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use caps::Capability;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, PrintLevel};

use crate::enact;
use crate::escape::{self, Name, Shown};
use crate::failure::{Context, Failure, Kind, Result};
use crate::hooks::{self, CONTROL_LINKS, Place, program};
use crate::kernel::{self, ABOUT_HEAD, About, CONTROLS, Control, LAYOUT, Law, Plain};
use crate::maps::{FLOWS, MAPS, map, value};
use crate::parameters::{DEFAULTS, Parameters};
use crate::place::{self, Namespace, Pins};
use crate::privileges;
use crate::rules::{Peers, Rule};

const PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/d2tcp.bpf.o"));

/// The program of that iterator.
pub const LISTING: &str = "d2tcp_flows";

/// The connections that get the control without asking for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// No connection gets it.
    None,
    /// All connections of the cgroups get it.
    All,
    /// Connections with a local or remote port in this range, both inclusive.
    Ports(u16, u16),
}

/// The arguments of `attach`.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The cgroups as given; empty for all.
    pub cgroups: Vec<PathBuf>,
    /// The selection of their connections.
    pub select: Select,
    /// Selects only peers in private ranges.
    pub private: bool,
    /// The share of each user's budget of urgency, if it is not the default.
    pub user_urgency: Option<f64>,
    /// The rules of a policy, which replace all of the above.
    pub policy: Option<Vec<Rule>>,
    /// The namespace whose default control is set, as given; empty for the tool's own.
    pub namespace: Option<String>,
    /// Parameters, to be merged with the defaults, or with the present ones when programs are replaced.
    pub parameters: Parameters,
    /// Replaces the programs of an attachment.
    pub replace: bool,
    /// Holds the links until a signal, and then detaches.
    pub foreground: bool,
}

/// The state found in the kernel and in our folder.
pub enum Found {
    /// Attached, with the facts about the attachment.
    Attached(Box<About>),
    /// Attached by a tool of this version, with other layouts.
    Skewed(String),
    /// Not attached, but a crash left objects.
    Remains,
    /// Not attached, and no objects.
    Nothing,
    /// The control is registered, but not by this folder's tool.
    Foreign,
}

/// Determines the present state.
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

/// Returns the facts about the attachment that a crash left, if they have this layout.
fn left(pins: &Pins) -> Option<About> {
    let bytes = map(pins, "about").and_then(|about| value(&about, 0)).ok()?;
    About::read(&bytes).filter(|about| about.layout == LAYOUT)
}

/// Fails if the folder has a foreign object, since only the remains of our own crash may be removed.
fn only_ours(pins: &Pins) -> Result<()> {
    let ours = |name: &str| {
        name == FLOWS || hooks::is_hook(name) || MAPS.iter().chain(&CONTROL_LINKS).any(|(_, pin)| *pin == name)
    };
    pins.names().iter().find(|name| !ours(name)).map_or(Ok(()), |name| {
        Err(Failure::new(
            Kind::Usage,
            format!("--pins {}: {} in it is not of d2tcp", pins.folder.shown(), Name::new(name)),
        ))
    })
}

/// Returns the facts about the attachment; fails if there is none.
pub fn require(pins: &Pins) -> Result<About> {
    if pins.is_hidden() {
        let folder = pins.folder.shown();
        return Err(Failure::new(Kind::NotPermitted, format!("{folder} may not be read: run it as root")));
    }
    match look(pins) {
        Found::Attached(about) => Ok(*about),
        Found::Skewed(version) => Err(skewed(&version)),
        _ if map(pins, "about").is_err_and(|failure| failure.kind == Kind::NotPermitted) => Err(Failure::new(
            Kind::NotPermitted,
            format!("what is in {} may not be read: run it as root", pins.folder.shown()),
        )),
        Found::Foreign => Err(foreign(Kind::NotAttached, pins)),
        Found::Remains => Err(Failure::new(
            Kind::NotAttached,
            format!("not attached; {} holds what a crash left: attach or detach clears it", pins.folder.shown()),
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
            pins.folder.shown()
        ),
    )
}

/// Returns the parameters in force.
pub fn law(pins: &Pins) -> Result<Law> {
    let bytes = value(&map(pins, "law")?, 0)?;
    Law::read(&bytes).ok_or_else(|| Failure::new(Kind::Failed, "what is attached is of another version"))
}

/// Puts parameters into force, for existing connections as well.
pub fn set_law(pins: &Pins, law: &Law) -> Result<()> {
    map(pins, "law")?.update(&0u32.to_ne_bytes(), law.bytes(), MapFlags::ANY).context("change the parameters")?;
    enact::set_law(pins, law)
}

static COMPLAINTS: Mutex<String> = Mutex::new(String::new());

/// Collects the warnings of libbpf, for error messages.
pub fn keep_complaints() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        if let Ok(mut kept) = COMPLAINTS.lock() {
            kept.push_str(&text);
        }
    })));
}

/// Returns the warnings of libbpf since the last call.
pub fn complaints() -> String {
    COMPLAINTS.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
}

/// Returns the programs, not yet loaded into the kernel.
pub fn programs() -> Result<OpenObject> {
    keep_complaints();
    ObjectBuilder::default().open_memory(PROGRAMS).context("read the programs")
}

/// Loads the programs. Some kernels refuse the iterator over connections and take all else, for example where the
/// operator restricts program types. The iterator is then left out, and `top` has no list.
fn loaded(open: impl Fn() -> Result<OpenObject>) -> Result<Object> {
    let refused = match open()?.load() {
        Ok(object) => return Ok(object),
        Err(error) => error,
    };
    if std::env::var_os("D2TCP_VERBOSE").is_some() {
        eprintln!("{}", escape::lines(&complaints()));
    }
    let mut unlisted = open()?;
    unlisted
        .progs_mut()
        .find(|program| program.name() == LISTING)
        .expect("a program of the embedded object")
        .set_autoload(false);
    unlisted.load().map_err(|_| {
        Failure::new(
            Kind::Unsupported,
            format!("the kernel does not take the programs ({refused:#}): d2tcp check says what is missing"),
        )
    })
}

/// Attaches as requested. In the foreground it returns after a signal.
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
    let rules = match &wanted.policy {
        Some(rules) => rules.clone(),
        None => chosen(wanted, &root)?,
    };
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
        // The pin of a control can be missing, like any other.
        (Found::Remains, true) if left(pins).is_some_and(|about| about.pid == 0) => {
            return replace(pins, wanted, left(pins).expect("the guard has found it"), version);
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
            // No partial attachment stays. Report the first failure only.
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

/// Returns the rules that the options of `attach` describe. Where only a part of a cgroup's connections is selected,
/// programs may still ask for the control.
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
        let mut name = cgroup.file_name().map_or("all".into(), |name| name.to_string_lossy()).into_owned();
        // A rule's name has 31 bytes, with the additions below.
        while name.len() > 20 {
            name.pop();
        }
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
    if let Some(share) = wanted.user_urgency {
        rules.iter_mut().for_each(|rule| rule.budget.share = share);
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
    let mut object = loaded(programs)?;
    for (name, pin) in MAPS {
        let mut map = object.maps_mut().find(|map| map.name() == name).expect("a map of the embedded object");
        map.pin(pins.of(pin)).context(format!("pin {pin}"))?;
    }
    set_law(pins, law)?;
    let prior = namespace.map(|namespace| namespace.default_control(None)).transpose()?;
    let mut about = describe(wanted, root, version)?;
    about.unlisted = u32::from(!lists(&object));
    if let Some((namespace, prior)) = namespace.zip(prior) {
        about.namespace = fit(namespace.path.as_os_str().as_encoded_bytes(), "the namespace's path")?;
        about.prior_control = fit(prior, "a name")?;
    }
    write_about(pins, &about)?;
    let rules: Vec<kernel::Rule> = rules.iter().map(|rule| rule.compiled(*law)).collect::<Result<_>>()?;
    enact::enact(pins, about.key, &rules)?;
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
        let mut map = object.maps_mut().find(|map| map.name() == name).expect("a map of the embedded object");
        keep(map.attach_struct_ops().context("register the control")?, pin.to_owned())?;
    }
    if let Some(namespace) = namespace {
        namespace.default_control(Some(CONTROLS[0]))?;
    }
    Ok((about, links))
}

/// Returns true if the kernel has taken the iterator over connections.
fn lists(object: &Object) -> bool {
    program(object, LISTING).autoload()
}

/// Pins the iterator, if there is one, in place of an earlier one.
fn pin_flows(object: &Object, pins: &Pins) -> Result<()> {
    if !lists(object) {
        return Ok(());
    }
    let sockets = map(pins, "sockets")?;
    let mut flows = program(object, LISTING).attach_iter(sockets.as_fd()).context("attach the iterator")?;
    let _ = std::fs::remove_file(pins.of(FLOWS));
    flows.pin(pins.of(FLOWS)).context("pin the iterator")
}

fn write_about(pins: &Pins, about: &About) -> Result<()> {
    map(pins, "about")?.update(&0u32.to_ne_bytes(), about.bytes(), MapFlags::ANY).context("write a map")
}

fn describe(wanted: &Wanted, root: &Path, version: &str) -> Result<About> {
    let mut key = [0u64; 2];
    // SAFETY: the buffer has room for as many bytes.
    let got = unsafe { libc::getrandom(key.as_mut_ptr().cast(), size_of_val(&key), 0) };
    if got != size_of_val(&key) as isize {
        return Err(std::io::Error::last_os_error()).context("draw a key");
    }
    Ok(About {
        layout: LAYOUT,
        unlisted: 0,
        reserved: 0,
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

fn fit<const N: usize>(text: impl AsRef<[u8]>, what: &str) -> Result<[u8; N]> {
    kernel::field(text).ok_or_else(|| Failure::new(Kind::Usage, format!("{what}: more than {} bytes", N - 1)))
}

/// Returns the time of a clock, in ns.
pub fn clock(which: libc::clockid_t) -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: there is room for the answer, which stays zero if the clock does not exist.
    let now = unsafe {
        libc::clock_gettime(which, now.as_mut_ptr());
        now.assume_init()
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Loads the programs once more, with the existing maps.
fn anew(pins: &Pins) -> Result<Object> {
    loaded(|| {
        let mut open = programs()?;
        for (name, pin) in MAPS {
            let mut map = open.maps_mut().find(|map| map.name() == name).expect("a map of the embedded object");
            map.reuse_pinned_map(pins.of(pin)).context(format!("take over {pin}"))?;
        }
        Ok(open)
    })
}

fn settle(pins: &Pins, object: &Object, places: &[Place]) -> Result<()> {
    hooks::settle(object, pins, places, |mut link, name| link.pin(pins.of(&name)).context(format!("pin {name}")))
}

/// Puts other rules into force, for existing connections as well.
pub fn reload(pins: &Pins, rules: &[Rule], parameters: &Parameters) -> Result<About> {
    privileges::require("apply", &privileges::TO_ATTACH)?;
    privileges::keep(&privileges::TO_ATTACH)?;
    let _lock = pins.lock()?;
    only_ours(pins)?;
    let about = require(pins)?;
    let law = parameters.harmless_over(DEFAULTS)?;
    let rules: Vec<kernel::Rule> = rules.iter().map(|rule| rule.compiled(law)).collect::<Result<_>>()?;
    let places = hooks::places(&place::cgroup_root()?, &rules)?;
    if about.pid == 0 && !hooks::is_settled(pins, &about, &places) {
        settle(pins, &anew(pins)?, &places)?;
    }
    set_law(pins, &law)?;
    enact::enact(pins, about.key, &rules)?;
    Ok(about)
}

/// Replaces the programs of an attachment. Existing connections keep their old programs and their state, and new ones
/// get the new programs. Selection, cgroups and namespace stay.
fn replace(pins: &Pins, wanted: &Wanted, before: About, version: &str) -> Result<About> {
    if before.pid != 0 {
        return Err(Failure::new(
            Kind::Attached,
            format!("{} holds it in the foreground: end that one first", holder(&before)),
        ));
    }
    let mut object = anew(pins)?;
    set_law(pins, &wanted.parameters.harmless_over(law(pins)?)?)?;
    let rules: Vec<kernel::Rule> = enact::in_force(pins)?.into_iter().map(|(_, rule)| rule).collect();
    settle(pins, &object, &hooks::places(&place::cgroup_root()?, &rules)?)?;
    for (name, pin) in CONTROL_LINKS {
        let mut map = object.maps_mut().find(|map| map.name() == name).expect("a map of the embedded object");
        if !pins.of(pin).exists() {
            let mut link = map.attach_struct_ops().context("register the control")?;
            link.pin(pins.of(pin)).context(format!("pin {pin}"))?;
            continue;
        }
        let link = Link::open(pins.of(pin)).context(format!("open {pin}"))?;
        // libbpf only fills the map when it creates a link, which fails while the name is taken. The filled map is
        // needed to update the existing link.
        if let Ok(second) = map.attach_struct_ops() {
            drop(second);
            return Err(Failure::new(Kind::Failed, "the control was not registered any more: detach and attach again"));
        }
        // SAFETY: both files are open, and there are no options.
        let failed =
            unsafe { libbpf_sys::bpf_link_update(link.as_fd().as_raw_fd(), map.as_fd().as_raw_fd(), std::ptr::null()) };
        if failed != 0 {
            return Err(std::io::Error::from_raw_os_error(-failed)).context("exchange the control");
        }
    }
    pin_flows(&object, pins)?;
    let unlisted = u32::from(!lists(&object));
    let about = About { version: fit(version, "the version")?, unlisted, ..before };
    write_about(pins, &about)?;
    Ok(about)
}

/// Returns the name of the process that holds the links in the foreground. A PID is only valid in its own namespace.
pub fn holder(about: &About) -> String {
    if about.pid_namespace == place::pid_namespace() {
        format!("process {}", about.pid)
    } else {
        "a process in another PID namespace".to_owned()
    }
}

/// Holds the links until a signal, without any capability. The lock of `held` shows other tools that the links are
/// held.
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

/// Detaches everything. Connections under the control keep it until they end.
pub fn detach(pins: &Pins) -> Result<()> {
    privileges::require("detach", &[Capability::CAP_NET_ADMIN])?;
    let _lock = pins.lock()?;
    only_ours(pins)?;
    let found = look(pins);
    let mut restored = Ok(());
    match found {
        Found::Nothing => {
            // An attach that was killed before its first pin leaves the empty folder.
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
        // Detach at once, if the kernel can; removing the pin detaches a little later.
        let _ = Link::open(pins.of(name)).map(|link| link.detach());
    }
    pins.remove()?;
    wait_until_gone()?;
    restored
}

/// Restores the namespace's earlier default control, if the default is still ours.
fn restore(about: &About) -> Result<()> {
    let (path, prior) = (kernel::text(&about.namespace), kernel::text(&about.prior_control));
    // A namespace that no longer exists needs no restoring.
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

/// Waits until the controls' names are free: the kernel destroys links in the background.
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
