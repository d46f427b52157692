//! Prices every difference between the sides by replay: each call in the recording in which it exists.
//!
//! ```text
//! candidate   − added calls ─▶ − other kernels ─▶ − waits ─▶ − host ─▶ − pauses ─▶ − clock ─▶ almost the baseline
//! baseline    − removed calls ─▶ + other kernels ─▶ + waits ─▶ + host ─▶ + pauses ─▶ + clock ─▶ almost the candidate
//! ```
//! Added calls are removed from the candidate, and removed calls from the baseline. Everything else exists on both sides,
//! and its price is the mean of the exchange in both graphs. So if the sides are exchanged, each price changes its sign.

use super::effects::Replays;
use super::mix::{Changed, How, Mix, Taken};
use super::parts::Point;
use super::play::Clock;
use super::play::Program;
use super::reason::Reason;
use super::rest::{Part, Pause, Rest};
use super::scenario::Scenario;
use crate::analysis::account::Ledger;
use crate::analysis::changes::Changes;
use crate::analysis::comparability::Comparability;
use crate::analysis::porting::Porting;
use crate::analysis::pytorch::PYTORCH;
use crate::analysis::wall::Wall;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::Phase;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};
use std::cmp::Reverse;

/// The prices of everything that differs: candidate − baseline, per compared step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prices {
    /// The price of each change, by its position in [`Changes::list`](crate::analysis::changes::Changes::list). If
    /// there are very many changes, those with the smallest attributed times have no price of their own.
    pub of_changes: Vec<Option<Nanos>>,
    /// The price of all changes together, minus the sum of their prices.
    pub together: Nanos,
    /// What the host waits for besides the GPU.
    pub waits: Vec<WaitPrice>,
    /// The price of the host times of the same calls, without pauses.
    pub host: Nanos,
    /// The host times per step of each phase, without waits and pauses.
    pub phases: Vec<(Phase, PerSide<Nanos>)>,
    /// The price of all pauses.
    pub pauses: Nanos,
    /// The pauses in all compared steps, longest first.
    pub pause_list: Vec<HostPause>,
    /// The price of the durations of communication, which contain the time in which other ranks are waited for.
    pub communication: Nanos,
    /// The price of the durations of the same GPU events.
    pub clock: Nanos,
    /// The price of what the other device's hardware explains of all durations of GPU events; `None` if it explains
    /// nothing. It is part of the prices of the changes and of `clock`.
    pub hardware: Option<Nanos>,
}

/// A single long host time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPause {
    /// The time on each side.
    pub time: PerSide<Nanos>,
    /// The phase.
    pub phase: Phase,
    /// The op before which the host pauses, such as `before aten::slice`, or in which it pauses; empty if unknown.
    pub place: String,
}

/// The price of a range in which the host waits for something else than the GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitPrice {
    /// The name of the range, or what a known range waits for.
    pub name: String,
    /// The time in the range per step.
    pub time: PerSide<Nanos>,
    /// The price.
    pub price: Nanos,
}

impl WaitPrice {
    /// Whether it is known what this range waits for; otherwise, the name is that of a range of the program.
    pub fn is_known(&self) -> bool {
        PYTORCH.wait_for(&self.name).is_some()
    }

    /// What to try; empty if the range is not known.
    pub fn advice(&self) -> &'static str {
        PYTORCH.wait_for(&self.name).map_or("", |wait| wait.advice.as_str())
    }
}

impl Prices {
    pub(in crate::analysis) fn of(
        diff: &TraceDiff,
        ledger: &Ledger,
        wall: &Wall,
        comparability: &Comparability,
        changes: &Changes,
        porting: &Porting,
    ) -> Result<Prices, (Option<Side>, Reason)> {
        let replays = Replays::of(diff, ledger, wall, comparability, changes)?;
        let mix = replays.mix(diff, ledger, changes).at_clock(Clock(changes.same_kernel_times()));
        let mut prices = replays.prices(diff, &mix, changes);
        let factors = porting.hardware_factors(ledger.rows().len());
        prices.hardware = factors.map(|factors| replays.hardware(diff, ledger, &factors));
        Ok(prices)
    }
}

/// The lengths of the windows of both sides, one after each part that was exchanged.
type Ends = PerSide<i64>;

impl Replays {
    fn prices(&self, diff: &TraceDiff, mix: &Mix<'_>, changes: &Changes) -> Prices {
        let of_changes = self.prices_of_changes(mix, changes);
        let end = |program: &Program<'_>| program.play().end;
        let recorded = self.ends;
        let with = |how: How| -> Ends {
            let taken = Taken { changes: Changed::All, how, ..Taken::default() };
            PerSide::from_fn(|side| end(&mix.with(side, &taken)))
        };
        let has_changes = !changes.list().is_empty();
        let cut = if has_changes { with(How::Cut) } else { recorded };
        let rest = Rest::of(diff, mix, self.compared);
        let mut last: Ends = if has_changes {
            PerSide::from_fn(|side| end(&rest.with(side, Part::Changes)))
        } else {
            recorded
        };
        let all = self.price(difference(cut, recorded), difference(last, cut));
        let mut next = |part: Part| -> Nanos {
            if !rest.has(part) {
                return Nanos::ZERO;
            }
            let ends = PerSide::from_fn(|side| end(&rest.with(side, part)));
            let price = self.price(PerSide::default(), difference(ends, last));
            last = ends;
            price
        };
        let _before = next(Part::Before);
        let per_step =
            |time: PerSide<i64>| PerSide::from_fn(|side| Nanos(time[side] / self.compared[side]));
        let waits = rest.ranges.iter().enumerate().map(|(at, range)| WaitPrice {
            name: range.name.clone(),
            time: per_step(range.time),
            price: next(Part::Wait(at)),
        });
        let waits = waits.collect();
        let (host, pauses) = (next(Part::Host), next(Part::Pauses));
        let (communication, clock) = (next(Part::Communication), next(Part::Clock));
        let mut pauses_of: Vec<&Pause> = rest.pauses.iter().collect();
        pauses_of.order_by_key(|pause| {
            (Reverse((pause.time.candidate - pause.time.baseline).abs()), pause.phase, pause.until)
        });
        let pause = |&Pause { phase, time, until }: &Pause| HostPause {
            time: time.map(Nanos),
            phase,
            place: until.map_or_else(String::new, |until| place(diff.tree(Side::Baseline), until)),
        };
        let pause_list = pauses_of.into_iter().map(pause).collect();
        let sum: Nanos = of_changes.iter().flatten().copied().sum();
        Prices {
            of_changes,
            together: all - sum,
            waits,
            host,
            phases: rest.phases.iter().map(|&(phase, time)| (phase, per_step(time))).collect(),
            pauses,
            pause_list,
            communication,
            clock,
            hardware: None,
        }
    }

    /// The price of other durations of all GPU events. `factors` contains the factor of each attribution row.
    fn hardware(&self, diff: &TraceDiff, ledger: &Ledger, factors: &PerSide<Vec<f64>>) -> Nanos {
        let with = PerSide::from_fn(|side| {
            let factor = |call| {
                let row = ledger.row_index(diff, side, call);
                row.map_or(1.0, |row| factors[side][row])
            };
            let scenario = Scenario { work: &factor, ..Scenario::RECORDED };
            self.recorded[side].replay(&scenario).end
        });
        self.price(PerSide::default(), difference(with, self.ends))
    }

    /// The price per step: what the baseline gains and what the candidate loses if a part is exchanged. `cut` is counted
    /// on both sides, and the mean of both sides is counted of `swapped`.
    fn price(&self, cut: PerSide<i64>, swapped: PerSide<i64>) -> Nanos {
        let steps = self.compared.map(i128::from);
        let gain = |side: Side| 2 * i128::from(cut[side]) + i128::from(swapped[side]);
        let gained =
            gain(Side::Baseline) * steps.candidate - gain(Side::Candidate) * steps.baseline;
        Nanos((gained / (2 * steps.baseline * steps.candidate)) as i64)
    }

    /// The price of each change on its own.
    fn prices_of_changes(&self, mix: &Mix<'_>, changes: &Changes) -> Vec<Option<Nanos>> {
        self.of_each(mix, changes, |parts, later| {
            let (mut cut, mut swapped) = (PerSide::default(), PerSide::default());
            for side in Side::BOTH {
                if parts.is_cut[side] {
                    cut[side] = later(side, How::Cut)?;
                }
                if parts.is_swapped {
                    swapped[side] = later(side, How::CutAndSwap)? - cut[side];
                }
            }
            Some(self.price(cut, swapped))
        })
    }
}

/// Where the host is before a point: `before aten::slice`, or `in aten::slice`; empty outside of ops.
fn place(tree: &CallTree, point: Point) -> String {
    let above = |call: CallId| {
        let op = std::iter::successors(Some(call), |&call| tree.parent(call));
        op.into_iter().find(|&call| tree.kind(call) == CallKind::Op)
    };
    match point {
        Point::Start(call) if tree.kind(call) == CallKind::Op => {
            format!("before {}", tree.name(call))
        }
        Point::Start(call) | Point::End(call) => {
            above(call).map_or_else(String::new, |op| format!("in {}", tree.name(op)))
        }
        Point::Step(_) => String::new(),
    }
}

fn difference(after: Ends, before: Ends) -> PerSide<i64> {
    PerSide::from_fn(|side| after[side] - before[side])
}
