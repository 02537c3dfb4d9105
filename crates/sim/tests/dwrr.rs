//! Deficit weighted round robin over classes.

use super::common::run;

use sim::Outcome;

/// Runs two long flows into one port of 10 Gbps, with packets of 1500 B and of 540 B, and short messages of a third
/// class into the same port.
fn two_classes(network: &str, first: &str, second: &str) -> Outcome {
    run(&format!(
        "[run]\nduration = '25 ms'\nwarm_up = '5 ms'\n[network]\ntopology = 'star'\nhosts = 4\nrate = '10 Gbps'\n\
         delay = '5 us'\nbuffer = '2 MB'\nsharing = 'per-port'\nmark = '40 packets'\n{network}\n[transport]\nname = 'dctcp'\n\
         nic_limit = '20 packets'\n\
         [[traffic]]\nname = 'first'\npattern = 'long'\nfrom = 0\nto = 3\n{first}\n\
         [[traffic]]\nname = 'second'\npattern = 'long'\nfrom = 1\nto = 3\n\
         transport = {{ name = 'dctcp', mss = '500 B', nic_limit = '20 packets' }}\n{second}\n\
         [[traffic]]\nname = 'short'\npattern = 'periodic'\nfrom = [2]\nto = [3]\nsize = '1 KB'\nevery = '100 us'\n\
         priority = 2\n"
    ))
}

/// Returns the bytes on the wire that arrived of each of the long classes.
fn on_wire(outcome: &Outcome) -> [f64; 2] {
    let payload = |class: usize| outcome.classes[class].delivered_bytes.as_f64();
    [payload(0) * 1500.0 / 1460.0, payload(1) * 540.0 / 500.0]
}

#[test]
fn backlogged_classes_share_the_link_by_weight() {
    for (one, other) in [(3.0, 1.0), (1.0, 1.0), (0.5, 2.0)] {
        let (first, second) = (format!("priority = 0\nweight = {one}"), format!("priority = 1\nweight = {other}"));
        let [first, second] = on_wire(&two_classes("", &first, &second));
        assert!((first / second / (one / other) - 1.0).abs() < 0.01, "{one}:{other} is {first}:{second}");
        // 20 ms of 10 Gbps are 25 MB, of which the short class takes 200 messages of 1040 B.
        assert!(first + second > 0.99 * 25e6, "the link is never idle: {first} + {second}");
    }
}

/// Without weights, all have the same; the class of packets without priority has one of its own.
#[test]
fn a_class_may_leave_its_weight_and_its_priority_out() {
    let [first, second] = on_wire(&two_classes("discipline = 'dwrr'\nquantum = '3 KB'", "priority = 0", ""));
    assert!((first / second - 1.0).abs() < 0.01, "{first}:{second}");
    let [first, second] = on_wire(&two_classes("", "priority = 0", "weight = 4"));
    assert!((second / first / 4.0 - 1.0).abs() < 0.01, "{first}:{second}");
}

/// `discipline` in `[network]` overrules the classes.
#[test]
fn weights_mean_nothing_to_another_discipline() {
    let fifo = |first, second| on_wire(&two_classes("discipline = 'fifo'", first, second));
    assert_eq!(fifo("weight = 9\npriority = 0", "weight = 1\npriority = 1"), fifo("", ""));
    let strict = |first, second| on_wire(&two_classes("discipline = 'priority'", first, second));
    let weighed = strict("priority = 0\nweight = 1", "priority = 1\nweight = 9");
    assert_eq!(weighed, strict("priority = 0", "priority = 1"));
    assert!(weighed[1] < 0.1 * weighed[0], "{weighed:?}");
}

/// Long flows keep some 40 packets in their own queues; a short message finds its own queue empty, and is neither
/// marked nor late.
#[test]
fn marks_and_waits_are_those_of_the_class() {
    let long = "priority = 0";
    let fifo = two_classes("discipline = 'fifo'", long, long);
    let apart = two_classes("discipline = 'dwrr'", long, long);
    let short = |outcome: &Outcome| {
        let rows = || outcome.messages.iter().filter(|message| message.class.index() == 2);
        let slowest = rows().filter_map(|message| Some(message.end? - message.start)).max().expect("messages end");
        (rows().count(), rows().map(|message| u64::from(message.marks)).sum::<u64>(), slowest.as_secs_f64())
    };
    let (count, marks, slowest) = short(&apart);
    assert!(count >= 190 && marks == 0, "{marks} marks of {count}");
    // 10 us of light, a packet before it on each link, and its own three times: 14 us.
    assert!(slowest < 16e-6, "{slowest}");
    let (_, marks, waited) = short(&fifo);
    assert!(apart.counters.marks > 100 && marks > 0 && waited > 2.0 * slowest, "{marks} marks, {waited}");
}

/// A shared buffer counts the queue of a class: a class that fills its limit leaves room to others.
#[test]
fn a_full_class_leaves_room_to_others() {
    let bursts = |discipline: &str| {
        let outcome = run(&format!(
            "[run]\nduration = '20 ms'\n[network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\ndelay = '5 us'\n\
             buffer = '90 packets'\nsharing = 'dynamic'\n{discipline}\n[transport]\nname = 'tcp'\ninitial_window = 160\n\
             [[traffic]]\nname = 'bulk'\npattern = 'flows'\npriority = 0\nflows = [{{ from = '0..2', to = 3, size = '220 KB' }}]\n\
             [[traffic]]\nname = 'burst'\npattern = 'flows'\npriority = 1\n\
             flows = [{{ from = 2, to = 3, size = '29200 B', start = '900 us' }}]\n"
        ));
        let burst = outcome.messages.iter().find(|message| message.class.index() == 1).expect("a burst");
        (outcome.counters.drops, burst.retransmits)
    };
    // 45 packets are queued when 45 are free. Of 20 more in a queue of their own all have room.
    let (drops, lost) = bursts("discipline = 'dwrr'");
    assert!(drops > 0 && lost == 0, "{lost} of {drops}");
    let (_, lost) = bursts("discipline = 'priority'");
    assert!(lost > 0, "where the port's queue counts, there is no room");
}
