//! Writes and reads tables as Parquet files. The files are dictionary-encoded, are compressed with zstd, and contain
//! the origin of the table as metadata.
//!
//! Columns have the names, types and descriptions of [`ArrowTable`]. Tables with the same contents produce identical
//! files. The function for reading does not expose Arrow, so code that reads many files and aggregates them need not
//! depend on Arrow.

use super::arrow::ArrowTable;
use super::summary::SCHEMA_VERSION;
use crate::analysis::Analysis;
use crate::side::Side;
use crate::tables::Table;
use arrow_array::RecordBatchReader;
use arrow_array::cast::AsArray;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{KeyValue, PageIndexPolicy};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::collections::BTreeMap;
use std::io::{self, Write};

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
        for side in Side::BOTH {
            let (trace, name) = (analysis.tree(side).trace(), side.word());
            origin = origin
                .with(name, trace.source())
                .with(&format!("{name}_xxh3"), format!("{:032x}", trace.content_hash()));
        }
        origin
    }

    /// Creates an origin with the schema version and the tracetree version.
    pub fn new(schema_version: u32) -> Origin {
        Origin::default()
            .with("schema_version", schema_version.to_string())
            .with("tracetree_version", env!("CARGO_PKG_VERSION"))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
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

/// Reads the origin of a Parquet file that tracetree wrote, and the strings in one of its columns. Empty cells, and the
/// cells of a column that the file lacks, are skipped.
///
/// # Errors
/// Fails if the bytes are not a complete, intact Parquet file; the error contains the reason.
#[doc(hidden)]
pub fn read_texts(bytes: Vec<u8>, column: &str) -> Result<(Origin, Vec<String>), String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Skip);
    let bytes = bytes::Bytes::from(bytes);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options)
        .map_err(|error| failed(&error))?;
    let pairs = builder.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let value = |pair: &KeyValue| (pair.key.clone(), pair.value.clone().unwrap_or_default());
    let origin = Origin(pairs.map(value).collect());
    let mut texts = Vec::new();
    for batch in builder.build().map_err(|error| failed(&error))? {
        let batch = batch.map_err(|error| failed(&error))?;
        let cells = batch.column_by_name(column).and_then(|cells| cells.as_string_opt::<i32>());
        texts.extend(cells.into_iter().flatten().flatten().map(str::to_owned));
    }
    Ok((origin, texts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::TraceDiff;
    use crate::tables::TableKind;
    use crate::trace::Trace;
    use crate::tree::CallTree;
    use arrow_array::types::Float64Type;
    use std::sync::Arc;

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
        let bytes = written(TableKind::Names);
        let (origin, names) = read_texts(bytes.clone(), "name").expect("a file");
        assert_eq!(names[0], "aten::convolution_backward");
        assert_eq!(origin.get("schema_version"), Some(SCHEMA_VERSION.to_string().as_str()));
        let file = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes));
        let mut batches = file.and_then(|file| file.build()).expect("a file");
        let batch = batches.next().expect("rows").expect("a batch");
        let sums = batch.column_by_name("difference_sum_ms").expect("differences");
        assert_eq!(sums.as_primitive::<Float64Type>().value(0), -1.448_771);
    }

    #[test]
    fn a_file_names_its_inputs_and_their_hashes() {
        let (origin, _) = read_texts(written(TableKind::Steps), "").expect("a file");
        assert_eq!(origin.get("baseline"), Some(ROCM));
        let hash = origin.get("candidate_xxh3").expect("a hash");
        // The expected hash was computed with `xxh128sum`.
        assert_eq!(hash, "aa260d7c204b44e850d6eb2fbf618c74");
    }

    #[test]
    fn the_same_table_gives_the_same_bytes_and_half_of_them_are_refused() {
        let bytes = written(TableKind::Rows);
        assert_eq!(bytes, written(TableKind::Rows));
        assert!(read_texts(bytes[..bytes.len() / 2].to_vec(), "name").is_err());
    }
}
