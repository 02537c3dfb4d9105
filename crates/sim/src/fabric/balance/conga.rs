//! `conga`: the first switch of a path sends each flowlet over the uplink whose path is the least congested. The last
//! switch tells it the congestion of paths, in the headers of packets that are sent back.

use std::collections::BTreeMap;

use transport::{Overlay, Packet};
use units::{Default, Instant, Key, Kind, LinkId, Range, Rate, Span, Values};

use super::flowlets::{Flowlets, Last};
use super::{Chooser, Descriptor, Draws, Hop, Onward, Sprays, SwitchBalancer};

/// The balancer of flowlets by the congestion of their paths, at switches.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "conga",
    help: "as letflow, but the first switch takes the uplink whose path was the least used, as the last switch tells it",
    keys: KEYS,
    chooser: Chooser::Switches(balancer),
    listens: false,
    sprays: Sprays::Nowhere,
};

const KEYS: &[Key] = &[Key {
    name: "conga_tau",
    kind: Kind::Time,
    default: Default::Absent,
    range: Range::POSITIVE,
    help: "with balance = \"conga\": the time over which switches measure the use of their links; 0.32 of flowlet_gap when \
           left out",
    source: "CONGA (SIGCOMM 2014) 3.6: 160 us, with flowlets of 500 us",
}];

/// `conga_tau` as a share of `flowlet_gap`.
const TAU: f64 = 160.0 / 500.0;

/// Share of a link's register that is taken away at the end of each period (alpha); a period is this share of tau. CONGA
/// 3.2 names no value; ConWeave's simulator has this one.
const DECAY: f64 = 0.2;

/// The largest congestion: use is rounded down to eighths (Q = 3 bits, CONGA 3.6).
const MOST: u8 = 7;

/// Flowlet gaps after which news of a path is too old to count: 10 ms beside 500 us (CONGA 3.3).
const AGE: u64 = 20;

fn balancer(values: &Values) -> Box<dyn SwitchBalancer> {
    let gap = values.time("flowlet_gap");
    let tau = values.time_if_set("conga_tau").unwrap_or(Span((gap.0 as f64 * TAU) as u64)).max(Span(1));
    Box::new(Conga::new(gap, tau))
}

struct Conga {
    tau: Span,
    /// Time after which news is too old.
    age: Span,
    flowlets: Flowlets<LinkId>,
    /// The use of each link that leaves this switch.
    links: BTreeMap<LinkId, Register>,
    /// By destination switch and own uplink: the congestion on the way, and when that was news.
    to: BTreeMap<(u32, LinkId), (u8, Instant)>,
    /// By source switch and its uplink: the congestion of the packets that have arrived.
    from: BTreeMap<(u32, LinkId), Told>,
    /// The uplink of each source switch that was told last.
    last_told: BTreeMap<u32, LinkId>,
}

/// The congestion of a path from another switch, to be told to that.
#[derive(Clone, Copy)]
struct Told {
    congestion: u8,
    /// It has changed since it was told.
    changed: bool,
}

/// An estimate of a link's rate (the Discounting Rate Estimator, CONGA 3.2): bytes sent, of which a share is taken away at
/// the end of each period.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    bytes: f64,
    period: u64,
}

impl Register {
    /// Takes away what the periods until now have taken.
    fn advance(&mut self, now: Instant, tau: Span) {
        let period = now.0 / ((tau.0 as f64 * DECAY).round() as u64).max(1);
        // After a hundred periods less than 1e-9 is left.
        for _ in 0..(period - self.period).min(100) {
            self.bytes *= 1.0 - DECAY;
        }
        self.period = period;
    }

    /// Returns the congestion: the use of the link, in eighths.
    fn congestion(&self, rate: Rate, tau: Span) -> u8 {
        const BITS_PER_SECOND_AND_PS: f64 = 8e12;
        let levels = self.bytes * BITS_PER_SECOND_AND_PS * f64::from(MOST + 1);
        (levels / (rate.0 as f64 * tau.0 as f64)).min(MOST.into()) as u8
    }
}

impl Conga {
    fn new(gap: Span, tau: Span) -> Conga {
        Conga {
            tau,
            age: Span(gap.0.saturating_mul(AGE)),
            flowlets: Flowlets::new(gap),
            links: BTreeMap::new(),
            to: BTreeMap::new(),
            from: BTreeMap::new(),
            last_told: BTreeMap::new(),
        }
    }

    /// Returns the use, until now, of a link that leaves this switch.
    fn register(&mut self, now: Instant, link: LinkId) -> &mut Register {
        let register = self.links.entry(link).or_default();
        register.advance(now, self.tau);
        register
    }

    /// Returns the congestion of a link that leaves this switch.
    fn own(&mut self, now: Instant, Onward { link, rate }: Onward) -> u8 {
        let tau = self.tau;
        self.register(now, link).congestion(rate, tau)
    }

    /// Returns the index of the link whose path is the least congested. CONGA 3.5: of equal ones the present one, so that a
    /// flow moves only to a better path; else one that is drawn.
    fn by_congestion(&mut self, hop: &Hop, present: Option<usize>, draws: &mut Draws) -> usize {
        let of_path =
            |onward: &Onward| self.own(hop.now, *onward).max(self.told(hop.now, hop.last_switch, onward.link));
        let congestion: Vec<u8> = hop.links.iter().map(of_path).collect();
        let least = congestion.iter().min();
        let best: Vec<usize> = (0..congestion.len()).filter(|index| congestion.get(*index) == least).collect();
        match present.filter(|index| best.contains(index)) {
            Some(index) => index,
            None => best[draws.below(best.len() as u32) as usize],
        }
    }

    /// Returns the congestion on the way from this switch's uplink to another switch, as last told; 0 if that was long
    /// ago.
    fn told(&self, now: Instant, switch: u32, uplink: LinkId) -> u8 {
        let news = self.to.get(&(switch, uplink));
        news.filter(|(_, at)| now <= at.saturating_add(self.age)).map_or(0, |(congestion, _)| *congestion)
    }

    /// Returns the news for a switch: the congestion of one of its uplinks, in turn, a changed one first.
    fn tell(&mut self, switch: u32) -> Option<(LinkId, u8)> {
        let last = self.last_told.get(&switch).copied();
        let known = || self.from.range((switch, LinkId(0))..=(switch, LinkId(u32::MAX)));
        let in_turn = || {
            let later = known().filter(move |((_, uplink), _)| last.is_none_or(|last| *uplink > last));
            later.chain(known())
        };
        let ((_, uplink), _) = in_turn().find(|(_, told)| told.changed).or_else(|| in_turn().next())?;
        let uplink = *uplink;
        self.last_told.insert(switch, uplink);
        let told = self.from.get_mut(&(switch, uplink))?;
        told.changed = false;
        Some((uplink, told.congestion))
    }
}

impl SwitchBalancer for Conga {
    fn next(&mut self, hop: &Hop, draws: &mut Draws) -> usize {
        let index_of = |link| hop.links.iter().position(|onward| onward.link == link);
        let (goes_on, present) = match self.flowlets.last(hop.now, hop.packet) {
            Last::Flowlet(link) => (true, index_of(link)),
            Last::Paused(link) => (false, index_of(link)),
            Last::None => (false, None),
        };
        let chosen = match present {
            Some(index) if goes_on => index,
            _ => self.by_congestion(hop, present, draws),
        };
        self.flowlets.choose(hop.now, hop.packet, hop.links[chosen].link);
        chosen
    }

    fn reports(&self) -> bool {
        true
    }

    fn send(&mut self, now: Instant, onward: Onward, packet: &Packet, overlay: &mut Overlay) {
        let tau = self.tau;
        let register = self.register(now, onward.link);
        let congestion = register.congestion(onward.rate, tau);
        register.bytes += f64::from(packet.size);
        overlay.congestion = overlay.congestion.max(congestion);
        if overlay.uplink.is_none() {
            overlay.uplink = Some(onward.link);
            overlay.told = self.tell(overlay.last_switch);
        }
    }

    fn receive(&mut self, now: Instant, overlay: &Overlay) {
        if let Some((uplink, congestion)) = overlay.told {
            self.to.insert((overlay.first_switch, uplink), (congestion, now));
        }
        if let Some(uplink) = overlay.uplink {
            let congestion = overlay.congestion;
            let told = self.from.entry((overlay.first_switch, uplink)).or_insert(Told { congestion, changed: true });
            told.changed |= told.congestion != congestion;
            told.congestion = congestion;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::hop;
    use super::*;

    const FIRST: u32 = 20;
    const OTHER: u32 = 21;

    fn conga() -> Conga {
        Conga::new(Span::from_micros(500), Span::from_micros(160))
    }

    fn overlay(first_switch: u32, last_switch: u32) -> Overlay {
        Overlay { first_switch, last_switch, uplink: None, congestion: 0, told: None, alone: true }
    }

    fn onward(link: u32) -> Onward {
        Onward { link: LinkId(link), rate: Rate::from_gbps(10) }
    }

    /// 10 Gbps for 160 us are 200 000 B, an eighth of which is 25 000 B. Each 32 us a fifth is taken away.
    #[test]
    fn use_of_a_link_is_told_in_eighths_and_decays() {
        let mut register = Register { bytes: 100_000.0, period: 0 };
        let congestion = |register: &Register| register.congestion(Rate::from_gbps(10), Span::from_micros(160));
        assert_eq!(congestion(&register), 4);
        register.advance(Instant::from_micros(31), Span::from_micros(160));
        assert_eq!((register.bytes, congestion(&register)), (100_000.0, 4));
        register.advance(Instant::from_micros(32), Span::from_micros(160));
        assert_eq!((register.bytes, congestion(&register)), (80_000.0, 3));
        register.advance(Instant::from_micros(96), Span::from_micros(160));
        assert!((register.bytes - 51_200.0).abs() < 1e-6 && congestion(&register) == 2, "{register:?}");
        // Rounded down.
        for (bytes, eighths) in [(24_999.0, 0), (25_000.0, 1), (49_999.0, 1), (174_999.0, 6), (175_000.0, 7)] {
            assert_eq!(congestion(&Register { bytes, period: 0 }), eighths, "{bytes}");
        }
        register.bytes = 1e9;
        assert_eq!(congestion(&register), 7);
        register.advance(Instant::from_millis(100), Span::from_micros(160));
        assert!(register.bytes < 1.0);
    }

    /// A link that is busy all the time has 4/5 of tau's bytes in its register after a period's end, and all of them before.
    #[test]
    fn a_busy_link_has_the_largest_congestion() {
        let (mut conga, packet) = (conga(), Packet { size: 1250, ..Packet::BLANK });
        let mut header = overlay(FIRST, OTHER);
        // A packet takes 1 us.
        (0..1000).for_each(|us| conga.send(Instant::from_micros(us), onward(3), &packet, &mut header));
        assert!((6..=7).contains(&conga.own(Instant::from_micros(1000), onward(3))));
        // Half as busy: 3 or 4 eighths.
        let mut half = overlay(FIRST, OTHER);
        (500..1000).for_each(|us| conga.send(Instant::from_micros(2 * us), onward(4), &packet, &mut half));
        assert!((3..=4).contains(&conga.own(Instant::from_micros(2000), onward(4))));
        assert_eq!((header.uplink, half.uplink), (Some(LinkId(3)), Some(LinkId(4))));
    }

    /// Packets of uplinks 1 and 2 of another switch have met congestions 5 and 2 here. It is told both in turn, changed
    /// ones first, and then avoids uplink 1 until the news is old.
    #[test]
    fn the_last_switch_tells_the_first_which_then_avoids_the_path() {
        let (mut here, mut there) = (conga(), conga());
        let now = Instant::from_micros(1);
        for (uplink, congestion) in [(1, 5), (2, 2)] {
            let uplink = Some(LinkId(uplink));
            here.receive(now, &Overlay { uplink, congestion, ..overlay(OTHER, FIRST) });
        }
        let mut tell = |here: &mut Conga| {
            let mut back = overlay(FIRST, OTHER);
            here.send(now, onward(9), &Packet::BLANK, &mut back);
            there.receive(now, &back);
            back.told.map(|(uplink, congestion)| (uplink.0, congestion))
        };
        assert_eq!([(); 4].map(|()| tell(&mut here)), [Some((1, 5)), Some((2, 2)), Some((1, 5)), Some((2, 2))]);
        // Uplink 1 was next, and 2 has changed.
        here.receive(now, &Overlay { uplink: Some(LinkId(2)), congestion: 3, ..overlay(OTHER, FIRST) });
        assert_eq!([(); 2].map(|()| tell(&mut here)), [Some((2, 3)), Some((1, 5))]);

        let paths = |there: &mut Conga, us: u64| {
            let mut draws = Draws::of(us);
            let queues = [Span::ZERO; 3];
            let mut taken = [0; 3];
            for _ in 0..60 {
                // Each a flow that is not known.
                there.flowlets = Flowlets::new(Span::from_micros(500));
                let hop = Hop { last_switch: FIRST, ..hop(Instant::from_micros(us), &queues) };
                taken[there.next(&hop, &mut draws)] += 1;
            }
            taken
        };
        assert_eq!(paths(&mut there, 2), [60, 0, 0], "nothing is told of uplink 0");
        there.links.insert(LinkId(0), Register { bytes: 110_000.0, period: 0 });
        assert_eq!(paths(&mut there, 2), [0, 0, 60], "4, 5 and 3 eighths");
        // After 10 ms neither news nor the register counts: all are equal, 20 each with a deviation of 3.7.
        let all = paths(&mut there, 10_002);
        assert!(all.iter().all(|taken| (5..=35).contains(taken)), "{all:?}");
    }

    /// CONGA 3.6: 160 us beside flowlets of 500 us. 80 packets of 1250 B are a half of what 10 Gbps carry in this time.
    #[test]
    fn use_is_measured_over_a_third_of_the_flowlet_gap() {
        let mut values = Values::default();
        values.set("flowlet_gap", units::Value::Time(Span::from_micros(500)));
        for (given, congestion) in [(None, 4), (Some(320), 2)] {
            if let Some(us) = given {
                values.set("conga_tau", units::Value::Time(Span::from_micros(us)));
            }
            let (mut conga, packet) = (balancer(&values), Packet { size: 1250, ..Packet::BLANK });
            let mut header = overlay(FIRST, OTHER);
            (0..81).for_each(|_| conga.send(Instant::from_micros(1), onward(3), &packet, &mut header));
            assert_eq!(header.congestion, congestion);
        }
    }

    /// News counts for twenty gaps of 500 us. Any uplink may be the one, the first too.
    #[test]
    fn news_of_a_path_counts_for_twenty_flowlet_gaps() {
        let (mut here, mut there) = (conga(), conga());
        let now = Instant::from_micros(1);
        here.receive(now, &Overlay { uplink: Some(LinkId(0)), congestion: 5, ..overlay(OTHER, FIRST) });
        let mut back = overlay(FIRST, OTHER);
        here.send(now, onward(9), &Packet::BLANK, &mut back);
        assert_eq!(back.told, Some((LinkId(0), 5)));
        there.receive(now, &back);
        let told = |ps: u64, uplink: u32| there.told(Instant(10_001_000_000 + ps), FIRST, LinkId(uplink));
        assert_eq!([told(0, 0), told(1, 0), told(0, 1)], [5, 0, 0]);
    }

    /// CONGA 3.5: a flow that pauses keeps its link where none is better.
    #[test]
    fn a_flow_moves_only_after_a_pause_and_only_to_a_better_path() {
        let (mut conga, mut draws, queues) = (conga(), Draws::of(5), [Span::ZERO; 16]);
        let mut at = |conga: &mut Conga, us: u64| conga.next(&hop(Instant::from_micros(us), &queues), &mut draws);
        let first = at(&mut conga, 0);
        // All are equal after each pause.
        assert!((1..20).all(|i| at(&mut conga, 600 * i) == first));
        conga.links.insert(LinkId(first as u32), Register { bytes: 1e7, period: 11_899 / 32 });
        assert_eq!(at(&mut conga, 11_899), first, "its flowlet goes on");
        assert_ne!(at(&mut conga, 12_400), first, "it has paused");
    }
}
