//! Replays a program that consists of host times, launches and waits, and computes when each step ends.

use super::ends::Ends;
use super::parts::{Action, Behind, Item, Point, Replayed, WorkKind};
use super::recorded::Recorded;
use super::typical::Typical;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

/// What the host does next in a program to be replayed: one entry of [`Program::line`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Do {
    /// Host time outside of runtime calls, in ns.
    Host(i64),
    /// Host time in runtime calls, in ns.
    Call(i64),
    /// GPU events are launched; the numbers are a range of positions in [`Program::works`].
    Launch(u32, u32),
    /// The host waits; the number is a position in [`Program::waits`].
    Wait(u32),
    /// A step ends.
    Step,
}

/// A GPU event to replay.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlayWork<'r> {
    pub(super) time: i64,
    pub(super) stream: u32,
    pub(super) kind: WorkKind,
    pub(super) latency: Option<i64>,
    pub(super) waits: Option<Behind>,
    pub(super) typical: &'r Typical,
}

#[derive(Debug, Default)]
pub(super) struct Program<'r> {
    pub(super) line: Vec<Do>,
    pub(super) works: Vec<PlayWork<'r>>,
    /// For each wait: the awaited events, and the time from the end of these events until the waiting call returns.
    pub(super) waits: Vec<(&'r [Behind], i64)>,
    /// Time at which each stream finishes the work launched before the window.
    pub(super) before: Vec<i64>,
    /// Host time is added to the last entry of `line` only if the entry's position is at least this.
    pub(super) part: usize,
}

/// Durations that replace the recorded durations in a replay. By default, nothing is replaced.
pub(super) trait Speed {
    /// Returns the host time to use in place of a recorded host time.
    fn host(&self, time: i64) -> i64 {
        time
    }

    /// Returns the duration to use in place of the recorded duration of a GPU event.
    fn work(&self, _call: CallId, time: i64) -> i64 {
        time
    }

    /// Whether the host waits at a call; `false` removes a recorded wait.
    fn waits(&self, _call: CallId) -> bool {
        true
    }
}

/// No replacement: the replay uses the recorded durations.
pub(super) struct AsRecorded;

impl Speed for AsRecorded {}

impl<'r> Program<'r> {
    /// Creates the program of a recording, with the durations that `speed` returns.
    pub(super) fn of(recorded: &'r Recorded, speed: &impl Speed) -> Program<'r> {
        let mut program = Program { before: recorded.before.clone(), ..Program::default() };
        for item in &recorded.items {
            program.host(speed.host(item.time), item.in_call);
            program.act(recorded, item.action, speed);
            program.step(item);
        }
        program
    }

    /// Adds host time, either in a runtime call or outside of runtime calls.
    pub(super) fn host(&mut self, time: i64, in_call: bool) {
        if time == 0 {
            return;
        }
        match (self.line[self.part..].last_mut(), in_call) {
            (Some(Do::Host(last)), false) | (Some(Do::Call(last)), true) => *last += time,
            (_, false) => self.line.push(Do::Host(time)),
            (_, true) => self.line.push(Do::Call(time)),
        }
    }

    /// Ends a part of the line, and returns the position of the next part.
    pub(super) fn end_part(&mut self) -> usize {
        self.part = self.line.len();
        self.part
    }

    pub(super) fn act(&mut self, recorded: &'r Recorded, action: Action, speed: &impl Speed) {
        match action {
            Action::Nothing => {}
            Action::Launch(first, end) => {
                let start = self.works.len() as u32;
                for at in first..end {
                    self.push(recorded, at as usize, speed);
                }
                self.line.push(Do::Launch(start, self.works.len() as u32));
            }
            Action::Wait(at) => {
                let wait = &recorded.waits[at as usize];
                if speed.waits(wait.call) {
                    self.line.push(Do::Wait(self.waits.len() as u32));
                    self.waits.push((&wait.targets, speed.host(wait.latency)));
                }
            }
        }
    }

    pub(super) fn push(&mut self, recorded: &'r Recorded, at: usize, speed: &impl Speed) {
        let work = &recorded.works[at];
        self.works.push(PlayWork {
            time: speed.work(work.call, work.time),
            stream: work.stream,
            kind: work.kind,
            latency: work.latency,
            waits: work.waits,
            typical: &recorded.typical,
        });
    }

    pub(super) fn step(&mut self, item: &Item) {
        if let Point::Step(_) = item.point {
            self.line.push(Do::Step);
        }
    }

    /// Replays the program.
    pub(super) fn play(&self) -> Replayed {
        self.play_with(&mut |_| {})
    }

    /// Replays the program. Calls `seen` for each host time, for each GPU event (including what determined its
    /// start), and for each wait that delayed the host.
    pub(super) fn play_with(&self, seen: &mut impl FnMut(Seen)) -> Replayed {
        let mut state = State::of(self, 0);
        let mut steps = Vec::new();
        state.run(self, &self.line, &mut |part| match part {
            Seen::Step(end) => steps.push(end),
            Seen::Host { .. } | Seen::Work { .. } | Seen::Waited { .. } => seen(part),
        });
        Replayed { end: state.end(), steps }
    }
}

/// How far a replay has come; times are in ns since the start of the window.
#[derive(Debug, Clone)]
pub(super) struct State<'e> {
    /// Time at which the host continues.
    pub(super) now: i64,
    /// Time at which all work that was launched so far is done.
    pub(super) done: i64,
    /// What each stream does.
    pub(super) free: Vec<Free>,
    /// When the events on each stream end.
    pub(super) ends: Ends<'e>,
}

impl State<'static> {
    /// The state at the start of a program, for at least the given number of streams.
    pub(super) fn of(program: &Program<'_>, streams: usize) -> State<'static> {
        let of_works = program.works.iter().map(|work| work.stream as usize + 1).max().unwrap_or(0);
        let mut free = vec![Free::default(); streams.max(of_works).max(program.before.len())];
        for (free, before) in free.iter_mut().zip(&program.before) {
            free.at = *before;
        }
        let ends = Ends::new(free.len());
        State { now: 0, done: 0, free, ends }
    }
}

impl State<'_> {
    /// Time at which the host and all work are done.
    pub(super) fn end(&self) -> i64 {
        self.now.max(self.done)
    }

    /// Replays a part of a program.
    pub(super) fn run(&mut self, program: &Program<'_>, line: &[Do], seen: &mut impl FnMut(Seen)) {
        for &part in line {
            match part {
                Do::Host(time) | Do::Call(time) => {
                    self.now += time;
                    seen(Seen::Host { time, in_call: matches!(part, Do::Call(_)) });
                }
                Do::Launch(first, end) => {
                    for (work, at) in
                        program.works[first as usize..end as usize].iter().zip(first..)
                    {
                        let (start, bound) = self.begin(work);
                        let end = start + work.time;
                        seen(Seen::Work { at, start, end, bound });
                        self.free[work.stream as usize] =
                            Free { at: end, last: Some((at, work.kind)) };
                        self.ends.push(work.stream, (end, at));
                        self.done = self.done.max(end);
                    }
                }
                Do::Wait(at) => {
                    let (targets, latency) = program.waits[at as usize];
                    let mut by = None;
                    for target in targets {
                        if let Some((end, work)) = self.ends.back(*target)
                            && end + latency > self.now
                        {
                            (self.now, by) = (end + latency, Some(work));
                        }
                    }
                    if let Some(work) = by {
                        seen(Seen::Waited { work, latency });
                    }
                }
                Do::Step => seen(Seen::Step(self.end())),
            }
        }
    }

    /// The time at which a GPU event starts, and what determines this time.
    fn begin(&self, work: &PlayWork<'_>) -> (i64, Bound) {
        let free = self.free[work.stream as usize];
        let gap = free.last.map_or(0, |(_, kind)| work.typical.gap(kind, work.kind));
        let mut start = free.at + gap;
        let mut bound = Bound::Stream { after: free.last.map(|(at, _)| at) };
        if let Some(latency) = work.latency
            && self.now + latency >= start
        {
            (start, bound) = (self.now + latency, Bound::Launch { latency });
        }
        let crossing = work.typical.crossing(work.kind);
        if let Some((done, after)) = work.waits.and_then(|wait| self.ends.back(wait))
            && done + crossing > start
        {
            (start, bound) = (done + crossing, Bound::Crossing { after });
        }
        (start, bound)
    }
}

/// Time at which a stream becomes free, and the last event on the stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Free {
    pub(super) at: i64,
    pub(super) last: Option<(u32, WorkKind)>,
}

/// What determined when a GPU event started; times are in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// The event's launch, which happened `latency` before the event started.
    Launch { latency: i64 },
    /// The end of the previous event on the same stream; `None` if that event was launched before
    /// the window.
    Stream { after: Option<u32> },
    /// The end of an event on a different stream.
    Crossing { after: u32 },
}

/// What a replay reports to its callback; times are in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// The host ran for the given time.
    Host { time: i64, in_call: bool },
    /// A GPU event ran.
    Work { at: u32, start: i64, end: i64, bound: Bound },
    /// The host waited for a GPU event, and continued `latency` after the event ended.
    Waited { work: u32, latency: i64 },
    /// A step ended at the given time.
    Step(i64),
}

/// The times of the same work on both sides, as a fraction: how much slower the clock of a side is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock(pub(super) PerSide<i128>);

impl Clock {
    /// Both sides run equally fast.
    pub(super) const EQUAL: Clock = Clock(PerSide { baseline: 1, candidate: 1 });

    /// The time that work of the other side takes at the clock of a side.
    fn at(self, side: Side, time: i64) -> i64 {
        let (own, other) = (self.0[side].max(1), self.0[side.other()].max(1));
        ((2 * i128::from(time) * own + other) / (2 * other)) as i64
    }
}

/// Work of the other side, at the clock of this side.
pub(super) struct AtClock(pub(super) Clock, pub(super) Side);

impl Speed for AtClock {
    fn work(&self, _: CallId, time: i64) -> i64 {
        self.0.at(self.1, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a program that launches a kernel of 8 µs, works for `host` µs and waits for the kernel. Each
    /// latency takes 4 µs, so the kernel ends after 12 µs.
    fn waits_after(host: i64) -> i64 {
        let typical = Typical::default();
        let works = vec![PlayWork {
            time: 8_000,
            stream: 0,
            kind: WorkKind(0),
            latency: Some(4_000),
            waits: None,
            typical: &typical,
        }];
        let line = vec![Do::Launch(0, 1), Do::Host(1_000 * host), Do::Wait(0), Do::Step];
        let waits: Vec<(&[Behind], i64)> = vec![(&[Behind { stream: 0, back: 0 }], 4_000)];
        Program { line, works, waits, ..Program::default() }.play().end / 1_000
    }

    #[test]
    fn a_wait_ends_its_latency_after_the_kernel_unless_it_starts_later() {
        assert_eq!([1, 12, 14, 16, 17].map(waits_after), [16, 16, 16, 16, 17]);
    }
}
