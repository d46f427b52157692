//! Assigns numbers and names to the processes and threads of both traces, so that numbers from the two traces do not
//! collide in one file, and writes events as the lines of a JSON array.

use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::trace::{EventId, TextId, ThreadId};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The first process number of the candidate.
const CANDIDATE_FROM: usize = 10_000;

/// The processes on each side, and whether each process represents a GPU.
pub(super) struct Tracks {
    processes: PerSide<Vec<Process>>,
}

struct Process {
    pid: TextId,
    has_gpu_events: bool,
}

/// The process number and thread number of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Track {
    pub(super) pid: usize,
    pub(super) tid: usize,
}

impl Tracks {
    pub(super) fn new(analysis: &Analysis) -> Tracks {
        Tracks { processes: PerSide::from_fn(|side| processes(analysis, side)) }
    }

    pub(super) fn of(&self, analysis: &Analysis, side: Side, event: EventId) -> Track {
        let thread = analysis.tree(side).trace().thread_of(event);
        self.track(analysis, side, thread)
    }

    /// The track for the steps of a thread, above all threads of the same process.
    pub(super) fn of_steps(&self, analysis: &Analysis, side: Side, thread: ThreadId) -> Track {
        Track { tid: 0, ..self.track(analysis, side, thread) }
    }

    fn track(&self, analysis: &Analysis, side: Side, thread: ThreadId) -> Track {
        let pid = analysis.tree(side).trace().thread(thread).pid;
        let at = self.processes[side].iter().position(|process| process.pid == pid);
        let number = at.expect("every thread has a process") + 1;
        let from = if side == Side::Baseline { 0 } else { CANDIDATE_FROM };
        Track { pid: from + number, tid: thread.index() + 1 }
    }

    /// Writes the names of processes and threads. The baseline's processes come first; on each
    /// side, GPUs come after hosts.
    pub(super) fn write(&self, analysis: &Analysis, lines: &mut Lines<'_>) -> io::Result<()> {
        for side in Side::BOTH {
            self.write_processes(analysis, side, lines)?;
            self.write_threads(analysis, side, lines)?;
        }
        Ok(())
    }

    fn write_processes(
        &self,
        analysis: &Analysis,
        side: Side,
        lines: &mut Lines<'_>,
    ) -> io::Result<()> {
        let from = if side == Side::Baseline { 0 } else { CANDIDATE_FROM };
        for (at, process) in self.processes[side].iter().enumerate() {
            let (kind, order) = if process.has_gpu_events { ("GPU", 5_000) } else { ("host", 0) };
            let recorded = analysis.tree(side).trace().text(process.pid);
            let name = format!("{} {kind} {}", side.label(), recorded.trim());
            let pid = from + at + 1;
            lines.push(
                &json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}),
            )?;
            lines.push(&json!({
                "ph": "M", "name": "process_sort_index", "pid": pid,
                "args": {"sort_index": pid + order},
            }))?;
        }
        Ok(())
    }

    fn write_step_tracks(
        &self,
        analysis: &Analysis,
        side: Side,
        lines: &mut Lines<'_>,
    ) -> io::Result<()> {
        let spans = analysis.diff().steps(side).spans().iter();
        let tracks = spans.map(|span| self.of_steps(analysis, side, span.thread).pid);
        let processes: BTreeSet<usize> = tracks.collect();
        for pid in processes {
            let name = format!("{}: steps", side.label());
            lines.push(&json!({
                "ph": "M", "name": "thread_name", "pid": pid, "tid": 0, "args": {"name": name},
            }))?;
            lines.push(&json!({
                "ph": "M", "name": "thread_sort_index", "pid": pid, "tid": 0,
                "args": {"sort_index": -1},
            }))?;
        }
        Ok(())
    }

    fn write_threads(
        &self,
        analysis: &Analysis,
        side: Side,
        lines: &mut Lines<'_>,
    ) -> io::Result<()> {
        let trace = analysis.tree(side).trace();
        self.write_step_tracks(analysis, side, lines)?;
        for thread in threads(analysis, side) {
            let track = self.track(analysis, side, thread);
            let recorded = trace.thread(thread);
            let name = match trace.text(recorded.name) {
                "" => trace.text(recorded.tid),
                name => name.trim_end(),
            };
            lines.push(&json!({
                "ph": "M", "name": "thread_name", "pid": track.pid, "tid": track.tid,
                "args": {"name": format!("{}: {name}", side.label())},
            }))?;
        }
        Ok(())
    }
}

/// The threads with calls, steps or annotations, sorted by id.
fn threads(analysis: &Analysis, side: Side) -> Vec<ThreadId> {
    let tree = analysis.tree(side);
    let calls = tree.calls().filter_map(|call| tree.event(call));
    let annotations = tree.trace().own_events().filter(|&event| tree.call_of(event).is_none());
    let mut threads: Vec<ThreadId> =
        calls.chain(annotations).map(|event| tree.trace().thread_of(event)).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

fn processes(analysis: &Analysis, side: Side) -> Vec<Process> {
    let tree = analysis.tree(side);
    let trace = tree.trace();
    let mut processes: Vec<Process> = Vec::new();
    for thread in threads(analysis, side) {
        let pid = trace.thread(thread).pid;
        if processes.iter().all(|known| known.pid != pid) {
            processes.push(Process { pid, has_gpu_events: false });
        }
    }
    for event in tree.calls().filter_map(|call| tree.event(call)) {
        if trace.category(event).is_gpu() {
            let pid = trace.thread(trace.thread_of(event)).pid;
            processes
                .iter_mut()
                .filter(|known| known.pid == pid)
                .for_each(|known| known.has_gpu_events = true);
        }
    }
    processes
}

/// Writes the elements of the event array, one per line.
pub(super) struct Lines<'o> {
    pub(super) out: &'o mut dyn Write,
    pub(super) first: bool,
}

impl Lines<'_> {
    pub(super) fn push(&mut self, event: &impl serde::Serialize) -> io::Result<()> {
        if !self.first {
            self.out.write_all(b",\n")?;
        }
        self.first = false;
        Ok(serde_json::to_writer(&mut *self.out, event)?)
    }
}
