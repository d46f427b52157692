//! A comparison → what each change does to the step time, by replay.

use super::mix::Mix;
use super::owners::Owners;
use super::play::{Program, Scale};
use super::{Reason, Recorded};
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// What a change does to the step time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// The baseline's step with this change alone, minus the baseline's step.
    pub alone: Nanos,
    /// The candidate's step, minus the candidate's step without this change.
    pub last: Nanos,
}

/// The effects of the changes of a comparison, per step.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    /// By the position of the change.
    pub of_changes: Vec<Effect>,
    /// All changes together.
    pub joint: Effect,
    /// The recorded difference of the step times.
    pub measured: Nanos,
    /// The difference that the same program shows on the candidate's machine.
    pub replayed: PerSide<Nanos>,
    /// The recorded step times.
    pub recorded: PerSide<Nanos>,
    /// The baseline's graph with the candidate's durations.
    pub transferred: Nanos,
    /// Share of matched points.
    pub matched_share: f64,
}

impl Effects {
    /// The effects of all changes.
    ///
    /// # Errors
    /// The reason why one of the traces cannot be replayed.
    pub fn of(analysis: &Analysis) -> Result<Effects, (Side, Reason)> {
        let recorded = PerSide::from_fn(|side| Recorded::of(analysis.tree(side), analysis.steps(side)));
        let recorded = PerSide::new(
            recorded.baseline.map_err(|reason| (Side::Baseline, reason))?,
            recorded.candidate.map_err(|reason| (Side::Candidate, reason))?,
        );
        let owners = Owners::of(analysis);
        let mix = Mix::new(recorded.as_ref(), analysis.diff(), &owners);
        let steps = PerSide::from_fn(|side| analysis.wall().totals(side).steps.max(1) as i64);
        let per_step = |side: Side, time: i64| Nanos(time / steps[side]);
        let own = PerSide::from_fn(|side| Program::of(&recorded[side], Scale::NONE).play().end);
        let count = analysis.changes().list().len();
        let effect = |is_taken: &[bool]| {
            let ends = PerSide::from_fn(|side| {
                per_step(side, mix.with(side, is_taken).play().end - own[side])
            });
            Effect { alone: ends.baseline, last: Nanos(-ends.candidate.0) }
        };
        let one = |at: usize| {
            let mut is_taken = vec![false; count];
            is_taken[at] = true;
            effect(&is_taken)
        };
        let of_changes = (0..count).map(one).collect();
        let measured = PerSide::from_fn(|side| per_step(side, recorded[side].measured.end));
        Ok(Effects {
            of_changes,
            joint: effect(&vec![true; count]),
            measured: measured.difference(),
            replayed: PerSide::from_fn(|side| per_step(side, own[side])),
            recorded: measured,
            transferred: per_step(Side::Candidate, mix.transferred().play().end),
            matched_share: mix.matched_share(),
        })
    }
}
