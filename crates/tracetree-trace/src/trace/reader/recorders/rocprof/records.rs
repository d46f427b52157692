//! Converts the records of one process to events.

use super::super::rows::{Event, Rows};
use super::names::{Names, integer, list};
use crate::error::Result;
use crate::trace::category::Category;
use crate::trace::columns::Stream;
use crate::trace::ids::{EventId, Uid};
use crate::trace::time::Nanos;
use rustc_hash::FxHashMap;
use simd_json::tape::Value;

/// The lists whose records become events, in the order of their uids.
pub(super) const LISTS: [(&str, Kind); 6] = [
    ("hip_api", Kind::Call(Category::Runtime)),
    ("hsa_api", Kind::Call(Category::Runtime)),
    ("rccl_api", Kind::Call(Category::CpuOp)),
    ("marker_api", Kind::Marker),
    ("kernel_dispatch", Kind::Dispatch),
    ("memory_copy", Kind::Copy),
];

/// The lists whose records comparisons ignore on purpose.
const IGNORED: [&str; 9] = [
    "counter_collection",
    "hip_stream_api",
    "kfd_api",
    "memory_allocation",
    "ompt",
    "pc_sample_host_trap",
    "pc_sample_stochastic",
    "runtime_initialization",
    "scratch_memory",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call on a host thread.
    Call(Category),
    /// A range that the user named.
    Marker,
    /// A kernel.
    Dispatch,
    /// A copy between two agents.
    Copy,
}

/// Reads the records of a process.
///
/// # Errors
/// Fails if the file has too many records.
pub(super) fn read<'t>(name: &str, process: &Value<'t, 't>, rows: &mut Rows) -> Result<()> {
    let names = Names::of(process);
    add_devices(&names, rows);
    let pid = process.get("metadata").and_then(|metadata| integer(&metadata, "pid"));
    let pid = pid.map_or_else(String::new, |pid| pid.to_string());
    let mut reading = Reading { rows, names, pid, correlations: FxHashMap::default() };
    let records = process.get("buffer_records");
    for (key, kind) in LISTS {
        for record in records.iter().flat_map(|records| list(records, key)) {
            let uid = reading.rows.next(name)?;
            reading.add(uid, key, kind, &record);
        }
    }
    for records in [records, process.get("callback_records")].into_iter().flatten() {
        leave_out_others(name, &records, rows)?;
    }
    Ok(())
}

fn add_devices(names: &Names<'_>, rows: &mut Rows) {
    let devices = &mut rows.header().devices;
    for device in names.devices() {
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
}

/// Counts the records of all other lists.
fn leave_out_others(name: &str, records: &Value<'_, '_>, rows: &mut Rows) -> Result<()> {
    let Some(lists) = records.as_object() else { return Ok(()) };
    for (key, value) in lists.iter() {
        let Some(list) = value.as_array() else { continue };
        if LISTS.iter().any(|(own, _)| *own == key) {
            continue;
        }
        for _ in 0..list.len() {
            rows.next(name)?;
        }
        let is_known = IGNORED.contains(&key);
        let label = if is_known { key.to_owned() } else { format!("X {key}") };
        rows.leave_out_many(&label, list.len() as u64);
    }
    Ok(())
}

/// The records of one process while they are read.
struct Reading<'t, 'r> {
    rows: &'r mut Rows,
    names: Names<'t>,
    pid: String,
    /// For each correlation id of this process, the correlation in the trace. Each process counts
    /// its own calls from 1.
    correlations: FxHashMap<i64, i64>,
}

impl Reading<'_, '_> {
    fn add(&mut self, uid: Uid, list: &str, kind: Kind, record: &Value<'_, '_>) {
        let time = |key| integer(record, key).filter(|time| *time >= 0).map(Nanos);
        let Some(span) = time("start_timestamp").zip(time("end_timestamp")) else {
            return self.rows.leave_out_untimed(list);
        };
        match kind {
            Kind::Call(category) => self.add_call(uid, category, span, record),
            Kind::Marker => self.add_marker(uid, span, record),
            Kind::Dispatch => self.add_dispatch(uid, span, record),
            Kind::Copy => self.add_copy(uid, span, record),
        }
    }

    fn add_call(
        &mut self,
        uid: Uid,
        category: Category,
        span: (Nanos, Nanos),
        record: &Value<'_, '_>,
    ) {
        let name = self.operation(record);
        let event = self.push_on_thread(uid, category, &name, span, record);
        if category == Category::Runtime {
            self.set_correlation(event, record);
        }
    }

    fn add_marker(&mut self, uid: Uid, span: (Nanos, Nanos), record: &Value<'_, '_>) {
        let text = internal(record).and_then(|id| self.names.marker(id));
        let name = text.map_or_else(|| self.operation(record), str::to_owned);
        self.push_on_thread(uid, Category::UserAnnotation, &name, span, record);
    }

    fn add_dispatch(&mut self, uid: Uid, span: (Nanos, Nanos), record: &Value<'_, '_>) {
        let info = record.get("dispatch_info");
        let number = |key| info.as_ref().and_then(|info| integer(info, key));
        let name = number("kernel_id").map_or_else(
            || "(kernel without an id)".to_owned(),
            |id| match self.names.kernel(id) {
                Some(name) => name.to_owned(),
                None => format!("(kernel {id})"),
            },
        );
        let agent = info.as_ref().and_then(|info| handle(info, "agent_id"));
        let queue = info.as_ref().and_then(|info| handle(info, "queue_id"));
        let device = self.device([agent]);
        let stream = Stream { device, number: handle(record, "stream_id").or(queue).unwrap_or(0) };
        let event = self.push_on_stream(uid, Category::Kernel, &name, span, stream);
        self.set_correlation(event, record);
        let sizes = |key| info.as_ref().and_then(|info| triple(&info.get(key)?));
        if let Some((threads, block)) = sizes("grid_size").zip(sizes("workgroup_size"))
            && let Some(grid) = workgroups(threads, block)
        {
            self.rows.set_grid(event, grid, block);
        }
    }

    fn add_copy(&mut self, uid: Uid, span: (Nanos, Nanos), record: &Value<'_, '_>) {
        let (from, to) = (handle(record, "src_agent_id"), handle(record, "dst_agent_id"));
        let side = |agent: Option<i64>| agent.map(|agent| self.names.gpu(agent).is_some());
        let name = copy_name(side(from), side(to));
        let name = name.map_or_else(|| self.operation(record), str::to_owned);
        let device = self.device([to, from]);
        let stream = Stream { device, number: handle(record, "stream_id").unwrap_or(0) };
        let event = self.push_on_stream(uid, Category::Memcpy, &name, span, stream);
        self.set_correlation(event, record);
        if let Some(bytes) = integer(record, "bytes").and_then(|bytes| u64::try_from(bytes).ok()) {
            self.rows.trace().gpu_bytes.push(event, bytes);
        }
    }

    /// The number of the first GPU among some agents; 0 if none of them is a known GPU.
    fn device<const N: usize>(&self, agents: [Option<i64>; N]) -> i64 {
        let mut gpus = agents.into_iter().flatten().filter_map(|agent| self.names.gpu(agent));
        gpus.next().unwrap_or(0)
    }

    /// The name of the operation that a record describes.
    fn operation(&self, record: &Value<'_, '_>) -> String {
        let numbers = integer(record, "kind").zip(integer(record, "operation"));
        let Some((kind, operation)) = numbers else { return "(unnamed)".to_owned() };
        match self.names.operation(kind, operation) {
            Some(name) if !name.is_empty() => name.to_owned(),
            Some(_) | None => format!("(operation {kind}.{operation})"),
        }
    }

    fn push_on_thread(
        &mut self,
        uid: Uid,
        category: Category,
        name: &str,
        (start, end): (Nanos, Nanos),
        record: &Value<'_, '_>,
    ) -> EventId {
        let tid = integer(record, "thread_id").map_or_else(String::new, |tid| tid.to_string());
        let thread = self.rows.thread(&self.pid, &tid, "");
        let name = self.rows.text(name);
        self.rows.push(uid, Event { category, name, thread, start, end })
    }

    fn push_on_stream(
        &mut self,
        uid: Uid,
        category: Category,
        name: &str,
        (start, end): (Nanos, Nanos),
        stream: Stream,
    ) -> EventId {
        let thread = self.rows.stream_thread(stream);
        let name = self.rows.text(name);
        let event = self.rows.push(uid, Event { category, name, thread, start, end });
        self.rows.set_stream(event, stream);
        event
    }

    fn set_correlation(&mut self, event: EventId, record: &Value<'_, '_>) {
        let Some(id) = internal(record).filter(|id| *id != 0) else { return };
        let correlation =
            *self.correlations.entry(id).or_insert_with(|| self.rows.new_correlation());
        self.rows.trace().correlations.push(event, correlation);
    }
}

/// `correlation_id.internal`, which a dispatch shares with the call that launched it.
fn internal(record: &Value<'_, '_>) -> Option<i64> {
    integer(&record.get("correlation_id")?, "internal")
}

/// The number in `{"handle": …}`.
fn handle(record: &Value<'_, '_>, key: &str) -> Option<i64> {
    integer(&record.get(key)?, "handle")
}

fn triple(size: &Value<'_, '_>) -> Option<[i64; 3]> {
    Some([integer(size, "x")?, integer(size, "y")?, integer(size, "z")?])
}

/// The number of workgroups in each dimension, which Kineto calls the grid. The recorded grid
/// counts threads.
fn workgroups(threads: [i64; 3], block: [i64; 3]) -> Option<[i64; 3]> {
    let mut grid = [0; 3];
    for (at, count) in grid.iter_mut().enumerate() {
        let (threads, block) = (threads[at], block[at]);
        (threads >= 0 && block > 0).then_some(())?;
        *count = threads / block + i64::from(threads % block != 0);
    }
    Some(grid)
}

/// The name that Kineto gives a copy, from whether its agents are GPUs.
fn copy_name(from: Option<bool>, to: Option<bool>) -> Option<&'static str> {
    Some(match (from?, to?) {
        (false, false) => "Memcpy HtoH (Host -> Host)",
        (false, true) => "Memcpy HtoD (Host -> Device)",
        (true, false) => "Memcpy DtoH (Device -> Host)",
        (true, true) => "Memcpy DtoD (Device -> Device)",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_counts_workgroups() {
        assert_eq!(workgroups([256, 1, 1], [256, 1, 1]), Some([1, 1, 1]));
        assert_eq!(workgroups([1000, 6, 2], [256, 2, 1]), Some([4, 3, 2]));
        assert_eq!(workgroups([1000, 6, 2], [0, 2, 1]), None);
        assert_eq!(workgroups([i64::MAX, 6, 2], [1, 2, 1]), Some([i64::MAX, 3, 2]));
    }
}
