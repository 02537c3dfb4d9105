//! Requests of stages: nothing starts before the pieces that it follows have ended, and threads change nothing.

use sim::outcome::RequestRow;
use sim::{ParallelRun, Way};

use crate::bytes::Bytes;
use crate::threads::{alone, same, scenario_of};

/// The most stages of a request.
const MAX_STAGES: usize = 7;

/// A stage as it was drawn.
struct Stage {
    /// The stages that it follows.
    after: Vec<usize>,
    /// It takes place once, and the stages that follow wait for all of it.
    is_plain: bool,
}

/// A network and requests of stages, simulated by one thread and by two.
pub fn requests(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let (text, stages) = text(&mut bytes);
    let Some(outcome) = alone(&text) else { return };
    for row in &outcome.stage_requests {
        in_order(row, &stages, &text);
    }
    let Some(scenario) = scenario_of(&text) else { return };
    let Ok(partition) = sim::partition(&scenario, 2) else { return };
    let mut run = ParallelRun::new(scenario, partition, threads::wall_clock);
    while run.advance(5000, Way::Alone).goes_on {}
    same(&outcome, &run.finish(), &text);
}

/// Checks that each piece of a request starts when all pieces that it follows have ended at its host.
fn in_order(row: &RequestRow, stages: &[Stage], text: &str) {
    for piece in &row.pieces {
        let times = [Some(row.arrival), piece.ready, piece.began, piece.ended];
        assert!(times.iter().flatten().is_sorted(), "{piece:?} of request {}\n{text}", row.number);
        assert!(times.windows(2).all(|two| two[0].is_some() || two[1].is_none()), "{piece:?}\n{text}");
        let Some(stage) = stages.get(piece.stage).filter(|stage| stage.is_plain) else { continue };
        for before in row.pieces.iter().filter(|other| stage.after.contains(&other.stage) && other.to == piece.from) {
            if stages[before.stage].is_plain
                && let Some(ready) = piece.ready
            {
                let waited = before.ended.is_some_and(|ended| ended <= ready);
                assert!(waited, "{piece:?} did not wait for {before:?}, request {}\n{text}", row.number);
            }
        }
    }
}

/// Returns a scenario that these bytes choose, and its stages. Some are refused.
fn text(bytes: &mut Bytes) -> (String, Vec<Stage>) {
    let network = [
        bytes.pick(&[
            "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 5\nspines = 2\nuplink = '10 Gbps'",
            "topology = 'star'\nhosts = 10",
            "topology = 'racks'\nracks = 2\nhosts_per_rack = 5\nuplink = '10 Gbps'",
        ]),
        bytes.pick(&["", "buffer = '40 KB'", "buffer = '9 KB'", "sharing = 'per-port'"]),
        bytes.pick(&["", "host_queue = 'fair'", "balance = 'spray'", "trim = true"]),
    ];
    let transport = bytes.pick(&["dctcp", "tcp", "d2tcp", "homa", "edf-grants", "swift", "d2tcp_plus"]);
    let class = [
        bytes.pick(&[
            "every = 'exponential(300 us)'",
            "every = '100 us'",
            "clients = 3\nthink = '50 us'",
            "clients = 2",
        ]),
        bytes.pick(&["", "deadline = '400 us'", "deadline = '2 * alone'"]),
        bytes.pick(&["deadlines = 'none'", "deadlines = 'remaining'", "deadlines = 'split'", "deadlines = 'request'"]),
        bytes.pick(&["", "", "late = 'abandon'"]),
    ];
    let roles = [
        bytes.pick(&["a = 0", "a = '0..3'"]),
        bytes.pick(&["b = 5", "b = '3..7'", "b = { hosts = '3..7', pick = 'round-robin' }"]),
        bytes.pick(&[
            "c = { hosts = '6..10', count = 3 }",
            "c = { hosts = '2..10', count = 2, pick = 'least-loaded' }",
            "c = { hosts = '7..10', pick = 'all' }",
        ]),
    ];
    let mut all = format!(
        "[run]\nduration = '3 ms'\nseed = {}\n[network]\nrate = '10 Gbps'\ndelay = '1 us'\n{}\n[transport]\n\
         name = '{transport}'\n[[traffic]]\nname = 'own'\npattern = 'stages'\npieces = true\n{}\n[traffic.roles]\n{}\n",
        bytes.next().unwrap_or(1),
        network.join("\n"),
        class.join("\n"),
        roles.join("\n"),
    );
    let (mut at, mut stages) = ("a", Vec::new());
    for index in 0..=usize::from(bytes.next().unwrap_or(2)) % MAX_STAGES {
        let (body, end) = match (bytes.pick(&[0, 1, 0, 2, 3]), at) {
            (1, _) => (
                format!(
                    "at = '{at}'\ntime = '{}'\n{}",
                    bytes.pick(&["5 us", "lognormal(20 us, 0.5)", "uniform(0 us, 40 us)"]),
                    bytes.pick(&["", "servers = 1", "servers = 2\norder = 'earliest-deadline'"]),
                ),
                at,
            ),
            (2, "c") => (
                format!(
                    "collective = '{}'\nat = 'c'\nsize = '40 KB'",
                    bytes.pick(&["all-reduce", "all-gather", "reduce-scatter", "all-to-all"])
                ),
                "c",
            ),
            (3, "c") => (format!("from = 'c'\nto = '{}'\nsize = '7 KB'", bytes.pick(&["next(c)", "others(c)"])), "c"),
            _ => {
                let to = match at {
                    "a" => bytes.pick(&["b", "c"]),
                    "b" => bytes.pick(&["c", "a"]),
                    _ => bytes.pick(&["a", "b"]),
                };
                (format!("from = '{at}'\nto = '{to}'\nsize = '{}'", bytes.pick(&["1 B", "20 KB", "100 KB"])), to)
            }
        };
        let more = bytes.pick(&["", "", "", "repeat = 3", "quorum = '60%'", "barrier = true"]);
        let earlier = index.checked_sub(1);
        let after = match (bytes.pick(&[false, false, false, true]), earlier) {
            (true, Some(last)) => vec![usize::from(bytes.next().unwrap_or(0)) % (last + 1), last],
            (_, earlier) => earlier.into_iter().collect(),
        };
        let names = after.iter().map(|stage| format!("'s{stage}'")).collect::<Vec<_>>().join(", ");
        let follows =
            if after.len() > 1 && after[0] != after[1] { format!("after = [{names}]") } else { String::new() };
        all += &format!("[[traffic.stage]]\nname = 's{index}'\n{body}\n{more}\n{follows}\n");
        stages.push(Stage { after, is_plain: more.is_empty() && !body.starts_with("collective") });
        at = end;
    }
    (all, stages)
}
