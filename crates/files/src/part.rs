//! A table that is written part by part: each is a row group of a Parquet file.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use results::{Column, Data, Table};

/// A file that is created with its first part.
pub struct Parts {
    path: PathBuf,
    /// None before the first part.
    writer: Option<SerializedFileWriter<File>>,
    /// The place of each part in the order of rows.
    places: Vec<u64>,
}

impl Parts {
    /// Creates it for this path; there is no file before the first part.
    pub fn new(path: PathBuf) -> Parts {
        Parts { path, writer: None, places: Vec::new() }
    }

    /// Writes some rows. Parts are in the file in the order of their places, in whichever order they are written; no
    /// two have the same place.
    pub fn write(&mut self, place: u64, rows: &Table) -> io::Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(create(&self.path, schema(rows).map_err(io_error)?)?),
        };
        let mut group = writer.next_row_group().map_err(io_error)?;
        for column in &rows.columns {
            write_column(&mut group, column).map_err(io_error)?;
        }
        group.close().map_err(io_error)?;
        self.places.push(place);
        Ok(())
    }

    /// Returns whether no part was written.
    pub fn is_empty(&self) -> bool {
        self.writer.is_none()
    }

    /// Completes the file, with its parts in order.
    pub fn close(self) -> io::Result<()> {
        let Some(writer) = self.writer else { return Ok(()) };
        writer.close().map_err(io_error)?;
        match self.places.is_sorted() {
            true => Ok(()),
            false => put_in_order(&self.path, &self.places),
        }
    }
}

/// Copies the row groups into the order of their places, as they are.
fn put_in_order(path: &PathBuf, places: &[u64]) -> io::Result<()> {
    let aside = path.with_extension("partial");
    {
        let from = File::open(path)?;
        let written = ParquetMetaDataReader::new().parse_and_finish(&from).map_err(io_error)?;
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&group| places[group]);
        let mut to = create(&aside, written.file_metadata().schema_descr().root_schema_ptr())?;
        for group in order.into_iter().map(|group| written.row_group(group)) {
            let mut copy = to.next_row_group().map_err(io_error)?;
            for column in group.columns() {
                let closed = ColumnCloseResult {
                    bytes_written: column.compressed_size() as u64,
                    rows_written: group.num_rows() as u64,
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                copy.append_column(&from, closed).map_err(io_error)?;
            }
            copy.close().map_err(io_error)?;
        }
        to.close().map_err(io_error)?;
    }
    std::fs::rename(aside, path)
}

fn create(path: &PathBuf, schema: TypePtr) -> io::Result<SerializedFileWriter<File>> {
    /// Beyond so many different values, 8192 numbers, a column's part is written without a dictionary.
    const DICTIONARY: usize = 1 << 16;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties)).map_err(io_error)
}

/// Every column may lack values: that a part has none says nothing of the next.
fn schema(rows: &Table) -> Result<TypePtr, ParquetError> {
    let fields = rows.columns.iter().map(|column| {
        let (physical, logical) = match column.data {
            Data::Float(_) => (Physical::DOUBLE, None),
            Data::Count(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Data::Small(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Data::Bool(_) => (Physical::BOOLEAN, None),
            Data::Text { .. } => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(column.name, physical).with_repetition(Repetition::OPTIONAL);
        Ok(Arc::new(field.with_logical_type(logical).build()?))
    });
    let fields = fields.collect::<Result<Vec<TypePtr>, ParquetError>>()?;
    Ok(Arc::new(Type::group_type_builder("rows").with_fields(fields).build()?))
}

fn write_column(group: &mut SerializedRowGroupWriter<'_, File>, column: &Column) -> Result<(), ParquetError> {
    let valid = column.valid.as_deref();
    match &column.data {
        Data::Float(all) => write_values::<DoubleType, _>(group, valid, all, |value| *value),
        // The bits are the same as of unsigned numbers, and the schema says so.
        Data::Count(all) => write_values::<Int64Type, _>(group, valid, all, |value| *value as i64),
        Data::Small(all) => write_values::<Int32Type, _>(group, valid, all, |value| *value as i32),
        Data::Bool(all) => write_values::<BoolType, _>(group, valid, all, |value| *value != 0),
        Data::Text { codes, words } => {
            let words: Vec<ByteArray> = words.iter().map(|word| ByteArray::from(word.as_str())).collect();
            write_values::<ByteArrayType, _>(group, valid, codes, |code| words[*code as usize].clone())
        }
    }
}

fn write_values<T: DataType, V>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    valid: Option<&[u8]>,
    all: &[V],
    of: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = match valid {
        Some(valid) => valid.iter().map(|valid| i16::from(*valid)).collect(),
        None => vec![1; all.len()],
    };
    let present = all.iter().zip(&levels).filter(|(_, level)| **level == 1).map(|(value, _)| of(value));
    let values: Vec<T::T> = present.collect();
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}

/// Returns the error of the disk, if it was the disk.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    /// Rows with these numbers, of which every third lacks its value, and a word for each.
    fn rows(numbers: std::ops::Range<u32>) -> Table {
        let valid: Vec<u8> = numbers.clone().map(|number| u8::from(number % 3 != 0)).collect();
        let column = |name, data, valid| Column { name, data, valid };
        let words: Vec<String> = ["even", "odd"].map(String::from).into();
        Table {
            columns: vec![
                column("number", Data::Small(numbers.clone().collect()), None),
                column(
                    "half",
                    Data::Float(numbers.clone().map(|number| f64::from(number) / 2.0).collect()),
                    Some(valid),
                ),
                column(
                    "large",
                    Data::Count(numbers.clone().map(|number| u64::MAX - u64::from(number)).collect()),
                    None,
                ),
                column("odd", Data::Bool(numbers.clone().map(|number| (number % 2) as u8).collect()), None),
                column(
                    "word",
                    Data::Text { codes: numbers.map(|number| number % 2).collect(), words: words.into() },
                    None,
                ),
            ],
        }
    }

    fn written(order: &[u32]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        let mut parts = Parts::new(path.clone());
        order.iter().for_each(|&part| parts.write(part.into(), &rows(part * 4..part * 4 + 4)).unwrap());
        parts.close().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left there");
        let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        assert_eq!(file.metadata().num_row_groups(), order.len());
        file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
    }

    #[test]
    fn parts_stand_in_the_order_of_their_places() {
        let rows = written(&[0, 1, 2, 3]);
        assert_eq!(rows.len(), 16);
        assert_eq!(rows[0], "{number: 0, half: null, large: 18446744073709551615, odd: false, word: \"even\"}");
        assert_eq!(rows[13], "{number: 13, half: 6.5, large: 18446744073709551602, odd: true, word: \"odd\"}");
        assert_eq!(written(&[1, 3, 0, 2]), rows);
    }

    #[test]
    fn no_part_is_no_file_and_errors_are_those_of_the_system() {
        let path = std::env::temp_dir().join("duetime has no such folder").join("rows.parquet");
        Parts::new(path.clone()).close().unwrap();
        let error = Parts::new(path).write(0, &rows(0..1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
