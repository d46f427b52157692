//! Finds the times at which gaps are split if only some of the steps are compared.
//!
//! ```text
//! host   ├─ step 1, compared ──────┤ ├─ step 2, left out ─────┤
//! GPU       ├─ k ─┤                        ├─ k ─┤
//!                 └───────── gap ──────────┘
//!                 └─ of step 1 ───┘└─ of 2 ┘
//! ```
//! A gap is attributed to the work that ends the gap. If this work belongs to a step that is not compared,
//! the gap is split at the end of the preceding compared step. The first part of the gap is attributed to the
//! compared step, because the device would have waited until the end of that step even without a following
//! step.

use super::part::Part;
use crate::analysis::steps::StepPairs;
use crate::diff::TraceDiff;
use crate::program::StepId;
use crate::side::Side;
use crate::trace::Nanos;

/// A border between a compared step and a step that is not compared, in either order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Boundary {
    at: Nanos,
    before: Part,
    after: Part,
}

/// The boundaries of one side, sorted by time; empty if all steps are compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Boundaries(Vec<Boundary>);

impl Boundaries {
    pub(super) fn of(diff: &TraceDiff, side: Side, compared: &StepPairs) -> Boundaries {
        if !compared.is_partial() {
            return Boundaries::default();
        }
        let spans = diff.steps(side).spans();
        let mut steps: Vec<(Nanos, Nanos, Part)> = (0..)
            .map(StepId)
            .zip(spans)
            .map(|(step, span)| {
                let part = if compared.is_alone(side, step) { Part::Alone } else { Part::Window };
                (span.start, span.end, part)
            })
            .collect();
        steps.sort_unstable();
        let boundaries = steps.windows(2).filter(|two| two[0].2 != two[1].2).map(|two| {
            let (before, after) = (two[0].2, two[1].2);
            let at = if before == Part::Window { two[0].1 } else { two[1].0 };
            Boundary { at, before, after }
        });
        Boundaries(boundaries.collect())
    }

    /// Splits a gap that starts at `from`. The gap ends with work that belongs to `part` and was launched
    /// at `launched`. Returns the time of the split, and the part to which the time before the split is
    /// attributed; `None` if the gap is not split.
    pub(super) fn cut(&self, from: Nanos, launched: Nanos, part: Part) -> Option<(Nanos, Part)> {
        let is_inside = |b: &&Boundary| from < b.at && b.at <= launched && b.after == part;
        self.0.iter().rev().find(is_inside).map(|boundary| (boundary.at, boundary.before))
    }
}
