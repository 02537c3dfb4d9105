//! The switch: forwards in its namespace, marks at its ports, and watches their queues.
//!
//! Input: [`Setup`], then [`Go`]. Output: a line with its pid, one when its ports mark, and [`Report`] at the end.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, TC_EGRESS, TcHookBuilder};
use serde::{Deserialize, Serialize};

use crate::netlink::Netlink;
use crate::{Result, clock, line, namespace};

#[allow(missing_docs, clippy::all)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/mark.skel.rs"));
}

#[derive(Deserialize)]
struct Setup {
    sysctl: Vec<(String, String)>,
    ports: Vec<Port>,
    /// The time between two readings of the queues.
    watch_ns: i64,
}

#[derive(Deserialize)]
struct Port {
    interface: String,
    /// The threshold K in packets; 0 for none.
    mark_packets: u32,
    mark_bytes: u32,
    drop_non_ect: bool,
    /// True if its queue is watched.
    watched: bool,
}

#[derive(Deserialize)]
struct Go {
    start_ns: i64,
    duration_ns: i64,
    warm_up_ns: i64,
    /// The time between two recorded samples.
    sample_ns: Option<i64>,
}

#[derive(Serialize)]
struct Marking {
    marking: usize,
}

#[derive(Serialize)]
struct Report {
    ports: Vec<PortReport>,
    /// The longest time between two readings of the queues.
    longest_pause_ns: i64,
}

/// The counts of one port.
#[derive(Serialize)]
struct PortReport {
    interface: String,
    packets: u64,
    /// The bytes sent, including Ethernet headers.
    bytes: u64,
    marks: u64,
    /// The packets dropped by a full queue.
    drops: u64,
    /// The packets dropped above K because they could not be marked.
    non_ect_drops: u64,
    /// The longest queue at a packet's arrival.
    longest: u64,
    /// The number of readings after the warm-up with each length in packets.
    lengths: Vec<u64>,
    /// The samples: the time after the start, and the length.
    samples: Vec<(i64, u32)>,
}

/// The number of fields in `struct counts` of mark.bpf.c.
const COUNTS: usize = 5;

/// Runs the switch from its setup to its report.
pub fn main() -> Result<()> {
    namespace::enter_new()?;
    let setup: Setup = line::read()?;
    for (name, value) in &setup.sysctl {
        namespace::set(name, value)?;
    }
    namespace::raise_priority();
    libbpf_rs::set_print(None);
    let mut place = MaybeUninit::uninit();
    let open = skeleton::MarkSkelBuilder::default().open(&mut place)?;
    let program = open.load().map_err(|error| format!("the kernel refuses the marking program: {error:#}"))?;
    let interfaces = setup.ports.iter().map(|port| index(&port.interface)).collect::<Result<Vec<_>>>()?;
    for (port, interface) in setup.ports.iter().zip(&interfaces) {
        let key = interface.to_ne_bytes();
        let words = [port.mark_packets, port.mark_bytes, u32::from(port.drop_non_ect), 0];
        let value: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        program.maps.ports.update(&key, &value, MapFlags::ANY)?;
        program.maps.counted.update(&key, &[0; 8 * COUNTS], MapFlags::ANY)?;
        let mut hook =
            TcHookBuilder::new(program.progs.mark.as_fd()).ifindex(*interface).handle(1).priority(1).hook(TC_EGRESS);
        hook.create()?;
        hook.attach()?;
    }
    line::write(&Marking { marking: interfaces.len() })?;

    let go: Go = line::read()?;
    let before = setup.ports.iter().zip(&interfaces).map(|(_, i)| drops(*i)).collect::<Result<Vec<_>>>()?;
    let (watched, longest_pause_ns) = watch(&setup, &go, &interfaces)?;
    let mut ports = Vec::new();
    for (((port, interface), (lengths, samples)), before) in
        setup.ports.iter().zip(&interfaces).zip(watched).zip(before)
    {
        let counts = program.maps.counted.lookup(&interface.to_ne_bytes(), MapFlags::ANY)?;
        let counts = counts.ok_or("a port's counters are gone")?;
        let count = |i: usize| u64::from_ne_bytes(counts[8 * i..8 * i + 8].try_into().expect("eight bytes"));
        ports.push(PortReport {
            interface: port.interface.clone(),
            packets: count(0),
            bytes: count(1),
            marks: count(2),
            non_ect_drops: count(3),
            longest: count(4),
            drops: u64::from(drops(*interface)?.wrapping_sub(before)),
            lengths,
            samples,
        });
    }
    line::write(&Report { ports, longest_pause_ns })?;
    line::wait_for_end()
}

type Watched = (Vec<u64>, Vec<(i64, u32)>);

/// Reads the watched queues at equal intervals until the end of the run. It also returns the longest time between two
/// readings: with a real-time priority, that is a pause of the machine.
fn watch(setup: &Setup, go: &Go, interfaces: &[i32]) -> Result<(Vec<Watched>, i64)> {
    let netlink = Netlink::open()?;
    let mut watched: Vec<Watched> = interfaces.iter().map(|_| Default::default()).collect();
    let end = go.start_ns + go.duration_ns;
    let mut next = go.start_ns;
    let mut last = go.start_ns;
    let mut longest_pause_ns = 0;
    let mut next_sample = go.sample_ns.map(|step| go.start_ns + step);
    while next < end {
        sleep_until(next);
        let now = clock::now();
        longest_pause_ns = longest_pause_ns.max(now - last);
        last = now;
        let sampled = next_sample.filter(|at| now >= *at);
        for ((port, interface), (lengths, samples)) in setup.ports.iter().zip(interfaces).zip(&mut watched) {
            if !port.watched {
                continue;
            }
            let length = netlink.queue(*interface)?.packets;
            if now >= go.start_ns + go.warm_up_ns {
                if lengths.len() <= length as usize {
                    lengths.resize(length as usize + 1, 0);
                }
                lengths[length as usize] += 1;
            }
            if let Some(at) = sampled {
                samples.push((at - go.start_ns, length));
            }
        }
        // Readings that are too late are skipped.
        let after = |at: i64, step: i64| at + step * ((now - at).max(0) / step + 1);
        next = after(next, setup.watch_ns);
        next_sample = next_sample.zip(go.sample_ns).map(|(at, step)| if now >= at { after(at, step) } else { at });
    }
    sleep_until(end);
    Ok((watched, longest_pause_ns))
}

fn drops(interface: i32) -> Result<u32> {
    Ok(Netlink::open()?.queue(interface)?.drops)
}

fn sleep_until(at: i64) {
    let left = at - clock::now();
    if left > 0 {
        std::thread::sleep(std::time::Duration::from_nanos(left as u64));
    }
}

fn index(interface: &str) -> Result<i32> {
    let name = CString::new(interface)?;
    // SAFETY: the text ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(format!("there is no interface {interface}").into()),
        index => Ok(index as i32),
    }
}
