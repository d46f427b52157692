//! Writes and reads tables as Parquet files. The files are dictionary-encoded, are compressed with zstd, and contain
//! the origin of the table as metadata.
//!
//! Columns have the names, types and descriptions of [`ArrowTable`]. Tables with the same contents produce identical
//! files. The types for reading do not expose Arrow, so code that reads many files and aggregates them need not depend
//! on Arrow.

use super::arrow::ArrowTable;
use super::summary::SCHEMA_VERSION;
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::tables::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{KeyValue, PageIndexPolicy};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

/// Number of rows per batch when reading.
const ROWS: usize = 1 << 13;

/// The origin of a table, as key-value metadata of its file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct Origin(BTreeMap<String, String>);

impl Origin {
    /// The origin of a comparison's tables: `schema_version`, `tracetree_version`, and for each
    /// side the file (`baseline`, `candidate`) and its hash as 32 hex digits (`baseline_xxh3`,
    /// `candidate_xxh3`).
    pub fn of(analysis: &Analysis) -> Origin {
        let mut origin = Origin::new(SCHEMA_VERSION);
        let names = PerSide::new("baseline", "candidate");
        for side in Side::BOTH {
            let trace = analysis.tree(side).trace();
            origin = origin
                .with(names[side], trace.source())
                .with(&format!("{}_xxh3", names[side]), format!("{:032x}", trace.content_hash()));
        }
        origin
    }

    /// Creates an origin with the schema version and the tracetree version.
    pub fn new(schema_version: u32) -> Origin {
        Origin::default()
            .with("schema_version", schema_version.to_string())
            .with("tracetree_version", env!("CARGO_PKG_VERSION"))
    }

    /// Adds a key and a value to the origin.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Origin {
        self.0.insert(key.to_owned(), value.into());
        self
    }
}

/// Writes a table as a Parquet file.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_parquet(table: &Table, origin: &Origin, out: &mut dyn Write) -> io::Result<()> {
    let table = ArrowTable::new(table);
    let reader = table.reader();
    let origin = origin.0.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("tracetree {}", env!("CARGO_PKG_VERSION")))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(origin.collect()))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), reader.schema(), Some(properties))
        .map_err(io::Error::other)?;
    for batch in reader {
        let batch = batch.map_err(io::Error::other)?;
        writer.write(&batch).map_err(io::Error::other)?;
    }
    out.write_all(&writer.into_inner().map_err(io::Error::other)?)
}

/// A Parquet file that tracetree wrote, loaded completely.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct ParquetFile {
    /// Number of rows.
    pub rows: usize,
    origin: BTreeMap<String, String>,
    columns: BTreeMap<String, ParquetColumn>,
}

/// The values of a column, one per row; `None` for null.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub enum ParquetColumn {
    /// Distinct strings, and the index of each row's string.
    Texts(Vec<Arc<str>>, Vec<Option<u32>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers with decimals, and times in the column's unit.
    Number(Vec<Option<f64>>),
    /// Flags.
    Flag(Vec<Option<bool>>),
}

impl ParquetColumn {
    /// The string in the given row.
    pub fn text(&self, row: usize) -> Option<&Arc<str>> {
        let ParquetColumn::Texts(texts, rows) = self else { return None };
        rows.get(row).copied().flatten().and_then(|at| texts.get(at as usize))
    }

    /// The whole number in the given row.
    pub fn whole(&self, row: usize) -> Option<i64> {
        let ParquetColumn::Whole(rows) = self else { return None };
        rows.get(row).copied().flatten()
    }

    /// The number in the given row.
    pub fn number(&self, row: usize) -> Option<f64> {
        let ParquetColumn::Number(rows) = self else { return None };
        rows.get(row).copied().flatten()
    }
}

impl ParquetFile {
    /// Reads a Parquet file from memory. Columns of a type that tracetree's tables never use are skipped.
    ///
    /// # Errors
    /// Fails if the bytes are not a complete, intact Parquet file; the error contains the reason.
    pub fn read(bytes: Vec<u8>) -> Result<ParquetFile, String> {
        let failed = |error: &dyn std::fmt::Display| error.to_string();
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Skip);
        let bytes = bytes::Bytes::from(bytes);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options)
            .map_err(|error| failed(&error))?
            .with_batch_size(ROWS);
        let mut file = ParquetFile::default();
        let pairs = builder.metadata().file_metadata().key_value_metadata();
        for pair in pairs.into_iter().flatten() {
            file.origin.insert(pair.key.clone(), pair.value.clone().unwrap_or_default());
        }
        for batch in builder.build().map_err(|error| failed(&error))? {
            file.add(&batch.map_err(|error| failed(&error))?);
        }
        Ok(file)
    }

    /// The value of a key in the metadata.
    pub fn origin(&self, key: &str) -> Option<&str> {
        self.origin.get(key).map(String::as_str)
    }

    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&ParquetColumn> {
        self.columns.get(name)
    }

    fn add(&mut self, batch: &RecordBatch) {
        self.rows += batch.num_rows();
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            let Some(values) = values(array) else { continue };
            match self.columns.get_mut(field.name()) {
                Some(column) => column.append(values),
                None => drop(self.columns.insert(field.name().clone(), values)),
            }
        }
    }
}

impl ParquetColumn {
    fn append(&mut self, more: ParquetColumn) {
        match (self, more) {
            (ParquetColumn::Texts(texts, rows), ParquetColumn::Texts(more, places)) => {
                // Each batch has its own dictionary, so its indices are shifted past the strings of earlier batches.
                let before = texts.len() as u32;
                texts.extend(more);
                rows.extend(places.into_iter().map(|at| at.map(|at| at + before)));
            }
            (ParquetColumn::Whole(rows), ParquetColumn::Whole(more)) => rows.extend(more),
            (ParquetColumn::Number(rows), ParquetColumn::Number(more)) => rows.extend(more),
            (ParquetColumn::Flag(rows), ParquetColumn::Flag(more)) => rows.extend(more),
            // This cannot happen: a column has the same type in all batches.
            (_, _) => {}
        }
    }
}

fn values(array: &ArrayRef) -> Option<ParquetColumn> {
    if let Some(numbers) = array.as_primitive_opt::<Int64Type>() {
        return Some(ParquetColumn::Whole(numbers.iter().collect()));
    }
    if let Some(numbers) = array.as_primitive_opt::<Float64Type>() {
        return Some(ParquetColumn::Number(numbers.iter().collect()));
    }
    if let Some(flags) = array.as_boolean_opt() {
        return Some(ParquetColumn::Flag(flags.iter().collect()));
    }
    if let Some(texts) = array.as_string_opt::<i32>() {
        return Some(texts_of(texts.iter()));
    }
    let words = array.as_dictionary_opt::<Int32Type>()?;
    let list = words.values().as_string_opt::<i32>()?;
    let texts = list.iter().map(|text| text.unwrap_or_default().into()).collect();
    let rows = words.keys().iter().map(|key| key.map(|key| key.unsigned_abs())).collect();
    Some(ParquetColumn::Texts(texts, rows))
}

/// Deduplicates the strings in a column.
fn texts_of<'a>(rows: impl Iterator<Item = Option<&'a str>>) -> ParquetColumn {
    let (mut known, mut texts) = (BTreeMap::new(), Vec::new());
    let mut place = |text: &'a str| {
        *known.entry(text).or_insert_with(|| {
            texts.push(Arc::from(text));
            texts.len() as u32 - 1
        })
    };
    let rows = rows.map(|text| text.map(&mut place)).collect();
    ParquetColumn::Texts(texts, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::TraceDiff;
    use crate::tables::TableKind;
    use crate::trace::Trace;
    use crate::tree::CallTree;

    const ROCM: &str = "examples/traces/resnet.rocm.json.gz";
    const CUDA: &str = "examples/traces/resnet.cuda.json.gz";

    fn written(kind: TableKind) -> Vec<u8> {
        let tree = |path: &str| CallTree::build(Trace::open(path).expect("a trace"));
        let analysis = Arc::new(Analysis::new(TraceDiff::new(tree(ROCM), tree(CUDA))));
        let mut out = Vec::new();
        write_parquet(&kind.of(&analysis), &Origin::of(&analysis), &mut out).expect("memory");
        out
    }

    #[test]
    fn the_written_file_is_read_back() {
        let file = ParquetFile::read(written(TableKind::Names)).expect("a file");
        let names = file.column("name").expect("names");
        assert_eq!(names.text(0).map(AsRef::as_ref), Some("aten::convolution_backward"));
        let sums = file.column("difference_sum_ms").expect("differences");
        assert_eq!(sums.number(0), Some(-1.448_771));
        assert_eq!(file.origin("schema_version"), Some(SCHEMA_VERSION.to_string().as_str()));
    }

    #[test]
    fn a_file_names_its_inputs_and_their_hashes() {
        let file = ParquetFile::read(written(TableKind::Steps)).expect("a file");
        assert_eq!(file.origin("baseline"), Some(ROCM));
        let hash = file.origin("candidate_xxh3").expect("a hash");
        // The expected hash was computed with `xxh128sum`.
        assert_eq!(hash, "aa260d7c204b44e850d6eb2fbf618c74");
    }

    #[test]
    fn the_same_table_gives_the_same_bytes_and_half_of_them_are_refused() {
        let bytes = written(TableKind::Rows);
        assert_eq!(bytes, written(TableKind::Rows));
        assert!(ParquetFile::read(bytes[..bytes.len() / 2].to_vec()).is_err());
    }
}
