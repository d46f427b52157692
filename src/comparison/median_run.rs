//! Sorts each side's runs by step time, so the order in which the runs are passed does not matter.
//!
//! Tables compare the *median run* of each side, which is the run with the middle step time. If the number
//! of runs is even, the median run has the lower of the two middle step times. The choice depends only on
//! the content of the files, never on their names or order.

use super::{Captured, ComparisonOptions, Input, Source, build, read};
use crate::analysis::wall::StepWall;
use crate::error::{Error, Result};
use crate::program::{Measure, Program, first_ranks};
use crate::side::{PerSide, Side};
use crate::trace::Notes;
use std::collections::BTreeSet;

/// Maximum total number of events per side to keep in memory until the runs are compared. If keeping a run in memory
/// would exceed the maximum, the run is discarded and read again later.
const KEPT_EVENTS: usize = 2_000_000;

/// The index of the median run among `runs` runs sorted by step time.
pub(super) fn middle(runs: usize) -> usize {
    runs.saturating_sub(1) / 2
}

/// Each side's runs, sorted by step time, and notes about runs that are copies of one file.
pub(super) fn sorted(
    runs: PerSide<Vec<Input>>,
    options: &ComparisonOptions,
) -> Result<(PerSide<Vec<Source>>, Notes)> {
    let (baseline, candidate) = rayon::join(
        || of_side(Side::Baseline, runs.baseline, options),
        || of_side(Side::Candidate, runs.candidate, options),
    );
    let mut notes = Notes::default();
    let sorted = PerSide::new(baseline?, candidate?).map(|ranked| {
        // Copies have equal step times and contents, so they follow each other.
        for two in ranked.windows(2) {
            let (original, copy) = (&two[0].0, &two[1].0);
            if copy.content != 0 && copy.content == original.content {
                notes.add_copy(&copy.name, &original.name);
            }
        }
        ranked.into_iter().map(|(_, _, source)| source).collect()
    });
    Ok((sorted, notes))
}

/// A run with its sort key and the rank on which it was recorded.
type Ranked = (Key, Option<i64>, Source);

fn of_side(side: Side, runs: Vec<Input>, options: &ComparisonOptions) -> Result<Vec<Ranked>> {
    if runs.len() < 2 {
        // A single run needs no key.
        let alone = |run| (Key::default(), None, Source::Unread(run));
        return Ok(runs.into_iter().map(alone).collect());
    }
    let mut kept = 0;
    let ranked = runs.into_iter().map(|input| {
        options.cancel.check(input.name())?;
        let mut input = input.repeatable()?;
        let captured = read(side, &mut input, options)?;
        let (key, rank) = Key::of(side, &captured, options)?;
        let events = captured.0.len();
        if kept + events > KEPT_EVENTS {
            return Ok((key, rank, Source::Unread(input)));
        }
        kept += events;
        Ok((key, rank, Source::Read(captured)))
    });
    let mut ranked = ranked.collect::<Result<Vec<Ranked>>>()?;
    check_ranks(&ranked)?;
    ranked.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(ranked)
}

/// Fails if the runs of a side are different ranks of one job, which do different work at the same time and are not
/// repeats.
fn check_ranks(runs: &[Ranked]) -> Result<()> {
    let ranks: BTreeSet<i64> = runs.iter().filter_map(|(_, rank, _)| *rank).collect();
    if ranks.len() < 2 {
        return Ok(());
    }
    let message = format!(
        "and others: these are traces of {} ranks ({}), which are not runs of one program",
        ranks.len(),
        first_ranks(ranks)
    );
    let name = runs.first().map_or("runs", |(key, ..)| key.name.as_str());
    Err(Error::usage(name, message)
        .remedy("pass the runs of one rank, or compare all ranks with two folders: tracetree diff DIR1 DIR2"))
}

/// The sort key of a run. Runs with the same step time are ordered by a hash of the file content, then by name.
/// Ordering by name is harmless, because files with the same content are interchangeable.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    step: StepWall,
    content: u128,
    name: String,
}

impl Key {
    /// The key of a run, and the rank on which it was recorded.
    fn of(
        side: Side,
        captured: &Captured,
        options: &ComparisonOptions,
    ) -> Result<(Key, Option<i64>)> {
        let program = Program::with_repeats(build(side, captured, options)?, options.diff.repeats);
        let measure = Measure::of(PerSide::new(program.tree(), program.tree()));
        let step = StepWall::of(&program, measure);
        let trace = &captured.0;
        let key = Key { step, content: trace.content_hash(), name: trace.source().to_owned() };
        Ok((key, program.evidence().rank))
    }
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn the_median_run_is_the_lower_of_two_in_the_middle() {
        assert_eq!([1, 2, 3, 4, 5, 12].map(middle), [0, 0, 1, 1, 2, 5]);
    }
}
