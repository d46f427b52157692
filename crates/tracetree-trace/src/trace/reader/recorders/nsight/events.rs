//! Converts the tables of an Nsight Systems export to the events of a trace.

use super::super::super::source::Positions;
use super::super::rows::{self, Event, Rows};
use super::copies;
use super::modules::{self, Extents, Hook};
use super::nvtx::{self, Op};
use super::schema::Table;
use super::sqlite::{Database, Row, Value};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::trace::category::Category;
use crate::trace::columns::{Arguments, Sequence, Stream};
use crate::trace::header::{Device, Recorder};
use crate::trace::time::Nanos;
use rustc_hash::{FxHashMap, FxHashSet};

/// The tables whose rows become events, in the order of their uids.
const TABLES: [&str; 6] = [
    "NVTX_EVENTS",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
];

/// `eventType` of a range that was pushed and popped on the same thread.
const PUSH_POP: i64 = 59;

/// A global id ends with the process id and the thread id, which have 24 bits each.
const THREAD_BITS: u32 = 24;

/// Correlations for the process with index n begin at n × 2^32, because each process numbers its
/// own calls from 1.
const CORRELATION_BITS: u32 = 32;

/// Reads the rows of all tables of a file, which is given with its size in bytes.
///
/// # Errors
/// Fails if the database is damaged, or is not an Nsight Systems export.
pub(super) fn read(name: &str, file: (Box<dyn Positions>, u64)) -> Result<Rows> {
    let mut database = Database::open(name, file)?;
    let tables = database.tables()?;
    if !TABLES.iter().any(|wanted| tables.iter().any(|table| table.name == *wanted)) {
        if tables.iter().any(|table| table.name.starts_with("rocpd_")) {
            let message = "expected an Nsight Systems export, found a rocpd database of rocprofv3";
            return Err(Error::new(ErrorKind::NotATrace, name, message).remedy(
                "record again with rocprofv3 --output-format json, and pass the JSON file",
            ));
        }
        let names: Vec<&str> = tables.iter().take(8).map(|table| table.name.as_str()).collect();
        let message = format!(
            "an SQLite database without Nsight Systems tables; its tables are: {}",
            names.join(", ")
        );
        return Err(Error::new(ErrorKind::NotATrace, name, message).remedy(
            "pass an export that contains CUDA or NVTX events: nsys export --type sqlite -o \
             X.sqlite X.nsys-rep",
        ));
    }
    let mut reading = Reading { name, ..Reading::default() };
    reading.rows.header().recorder = Recorder::NsightSystems;
    let all = |wanted: &str| tables.iter().find(|table| table.name == wanted);
    if let Some(table) = all("StringIds") {
        database.rows(table, &["id", "value"], |row| reading.add_string(row))?;
    }
    if let Some(table) = all("ThreadNames") {
        database.rows(table, &["globalTid", "nameId"], |row| reading.add_thread(row))?;
    }
    if let Some(table) = all("TARGET_INFO_GPU") {
        database.rows(table, &DEVICE, |row| reading.add_device(row))?;
    }
    for table in TABLES.iter().filter_map(|wanted| all(wanted)) {
        reading.read_table(&mut database, table)?;
    }
    for (table, kind) in
        [("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "synchronization"), ("COMPOSITE_EVENTS", "sample")]
    {
        if let Some(table) = all(table) {
            let mut count = 0;
            database.rows(table, &[], |_| {
                count += 1;
                reading.rows.next(name).map(drop)
            })?;
            reading.rows.leave_out_many(kind, count);
        }
    }
    reading.add_modules()?;
    let unnamed = reading.unnamed;
    let remedy = "export the report again, with all tables";
    reading.rows.trace().notes.add("MISSING_NAMES", unnamed, remedy, || {
        format!("the names of {unnamed} rows are not in the table StringIds")
    });
    Ok(reading.rows)
}

const DEVICE: [&str; 7] =
    ["id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor", "threadsPerWarp"];

/// Columns that every table of GPU work has.
const ON_GPU: [&str; 6] = ["start", "end", "deviceId", "streamId", "correlationId", "globalPid"];

/// The data that was read so far.
#[derive(Default)]
struct Reading<'n> {
    name: &'n str,
    rows: Rows,
    strings: FxHashMap<i64, String>,
    thread_names: FxHashMap<i64, i64>,
    processes: FxHashMap<i64, i64>,
    hooks: Vec<Hook>,
    /// Correlations of the launches whose GPU events are in the file.
    launched: FxHashSet<i64>,
    /// Number of rows whose name is not in the string table.
    unnamed: u64,
}

impl Reading<'_> {
    fn read_table(&mut self, database: &mut Database<'_>, table: &Table) -> Result<()> {
        let with = |more: &[&'static str]| [&ON_GPU, more].concat();
        match table.name.as_str() {
            "NVTX_EVENTS" => {
                let columns = ["start", "end", "eventType", "text", "textId", "globalTid"];
                database.rows(table, &columns, |row| self.add_range(row))
            }
            "CUPTI_ACTIVITY_KIND_RUNTIME" => {
                let columns = ["start", "end", "globalTid", "correlationId", "nameId"];
                database.rows(table, &columns, |row| self.add_call(row))
            }
            "CUPTI_ACTIVITY_KIND_KERNEL" => {
                let columns = with(&[
                    "demangledName",
                    "shortName",
                    "graphNodeId",
                    "gridX",
                    "gridY",
                    "gridZ",
                    "blockX",
                    "blockY",
                    "blockZ",
                ]);
                database.rows(table, &columns, |row| self.add_kernel(row))
            }
            "CUPTI_ACTIVITY_KIND_MEMCPY" => {
                let columns = with(&["bytes", "copyKind", "srcKind", "dstKind"]);
                database.rows(table, &columns, |row| self.add_copy(row))
            }
            "CUPTI_ACTIVITY_KIND_MEMSET" => {
                let columns = with(&["bytes", "memKind"]);
                database.rows(table, &columns, |row| self.add_set(row))
            }
            _ => {
                let columns = with(&["graphId"]);
                database.rows(table, &columns, |row| self.add_graph(row))
            }
        }
    }

    fn add_string(&mut self, row: &Row<'_>) -> Result<()> {
        if let [Value::Integer(id), Value::Text(text)] = *row.values {
            let text = String::from_utf8_lossy(text);
            self.strings.insert(id, rows::beginning(&text).to_owned());
        }
        Ok(())
    }

    fn add_thread(&mut self, row: &Row<'_>) -> Result<()> {
        if let [Value::Integer(thread), Value::Integer(name)] = *row.values {
            self.thread_names.insert(thread, name);
        }
        Ok(())
    }

    fn add_device(&mut self, row: &Row<'_>) -> Result<()> {
        let number = |at: usize| match row.values[at] {
            Value::Integer(number) => Some(number),
            Value::Null | Value::Text(_) | Value::Other => None,
        };
        let name = match row.values[1] {
            Value::Text(name) => String::from_utf8_lossy(name).into_owned(),
            Value::Null | Value::Integer(_) | Value::Other => String::new(),
        };
        self.rows.header().devices.push(Device {
            id: number(0).unwrap_or(row.id),
            name,
            capability: number(4).zip(number(5)),
            memory_bytes: number(2).and_then(|bytes| u64::try_from(bytes).ok()),
            multiprocessors: number(3),
            warp_size: number(6),
        });
        Ok(())
    }

    fn add_range(&mut self, row: &Row<'_>) -> Result<()> {
        let uid = self.rows.next(self.name)?;
        let kind = self.whole(row, 2, "eventType")?;
        if kind != Some(PUSH_POP) {
            self.rows.leave_out("NVTX mark or other event");
            return Ok(());
        }
        let (start, end) = (self.needed(row, 0, "start")?, self.whole(row, 1, "end")?);
        let Some(end) = end else {
            self.rows.leave_out_untimed("NVTX range without an end");
            return Ok(());
        };
        // If a range has no text of its own, older exports store an empty string instead of null.
        let text = match row.values[3] {
            Value::Text(text) if !text.is_empty() => String::from_utf8_lossy(text).into_owned(),
            Value::Text(_) | Value::Null => self.string(self.whole(row, 4, "textId")?),
            Value::Integer(_) | Value::Other => return Err(self.wrong(row, "text", "a text")),
        };
        let Some(thread) = self.whole(row, 5, "globalTid")? else {
            self.rows.leave_out("NVTX range without a thread");
            return Ok(());
        };
        let thread = self.thread(thread);
        let op = Op::of(&text);
        let category = if op.name.starts_with("ProfilerStep#") {
            Category::UserAnnotation
        } else {
            Category::CpuOp
        };
        let (start, end) = (Nanos(start), Nanos(end));
        let name = self.rows.text(op.name);
        let event = self.rows.push(uid, Event { category, name, thread, start, end });
        if let Some(number) = op.sequence {
            // The export does not identify the thread that ran the forward pass, so all backward
            // ops get the same thread number.
            let forward_thread = i64::from(op.is_backward());
            self.rows.trace().sequences.push(event, Sequence { number, forward_thread });
        }
        if !op.shapes.is_empty() {
            let dims = self.rows.text(op.shapes);
            self.rows.set_arguments(event, Arguments { dims, ..Arguments::default() });
        }
        if let Some((is_end, path)) = nvtx::module(&text) {
            self.hooks.push(Hook { thread, start, end, is_end, path });
        }
        Ok(())
    }

    fn add_call(&mut self, row: &Row<'_>) -> Result<()> {
        let uid = self.rows.next(self.name)?;
        let (start, end) = (self.needed(row, 0, "start")?, self.needed(row, 1, "end")?);
        let Some(global) = self.whole(row, 2, "globalTid")? else {
            self.rows.leave_out("call without a thread");
            return Ok(());
        };
        let name = self.string(self.whole(row, 4, "nameId")?);
        let name = self.rows.text(without_version(&name));
        let thread = self.thread(global);
        let (start, end) = (Nanos(start), Nanos(end));
        let event = Event { category: Category::Runtime, name, thread, start, end };
        let event = self.rows.push(uid, event);
        if let Some(correlation) = self.correlation(row, global, 3)? {
            self.rows.trace().correlations.push(event, correlation);
        }
        Ok(())
    }

    fn add_kernel(&mut self, row: &Row<'_>) -> Result<()> {
        let name = match self.whole(row, 6, "demangledName")? {
            Some(name) => Some(name),
            None => self.whole(row, 7, "shortName")?,
        };
        let name = self.string(name);
        let event = self.add_gpu(row, Category::Kernel, &name)?;
        if let Some(node) = self.whole(row, 8, "graphNodeId")?.filter(|node| *node > 0) {
            self.rows.trace().graph_nodes.push(event, node as u64);
        }
        let mut sizes = [0; 6];
        for (at, size) in sizes.iter_mut().enumerate() {
            *size = self.whole(row, 9 + at, "gridX to blockZ")?.unwrap_or(0);
        }
        if sizes.iter().all(|size| *size > 0) {
            let [grid @ .., a, b, c] = sizes;
            self.rows.set_grid(event, grid, [a, b, c]);
        }
        Ok(())
    }

    fn add_copy(&mut self, row: &Row<'_>) -> Result<()> {
        let kind = self.whole(row, 7, "copyKind")?.unwrap_or(0);
        let (from, to) = (self.whole(row, 8, "srcKind")?, self.whole(row, 9, "dstKind")?);
        let event = self.add_gpu(row, Category::Memcpy, &copies::copy_name(kind, from, to))?;
        self.add_bytes(row, event)
    }

    fn add_set(&mut self, row: &Row<'_>) -> Result<()> {
        let name = copies::set_name(self.whole(row, 7, "memKind")?);
        let event = self.add_gpu(row, Category::Memset, &name)?;
        self.add_bytes(row, event)
    }

    fn add_bytes(&mut self, row: &Row<'_>, event: crate::trace::ids::EventId) -> Result<()> {
        let bytes = self.whole(row, 6, "bytes")?.and_then(|bytes| u64::try_from(bytes).ok());
        if let Some(bytes) = bytes {
            self.rows.trace().gpu_bytes.push(event, bytes);
        }
        Ok(())
    }

    /// Adds a graph launch that was recorded as a single GPU event. If the kernels of this launch
    /// are in the file as well, the graph's event is ignored.
    fn add_graph(&mut self, row: &Row<'_>) -> Result<()> {
        let process = self.process(row, 5)?;
        let correlation = self.correlation(row, process, 4)?;
        if correlation.is_some_and(|correlation| self.launched.contains(&correlation)) {
            self.rows.next(self.name)?;
            self.rows.leave_out("graph whose kernels are in the file");
            return Ok(());
        }
        let event = self.add_gpu(row, Category::Kernel, "(CUDA graph)")?;
        if let Some(graph) = self.whole(row, 6, "graphId")?.and_then(|id| u64::try_from(id).ok()) {
            self.rows.trace().graphs.push(event, graph);
        }
        Ok(())
    }

    fn add_gpu(
        &mut self,
        row: &Row<'_>,
        category: Category,
        name: &str,
    ) -> Result<crate::trace::ids::EventId> {
        let uid = self.rows.next(self.name)?;
        let (start, end) = (self.needed(row, 0, "start")?, self.needed(row, 1, "end")?);
        let device = self.whole(row, 2, "deviceId")?.unwrap_or(0);
        let number = self.whole(row, 3, "streamId")?.unwrap_or(0);
        let process = self.process(row, 5)?;
        let stream = Stream { device, number };
        let thread = self.rows.stream_thread(stream);
        let name = self.rows.text(name);
        let (start, end) = (Nanos(start), Nanos(end));
        let event = self.rows.push(uid, Event { category, name, thread, start, end });
        self.rows.set_stream(event, stream);
        if let Some(correlation) = self.correlation(row, process, 4)? {
            self.launched.insert(correlation);
            self.rows.trace().correlations.push(event, correlation);
        }
        Ok(event)
    }

    /// The process that launched GPU work. If the export does not record the process but contains
    /// only one process, that process is used.
    fn process(&self, row: &Row<'_>, at: usize) -> Result<i64> {
        let only = || match self.processes.len() {
            1 => self.processes.keys().next().map(|process| process << THREAD_BITS),
            _ => None,
        };
        Ok(self.whole(row, at, "globalPid")?.or_else(only).unwrap_or(0))
    }

    /// Adds the module calls. Call this function after all rows in the file have been added.
    fn add_modules(&mut self) -> Result<()> {
        let trace = self.rows.trace();
        let mut extents = Extents::default();
        for event in trace.events().filter(|event| !trace.category(*event).is_gpu()) {
            let (start, end) = (trace.start(event), trace.start(event) + trace.duration(event));
            let extent = extents.entry(trace.thread_of(event)).or_insert((start, end));
            *extent = (extent.0.min(start), extent.1.max(end));
        }
        for call in modules::calls(std::mem::take(&mut self.hooks), &extents) {
            let uid = self.rows.next(self.name)?;
            let name = self.rows.text(&call.name);
            let category = Category::PythonFunction;
            let (thread, start, end) = (call.thread, call.start, call.end);
            self.rows.push(uid, Event { category, name, thread, start, end });
        }
        Ok(())
    }

    /// The number that links a call with its GPU work, computed from process and correlation id.
    fn correlation(&mut self, row: &Row<'_>, global: i64, at: usize) -> Result<Option<i64>> {
        let own = self.whole(row, at, "correlationId")?.filter(|id| *id > 0);
        let Some(own) = own.filter(|id| *id < 1 << CORRELATION_BITS) else { return Ok(None) };
        let next = self.processes.len() as i64;
        let process = *self.processes.entry(global >> THREAD_BITS).or_insert(next);
        Ok(Some(process << CORRELATION_BITS | own))
    }

    fn thread(&mut self, global: i64) -> crate::trace::ids::ThreadId {
        let mask = (1 << THREAD_BITS) - 1;
        let name = self.thread_names.get(&global).and_then(|id| self.strings.get(id));
        let name = name.cloned().unwrap_or_default();
        let (process, thread) = ((global >> THREAD_BITS) & mask, global & mask);
        self.rows.thread(&process.to_string(), &thread.to_string(), &name)
    }

    fn string(&mut self, id: Option<i64>) -> String {
        let known = id.and_then(|id| self.strings.get(&id));
        self.unnamed += u64::from(id.is_some_and(|id| id > 0) && known.is_none());
        known.filter(|text| !text.is_empty()).cloned().unwrap_or_else(|| "(unnamed)".to_owned())
    }

    fn whole(&self, row: &Row<'_>, at: usize, column: &str) -> Result<Option<i64>> {
        match row.values[at] {
            Value::Integer(number) => Ok(Some(number)),
            Value::Null => Ok(None),
            Value::Text(_) | Value::Other => Err(self.wrong(row, column, "a whole number")),
        }
    }

    fn needed(&self, row: &Row<'_>, at: usize, column: &str) -> Result<i64> {
        self.whole(row, at, column)?.ok_or_else(|| self.wrong(row, column, "a whole number"))
    }

    fn wrong(&self, row: &Row<'_>, column: &str, expected: &str) -> Error {
        let message = format!(
            "row {} of the table {}: the column {column} does not contain {expected}",
            row.id, row.table
        );
        Error::new(ErrorKind::Malformed, self.name, message)
            .at(Place { offset: row.offset, event: None })
            .remedy("export the report again with nsys export --type sqlite")
    }
}

/// `cudaLaunchKernel_v7000` → `cudaLaunchKernel`, as Kineto names it.
fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((call, version))
            if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            call
        }
        Some(_) | None => name,
    }
}
