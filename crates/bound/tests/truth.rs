//! Compares the bound with the truth on instances that are small enough to try every schedule.

use std::collections::BTreeSet;

use bound::{Bound, Gap};
use sim::topology::Graph;

/// The payload of a packet that takes 10 us on a link of 1 Gbps.
const PACKET: u64 = 1210;

/// A message of some packets; times are in units of 10 us.
#[derive(Clone, Copy, Debug)]
struct Message {
    from: u32,
    to: u32,
    packets: u8,
    start: u64,
    due: u64,
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn scenario(network: &str, messages: &[Message]) -> sim::Scenario {
    let flow = |&Message { from, to, packets, start, due }: &Message| {
        // A link's delay of 1 ns is within the slack of 100 ns.
        let (size, start, allowed) = (u64::from(packets) * PACKET, start * 10, (due - start) * 10_000 + 100);
        format!("{{ from = {from}, to = {to}, size = '{size} B', start = '{start} us', deadline = '{allowed} ns' }}")
    };
    let flows: Vec<String> = messages.iter().map(flow).collect();
    let text = format!(
        "[run]\nduration = '10 ms'\n[network]\n{network}\nrate = '1 Gbps'\ndelay = '1 ns'\n\
         [transport]\nname = 'tcp'\nmss = '{PACKET} B'\nheader = '40 B'\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{}]\n",
        flows.join(", ")
    );
    let source = scenario::Source { name: "test", text: &text, folder: None };
    let read = scenario::read(&source, &scenario::Options::default());
    read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

/// All schedules that send whole packets, at most one on each link in a unit of time.
struct Schedules<'a> {
    graph: &'a Graph,
    messages: Vec<Message>,
    /// For each node and message, the number of links to the message's receiver.
    distance: Vec<Vec<u64>>,
    /// The states tried so far: the time, and the number of packets of each message at each node.
    tried: BTreeSet<(u64, Vec<u8>)>,
}

impl Schedules<'_> {
    fn of(graph: &Graph, messages: Vec<Message>) -> Schedules<'_> {
        let mut distance = vec![vec![u64::MAX; messages.len()]; graph.nodes() as usize];
        for (number, message) in messages.iter().enumerate() {
            distance[message.to as usize][number] = 0;
            for _ in 0..graph.nodes() {
                for link in &graph.links {
                    let next = distance[link.to as usize][number];
                    let passes = link.to >= graph.hosts || link.to == message.to;
                    if passes && next < u64::MAX {
                        let here = &mut distance[link.from as usize][number];
                        *here = (*here).min(next + 1);
                    }
                }
            }
        }
        Schedules { graph, messages, distance, tried: BTreeSet::new() }
    }

    fn at(&self, node: u32, message: usize) -> usize {
        node as usize * self.messages.len() + message
    }

    /// Returns whether all messages are in time in some schedule.
    fn some(&mut self) -> bool {
        let mut state = vec![0; self.graph.nodes() as usize * self.messages.len()];
        for (number, message) in self.messages.iter().enumerate() {
            state[self.at(message.from, number)] = message.packets;
        }
        self.from(0, &state)
    }

    fn from(&mut self, now: u64, state: &[u8]) -> bool {
        let mut done = true;
        for node in 0..self.graph.nodes() {
            for (number, message) in self.messages.iter().enumerate() {
                let (left, hops) = (u64::from(state[self.at(node, number)]), self.distance[node as usize][number]);
                if left == 0 || hops == 0 {
                    continue;
                }
                done = false;
                if now.max(message.start) + hops > message.due {
                    return false;
                }
            }
        }
        if done {
            return true;
        }
        if !self.tried.insert((now, state.to_vec())) {
            return false;
        }
        // Each link sends one of the packets that it brings nearer to their receivers.
        let sent = state.to_vec();
        self.link(now, 0, sent, state.to_vec())
    }

    /// Tries every choice of the links from index `link` on. `there` holds the packets not yet sent in this unit of
    /// time; `after` is the state after it.
    fn link(&mut self, now: u64, link: usize, there: Vec<u8>, after: Vec<u8>) -> bool {
        let Some(spec) = self.graph.links.get(link) else { return self.from(now + 1, &after) };
        let (from, to) = (spec.from, spec.to);
        let mut idle = true;
        for number in 0..self.messages.len() {
            let nearer = self.distance[to as usize][number] < self.distance[from as usize][number];
            let started = self.messages[number].start <= now;
            if !nearer || !started || there[self.at(from, number)] == 0 {
                continue;
            }
            idle = false;
            let (mut there, mut after) = (there.clone(), after.clone());
            there[self.at(from, number)] -= 1;
            after[self.at(from, number)] -= 1;
            after[self.at(to, number)] += 1;
            if self.link(now, link + 1, there, after) {
                return true;
            }
        }
        // An idle link with a packet to send is never better.
        idle && self.link(now, link + 1, there, after)
    }
}

/// Returns the fewest late messages of any schedule.
fn truth(graph: &Graph, messages: &[Message]) -> u64 {
    let sets = (0..1u32 << messages.len()).filter(|set| {
        let kept = (0..messages.len()).filter(|i| set & 1 << i != 0).map(|i| messages[i]).collect();
        Schedules::of(graph, kept).some()
    });
    messages.len() as u64 - sets.map(|set| u64::from(set.count_ones())).max().unwrap_or(0)
}

/// Draws up to five messages whose deadlines are hard to meet together.
fn draw(dice: &mut Dice, graph: &Graph, (senders, receivers): (u64, u64)) -> Vec<Message> {
    let hosts = u64::from(graph.hosts);
    let one = |dice: &mut Dice| {
        let from = dice.below(senders) as u32;
        let to = (hosts - 1 - dice.below(receivers)) as u32;
        let to = if to == from { (to + 1) % graph.hosts } else { to };
        let (packets, start) = (1 + dice.below(3) as u8, dice.below(3));
        let hops =
            if graph.switches.len() == 1 || graph.rack_of[from as usize] == graph.rack_of[to as usize] { 1 } else { 3 };
        Message { from, to, packets, start, due: start + u64::from(packets) + hops + dice.below(4) }
    };
    (0..2 + dice.below(4)).map(|_| one(dice)).collect()
}

#[test]
fn no_schedule_at_all_misses_fewer_and_an_exact_bound_is_reached() {
    let networks = [
        ("topology = 'star'\nhosts = 5", (3, 3)),
        ("topology = 'star'\nhosts = 6", (2, 4)),
        ("topology = 'racks'\nracks = 2\nhosts_per_rack = 2\nuplink = '1 Gbps'", (2, 2)),
        ("topology = 'racks'\nracks = 2\nhosts_per_rack = 3\nuplink = '1 Gbps'", (4, 4)),
        ("topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 3\nspines = 2\nuplink = '1 Gbps'", (3, 3)),
        (
            "topology = 'custom'\nhosts = 4\nswitches = ['a', 'b']\n\
             links = [ { from = '0..2', to = 'a' }, { from = '2..4', to = 'b' }, { from = 'a', to = 'b' } ]",
            (2, 2),
        ),
    ];
    let (mut late, mut exact, mut close, mut all) = (0, 0, 0, 0);
    for seed in 0..300u64 {
        let (network, ends) = networks[seed as usize % networks.len()];
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let graph = scenario(network, &[Message { from: 0, to: 1, packets: 1, start: 0, due: 9 }]).network.graph;
        let messages = draw(&mut dice, &graph, ends);
        let Bound { missed, gap, .. } = bound::of_scenario(&scenario(network, &messages)).all.unwrap();
        let truth = truth(&graph, &messages);
        assert!(missed <= truth, "the bound is {missed}, and {truth} are late\n{network}\n{messages:?}");
        match gap {
            None => assert_eq!(missed, truth, "it is called exact\n{network}\n{messages:?}"),
            Some(gap) => assert_eq!(gap, Gap::Schedule, "{messages:?}"),
        }
        all += 1;
        late += u32::from(truth > 0);
        exact += u32::from(gap.is_none());
        close += u32::from(missed == truth);
    }
    // The bound is not trivial: deadlines are missed, mostly the bound is the truth, and mostly it is known to be
    // exact.
    assert!(late > all / 3 && close > all * 4 / 5 && exact > all * 3 / 5, "{late}, {close} and {exact} of {all}");
}
