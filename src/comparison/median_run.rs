//! The runs of one side → the same runs by their step time, whatever their order was.
//!
//! Tables compare one run of each side: the *median run*, which has the middle step time, the lower of
//! the two in the middle where their number is even. Which one that is depends on what was measured,
//! never on names or on the order of the files.

use super::{ComparisonOptions, Input, build, read};
use crate::analysis::StepWall;
use crate::error::Result;
use crate::program::{Measure, Program};
use crate::side::{PerSide, Side};

/// The position of the median run among runs that are sorted by their step time.
pub(super) fn middle(runs: usize) -> usize {
    runs.saturating_sub(1) / 2
}

/// The runs of both sides, each side sorted by its step time. Reads the runs of a side that has several,
/// one after the other, and keeps none of them.
pub(super) fn sorted(
    runs: PerSide<Vec<Input>>,
    options: &ComparisonOptions,
) -> Result<PerSide<Vec<Input>>> {
    let (baseline, candidate) = rayon::join(
        || of_side(Side::Baseline, runs.baseline, options),
        || of_side(Side::Candidate, runs.candidate, options),
    );
    Ok(PerSide::new(baseline?, candidate?))
}

fn of_side(side: Side, runs: Vec<Input>, options: &ComparisonOptions) -> Result<Vec<Input>> {
    if runs.len() < 2 {
        return Ok(runs);
    }
    let measured = runs.into_iter().map(|input| {
        options.cancel.check(input.name())?;
        let mut input = input.repeatable()?;
        let rank = Rank::of(side, &mut input, options)?;
        Ok((rank, input))
    });
    let mut measured = measured.collect::<Result<Vec<(Rank, Input)>>>()?;
    measured.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(measured.into_iter().map(|(_, input)| input).collect())
}

/// What runs are sorted by. Runs of one step time are told apart by their bytes; two files of the same
/// bytes differ in nothing but their names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    step: StepWall,
    content: u128,
    name: String,
}

impl Rank {
    fn of(side: Side, input: &mut Input, options: &ComparisonOptions) -> Result<Rank> {
        let captured = read(side, input, options)?;
        let content = captured.0.content_hash();
        let program = Program::with_repeats(build(side, &captured, options)?, options.diff.repeats);
        let measure = Measure::of(PerSide::new(program.tree(), program.tree()));
        Ok(Rank { step: StepWall::of(&program, measure), content, name: input.name() })
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
