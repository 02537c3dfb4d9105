//! `trace`: messages from a file.

use units::{Default, Key, Kind, Range, Values};

use super::{Built, Context, DEADLINE, Descriptor, Nature, flows};

/// Messages from a file.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "trace",
    help: "messages from a file: CSV or JSON objects (start, src, dst, bytes, deadline), or a flow file of the HPCC simulator",
    aliases: &[],
    keys: KEYS,
    nature: Nature::GIVEN,
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "file",
        kind: Kind::FlowFile,
        default: Default::Required,
        range: Range::ANY,
        help: "path of the file, relative to the scenario's folder; { path, columns, unit, first_host } says more of it",
        source: "",
    },
    Key {
        name: "start",
        kind: Kind::Time,
        default: Default::Absent,
        range: Range::at_least(0.0),
        help: "when the first message starts, and the others as much later as in the file; when left out, the file's \
               times are times of the run",
        source: "",
    },
    DEADLINE,
];

fn build(values: &Values, context: &Context) -> Built {
    let mut flows = values.flows("file");
    let (first, deadline) = (flows.iter().map(|flow| flow.start).min(), values.deadline_if_set(DEADLINE.name));
    for flow in &mut flows {
        if let (Some(start), Some(first)) = (values.time_if_set("start"), first) {
            flow.start = start.after_start().saturating_add(flow.start - first);
        }
        flow.deadline = flow.deadline.take().or_else(|| deadline.clone());
    }
    flows::requests("file", &flows, values, context)
}
