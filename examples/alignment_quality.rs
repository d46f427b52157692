//! Changes traces in known ways, and prints how many of the true matches the alignment finds after each change.
//!
//! ```text
//! cargo run --release --example alignment_quality -- TRACE… [--seed N] [--to N] [--only TEXT]
//!     [--wrong N] [--below SHARE] [--write FOLDER]
//! cargo run --release --example alignment_quality -- --triples TRACE…
//! ```
//! Each trace is compared with copies that are changed in known ways (ops dropped, wrapped, renamed, …). If the trace
//! has Python frames, each comparison is repeated without them. The changes in `Change::hard` come last. For these
//! changes, tests require no minimum score, except for the two changes with more layers.
//!
//! The columns `GPU path` and `host calls` show the precision and recall of the UID map for these calls. Some changes
//! replace calls with compiled regions or multi-tensor ops. In this case, the library assigns the GPU events of the
//! replaced calls to the new regions or ops, and the column `replaced` shows the precision and recall of this
//! assignment. The column `exact` shows the fraction of true matches that are in the UID map; a match with an
//! indistinguishable event counts as wrong here, but not in `GPU path` and `host calls`. `exact` is for calls on the
//! GPU path or, if the GPU path is empty, for all host calls. The columns `firm` and `wrong` show the fraction of
//! matches that are firm, and the number of firm matches that are wrong.
//!
//! - `--to` runs all seeds from `--seed` up to the given seed.
//! - `--only` selects the changes whose names contain TEXT.
//! - `--below` shows only rows in which the precision or the recall is below SHARE.
//! - `--wrong` shows the first N wrong entries of each UID map.
//! - `--write` writes both traces of each shown row to FOLDER, so that `tracetree diff` can compare them.
//! - `--triples` compares the traces with each other instead, within families of files whose names begin with the same
//!   word. It counts the calls whose firm matches A→B and B→C contradict the firm match A→C.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Error, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use support::bench::{Calibration, Mode, Trial};
use support::changes::Change;
use support::files::unpacked;
use support::recording::Recording;
use support::score::{Score, Scores};
use support::transitive::{families, transitivity};

const USAGE: &str = "usage: alignment_quality TRACE… [--seed N] [--to N] [--only TEXT] [--wrong N] [--below SHARE] \
     [--write FOLDER]
       alignment_quality --triples TRACE…";

/// Options for the measurement.
#[derive(Debug, Default)]
struct Request {
    traces: Vec<String>,
    seed: u64,
    to: u64,
    only: String,
    wrong: usize,
    below: f64,
    write: Option<PathBuf>,
    triples: bool,
}

fn main() -> ExitCode {
    match Request::parse(std::env::args().skip(1)).and_then(|request| run(&request)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

impl Request {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Request, Error> {
        let mut request = Request { seed: 1, below: f64::MAX, ..Request::default() };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| Error::other(USAGE));
            match argument.as_str() {
                "--seed" => request.seed = value()?.parse().map_err(Error::other)?,
                "--to" => request.to = value()?.parse().map_err(Error::other)?,
                "--below" => request.below = value()?.parse().map_err(Error::other)?,
                "--wrong" => request.wrong = value()?.parse().map_err(Error::other)?,
                "--only" => request.only = value()?,
                "--write" => request.write = Some(value()?.into()),
                "--triples" => request.triples = true,
                _ => request.traces.push(argument),
            }
        }
        if request.traces.is_empty() { Err(Error::other(USAGE)) } else { Ok(request) }
    }
}

fn run(request: &Request) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    if request.triples {
        return print_triples(&mut out, &request.traces);
    }
    for path in &request.traces {
        let recording = Recording::read(&unpacked(Path::new(path))?).ok_or_else(|| {
            Error::other(format!("{path}: not a trace (expected a Kineto trace)"))
        })?;
        for seed in request.seed..=request.to.max(request.seed) {
            writeln!(out, "{path}: {} events, seed {seed}", recording.events.len())?;
            print_table(&mut out, request, &recording, seed)?;
        }
    }
    Ok(())
}

fn print_triples(out: &mut impl Write, traces: &[String]) -> Result<(), Error> {
    for (family, paths) in families(traces) {
        let counts = transitivity(&paths).map_err(Error::other)?;
        let share = counts.broken as f64 / counts.calls.max(1) as f64;
        let (all, broken) = (counts.calls, counts.broken);
        writeln!(
            out,
            "{family}: {} traces, {all} calls firm in a triple, {broken} contradicted ({:.4}%)",
            paths.len(),
            100.0 * share
        )?;
    }
    Ok(())
}

fn print_table(
    out: &mut impl Write,
    request: &Request,
    recording: &Recording,
    seed: u64,
) -> Result<(), Error> {
    let head = ["change", "mode", "GPU path", "host calls", "replaced", "exact", "firm", "wrong"];
    let [change, mode, gpu, host, replaced, exact, firm, wrong] = head;
    write!(out, "{change:<34} {mode:<10} {gpu:^15} {host:^15} {replaced:^15} ")?;
    writeln!(out, "{exact:>7} {firm:>7} {wrong:>7}")?;
    let mut all = Calibration::default();
    let changes = Change::all().into_iter().chain(Change::hard());
    for change in changes.filter(|change| change.label().contains(&request.only)) {
        for &mode in Mode::of(recording) {
            let trial = Trial::run(recording, &change, mode, seed).map_err(Error::other)?;
            let scores = trial.as_ref().map(|trial| (trial.scores(), trial.replaced));
            if request.below < f64::MAX
                && scores.is_none_or(|scores| lowest(&scores) >= request.below)
            {
                continue;
            }
            let calibration = trial.as_ref().map(Trial::calibration).unwrap_or_default();
            all.pairs += calibration.pairs;
            all.firm += calibration.firm;
            all.wrong += calibration.wrong;
            print_row(out, &change, mode, scores, calibration)?;
            for entry in trial.iter().flat_map(|trial| trial.wrong(request.wrong)) {
                writeln!(out, "{entry}")?;
            }
            if let (Some(folder), Some(trial)) = (&request.write, trial) {
                let name = format!("{}, {}, seed {seed}", change.label(), mode.label());
                std::fs::write(
                    folder.join(format!("{name}.baseline.json")),
                    trial.baseline.write(),
                )?;
                std::fs::write(
                    folder.join(format!("{name}.candidate.json")),
                    trial.candidate.write(),
                )?;
            }
        }
    }
    writeln!(
        out,
        "{} of {} matches are firm; {} of the firm matches are wrong\n",
        all.firm, all.pairs, all.wrong
    )
}

/// The lowest of all precision and recall scores.
fn lowest((scores, replaced): &(Scores, Score)) -> f64 {
    let both = |score: &Score| score.precision().min(score.recall());
    both(&scores.gpu_path).min(both(&scores.host)).min(both(replaced))
}

fn print_row(
    out: &mut impl Write,
    change: &Change,
    mode: Mode,
    scores: Option<(Scores, Score)>,
    Calibration { pairs, firm, wrong }: Calibration,
) -> Result<(), Error> {
    write!(out, "{:<34} {:<10} ", change.label(), mode.label())?;
    match scores {
        None => writeln!(out, "not applicable"),
        Some((Scores { gpu_path, host }, replaced)) => {
            let exact = if gpu_path.true_pairs > 0 { gpu_path } else { host }.exactness();
            let share = firm as f64 / pairs.max(1) as f64;
            let scores = [both(&gpu_path), both(&host), both(&replaced)].join(" ");
            writeln!(out, "{scores} {exact:>7.4} {share:>7.4} {wrong:>7}")
        }
    }
}

fn both(score: &Score) -> String {
    match score.true_pairs {
        0 => format!("{:^15}", "-"),
        _ => format!("{:.4} {:.4}  ", score.precision(), score.recall()),
    }
}
