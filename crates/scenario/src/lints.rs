//! Valid but probably unintended settings: each lint is a function, and a line in [`LINTS`].

use std::collections::BTreeSet;

use sim::faults::{Effect, Fault};
use sim::priorities::Priorities;
use sim::{Scenario, Transport};
use transport::controllers::{Ecn, Window};
use transport::registry::Control;
use transport::{Advice, Conditions};
use units::{Amount, HostId, Rate, Span, counted};

use crate::survey::{Drawn, Survey, in_bytes};

/// A check for one kind of unintended setting.
pub(crate) struct Lint {
    /// The name behind each note, for reference.
    pub(crate) name: &'static str,
    /// The consequence for a run.
    pub(crate) reason: &'static str,
    find: fn(&Survey) -> Vec<Finding>,
}

/// Every lint, in the order of its notes.
pub(crate) const LINTS: &[Lint] = &[
    Lint {
        name: "no-messages",
        reason: "A class whose first message would start after the end, or whose last one starts in the warm-up, \
                 has no figures.",
        find: no_messages,
    },
    Lint {
        name: "nothing-random",
        reason: "Every seed gives the same run, so that intervals over seeds say nothing.",
        find: nothing_random,
    },
    Lint {
        name: "no-bottleneck",
        reason: "Where no port gets more than it can send, no queue builds: nothing is marked or dropped, and \
                 transports hardly differ. Classes that share no link do not disturb each other.",
        find: no_bottleneck,
    },
    Lint {
        name: "overload",
        reason: "Where a link is offered more than it carries, its queue and all times that depend on it grow with the \
                 run's duration. No load that the network can bear is measured.",
        find: overload,
    },
    Lint {
        name: "tail-not-met",
        reason: "The mean of a heavy-tailed distribution rests on sizes that few messages have. A run with few messages \
                 rarely draws them, offers less than its load says, and another seed or duration offers something else.",
        find: tail_not_met,
    },
    Lint {
        name: "no-marks",
        reason: "A transport that counts marks falls back to losses where no switch marks.",
        find: no_marks,
    },
    Lint {
        name: "mark-beyond-port",
        reason: "A queue is cut off by the buffer before it reaches K: no packet is ever marked.",
        find: mark_beyond_port,
    },
    Lint {
        name: "mark-in-jumbo-frames",
        reason: "Recommended values of K in packets are of frames of 1500 B. With larger segments on links of 100 Gbit/s and \
                 more, as many packets are several times the bytes, and queues grow as much longer.",
        find: mark_in_jumbo_frames,
    },
    Lint {
        name: "deadline-too-short",
        reason: "A deadline below the time on an empty network is missed under every transport.",
        find: deadline_too_short,
    },
    Lint {
        name: "rto-above-deadline",
        reason: "A message that waits for a retransmission timeout misses its deadline, whatever follows.",
        find: rto_above_deadline,
    },
    Lint {
        name: "rtt-above-rto",
        reason: "Where the first round trip takes longer than the first timeout, every connection repeats packets that \
                 are not lost, and slows down for it.",
        find: rtt_above_rto,
    },
    Lint {
        name: "outside-regime",
        reason: "A transport on a network that its paper does not have, or with ports that do not serve it, is not what its \
                 paper compares.",
        find: outside_regime,
    },
    Lint {
        name: "burst-above-port",
        reason: "Messages that start together lose packets in their first round trip, before a window law has heard \
                 anything: what differs then is the recovery, not the law.",
        find: burst_above_port,
    },
    Lint {
        name: "floor-above-mark",
        reason: "Windows do not fall below cwnd_floor. Where all of them together exceed the path and the queue \
                 below K, marks cannot empty the queue. Where they exceed path and buffer, packets are dropped \
                 however much the senders slow down.",
        find: floor_above_mark,
    },
    Lint {
        name: "fault-without-effect",
        reason: "A fault that begins after the end, is on links that no message takes, or stops marks where nothing is \
                 marked changes nothing.",
        find: fault_without_effect,
    },
];

/// A finding of a lint.
struct Finding {
    /// The key that it is about: its section, the name of a class where the section is `traffic`, and the key.
    key: [&'static str; 2],
    class: Option<String>,
    text: String,
}

impl Finding {
    fn new(section: &'static str, key: &'static str, text: String) -> Finding {
        Finding { key: [section, key], class: None, text }
    }
    fn of_class(class: &str, key: &'static str, text: String) -> Finding {
        Finding { key: ["traffic", key], class: Some(class.to_owned()), text }
    }
}

/// Returns notes on all findings; `place` gives a place like `a.toml:3:8` for section, class and key.
pub(crate) fn notes(survey: &Survey, place: impl Fn(&str, Option<&str>, &str) -> Option<String>) -> Vec<String> {
    let found = LINTS.iter().flat_map(|lint| (lint.find)(survey).into_iter().map(move |finding| (lint, finding)));
    let note = |(lint, Finding { key: [section, key], class, text }): (&Lint, Finding)| {
        let name = lint.name;
        match place(section, class.as_deref(), key) {
            Some(place) => format!("{text} ({place}) [{name}]"),
            None => format!("{text} [{name}]"),
        }
    };
    found.map(note).collect()
}

fn no_messages(survey: &Survey) -> Vec<Finding> {
    let run = &survey.scenario.run;
    let found = survey.classes().filter_map(|(class, _, drawn)| {
        let name = &class.name;
        let Some(last) = drawn.messages.last() else {
            let text = format!("class `{name}` sends nothing before the run ends at {}", span(run.duration));
            return Some(Finding::of_class(name, "name", text));
        };
        let counts =
            drawn.messages.iter().any(|message| message.bytes.is_none() || message.start >= run.warm_up.after_start());
        (drawn.all && !counts).then(|| {
            let (start, warm_up) = (span(last.start.since_start()), span(run.warm_up));
            let text = format!(
                "no message of class `{name}` counts: the last one starts at {start}, in the warm-up of {warm_up}"
            );
            Finding::new("run", "warm_up", text)
        })
    });
    found.collect()
}

fn nothing_random(survey: &Survey) -> Vec<Finding> {
    let drawn = |all: &Drawn| !all.random.is_empty();
    let chosen = |all: &Drawn| {
        let pairs: BTreeSet<(HostId, HostId)> = all.messages.iter().map(|message| (message.from, message.to)).collect();
        pairs.into_iter().any(|(from, to)| survey.routes.choose(from, to))
    };
    let random = survey.scenario.network.host_jitter != Some(Span::ZERO)
        || survey.drawn.iter().any(|all| drawn(all) || !all.all)
        || survey.drawn.iter().any(chosen)
        || survey.scenario.faults.iter().any(Fault::is_random);
    let sends = survey.drawn.iter().any(|all| !all.messages.is_empty());
    if random || !sends {
        return Vec::new();
    }
    let text = "nothing here is random: another seed gives the same run, so repeating it says nothing about chance";
    vec![Finding::new("run", "seed", text.into())]
}

/// Maximum number of links that all routes of the drawn messages have together; beyond it a network has so many routes
/// that [`no_bottleneck`] has no finding.
const MAX_SHARES: usize = 2_000_000;

fn no_bottleneck(survey: &Survey) -> Vec<Finding> {
    let graph = survey.routes.graph;
    let each = MAX_SHARES / survey.drawn.len().max(1);
    let Some(links) = survey.drawn.iter().map(|drawn| survey.links(drawn, each)).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let rate = |link: usize| graph.links[link].rate;
    let mut found = Vec::new();
    // At a switch's port: packets from two links, or from a faster one.
    let contended = |link: usize| {
        let from: BTreeSet<usize> = links.iter().filter_map(|of| of.get(&link)).flatten().copied().collect();
        graph.links[link].from >= graph.hosts
            && (from.len() > 1 || from.iter().any(|&before| rate(before).0 > rate(link).0))
    };
    let used: BTreeSet<usize> = links.iter().flat_map(|of| of.keys().copied()).collect();
    if !used.is_empty() && !used.iter().any(|&link| contended(link)) {
        let text = "no queue can build at a switch: no port gets packets from two links, or from a faster one";
        found.push(Finding::new("network", "topology", text.into()));
    }
    let slowest = graph.links.iter().map(|spec| spec.rate.0).min().unwrap_or(0);
    let differ = graph.links.iter().any(|spec| spec.rate.0 != slowest);
    let crosses = |is: &dyn Fn(usize) -> bool| used.iter().any(|&link| is(link));
    let between = |link: usize| graph.links[link].from >= graph.hosts && graph.links[link].to >= graph.hosts;
    if let Some(link) = (0..graph.links.len()).find(|&link| differ && rate(link).0 == slowest)
        && !used.is_empty()
        && !crosses(&|link| rate(link).0 == slowest)
    {
        let text = format!("nothing crosses the slowest links ({}, for one)", survey.link_name(link));
        found.push(Finding::new("network", "topology", text));
    } else if let Some(link) = (0..graph.links.len()).find(|&link| between(link))
        && !used.is_empty()
        && !crosses(&between)
    {
        let text = format!("nothing crosses the links between switches ({}, for one)", survey.link_name(link));
        found.push(Finding::new("network", "topology", text));
    }
    // The switch whose ports share its buffer with this link's.
    let pool = |link: usize| {
        let dynamic = survey.scenario.network.switch.sharing.alpha().is_some();
        let switch = graph.links[link].from.checked_sub(graph.hosts)?;
        let shares = dynamic && graph.links[link].buffer.is_none() && !graph.switches[switch as usize].unlimited;
        shares.then_some(switch)
    };
    for (index, class) in survey.scenario.classes.iter().enumerate().skip(1) {
        let own = &links[index];
        // A queue at one port takes room from all ports of its buffer.
        let filled: BTreeSet<u32> =
            own.keys().filter(|&&link| contended(link)).filter_map(|&link| pool(link)).collect();
        let meets = |other: usize| {
            let fills = |link: usize| pool(link).is_some_and(|switch| filled.contains(&switch));
            links[other].keys().any(|&link| own.contains_key(&link) || fills(link))
        };
        if !own.is_empty() && !(0..links.len()).any(|other| other != index && meets(other)) {
            let text = format!("class `{}` shares no link with another class: it does not disturb them", class.name);
            found.push(Finding::of_class(&class.name, "name", text));
        }
    }
    found
}

fn overload(survey: &Survey) -> Vec<Finding> {
    let loads = survey.offered(None).of_link;
    let above = || loads.entries().filter(|(_, load)| **load > 1.0);
    let Some((worst, &load)) = above().reduce(|a, b| if b.1 > a.1 { b } else { a }) else { return Vec::new() };
    let classes = &survey.scenario.classes;
    let parts: Vec<f64> = (0..classes.len()).map(|class| survey.offered(Some(class)).of_link[worst]).collect();
    let most = (0..classes.len())
        .reduce(|a, b| if parts[b] > parts[a] { b } else { a })
        .expect("a link with load is used by a class");
    let class = &classes[most];
    let by = if classes.len() > 1 { "most of it by" } else { "by" };
    let more = match above().count() - 1 {
        0 => String::new(),
        1 => "; one more link is offered too much".into(),
        others => format!("; {others} more links are offered too much"),
    };
    let duration = survey.scenario.run.duration;
    let (_, key) = class.generator.expected(duration.after_start());
    let outcome = match key {
        // A list has an end.
        "pattern" => format!("not all of it can arrive in the run's {}", span(duration)),
        _ => "its queue grows for as long as the run lasts, and results depend on the duration".into(),
    };
    let text = format!(
        "{} is offered {} % of what it carries, {by} class `{}`: {outcome}{more}",
        survey.link_name(worst.index()),
        digits(100.0 * load),
        class.name
    );
    vec![Finding::of_class(&class.name, if key == "pattern" { class.pattern } else { key }, text)]
}

/// Minimum share of the mean beyond the sizes that a class's messages reach; below it there is no finding.
const MIN_UNMET: f64 = 0.1;

fn tail_not_met(survey: &Survey) -> Vec<Finding> {
    let end = survey.scenario.run.duration.after_start();
    let found = survey.classes().filter_map(|(class, _, drawn)| {
        let sizes = class.generator.sizes()?;
        let mut expected = 0.0;
        class.generator.offer(end, &mut |demand| expected += demand.messages);
        if expected < 1.0 {
            return None;
        }
        // Of `expected` draws one is expected to be larger than this quantile.
        let unmet = sizes.mean_beyond(1.0 - 1.0 / expected) / sizes.mean();
        if unmet < MIN_UNMET || sizes.is_constant() {
            return None;
        }
        let drawn = drawn.all.then(|| {
            let sizes = drawn.messages.iter().filter_map(|message| message.bytes);
            let (count, sum) = sizes.fold((0, 0.0), |(count, sum), bytes| (count + 1, sum + bytes.as_f64()));
            let mean = if count > 0 { sum / f64::from(count) } else { 0.0 };
            format!("; this seed draws {count} with a mean of {}", size(mean))
        });
        let text = format!(
            "class `{}`: about {} messages are expected, too few for sizes with a mean of {}: {} % of that is beyond the \
             largest of so many{}; a longer duration has more",
            class.name,
            digits(expected.round()),
            size(sizes.mean()),
            digits(100.0 * unmet),
            drawn.unwrap_or_default(),
        );
        Some(Finding::of_class(&class.name, "size", text))
    });
    found.collect()
}

fn no_marks(survey: &Survey) -> Vec<Finding> {
    let marked = !survey.marks_by_threshold()
        || (0..survey.routes.graph.links.len()).any(|link| survey.port(link).is_some_and(|port| port.mark.is_some()));
    let found =
        survey.scenario.transports.iter().filter(|transport| !marked && uses_marks(transport)).map(|transport| {
            let text =
                format!("{}: it listens to ECN marks, and no switch marks; write `mark` in [network]", transport.name);
            Finding::new("network", "mark", text)
        });
    found.collect()
}

fn mark_beyond_port(survey: &Survey) -> Vec<Finding> {
    let heeding = survey.scenario.transports.iter().find(|own| survey.marks_by_threshold() && uses_marks(own));
    let Some(frame) = heeding.map(|own| survey.frame(own)) else { return Vec::new() };
    let beyond = |link: &usize| {
        let port = survey.port(*link)?;
        let (limit, mark) = (port.limit?, port.mark?);
        (in_bytes(mark, frame) >= in_bytes(limit, frame)).then_some((*link, limit, mark))
    };
    let ports: Vec<_> = (0..survey.routes.graph.links.len()).filter_map(|link| beyond(&link)).collect();
    let Some(&(link, limit, mark)) = ports.first() else { return Vec::new() };
    let others = match ports.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!(
        "K = {mark} is never exceeded at {}{others}: the port holds {} at most, so nothing is marked there",
        survey.link_name(link),
        size(in_bytes(limit, frame))
    );
    vec![Finding::new("network", "mark", text)]
}

fn mark_in_jumbo_frames(survey: &Survey) -> Vec<Finding> {
    const PLAIN: u32 = 1460;
    let fast = Rate::from_gbps(100);
    let large = |own: &&Transport| uses_marks(own) && own.config.connection.mss > PLAIN;
    let Some(heeding) = survey.scenario.transports.iter().find(|own| survey.marks_by_threshold() && large(own)) else {
        return Vec::new();
    };
    let links = &survey.routes.graph.links;
    let packets = |link: usize| match survey.port(link)?.mark? {
        Amount::Packets(packets) if links[link].rate >= fast => Some(packets as f64),
        _ => None,
    };
    let Some(packets) = (0..links.len()).find_map(packets) else { return Vec::new() };
    let frame = survey.frame(heeding);
    let plain = frame - f64::from(heeding.config.connection.mss - PLAIN);
    let text = format!(
        "{}: K = {packets} packets are {} with segments of {} B, {:.1} times what they are with {PLAIN} B; write mark = \
         \"{}\" for as many bytes as these",
        heeding.name,
        size(packets * frame),
        heeding.config.connection.mss,
        frame / plain,
        size(packets * plain),
    );
    vec![Finding::new("network", "mark", text)]
}

fn deadline_too_short(survey: &Survey) -> Vec<Finding> {
    let found = survey.classes().filter_map(|(class, transport, drawn)| {
        let with = drawn.messages.iter().filter_map(|message| {
            let deadline = message.deadline?.as_secs_f64();
            Some((message, deadline, survey.min_time(message, transport)?))
        });
        let (mut all, mut short, mut worst) = (0_u64, 0_u64, None::<(f64, String)>);
        // Paths are searched for each receiver: a thousand messages suffice.
        for (message, deadline, least) in with.take(1000) {
            all += 1;
            if deadline < least {
                short += 1;
                if worst.as_ref().is_none_or(|(factor, _)| deadline / least < *factor) {
                    let bytes = size(message.bytes.unwrap_or_default().as_f64());
                    let text = format!(
                        "{bytes} in {}, and they take {} on an empty network",
                        span(message.deadline.unwrap_or(Span::ZERO)),
                        span(Span::from_secs_f64(least)),
                    );
                    worst = Some((deadline / least, text));
                }
            }
        }
        let (_, example) = worst?;
        let share = 100.0 * short as f64 / all as f64;
        let text = format!("{share:.2} % of the deadlines of class `{}` cannot be met: {example}", class.name);
        Some(Finding::of_class(&class.name, "deadline", text))
    });
    found.collect()
}

fn rto_above_deadline(survey: &Survey) -> Vec<Finding> {
    let mut found: Vec<(&Transport, Vec<&str>, Span, Span)> = Vec::new();
    for (class, transport, drawn) in survey.classes() {
        let Some((_, longest)) = class.generator.deadlines() else { continue };
        // The range of multiples of the time alone is an estimate.
        let of_drawn = drawn.messages.iter().filter(|_| !drawn.times_alone.is_empty()).filter_map(|each| each.deadline);
        let longest = of_drawn.chain([longest]).max().unwrap_or(longest);
        // Receivers that grant repeat lost data after times of their own.
        if let Control::Grants(_) = transport.config.control {
            continue;
        }
        let floor = transport.config.connection.rto_min;
        if floor < longest {
            continue;
        }
        match found.iter_mut().find(|(own, ..)| std::ptr::eq(*own, transport)) {
            Some((_, classes, most, _)) => {
                classes.push(&class.name);
                *most = (*most).max(longest);
            }
            None => found.push((transport, vec![&class.name], longest, floor)),
        }
    }
    let text = |(transport, classes, longest, floor): (&Transport, Vec<&str>, Span, Span)| {
        let classes = classes.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let name = transport.name;
        let text = format!(
            "{name}: rto_min = {} is above every deadline of {classes} ({} at most): a timeout is a miss",
            span(floor),
            span(longest)
        );
        Finding::new("transport", "rto_min", text)
    };
    found.into_iter().map(text).collect()
}

/// RFC 6298 2.1: the retransmission timeout before the first sample.
const RFC_INITIAL: Span = Span::from_millis(1000);

fn rtt_above_rto(survey: &Survey) -> Vec<Finding> {
    let mut found: Vec<(f64, Finding)> = Vec::new();
    for (class, transport, drawn) in survey.classes() {
        let first = transport.config.connection.rto_initial;
        let reads = transport.entry.reads("rto_initial");
        // Paths are searched for each receiver: a thousand pairs suffice.
        let pairs: BTreeSet<(HostId, HostId)> =
            drawn.messages.iter().take(1000).map(|message| (message.from, message.to)).collect();
        let round_trips = pairs.into_iter().map(|(from, to)| (survey.round_trip(from, to, transport), from, to));
        let longest = round_trips.filter(|_| reads).reduce(|a, b| if b.0 > a.0 { b } else { a });
        let Some((round_trip, from, to)) = longest.filter(|(time, ..)| *time > first.as_secs_f64()) else { continue };
        let enough = RFC_INITIAL.max(Span::from_secs_f64((3.0 * round_trip).ceil()));
        let text = format!(
            "{}: rto_initial = {} is shorter than the {} there and back between hosts {from} and {to} without any queue: \
             the first packets of every connection of class `{}` are sent again in vain; write rto_initial = \"{}\"",
            transport.name,
            span(first),
            span(Span::from_secs_f64(round_trip)),
            class.name,
            span(enough),
        );
        found.push((round_trip, Finding::new("transport", "rto_initial", text)));
    }
    worst_of(found)
}

fn outside_regime(survey: &Survey) -> Vec<Finding> {
    let Scenario { network, transports, classes, .. } = survey.scenario;
    let service = network.service(transports, &Priorities::of(transports, classes));
    let mut found = Vec::new();
    for transport in transports {
        let needs = transport.needs();
        let asks = [
            ("discipline", needs.discipline, service.switches.name, "send"),
            ("marking", needs.marking, service.marking.name, "mark"),
        ];
        for (key, wanted, has, does) in asks {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != has) {
                let text =
                    format!("{}: ports {does} by `{has}`, and it was made for {key} = \"{wanted}\"", transport.name);
                found.push(Finding::new("network", key, text));
            }
        }
        // The ports towards hosts: the roomiest, and the first to mark.
        let frame = survey.frame(transport);
        let graph = survey.routes.graph;
        let ports = || {
            let down = (0..graph.links.len()).filter(|&link| graph.links[link].to < graph.hosts);
            down.filter_map(|link| survey.port(link))
        };
        let limits = ports().map(|port| port.limit.map(|limit| in_bytes(limit, frame)));
        let marks = ports().filter_map(|port| Some(in_bytes(port.mark?, frame)));
        let conditions = Conditions {
            surroundings: network.surroundings(),
            port_limit: limits.reduce(|a, b| Some(a?.max(b?))).flatten(),
            mark: marks.reduce(f64::min).filter(|_| service.marking.built_in),
        };
        for regime in needs.regimes {
            if let Some(Advice { reason, write }) = (regime.outside)(&conditions) {
                let text = format!("{}: {reason}; write {write}", transport.name);
                found.push(Finding::new("network", regime.key, text));
            }
        }
    }
    found
}

fn burst_above_port(survey: &Survey) -> Vec<Finding> {
    let found = survey.classes().filter_map(|(class, transport, drawn)| {
        let holds = |link: usize| Some(in_bytes(survey.port(link)?.limit?, survey.frame(transport)));
        let bursts = survey.first_windows(class, transport, drawn).into_iter();
        let above = bursts.filter_map(|burst| Some((burst, holds(burst.link)?)));
        let above = above.filter(|(burst, limit)| burst.messages > 1 && burst.bytes > *limit);
        let (burst, limit) = above.reduce(|a, b| if b.0.bytes > a.0.bytes { b } else { a })?;
        let text = format!(
            "the first windows of {} messages of class `{}` come together: {} wait at {}, which holds {} at most",
            burst.messages,
            class.name,
            size(burst.bytes),
            survey.link_name(burst.link),
            size(limit)
        );
        Some((burst.bytes, Finding::new("network", "buffer", text)))
    });
    worst_of(found.collect())
}

fn floor_above_mark(survey: &Survey) -> Vec<Finding> {
    let found = survey.classes().filter_map(|(class, transport, drawn)| {
        let frame = survey.frame(transport);
        let judged = survey.at_floor(transport, drawn).into_iter().filter_map(|floor| {
            let port = survey.port(floor.link)?;
            let room = floor.bandwidth_delay + in_bytes(port.limit?, frame);
            let marks = port.mark.filter(|_| survey.marks_by_threshold() && uses_marks(transport));
            let below_mark = marks.map(|mark| floor.bandwidth_delay + in_bytes(mark, frame));
            let outcome = match below_mark {
                _ if floor.bytes > room => {
                    format!("BDP + buffer ({}): packets are dropped however far the senders back off", size(room))
                }
                Some(most) if floor.bytes > most => {
                    format!("BDP + K ({}); ECN cannot hold the queue at K", size(most))
                }
                _ => return None,
            };
            Some((floor, outcome))
        });
        let (floor, outcome) = judged.reduce(|a, b| if b.0.bytes > a.0.bytes { b } else { a })?;
        let text = format!(
            "{}: at the minimum window (cwnd_floor = {}), {} of class `{}` {} {} in flight, above {outcome}",
            transport.name,
            transport.config.connection.cwnd_floor,
            counted(floor.flows, "flow"),
            class.name,
            if floor.flows == 1 { "keeps" } else { "keep" },
            size(floor.bytes),
        );
        Some((floor.bytes, Finding::new("transport", "cwnd_floor", text)))
    });
    worst_of(found.collect())
}

fn fault_without_effect(survey: &Survey) -> Vec<Finding> {
    let run = &survey.scenario.run;
    let graph = survey.routes.graph;
    let marks = |fault: &Fault| {
        let spec = |link: usize| (graph.links[link].from, graph.links[link].to);
        let on: BTreeSet<(u32, u32)> = fault.links.iter().copied().collect();
        let marking = |link: usize| survey.port(link).is_some_and(|port| port.mark.is_some());
        (0..graph.links.len()).any(|link| on.contains(&spec(link)) && marking(link))
    };
    let found = survey.scenario.faults.iter().zip(1..).filter_map(|(fault, number)| {
        let kind = fault.kind;
        let begins = fault.at.since_start();
        // Nothing that starts in the cool-down counts, but messages in progress are affected then too.
        if begins >= run.duration {
            let text = format!(
                "fault {number} (`{kind}`) begins at {}, when nothing is counted any more: the run's duration is {}",
                span(begins),
                span(run.duration)
            );
            return Some(Finding::new("fault", "at", text));
        }
        // Messages that were not drawn may take other routes, and ACKs return.
        let either_way = |ends: &(u32, u32)| [*ends, (ends.1, ends.0)];
        let round: Vec<(u32, u32)> = fault.links.iter().flat_map(either_way).collect();
        if survey.drawn.iter().all(|drawn| drawn.all) && survey.carry_traffic(&round) == 0 {
            return Some(Finding::new(
                "fault",
                "link",
                format!("fault {number} (`{kind}`): no message takes its links"),
            ));
        }
        if matches!(fault.effect, Effect::Unmarked) && !marks(fault) {
            let text = format!("fault {number} (`{kind}`): its ports mark nothing anyway");
            return Some(Finding::new("network", "mark", text));
        }
        None
    });
    found.collect()
}

/// Returns the largest finding, with the number of the others.
fn worst_of(found: Vec<(f64, Finding)>) -> Vec<Finding> {
    let others = found.len().saturating_sub(1);
    let worst = found.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, finding)| finding);
    let with_others = |finding: Finding| match others {
        0 => finding,
        1 => Finding { text: format!("{}; the same holds for one more class", finding.text), ..finding },
        _ => Finding { text: format!("{}; the same holds for {others} more classes", finding.text), ..finding },
    };
    worst.map(with_others).into_iter().collect()
}

pub(crate) fn uses_marks(transport: &Transport) -> bool {
    transport.config.control.law().is_some_and(|law| law.ecn() != Ecn::Off)
}

/// Returns a size with three digits: "98.2 KB".
fn size(bytes: f64) -> String {
    let (value, unit) = match bytes {
        b if b >= 1e9 => (b / 1e9, "GB"),
        b if b >= 1e6 => (b / 1e6, "MB"),
        b if b >= 1e3 => (b / 1e3, "KB"),
        b => (b, "B"),
    };
    format!("{} {unit}", digits(value))
}

/// Returns a time with three digits: "1.25 ms".
fn span(time: Span) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 || s == 0.0 => (s * 1e6, "us"),
        s => (s * 1e9, "ns"),
    };
    format!("{} {unit}", digits(value))
}

/// Returns a number with three digits, or all digits before the point with commas: "1.25", "98.2", "3,460".
fn digits(value: f64) -> String {
    if value >= 999.5 {
        let whole = format!("{value:.0}");
        let grouped = whole.as_bytes().rchunks(3).rev().map(|digits| std::str::from_utf8(digits).expect("digits"));
        return grouped.collect::<Vec<_>>().join(",");
    }
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
