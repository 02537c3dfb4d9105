//! `long`: flows without end.

use units::{Key, Time, Values};

use super::{Context, Descriptor, FROM, Generator, Listed, Request, START, TO};
use crate::Problem;

/// Flows without end.
pub const DESCRIPTOR: Descriptor =
    Descriptor { name: "long", help: "flows that send as much as they can until the run ends", keys: KEYS, build };

const KEYS: &[Key] = &[FROM, TO, START];

fn build(values: &Values, context: &Context) -> Result<Box<dyn Generator>, Problem> {
    let start = values.formula("start");
    let requests = super::pairs(values, context.graph)?.into_iter().enumerate().map(|(i, (from, to))| Request {
        start: Time::from_ps_f64(start.at(i as u64, 0)),
        from,
        to,
        bytes: None,
        deadline: None,
        query: None,
    });
    Ok(Listed::boxed(requests.collect()))
}
