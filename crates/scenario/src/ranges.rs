//! Values in the range of their key.

use units::Key;
use units::measure::{Measure, Scale};

use crate::context::Context;
use crate::distribution;
use crate::document::{Data, Node};
use crate::error::{At, Checked, Fault};

/// Checks that a value is in the key's range, which is in s, B, bit/s or 1.
pub(crate) fn check_range(key: &Key, value: f64, scale: Scale, at: At) -> Checked<()> {
    key.check(value, scale).map_err(|mistake| Fault::mistaken(at, mistake))
}

/// Reads a distribution whose values are in the key's range.
pub(crate) fn distribution_of(
    key: &Key,
    node: &Node,
    measures: &[Measure],
    context: &Context,
) -> Checked<distribution::Found> {
    if !matches!(node.data, Data::Integer(_) | Data::Float(_) | Data::Text(_)) {
        return Err(wrong(key, node, &format!("{} or a distribution", measures[0].what())));
    }
    let found = distribution::read(node, measures, measures.contains(&Measure::Share), context)?;
    if let units::Distribution::Constant(x) = found.distribution {
        let scale = if found.measure == Measure::Time { 1e12 } else { 1.0 };
        check_range(key, x / scale, Scale::Of(found.measure), node.at)?;
        if found.measure == Measure::Size && x < 0.5 {
            return Err(node.fault("a message has at least 1 byte"));
        }
    }
    Ok(found)
}

pub(crate) fn wrong(key: &Key, node: &Node, wanted: &str) -> Fault {
    node.fault(format!("`{}` must be {wanted}, not {}", key.name, node.what())).hint(format!(
        "write for example {} = {}",
        key.name,
        key.kind.example()
    ))
}
