//! Active buffer management: limits by congested queues and by drain rate.

use super::common::run;

use sim::Outcome;

/// Runs bursts of a hundred packets from each of twelve hosts for each overloaded port, into a buffer of 120 packets.
/// The hosts are of the classes in turn. Returns the median queue of each of these ports.
fn queues(network: &str, ports: u32, weights: &[u32]) -> Vec<u64> {
    let classes = weights.iter().enumerate().map(|(class, weight)| {
        let flows = (0..ports).flat_map(|port| (0..12).map(move |sender| (port, 12 * port + sender)));
        let flows = flows.filter(|(_, sender)| *sender as usize % weights.len() == class);
        let flows: Vec<String> =
            flows.map(|(port, sender)| format!("{{ from = {sender}, to = {}, size = '146 KB' }}", 12 * ports + port)).collect();
        let flows = flows.join(", ");
        format!("[[traffic]]\nname = 'c{class}'\npattern = 'flows'\npriority = {class}\nweight = {weight}\nflows = [{flows}]\n")
    });
    let outcome: Outcome = run(&format!(
        "[run]\nduration = '1 ms'\ncool_down = '0 s'\n[network]\ntopology = 'star'\nhosts = {}\nrate = '1 Gbps'\ndelay = '20 us'\n\
         buffer = '120 packets'\nhost_jitter = '0 s'\n{network}\n[transport]\nname = 'tcp'\ninitial_window = 100\n{}",
        13 * ports,
        classes.collect::<String>()
    ));
    let to = |port| format!("host {}", 12 * ports + port);
    (0..ports).map(|port| outcome.links.iter().find(|link| link.to == to(port)).expect("a link").queue.p50).collect()
}

/// With one class, n congested queues of q packets each: q = alpha (120 - n q) / n, so q = 120 alpha / (n (1 + alpha)).
/// Dynamic thresholds give 120 alpha / (1 + n alpha).
#[test]
fn congested_ports_divide_what_is_free() {
    for (alpha, ports) in [(1.0, 1), (0.5, 1), (3.0, 1), (1.0, 3), (2.0, 2)] {
        let expected = (120.0 * alpha / (1.0 + alpha)) as u64 / u64::from(ports);
        let found = queues(&format!("sharing = 'abm'\ndynamic_alpha = {alpha:?}\ndiscipline = 'fifo'"), ports, &[1]);
        assert!(found.iter().all(|queue| queue.abs_diff(expected) <= 2), "{alpha}: {found:?}, not {expected}");
    }
    let dynamic = queues("sharing = 'dynamic'\ndiscipline = 'fifo'", 3, &[1]);
    assert!(dynamic.iter().all(|queue| queue.abs_diff(30) <= 2), "{dynamic:?}");
}

/// Two classes at one port, 3 to 1: q1 = 3/4 (120 - q1 - q2) and q2 = 1/4 (120 - q1 - q2) are 60 together. Dynamic
/// thresholds of each class are 40, 80 together.
#[test]
fn classes_of_a_port_have_shares_of_its_limit() {
    let of = |sharing: &str| queues(&format!("sharing = '{sharing}'"), 1, &[3, 1])[0];
    let (abm, dynamic) = (of("abm"), of("dynamic"));
    assert!(abm.abs_diff(60) <= 3, "{abm}");
    assert!(dynamic.abs_diff(80) <= 3, "{dynamic}");
}
