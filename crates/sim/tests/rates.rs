//! Transports whose rates the network grants, in the network.

use super::common;

use common::run;
use sim::outcome::{self, Link, Outcome};
use units::{ClassId, Instant, MessageId};

/// A star of five hosts at 1 Gbit/s with 20 us per link: a round trip of 105 us.
fn star(transport: &str, network: &str, traffic: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '1 s'\ntrace = {{ every = '100 us', what = ['rate', 'request', 'throughput'] }}\n\
         [network]\ntopology = 'star'\nhosts = 5\nrate = '1 Gbps'\ndelay = '20 us'\n{network}\n\
         [transport]\n{transport}\n{traffic}"
    ))
}

fn flows(list: &str) -> String {
    format!("[[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [ {list} ]")
}

fn fct_ms(outcome: &Outcome, message: usize) -> f64 {
    let message = outcome.messages[message];
    (message.end.expect("it has arrived") - message.start).as_secs_f64() * 1e3
}

/// Returns the mean of a signal of one message between two times in ms.
fn mean(outcome: &Outcome, what: &str, message: u32, from: u64, to: u64) -> f64 {
    let within = Instant::from_millis(from)..Instant::from_millis(to);
    let samples: Vec<f64> = outcome
        .trace
        .iter()
        .filter(|sample| sample.what == what && within.contains(&sample.at))
        .filter(|sample| matches!(sample.subject, outcome::Subject::Message { row, .. } if row == MessageId(message)))
        .map(|sample| sample.value)
        .collect();
    assert!(!samples.is_empty(), "no {what} of {message}");
    samples.iter().sum::<f64>() / samples.len() as f64
}

fn to_host<'a>(outcome: &'a Outcome, host: &str) -> &'a Link {
    outcome.links.iter().find(|link| link.to == host).unwrap()
}

/// Returns the routers' counts at the end, over all ports.
fn left_behind(outcome: &Outcome) -> (u64, u64, u64) {
    outcome.links.iter().filter_map(|link| link.rates).fold((0, 0, 0), |sum, rates| {
        let counters = rates.counters;
        (sum.0 + counters.flows, sum.1 + counters.allocated, sum.2 + counters.requested)
    })
}

#[test]
fn one_large_flow_gets_its_rate_and_all_that_is_spare() {
    for deadline in ["", ", deadline = '70 ms'", ", deadline = '1 ms'"] {
        let list = flows(&format!("{{ from = 0, to = 4, size = '5 MB'{deadline} }}"));
        let outcome = star("name = 'd3'", "host_jitter = '0 s'", &list);
        // The completion time is a round trip for the request, then the wire.
        let ideal = outcome.messages[0].ideal.unwrap().as_secs_f64() * 1e3;
        assert!((fct_ms(&outcome, 0) - ideal - 0.105).abs() < 0.3, "{deadline}: {} for {ideal}", fct_ms(&outcome, 0));
        assert_eq!((outcome.counters.drops, outcome.counters.retransmits), (0, 0));
        assert!(to_host(&outcome, "host 4").queue.max <= 2);
        assert_eq!(left_behind(&outcome), (0, 0, 0));
    }
}

#[test]
fn a_deadline_gets_what_it_needs_and_half_of_the_rest() {
    // 5 MB with headers in 60 ms are 685 Mbit/s; of the other 315 each gets half.
    let list = "{ from = 0, to = 4, size = '5 MB', deadline = '60 ms' }, { from = 1, to = 4, size = '20 MB' }";
    let outcome = star("name = 'd3'", "", &flows(list));
    assert!(outcome.messages[0].end.unwrap() < Instant::from_millis(60));
    let (asked, urgent, relaxed) =
        (mean(&outcome, "request", 0, 2, 8), mean(&outcome, "rate", 0, 2, 8), mean(&outcome, "rate", 1, 2, 8));
    assert!((640.0..690.0).contains(&asked), "{asked}");
    assert!((urgent + relaxed - 1000.0).abs() < 15.0, "{urgent} and {relaxed}");
    assert!((urgent - asked - relaxed).abs() < 20.0, "{urgent} is {asked} and as much as {relaxed}");
    // Under rcpdc they share alike, and the first is late.
    let outcome = star("name = 'rcpdc'", "", &flows(list));
    assert!((mean(&outcome, "rate", 0, 2, 8) - 500.0).abs() < 10.0);
    assert!(outcome.messages[0].end.unwrap() > Instant::from_millis(60));
    assert_eq!(left_behind(&outcome), (0, 0, 0));
}

#[test]
fn equal_flows_share_alike() {
    for name in ["d3", "rcpdc"] {
        for n in [2, 3, 4] {
            let list = flows(&format!("{{ from = '0..{n}', to = 4, size = '5 MB' }}"));
            let outcome = star(&format!("name = '{name}'"), "", &list);
            let share = 1000.0 / f64::from(n);
            for flow in 0..n {
                let rate = mean(&outcome, "throughput", flow as u32, 5, 30) * 1500.0 / 1460.0;
                assert!((rate / share - 1.0).abs() < 0.03, "{name}: {rate} of {share}");
            }
            assert_eq!((outcome.counters.drops, left_behind(&outcome)), (0, (0, 0, 0)));
        }
    }
}

/// Host 0 sends to hosts 3 and 4, to which two more send. By D3's rules each port divides all of its rate by its flows
/// and does not see that one of them gets less elsewhere. So host 0's link grants 500 to both, although the flow to
/// host 4 gets only 333 there. Max-min would leave the other 667 (649 of payload). The capacity that follows the use of
/// the link (RCP) does. It settles where 333 + C/2 is the link's rate, at 4/3 of it, if it may rise so far. It settles
/// a little lower, where the unused rate times alpha equals the drain of the queue times beta. That is below 12 Mbit/s
/// for a queue of up to a packet.
#[test]
fn what_a_flow_cannot_use_for_another_link_is_lost_by_the_rules_and_found_by_adaptation() {
    let list = flows("{ from = '0..3', to = 4, size = '50 MB' }, { from = 0, to = 3, size = '50 MB' }");
    let adaptation = "adaptation = true\nadaptation_beta = 0.02";
    let ceiling = format!("{adaptation}\nadaptation_ceiling = 2");
    for (keys, expected) in [("", 500.0), (adaptation, 500.0), (&ceiling, 2000.0 / 3.0)] {
        let outcome = star(&format!("name = 'rcpdc'\n{keys}"), "", &list);
        let rate = |flow| mean(&outcome, "throughput", flow, 100, 300) * 1500.0 / 1460.0;
        assert!((rate(3) - expected).abs() < 12.0, "{keys}: {} for {expected}", rate(3));
        for flow in 0..3 {
            assert!((rate(flow) - 1000.0 / 3.0).abs() < 12.0, "{keys}: {} of {flow}", rate(flow));
        }
        assert_eq!(outcome.counters.drops, 0, "{keys}");
    }
}

#[test]
fn flows_of_one_host_share_its_link() {
    let list = "{ from = 0, to = 3, size = '5 MB' }, { from = 0, to = 4, size = '5 MB', deadline = '50 ms' }";
    let outcome = star("name = 'd3'", "", &flows(list));
    assert!(outcome.messages[1].end.unwrap() < Instant::from_millis(50));
    assert!((mean(&outcome, "rate", 0, 2, 8) + mean(&outcome, "rate", 1, 2, 8) - 1000.0).abs() < 15.0);
}

#[test]
fn the_narrowest_link_decides() {
    for bottleneck in [100, 500] {
        let network = format!("bottleneck = '{bottleneck} Mbps'");
        let outcome = star("name = 'd3'", &network, &flows("{ from = 0, to = 4, size = '2 MB' }"));
        assert!((mean(&outcome, "rate", 0, 1, 20) - f64::from(bottleneck)).abs() < 1.0);
        assert_eq!(outcome.counters.drops, 0);
    }
}

#[test]
fn frames_overhead_is_not_given_away() {
    let outcome = star("name = 'd3'", "frame_overhead = '38 B'", &flows("{ from = '0..3', to = 4, size = '3 MB' }"));
    // The first flow has the port to itself for a round trip before the other requests arrive.
    assert!(to_host(&outcome, "host 4").queue.max < 40, "{:?}", to_host(&outcome, "host 4").queue);
    assert_eq!(outcome.counters.drops, 0);
}

/// Runs forty answers at once, four times, into a port that overflows.
fn burst(transport: &str, more: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '20 s'\n[network]\ntopology = 'star'\nhosts = 21\nrate = '1 Gbps'\ndelay = '20 us'\n\
         sharing = 'per-port'\nbuffer = '10 packets'\n[transport]\n{transport}\nrto_max = '100 ms'\n\
         [[traffic]]\nname = 'a'\npattern = 'fan-in'\nleaves = 20\nevery = '3 ms'\ncount = 4\nsize = 'uniform(1 KB, 40 KB)'\n\
         jitter = 'uniform(0 us, 40 us)'\n{more}"
    ))
}

#[test]
fn routers_count_nothing_once_all_have_finished_though_fins_were_lost() {
    for (name, more) in [("d3", "deadline = '10 ms'"), ("rcpdc", ""), ("d3", "connections = 'persistent'")] {
        for control in ["plain", "protected"] {
            for base_counts in [true, false] {
                let outcome =
                    burst(&format!("name = '{name}'\ncontrol = '{control}'\nbase_counts = {base_counts}"), more);
                assert!(outcome.counters.drops > 20, "{}", outcome.counters.drops);
                assert!(outcome.messages.iter().all(|message| message.end.is_some()));
                assert_eq!(left_behind(&outcome), (0, 0, 0), "{name} {control}");
            }
        }
    }
}

#[test]
fn without_memory_of_flows_what_was_lost_stays_counted() {
    // The paper's three counters: lost FINs leave flows counted, unless control packets are protected.
    let plain = burst("name = 'd3'\nrouter_state = 'counters'\ncontrol = 'plain'", "deadline = '10 ms'");
    assert!(plain.messages.iter().all(|message| message.end.is_some()));
    assert!(left_behind(&plain).0 > 0, "{:?}", left_behind(&plain));
    // Without losses the counters return to zero by themselves.
    let list = flows("{ from = '0..4', to = 4, size = '300 KB', deadline = '20 ms' }");
    let calm = star("name = 'd3'\nrouter_state = 'counters'", "", &list);
    assert_eq!((calm.counters.drops, left_behind(&calm)), (0, (0, 0, 0)));
}

#[test]
fn protected_requests_pass_full_buffers() {
    // Twenty first requests meet at a port without room beside the packet in transmission.
    let granted_at_once = |control: &str, sharing: &str| {
        let outcome = run(&format!(
            "[run]\nduration = '150 us'\ntrace = {{ every = '120 us', what = ['rate'] }}\n\
             [network]\ntopology = 'star'\nhosts = 21\nrate = '1 Gbps'\ndelay = '20 us'\nsharing = '{sharing}'\nbuffer = '1 B'\n\
             [transport]\nname = 'd3'\ncontrol = '{control}'\n\
             [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [ {{ from = '0..20', to = 20, size = '10 KB' }} ]"
        ));
        outcome.trace.iter().filter(|sample| sample.value > 0.0).count()
    };
    for sharing in ["dynamic", "static", "per-port"] {
        assert_eq!((granted_at_once("protected", sharing), granted_at_once("plain", sharing)), (20, 1), "{sharing}");
    }
}

#[test]
fn rounding_decides_where_requests_are_small() {
    // 160 KB in a second are 0.16 B/us: rounded up, six times as much.
    let asked = |rounding: &str| {
        let list = flows("{ from = 0, to = 4, size = '160 KB', deadline = '1 s' }");
        let outcome = star(&format!("name = 'd3'\nrate_rounding = '{rounding}'"), "", &list);
        outcome.trace.iter().find(|sample| sample.what == "request").unwrap().value
    };
    let (exact, up, nearest) = (asked("exact"), asked("up"), asked("nearest"));
    assert!((1.1..1.35).contains(&exact), "{exact}");
    assert_eq!((up, nearest), (8.0, 0.0));
}

#[test]
fn d3_beside_tcp_gives_away_what_tcp_uses() {
    // D2TCP 2.4.3: routers count their grants, and plain TCP sends no requests.
    let goodputs = |transport: &str| {
        let long = |name: &str, from: u32, transport: &str| {
            format!(
                "[[traffic]]\nname = '{name}'\npattern = 'long'\nfrom = {from}\nto = 4\ntransport = '{transport}'\n"
            )
        };
        let traffic = long("a", 0, transport) + &long("b", 1, "tcp");
        let outcome = star("name = 'd3'", "sharing = 'per-port'\nbuffer = '50 KB'\nhost_jitter = '1 us'", &traffic);
        [0, 1].map(|class| outcome.classes[class].delivered_bytes.as_f64() * 8e-6)
    };
    let ([_, beside_tcp], [d3, beside_d3]) = (goodputs("tcp"), goodputs("d3"));
    assert!(beside_tcp > 200.0 && beside_d3 < 50.0 && d3 > 850.0, "{beside_tcp}; {beside_d3} beside {d3}");
}

#[test]
fn persistent_connections_ask_for_each_message() {
    let outcome = star(
        "name = 'd3'",
        "",
        "[[traffic]]\nname = 'a'\npattern = 'periodic'\nfrom = '0..4'\nto = 4\nevery = '1 ms'\ncount = 50\n\
         size = 'uniform(1 KB, 40 KB)'\ndeadline = '3 ms'\nconnections = 'persistent'",
    );
    assert!(outcome.messages.len() == 200 && outcome.messages.iter().all(|message| message.end.is_some()));
    assert_eq!(left_behind(&outcome), (0, 0, 0));
    let requests = outcome.requests.unwrap();
    assert!(requests.flows == 200 && requests.requests >= 200, "{requests:?}");
}

#[test]
fn quenched_messages_leave_the_network_to_the_others() {
    let list = "{ from = '0..4', to = 4, size = '1 MB', deadline = '20 ms' }";
    let missed = |quench: bool| {
        let outcome = star(&format!("name = 'd3'\nquench = {quench}"), "", &flows(list));
        assert_eq!(left_behind(&outcome), (0, 0, 0));
        let late = |m: &&outcome::Message| m.end.is_none_or(|end| end - m.start > m.deadline.unwrap());
        (outcome.messages.iter().filter(late).count(), outcome.messages.iter().filter(|m| m.aborted).count())
    };
    // 33 ms of work for 20: at least two of the four cannot be in time.
    assert_eq!(missed(false).1, 0);
    assert!(missed(true).0 >= 2 && missed(true).0 <= missed(false).0 && missed(true).1 >= 2, "{:?}", missed(true));
}

#[test]
fn a_message_behind_one_that_was_given_up_is_where_it_should_be() {
    let outcome = star(
        "name = 'd3'\nquench = true",
        "sharing = 'per-port'\nbuffer = '10 packets'",
        "[[traffic]]\nname = 'a'\npattern = 'periodic'\nfrom = '0..4'\nto = 4\nevery = '400 us'\ncount = 200\n\
         size = 'uniform(1 KB, 100 KB)'\ndeadline = '2 ms'\nconnections = 'persistent'\n\
         [[traffic]]\nname = 'last'\npattern = 'flows'\nconnections = 'persistent'\n\
         flows = [ { from = 0, to = 4, size = '10 KB', start = '200 ms' } ]",
    );
    assert!(outcome.messages.iter().filter(|message| message.aborted).count() > 50);
    assert!(outcome.messages.iter().all(|message| message.aborted != message.end.is_some()));
    assert_eq!(left_behind(&outcome), (0, 0, 0));
}

#[test]
fn adaptation_drains_the_queue_that_unaccounted_traffic_builds() {
    let queue = |adaptation: bool| {
        let traffic = "[[traffic]]\nname = 'd3'\npattern = 'long'\nfrom = '0..2'\nto = 4\n\
                       [[traffic]]\nname = 'other'\npattern = 'poisson'\nload = '5%'\nsize = '1 KB'\ntransport = 'tcp'";
        let outcome = star(&format!("name = 'd3'\nadaptation = {adaptation}"), "buffer = '4 MB'", traffic);
        to_host(&outcome, "host 4").queue.mean
    };
    let (fixed, adapted) = (queue(false), queue(true));
    assert!(fixed > 500.0 && adapted < 20.0, "{fixed} and {adapted} packets");
}

#[test]
fn adaptation_sees_the_queue_at_a_hosts_own_link_too() {
    // Messages of 5 KB every ms on plain TCP add 41 Mbit/s to a link of which D3 has been granted the whole rate. The
    // excess, if not seen, is queued at the host: after a second for 41 ms. If it is seen, D3's rate is reduced.
    let last_ms = |adaptation: bool| {
        let traffic = "[[traffic]]\nname = 'd3'\npattern = 'long'\nfrom = 0\nto = 4\n\
                       [[traffic]]\nname = 'other'\npattern = 'periodic'\nfrom = 0\nto = 3\nevery = '1 ms'\n\
                       size = '5 KB'\ntransport = 'tcp'\nstart = '1 ms'";
        let outcome = star(&format!("name = 'd3'\nadaptation = {adaptation}"), "", traffic);
        let last = outcome.messages.iter().rposition(|message| message.end.is_some() && message.class == ClassId(1));
        fct_ms(&outcome, last.expect("some have arrived"))
    };
    let (fixed, adapted) = (last_ms(false), last_ms(true));
    assert!(fixed > 20.0 && adapted < 2.0, "{fixed} and {adapted} ms");
}

#[test]
fn inversions_are_counted_and_decide_nothing() {
    // The flow with the late deadline is granted the whole rate; the urgent one behind it is denied.
    let list = "{ from = 0, to = 4, size = '2 MB', deadline = '40 ms' }, \
                { from = 1, to = 4, size = '100 KB', deadline = '5 ms', start = '50 us' }";
    let outcome = star("name = 'd3'", "", &flows(list));
    let requests = outcome.requests.unwrap();
    assert!(requests.inverted >= 1 && requests.inverted == requests.overtaken, "{requests:?}");
    assert_eq!((requests.flows, requests.inverted_flows), (2, 1));
    let port = to_host(&outcome, "host 4").rates.unwrap().requests;
    assert_eq!((port.requests, port.inverted), (requests.requests, requests.inverted));
    // ACKs that return a request do not count as requests.
    assert_eq!(to_host(&outcome, "host 0").rates.unwrap().requests.requests, 0);
    // In the other order there is none.
    let outcome = star(
        "name = 'd3'",
        "",
        &flows(
            &list.replace(", start = '50 us'", "").replace("deadline = '40 ms'", "deadline = '40 ms', start = '50 us'"),
        ),
    );
    assert_eq!(outcome.requests.unwrap().inverted, 0, "{:?}", outcome.requests);
    assert_eq!(star("name = 'dctcp'", "", &flows(list)).requests, None);
    let fair = star("name = 'rcpdc'", "", &flows(list)).requests.unwrap();
    assert_eq!((fair.requests, fair.inverted), (0, 0));
}

#[test]
fn routers_have_one_set_of_parameters() {
    let text = "[run]\nduration = '1 s'\n[network]\ntopology = 'star'\nhosts = 3\nrate = '1 Gbps'\ndelay = '20 us'\n\
                [transport]\nname = 'd3'\n[[traffic]]\nname = 'a'\npattern = 'long'\nfrom = 0\nto = 2\n\
                [[traffic]]\nname = 'b'\npattern = 'long'\nfrom = 1\nto = 2\ntransport = { name = 'rcpdc'";
    let read = |more: &str| {
        let text = format!("{text}{more} }}");
        let source = scenario::Source { name: "test", text: &text, folder: None };
        scenario::read(&source, &common::classic()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(read(""), Ok(()));
    assert!(read(", base_rtt = '1 ms'").unwrap_err().contains("one set of routers"));
}
