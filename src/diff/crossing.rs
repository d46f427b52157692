//! Splits lists of siblings by step if the steps run in a different order on the two sides.
//!
//! ```text
//! trace1   a1 a2 │ b1 b2 b3         [a1 a2 | a1 a2]  [b1 b2 b3 | b1 b3]
//! trace2   b1 b3 │ a1 a2
//! ```
//! Although the steps run in a different order, the calls inside two compared steps are in the same order. Each pair
//! of steps is therefore aligned separately.

use super::outline::Outline;
use super::step_pairs;
use crate::program::{Program, StepId};
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use std::collections::BTreeMap;

/// Compared steps that run in a different order on the two sides.
#[derive(Debug)]
pub(super) struct Crossing<'a> {
    programs: PerSide<&'a Program>,
    /// For each compared step, the position of its pair in the list of pairs, which is in baseline order.
    pair_of: PerSide<Vec<Option<usize>>>,
}

impl<'a> Crossing<'a> {
    /// Returns `None` if the compared steps are in the same order on both sides. `pairs` contains the compared steps
    /// in baseline order; `None` means that steps are compared by position.
    pub(super) fn of(
        programs: PerSide<&'a Program>,
        pairs: Option<&[(StepId, StepId)]>,
    ) -> Option<Crossing<'a>> {
        let pairs = pairs.filter(|pairs| !pairs.is_sorted_by_key(|pair| pair.1))?;
        Some(Crossing { programs, pair_of: step_pairs::positions(programs, pairs) })
    }

    /// Splits two lists of siblings. The calls in each pair of steps form a separate pair of lists. Calls that are
    /// outside of all steps, or in several steps, form an additional pair of lists.
    pub(super) fn divided(
        &self,
        outlines: PerSide<&Outline<'_>>,
        lists: &PerSide<Vec<u32>>,
    ) -> Vec<PerSide<Vec<u32>>> {
        let mut parts: BTreeMap<Option<usize>, PerSide<Vec<u32>>> = BTreeMap::new();
        for side in Side::BOTH {
            let steps = self.programs[side].steps();
            for &call in &lists[side] {
                let end = CallId(outlines[side].end(call));
                let is_in_one = steps.are_in_one(CallId(call), end);
                let step = steps.step(CallId(call)).filter(|_| is_in_one);
                let pair = step.and_then(|step| self.pair_of[side][step.index()]);
                parts.entry(pair).or_default()[side].push(call);
            }
        }
        parts.into_values().collect()
    }
}
