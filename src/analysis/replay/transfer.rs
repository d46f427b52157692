//! Builds the baseline's graph with the candidate's durations.

use super::mix::Mix;
use super::parts::{Action, Item, Work};
use super::play::{PlayWork, Program, Speed};
use super::recorded::Recorded;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

impl<'r> Mix<'r> {
    /// Builds the baseline's graph with the candidate's durations. If the programs have the same structure, a
    /// replay of this graph should reproduce the candidate's step time. In each segment, the GPU time of the
    /// candidate is divided among the GPU events of the baseline.
    pub(super) fn transferred(&self) -> Program<'r> {
        let PerSide { baseline, candidate } = self.sides();
        let mut program = Program { before: baseline.before.clone(), ..Program::default() };
        for (own, other) in program.before.iter_mut().zip(&candidate.before) {
            *own = *other;
        }
        let is_crossing = baseline.is_crossing;
        let mut lost = 0;
        for segment in self.segments().iter() {
            let [own, other] =
                Side::BOTH.map(|side| &self.sides()[side].items[segment.items[side].clone()]);
            let split = |items: usize| items - usize::from(segment.is_anchored);
            let (inner, anchor) = own.split_at(split(own.len()));
            let (other_inner, other_anchor) = other.split_at(split(other.len()));
            let sum = |items: &[Item]| items.iter().map(|item| item.time).sum::<i64>();
            let (have, want) = (sum(own), sum(other));
            let host = |time: i64| match have {
                0 => 0,
                _ => (time as f64 * want as f64 / have as f64).round() as i64,
            };
            for (items, others) in [(inner, other_inner), (anchor, other_anchor)] {
                let given = items.iter().map(|item| launched(baseline, item, false)).sum::<i64>();
                let wanted =
                    |busy| others.iter().map(|item| launched(candidate, item, busy)).sum::<i64>();
                let wanted = wanted(!is_crossing) + std::mem::take(&mut lost);
                if given == 0 {
                    lost = wanted;
                }
                for item in items {
                    program.host(host(item.time), item.in_call);
                    let first = program.works.len();
                    program.act(baseline, item.action, &Share { wanted, given });
                    for work in &mut program.works[first..] {
                        self.retune(work);
                    }
                    program.step(item);
                }
            }
            if have == 0
                && let Some(item) = own.last()
            {
                program.host(want, item.in_call);
            }
        }
        program
    }

    /// Adapts the latency of a baseline GPU event and the gap before it to the candidate's typical values.
    fn retune(&self, work: &mut PlayWork<'r>) {
        work.typical = &self.sides().candidate.typical;
        work.is_apart = !self.sides().baseline.is_crossing;
        work.latency = work.latency.map(|latency| {
            let usual = |side: Side| self.sides()[side].typical.usual_latency();
            latency + usual(Side::Candidate) - usual(Side::Baseline)
        });
    }
}

/// Divides a total time among GPU events in proportion to their recorded times.
struct Share {
    wanted: i64,
    given: i64,
}

impl Speed for Share {
    fn host(&self, time: i64) -> i64 {
        time
    }

    fn work(&self, _: CallId, time: i64) -> i64 {
        match self.given {
            0 => time,
            given => (time as f64 * self.wanted as f64 / given as f64).round() as i64,
        }
    }

    fn waits(&self, _: CallId) -> bool {
        true
    }
}

/// The total duration of the GPU events that an item launches or, if `is_busy` is set, their total busy time.
fn launched(recorded: &Recorded, item: &Item, is_busy: bool) -> i64 {
    let time = |work: &Work| if is_busy { work.busy } else { work.time };
    match item.action {
        Action::Launch(first, end) => {
            recorded.works[first as usize..end as usize].iter().map(time).sum()
        }
        Action::Nothing | Action::Wait(_) => 0,
    }
}
