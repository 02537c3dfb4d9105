//! Compares the bound of requests with the truth on instances that are small enough to try every schedule, and with
//! runs.

use std::collections::BTreeSet;

use bound::requests::{Foreseen, Requests, of_outcome, of_scenario};
use bound::{Bound, Bounds, Gap, Side};
use sim::World;
use sim::outcome::{Outcome, RequestRow};
use sim::topology::Graph;

/// The payload of a packet that takes 10 us on a link of 1 Gbps.
const PACKET: u64 = 1210;

struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

fn read(text: &str, transport: &str) -> sim::Scenario {
    let source = scenario::Source { name: "test", text, folder: None };
    let options = scenario::Options {
        set: vec!["profile=classic".into()],
        transport: Some(transport.into()),
        ..scenario::Options::default()
    };
    scenario::read(&source, &options).unwrap_or_else(|error| panic!("{error}\n{text}")).scenario
}

fn run(text: &str, transport: &str) -> Outcome {
    let mut world = World::new(read(text, transport));
    while world.advance(1 << 20) {}
    world.finish()
}

/// Returns whether a run missed a goal of a request: too late, or not reached when it was due.
fn missed(outcome: &Outcome, row: &RequestRow) -> bool {
    let late = |goal: &sim::outcome::GoalRow| {
        let due = row.arrival + goal.within;
        goal.reached.map_or(due <= outcome.ended, |at| at > due)
    };
    outcome.counts(row.arrival) && row.goals.iter().any(late)
}

fn misses(outcome: &Outcome, class: Option<usize>) -> u64 {
    let of_class = outcome.stage_requests.iter().filter(|row| class.is_none_or(|class| row.class.index() == class));
    of_class.filter(|row| missed(outcome, row)).count() as u64
}

/// One request, in units of 10 us. It is a chain of messages from each host to the next, with work before each. Or it
/// is questions to two hosts and the answers of both.
#[derive(Clone, Debug)]
struct Request {
    start: u64,
    due: u64,
    messages: Vec<Message>,
    fans_out: bool,
}

#[derive(Clone, Debug)]
struct Message {
    from: u32,
    to: u32,
    packets: u8,
    /// The work at the sender before.
    work: u64,
    /// The message of the same request that must have arrived before the work begins.
    after: Option<usize>,
}

impl Request {
    fn draw(dice: &mut Dice, graph: &Graph) -> Request {
        let hosts = u64::from(graph.hosts);
        let other = |dice: &mut Dice, than: u32| (than + 1 + dice.below(hosts - 1) as u32) % graph.hosts;
        let hops = |from: u32, to: u32| {
            let is_near = graph.switches.len() == 1 || graph.rack_of[from as usize] == graph.rack_of[to as usize];
            if is_near { 1 } else { 3 }
        };
        let start = dice.below(3);
        let mut messages: Vec<Message> = Vec::new();
        let fans_out = dice.below(3) == 0;
        if fans_out {
            // The hosts before the last two ask those.
            let front = dice.below(hosts - 2) as u32;
            let (asks, answers, work) = (1, 1 + dice.below(2) as u8, dice.below(2));
            for shard in [graph.hosts - 2, graph.hosts - 1] {
                messages.push(Message { from: front, to: shard, packets: asks, work: 0, after: None });
            }
            for (question, shard) in [graph.hosts - 2, graph.hosts - 1].into_iter().enumerate() {
                messages.push(Message { from: shard, to: front, packets: answers, work, after: Some(question) });
            }
        } else {
            let mut from = dice.below(hosts) as u32;
            for stage in 0..1 + dice.below(3) as usize {
                let to = other(dice, from);
                let (packets, work) = (1 + dice.below(2) as u8, dice.below(2));
                messages.push(Message { from, to, packets, work, after: stage.checked_sub(1) });
                from = to;
            }
        }
        let mut ends: Vec<u64> = Vec::new();
        for Message { from, to, packets, work, after } in &messages {
            let begins = after.map_or(start, |before| ends[before]);
            ends.push(begins + work + u64::from(*packets) + hops(*from, *to));
        }
        let shortest = ends.into_iter().max().unwrap_or(start);
        Request { start, due: shortest + dice.below(4), messages, fans_out }
    }

    /// Returns it as a traffic class of one request.
    fn text(&self, number: usize) -> String {
        // The links' delays of 1 ns are within the slack of 100 ns.
        let (start, within) = (self.start * 10, (self.due - self.start) * 10_000 + 100);
        let mut text = format!(
            "[[traffic]]\nname = 'r{number}'\npattern = 'stages'\nclients = 1\ncount = 1\nstart = '{start} us'\n\
             deadline = '{within} ns'\n[traffic.roles]\n"
        );
        let mut hosts: Vec<u32> = self.messages.iter().flat_map(|message| [message.from, message.to]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.iter().for_each(|host| text += &format!("h{host} = {host}\n"));
        let stage = |name: &str, of: String| format!("[[traffic.stage]]\nname = '{name}'\n{of}\n");
        let work = |time: u64| format!("time = '{} us'", time * 10);
        let size = |packets: u8| format!("size = '{} B'", u64::from(packets) * PACKET);
        if self.fans_out {
            let [question, _, answer, last] = &self.messages[..] else { panic!("two questions and two answers") };
            text += &format!("shard = {{ hosts = '{}..{}', count = 2 }}\n", answer.from, last.from + 1);
            let front = question.from;
            text += &stage("question", format!("from = 'h{front}'\nto = 'shard'\n{}", size(question.packets)));
            text += &stage("work", format!("at = 'shard'\n{}", work(answer.work)));
            text += &stage("answer", format!("from = 'shard'\nto = 'h{front}'\n{}", size(answer.packets)));
        } else {
            for (index, Message { from, to, packets, work: time, .. }) in self.messages.iter().enumerate() {
                text += &stage(&format!("work{index}"), format!("at = 'h{from}'\n{}", work(*time)));
                text += &stage(&format!("send{index}"), format!("from = 'h{from}'\nto = 'h{to}'\n{}", size(*packets)));
            }
        }
        text
    }
}

fn text_of(network: &str, requests: &[Request]) -> String {
    let classes: Vec<String> = requests.iter().enumerate().map(|(number, request)| request.text(number)).collect();
    format!(
        "[run]\nduration = '10 ms'\n[network]\n{network}\nrate = '1 Gbps'\ndelay = '1 ns'\n\
         [transport]\nname = 'tcp'\nmss = '{PACKET} B'\nheader = '40 B'\n{}",
        classes.join("")
    )
}

/// A message of some request, with the time of its request.
#[derive(Clone, Debug)]
struct Sent {
    message: Message,
    start: u64,
    due: u64,
    /// The index of the message that must have arrived before.
    after: Option<usize>,
}

/// A state of the network.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    /// The packets of each message at each node.
    at: Vec<u8>,
    /// The time at which each message may be sent, once that is known.
    ready: Vec<Option<u64>>,
}

/// All schedules that send whole packets, at most one on each link in a unit of time.
struct Schedules<'a> {
    graph: &'a Graph,
    messages: Vec<Sent>,
    /// For each node and message, the number of links to the message's receiver.
    distance: Vec<Vec<u64>>,
    tried: BTreeSet<(u64, State)>,
}

impl Schedules<'_> {
    fn of<'a>(graph: &'a Graph, requests: &[&Request]) -> Schedules<'a> {
        let mut messages = Vec::new();
        for request in requests {
            let first = messages.len();
            for message in &request.messages {
                let (start, due, after) = (request.start, request.due, message.after.map(|before| first + before));
                messages.push(Sent { message: message.clone(), start, due, after });
            }
        }
        let mut distance = vec![vec![u64::MAX; messages.len()]; graph.nodes() as usize];
        for (number, Sent { message, .. }) in messages.iter().enumerate() {
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

    fn place(&self, node: u32, message: usize) -> usize {
        node as usize * self.messages.len() + message
    }

    /// Returns whether all requests are in time in some schedule.
    fn some(&mut self) -> bool {
        let mut state = State {
            at: vec![0; self.graph.nodes() as usize * self.messages.len()],
            ready: vec![None; self.messages.len()],
        };
        for (number, Sent { message, start, after, .. }) in self.messages.iter().enumerate() {
            state.at[self.place(message.from, number)] = message.packets;
            state.ready[number] = after.is_none().then_some(start + message.work);
        }
        self.from(0, state)
    }

    fn from(&mut self, now: u64, mut state: State) -> bool {
        for number in 0..self.messages.len() {
            let Sent { message, after: Some(before), .. } = &self.messages[number] else { continue };
            let of = &self.messages[*before].message;
            if state.ready[number].is_none() && state.at[self.place(of.to, *before)] == of.packets {
                state.ready[number] = Some(now + message.work);
            }
        }
        let mut done = true;
        for node in 0..self.graph.nodes() {
            for (number, Sent { due, .. }) in self.messages.iter().enumerate() {
                let (left, hops) = (state.at[self.place(node, number)], self.distance[node as usize][number]);
                if left == 0 || hops == 0 {
                    continue;
                }
                done = false;
                let left = u64::from(left);
                if now.max(state.ready[number].unwrap_or(now)) + hops + left - 1 > *due {
                    return false;
                }
            }
        }
        if done {
            return true;
        }
        if !self.tried.insert((now, state.clone())) {
            return false;
        }
        let there = state.at.clone();
        self.link(now, 0, there, state)
    }

    /// Tries every choice of the links from index `link` on. `there` holds the packets not yet sent in this unit of
    /// time; `after` is the state after it.
    fn link(&mut self, now: u64, link: usize, there: Vec<u8>, after: State) -> bool {
        let Some(spec) = self.graph.links.get(link) else { return self.from(now + 1, after) };
        let (from, to) = (spec.from, spec.to);
        let mut idle = true;
        for number in 0..self.messages.len() {
            let nearer = self.distance[to as usize][number] < self.distance[from as usize][number];
            let is_ready = after.ready[number].is_some_and(|ready| ready <= now);
            if !nearer || !is_ready || there[self.place(from, number)] == 0 {
                continue;
            }
            idle = false;
            let (mut there, mut after) = (there.clone(), after.clone());
            there[self.place(from, number)] -= 1;
            after.at[self.place(from, number)] -= 1;
            after.at[self.place(to, number)] += 1;
            if self.link(now, link + 1, there, after) {
                return true;
            }
        }
        // An idle link with a packet to send is never better.
        idle && self.link(now, link + 1, there, after)
    }
}

/// Returns the fewest late requests of any schedule.
fn truth(graph: &Graph, requests: &[Request]) -> u64 {
    let in_time = |set: &u32| {
        let kept: Vec<&Request> = (0..requests.len()).filter(|i| set >> i & 1 == 1).map(|i| &requests[i]).collect();
        Schedules::of(graph, &kept).some()
    };
    let most = (0..1_u32 << requests.len()).filter(in_time).map(u32::count_ones).max().unwrap_or(0);
    u64::from(requests.len() as u32 - most)
}

#[test]
fn no_schedule_at_all_misses_fewer_and_an_exact_bound_is_reached() {
    let networks = [
        "topology = 'star'\nhosts = 4",
        "topology = 'star'\nhosts = 5",
        "topology = 'racks'\nracks = 2\nhosts_per_rack = 2\nuplink = '1 Gbps'",
        "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 2\nspines = 2\nuplink = '1 Gbps'",
    ];
    let (mut late, mut found, mut exact, mut close, mut all) = (0, 0, 0, 0, 0);
    for seed in 0..240_u64 {
        let network = networks[seed as usize % networks.len()];
        let mut dice = Dice::new(seed);
        let any = Message { from: 0, to: 1, packets: 1, work: 0, after: None };
        let any = Request { start: 0, due: 9, messages: vec![any], fans_out: false };
        let graph = read(&text_of(network, &[any]), "tcp").network.graph;
        let requests: Vec<Request> = (0..2 + dice.below(3)).map(|_| Request::draw(&mut dice, &graph)).collect();
        let text = text_of(network, &requests);
        let outcome = run(&text, "tcp");
        let Bound { missed, gap, with_deadline, .. } = of_outcome(&outcome).all.unwrap();
        assert_eq!(with_deadline, requests.len() as u64);
        let truth = truth(&graph, &requests);
        assert!(missed <= truth, "the bound is {missed}, and {truth} are late\n{text}\n{requests:?}");
        match gap {
            None => assert_eq!(missed, truth, "it is called exact\n{text}\n{requests:?}"),
            Some(gap) => assert_eq!(gap, Gap::Schedule, "{requests:?}"),
        }
        all += 1;
        found += missed;
        late += truth;
        exact += u32::from(gap.is_none());
        close += u32::from(missed == truth);
    }
    println!("{late} late, {found} found; {close} true and {exact} exact of {all}");
    assert!(
        late * 2 > all && close * 10 > all as u32 * 9 && exact * 2 > all as u32,
        "{late}, {close}, {exact} of {all}"
    );
}

/// Returns the bounds with at most `each` requests in memory at a time; that may not change the result.
fn in_a_file(outcome: &Outcome, each: usize) -> Bounds {
    let mut aside = aside::Aside::new(tempfile::tempfile().unwrap());
    let mut requests = Requests::new();
    let counted = outcome.stage_requests.iter().rev().filter(|row| outcome.counts(row.arrival));
    for (number, row) in counted.enumerate() {
        requests.add(row);
        if number % each == each - 1 {
            requests.put(&mut aside).unwrap();
            assert_eq!(requests.held(), 0);
        }
    }
    requests.bounds(outcome, Some(&mut aside)).unwrap()
}

/// Checks that the bounds of a scenario and of its run are the same. A run that misses no more shows that a bound is exact;
/// before it only a schedule can.
fn is_foreseen(found: &Bounds, Foreseen { bounds, unknown }: &Foreseen, text: &str) {
    let depends = |class: usize| unknown.iter().any(|(id, _)| id.index() == class);
    let is_same = |found: &Bound, foreseen: &Bound| {
        let known = |bound: &Bound| (bound.with_deadline, bound.missed, bound.side);
        assert_eq!(known(found), known(foreseen), "{text}");
        assert!(foreseen.gap.is_some() || found.gap.is_none(), "{foreseen:?}, {found:?}\n{text}");
    };
    for (class, (found, foreseen)) in found.classes.iter().zip(&bounds.classes).enumerate() {
        match (found, foreseen) {
            (Some(found), Some(foreseen)) => is_same(found, foreseen),
            (_, None) => assert!(depends(class), "{text}"),
            (None, Some(_)) => panic!("no goals\n{text}"),
        }
    }
    if unknown.is_empty() {
        is_same(found.all.as_ref().unwrap(), bounds.all.as_ref().unwrap());
    }
    let clients = text.matches("clients = 9").count();
    assert_eq!((unknown.len(), unknown.iter().all(|(_, why)| why.contains("clients ask again"))), (clients, true));
}

/// Runs a scenario under every transport, and returns the bound and the fewest misses of any transport. In an open loop
/// the bound is the same for all.
fn under_every_transport(text: &str) -> (u64, u64) {
    let (mut fewest, mut bounds) = (u64::MAX, Vec::new());
    for transport in transport::registry::TRANSPORTS {
        let outcome = run(text, transport.name);
        let found = of_outcome(&outcome);
        assert_eq!(found, in_a_file(&outcome, 7), "{text}");
        is_foreseen(&found, &of_scenario(read(text, transport.name)), text);
        let all = found.all.expect("there are goals");
        let of_run = misses(&outcome, None);
        assert!(all.missed <= of_run, "{} missed {of_run}, and the bound is {all:?}\n{text}", transport.name);
        for (class, bound) in found.classes.iter().enumerate() {
            let of_run = misses(&outcome, Some(class));
            assert!(bound.is_none_or(|bound| bound.missed <= of_run), "{}\n{text}", transport.name);
        }
        bounds.push(all.missed);
        fewest = fewest.min(of_run);
    }
    if !text.contains("clients") && !text.contains("least-loaded") {
        bounds.dedup();
        assert_eq!(bounds.len(), 1, "{bounds:?} for the same requests\n{text}");
    }
    (bounds.into_iter().max().unwrap_or(0), fewest)
}

/// Returns a small scenario in which goals are hard to reach.
fn any_scenario(seed: u64) -> String {
    let dice = &mut Dice::new(seed);
    let topology = dice.one(&[
        "topology = 'star'\nhosts = 8",
        "topology = 'star'\nhosts = 8\nbottleneck = '300 Mbps'",
        "topology = 'racks'\nracks = 2\nhosts_per_rack = 4\nuplink = '700 Mbps'",
        "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 4\nspines = 3\nuplink = '500 Mbps'",
    ]);
    let delay = dice.one(&["delay = '20 us'", "delay = '1 ns'"]);
    let overhead = dice.one(&["", "frame_overhead = '38 B'"]);
    let transport = dice.one(&[
        "header = '40 B'",
        "mss = '9000 B'\nheader = '40 B'",
        "mss = '536 B'\nheader = '0 B'",
        "initial_window = 1000\nheader = '40 B'",
    ]);
    let mut class = |name: &str| {
        let arrivals = dice.one(&["every = 'exponential(400 us)'", "every = '150 us'", "clients = 9"]);
        let goals = dice.one(&[
            "deadline = '1 ms'",
            "deadline = 'uniform(300 us, 3 ms)'",
            "deadline = '1.4 * alone'",
            "deadline = '2 ms'\nlate = 'abandon'\ndeadlines = 'remaining'",
        ]);
        let connections = dice.one(&["", "connections = 'persistent'"]);
        let goal = dice.one(&["", "[[traffic.goal]]\nname = 'first'\nstage = 'ask'\nwithin = '200 us'\n"]);
        let quorum = dice.one(&["", "", "quorum = '60%'\n"]);
        let servers = dice.one(&["", "servers = 2\n"]);
        let stages = dice.one(&[
            "front = '0..3'\nshard = { hosts = '3..8', count = 4 }\n[[traffic.stage]]\nname = 'ask'\nfrom = 'front'\n\
             to = 'shard'\nsize = '1 KB'\n[[traffic.stage]]\nname = 'work'\nat = 'shard'\ntime = 'exponential(50 us)'\n\
             SERVERS[[traffic.stage]]\nname = 'answer'\nfrom = 'shard'\nto = 'front'\nsize = 'exponential(15 KB)'\nQUORUM",
            "a = '0..4'\nb = '2..6'\nc = 7\n[[traffic.stage]]\nname = 'ask'\nfrom = 'a'\nto = 'b'\nsize = '20 KB'\n\
             [[traffic.stage]]\nname = 'work'\nat = 'b'\ntime = '30 us'\nSERVERS[[traffic.stage]]\nname = 'on'\nfrom = 'b'\n\
             to = 'c'\nsize = 'uniform(1 KB, 30 KB)'\n",
            "rank = { hosts = '0..6', count = 4 }\n[[traffic.stage]]\nname = 'ask'\nfrom = 'rank'\n\
             to = 'next(rank)'\nsize = '6 KB'\nrepeat = 3\n[[traffic.stage]]\nname = 'all'\nfrom = 'rank'\n\
             to = 'others(rank)'\nsize = '4 KB'\nbarrier = true\n",
        ]);
        let stages = stages.replace("QUORUM", quorum).replace("SERVERS", servers);
        format!(
            "[[traffic]]\nname = '{name}'\npattern = 'stages'\n{arrivals}\n{goals}\n{connections}\n[traffic.roles]\n\
             {stages}{goal}"
        )
    };
    let (first, second) = (class("a"), class("b"));
    format!(
        "[run]\nduration = '6 ms'\nwait_for = 'deadlines'\nseed = {seed}\n{}\n[network]\n{topology}\nrate = '1 Gbps'\n\
         {delay}\n{overhead}\n[transport]\nname = 'd2tcp'\n{transport}\n{first}{second}",
        dice.one(&["", "warm_up = '1 ms'", "cool_down = '500 us'"])
    )
}

#[test]
fn no_transport_misses_fewer_in_any_scenario() {
    let part = |first: u64| -> Vec<(u64, u64)> {
        (first..40).step_by(2).map(|seed| under_every_transport(&any_scenario(seed))).collect()
    };
    let found: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..2).map(|first| scope.spawn(move || part(first))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("its assertions hold")).collect()
    });
    let above_zero = found.iter().filter(|(bound, _)| *bound > 0).count();
    println!("{above_zero} above zero of {}: {found:?}", found.len());
    assert!(above_zero * 10 > found.len() * 9, "{found:?}");
}

/// Returns the bound of requests at one front end that start together: each asks three hosts, and each answer takes
/// 0.83 ms of the front end's link. `rest` are the class's goals and other keys.
fn of_questions(rest: &str, quorum: &str) -> Bound {
    let text = format!(
        "[run]\nduration = '40 ms'\n[network]\ntopology = 'star'\nhosts = 8\nrate = '1 Gbps'\ndelay = '5 us'\n\
         [[traffic]]\nname = 'a'\npattern = 'stages'\nclients = 5\ncount = 5\n{rest}\n[traffic.roles]\nfront = 0\n\
         shard = {{ hosts = '1..8', count = 3 }}\n[[traffic.stage]]\nname = 'ask'\nfrom = 'front'\nto = 'shard'\n\
         size = '100 B'\n[[traffic.stage]]\nname = 'answer'\nfrom = 'shard'\nto = 'front'\nsize = '100 KB'\n{quorum}"
    );
    of_outcome(&run(&text, "tcp")).all.unwrap()
}

#[test]
fn all_answers_of_a_request_count_once() {
    // Each request takes 2.5 ms at the front end. In 8 ms there is time for three of five.
    let all = of_questions("deadline = '8 ms'", "");
    assert_eq!((all.with_deadline, all.missed, all.gap), (5, 2, None));
    // In 2 ms none is possible, even alone.
    assert_eq!(of_questions("deadline = '2 ms'", "").missed, 5);
    // With a quorum of two of three no answer is needed for sure.
    assert_eq!(of_questions("deadline = '8 ms'", "quorum = '60%'\n").missed, 0);
}

/// Returns the bound, before any run, of requests that arrive together on a star of links with 1 Gbps, where a packet of
/// [`PACKET`] takes 10 us. `rest` are the keys of their class from `deadline` on.
fn foreseen(count: u64, rest: &str) -> Bound {
    let text = format!(
        "[run]\nduration = '1 ms'\n[network]\ntopology = 'star'\nhosts = 6\nrate = '1 Gbps'\ndelay = '1 ns'\n\
         [transport]\nname = 'tcp'\nmss = '{PACKET} B'\nheader = '40 B'\n[[traffic]]\nname = 'a'\npattern = 'stages'\n\
         every = '1 ps'\ncount = {count}\ndeadline = {rest}"
    );
    let Foreseen { bounds, unknown } = of_scenario(read(&text, "tcp"));
    assert_eq!(unknown, []);
    bounds.all.unwrap()
}

/// Returns stages that send these packets along a row of hosts.
fn row(packets: &[u64], extra: &str) -> String {
    let roles: String = (0..=packets.len()).map(|host| format!("h{host} = {host}\n")).collect();
    let stage = |(host, packets): (usize, &u64)| {
        let (to, bytes) = (host + 1, packets * PACKET);
        format!("[[traffic.stage]]\nname = 's{host}'\nfrom = 'h{host}'\nto = 'h{to}'\nsize = '{bytes} B'\n{extra}")
    };
    let stages: String = packets.iter().enumerate().map(stage).collect();
    format!("[traffic.roles]\n{roles}{stages}")
}

#[test]
fn a_schedule_stretches_the_times_alone_until_the_goal() {
    let gap = |us: f64, packets: &[u64], extra: &str| {
        let bound = foreseen(2, &format!("'{us} us'\n{}", row(packets, extra)));
        assert_eq!((bound.with_deadline, bound.missed), (2, 0));
        bound.gap
    };
    // Each message takes 20 us alone. The second of two at its links arrives after 30 us, so 40 us are stretched to 60.
    assert_eq!((gap(60.1, &[1, 1], ""), gap(59.0, &[1, 1], "")), (None, Some(Gap::Schedule)));
    // 20 and 30 us. With a factor of f the last four packets start at 20 f, and take 50 us: 50 f is 83.3 us or more.
    assert_eq!((gap(83.5, &[1, 2], ""), gap(82.0, &[1, 2], "")), (None, Some(Gap::Schedule)));
    // 30 and 20 us: the first four packets take 50 us, until 30 f.
    assert_eq!((gap(83.5, &[2, 1], ""), gap(82.0, &[2, 1], "")), (None, Some(Gap::Schedule)));
    // A message alone has all its window: two at once take 30 us.
    assert_eq!((gap(30.1, &[1], ""), gap(50.0, &[1], "")), (None, None));
    // No schedule is looked for where part of a stage is enough.
    assert_eq!(gap(200.0, &[1, 1], "quorum = '60%'\n"), Some(Gap::Schedule));
}

#[test]
fn requests_that_give_way_are_those_of_the_bound() {
    // Each of five takes 30 us of the link to host 1, and 10 us more: two of them in 75 us, and three in 105 us.
    let of = |us: f64| foreseen(5, &format!("'{us} us'\n{}", row(&[3], "")));
    let bound = |missed, gap| Bound { with_deadline: 5, missed, side: Side::Receivers, gap };
    assert_eq!((of(75.0), of(105.0)), (bound(3, None), bound(2, None)));
    // Not even alone.
    assert_eq!((of(39.9), of(40.1)), (bound(5, None), bound(4, None)));
    // Both answers of a request are one job of 20 us at host 0: one request ends at 30, two at 50 and three at 70 us.
    let answers = |us: f64| {
        let stage = format!("[[traffic.stage]]\nname = 'answer'\nfrom = 'back'\nto = 'front'\nsize = '{PACKET} B'\n");
        let roles = "[traffic.roles]\nfront = 0\nback = { hosts = '1..5', count = 2 }\n";
        let bound = foreseen(3, &format!("'{us} us'\n{roles}{stage}"));
        (bound.missed, bound.gap)
    };
    assert_eq!((answers(41.0), answers(51.0), answers(71.0)), ((2, None), (1, None), (0, None)));
}

#[test]
fn the_largest_gives_way_where_one_must() {
    // Packets of 10 us to host 0: 4, 1 and 1 in 45 us: only without the 4 is all the rest in time.
    let class = |name: &str, packets: u64, from: u32| {
        format!(
            "[[traffic]]\nname = '{name}'\npattern = 'stages'\nevery = '1 ps'\ncount = 1\ndeadline = '55 us'\n\
             [traffic.roles]\na = {from}\nb = 0\n[[traffic.stage]]\nname = 's'\nfrom = 'a'\nto = 'b'\nsize = '{} B'\n",
            packets * PACKET
        )
    };
    let text = format!(
        "[run]\nduration = '1 ms'\n[network]\ntopology = 'star'\nhosts = 6\nrate = '1 Gbps'\ndelay = '1 ns'\n\
         [transport]\nname = 'tcp'\nmss = '{PACKET} B'\nheader = '40 B'\n{}{}{}",
        class("long", 4, 1),
        class("one", 1, 2),
        class("other", 1, 3)
    );
    let Foreseen { bounds, .. } = of_scenario(read(&text, "tcp"));
    let bound = |with_deadline, missed| Bound { with_deadline, missed, side: Side::Receivers, gap: None };
    assert_eq!(bounds.all, Some(bound(3, 1)));
    assert_eq!(bounds.classes, [Some(bound(1, 0)); 3]);
}

#[test]
fn goals_that_are_due_after_the_run_take_no_part() {
    let of = |cool_down: &str| {
        let text = format!(
            "[run]\nduration = '1 ms'\ncool_down = '{cool_down}'\n[network]\ntopology = 'star'\nhosts = 3\nrate = '1 Gbps'\n\
             delay = '1 ns'\n[transport]\nname = 'tcp'\n[[traffic]]\nname = 'a'\npattern = 'stages'\nevery = '300 us'\n\
             deadline = '400 us'\n[traffic.roles]\na = 0\nb = 1\n[[traffic.stage]]\nname = 's'\nfrom = 'a'\nto = 'b'\n\
             size = '1 MB'\n"
        );
        let Bound { with_deadline, missed, .. } = of_scenario(read(&text, "tcp")).bounds.all.unwrap();
        (with_deadline, missed)
    };
    // They arrive at 300, 600 and 900 us, and are due 400 us later.
    assert_eq!((of("0 s"), of("10 us"), of("1 s")), ((3, 2), (3, 2), (3, 3)));
}
