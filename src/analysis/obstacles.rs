//! The reasons why two traces cannot be used to check time limits.

use super::account::{Ledger, Row};
use super::comparability::{Comparability, OTHER_MODEL};
use super::robust::median;
use super::runs::{Run, evidence};
use crate::diff::TraceDiff;
use crate::program::{LOST_LAUNCHES, Obstacle, SideFacts};
use crate::side::PerSide;

/// The reasons why the two traces cannot be used to check time limits; empty if they can be used. One possible
/// reason is that the devices differ. Callers ignore this reason if the user compares two devices on purpose.
#[doc(hidden)]
pub fn obstacles(
    diff: &TraceDiff,
    ledger: &Ledger,
    runs: &PerSide<Vec<Run>>,
    comparability: &Comparability,
) -> Vec<Obstacle> {
    let facts = PerSide::from_fn(|side| {
        let mut facts = SideFacts::of(diff.program(side));
        facts.runs = evidence(diff, runs, side);
        facts
    });
    let mut found = Obstacle::between(facts.as_ref(), LOST_LAUNCHES);
    let other = OTHER_MODEL.iter().filter_map(|code| comparability.both.get(code));
    found.extend(other.map(|note| Obstacle::OtherProgram(note.message.clone())));
    found.extend(other_scale(diff, ledger));
    found
}

/// The obstacle that all times of one side are implausibly long; `None` if they are plausible, or if the devices
/// differ, because the difference between two devices has no limit.
#[doc(hidden)]
pub fn other_scale(diff: &TraceDiff, ledger: &Ledger) -> Option<Obstacle> {
    let platforms = PerSide::from_fn(|side| SideFacts::of(diff.program(side)).devices);
    let is_one_device = platforms.baseline == platforms.candidate;
    implausible_scale(ledger).filter(|_| is_one_device).map(Obstacle::OtherScale)
}

/// A program or machine that is this many times as slow or as fast at almost all calls is implausible.
const MOST_SCALE: f64 = 20.0;

/// How many times as long the same work takes in the candidate: the median over the rows. `None` if this is plausible,
/// or if most rows do not have the same number of events on both sides. Otherwise, the times of one side were probably
/// recorded or converted in another unit.
fn implausible_scale(ledger: &Ledger) -> Option<f64> {
    let rows = ledger.rows();
    let same = rows.iter().filter(|row| row.events.baseline.len() == row.events.candidate.len());
    let logs: Vec<f64> = same.filter_map(Row::ratio).map(f64::ln).collect();
    let (scale, is_one_program) = (median(&logs), 2 * logs.len() > rows.len());
    (is_one_program && scale.abs() > MOST_SCALE.ln()).then(|| scale.exp())
}
