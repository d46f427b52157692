//! `tracetree diff DIR_A DIR_B`: the short form of `tracetree fleet run` with the options of `diff`, and a
//! report of each rank.

use super::diff_args::DiffArgs;
use super::output::Console;
use super::{Outcome, fleet_summary};
use std::path::PathBuf;
use tracetree::fleet::{Fleet, FleetFiles, Mapping, Plan, PlanOptions, map_all};
use tracetree::report::Emit;
use tracetree::{Error, ErrorKind, PerSide, Result, Side};

pub(super) fn run(
    args: &DiffArgs,
    folders: PerSide<&PathBuf>,
    console: &mut Console,
) -> Result<Outcome> {
    let reading = console.reading().clone();
    let options = args.comparison_options()?.read(reading.clone());
    let report = args.emit.options(console.unfinished());
    let planned = PlanOptions {
        strict: reading.strict,
        max_unpacked: reading.max_unpacked,
        also: format!("{options:?} {:?} {:?}", report.tables, report.emits),
        ..PlanOptions::default()
    };
    let plan = Plan::make(folders.baseline, folders.candidate, planned)?;
    let files = FleetFiles {
        tables: report.tables.clone(),
        csv_texts: report.csv_texts,
        has_page: report.emits.contains(&Emit::Html),
        has_reports: true,
    };
    let mapping = Mapping::new(&plan, &args.output)?.options(options).reports(report).anew();
    let counter = console.progress().counting("comparing ranks", plan.pairs.len());
    let lost = map_all(&plan, &mapping, |_| counter.one_done())?;
    drop(counter);
    let fleet = Fleet::reduce(&plan, &args.output, &lost)?;
    say(&fleet, console);
    if fleet.ranks.is_empty() {
        return Err(nothing_compared(&fleet));
    }
    fleet.write(&args.output, &files)?;
    let format = (args.format, args.emit.csv_texts());
    console.print(|out| fleet_summary::print(&fleet, format, out))?;
    let count = fleet.ranks.len();
    console.say(&format!("{count} reports, ranks.csv and fleet.json in {}", args.output.display()));
    if reading.strict && fleet.counts().failed > 0 {
        return Ok(Outcome::Missing);
    }
    Ok(outcome(&fleet, args))
}

/// What was odd about folders, pairs and files, to stderr.
pub(super) fn say(fleet: &Fleet, console: &mut Console) {
    for note in &fleet.notes {
        console.say(&format!("warning: {note}"));
    }
    for pair in fleet.pairs.iter().filter(|pair| pair.status != "ok") {
        let file =
            if pair.status == "unmatched" { pair.name().to_owned() } else { pair.folder.clone() };
        console.say(&format!("warning: {file} {}: {}", pair.code, pair.message));
    }
    for rank in &fleet.ranks {
        for side in Side::BOTH.into_iter().filter(|&side| !rank.notes[side].is_empty()) {
            console.say(&format!("{}: {}: {}", rank.folder, rank.files[side], rank.notes[side]));
        }
    }
    let counts = fleet.counts();
    console.say(&format!(
        "{} planned = {} ok + {} failed + {} unmatched",
        counts.planned, counts.ok, counts.failed, counts.unmatched
    ));
}

/// The error where no pair could be compared.
pub(super) fn nothing_compared(fleet: &Fleet) -> Error {
    let first = fleet.pairs.iter().find(|pair| pair.status == "failed");
    let message = first.map_or("there is no pair", |pair| pair.message.as_str());
    Error::new(ErrorKind::Usage, &fleet.candidate, format!("no rank could be compared: {message}"))
}

fn outcome(fleet: &Fleet, args: &DiffArgs) -> Outcome {
    let strict = args.selection.strict_comparability;
    if strict && fleet.ranks.iter().any(|rank| !rank.is_comparable) {
        return Outcome::NotComparable;
    }
    let is_failed =
        fleet.ranks.iter().any(|rank| args.is_failed(rank.time, rank.points_of_difference));
    if is_failed { Outcome::Differences } else { Outcome::Done }
}
