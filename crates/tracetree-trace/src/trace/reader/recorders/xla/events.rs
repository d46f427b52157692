//! Converts the planes of a profile to the events of a trace.

use super::super::rows::{Event, Rows};
use super::device;
use super::hlo::Program;
use super::host::{self, Facts, Kinds};
use super::memory;
use super::scopes::{self, Ran, Step};
use super::space::{self, Line, Plane, Stat};
use super::wire::{Broken, Message};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::trace::category::Category;
use crate::trace::columns::{Arguments, Stream};
use crate::trace::header::{PROGRAMS, Recorder};
use crate::trace::ids::{EventId, ThreadId, Uid};
use crate::trace::time::Nanos;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The uids of the events, for profiles in which uids differ from positions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Numbering<'n> {
    /// The uid of each event, in profile order; empty if uids equal positions.
    pub(super) uids: &'n [u32],
    /// Number of events in the file.
    pub(super) total: u64,
}

/// Reads all planes.
///
/// # Errors
/// Fails if the file is damaged or is not a profile.
pub(super) fn read(name: &str, bytes: &[u8], numbering: Numbering<'_>) -> Result<Rows> {
    let broken = |broken: Broken| {
        let message = format!("the profile is truncated or damaged: {}", broken.what);
        Error::new(ErrorKind::Malformed, name, message)
            .at(Place { offset: broken.offset, event: None })
            .remedy("copy the file again, or record it again with jax.profiler.trace")
    };
    let mut planes = Vec::new();
    Message::new(bytes)
        .fields(|number, value| {
            if number == 1 {
                planes.push(Plane::read(value.message())?);
            }
            Ok::<(), Broken>(())
        })
        .map_err(broken)?;
    if !planes.iter().any(|plane| plane.name.starts_with('/')) {
        let names: Vec<&str> = planes.iter().take(4).map(|plane| plane.name).collect();
        let message = format!(
            "no host or device plane in this profile; its planes are: {}",
            names.join(", ")
        );
        return Err(Error::new(ErrorKind::NotATrace, name, message)
            .remedy("pass the .xplane.pb that jax.profiler.trace wrote"));
    }
    let mut reading = Reading { name, uids: numbering.uids, ..Reading::default() };
    reading.rows.header().recorder = Recorder::Xla;
    for plane in &planes {
        reading.read_metadata(plane).map_err(broken)?;
    }
    for plane in &planes {
        reading.read_plane(plane).map_err(|failed| match failed {
            Failed::Broken(at) => broken(at),
            Failed::Limit(error) => error,
        })?;
    }
    reading.rows.count_all(numbering.total);
    reading.add_scopes()?;
    Ok(reading.rows)
}

/// Why a plane cannot be read.
enum Failed {
    Broken(Broken),
    Limit(Error),
}

impl From<Broken> for Failed {
    fn from(broken: Broken) -> Failed {
        Failed::Broken(broken)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Limit(error)
    }
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
struct Reading<'a, 'n> {
    name: &'n str,
    uids: &'n [u32],
    rows: Rows,
    programs: FxHashMap<i64, Program<'a>>,
    items: Vec<Item<'a>>,
    /// For each correlation id, the op of the first kernel with this id.
    launched: FxHashMap<i64, Shown<'a>>,
    paths: FxHashMap<(Shown<'a>, bool), Rc<[Step]>>,
}

impl<'a> Reading<'a, '_> {
    fn read_metadata(&mut self, plane: &Plane<'a>) -> std::result::Result<(), Broken> {
        if let Some(device) = plane.name.strip_prefix("/device:GPU:") {
            let device = device::read(device, &plane.stats()?);
            self.rows.header().devices.push(device);
        }
        if plane.name != "/host:metadata" {
            return Ok(());
        }
        self.rows.header().versions.extend(device::versions(&plane.stats()?));
        self.rows.header().versions.sort();
        for kind in plane.kinds.values() {
            let id = kind.name.rsplit_once('(').and_then(|(_, id)| id.strip_suffix(')'));
            let Some(id) = id.and_then(|id| id.parse().ok()) else { continue };
            for (key, stat) in plane.named(&kind.stats)? {
                if let ("Hlo Proto", Stat::Bytes(proto)) = (key, stat) {
                    self.programs.insert(id, Program::read(proto)?);
                }
            }
        }
        Ok(())
    }

    fn read_plane(&mut self, plane: &Plane<'a>) -> std::result::Result<(), Failed> {
        let device = plane.name.strip_prefix("/device:").and_then(|rest| {
            let (kind, number) = rest.split_once(':')?;
            Some((kind, number.parse::<i64>().ok()?))
        });
        let kinds = host::kinds(plane)?;
        for line in &plane.lines {
            let line = Line::read(*line)?;
            match device {
                Some(("GPU", device)) if line.name.starts_with("Stream #") => {
                    let digits = &line.name["Stream #".len()..];
                    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
                    let number = digits[..end].parse().unwrap_or(line.id as i64);
                    self.read_stream((plane, &kinds), &line, Stream { device, number })?;
                }
                Some((_, device)) if line.name == "XLA Ops" && !plane.name.contains("GPU") => {
                    let number = line.id as i64;
                    self.read_stream((plane, &kinds), &line, Stream { device, number })?;
                }
                None if plane.name == "/host:CPU" => self.read_thread((plane, &kinds), &line)?,
                Some(_) | None => {
                    for _ in &line.events {
                        self.rows.next(self.name)?;
                    }
                    self.rows.leave_out_many("derived line", line.events.len() as u64);
                }
            }
        }
        Ok(())
    }

    fn read_stream(
        &mut self,
        (plane, kinds): (&Plane<'a>, &Kinds<'a>),
        line: &Line<'a>,
        stream: Stream,
    ) -> std::result::Result<(), Failed> {
        let thread = self.rows.stream_thread(stream);
        for message in &line.events {
            let (uid, event, facts, name) = self.next(plane, kinds, *message)?;
            let (start, end) = times(line, &event);
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
        (plane, kinds): (&Plane<'a>, &Kinds<'a>),
        line: &Line<'a>,
    ) -> std::result::Result<(), Failed> {
        let tid = line.id.to_string();
        for message in &line.events {
            let (uid, event, facts, name) = self.next(plane, kinds, *message)?;
            if let Some(sign) = memory::sign(name) {
                let thread = self.rows.thread(plane.name, &tid, line.name);
                let spot = (uid, thread, times(line, &event).0);
                let event = memory::event(spot, sign, &plane.named(&event.stats)?);
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
            let (start, end) = times(line, &event);
            let is_op = category == Category::CpuOp && !facts.op.is_empty();
            let is_launch = category == Category::Runtime;
            // Launches and ops are moved to a separate track, which also contains the scopes that
            // enclose them.
            let thread = if is_op || is_launch {
                let (tid, name) = (format!("{tid} XLA"), format!("{PROGRAMS}{}", line.name));
                self.rows.thread(plane.name, &tid, &name)
            } else {
                self.rows.thread(plane.name, &tid, line.name)
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
    fn add_scopes(&mut self) -> Result<()> {
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
        Ok(())
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

    fn next(
        &mut self,
        plane: &Plane<'a>,
        kinds: &Kinds<'a>,
        message: Message<'a>,
    ) -> std::result::Result<(Uid, space::Event<'a>, Facts<'a>, &'a str), Failed> {
        let position = self.rows.next(self.name)?;
        let uid = self.uids.get(position.0 as usize).map_or(position, |uid| Uid(*uid));
        let event = space::Event::read(message)?;
        let (name, facts) = kinds.get(&event.kind).copied().unwrap_or_default();
        let facts = facts.with(&plane.named(&event.stats)?);
        Ok((uid, event, facts, name))
    }
}

/// The start and the end of an event, both rounded down to nanoseconds so that nested events stay
/// nested.
fn times(line: &Line<'_>, event: &space::Event<'_>) -> (Nanos, Nanos) {
    let at = |ps: i64| Nanos(line.start_ns.saturating_add(ps.div_euclid(1000)));
    (at(event.offset_ps), at(event.offset_ps.saturating_add(event.duration_ps)))
}
