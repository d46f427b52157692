//! Builds the columns of a [`Trace`] from rows whose fields are already decoded.

use super::super::options::ReadOptions;
use super::super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::trace::category::Category;
use crate::trace::columns::{Arguments, Grid, Stream, Thread, Trace};
use crate::trace::header::Header;
use crate::trace::ids::{EventId, ThreadId, Uid};
use crate::trace::texts::TextId;
use crate::trace::time::Nanos;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Maximum length of a string in bytes. The limit bounds the time for hashing: each row looks up
/// its strings, and many rows may share one long string.
const LONGEST: usize = 1 << 16;

/// The beginning of a string, limited to [`LONGEST`] bytes.
pub(super) fn beginning(text: &str) -> &str {
    match text.len() {
        ..=LONGEST => text,
        _ => &text[..(0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)],
    }
}

/// A trace that is being read.
#[derive(Default)]
pub(super) struct Rows {
    trace: Trace,
    threads: FxHashMap<(TextId, TextId), ThreadId>,
    streams: FxHashMap<Stream, u32>,
    records: FxHashMap<Arguments, u32>,
    left_out: BTreeMap<String, u64>,
    untimed: u64,
    clocks: u64,
    last_correlation: i64,
}

/// An event to add.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) category: Category,
    pub(super) name: TextId,
    pub(super) thread: ThreadId,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
}

impl Rows {
    /// Counts the next row in the file; returns the row's uid, which is its position in the file.
    ///
    /// # Errors
    /// Fails if the file has more than 4 billion rows, because uids have 32 bits.
    pub(super) fn next(&mut self, name: &str) -> Result<Uid> {
        let uid = u32::try_from(self.trace.total_events).ok().filter(|uid| *uid < u32::MAX);
        let uid = uid.ok_or_else(|| {
            Error::new(ErrorKind::LimitExceeded, name, "more than 4 billion events")
                .remedy("record a shorter window")
        })?;
        self.trace.total_events += 1;
        Ok(Uid(uid))
    }

    /// Raises the row count to `total` if fewer rows have been counted so far.
    pub(super) fn count_all(&mut self, total: u64) {
        self.trace.total_events = self.trace.total_events.max(total);
    }

    /// Counts a row that comparisons ignore.
    pub(super) fn leave_out(&mut self, kind: &str) {
        self.leave_out_many(kind, 1);
    }

    /// Counts rows that comparisons ignore.
    pub(super) fn leave_out_many(&mut self, kind: &str, count: u64) {
        match self.left_out.get_mut(kind) {
            Some(known) => *known += count,
            None if count > 0 => drop(self.left_out.insert(kind.to_owned(), count)),
            None => {}
        }
    }

    /// Counts a row without a start or an end.
    pub(super) fn leave_out_untimed(&mut self, kind: &str) {
        self.untimed += 1;
        self.leave_out(kind);
    }

    /// Adds an event. An event that ends before its start gets a duration of 0.
    pub(super) fn push(&mut self, uid: Uid, event: Event) -> EventId {
        let trace = &mut self.trace;
        let id = EventId(trace.uids.len() as u32);
        let duration = event.end - event.start;
        if duration < Nanos::ZERO {
            self.clocks += 1;
            trace.recorded_durations.push(id, duration);
        }
        trace.uids.push(uid);
        trace.categories.push(event.category);
        trace.names.push(event.name);
        trace.event_threads.push(event.thread);
        trace.starts.push(event.start);
        trace.durations.push(duration.max(Nanos::ZERO));
        trace.event_arguments.push(u32::MAX);
        id
    }

    /// A correlation that no event has yet.
    pub(super) fn new_correlation(&mut self) -> i64 {
        self.last_correlation += 1;
        self.last_correlation
    }

    /// Mutable access to the trace that was built so far, for filling the sparse columns.
    pub(super) fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// The metadata.
    pub(super) fn header(&mut self) -> &mut Header {
        &mut self.trace.header
    }

    /// The id of a string, which is cut to [`LONGEST`] bytes if necessary.
    pub(super) fn text(&mut self, text: &str) -> TextId {
        self.trace.texts.intern(beginning(text))
    }

    /// The thread with this process and number; adds the thread if it is new.
    pub(super) fn thread(&mut self, pid: &str, tid: &str, name: &str) -> ThreadId {
        let key = (self.text(pid), self.text(tid));
        let name = self.text(name);
        let threads = &mut self.trace.threads;
        *self.threads.entry(key).or_insert_with(|| {
            threads.push(Thread { pid: key.0, tid: key.1, name });
            ThreadId(threads.len() as u32 - 1)
        })
    }

    /// The thread that represents a device's stream.
    pub(super) fn stream_thread(&mut self, stream: Stream) -> ThreadId {
        let (pid, tid) = (stream.device.to_string(), format!("stream {}", stream.number));
        self.thread(&pid, &tid, &tid)
    }

    /// Sets the stream on which a GPU event ran.
    pub(super) fn set_stream(&mut self, event: EventId, stream: Stream) {
        let all = &mut self.trace.all_streams;
        let at = *self.streams.entry(stream).or_insert_with(|| {
            all.push(stream);
            all.len() as u32 - 1
        });
        self.trace.streams.push(event, at);
    }

    /// Sets the arguments of an op.
    pub(super) fn set_arguments(&mut self, event: EventId, record: Arguments) {
        let list = &mut self.trace.arguments;
        let id = *self.records.entry(record).or_insert_with(|| {
            list.push(record);
            list.len() as u32 - 1
        });
        self.trace.event_arguments[event.index()] = id;
    }

    /// Sets the launch dimensions of a kernel, as the JSON lists that Kineto writes.
    pub(super) fn set_grid(&mut self, event: EventId, grid: [i64; 3], block: [i64; 3]) {
        let list = |[x, y, z]: [i64; 3]| format!("[{x}, {y}, {z}]");
        let grid = Grid { grid: self.text(&list(grid)), block: self.text(&list(block)) };
        self.trace.grids.push(event, grid);
    }

    /// Returns the finished trace, after the whole `source` was read.
    ///
    /// # Errors
    /// Fails if the rest of the file cannot be read, or, under `--strict`, if an event has no end
    /// or ends before it starts.
    pub(super) fn finish(mut self, mut source: Source<'_>, options: &ReadOptions) -> Result<Trace> {
        let (untimed, clocks, name) = (self.untimed, self.clocks, source.name());
        if options.strict && untimed + clocks > 0 {
            let message = format!("{} events have impossible times", untimed + clocks);
            return Err(Error::new(ErrorKind::Malformed, name, message)
                .remedy("without --strict, such events are repaired or skipped, and counted"));
        }
        let trace = &mut self.trace;
        trace.notes.add("NO_EVENTS", u64::from(trace.is_empty()), "record again", || {
            "the file has no events that can be compared".to_owned()
        });
        trace.notes.add("CLOCK_ANOMALY", clocks, "", || {
            format!("{clocks} × event that ends before it starts; its duration counts as 0")
        });
        trace.notes.add("UNTIMED_EVENTS", untimed, "", || {
            format!("{untimed} × range without an end; ignored")
        });
        // Ranges without an end do not count as losses, because a range that is open when the
        // recording ends has no work of its own.
        trace.losses.clocks = clocks;
        trace.source = name.to_owned();
        trace.unpacked_bytes = source.unpacked();
        trace.left_out = self.left_out.into_iter().collect();
        trace.content_hash = source.hash()?;
        Ok(self.trace)
    }
}
