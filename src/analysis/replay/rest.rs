//! Exchanges what differs between two graphs although the program is the same: waits, host times, pauses and the durations
//! of the same kernels.
//!
//! ```text
//! baseline  + changes ─▶ + waits ─▶ + host ─▶ + pauses ─▶ + clock ─▶ almost the candidate
//! candidate − changes ─▶ − waits ─▶ − host ─▶ − pauses ─▶ − clock ─▶ almost the baseline
//! ```

use super::gaps::{Gaps, gaps};
use super::mix::Mix;
use super::parts::{Item, Point};
use super::play::Clock;
use super::play::{AsRecorded, Program};
use super::segments::Segment;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::{Communication, Phase};
use crate::side::{PerSide, Side};
use std::cmp::Reverse;

/// A host time is a pause if it is longer than this, in ns, …
const PAUSE: i64 = 100_000;
/// … and this many times as long as on the other side.
const TIMES: i128 = 4;
/// Maximum number of ranges in which the host waits that are priced on their own.
const RANGES: usize = 4;
/// A range is only priced if its time differs by this much per step, in ns.
const LEAST: i64 = 20_000;

/// The parts that are exchanged, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Nothing but the changes.
    Changes,
    /// What the GPU still ran when the first step began.
    Before,
    /// The time in the range with this number, and in those before it.
    Wait(usize),
    /// The host times of each phase, without pauses.
    Host,
    /// Single long host times.
    Pauses,
    /// The durations of communication.
    Communication,
    /// The durations of all other GPU events of matched calls.
    Clock,
}

/// The host times of a segment on both sides, by what the host does.
#[derive(Debug, Default)]
struct Times {
    host: PerSide<i64>,
    /// The ranges in which the host waits, as positions in [`Rest::ranges`].
    waits: Vec<(usize, PerSide<i64>)>,
    phase: Option<Phase>,
    /// The matched point that ends the segment, in the baseline.
    until: Option<Point>,
    is_pause: bool,
    /// Whether the segment contains steps that are not compared.
    is_other: bool,
}

/// A range in which the host waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) name: String,
    /// The time in the range in all compared steps.
    pub(super) time: PerSide<i64>,
}

/// A host time that is much longer than on the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) time: PerSide<i64>,
    pub(super) phase: Phase,
    /// The matched point before which the host pauses, in the baseline.
    pub(super) until: Option<Point>,
}

/// What differs between the graphs of both sides after all changes.
#[derive(Debug)]
pub(super) struct Rest<'m, 'r> {
    mix: &'m Mix<'r>,
    segments: Vec<Times>,
    /// The ranges that are priced on their own, largest difference first.
    pub(super) ranges: Vec<Range>,
    pub(super) pauses: Vec<Pause>,
    /// The host times of each phase, without pauses and ranges, in all compared steps.
    pub(super) phases: Vec<(Phase, PerSide<i64>)>,
    /// Whether each GPU event is communication.
    is_communication: PerSide<Vec<bool>>,
}

impl<'m, 'r> Rest<'m, 'r> {
    /// Finds what differs. `compared` is the number of compared steps of each side.
    pub(super) fn of(diff: &TraceDiff, mix: &'m Mix<'r>, compared: PerSide<i64>) -> Rest<'m, 'r> {
        let (gaps, names) = gaps(diff, mix.sides);
        let mut segments: Vec<Times> =
            mix.segments.iter().map(|segment| times(mix, &segment, &gaps)).collect();
        let mut sums = vec![PerSide::<i64>::default(); names.len()];
        for (range, time) in segments.iter().flat_map(|times| &times.waits) {
            for side in Side::BOTH {
                sums[*range][side] += time[side];
            }
        }
        let difference = |time: &PerSide<i64>| {
            time.candidate / compared.candidate - time.baseline / compared.baseline
        };
        let mut chosen: Vec<usize> =
            (0..names.len()).filter(|&at| difference(&sums[at]).abs() >= LEAST).collect();
        chosen.order_by_key(|&at| (Reverse(difference(&sums[at]).abs()), at));
        chosen.truncate(RANGES);
        for times in &mut segments {
            for (range, time) in std::mem::take(&mut times.waits) {
                match chosen.iter().position(|&at| at == range) {
                    Some(at) => times.waits.push((at, time)),
                    None => {
                        for side in Side::BOTH {
                            times.host[side] += time[side];
                        }
                    }
                }
            }
        }
        let ranges = chosen.iter().map(|&at| Range { name: names[at].clone(), time: sums[at] });
        let ranges = ranges.collect();
        let pauses = find_pauses(&mut segments);
        let mut phases: Vec<(Phase, PerSide<i64>)> = Vec::new();
        for times in segments.iter().filter(|times| !times.is_pause && !times.is_other) {
            let phase = times.phase.unwrap_or(Phase::Unknown);
            let at = phases.iter().position(|(known, _)| *known == phase).unwrap_or_else(|| {
                phases.push((phase, PerSide::default()));
                phases.len() - 1
            });
            for side in Side::BOTH {
                phases[at].1[side] += times.host[side];
            }
        }
        phases.order_by_key(|&(phase, _)| phase);
        let is_communication = PerSide::from_fn(|side| {
            let communication: &Communication = diff.program(side).communication();
            let works = mix.sides[side].works.iter();
            works.map(|work| communication.is(diff.tree(side), work.call)).collect()
        });
        Rest { mix, segments, ranges, pauses, phases, is_communication }
    }

    /// Whether a part differs at all, so that it has to be replayed.
    pub(super) fn has(&self, part: Part) -> bool {
        match part {
            Part::Changes | Part::Host | Part::Clock => true,
            Part::Before => {
                let before = self.mix.sides.map(|side| &side.before);
                before.baseline != before.candidate
            }
            Part::Wait(at) => at < self.ranges.len(),
            Part::Pauses => !self.pauses.is_empty(),
            Part::Communication => {
                Side::BOTH.iter().any(|&side| self.is_communication[side].contains(&true))
            }
        }
    }

    /// The graph of a side with all changes and all parts up to `last` taken from the other side.
    pub(super) fn with(&self, side: Side, last: Part) -> Program<'r> {
        let from = if last >= Part::Before { side.other() } else { side };
        let mut program = self.mix.start(from);
        for (segment, times) in self.mix.segments.iter().zip(&self.segments) {
            self.segment(side, last, (&segment, times), &mut program);
        }
        program
    }

    fn segment(
        &self,
        side: Side,
        last: Part,
        (segment, times): (&Segment, &Times),
        program: &mut Program<'r>,
    ) {
        let other = side.other();
        let of = |is_taken: bool, time: PerSide<i64>| time[if is_taken { other } else { side }];
        let part = if times.is_pause { Part::Pauses } else { Part::Host };
        let waits = times.waits.iter();
        let wanted: i64 = waits.map(|&(at, time)| of(last >= Part::Wait(at), time)).sum::<i64>()
            + of(last >= part, times.host);
        let recorded: i64 =
            times.waits.iter().map(|(_, time)| time[side]).sum::<i64>() + times.host[side];
        let wanted = if times.is_other { recorded } else { wanted };
        let mut given = Given { recorded, wanted, so_far: 0, put: 0 };
        let (own, others) = (self.mix.sides[side], self.mix.sides[other]);
        for at in segment.inner(side) {
            let (point, time) = self.mix.change(side, at);
            let item = &own.items[at];
            if time.is_none() {
                program.host(given.next(item.time), item.in_call);
            }
            if point.is_none() {
                program.act(own, item.action, &AsRecorded);
                program.step(item);
            }
        }
        let is_clock = last >= Part::Clock;
        let clock = if is_clock { Clock::EQUAL } else { self.mix.clock };
        self.mix.swap(side, segment, clock, |_| true, program);
        let Some([at, other_at]) = segment.anchors(side) else {
            program.host(given.rest(), false);
            return;
        };
        let (item, other_item) = (own.items[at], others.items[other_at]);
        if self.mix.is_anchor_changed(side, segment) {
            program.host(given.rest(), false);
            program.host(other_item.time, item.in_call);
        } else {
            program.host(given.rest(), item.in_call);
        }
        let is_taken = |change: Option<u32>, has_equal: bool, of: Side, at: usize| match change {
            Some(_) => true,
            None if self.is_communication[of][at] => has_equal && last >= Part::Communication,
            None => has_equal && is_clock,
        };
        self.mix.point((side, item, other_item), clock, is_taken, program);
    }
}

/// Divides the time that a segment shall take among its items, in proportion to their own times.
struct Given {
    recorded: i64,
    wanted: i64,
    so_far: i64,
    put: i64,
}

impl Given {
    /// The time of the next item.
    fn next(&mut self, time: i64) -> i64 {
        self.so_far += time;
        let until = match self.recorded {
            0 => 0,
            all => (i128::from(self.so_far) * i128::from(self.wanted) / i128::from(all)) as i64,
        };
        let time = until - self.put;
        self.put = until;
        time
    }

    /// The time that is left for the last item.
    fn rest(&mut self) -> i64 {
        let left = self.wanted - self.put;
        self.put = self.wanted;
        left
    }
}

fn times(mix: &Mix<'_>, segment: &Segment, gaps: &PerSide<Gaps>) -> Times {
    let mut times = Times::default();
    let is_anchor_changed = mix.is_anchor_changed(Side::Baseline, segment);
    let mut phases = PerSide::<Option<Phase>>::default();
    for side in Side::BOTH {
        let inner = segment.inner(side);
        for at in segment.items[side].clone() {
            let item: &Item = &mix.sides[side].items[at];
            let is_inner = inner.contains(&at);
            if !is_inner {
                phases[side] = gaps[side].phases.get(at).copied();
            }
            times.is_other |= is_inner && matches!(item.point, Point::Step(_));
            let is_kept =
                if is_inner { mix.change(side, at).1.is_none() } else { !is_anchor_changed };
            if !is_kept {
                continue;
            }
            let mut host = item.time;
            let waits = &gaps[side].waits;
            let first = waits.partition_point(|&(of, ..)| (of as usize) < at);
            for &(_, range, time) in
                waits[first..].iter().take_while(|&&(of, ..)| of as usize == at)
            {
                host -= time;
                let range = usize::from(range);
                let known = times.waits.iter().position(|(known, _)| *known == range);
                let known = known.unwrap_or_else(|| {
                    times.waits.push((range, PerSide::default()));
                    times.waits.len() - 1
                });
                times.waits[known].1[side] += time;
            }
            times.host[side] += host;
        }
    }
    times.phase = if phases.baseline == phases.candidate { phases.baseline } else { None };
    let items = &mix.sides.baseline.items;
    times.until = segment.anchors(Side::Baseline).map(|[own, _]| items[own].point);
    times
}

/// Marks the segments with a host time that is much longer than that of the other side.
fn find_pauses(segments: &mut [Times]) -> Vec<Pause> {
    let mut usual: Vec<PerSide<i128>> = vec![PerSide::default(); Phase::ALL.len()];
    let phase = |times: &Times| times.phase.unwrap_or(Phase::Unknown);
    for times in segments.iter().filter(|times| !times.is_other) {
        if Side::BOTH.iter().all(|&side| times.host[side] < PAUSE) {
            for side in Side::BOTH {
                usual[phase(times) as usize][side] += i128::from(times.host[side]);
            }
        }
    }
    let mut pauses = Vec::new();
    for times in segments.iter_mut().filter(|times| !times.is_other) {
        let usual = usual[phase(times) as usize].map(|time| time.max(1));
        let is_longer = |side: Side| {
            let other = side.other();
            let expected = i128::from(times.host[other]) * usual[side];
            times.host[side] > PAUSE
                && i128::from(times.host[side]) * usual[other] > TIMES * expected
        };
        if Side::BOTH.into_iter().any(is_longer) {
            times.is_pause = true;
            pauses.push(Pause { time: times.host, phase: phase(times), until: times.until });
        }
    }
    pauses
}
