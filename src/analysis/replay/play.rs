//! A program of host times, launches and waits → when its steps end.

use super::recorded::{Action, Behind, Point, Recorded, WorkKind};
use super::typical::Typical;

/// When the parts of a window ended, in ns since its start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replayed {
    /// When all work was done.
    pub end: i64,
    /// When each step was done: its host part, and all GPU work that was launched until then.
    pub steps: Vec<i64>,
}

/// What is replayed: a part of the host line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Do {
    /// The host runs, for so many ns.
    Host(i64),
    /// Works are launched: positions in [`Program::works`].
    Launch(u32, u32),
    /// The host waits: a position in [`Program::waits`].
    Wait(u32),
    /// A step ends.
    Step,
}

/// A work to replay.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlayWork<'r> {
    pub(super) time: i64,
    pub(super) stream: usize,
    pub(super) kind: WorkKind,
    pub(super) latency: Option<i64>,
    pub(super) waits: Option<Behind>,
    pub(super) typical: &'r Typical,
}

/// A program to replay.
#[derive(Debug, Clone, Default)]
pub(super) struct Program<'r> {
    pub(super) line: Vec<Do>,
    pub(super) works: Vec<PlayWork<'r>>,
    pub(super) waits: Vec<(&'r [Behind], i64)>,
    /// When each stream is free.
    pub(super) before: Vec<i64>,
}

/// What is changed in a program that is otherwise replayed as recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Factor of all host times.
    pub host: f64,
    /// Factor of the durations of GPU work.
    pub work: f64,
}

impl Scale {
    /// Everything as recorded.
    pub const NONE: Scale = Scale { host: 1.0, work: 1.0 };
}

pub(super) fn scaled(time: i64, factor: f64) -> i64 {
    if factor == 1.0 { time } else { (time as f64 * factor).round() as i64 }
}

impl<'r> Program<'r> {
    /// The program that was recorded.
    pub(super) fn of(recorded: &'r Recorded, scale: Scale) -> Program<'r> {
        let mut program = Program { before: recorded.before.clone(), ..Program::default() };
        for item in &recorded.items {
            program.host(scaled(item.time, scale.host));
            program.act(recorded, item.action, scale);
            if let Point::Step(_) = item.point {
                program.line.push(Do::Step);
            }
        }
        program
    }

    pub(super) fn host(&mut self, time: i64) {
        match self.line.last_mut() {
            Some(Do::Host(last)) => *last += time,
            Some(Do::Launch(..) | Do::Wait(_) | Do::Step) | None => {
                if time > 0 {
                    self.line.push(Do::Host(time));
                }
            }
        }
    }

    pub(super) fn act(&mut self, recorded: &'r Recorded, action: Action, scale: Scale) {
        match action {
            Action::Nothing => {}
            Action::Launch(first, end) => {
                let start = self.works.len() as u32;
                for at in first..end {
                    self.push(recorded, at as usize, scale);
                }
                self.line.push(Do::Launch(start, self.works.len() as u32));
            }
            Action::Wait(at) => {
                let wait = &recorded.waits[at as usize];
                self.line.push(Do::Wait(self.waits.len() as u32));
                self.waits.push((&wait.targets, scaled(wait.latency, scale.host)));
            }
        }
    }

    pub(super) fn push(&mut self, recorded: &'r Recorded, at: usize, scale: Scale) {
        let work = &recorded.works[at];
        self.works.push(PlayWork {
            time: scaled(work.time, scale.work),
            stream: work.stream,
            kind: work.kind,
            latency: work.latency,
            waits: work.waits,
            typical: &recorded.typical,
        });
    }

    /// Replays the program.
    pub(super) fn play(&self) -> Replayed {
        self.play_with(&mut |_| {})
    }

    /// Replays the program, and tells `seen` what determined when each part happened.
    pub(super) fn play_with(&self, seen: &mut impl FnMut(Seen)) -> Replayed {
        let streams = self.works.iter().map(|work| work.stream + 1).max().unwrap_or(0);
        let streams = streams.max(self.before.len());
        let mut free: Vec<(i64, Option<WorkKind>)> = vec![(0, None); streams];
        for (free, before) in free.iter_mut().zip(&self.before) {
            free.0 = *before;
        }
        let mut ends: Vec<Vec<i64>> = vec![Vec::new(); streams];
        let (mut now, mut done) = (0_i64, 0_i64);
        let mut steps = Vec::new();
        for &part in &self.line {
            match part {
                Do::Host(time) => now += time,
                Do::Launch(first, end) => {
                    for (work, at_work) in self.works[first as usize..end as usize].iter().zip(first..) {
                        let (at, before) = free[work.stream];
                        let gap = before.map_or(0, |kind| work.typical.gap(kind, work.kind));
                        let mut start = at + gap;
                        let mut bound = Bound::Stream { free: at };
                        if let Some(latency) = work.latency
                            && now + latency >= start
                        {
                            (start, bound) = (now + latency, Bound::Launch { at: now });
                        }
                        let crossing = work.typical.crossing(work.kind);
                        if let Some(done) = work.waits.and_then(|wait| ended(&ends, wait))
                            && done + crossing > start
                        {
                            (start, bound) = (done + crossing, Bound::Crossing { done });
                        }
                        let end = start + work.time;
                        seen(Seen::Work { at: at_work, start, end, bound });
                        free[work.stream] = (end, Some(work.kind));
                        ends[work.stream].push(end);
                        done = done.max(end);
                    }
                }
                Do::Wait(at) => {
                    let (targets, latency) = self.waits[at as usize];
                    let called = now;
                    for target in targets {
                        if let Some(end) = ended(&ends, *target) {
                            now = now.max(end + latency);
                        }
                    }
                    seen(Seen::Wait { at, called, until: now });
                }
                Do::Step => steps.push(now.max(done)),
            }
        }
        Replayed { end: now.max(done), steps }
    }
}

/// What determined when a work started. Times are in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// Its launch, at this time.
    Launch { at: i64 },
    /// The work before it on its stream, which ended at this time.
    Stream { free: i64 },
    /// A work of another stream, which ended at this time.
    Crossing { done: i64 },
}

/// A part of a replay. Times are in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// A work ran.
    Work { at: u32, start: i64, end: i64, bound: Bound },
    /// The host came to a wait, and went on.
    Wait { at: u32, called: i64, until: i64 },
}

fn ended(ends: &[Vec<i64>], target: Behind) -> Option<i64> {
    let ends = ends.get(target.stream)?;
    ends.len().checked_sub(1 + target.back as usize).map(|at| ends[at])
}
