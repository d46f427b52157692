//! `tracetree diff DIR_A DIR_B`: the traces of many ranks, paired and compared rank by rank.

use super::diff_args::DiffArgs;
use super::output::Console;
use super::{Outcome, fleet_summary};
use std::path::PathBuf;
use tracetree::fleet::{Fleet, RankPairs};
use tracetree::{PerSide, Result, Side};

pub(super) fn run(
    args: &DiffArgs,
    folders: PerSide<&PathBuf>,
    console: &mut Console,
) -> Result<Outcome> {
    let reading = console.reading().clone();
    let found = RankPairs::find(folders.baseline, folders.candidate, &reading)?;
    for path in &found.foreign {
        console.say(&format!("warning: {} is no trace and is left out", path.display()));
    }
    if found.are_paired_by_name() {
        console
            .say("warning: the files do not all tell another rank: they are paired by their names");
    }
    for path in &found.unpaired {
        console.say(&format!("warning: {} has no partner and is left out", path.display()));
    }
    let counter = console.progress().counting("comparing ranks", found.pairs.len());
    let options = args.comparison_options()?.read(reading);
    let report = args.emit.options(console.unfinished());
    let done = || counter.one_done();
    let fleet = Fleet::compare(&found.pairs, &options, &report, &args.output, done)?;
    drop(counter);
    for rank in &fleet.ranks {
        for side in Side::BOTH {
            let file = format!("{}: {}", rank.folder, rank.files[side]);
            console.say_notes(&file, rank.notes[side].iter().as_slice());
        }
    }
    let format = (args.format, args.emit.csv_texts());
    console.print(|out| fleet_summary::print(&fleet, format, out))?;
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
