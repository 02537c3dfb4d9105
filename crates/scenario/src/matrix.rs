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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Sources;

    fn matrix(text: &str) -> Result<Vec<Vec<f64>>, String> {
        read("m", text).map_err(|fault| {
            let error = Sources::new("t", "").error(fault);
            format!("{}:{}:{} {}", error.file(), error.line(), error.column(), error.message())
        })
    }

    #[test]
    fn as_many_lines_as_numbers_are_read() {
        assert_eq!(matrix("# to 0, to 1\n0 1\n\n2.5, 3 # from 1\n").unwrap(), [[0.0, 1.0], [2.5, 3.0]]);
        let wrong = |text| matrix(text).unwrap_err();
        assert_eq!(wrong("0 1\n2\n"), "m:2:1 the first line has 2 numbers, this one has 1");
        assert_eq!(wrong("0 1\n"), "m:1:1 a line for each of the 2 columns is expected, the file has 1");
        assert_eq!(wrong("0 1\n1 0\n1 1\n"), "m:3:1 a line for each of the 2 columns is expected, this is one more");
        assert_eq!(wrong("0 -1\n1 0\n"), "m:1:3 the part of traffic must be a number of 0 or more, not `-1`");
        assert_eq!(wrong("0 0\n0 0\n"), "m:2:1 all numbers are 0: nothing would be sent");
        assert_eq!(wrong("\n"), "m:1:1 the file holds no numbers");
    }
}
