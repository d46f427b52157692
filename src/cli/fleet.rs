//! `tracetree diff DIR_A DIR_B`: the short form of `tracetree fleet run` with the options of `diff`, and a
//! report of each rank.

use super::diff_args::DiffArgs;
use super::output::Console;
use super::{Outcome, fleet_summary};
use std::path::PathBuf;
use tracetree::fleet::{Fleet, FleetFiles, Mapping, Plan, PlanOptions, map_all};
use tracetree::report::Emit;
use tracetree::{Error, ErrorKind, PerSide, Result, Side};

/// Lines of one kind that are said: thousands of ranks may have the same fault.
const SAID: usize = 20;

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
        existing: report.existing,
        has_page: report.emits.contains(&Emit::Html),
        has_reports: true,
    };
    files.check_target(&args.output)?;
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
    let odd = fleet.pairs.iter().filter(|pair| pair.status != "ok");
    let lines = odd.map(|pair| match pair.status {
        "unmatched" => format!("warning: {} {}", pair.name(), pair.message),
        _ => format!("warning: {} {}: {}", pair.folder, pair.code, pair.message),
    });
    say_some(lines, "fleet_pairs has all", console);
    let lines = fleet.ranks.iter().flat_map(|rank| {
        let sides = Side::BOTH.into_iter().filter(|&side| !rank.notes[side].is_empty());
        sides.map(|side| format!("{}: {}: {}", rank.folder, rank.files[side], rank.notes[side]))
    });
    say_some(lines, "ranks.csv has all", console);
    let counts = fleet.counts();
    console.say(&format!(
        "{} planned = {} ok + {} failed + {} unmatched",
        counts.planned, counts.ok, counts.failed, counts.unmatched
    ));
}

/// Says the first of many lines, and how many more there are.
pub(super) fn say_some(
    lines: impl Iterator<Item = String>,
    where_all: &str,
    console: &mut Console,
) {
    let mut left_out = 0;
    for (at, line) in lines.enumerate() {
        match at < SAID {
            true => console.say(&line),
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        console.say(&format!("… and {left_out} more: {where_all}"));
    }
}

/// The error where no pair could be compared.
pub(super) fn nothing_compared(fleet: &Fleet) -> Error {
    let first = fleet.pairs.iter().find(|pair| ["failed", "damaged"].contains(&pair.status));
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
