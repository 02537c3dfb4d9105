//! Receiver-driven transports in a network, to the picosecond and under loss.

use super::common;

use common::run;
use sim::Outcome;
use units::{Instant, Span};

/// Hosts at a switch with 1 Gbps and 20 us per link. A full packet takes 64 us, a request or a grant of 64 B takes 2 x
/// (0.512 + 20) = 41.024 us.
fn star(transport: &str, fault: &str, flows: &str) -> Outcome {
    run(&format!(
        "run = {{ duration = '60 ms' }}\nfault = [{fault}]\ntransport = '{transport}'\n\
         network = {{ topology = 'star', hosts = 4, rate = '1 Gbps', delay = '20 us', host_jitter = '0 s', mark = '20 packets' }}\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{flows}]"
    ))
}

const CONTROL: Span = Span::from_nanos(41_024);
const DATA: Span = Span::from_micros(64);
const PACKET: Span = Span::from_micros(12);

fn ends(outcome: &Outcome) -> Vec<Instant> {
    outcome.messages.iter().map(|message| message.end.expect("it has arrived")).collect()
}

#[test]
fn a_request_a_grant_and_then_the_data() {
    let one = "{ from = 0, to = 1, size = '1460 B', deadline = '50 ms' }";
    assert_eq!(ends(&star("edf-grants", "", one)), [(CONTROL + CONTROL + DATA).after_start()]);
    // Unscheduled data arrive at once, and so does a message that cannot wait for a grant.
    for transport in ["homa", "sird"] {
        assert_eq!(ends(&star(transport, "", one)), [DATA.after_start()]);
    }
    assert_eq!(ends(&star("edf-grants", "", &one.replace("50 ms", "150 us"))), [DATA.after_start()]);
}

#[test]
fn what_is_lost_on_either_way_is_repeated() {
    let one = "{ from = 0, to = 1, size = '1460 B', deadline = '50 ms' }";
    let exchange = CONTROL + CONTROL + DATA;
    let lost = |link, until, of| {
        let fault = format!("{{ kind = 'loss', probability = 1.0, of = '{of}', link = '{link}', until = '{until}' }}");
        let outcome = star("edf-grants", &fault, one);
        assert_eq!(outcome.faults.expect("there is one").drops, 1, "{link}");
        (ends(&outcome)[0], outcome.messages[0].timeouts, outcome.messages[0].retransmits)
    };
    // The request is repeated after 1 ms.
    assert_eq!(lost("host 0 -> switch", "50 us", "control"), ((Span::from_millis(1) + exchange).after_start(), 1, 0));
    // The grant: 1 ms later the receiver probes, which makes up for it. The sender, which has received nothing, has sent
    // another request by then.
    let again = CONTROL + Span::from_millis(1) + CONTROL + DATA;
    assert_eq!(lost("host 1 -> switch", "100 us", "control"), (again.after_start(), 2, 0));
    // The data: the probe is returned, which shows that they are lost, and they are granted and sent again.
    let again = again + CONTROL + CONTROL;
    assert_eq!(lost("host 0 -> switch", "200 us", "data"), (again.after_start(), 1, 1));
}

/// The first of three grants, which reach the switch 61.536, 62.048 and 62.56 us after the start, is lost. The second
/// makes up for it, and nothing is late. Otherwise, the first segment would arrive 1 ms after the others.
#[test]
fn the_next_grant_makes_up_for_one_that_is_lost() {
    let three = "{ from = 0, to = 1, size = '4380 B', deadline = '50 ms' }";
    let first = "{ kind = 'loss', probability = 1.0, of = 'control', link = 'host 1 -> switch', until = '61.8 us' }";
    let outcome = star("edf-grants", first, three);
    assert_eq!(outcome.faults.expect("there is one").drops, 1);
    let second = CONTROL + Span::from_nanos(512) + CONTROL;
    assert_eq!(ends(&outcome), [(second + DATA + Span(PACKET.0 * 2)).after_start()]);
    assert_eq!((outcome.counters.timeouts, outcome.counters.retransmits), (0, 0));
}

/// Three messages of ten packets to one host: one after the other, the earliest deadline first, and the link is never
/// idle.
#[test]
fn the_link_of_the_receiver_goes_to_one_after_the_other() {
    let flows = [(0, 30), (1, 20), (2, 10)]
        .map(|(from, deadline)| format!("{{ from = {from}, to = 3, size = '14600 B', deadline = '{deadline} ms' }}"));
    let outcome = star("edf-grants", "", &flows.join(", "));
    let found = ends(&outcome);
    // The first packets of all senders with a request are in flight when the last request arrives; the last byte
    // arrives after 30 packets. The requests have used the link for three times 0.512 us, before the first packet.
    let first = CONTROL + CONTROL + DATA;
    let most = first + Span(PACKET.0 * 29) + Span::from_micros(2);
    assert!(*found.iter().max().unwrap() <= most.after_start(), "{found:?}");
    assert!(found[2] < found[1] && found[1] < found[0], "{found:?}");
    assert_eq!(outcome.counters.drops + outcome.counters.retransmits, 0);
}

/// With 500 B on the wire beside each packet the link takes 16 us for one, not 12. So 100 packets with their request
/// and grant take more than 1.68 ms and are late in any case, and the 20 of the other message are sent first. If the
/// 500 B were not counted, all would seem to fit, and both would be late.
#[test]
fn what_frames_take_on_the_link_counts_for_what_can_be_in_time() {
    let outcome = run("run = { duration = '20 ms' }\ntransport = 'edf-grants'\n\
         network = { topology = 'star', hosts = 3, rate = '1 Gbps', delay = '20 us', frame_overhead = '500 B' }\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [\
         { from = 0, to = 2, size = '146000 B', deadline = '1.6 ms' }, { from = 1, to = 2, size = '29200 B', deadline = '1.9 ms' }]");
    let late: Vec<bool> =
        outcome.messages.iter().map(|message| message.end.unwrap() > message.deadline.unwrap().after_start()).collect();
    assert_eq!(late, [true, false]);
}

/// The link to the receiving host carries 100 Mbps, and the hosts' own 1 Gbps. 100 packets of 120 us are late at 11.5
/// ms in any case, so the 20 of the other message are sent first. By the rate of the host's own link all would fit, and
/// both would be late.
#[test]
fn a_host_grants_by_the_rate_of_the_link_to_it_not_of_its_own() {
    let outcome = run("run = { duration = '40 ms' }\ntransport = 'edf-grants'\n\
         network = { topology = 'star', hosts = 3, rate = '1 Gbps', bottleneck = '100 Mbps', delay = '20 us' }\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [\
         { from = 0, to = 2, size = '146000 B', deadline = '11.5 ms' }, { from = 1, to = 2, size = '29200 B', deadline = '11.6 ms' }]");
    let late: Vec<bool> =
        outcome.messages.iter().map(|message| message.end.unwrap() > message.deadline.unwrap().after_start()).collect();
    assert_eq!(late, [true, false]);
}

/// Twelve hosts send 49 queries to the same eleven. The links of these eleven are as busy as the twelve's, and Homa's
/// unscheduled data overflow ports of 50 KB. A message that loses packets repeatedly meets the next burst each time.
/// The interval between two grants doubles from 1 to 64 ms, and a burst is sent every 4 ms. After the last burst, at
/// 196 ms, the remaining messages have the links to themselves: each is granted or requested again within 64 ms. Four
/// such intervals, for three packets of one message that are lost in a row, end at 452 ms.
#[test]
fn everything_arrives_when_all_send_to_all_and_control_packets_are_lost() {
    for transport in ["edf-grants", "homa", "sird"] {
        for loss in ["", "{ kind = 'loss', probability = '5%', of = 'control' }"] {
            let outcome = run(&format!(
                "run = {{ duration = '452 ms', seed = 5 }}\nfault = [{loss}]\ntransport = '{transport}'\n\
                 network = {{ topology = 'star', hosts = 23, rate = '1 Gbps', delay = '20 us', mark = '20 packets', \
                 buffer = '50 KB', sharing = 'per-port' }}\n\
                 [[traffic]]\nname = 'a'\npattern = 'fan-in'\nparents = 12\nleaves = 11\nevery = '4 ms'\ncount = 49\nsize = '20 KB'\n\
                 deadline = '20 ms'\n"
            ));
            let late = outcome.messages.iter().filter(|message| message.end.is_none()).count();
            assert_eq!((outcome.messages.len(), late), (12 * 11 * 49, 0), "{transport} {loss}");
            let again = outcome.counters.retransmits as f64 / outcome.counters.packets_delivered as f64;
            assert!(transport != "edf-grants" || again < 0.02, "{transport} {loss}: {again}");
        }
    }
}

/// SIRD (NSDI 2025): credit of 1.5 bandwidth-delay products keeps the link of a receiver full, and only the excess over
/// one product is queued. Homa (SIGCOMM 2018, 3.5): granting to several messages at a time keeps it full too, and
/// buffers a round trip of each but one.
///
/// Eight messages of 2055 packets each want one link. From a grant to the last bit of its packet it takes 105.024 us,
/// in which the link carries 8.752 packets. The product, rounded up, is 9, and SIRD's credit 14. The packets in flight
/// are the link's rate times their delay (Little), so that 14 - 8.752 packets are queued under SIRD. Under Homa four
/// messages at a time have 9 each in flight. Others have the grants that they got while they were among these, in the
/// first moments. So at least 4 x 9 - 8.752 are queued, and at most 8 x 9 - 8.752. Some are queued for tens of
/// milliseconds; nothing is lost or sent twice.
#[test]
fn sird_buffers_half_a_product_and_homa_three_round_trips_or_more() {
    let cases = [
        ("'sird', paced = false", 14.0 - 8.752, 14.0 - 8.752),
        // Credit at the link's rate queues nothing but the time of requests.
        ("'sird'", 0.0, 14.0 - 8.752),
        ("'homa', unscheduled_levels = 4", 36.0 - 8.752, 72.0 - 8.752),
    ];
    for (transport, least, most) in cases {
        let outcome = run(&format!(
            "run = {{ duration = '60 ms', warm_up = '5 ms' }}\ntransport = {{ name = {transport} }}\n\
             network = {{ topology = 'star', hosts = 9, rate = '1 Gbps', delay = '20 us', host_jitter = '0 s', buffer = '1 MB', \
             sharing = 'per-port', mark = '65 packets' }}\n\
             [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{{ from = '0..8', to = 8, size = '3000300 B' }}]"
        ));
        let link = outcome.links.iter().find(|link| link.to == "host 8").expect("there is one");
        assert!(link.utilisation > 0.995, "{transport}: {}", link.utilisation);
        assert!((least - 0.5..most + 0.5).contains(&link.queue.mean), "{transport}: {} waiting", link.queue.mean);
        assert_eq!((outcome.counters.drops, outcome.counters.retransmits), (0, 0));
    }
}

/// Homa (SIGCOMM 2018, 3.6): many answers at once. A hundred of 13 packets each (18 KiB) are 1300 packets, for which
/// the link takes 100 x (18432 + 13 x 40) x 8 ns = 15.16 ms. A port of 4 MB holds them all, so nothing is lost or sent
/// twice. A packet may be queued for 15 times the millisecond after which it would count as late. Homa limits the
/// unscheduled data of many answers. Then at most four round trips of 17 packets and the beginnings of 96 (of 340 B)
/// can meet in the port. With the four round trips that are granted these are 8 x 17 x 1500 + 96 x 340 B.
#[test]
fn many_answers_at_once_are_sent_once_and_wait_at_their_hosts() {
    let fan_in = |keys: &str| {
        run(&format!(
            "run = {{ duration = '40 ms' }}\ntransport = {{ name = 'homa', unscheduled_levels = 4{keys} }}\n\
             network = {{ topology = 'star', hosts = 101, rate = '1 Gbps', delay = '20 us', buffer = '4 MB', sharing = 'per-port' }}\n\
             [[traffic]]\nname = 'a'\npattern = 'fan-in'\nleaves = 100\nevery = '1 ms'\ncount = 1\nsize = '18 KiB'\n\
             jitter = 'uniform(0 us, 40 us)'\n"
        ))
    };
    let max_waiting =
        |outcome: &Outcome| outcome.links.iter().find(|link| link.to == "host 100").expect("there is one").queue.max;
    for keys in ["", ", incast_after = 1000"] {
        let outcome = fan_in(keys);
        let last = *ends(&outcome).iter().max().unwrap();
        assert_eq!((outcome.counters.drops, outcome.counters.retransmits), (0, 0), "{keys}");
        // 1 ms for the query, two exchanges and the jitter are 0.2 ms; the link is idle for no longer than a twentieth.
        assert!(last < Instant::from_micros(1000 + 200 + 15_160 * 21 / 20), "{keys}: {last:?}");
        let waiting = max_waiting(&outcome);
        assert_eq!(waiting <= 8 * 17 + 96, keys.is_empty(), "{keys}: {waiting} packets");
    }
}

/// Eight hosts at 10 Gbps always send to four others each. A message is due when a fifth of a link could have sent it:
/// 80 % of each link at both ends, so that all can be in time. A round trip is 50 packets. All packets of a window may
/// report a long queue at their host. If they reduce it to one, and each round trip adds one, receivers' links are idle
/// and four of five messages are late. If a host reports this of less than half a window, two of five are late.
#[test]
fn the_links_of_long_round_trips_are_filled_though_hosts_send_to_several() {
    let outcome = run("run = { duration = '6 ms', warm_up = '1 ms' }\ntransport = 'edf-grants'\n\
         network = { topology = 'star', hosts = 8, rate = '10 Gbps', delay = '14 us' }\n\
         [[traffic]]\nname = 'a'\npattern = 'sessions'\nload = 1.0\nshare = '20%'\nsessions = 4\nfirst = 1\n\
         size = 'uniform(200 KB, 600 KB)'");
    let late = outcome
        .messages
        .iter()
        .filter(|message| message.end.is_none_or(|end| end > message.start + message.deadline.unwrap()));
    let (late, all) = (late.count(), outcome.messages.len());
    assert!(all >= 90 && 3 * late < all, "{late} of {all}");
}
