//! `trace`: messages from a file.

use units::{Default, Key, Kind, Range, Values};

use super::{Built, Context, Descriptor, Nature, flows};

/// Messages from a file.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "trace",
    help: "messages from a file: CSV (start, src, dst, bytes, deadline) or the flow file of the HPCC simulator",
    aliases: &[],
    keys: KEYS,
    nature: Nature::GIVEN,
    build,
};

const KEYS: &[Key] = &[Key {
    name: "file",
    kind: Kind::FlowFile,
    default: Default::Required,
    range: Range::ANY,
    help: "path of the file, relative to the scenario's folder",
    source: "",
}];

fn build(values: &Values, context: &Context) -> Built {
    flows::listed("file", values, context)
}
