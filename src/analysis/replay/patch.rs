//! Replays a side with one change taken from the other side, without replaying what the change does not affect.
//!
//! ```text
//! unchanged  ├───── kept ─────┼──┼──┼──┼────────── kept ──────────┼──┼──┼─────┤ end
//! changed          from here ─▶ c  c   until both agree again       ─▶ c
//! ```
//! The unchanged side is replayed once, and its state is kept at regular points. A change is replayed from the last
//! point before it. As soon as the state differs from the kept one only by a constant time, everything up to the next
//! part of the change happens later by this time. The result is the same as that of a whole replay.

use super::ends::{Ends, Lists};
use super::mix::{Changed, How, Mix, Taken};
use super::parts::Behind;
use super::play::{Free, Program, State};
use super::recorded::Recorded;
use crate::side::{PerSide, Side};

/// Number of parts between two kept states.
const EVERY: usize = 16;

/// The replay of a side without any change, with its states at regular points.
#[derive(Debug)]
pub(super) struct Unchanged<'m, 'r> {
    mix: &'m Mix<'r>,
    side: Side,
    program: Program<'r>,
    /// The position in the program's line at which each part starts, and at which the last one ends.
    starts: Vec<usize>,
    points: Vec<Kept>,
    lists: Lists,
    end: i64,
    reach: Reach,
}

/// The state of a replay at a point.
#[derive(Debug)]
struct Kept {
    now: i64,
    done: i64,
    free: Vec<Free>,
    /// The number of events of each stream so far.
    counts: Vec<u32>,
}

/// How long something that is over can affect what follows.
#[derive(Debug, Clone, Copy)]
struct Reach {
    /// An event that ended this many ns before the current host time delays nothing.
    time: i64,
    /// Whether events without a launch exist. They start when the previous event ends, however long ago that was.
    has_unlaunched: bool,
}

impl Reach {
    fn of(sides: PerSide<&Recorded>) -> Reach {
        let of = |recorded: &Recorded| {
            let latencies = recorded.works.iter().filter_map(|work| work.latency);
            let earliest = latencies.min().unwrap_or(0).min(0);
            let waits = recorded.waits.iter().map(|wait| wait.latency);
            recorded.typical.longest().max(waits.max().unwrap_or(0)) - earliest
        };
        let PerSide { baseline, candidate } = sides;
        let mut works = baseline.works.iter().chain(&candidate.works);
        let has_unlaunched = works.any(|work| work.latency.is_none());
        Reach { time: of(baseline).max(of(candidate)), has_unlaunched }
    }
}

impl<'m, 'r> Unchanged<'m, 'r> {
    /// Replays a side.
    pub(super) fn of(mix: &'m Mix<'r>, side: Side) -> Unchanged<'m, 'r> {
        let mut program = mix.start(side);
        let mut starts = Vec::with_capacity(mix.len() + 1);
        for part in 0..mix.len() {
            starts.push(program.end_part());
            mix.part(side, part, &Taken::default(), &mut program);
        }
        starts.push(program.end_part());
        let mut state = State::of(&program, mix.streams());
        let mut points = Vec::with_capacity(mix.len() / EVERY + 1);
        for first in (0..mix.len()).step_by(EVERY) {
            let counts = state.ends.counts().collect();
            let free = state.free.clone();
            points.push(Kept { now: state.now, done: state.done, free, counts });
            let next = (first + EVERY).min(mix.len());
            state.run(&program, &program.line[starts[first]..starts[next]], &mut |_| {});
        }
        let end = state.end();
        let reach = Reach::of(mix.sides);
        Unchanged { mix, side, program, starts, points, lists: state.ends.into_lists(), end, reach }
    }

    /// Time at which everything is done if one change is taken from the other side, minus the same time without it.
    /// `parts` are the parts of the change. `budget` becomes smaller by the number of replayed parts; returns
    /// `None` if it does not suffice.
    pub(super) fn effect(
        &self,
        (change, how): (u32, How),
        parts: &[u32],
        budget: &mut usize,
    ) -> Option<i64> {
        let taken = Taken { changes: Changed::One(change), how, ..Taken::default() };
        let mut left = parts;
        let mut shift = 0;
        while let [first, ..] = left {
            let mut at = *first as usize / EVERY * EVERY;
            let mut state = self.points[at / EVERY].later(&self.lists, shift);
            loop {
                *budget = budget.checked_sub(1)?;
                match left {
                    [first, rest @ ..] if *first as usize == at => {
                        let mut program = Program::default();
                        self.mix.part(self.side, at, &taken, &mut program);
                        state.run(&program, &program.line, &mut |_| {});
                        left = rest;
                    }
                    _ => {
                        let line = &self.program.line[self.starts[at]..self.starts[at + 1]];
                        state.run(&self.program, line, &mut |_| {});
                    }
                }
                at += 1;
                if at == self.mix.len() {
                    return Some(state.end() - self.end);
                }
                if at.is_multiple_of(EVERY)
                    && let Some(later) = self.agrees(&state, at / EVERY)
                {
                    shift = later;
                    break;
                }
            }
        }
        Some(shift)
    }

    /// If a state differs from the kept one only by a constant time, returns this time.
    fn agrees(&self, state: &State<'_>, point: usize) -> Option<i64> {
        let kept = &self.points[point];
        let shift = state.now - kept.now;
        let is_over = |end: i64| end + self.reach.time <= kept.now;
        let agree =
            |own: i64, kept: i64| own - shift == kept || (is_over(own - shift) && is_over(kept));
        let is_free = |(own, kept): (&Free, &Free)| {
            let are_equal = own.at - shift == kept.at;
            let kind = |free: &Free| free.last.map(|(_, kind)| kind);
            let is_idle = || is_over(own.at - shift) && is_over(kept.at);
            (are_equal && kind(own) == kind(kept)) || (!self.reach.has_unlaunched && is_idle())
        };
        let agrees = agree(state.done, kept.done)
            && state.free.iter().zip(&kept.free).all(is_free)
            && (0..kept.counts.len() as u32).all(|stream| {
                let kept = Ends::after(&self.lists, &kept.counts, 0);
                let events = (0..).map(|back| Behind { stream, back });
                let pairs = events.map(|event| (state.ends.back(event), kept.back(event)));
                let ends = |end: Option<(i64, u32)>| end.map_or(i64::MIN / 4, |(end, _)| end);
                pairs
                    .map(|(own, kept)| (ends(own) - shift, ends(kept)))
                    .find(|&(own, kept)| own != kept || is_over(kept))
                    .is_none_or(|(own, kept)| is_over(own) && is_over(kept))
            });
        agrees.then_some(shift)
    }
}

impl Kept {
    /// This state, if everything so far happened `shift` ns later.
    fn later<'e>(&'e self, lists: &'e Lists, shift: i64) -> State<'e> {
        let later = |free: &Free| Free { at: free.at + shift, ..*free };
        State {
            now: self.now + shift,
            done: self.done + shift,
            free: self.free.iter().map(later).collect(),
            ends: Ends::after(lists, &self.counts, shift),
        }
    }
}
