//! Files with a square of numbers: the traffic from each rack (a line) to each rack (a column).

use crate::error::Checked;
use crate::lines::Line;

/// Maximum number of rows.
const MAX_ROWS: usize = 4096;

/// Reads as many lines as each has numbers, which spaces, tabs, commas or semicolons separate.
pub(crate) fn read(file: &str, text: &str) -> Checked<Vec<Vec<f64>>> {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut last = Line::first(file, text);
    for line in Line::all(file, text).filter(|line| !line.content().is_empty()) {
        let parts = line.content().split([' ', '\t', ',', ';']).filter(|part| !part.is_empty());
        let row = parts.map(|part| line.number(part, "the part of traffic")).collect::<Checked<Vec<f64>>>()?;
        let columns = rows.first().map_or(row.len(), Vec::len);
        if row.len() != columns {
            let message = format!("the first line has {columns} numbers, this one has {}", row.len());
            return Err(line.fault(line.content(), message));
        }
        if rows.len() == columns.min(MAX_ROWS) {
            let message = match columns > MAX_ROWS {
                true => format!("there are at most {MAX_ROWS} racks"),
                false => format!("a line for each of the {columns} columns is expected, this is one more"),
            };
            return Err(line.fault(line.content(), message));
        }
        rows.push(row);
        last = line;
    }
    let columns = rows.first().map_or(0, Vec::len);
    if rows.len() < columns || columns == 0 {
        let message = format!("a line for each of the {columns} columns is expected, the file has {}", rows.len());
        let message = if columns == 0 { "the file holds no numbers".to_owned() } else { message };
        return Err(last.fault(last.content(), message).hint("each line has the traffic from one rack to every rack"));
    }
    match rows.iter().flatten().sum::<f64>() > 0.0 {
        true => Ok(rows),
        false => Err(last.fault(last.content(), "all numbers are 0: nothing would be sent")),
    }
}
