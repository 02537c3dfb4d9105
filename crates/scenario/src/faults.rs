//! Reads `[[fault]]`: the failures in the network.

use serde_json::Value as Json;
use sim::faults::{self, Fault};
use sim::network::Network;
use sim::run::Run;

use crate::context::Context;
use crate::document::{Data, Entry, Table};
use crate::error::Checked;
use crate::language;
use crate::values::read_table;
use crate::variants::{place, select, unknown_key, with_selector};

const TITLE: &str = "[[fault]]";

/// Returns the faults in the order of the file, and as they are written; none where there is no such section.
pub(crate) fn read(
    root: &Table,
    network: &Network,
    run: &Run,
    context: &Context,
) -> Checked<(Vec<Fault>, Option<Json>)> {
    const MAX_FAULTS: usize = 4096;
    let Some(Data::Array(items)) = root.find("fault").map(|entry| &entry.node.data) else {
        return Ok((Vec::new(), None));
    };
    if let Some(item) = items.get(MAX_FAULTS) {
        return Err(item.fault(format!("a scenario has at most {MAX_FAULTS} faults")));
    }
    let family = language::faults();
    let (mut found, mut written) = (Vec::new(), Vec::new());
    for (item, number) in items.iter().zip(0..) {
        let Data::Table(table) = &item.data else { continue };
        let variant = select(&family, table, TITLE, context)?;
        let unknown = |entry: &Entry| unknown_key(&family, variant, TITLE, entry);
        let read = read_table(table, TITLE, &variant.keys, &[family.selector], context, unknown)?;
        let kind = faults::find(variant.name).expect("the family is made of the list");
        let fault = Fault::new(kind, &read.values, &network.graph, run.seed, number);
        found.push(fault.map_err(|problem| place(table, problem))?);
        written.push(with_selector(&family, variant, read.written));
    }
    Ok((found, Some(Json::Array(written))))
}
