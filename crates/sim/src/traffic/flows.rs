//! `flows`: messages that are written down one by one.

use std::collections::BTreeMap;

use units::{Default, FlowSpec, Key, Kind, Problem, Range, Stream, Values};

use super::deadline::{self, Allowed};
use super::{Built, Context, DEADLINE, Descriptor, FROM, Listed, Nature, Request, SIZE, START, TO};

/// Messages that are written down one by one.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "flows",
    help: "messages that are written down one by one",
    aliases: &[("flow", "flows")],
    keys: KEYS,
    nature: Nature::GIVEN,
    build,
};

const KEYS: &[Key] = &[Key {
    name: "flows",
    kind: Kind::Flows,
    default: Default::Required,
    range: Range::ANY,
    help: "a list of { from, to, size, start, deadline }",
    source: "",
}];

/// Keys of one entry of `flows`.
pub const ENTRY_KEYS: &[Key] = &[FROM, TO, SIZE, START, DEADLINE];

fn build(values: &Values, context: &Context) -> Built {
    requests("flows", &values.flows("flows"), values, context)
}

/// Returns the generator of messages that the value of `key` lists.
pub(super) fn requests(key: &'static str, flows: &[FlowSpec], values: &Values, context: &Context) -> Built {
    let (mut requests, mut times_alone) = (Vec::new(), BTreeMap::new());
    for (i, flow) in flows.iter().enumerate() {
        super::check_hosts(key, &[flow.from, flow.to], context.graph)?;
        if flow.from == flow.to {
            return Err(Problem::new(key, format!("host {} would send to itself", flow.from)));
        }
        let mut stream = Stream::new(context.seed, &values.text("name"), i as u64);
        let bytes = super::draw_bytes(&flow.size, &mut stream);
        let allowed = flow.deadline.as_ref().map(|deadline| deadline::draw(deadline, &mut stream));
        times_alone.extend(allowed.and_then(Allowed::times_alone).map(|times| (i, times)));
        requests.push(Request {
            start: flow.start,
            from: flow.from,
            to: flow.to,
            bytes: Some(bytes),
            deadline: allowed.and_then(Allowed::time),
            query: None,
            place: None,
            piece: None,
        });
    }
    Ok(Listed::with_deadlines(requests, times_alone))
}
