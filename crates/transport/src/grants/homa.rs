//! `homa`: shortest message first, the first round trip unscheduled, and priorities in switches.

use units::{Default, Key, Kind, Problem, Range, Value, Values};

use super::keys::{self, payload, policy, settle};
use super::policy::{Cutoffs, Follows, Incast, Levels, Order, Policy};
use super::{Config, SIGNALS};
use crate::{Advice, Descriptor, Needs, Regime, connection};

/// The descriptor of Homa.
pub(super) const DESCRIPTOR: Descriptor<Config> = Descriptor {
    name: "homa",
    help: "Homa: the first round trip of a message is sent unasked, but of many answers at once only their beginnings. The \
           receiver grants the rest to the shortest ones, several at a time, in switch priorities of its choice. Of the shared parameters only mss, header and dup_ack_threshold \
           mean anything to it",
    source: "Montazeri, Li, Alizadeh, Ousterhout, SIGCOMM 2018",
    aliases: &[("overcommit", "overcommitment"), ("degree", "overcommitment"), ("rttbytes", "rtt_bytes")],
    groups: &[keys::KEYS, KEYS],
    needs: Needs::of(
        "strict priorities",
        "sizes from the application before the first byte, and state per host at both ends",
    )
    .discipline("priority")
    // The shortest messages have the grants, and of equal ones always the same.
    .flows_that_end()
    .made_for(&[ROOM_FOR_GRANTS])
    .settling(|values, surroundings| settle(values, surroundings, false, &[("rtt_bytes", 1.0)])),
    signals: SIGNALS,
    build: |values, connection| build(values, connection),
};

/// Number of senders that a receiver grants at the same time where half of the levels are for that.
const GRANTED: f64 = 4.0;
/// The number of levels for unscheduled data where it does not follow from the traffic.
const UNSCHEDULED: u32 = 4;

const ROOM_FOR_GRANTS: Regime = Regime {
    key: "buffer",
    source: "Homa 3.5: RTTbytes are granted to several senders at once. 5.2: queues of up to 146 KB at 10 Gbps, fifteen \
             RTTbytes, without a loss (cited from memory)",
    outside: |conditions| {
        let product = conditions.bandwidth_delay();
        let limit = conditions.port_limit.filter(|limit| *limit < GRANTED * product)?;
        Some(Advice {
            reason: format!(
                "a port holds {:.2} bandwidth-delay products, less than the {GRANTED} that a receiver may have granted: its \
                 own grants overflow it, and what is lost waits for `resend_after`",
                limit / product
            ),
            write: format!("a buffer of at least {:.0} B for each port", (GRANTED * product).ceil()),
        })
    },
};

fn build(values: &mut Values, connection: &connection::Config) -> Result<Policy, Problem> {
    let count = values.count("levels") as u32;
    let written = values.count_if_set("unscheduled_levels").map(|levels| levels as u32);
    let unscheduled = written.unwrap_or(UNSCHEDULED.min(count - 1));
    if unscheduled >= count {
        let problem = format!("{unscheduled} leaves no level of {count} for what is granted");
        return Err(Problem::new("unscheduled_levels", problem));
    }
    let first = values.size("first_cutoff").0;
    let cutoffs = cutoffs(values)?;
    let levels = Levels { count, unscheduled, first, ratio: values.count("cutoff_ratio"), cutoffs };
    let rtt_bytes = payload(values, "rtt_bytes", connection);
    let (granted, whole) = (values.count_if_set("overcommitment"), values.count_if_set("incast_after"));
    let active = granted.unwrap_or(levels.scheduled().into());
    let order = if values.choice("order") == "deadline" { Order::Due } else { Order::Remaining };
    let incast = Incast {
        after: whole.unwrap_or(active) as u32,
        unscheduled: payload(values, "incast_unscheduled", connection),
    };
    Ok(Policy {
        follows: Follows {
            window: !values.is_given("rtt_bytes"),
            unscheduled_levels: written.is_none() && cutoffs == Cutoffs::ByTraffic,
            active: granted.is_none(),
            incast: whole.is_none(),
            ..Follows::default()
        },
        budget: payload(values, "incoming", connection),
        window: rtt_bytes,
        active: active as usize,
        unscheduled: rtt_bytes,
        unscheduled_up_to: u64::MAX,
        incast: Some(incast),
        by_rest: order == Order::Remaining,
        one_per_sender: true,
        by_silence: true,
        // Homa 3.3: a grant says up to which byte a message may be sent.
        cumulative: true,
        levels: Some(levels),
        ..policy(values, connection, order)
    })
}

/// Written sizes need no traffic to follow from, unless that is requested.
fn cutoffs(values: &mut Values) -> Result<Cutoffs, Problem> {
    if values.choice("cutoffs") == "geometric" {
        return Ok(Cutoffs::Geometric);
    }
    match ["first_cutoff", "cutoff_ratio"].into_iter().find(|key| values.is_given(key)) {
        None => Ok(Cutoffs::ByTraffic),
        Some(key) if values.is_given("cutoffs") => {
            let problem = Problem::new(key, "says nothing where `cutoffs` is \"by-traffic\"");
            Err(problem.hint("write cutoffs = \"geometric\", or leave it out"))
        }
        Some(_) => {
            values.set_default("cutoffs", Value::Choice("geometric"));
            Ok(Cutoffs::Geometric)
        }
    }
}

const KEYS: &[Key] = &[
    Key {
        name: "rtt_bytes",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "what of a message is sent without a grant, and how much of it may be granted and not have arrived, in packets or \
               payload bytes; when left out, one bandwidth-delay product",
        source: "Homa 3.2: RTTbytes, 9.7 KB at 10 Gbps",
    },
    Key {
        name: "overcommitment",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::between(1.0, 1e6),
        help: "so many messages, of different senders, are granted at a time, and keep their places until what was granted has \
               come; when left out, as many as there are levels for what is granted",
        source: "Homa 3.5; the Linux module: 8",
    },
    Key {
        name: "incoming",
        kind: Kind::Amount,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "nothing is granted while so much is on its way to a host, granted or sent without a grant, in packets or payload \
               bytes; when left out, only overcommitment and rtt_bytes are limits",
        source: "the paper has none; draft-ousterhout-tsvwg-homa, on buffers that are too small: an adjustable limit on what is \
                 incoming, as in the Linux module",
    },
    Key {
        name: "incast_after",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::between(0.0, 4e9),
        help: "of the answers that a host asks for with one query, so many are sent as any message; of each one more only \
               incast_unscheduled goes without a grant; when left out, as many as overcommitment",
        source: "Homa 3.6: a threshold on the requests of a host that are not answered, which is not stated; here those of its \
                 earlier queries do not count. So many round trips at once overcommitment puts into a port as well",
    },
    Key {
        name: "incast_unscheduled",
        kind: Kind::Amount,
        default: Default::Is("300 B"),
        range: Range::POSITIVE,
        help: "what of such an answer is sent without a grant, in packets or payload bytes",
        source: "Homa 3.6: a few hundred bytes",
    },
    Key {
        name: "levels",
        kind: Kind::Count,
        default: Default::Is("8"),
        range: Range::between(2.0, 32.0),
        help: "switch priorities; the first is also that of requests and grants",
        source: "Homa 5.2: 8, as commodity switches have",
    },
    Key {
        name: "unscheduled_levels",
        kind: Kind::Count,
        default: Default::Absent,
        range: Range::between(1.0, 31.0),
        help: "how many of these, the highest, are for what is sent without a grant; when left out, with cutoffs by-traffic, their \
               share of all levels is that of unscheduled bytes in the traffic, and at least one is for either kind; with \
               cutoffs geometric 4",
        source: "Homa 3.4: the share of unscheduled bytes in the traffic that a host has seen: 1 of 8 for its longest messages, 7 \
                 for its shortest",
    },
    Key {
        name: "cutoffs",
        kind: Kind::Choice(&["geometric", "by-traffic"]),
        default: Default::Is("by-traffic"),
        range: Range::ANY,
        help: "where the levels for what is sent without a grant end: geometric: at first_cutoff and its multiples by \
               cutoff_ratio; by-traffic: so that each has as many unscheduled bytes of the messages that all classes with such \
               a transport are expected to send, settled once before the run; without a message of known size as geometric",
        source: "Homa 3.4: levels of equal unscheduled bytes, from the traffic that a receiver has measured. Here one list for \
                 all hosts, and answers count with what incast_after leaves of them",
    },
    Key {
        name: "first_cutoff",
        kind: Kind::Size,
        default: Default::Is("1 KB"),
        range: Range::POSITIVE,
        help: "with cutoffs geometric, messages up to this are sent in the first level",
        source: "chosen; Homa 3.4 has levels of equal traffic (by-traffic)",
    },
    Key {
        name: "cutoff_ratio",
        kind: Kind::Count,
        default: Default::Is("4"),
        range: Range::between(2.0, 1e6),
        help: "with cutoffs geometric, each level for what is sent without a grant ends at so many times the size of the one above it",
        source: "chosen: 1, 4 and 16 KB",
    },
    keys::ORDER,
    keys::OVERTAKEN,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Under a profile whose default follows the traffic.
    #[test]
    fn written_sizes_stand_for_geometric_cutoffs() {
        let read = |given: &[(&str, &str)]| {
            let mut values = Values::read(crate::registry::find("homa").unwrap().keys(), given).unwrap();
            if !values.is_given("cutoffs") {
                values.set_default("cutoffs", Value::Choice("by-traffic"));
            }
            cutoffs(&mut values).map(|cutoffs| (cutoffs, values.choice("cutoffs")))
        };
        assert_eq!(read(&[]).unwrap(), (Cutoffs::ByTraffic, "by-traffic"));
        for given in [
            &[("cutoffs", "geometric")][..],
            &[("first_cutoff", "1 KB")],
            &[("cutoff_ratio", "4")],
            &[("cutoffs", "geometric"), ("first_cutoff", "1 KB")],
        ] {
            assert_eq!(read(given).unwrap(), (Cutoffs::Geometric, "geometric"), "{given:?}");
        }
        assert_eq!(read(&[("cutoffs", "by-traffic"), ("cutoff_ratio", "4")]).unwrap_err().key, "cutoff_ratio");
    }

    #[test]
    fn regime_has_room_for_the_grants_of_four_senders() {
        let values = [0.0, 55_999.0, 56_000.0, 56_001.0, f64::INFINITY];
        assert_eq!(crate::descriptor::tests::is_within(&ROOM_FOR_GRANTS, values), [false, false, true, true, true]);
    }
}
