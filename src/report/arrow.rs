//! Converts a table to Arrow record batches, which Python, DuckDB, Polars and Parquet read without
//! conversion.
//!
//! Column names follow one scheme (quantity, side, unit, as in `kernel_time_baseline_us`), even where TraceLens uses a
//! different scheme; see [`column_name`]. Cells keep their types. Whole numbers are 64-bit integers, and times and
//! other numbers are doubles in the column's unit. Columns whose strings come from a small set are dictionary-encoded,
//! and all other strings are plain UTF-8. A column whose cells contain several names each is a column of lists.
//! Undefined values, unknown values and empty strings are null. The metadata of each field contains the meaning, the
//! unit and the CSV title of the column.

use super::text::Unit;
use crate::side::Side;
use crate::tables::{Cell, ColumnInfo, ColumnType, RowSink, Table};
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, LargeStringBuilder, ListBuilder, StringBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchOptions, RecordBatchReader,
    StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

const ROWS: usize = 1 << 16;
/// A batch ends when its strings reach this number of bytes, even if it has few rows, because string offsets are
/// limited to 31 bits.
const TEXT: usize = 1 << 28;

/// A table in Arrow memory layout. Clones share the data.
#[derive(Debug, Clone)]
pub struct ArrowTable {
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
}

impl ArrowTable {
    /// Converts all rows of a table and keeps the converted rows in memory.
    ///
    /// ```
    /// use tracetree::report::ArrowTable;
    /// use tracetree::tables::TableKind;
    /// use tracetree::{Comparison, ComparisonOptions};
    ///
    /// let trace = "examples/traces/resnet.rocm.json.gz";
    /// let comparison = Comparison::open(trace, trace, &ComparisonOptions::default())?;
    /// let rows = ArrowTable::new(&TableKind::Rows.of(comparison.analysis()));
    /// assert_eq!(rows.row_count(), comparison.analysis().rows().len());
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn new(table: &Table) -> ArrowTable {
        let mut sink = Batches::new(table.columns());
        table.visit(&mut sink).expect("adding a row to a batch cannot fail");
        let schema = Arc::new(schema(table));
        ArrowTable { batches: sink.finish(&schema), schema }
    }

    /// Number of rows.
    #[doc(hidden)]
    pub fn row_count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Returns an `arrow_array::RecordBatchReader` that yields all batches in order.
    #[doc(hidden)]
    pub fn reader(&self) -> ArrowReader {
        ArrowReader { table: self.clone(), next: 0 }
    }
}

/// Iterates over the batches of a table: an `arrow_array::RecordBatchReader`.
#[derive(Debug)]
#[doc(hidden)]
pub struct ArrowReader {
    table: ArrowTable,
    next: usize,
}

impl Iterator for ArrowReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.table.batches.get(self.next)?.clone();
        self.next += 1;
        Some(Ok(batch))
    }
}

impl RecordBatchReader for ArrowReader {
    fn schema(&self) -> SchemaRef {
        self.table.schema.clone()
    }
}

/// Name of a column in Arrow tables: the quantity, then `_baseline` or `_candidate` if the column
/// describes one side, then the unit if it is µs, ms or %.
///
/// ```
/// use tracetree::report::column_name;
/// use tracetree::tables::TableKind;
/// use tracetree::{Comparison, ComparisonOptions};
///
/// let trace = "examples/traces/resnet.rocm.json.gz";
/// let comparison = Comparison::open(trace, trace, &ComparisonOptions::default())?;
/// let names = TableKind::Names.of(comparison.analysis());
/// let names: Vec<String> = names.columns().iter().map(column_name).collect();
/// assert_eq!(names[2..5], [
///     "kernel_time_sum_baseline_ms",
///     "kernel_time_sum_candidate_ms",
///     "difference_sum_ms",
/// ]);
/// # Ok::<(), tracetree::Error>(())
/// ```
#[doc(hidden)]
pub fn column_name(column: &ColumnInfo) -> String {
    let unit = match column.unit {
        "µs" => "us",
        "ms" => "ms",
        "%" => "pct",
        _ => "",
    };
    let side = column.side.map_or("", Side::word);
    // The kernel time is called `kernel_us` in some CSV files and `kernel_time` in others.
    let title = column.name.to_lowercase().replace(' ', "_").replace("kernel_us", "kernel_time");
    let words = title.split('_').filter(|&word| word != unit).filter_map(|word| match word {
        "trace1" | "trace2" => None,
        "uid1" | "uid2" => Some("uid"),
        "diff" => Some("difference"),
        word => Some(word),
    });
    words.chain([side, unit]).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

fn schema(table: &Table) -> Schema {
    let fields: Vec<Field> = table.columns().iter().map(field).collect();
    let about = [("table", table.name()), ("description", table.about())];
    Schema::new_with_metadata(fields, metadata(&about))
}

fn field(column: &ColumnInfo) -> Field {
    let about = [
        ("csv_name", column.name.as_str()),
        ("unit", column.unit),
        ("description", column.meaning),
    ];
    Field::new(column_name(column), data_type(column.kind), true).with_metadata(metadata(&about))
}

fn metadata(about: &[(&str, &str)]) -> HashMap<String, String> {
    let shown = about.iter().filter(|(_, text)| !text.is_empty());
    shown.map(|&(key, text)| (key.to_owned(), text.to_owned())).collect()
}

fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Text | ColumnType::Json => DataType::Utf8,
        ColumnType::Word => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        ColumnType::Names => DataType::new_list(DataType::LargeUtf8, true),
        ColumnType::Whole | ColumnType::Uid => DataType::Int64,
        ColumnType::Time | ColumnType::Decimal(_) => DataType::Float64,
        ColumnType::Flag => DataType::Boolean,
    }
}

/// Collects the rows of a table and splits them into batches.
struct Batches {
    columns: Vec<Values>,
    /// Number of cells in the current row so far.
    cell: usize,
    /// Numbers of rows and string bytes that the current batch contains so far.
    rows: usize,
    text: usize,
    finished: Vec<(usize, Vec<Chunk>)>,
}

impl Batches {
    fn new(columns: &[ColumnInfo]) -> Batches {
        let columns = columns.iter().map(Values::new).collect();
        Batches { columns, cell: 0, rows: 0, text: 0, finished: Vec::new() }
    }

    fn end_batch(&mut self) {
        let chunks = self.columns.iter_mut().map(Values::end_chunk).collect();
        self.finished.push((self.rows, chunks));
        (self.rows, self.text) = (0, 0);
    }

    fn finish(mut self, schema: &SchemaRef) -> Arc<[RecordBatch]> {
        if self.rows > 0 {
            self.end_batch();
        }
        // All batches share one dictionary per column.
        let words: Vec<ArrayRef> = self.columns.iter().map(Values::dictionary).collect();
        let batch = |(rows, chunks): (usize, Vec<Chunk>)| {
            let arrays = chunks.into_iter().zip(&words).map(|(chunk, words)| chunk.array(words));
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            RecordBatch::try_new_with_options(schema.clone(), arrays.collect(), &options)
                .expect("every column has the type of its field")
        };
        self.finished.into_iter().map(batch).collect()
    }
}

impl RowSink for Batches {
    fn cell(&mut self, cell: Cell<'_>) {
        self.text += self.columns[self.cell].push(&cell);
        self.cell += 1;
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.cell = 0;
        self.rows += 1;
        if self.rows == ROWS || self.text >= TEXT {
            self.end_batch();
        }
        Ok(())
    }
}

/// The values of one column of the current batch.
enum Values {
    Text(StringBuilder),
    Words(Words),
    Names(ListBuilder<LargeStringBuilder>),
    Whole(Int64Builder),
    Number(Float64Builder, Unit),
    Flag(BooleanBuilder),
}

impl Values {
    fn new(column: &ColumnInfo) -> Values {
        let unit = if column.unit == "ms" { Unit::Millis } else { Unit::Micros };
        match column.kind {
            ColumnType::Text | ColumnType::Json => Values::Text(StringBuilder::new()),
            ColumnType::Word => Values::Words(Words::default()),
            ColumnType::Names => Values::Names(ListBuilder::new(LargeStringBuilder::new())),
            ColumnType::Whole | ColumnType::Uid => Values::Whole(Int64Builder::new()),
            ColumnType::Time | ColumnType::Decimal(_) => {
                Values::Number(Float64Builder::new(), unit)
            }
            ColumnType::Flag => Values::Flag(BooleanBuilder::new()),
        }
    }

    /// Appends a cell to the column. Returns the number of string bytes in the cell.
    fn push(&mut self, cell: &Cell<'_>) -> usize {
        let text = match cell {
            Cell::Text(text) => Some(text.as_ref()),
            Cell::Json(text) => Some(text.as_str()),
            Cell::Empty
            | Cell::Names(_)
            | Cell::Whole(_)
            | Cell::Time(_)
            | Cell::Decimal(_)
            | Cell::Flag(_) => None,
        };
        let text = text.filter(|text| !text.is_empty());
        match (self, cell) {
            (Values::Text(texts), _) => {
                texts.append_option(text);
                return text.map_or(0, str::len);
            }
            (Values::Words(words), _) => words.push(text),
            (Values::Names(lists), Cell::Names(names)) => {
                names.iter().for_each(|name| lists.values().append_value(name));
                lists.append(true);
                return names.iter().map(|name| name.len()).sum();
            }
            (Values::Names(lists), _) => lists.append(false),
            (Values::Whole(numbers), Cell::Whole(number)) => numbers.append_value(*number),
            (Values::Whole(numbers), _) => numbers.append_null(),
            (Values::Number(numbers, unit), Cell::Time(time)) => {
                numbers.append_value(unit.of(*time));
            }
            (Values::Number(numbers, _), Cell::Decimal(number)) => numbers.append_value(*number),
            (Values::Number(numbers, _), _) => numbers.append_null(),
            (Values::Flag(flags), Cell::Flag(flag)) => flags.append_value(*flag),
            (Values::Flag(flags), _) => flags.append_null(),
        }
        0
    }

    fn end_chunk(&mut self) -> Chunk {
        match self {
            Values::Text(texts) => Chunk::Array(Arc::new(texts.finish())),
            Values::Words(words) => Chunk::Words(std::mem::take(&mut words.keys)),
            Values::Names(lists) => Chunk::Array(Arc::new(lists.finish())),
            Values::Whole(numbers) => Chunk::Array(Arc::new(numbers.finish())),
            Values::Number(numbers, _) => Chunk::Array(Arc::new(numbers.finish())),
            Values::Flag(flags) => Chunk::Array(Arc::new(flags.finish())),
        }
    }

    /// A column's distinct strings in the order of their keys; an empty array if the column is not dictionary-encoded.
    fn dictionary(&self) -> ArrayRef {
        match self {
            Values::Words(words) => Arc::new(StringArray::from_iter_values(&words.list)),
            Values::Text(_)
            | Values::Names(_)
            | Values::Whole(_)
            | Values::Number(..)
            | Values::Flag(_) => Arc::new(StringArray::new_null(0)),
        }
    }
}

/// A dictionary-encoded string column.
#[derive(Default)]
struct Words {
    numbers: HashMap<String, i32>,
    list: Vec<String>,
    keys: Vec<Option<i32>>,
}

impl Words {
    fn push(&mut self, word: Option<&str>) {
        let key = word.map(|word| match self.numbers.get(word) {
            Some(&number) => number,
            None => self.add(word),
        });
        self.keys.push(key);
    }

    fn add(&mut self, word: &str) -> i32 {
        let number = i32::try_from(self.list.len()).expect("a few words");
        self.numbers.insert(word.to_owned(), number);
        self.list.push(word.to_owned());
        number
    }
}

/// The values of one column in a finished batch.
enum Chunk {
    Array(ArrayRef),
    /// Dictionary keys. The dictionary is complete only after the last batch.
    Words(Vec<Option<i32>>),
}

impl Chunk {
    fn array(self, words: &ArrayRef) -> ArrayRef {
        match self {
            Chunk::Array(array) => array,
            Chunk::Words(keys) => Arc::new(
                DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), words.clone())
                    .expect("every key has a word in the dictionary"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::diff::TraceDiff;
    use crate::tables::TableKind;
    use crate::trace::Trace;
    use crate::tree::CallTree;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use std::collections::BTreeSet;

    const ROCM: &str = "examples/traces/resnet.rocm.json.gz";
    const CUDA: &str = "examples/traces/resnet.cuda.json.gz";

    fn analysis(baseline: &str, candidate: &str) -> Arc<Analysis> {
        let tree = |path: &str| CallTree::build(Trace::open(path).expect("a trace"));
        Arc::new(Analysis::new(TraceDiff::new(tree(baseline), tree(candidate))))
    }

    #[test]
    fn column_names_are_unique_within_a_table() {
        let analysis = analysis(ROCM, CUDA);
        for kind in TableKind::ALL {
            let table = kind.of(&analysis);
            let names: BTreeSet<String> = table.columns().iter().map(column_name).collect();
            assert_eq!(names.len(), table.columns().len(), "{kind}: {names:?}");
        }
    }

    #[test]
    fn an_unmatched_event_has_an_empty_uid_of_the_counterpart() {
        let table = ArrowTable::new(&TableKind::UidMap.of(&analysis(ROCM, CUDA)));
        let batch = table.reader().next().expect("a batch").expect("no error");
        let uids = batch.column(1).as_primitive::<Int64Type>();
        assert!(uids.null_count() > 0 && uids.iter().flatten().all(|uid| uid >= 0));
    }

    #[test]
    fn all_batches_of_a_column_of_words_share_its_words() {
        let table = TableKind::UidMap.of(&analysis(ROCM, CUDA));
        let mut sink = Batches::new(table.columns());
        for relation in ["same", "renamed", "same"] {
            [Cell::Whole(1), Cell::Empty, relation.into(), Cell::Empty, "firm".into(), Cell::Empty]
                .into_iter()
                .for_each(|c| sink.cell(c));
            sink.end_row().expect("rows are kept");
            sink.end_batch();
        }
        let batches = sink.finish(&Arc::new(schema(&table)));
        let words: Vec<&DictionaryArray<Int32Type>> =
            batches.iter().map(|batch| batch.column(2).as_dictionary()).collect();
        let texts = words.iter().map(|words| words.downcast_dict::<StringArray>().expect("texts"));
        let texts: Vec<&str> =
            texts.map(|texts| texts.into_iter().next().flatten().expect("one")).collect();
        assert_eq!(texts, ["same", "renamed", "same"]);
        assert!(words.iter().all(|column| column.values().len() == 2));
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let table = ArrowTable::new(&TableKind::Fusion.of(&analysis(ROCM, ROCM)));
        assert_eq!(table.row_count(), 0);
        assert_eq!(table.reader().schema().field(0).name(), "path");
        assert!(table.reader().next().is_none());
    }
}
