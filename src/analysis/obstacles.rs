//! The reasons why two traces cannot be used to check time limits.

use super::comparability::{Comparability, OTHER_MODEL};
use super::runs::{Run, evidence};
use super::verdict::Verdicts;
use crate::diff::TraceDiff;
use crate::program::{Footing, LOST_LAUNCHES, Obstacle};
use crate::side::PerSide;

/// The reasons why the two traces cannot be used to check time limits; empty if they can be used. One possible
/// reason is that the devices differ. Callers ignore this reason if the user compares two devices on purpose.
#[doc(hidden)]
pub fn obstacles(
    diff: &TraceDiff,
    runs: &PerSide<Vec<Run>>,
    comparability: &Comparability,
    judged: &Verdicts,
) -> Vec<Obstacle> {
    let footings = PerSide::from_fn(|side| {
        let mut footing = Footing::of(diff.program(side));
        footing.runs = evidence(diff, runs, side);
        footing
    });
    let mut found = Obstacle::between(footings.as_ref(), LOST_LAUNCHES);
    let other = OTHER_MODEL.iter().filter_map(|code| comparability.both.get(code));
    found.extend(other.map(|note| Obstacle::OtherProgram(note.message.clone())));
    found.extend(other_scale(diff, judged));
    found
}

/// The obstacle that all times of one side are implausibly long; `None` if they are plausible, or if the devices
/// differ, because the difference between two devices has no limit.
#[doc(hidden)]
pub fn other_scale(diff: &TraceDiff, judged: &Verdicts) -> Option<Obstacle> {
    let platforms = PerSide::from_fn(|side| Footing::of(diff.program(side)).devices);
    let is_one_device = platforms.baseline == platforms.candidate;
    judged.implausible_scale().filter(|_| is_one_device).map(Obstacle::OtherScale)
}
