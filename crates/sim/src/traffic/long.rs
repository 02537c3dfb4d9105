//! `long`: flows without end.

use units::{Key, Values};

use super::{Built, Context, Descriptor, FROM, Listed, Nature, Request, START, TO};

/// The pattern of flows without end.
pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    name: "long",
    help: "flows that send as much as they can until the run ends",
    aliases: &[],
    keys: KEYS,
    nature: Nature { endless: true, ..Nature::GIVEN },
    build,
};

const KEYS: &[Key] = &[FROM, TO, START];

fn build(values: &Values, context: &Context) -> Built {
    let start = values.formula("start");
    let requests = super::pairs(values, context.graph)?.into_iter().enumerate().map(|(i, (from, to))| {
        let start = super::start_at(&start, i as u64, 0)?;
        Ok(Request { start, from, to, bytes: None, deadline: None, query: None, place: None })
    });
    Ok(Listed::boxed(requests.collect::<Result<_, _>>()?))
}
