//! `tracetree diff DIR_A DIR_B`: runs `tracetree fleet run` with the options of `diff`, and writes a report for each
//! rank.

use super::diff_args::DiffArgs;
use super::fleet_summary;
use super::outcome::Outcome;
use super::output::Console;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracetree::analysis::runs::StepMeans;
use tracetree::program::counted;
use tracetree::report::Emit;
use tracetree::trace::Nanos;
use tracetree::{Error, ErrorKind, PerSide, Result, Side};
use tracetree_fleet::{
    Fleet, FleetFiles, Lost, Mapping, Plan, PlanOptions, RankRow, SoFar, map_all,
};
use tracetree_gate::Outcome as GateOutcome;

/// Maximum number of lines to print for each kind of message. Without a limit, a problem that affects thousands of
/// ranks would print thousands of lines.
const SAID: usize = 20;

/// The interim findings next to the progress bar are updated at most once in this time.
const REDRAW: Duration = Duration::from_millis(500);

pub(super) fn run(
    args: &DiffArgs,
    folders: PerSide<&PathBuf>,
    console: &mut Console,
) -> Result<Outcome> {
    let reading = console.reading().clone();
    let mut options = args.comparison_options()?.read(reading.clone());
    let report = args.emit.options(console.unfinished())?;
    let planned = PlanOptions {
        strict: reading.strict,
        max_unpacked: reading.max_unpacked,
        also: format!("{options:?} {:?} {:?} {:?}", report.tables, report.table_set, report.emits),
        ..PlanOptions::default()
    };
    let mut plan = Plan::make(folders.baseline, folders.candidate, planned)?;
    let files = plan.pairs.iter().flat_map(|pair| Side::BOTH.map(|side| pair.file(side)));
    let reading = reading.knowing(files.map(|file| file.path.clone()));
    options.read = reading.clone();
    plan.pairs.iter_mut().for_each(|pair| pair.folder = reading.shown(&pair.folder));
    let files = FleetFiles {
        tables: report.tables.clone(),
        csv_texts: report.csv_texts,
        existing: report.existing,
        has_page: report.emits.contains(&Emit::Html),
        has_reports: true,
    };
    files.check_target(&args.output)?;
    let mapping = Mapping::new(&plan, &args.output)?.options(options).reports(report).anew();
    let lost = compare_all(&plan, &mapping, console)?.0;
    let fleet = Fleet::reduce(&plan, &args.output, &lost)?.shown(&reading);
    say(&fleet, console);
    if fleet.ranks.is_empty() {
        return Err(nothing_compared(&fleet));
    }
    fleet.write(&args.output, &files)?;
    let format = (args.format, args.emit.csv_texts());
    console.print(|out| fleet_summary::print(&fleet, format, out))?;
    let reports = counted(fleet.ranks.len() as u64, "report");
    console.say(&format!("{reports}, ranks.csv and fleet.json in {}", args.output.display()));
    if reading.strict && fleet.counts().failed > 0 {
        return Ok(Outcome::Missing);
    }
    Ok(outcome(&fleet, args, console))
}

/// Compares all pairs of a plan with a progress bar that also shows interim findings. Returns the pairs that failed,
/// and the number of pairs that already had a shard.
pub(super) fn compare_all(
    plan: &Plan,
    mapping: &Mapping,
    console: &mut Console,
) -> Result<(Lost, usize)> {
    let counter = console.progress().counting("comparing ranks", plan.pairs.len());
    let state = Mutex::new(State::default());
    let lost = map_all(plan, mapping, |pair, mapped| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.so_far.add(pair, mapped);
        state.skipped += usize::from(mapped.was_there);
        counter.one_done(|| state.remark());
    })?;
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((lost, state.skipped))
}

/// Interim results, collected while pairs are compared.
#[derive(Default)]
struct State {
    so_far: SoFar,
    /// Number of pairs that already had a shard.
    skipped: usize,
    /// The latest text of the interim findings, which was produced from `so_far` at the time `built`.
    remark: String,
    built: Option<Instant>,
}

impl State {
    /// The interim findings. Building the text requires a pass over all ranks, so the text is rebuilt at most once per
    /// [`REDRAW`].
    fn remark(&mut self) -> String {
        if self.built.is_none_or(|built| built.elapsed() >= REDRAW) {
            (self.remark, self.built) = (self.so_far.text(), Some(Instant::now()));
        }
        self.remark.clone()
    }
}

/// Prints problems with folders, pairs and files to stderr.
pub(super) fn say(fleet: &Fleet, console: &mut Console) {
    for note in &fleet.notes {
        console.say(&format!("warning: {note}"));
    }
    let odd = fleet.pairs.iter().filter(|pair| pair.status != "ok");
    let lines = odd.map(|pair| match pair.status {
        "unmatched" => format!("warning: {} {}", pair.name(), pair.message),
        _ => format!("warning: {} {}: {}", pair.folder, pair.code, pair.message),
    });
    say_some(lines, "see fleet_pairs", console);
    let lines = fleet.ranks.iter().flat_map(|rank| {
        let sides = Side::BOTH.into_iter().filter(|&side| !rank.notes[side].is_empty());
        sides.map(|side| format!("{}: {}: {}", rank.folder, rank.files[side], rank.notes[side]))
    });
    say_some(lines, "see ranks.csv", console);
    let counts = fleet.counts();
    console.say(&format!(
        "{} planned = {} ok + {} failed + {} unmatched",
        counts.planned, counts.ok, counts.failed, counts.unmatched
    ));
}

/// Prints the first lines of a list, and how many lines were omitted.
pub(super) fn say_some(
    lines: impl Iterator<Item = String>,
    where_all: &str,
    console: &mut Console,
) {
    let mut left_out = 0;
    for (at, line) in lines.enumerate() {
        if at < SAID { console.say(&line) } else { left_out += 1 }
    }
    if left_out > 0 {
        console.say(&format!("… and {left_out} more; {where_all}"));
    }
}

/// The error returned if no pair of a fleet could be compared.
pub(super) fn nothing_compared(fleet: &Fleet) -> Error {
    let first = fleet.pairs.iter().find(|pair| ["failed", "damaged"].contains(&pair.status));
    let message = first.map_or("no trace has a counterpart", |pair| pair.message.as_str());
    Error::new(ErrorKind::Usage, &fleet.candidate, format!("no rank could be compared: {message}"))
}

fn outcome(fleet: &Fleet, args: &DiffArgs, console: &mut Console) -> Outcome {
    let strict = args.selection.strict_comparability;
    if strict && fleet.ranks.iter().any(|rank| !rank.is_comparable) {
        console.say_if_quiet("--strict-comparability: some ranks cannot be compared");
        return Outcome::NotComparable;
    }
    let differs = args.exit_code && fleet.ranks.iter().any(|rank| rank.points_of_difference > 0);
    let limits = check_limits(fleet, args, console);
    if limits != GateOutcome::Pass || !differs {
        return limits.into();
    }
    console.say_if_quiet("--exit-code: some ranks differ");
    Outcome::Differences
}

/// Checks each rank against the limits of `--fail-on`. If no rank exceeds a limit, but some pairs failed, are damaged
/// or have no counterpart, the result is inconclusive.
fn check_limits(fleet: &Fleet, args: &DiffArgs, console: &mut Console) -> GateOutcome {
    let (mut exceeded, mut unknown) = (Vec::new(), Vec::new());
    for limit in &args.fail_on {
        for rank in fleet.ranks.iter().filter(|rank| rank.status == "ok") {
            let checked = limit.check_means(means_of(rank));
            let messages = checked.messages.join("; ");
            let message = format!("--fail-on {limit}: {}: {messages}", rank.folder);
            match checked.outcome {
                GateOutcome::Fail => exceeded.push(message),
                GateOutcome::Inconclusive => unknown.push(message),
                GateOutcome::Pass => {}
            }
        }
    }
    if !args.fail_on.is_empty() {
        let odd = fleet.pairs.iter().filter(|pair| pair.status != "ok");
        unknown.extend(odd.map(|pair| format!("--fail-on: {} is {}", pair.name(), pair.status)));
    }
    let outcome = match (exceeded.is_empty(), unknown.is_empty()) {
        (false, _) => GateOutcome::Fail,
        (true, false) => GateOutcome::Inconclusive,
        (true, true) => GateOutcome::Pass,
    };
    if let Some(first) = exceeded.first().or(unknown.first()) {
        console.say_if_quiet(first);
    }
    say_some(exceeded.into_iter().chain(unknown), "see ranks.csv", console);
    outcome
}

/// The mean step time of a rank in the baseline and in the candidate.
fn means_of(rank: &RankRow) -> PerSide<StepMeans> {
    PerSide::from_fn(|side| {
        let mean = |time: Nanos| time.as_micros() / rank.steps[side].max(1) as f64;
        StepMeans {
            wall_us: mean(rank.wall[side]),
            busy_us: mean(rank.busy[side]),
            idle_us: mean((rank.wall[side] - rank.busy[side]).max(Nanos::ZERO)),
            time_us: mean(rank.time[side]),
        }
    })
}
