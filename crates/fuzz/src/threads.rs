//! One thread against several: the results of a run are the same, to the byte.

use results::{Report, Table};
use scenario::{Options, Source};
use sim::{Outcome, ParallelRun, Scenario, Way, World};

use crate::bytes::Bytes;

/// The number of events after which a run is left alone: longer ones only take longer.
const MAX_EVENTS: u64 = 40_000;
/// The number of events up to which several threads run at the same time; else one thread takes their epochs in turn.
const MAX_TOGETHER: u64 = 2000;
/// The number of epochs after which a run is left alone: with links of 1 ns five million of them may hold few events.
const MAX_EPOCHS: u64 = 600_000;
/// The ways of the slices of a run, in turns.
const ALONE: &[Way] = &[Way::Alone];
const TOGETHER: &[Way] = &[Way::Together];
const IN_TURNS: &[Way] = &[Way::Alone, Way::Together];
/// The number of events of a slice.
const SLICE: u64 = 5000;

/// A network, a transport and some classes, simulated by one thread and by several.
pub fn threads(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let text = text(&mut bytes);
    let (threads, ways) = (bytes.pick(&[2, 3, 4]), bytes.pick(&[ALONE, ALONE, ALONE, TOGETHER, ALONE, IN_TURNS]));
    let Some(scenario) = scenario_of(&text) else { return };
    let Ok(partition) = sim::partition(&scenario, threads) else { return };
    let Some(alone) = alone(&text) else { return };
    if alone.ended.0 / partition.lookahead.0.max(1) > MAX_EPOCHS {
        return;
    }
    // Threads that share a core wait for each other at every epoch, and each wait may take milliseconds.
    let is_short = alone.counters.events <= MAX_TOGETHER;
    let mut ways = if is_short { ways } else { ALONE }.iter().cycle();
    let mut run = ParallelRun::new(scenario, partition, threads::wall_clock);
    while ways.next().is_some_and(|way| run.advance(SLICE, *way).goes_on) {}
    same(&alone, &run.finish(), &text);
}

/// Returns the scenario of a text; none where it is refused.
pub(crate) fn scenario_of(text: &str) -> Option<Scenario> {
    let source = Source { name: "drawn", text, folder: None };
    scenario::read(&source, &Options::default()).ok().map(|read| read.scenario)
}

/// Returns the outcome with one thread; none where it takes too many events.
pub(crate) fn alone(text: &str) -> Option<Outcome> {
    let mut world = World::new(scenario_of(text)?);
    for _ in 0..MAX_EVENTS / SLICE {
        if !world.advance(SLICE) {
            return Some(world.finish());
        }
    }
    None
}

/// Returns a scenario that these bytes choose. Some are refused.
fn text(bytes: &mut Bytes) -> String {
    let transports: Vec<&str> = transport::registry::TRANSPORTS.iter().map(|entry| entry.name).collect();
    let topology = bytes.pick(&[
        "topology = 'racks'\nracks = 3\nhosts_per_rack = 4\nuplink = '2 Gbps'",
        "topology = 'leaf-spine'\nleaves = 4\nhosts_per_leaf = 3\nspines = 2\nuplink = '2 Gbps'",
        "topology = 'fat-tree'\nk = 4",
        "topology = 'fat-tree'\nk = 4\nuplink = '500 Mbps'",
        "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 6\nspines = 1",
        "topology = 'custom'\nswitches = ['left', 'right', 'far']\nhosts = 12\nlinks = [{ from = '0..6', to = 'left' }, \
         { from = '6..10', to = 'right' }, { from = '10..12', to = 'far', delay = '3 us' }, \
         { from = 'left', to = 'right', rate = '4 Gbps' }, { from = 'right', to = 'far', delay = '50 us' }]",
    ]);
    let network = [
        bytes.pick(&["rate = '1 Gbps'", "rate = '10 Gbps'", "rate = '100 Mbps'"]),
        bytes.pick(&["delay = '20 us'", "delay = '1 us'", "delay = '1 ns'", "delay = '200 us'"]),
        bytes.pick(&["buffer = '40 KB'", "buffer = '9 KB'", "buffer = '200 KB'", ""]),
        bytes.pick(&["sharing = 'per-port'", "sharing = 'dynamic'", "sharing = 'static'", "", "sharing = 'abm'"]),
        bytes.pick(&["mark = '12 packets'", "mark = '2 packets'", "", "mark = '10 KB'"]),
        bytes.pick(&["", "host_queue = 'fair'", "host_queue = 'fifo'\nhost_buffer = '2 packets'"]),
        bytes.pick(&["", "frame_overhead = '38 B'\nhost_jitter = '0 s'", "host_jitter = '1 us'"]),
        bytes.pick(&[
            "",
            "discipline = 'priority'",
            "discipline = 'priority'\nwhen_full = 'push-out'",
            "discipline = 'pfabric'",
            "discipline = 'dwrr'\nquantum = '300 B'",
        ]),
        bytes.pick(&[
            "",
            "mark_at = 'departure'",
            "marking = 'phantom'",
            "non_ect = 'drop'",
            "marking = 'red'\nred_kmax = '30 packets'",
        ]),
    ];
    let transport = |bytes: &mut Bytes| transports[usize::from(bytes.next().unwrap_or(0)) % transports.len()];
    let own = transport(bytes);
    let rto = bytes.pick(&["", "rto_min = '1 ms'", "rto_min = '20 ms'"]);
    let mut all = format!(
        "profile = '{}'\n[run]\nduration = '{}'\nwarm_up = '{}'\nseed = {}\n[network]\n{topology}\n{}\n\
         [transport]\nname = '{own}'\n{rto}\n",
        sim::profile::NAMES[usize::from(bytes.next().unwrap_or(0)) % sim::profile::NAMES.len()],
        bytes.pick(&["2 ms", "500 us", "5 ms"]),
        bytes.pick(&["0 s", "300 us"]),
        bytes.next().unwrap_or(1),
        network.join("\n"),
    );
    for number in 0..bytes.pick(&[2, 1, 3]) {
        let pattern = bytes.pick(&[
            "pattern = 'fan-in'\nleaves = 8\nparents = 2\nevery = '1 ms'\nsize = 'uniform(4 KB, 30 KB)'",
            "pattern = 'poisson'\nload = '20%'\nsize = 'pareto(1 KB, 1.2)'",
            "pattern = 'periodic'\nfrom = [1, 6, 11]\nto = [7, 2, 3]\nsize = '20 KB'\nevery = '300 us'",
            "pattern = 'long'\nfrom = [3, 10]\nto = [9, 1]",
            "pattern = 'fan-in'\nleaves = 16\nleaves_per_host = 2\nparents = 2\nplacement = 'per-query'\nevery = '1 ms'\nsize = '3 KB'",
            "pattern = 'flows'\nflows = [{ from = '0..5', to = 11, size = '40 KB' }, { from = 11, to = 0, size = '1 B' }]",
        ]);
        let more = [
            bytes.pick(&["", "connections = 'persistent'", "connections = 'fresh'"]),
            bytes.pick(&["", "deadline = '1 ms'", "deadline = { base = '400 us', vary = 'uniform(0, 50%)' }"]),
            bytes.pick(&["", "", "jitter = 'uniform(0 us, 50 us)'", "priority = 1", "priority = 0\nweight = 3"]),
        ];
        let other = bytes.pick(&[false, false, true]).then(|| format!("transport = '{}'", transport(bytes)));
        all += &format!(
            "[[traffic]]\nname = 'class {number}'\n{pattern}\n{}\n{}\n",
            more.join("\n"),
            other.unwrap_or_default()
        );
    }
    all
}

/// Checks that all results of two runs are the same: the record and the rows of every table.
pub(crate) fn same(alone: &Outcome, together: &Outcome, text: &str) {
    let record = |outcome: &Outcome| Report::measured(outcome, 0.0).to_json();
    assert_eq!(record(alone), record(together), "{text}");
    let tables = |outcome: &Outcome| -> [Table; 4] {
        [results::flows(outcome), results::queries(outcome), results::links(outcome), results::requests(outcome)]
    };
    for (own, theirs) in tables(alone).iter().zip(&tables(together)) {
        assert!(format!("{own:?}") == format!("{theirs:?}"), "{own:?}\n{theirs:?}\n{text}");
    }
    assert_eq!((alone.ended, alone.decided_until), (together.ended, together.decided_until), "{text}");
    assert!((0..alone.messages.len()).all(|row| alone.path(row) == together.path(row)), "{text}");
}
