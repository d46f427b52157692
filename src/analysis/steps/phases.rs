//! Computes the times of each phase on both sides.

use super::{Figures, has_any, measured_figures};
use crate::analysis::account::Ledger;
use crate::diff::TraceDiff;
use crate::program::{Phase, Phases, StepSpan};
use crate::side::{PerSide, Side};
use crate::tree::CallId;

/// A row of the phases table: a phase on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseRow {
    /// The phase.
    pub phase: Phase,
    /// Times and counts for the work in the phase.
    pub figures: PerSide<Figures>,
    /// The measured events in the phase.
    pub events: PerSide<Vec<CallId>>,
}

/// The phases that occur on either side, in the order of [`Phase::ALL`]. On each side, the times of all rows
/// add up to the total time.
pub fn phase_rows(diff: &TraceDiff, ledger: &Ledger) -> Vec<PhaseRow> {
    let phases = PerSide::from_fn(|side| diff.phases(side));
    let figures = PerSide::from_fn(|side| phase_figures(diff, ledger, side, phases[side]));
    Phase::ALL
        .into_iter()
        .enumerate()
        .map(|(at, phase)| PhaseRow {
            phase,
            figures: PerSide::from_fn(|side| figures[side][at]),
            events: PerSide::from_fn(|side| {
                let calls = ledger.calls(side).iter().copied();
                calls.filter(|&call| phases[side].phase(call) == phase).collect()
            }),
        })
        .filter(|row| Side::BOTH.iter().any(|&side| has_any(&row.figures[side])))
        .collect()
}

pub(super) fn phase_figures(
    diff: &TraceDiff,
    ledger: &Ledger,
    side: Side,
    phases: &Phases,
) -> Vec<Figures> {
    let steps = diff.steps(side);
    let group = |call: CallId| phases.phase(call) as usize;
    let mut figures = measured_figures(diff, ledger, side, steps, Phase::ALL.len(), group);
    for (at, figures) in figures.iter_mut().enumerate() {
        let of_phase = |step: &&StepSpan| step.phase == Some(Phase::ALL[at]);
        let tokens: Option<u64> =
            steps.spans().iter().filter(of_phase).map(|step| step.tokens).sum();
        figures.tokens = tokens.filter(|&tokens| tokens > 0);
        figures.steps = steps.len() as u64;
    }
    figures
}
