//! Converts the lines of a profile to the events of a trace.

use super::super::rows::{Event, Rows};
use super::hlo::Program;
use super::host::{self, Facts};
use super::memory;
use super::scopes::{self, Ran, Step};
use super::space::{self, Stat};
use crate::error::{Error, ErrorKind, Result};
use crate::trace::category::Category;
use crate::trace::columns::{Arguments, Stream};
use crate::trace::header::{PROGRAMS, Recorder};
use crate::trace::ids::{EventId, ThreadId, Uid};
use crate::trace::time::Nanos;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

/// An event of a profile, with its statistics.
pub(super) struct Occurred<'a> {
    /// The uid, if it differs from the position of the event in the profile.
    pub(super) uid: Option<Uid>,
    pub(super) name: &'a str,
    pub(super) facts: Facts<'a>,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    /// The statistics of the event itself, without the statistics of its kind.
    pub(super) stats: Vec<(&'a str, Stat<'a>)>,
}

/// Where events ran: the name of the plane, and the id and the name of the thread or stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Track<'a> {
    pub(super) plane: &'a str,
    pub(super) id: u64,
    pub(super) line: &'a str,
}

/// An op, identified by its program, its module and its name.
type Shown<'a> = (Option<i64>, &'a str, &'a str);

/// A launch or a CPU op, whose scopes are known only after all events are read.
struct Item<'a> {
    start: Nanos,
    end: Nanos,
    thread: ThreadId,
    run: i64,
    correlation: Option<i64>,
    program: Option<i64>,
    module: &'a str,
    op: &'a str,
}

/// The data that was read so far.
#[derive(Default)]
pub(super) struct Reading<'a, 'n> {
    name: &'n str,
    pub(super) rows: Rows,
    pub(super) programs: FxHashMap<i64, Program<'a>>,
    items: Vec<Item<'a>>,
    /// For each correlation id, the op of the first kernel with this id.
    launched: FxHashMap<i64, Shown<'a>>,
    paths: FxHashMap<(Shown<'a>, bool), Rc<[Step]>>,
}

impl<'a, 'n> Reading<'a, 'n> {
    /// Begins to read the planes with these names.
    ///
    /// # Errors
    /// Fails if no plane describes the host or a device.
    pub(super) fn of(name: &'n str, planes: &[&str]) -> Result<Self> {
        if !planes.iter().any(|plane| plane.starts_with('/')) {
            let message = format!(
                "no host or device plane in this profile; its planes are: {}",
                planes[..planes.len().min(4)].join(", ")
            );
            return Err(Error::new(ErrorKind::NotATrace, name, message)
                .remedy("pass the .xplane.pb that jax.profiler.trace wrote"));
        }
        let mut reading = Reading { name, ..Reading::default() };
        reading.rows.header().recorder = Recorder::Xla;
        Ok(reading)
    }

    /// Adds the GPU that a plane describes, if the plane describes one.
    pub(super) fn add_device(&mut self, plane: &str, stats: &[(&str, Stat<'_>)]) {
        if let Some(number) = plane.strip_prefix("/device:GPU:") {
            self.rows.header().devices.push(space::device(number, stats));
        }
    }

    /// Reads the `events` that ran on one track.
    ///
    /// # Errors
    /// Fails if an event cannot be read, or if there are too many events.
    pub(super) fn read_line(
        &mut self,
        track: Track<'a>,
        events: impl ExactSizeIterator<Item = Result<Occurred<'a>>>,
    ) -> Result<()> {
        let device = track.plane.strip_prefix("/device:").and_then(|rest| {
            let (kind, number) = rest.split_once(':')?;
            Some((kind, number.parse::<i64>().ok()?))
        });
        match device {
            Some(("GPU", device)) if track.line.starts_with("Stream #") => {
                let digits = &track.line["Stream #".len()..];
                let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
                let number = digits[..end].parse().unwrap_or(track.id as i64);
                self.read_stream(Stream { device, number }, events)
            }
            Some((_, device)) if track.line == "XLA Ops" && !track.plane.contains("GPU") => {
                self.read_stream(Stream { device, number: track.id as i64 }, events)
            }
            None if track.plane == "/host:CPU" => self.read_thread(track, events),
            Some(_) | None => {
                self.rows.leave_out_many("derived line", events.len() as u64);
                (0..events.len()).try_for_each(|_| self.rows.next(self.name).map(drop))
            }
        }
    }

    fn read_stream(
        &mut self,
        stream: Stream,
        events: impl Iterator<Item = Result<Occurred<'a>>>,
    ) -> Result<()> {
        let thread = self.rows.stream_thread(stream);
        for event in events {
            let (uid, event) = self.next(event)?;
            let Occurred { name, facts, start, end, .. } = event;
            let category = match (facts.copy.is_empty(), facts.is_set) {
                (false, _) => Category::Memcpy,
                (true, true) => Category::Memset,
                (true, false) => Category::Kernel,
            };
            // Some versions of ROCm record the name of the kernel's descriptor, which is the
            // kernel's name followed by `.kd`.
            let name = name.strip_suffix(".kd").unwrap_or(name);
            let name_id = self.rows.text(if name.is_empty() { "(unnamed)" } else { name });
            let id = self.rows.push(uid, Event { category, name: name_id, thread, start, end });
            self.rows.set_stream(id, stream);
            self.add_details(id, &facts);
            let Some(correlation) = facts.correlation.filter(|id| *id > 0) else { continue };
            self.rows.trace().correlations.push(id, correlation);
            if !facts.op.is_empty() {
                let own = (facts.program, facts.module, facts.op);
                self.launched.entry(correlation).or_insert(own);
            }
            if facts.graph_node.is_some() {
                self.add_region(id, &facts, name);
            }
        }
        Ok(())
    }

    fn add_details(&mut self, event: EventId, facts: &Facts<'_>) {
        let (grid, block) =
            (host::dimensions(facts.kernel, "grid:"), host::dimensions(facts.kernel, "block:"));
        if let (Some(grid), Some(block)) = (grid, block) {
            self.rows.set_grid(event, grid, block);
        }
        let size = host::after(facts.copy, "size:").or(host::after(facts.copy, "num_bytes:"));
        if let Some(bytes) = size.and_then(|size| size.parse().ok()) {
            self.rows.trace().gpu_bytes.push(event, bytes);
        }
        if let Some(node) = facts.graph_node.and_then(|node| u64::try_from(node).ok()) {
            self.rows.trace().graph_nodes.push(event, node);
        }
    }

    /// Adds the scopes of a kernel that a graph launched. The kernel's name determines the scopes,
    /// because a kernel in a graph is named after its op.
    fn add_region(&mut self, event: EventId, facts: &Facts<'_>, name: &str) {
        let program = facts.program.and_then(|id| self.programs.get(&id));
        let stack = program.and_then(|program| Some(program.stack(program.find(name)?)));
        if let Some(stack) = stack.filter(|stack| !stack.is_empty()) {
            let region = scopes::of(stack, facts.module).join("/");
            let region = self.rows.text(&region);
            self.rows.trace().regions.push(event, region);
        }
    }

    fn read_thread(
        &mut self,
        track: Track<'a>,
        events: impl Iterator<Item = Result<Occurred<'a>>>,
    ) -> Result<()> {
        let tid = track.id.to_string();
        for event in events {
            let (uid, event) = self.next(event)?;
            let Occurred { name, facts, start, end, .. } = event;
            if let Some(sign) = memory::sign(name) {
                let thread = self.rows.thread(track.plane, &tid, track.line);
                let event = memory::event((uid, thread, start), sign, &event.stats);
                // Like Kineto's memory events, allocator events are counted among the events that
                // comparisons ignore.
                self.rows.leave_out("memory event");
                self.rows.trace().memory.extend(event);
                continue;
            }
            let (category, name) = match host::event(name, &facts) {
                Ok(shown) => shown,
                Err(kind) => {
                    self.rows.leave_out(kind);
                    continue;
                }
            };
            let is_op = category == Category::CpuOp && !facts.op.is_empty();
            let is_launch = category == Category::Runtime;
            // Launches and ops are moved to a separate track, which also contains the scopes that
            // enclose them.
            let thread = if is_op || is_launch {
                let (tid, name) = (format!("{tid} XLA"), format!("{PROGRAMS}{}", track.line));
                self.rows.thread(track.plane, &tid, &name)
            } else {
                self.rows.thread(track.plane, &tid, track.line)
            };
            let name = if is_op { scopes::without_number(&name) } else { &*name };
            let name = self.rows.text(if name.is_empty() { "(unnamed)" } else { name });
            let id = self.rows.push(uid, Event { category, name, thread, start, end });
            let correlation = facts.correlation.filter(|_| is_launch);
            if let Some(correlation) = correlation {
                self.rows.trace().correlations.push(id, correlation);
            }
            if is_op {
                self.add_inputs(id, facts.program, facts.op);
            }
            if is_op || is_launch {
                let (program, module, op) = (facts.program, facts.module, facts.op);
                self.items.push(Item {
                    start,
                    end,
                    thread,
                    run: facts.run,
                    correlation,
                    program,
                    module,
                    op,
                });
            }
        }
        Ok(())
    }

    fn add_inputs(&mut self, event: EventId, program: Option<i64>, op: &str) {
        let program = program.and_then(|id| self.programs.get(&id));
        let Some((program, op)) = program.and_then(|program| Some((program, program.find(op)?)))
        else {
            return;
        };
        let (dims, types) = program.inputs(op);
        let (dims, types) = (self.rows.text(&dims), self.rows.text(&types));
        self.rows.set_arguments(event, Arguments { dims, types, ..Arguments::default() });
    }

    /// Adds the calls that enclose other calls: programs and scopes around ops and launches, and
    /// ops around launches.
    ///
    /// # Errors
    /// Fails if there are too many calls.
    pub(super) fn finish(mut self) -> Result<Rows> {
        let (mut ran, mut programs) = (Vec::new(), BTreeSet::new());
        for mut item in std::mem::take(&mut self.items) {
            if item.op.is_empty()
                && let Some(known) = item.correlation.and_then(|id| self.launched.get(&id))
            {
                (item.program, item.module, item.op) = *known;
            }
            if item.op.is_empty() {
                continue;
            }
            if let Some(id) = item.program
                && programs.insert(id)
                && let Some(program) = self.programs.get(&id)
            {
                self.rows.trace().programs.push(program.stated(item.module));
            }
            ran.push(self.ran(&item));
        }
        for scope in scopes::scopes(ran) {
            let uid = self.rows.next(self.name)?;
            let (thread, start, end) = (scope.thread, scope.start, scope.end);
            let category = match scope.step.op_of {
                Some(_) => Category::CpuOp,
                None => Category::PythonFunction,
            };
            let name = scope.step.name;
            let event = self.rows.push(uid, Event { category, name, thread, start, end });
            if let Some(program) = scope.step.op_of {
                let op = self.rows.trace().text(scope.step.key).to_owned();
                self.add_inputs(event, Some(program), &op);
            }
        }
        Ok(self.rows)
    }

    fn ran(&mut self, item: &Item<'a>) -> Ran {
        let key = ((item.program, item.module, item.op), item.correlation.is_some());
        let path = match self.paths.get(&key) {
            Some(known) => Rc::clone(known),
            None => {
                let path = self.path(item);
                Rc::clone(self.paths.entry(key).or_insert(path))
            }
        };
        let op = self.rows.text(item.op);
        Ran { thread: item.thread, start: item.start, end: item.end, run: item.run, op, path }
    }

    /// The path to an op or launch, outermost call first: the program, the scopes and, for a
    /// launch, the op that contains it.
    fn path(&mut self, item: &Item<'a>) -> Rc<[Step]> {
        let program = item.program.and_then(|id| self.programs.get(&id));
        let found = program.and_then(|program| program.find(item.op));
        let stack = program.zip(found).map_or("", |(program, op)| program.stack(op));
        let module = if item.module.is_empty() { "(program)" } else { item.module };
        let mut path = vec![module];
        path.extend(scopes::of(stack, module));
        let mut path: Vec<Step> = path
            .into_iter()
            .map(|name| {
                let name = self.rows.text(name);
                Step { key: name, name, op_of: None }
            })
            .collect();
        let op = self.rows.text(item.op);
        if item.correlation.is_some() {
            let name = self.rows.text(scopes::without_number(item.op));
            path.push(Step { key: op, name, op_of: Some(item.program.unwrap_or(0)) });
        }
        path.into()
    }

    fn next(&mut self, event: Result<Occurred<'a>>) -> Result<(Uid, Occurred<'a>)> {
        let position = self.rows.next(self.name)?;
        let event = event?;
        Ok((event.uid.unwrap_or(position), event))
    }
}

/// The start and the end of an event that begins `offset` picoseconds after `start_ns`. Both are
/// rounded down to nanoseconds so that nested events stay nested.
pub(super) fn times(start_ns: i64, offset: i64, duration: i64) -> (Nanos, Nanos) {
    let at = |ps: i64| Nanos(start_ns.saturating_add(ps.div_euclid(1000)));
    (at(offset), at(offset.saturating_add(duration)))
}
