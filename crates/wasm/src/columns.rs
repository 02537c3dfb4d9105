//! Tables as JSON: from each column's name to its values, null where a row has none.

use results::{Data, Table};
use serde_json::{Map, Value as Json, json};
use sim::{Logged, PacketLog};

/// A table of results.
pub(crate) fn of(table: Table) -> Json {
    let columns = table.columns.into_iter().map(|column| {
        let mut values: Vec<Json> = match column.data {
            Data::Float(values) => values.into_iter().map(Json::from).collect(),
            Data::Count(values) => values.into_iter().map(Json::from).collect(),
            Data::Small(values) => values.into_iter().map(Json::from).collect(),
            Data::Bool(values) => values.into_iter().map(|value| Json::from(value != 0)).collect(),
            Data::Text { codes, words } => codes
                .into_iter()
                .map(|code| words.get(code as usize).map_or(Json::Null, |word| word.as_str().into()))
                .collect(),
        };
        for (value, valid) in values.iter_mut().zip(column.valid.unwrap_or_default()) {
            if valid == 0 {
                *value = Json::Null;
            }
        }
        (column.name.to_owned(), Json::Array(values))
    });
    Json::Object(columns.collect::<Map<_, _>>())
}

/// Returns the logged packets; links by their rows in the table of links.
pub(crate) fn of_packets(log: &PacketLog) -> Json {
    let rows = log.rows();
    let column = |value: fn(&Logged) -> Json| rows.iter().map(value).collect::<Vec<_>>();
    json!({
        "complete_until_us": log.complete_until().as_micros_f64(),
        "at_us": column(|row| row.at.as_micros_f64().into()),
        "link": column(|row| row.link.0.into()),
        "next": column(|row| row.next.map(|link| link.0).into()),
        "lost": column(|row| row.lost.into()),
        "connection": column(|row| (u64::from(row.connection.id.0) << 16 | u64::from(row.connection.generation)).into()),
        "seq": column(|row| row.seq.into()),
        "size": column(|row| row.size.0.into()),
        "payload": column(|row| row.payload.0.into()),
        "ack": column(|row| row.ack.into()),
        "marked": column(|row| row.marked.into()),
        "echo": column(|row| row.echo.into()),
        "again": column(|row| row.again.into()),
    })
}
