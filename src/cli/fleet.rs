//! `tracetree diff DIR_A DIR_B`: the traces of many ranks, paired and compared rank by rank.

use super::diff_args::DiffArgs;
use super::output::Console;
use super::{Outcome, fleet_summary};
use tracetree::Result;
use tracetree::fleet::{Fleet, RankPairs};

pub(super) fn run(args: &DiffArgs, console: &mut Console) -> Result<Outcome> {
    let found = RankPairs::find(&args.baseline, &args.candidate)?;
    for path in &found.unpaired {
        console.say(&format!("warning: {} has no partner and is left out", path.display()));
    }
    let counter = console.progress().counting("comparing ranks", found.pairs.len());
    let options = args.comparison_options()?.read(console.reading().clone());
    let report = args.emit.options();
    let done = || counter.one_done();
    let fleet = Fleet::compare(&found.pairs, &options, &report, &args.output, done)?;
    drop(counter);
    console.print(|out| fleet_summary::print(&fleet, args.format, out))?;
    let count = fleet.ranks.len();
    console.say(&format!("{count} reports and ranks.csv in {}", args.output.display()));
    Ok(outcome(&fleet, args))
}

fn outcome(fleet: &Fleet, args: &DiffArgs) -> Outcome {
    let strict = args.selection.strict_comparability;
    if strict && fleet.ranks.iter().any(|rank| !rank.is_comparable) {
        return Outcome::NotComparable;
    }
    let is_failed = fleet.ranks.iter().any(|rank| {
        args.is_failed(rank.totals.map(|totals| totals.time), rank.points_of_difference)
    });
    if is_failed { Outcome::Differences } else { Outcome::Done }
}
