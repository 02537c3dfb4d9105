//! Columns as Python takes them: a type's name and bytes for `numpy.frombuffer`.

use bytemuck::cast_slice;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use results::{Data, Table};

/// Returns (dtype, values, valid, words) by each column's name.
///
/// - `values`: bytes of that numpy type.
/// - `valid`: one byte per row that is 0 where there is no value; None where every row has one.
/// - `words`: the words of the codes of a text.
pub(crate) fn to_python(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for column in table.columns {
        let valid = column.valid.map(|valid| PyBytes::new(py, &valid));
        let (dtype, values, words): (&str, &[u8], Option<&[String]>) = match &column.data {
            Data::Float(values) => ("float64", cast_slice(values), None),
            Data::Count(values) => ("uint64", cast_slice(values), None),
            Data::Small(values) => ("uint32", cast_slice(values), None),
            Data::Bool(values) => ("bool", values, None),
            Data::Text { codes, words } => ("uint32", cast_slice(codes), Some(&words[..])),
        };
        columns.set_item(column.name, (dtype, PyBytes::new(py, values), valid, words))?;
    }
    Ok(columns)
}
