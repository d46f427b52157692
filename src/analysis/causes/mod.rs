//! Explains the difference in [`Wall`] time as a list of causes that add up to this difference.
//!
//! ```text
//! busy time of rows   ─ op, module class, shapes ─┐
//! idle time of calls  ─ rolled up to the call ────┼─▶ causes, the largest first
//! before the window   ────────────────────────────┘
//! ```
//! Every nanosecond of the compared steps, and of other GPU work in the windows of these steps, is assigned to exactly
//! one entry: busy time to an attribution row, idle time to a call, and all other work to the entry `before_window`. An
//! entry is a cause if its time differs between the sides. All causes except `before_window` therefore add up exactly
//! to the wall-time difference of the steps.
//!
//! If one trace has more steps, the causes cover only the steps that have a counterpart. The reason is that the time of
//! a call in two steps cannot be compared with its time in five steps.

mod by_step;
mod cause;
mod clock;
mod evidence;
mod gpu;
mod host;
mod merge;
mod places;
mod reason;
mod scale;

use crate::analysis::account::Ledger;
use crate::analysis::efficiency::TraceEfficiency;
use crate::analysis::runs::Run;
use crate::analysis::steps::StepPairs;
use crate::diff::TraceDiff;
use crate::order::Order as _;
pub use cause::Cause;
pub use reason::Reason;

use super::fusion::FusionRow;
use super::wall::{IdleKind, Wall, WallTotals};
use crate::side::PerSide;
use crate::trace::Nanos;
use by_step::ByStep;
use places::Places;
pub(super) use scale::Scale;

/// The causes of the wall-time difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Causes {
    scale: Scale,
    list: Vec<Cause>,
}

impl Causes {
    pub(super) fn of(
        diff: &TraceDiff,
        ledger: &Ledger,
        compared: &StepPairs,
        wall: &Wall,
        runs: &PerSide<Vec<Run>>,
        efficiency: &PerSide<TraceEfficiency>,
        fusions: &[FusionRow],
    ) -> Causes {
        let scale = Scale::of(wall);
        let mut list: Vec<Cause> = gpu::parts(diff, ledger, compared, wall, efficiency)
            .iter()
            .map(|part| evidence::of_part(diff, ledger, wall, part, (scale, fusions)))
            .collect();
        list.retain(|cause| scale.difference(cause.time) != 0);
        clock::merge(&mut list, scale);
        list.extend(idle_causes(diff, runs, wall, scale));
        list.extend(before_window(wall, scale));
        merge::small_ones(&mut list, scale);
        let exact = |cause: &Cause| scale.difference(cause.time);
        list.order_by(|a, b| {
            let size = |cause: &Cause| std::cmp::Reverse(exact(cause).abs());
            let name = |cause: &Cause| (cause.reason, cause.place.clone(), cause.module.clone());
            size(a).cmp(&size(b)).then_with(|| name(a).cmp(&name(b))).then(a.node.cmp(&b.node))
        });
        let differences = scale.round_all(&list.iter().map(exact).collect::<Vec<i128>>());
        for (cause, difference) in list.iter_mut().zip(differences) {
            cause.difference = difference;
            cause.few = std::mem::take(&mut cause.by_step).few(diff, compared);
            if let Some(few) = cause.few {
                cause.evidence += &format!("; {}", few.words("steps"));
            }
        }
        Causes { scale, list }
    }

    /// All causes, largest first.
    pub fn list(&self) -> &[Cause] {
        &self.list
    }

    /// Number of steps that the causes cover, for each side. If one side has more steps, only steps with a counterpart
    /// are covered. The number is 1 if the windows are compared as a whole.
    pub fn steps(&self) -> PerSide<u64> {
        self.scale.steps
    }

    /// Sum of the costs of all causes: candidate − baseline per step, for the compared steps and for other GPU work in
    /// their windows.
    pub fn difference(&self) -> Nanos {
        self.list.iter().map(|cause| cause.difference).sum()
    }

    /// The causes that a report shows first: the largest causes that together account for nine tenths of the sum of all
    /// absolute differences, but at least three and at most seven causes.
    #[doc(hidden)]
    pub fn leading(&self) -> &[Cause] {
        let gross =
            |list: &[Cause]| -> i64 { list.iter().map(|cause| cause.difference.0.abs()).sum() };
        let all = gross(&self.list);
        let enough = (0..=self.list.len()).find(|&n| 10 * gross(&self.list[..n]) >= 9 * all);
        &self.list[..enough.unwrap_or(0).clamp(3, 7).min(self.list.len())]
    }

    /// Whether the causes add up exactly: all causes except `before_window` to the difference between the compared
    /// steps, and all causes together to the difference between the whole windows.
    pub fn is_exact(&self, wall: &Wall) -> bool {
        let scale = self.scale;
        let sum = |is_in: fn(Reason) -> bool| -> i128 {
            let causes = self.list.iter().filter(|cause| is_in(cause.reason));
            causes.map(|cause| scale.difference(cause.time)).sum()
        };
        let difference = |time: fn(&WallTotals) -> Nanos| {
            scale.difference(PerSide::from_fn(|side| time(&wall.totals(side))))
        };
        sum(|reason| reason != Reason::BeforeWindow) == difference(WallTotals::own)
            && sum(|reason| reason == Reason::BeforeWindow) == difference(|totals| totals.before)
            && self.difference() == scale.round(sum(|_| true))
    }
}

/// The causes of idle time, grouped by kind.
fn idle_causes(
    diff: &TraceDiff,
    runs: &PerSide<Vec<Run>>,
    wall: &Wall,
    scale: Scale,
) -> Vec<Cause> {
    let mut places = Places::new(diff);
    let mut parts = Vec::new();
    for kind in IdleKind::ALL {
        let of_kind = host::roll_up(wall.idle(), kind, &mut places, scale);
        parts.extend(of_kind.into_iter().map(|part| (kind, part)));
    }
    let nodes = places.nodes();
    host::add_runs(&mut parts, diff, runs, &mut places);
    parts.retain(|(_, part)| scale.difference(part.time) != 0);
    let cause = |(kind, part): &(IdleKind, host::IdlePart)| {
        let place = part.place.map(|place| &places.all()[place.index()]);
        let above = place.and_then(|place| place.above);
        let above = above.map(|above| places.all()[above.index()].node);
        let nodes = part.place.map_or_else(Vec::new, |place| nodes[place.index()].clone());
        evidence::of_idle(diff, *kind, (place, above), part, nodes, scale)
    };
    parts.iter().map(cause).collect()
}

fn before_window(wall: &Wall, scale: Scale) -> Option<Cause> {
    let time = PerSide::from_fn(|side| wall.totals(side).before);
    (scale.difference(time) != 0).then(|| Cause {
        reason: Reason::BeforeWindow,
        place: "(launched before the window)".to_owned(),
        module: String::new(),
        arguments: PerSide::default(),
        node: None,
        nodes: Vec::new(),
        rows: Vec::new(),
        time,
        count: PerSide::default(),
        idle_of_runs: PerSide::default(),
        difference: Nanos::ZERO,
        evidence:
            "the window contains GPU work that was launched before the first step and is not part of any step"
                .to_owned(),
        kernels: PerSide::default(),
        few: None,
        by_step: ByStep::default(),
    })
}
