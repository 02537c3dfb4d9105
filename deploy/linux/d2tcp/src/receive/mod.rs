//! `d2tcp receive`: the windows of this machine's incoming connections follow one schedule.
//!
//! The daemon owns links of programs at an interface (tcx) and at the root of cgroup2. The kernel closes them with the
//! daemon, however it ends; then every packet has the kernel's own window again.

mod connections;
mod frame;
mod guard;
mod http;
mod layout;
mod memory;
mod rules;
mod status;

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::fs;
use std::fs::File;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use caps::Capability;
use clap::{Args, ValueEnum};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, RingBufferBuilder};
use receive::Parameters;

use self::connections::Connections;
use self::frame::Wire;
use self::guard::{Guard, now_ns, open_all};
use self::layout::{BEGUN, Control, Key, SLOTS, Slot, Told};
use self::memory::Values;
use self::rules::{Rule, Rules};
use crate::attach::{complaints, keep_complaints};
use crate::escape::{self, Name};
use crate::failure::{Context, Failure, Kind, Result};
use crate::hooks::program;
use crate::{parameters, place, privileges, trace};

const PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/receive.bpf.o"));
const CAPABILITIES: [Capability; 4] =
    [Capability::CAP_BPF, Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW, Capability::CAP_PERFMON];

/// The interval of the heartbeat, while nothing is sent.
const HEARTBEAT_NS: u64 = 100_000_000;
/// The time without a heartbeat after which windows are open.
const STALE_NS: u64 = 500_000_000;
/// The interval of decisions while some sender has something to send.
const TICK_NS: u64 = 10_000_000;
/// The time without a byte after which a sender no longer counts.
const PATIENCE_NS: u64 = 10_000_000;
/// The time after which a held sender may send two segments: its probes stay frequent.
const NUDGE_NS: u64 = 400_000_000;
/// The time after which a connection without an answer is given up: that of Linux, with its six retries.
const HANDSHAKE_NS: u64 = 130_000_000_000;
/// The interval of sweeps for such connections.
const SWEEP_NS: u64 = 10_000_000_000;
/// The least credit where none is given, in segments.
const MIN_CREDIT: u64 = 22;
/// The time whose bytes are the credit where none is given.
const CREDIT_NS: u64 = 1_000_000;
/// The payload in a thousand bytes of a full Ethernet frame, its preamble and its gap: 1448 of 1538.
const PAYLOAD_PERMILLE: u64 = 941;

/// The options of `receive`.
#[derive(Args, Clone, Debug)]
pub struct Receive {
    /// The interface whose incoming connections are scheduled.
    #[arg(long, value_name = "NAME", required_unless_present = "status")]
    interface: Option<String>,
    /// Rate of the link to this machine, as in 10Gbps [default: that of the interface, or as measured]
    #[arg(long, value_parser = rules::rate)]
    rate: Option<u64>,
    /// Bytes that may be granted and not yet received, as in 64kB [default: a millisecond of the rate, and 22 segments at
    /// least]
    #[arg(long, value_parser = rules::bytes)]
    credit: Option<u64>,
    /// Share of the credit for traffic without a deadline beside messages, as in 1/16
    #[arg(long, value_parser = parameters::share, default_value = "1/16")]
    floor: f64,
    /// Connections and their messages, as in port=7000,deadline=400ms,size=300kB; instead of a size, `http` takes it from
    /// the answer. The keys are port (local or remote; A-B for several), cgroup, deadline, size, http, weight and name.
    /// The first rule that fits a connection governs it.
    #[arg(long = "rule", value_name = "RULE", value_parser = rules::rule)]
    rules: Vec<Rule>,
    /// Connections without a rule: scheduled without a deadline unless programs announce one, or left alone.
    #[arg(long, default_value = "schedule")]
    others: Others,
    /// The socket by which `receive --status` asks the daemon.
    #[arg(long, value_name = "FILE", default_value = "/run/d2tcp-receive.sock")]
    socket: PathBuf,
    /// Print the state of the running daemon, and leave.
    #[arg(long)]
    status: bool,
    /// With --status: print it as JSON, with every connection.
    #[arg(long, requires = "status")]
    json: bool,
}

/// The treatment of connections without a rule.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Others {
    /// They are scheduled without a deadline.
    Schedule,
    /// Their windows are the kernel's.
    Leave,
}

impl Receive {
    /// Returns true if the running daemon is only asked.
    pub fn is_question(&self) -> bool {
        self.status
    }
}

/// Runs the daemon until a signal, or prints its state.
pub fn run(options: &Receive) -> Result<()> {
    if options.status {
        return status::print(&options.socket, options.json);
    }
    let name = options.interface.as_deref().unwrap_or_default();
    let interface = Interface::named(name)?;
    privileges::require("receive", &CAPABILITIES)?;
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Failure::new(
            Kind::Unsupported,
            "the kernel does not describe its types: /sys/kernel/btf/vmlinux is missing (CONFIG_DEBUG_INFO_BTF)",
        ));
    }
    let root = place::cgroup_root()?;
    let door = status::Door::open(&options.socket)?;
    let wire = Wire::open(interface.number)?;
    let object = load()?;
    let maps = Maps::of(&object)?;
    let control = &maps.control.all()[0];
    control.stale_ns.store(STALE_NS, Relaxed);
    control.heartbeat_ns.store(now_ns(), Relaxed);
    let ended = trace::signals()?;
    let links = Links::attach(&object, &interface, &root)?;
    run_soon();
    let mut shut: Vec<RawFd> = links.descriptors();
    shut.push(door.descriptor());
    let mut guard = Guard::start(maps.slots.all(), control, &wire, &shut)?;
    privileges::keep(&[Capability::CAP_BPF])?;
    println!("scheduling {}; ends with this process", Name::new(name));
    let rules = Rules::new(options.rules.clone(), options.others == Others::Leave, &root);
    let rate = options.rate.or(interface.rate).map(payload);
    let daemon = Daemon {
        maps: &maps,
        wire: &wire,
        connections: Connections::new(maps.slots.all(), rules, parameters_of(options, &interface, rate.unwrap_or(0))),
        meter: rate.is_none().then(Meter::default),
        options,
        interface: &interface,
        beaten_ns: 0,
        swept_ns: 0,
        lost: 0,
    };
    let done = daemon.run(&door, &mut guard, &shut, || ended.load(Relaxed));
    drop(links);
    open_all(maps.slots.all(), &wire);
    guard.end();
    done
}

/// Returns the payload that a link delivers, in bytes per second.
fn payload(rate: u64) -> u64 {
    rate / 1000 * PAYLOAD_PERMILLE
}

fn parameters_of(options: &Receive, interface: &Interface, rate: u64) -> Parameters {
    let step = 2 * interface.segment;
    let credit = options.credit.unwrap_or_else(|| (rate / (1_000_000_000 / CREDIT_NS)).max(MIN_CREDIT * step / 2));
    Parameters {
        rate,
        credit: credit.max(2 * step),
        window: (credit / 2).max(step),
        step,
        first: interface.segment,
        floor_permille: (options.floor * 1000.0).round() as u64,
        patience_ns: PATIENCE_NS,
        nudge_ns: NUDGE_NS,
    }
}

/// The network interface whose connections are scheduled.
struct Interface {
    number: u32,
    /// The payload of a full segment without options.
    segment: u64,
    /// Its own rate in bytes per second; none if it is not a device with a speed.
    rate: Option<u64>,
}

impl Interface {
    fn named(name: &str) -> Result<Interface> {
        let usage = |why: String| Failure::new(Kind::Usage, format!("--interface {}: {why}", Name::new(name)));
        let text = CString::new(name).map_err(|_| usage("expected a name".to_owned()))?;
        // SAFETY: the text ends with a zero.
        let number = unsafe { libc::if_nametoindex(text.as_ptr()) };
        if number == 0 {
            return Err(usage(format!("there is no such interface; there are {}", interfaces().join(", "))));
        }
        // SAFETY: the calls fill in the part of the union that is read.
        let (kind, mtu) = unsafe {
            let kind = ask(&text, libc::SIOCGIFHWADDR)?.ifr_ifru.ifru_hwaddr.sa_family;
            (kind, ask(&text, libc::SIOCGIFMTU)?.ifr_ifru.ifru_mtu)
        };
        // The programs expect its header.
        if kind != libc::ARPHRD_ETHER {
            return Err(usage("expected an Ethernet interface".to_owned()));
        }
        let segment = (mtu as u64).saturating_sub(40).clamp(536, 65_000);
        Ok(Interface { number, segment, rate: speed(name, number) })
    }
}

/// Returns what the kernel says of an interface.
fn ask(name: &CString, what: libc::Ioctl) -> Result<libc::ifreq> {
    // SAFETY: zeros are a value of this structure of numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (byte, into) in name.as_bytes().iter().zip(&mut request.ifr_name) {
        *into = *byte as libc::c_char;
    }
    let socket = UdpSocket::bind("127.0.0.1:0").context("open a socket")?;
    // SAFETY: the request is the structure that these calls read and fill in.
    if unsafe { libc::ioctl(socket.as_raw_fd(), what, &mut request) } != 0 {
        return Err(io::Error::last_os_error())
            .context(format!("ask for the interface {}", Name::new(name.as_bytes())));
    }
    Ok(request)
}

/// Returns the names of the interfaces.
fn interfaces() -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: the kernel's list ends with the number 0, and is freed once.
    unsafe {
        let list = libc::if_nameindex();
        let mut at = list;
        while !at.is_null() && (*at).if_index != 0 {
            names.push(Name::new(CStr::from_ptr((*at).if_name).to_bytes()).to_string());
            at = at.add(1);
        }
        if !list.is_null() {
            libc::if_freenameindex(list);
        }
    }
    names
}

/// Returns the speed of a device in bytes per second. That of a virtual interface is made up, and sysfs may be that of
/// another network namespace.
fn speed(name: &str, number: u32) -> Option<u64> {
    let folder = Path::new("/sys/class/net").join(name);
    let read = |what: &str| fs::read_to_string(folder.join(what)).ok()?.trim().parse::<u64>().ok();
    let is_device = folder.join("device").exists() && read("ifindex") == Some(u64::from(number));
    let megabits = read("speed").filter(|speed| is_device && (1..=1_000_000).contains(speed));
    megabits.map(|megabits| megabits * 125_000)
}

fn load() -> Result<Object> {
    keep_complaints();
    let open = ObjectBuilder::default().open_memory(PROGRAMS).context("read the programs")?;
    open.load().map_err(|error| {
        if std::env::var_os("D2TCP_VERBOSE").is_some() {
            eprintln!("{}", escape::lines(&complaints()));
        }
        Failure::new(Kind::Unsupported, format!("the kernel does not take the programs ({error:#})"))
    })
}

/// The maps of the programs.
struct Maps {
    slots: Values<Slot>,
    control: Values<Control>,
    flows: MapHandle,
    free: MapHandle,
    events: MapHandle,
}

impl Maps {
    fn of(object: &Object) -> Result<Maps> {
        let map = |name: &str| -> Result<MapHandle> {
            let map = object.maps().find(|map| map.name() == name).expect("in the programs");
            MapHandle::try_from(&map).context(format!("use {name}"))
        };
        let maps = Maps {
            slots: Values::map(&map("receive_slots")?)?,
            control: Values::map(&map("receive_control")?)?,
            flows: map("receive_flows")?,
            free: map("receive_free")?,
            events: map("receive_events")?,
        };
        for number in 0..SLOTS as u32 {
            maps.release(number)?;
        }
        Ok(maps)
    }

    /// Gives a slot back.
    fn release(&self, number: u32) -> Result<()> {
        self.free.update(&[], &number.to_ne_bytes(), MapFlags::ANY).context("fill the list of slots")
    }

    /// Forgets connections whose handshake was never completed.
    fn sweep(&self, now_ns: u64) -> Result<()> {
        let is_stale = |slot: &Slot| {
            let seen_ns = slot.seen_ns.load(Relaxed);
            seen_ns != 0 && slot.flags.load(Relaxed) & BEGUN == 0 && seen_ns + HANDSHAKE_NS < now_ns
        };
        let slots = self.slots.all().iter().enumerate();
        slots.filter(|(_, slot)| is_stale(slot)).try_for_each(|(number, _)| self.forget(number as u32))
    }

    /// Forgets a connection, whose windows are the kernel's from then on.
    fn forget(&self, number: u32) -> Result<()> {
        let slot = &self.slots.all()[number as usize];
        // A packet update of a connection that has ended would have no receiver.
        slot.field.store(0, Relaxed);
        slot.seen_ns.store(0, Relaxed);
        let key: Key = slot.key();
        let _ = self.flows.delete(zerocopy::IntoBytes::as_bytes(&key));
        self.release(number)
    }
}

/// The links, which end with the process.
struct Links {
    packets: [OwnedFd; 2],
    hook: Link,
}

impl Links {
    fn attach(object: &Object, interface: &Interface, root: &Path) -> Result<Links> {
        let at = |name: &str, place: libbpf_sys::bpf_attach_type| -> Result<OwnedFd> {
            let program = program(object, name);
            // SAFETY: the descriptor is open; without options there are none to read.
            let link = unsafe {
                libbpf_sys::bpf_link_create(
                    program.as_fd().as_raw_fd(),
                    interface.number as i32,
                    place,
                    std::ptr::null(),
                )
            };
            if link < 0 {
                let error = io::Error::from_raw_os_error(-link);
                return Err(Failure::new(
                    Kind::Unsupported,
                    format!("the kernel takes no program at the interface (tcx, Linux 6.6 or later): {error}"),
                ));
            }
            // SAFETY: the descriptor is new and ours.
            Ok(unsafe { OwnedFd::from_raw_fd(link) })
        };
        let folder = File::open(root).context("open the root of cgroup2")?;
        let hook = program(object, "receive_expect").attach_cgroup(folder.as_raw_fd());
        Ok(Links {
            packets: [at("receive_out", libbpf_sys::BPF_TCX_EGRESS)?, at("receive_in", libbpf_sys::BPF_TCX_INGRESS)?],
            hook: hook.context("attach to the root of cgroup2")?,
        })
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.packets.iter().map(AsRawFd::as_raw_fd).chain([self.hook.as_fd().as_raw_fd()]).collect()
    }
}

/// Lets the daemon run before ordinary processes: a late decision leaves the link idle.
fn run_soon() {
    let parameter = libc::sched_param { sched_priority: 1 };
    // SAFETY: the structure is valid. Where it is not permitted, the daemon is an ordinary process.
    unsafe {
        // An operator's own choice (chrt) stays.
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            libc::sched_setscheduler(0, libc::SCHED_RR, &parameter);
        }
    }
}

/// The rate of the link, as measured: the most that arrived in an interval, with a slow decay.
#[derive(Default)]
struct Meter {
    at_ns: u64,
    bytes: u64,
    rate: u64,
}

impl Meter {
    const INTERVAL_NS: u64 = 50_000_000;

    /// Takes a reading. Returns the new rate in bytes per second if it has changed by more than a hundredth.
    fn read(&mut self, now_ns: u64, bytes: u64) -> Option<u64> {
        let time = now_ns - self.at_ns;
        if time < Self::INTERVAL_NS {
            return None;
        }
        let arrived = bytes - self.bytes;
        let first = self.at_ns == 0;
        (self.at_ns, self.bytes) = (now_ns, bytes);
        if first {
            return None;
        }
        let now = (u128::from(arrived) * 1_000_000_000 / u128::from(time)) as u64;
        // A thousandth an interval: an idle minute leaves a third.
        let rate = now.max(self.rate - self.rate / 1000);
        let before = std::mem::replace(&mut self.rate, rate);
        (rate.abs_diff(before) > before / 100).then_some(rate)
    }
}

struct Daemon<'d> {
    maps: &'d Maps,
    wire: &'d Wire,
    connections: Connections<'d>,
    meter: Option<Meter>,
    options: &'d Receive,
    interface: &'d Interface,
    beaten_ns: u64,
    swept_ns: u64,
    lost: u64,
}

impl Daemon<'_> {
    fn run(
        mut self,
        door: &status::Door,
        guard: &mut Guard,
        shut: &[RawFd],
        has_ended: impl Fn() -> bool,
    ) -> Result<()> {
        let told: RefCell<Vec<Told>> = RefCell::new(Vec::new());
        let mut builder = RingBufferBuilder::new();
        let take = |bytes: &[u8]| {
            told.borrow_mut().extend(Told::read(bytes));
            0
        };
        builder.add(&self.maps.events, take).context("read the events")?;
        let ring = builder.build().context("read the events")?;
        while !has_ended() {
            let mut waiting =
                [ring.epoll_fd(), door.descriptor()].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
            let wait_ns = if self.connections.is_busy() { TICK_NS } else { HEARTBEAT_NS };
            let time = libc::timespec { tv_sec: 0, tv_nsec: wait_ns as i64 };
            // SAFETY: the entries and the time are valid.
            unsafe { libc::ppoll(waiting.as_mut_ptr(), 2, &time, std::ptr::null()) };
            ring.consume().context("read the events")?;
            self.decide(&told.borrow_mut().drain(..).collect::<Vec<_>>());
            self.beat(guard, shut)?;
            if waiting[1].revents != 0 {
                door.answer(&self.state(guard));
            }
        }
        Ok(())
    }

    /// Applies events, and puts the schedule into force.
    fn decide(&mut self, told: &[Told]) {
        let now = now_ns();
        for each in told {
            self.connections.apply(each);
        }
        if !self.connections.is_busy() {
            return;
        }
        for opened in self.connections.decide(now) {
            self.connections.counts.updates += 1;
            self.wire.update(&self.maps.slots.all()[opened.0 as usize]);
        }
    }

    /// Gives a sign of life, and does the work that is due from time to time.
    fn beat(&mut self, guard: &mut Guard, shut: &[RawFd]) -> Result<()> {
        let now = now_ns();
        let control = &self.maps.control.all()[0];
        if now - self.beaten_ns < HEARTBEAT_NS / 2 {
            return Ok(());
        }
        self.beaten_ns = now;
        control.heartbeat_ns.store(now, Relaxed);
        let lost = control.lost_events.load(Relaxed);
        if lost != self.lost {
            self.lost = lost;
            self.connections.recover(now);
        }
        for number in self.connections.clear(now) {
            self.maps.forget(number)?;
        }
        if now - self.swept_ns > SWEEP_NS {
            self.swept_ns = now;
            self.maps.sweep(now)?;
        }
        if let Some(rate) = self.meter.as_mut().and_then(|meter| meter.read(now, control.bytes.load(Relaxed))) {
            self.connections.parameters = parameters_of(self.options, self.interface, payload(rate));
        }
        if guard.has_ended() {
            *guard = Guard::start(self.maps.slots.all(), control, self.wire, shut)?;
        }
        Ok(())
    }

    fn state(&self, guard: &Guard) -> status::State {
        let control = &self.maps.control.all()[0];
        status::State {
            interface: self.options.interface.clone().unwrap_or_default(),
            rate_mbps: (self.connections.parameters.rate * 8) as f64 / 1e6,
            rate_is_measured: self.meter.is_some(),
            credit: self.connections.parameters.credit,
            guard: guard.pid(),
            cpu_s: status::cpu_seconds(),
            connections: self.connections.len(),
            counts: self.connections.counts.clone(),
            packets_reduced: control.rewritten.load(Relaxed),
            packets_passed_by_age: control.opened_by_age.load(Relaxed),
            unscheduled: control.unscheduled.load(Relaxed),
            lost_events: control.lost_events.load(Relaxed),
            each: self.connections.shown(now_ns()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_most_that_arrived() {
        let mut meter = Meter::default();
        let ms = 1_000_000;
        assert_eq!(meter.read(1_000 * ms, 5_000_000), None, "the first reading has no interval");
        assert_eq!(meter.read(1_010 * ms, 5_100_000), None, "too early");
        assert_eq!(meter.read(1_100 * ms, 6_000_000), Some(10_000_000));
        assert_eq!(meter.read(1_200 * ms, 6_000_000), None, "an idle interval says nothing");
        assert_eq!(meter.read(1_300 * ms, 8_000_000), Some(20_000_000));
    }
}
