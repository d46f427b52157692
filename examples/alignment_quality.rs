//! Traces → a table: for each known change, how much of the truth the alignment finds.
//!
//! ```text
//! cargo run --release --example alignment_quality -- TRACE… [--seed N] [--only TEXT] [--wrong N]
//! ```
//! Each trace is changed in a known way (ops dropped, wrapped, renamed, …) and compared with its
//! changed copy, with and without Python frames. Columns: precision and recall of the UID map for
//! calls on the GPU path and for all host calls, then the share of the GPU path's pairs that are
//! right to the event. `--only` takes the changes whose name contains the text; `--wrong` shows the
//! first wrong entries of each map.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Error, Write};
use std::path::Path;
use std::process::ExitCode;
use support::bench::{Mode, Trial};
use support::changes::Change;
use support::files::unpacked;
use support::recording::Recording;
use support::score::{Score, Scores};

const USAGE: &str = "usage: alignment_quality TRACE… [--seed N] [--only TEXT] [--wrong N]";

/// What to measure.
#[derive(Debug, Default)]
struct Request {
    traces: Vec<String>,
    seed: u64,
    only: String,
    wrong: usize,
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
        let mut request = Request { seed: 1, ..Request::default() };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| Error::other(USAGE));
            match argument.as_str() {
                "--seed" => request.seed = value()?.parse().map_err(Error::other)?,
                "--wrong" => request.wrong = value()?.parse().map_err(Error::other)?,
                "--only" => request.only = value()?,
                _ => request.traces.push(argument),
            }
        }
        if request.traces.is_empty() { Err(Error::other(USAGE)) } else { Ok(request) }
    }
}

fn run(request: &Request) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    for path in &request.traces {
        let recording = Recording::read(&unpacked(Path::new(path))?)
            .ok_or_else(|| Error::other(format!("{path}: no trace (expected a Kineto trace)")))?;
        writeln!(out, "{path}: {} events, seed {}", recording.events.len(), request.seed)?;
        writeln!(
            out,
            "{:<30} {:<10} {:^15} {:^15} {:>7}",
            "change", "mode", "GPU path", "host calls", "exact"
        )?;
        for change in Change::all().iter().filter(|change| change.label().contains(&request.only)) {
            for &mode in Mode::of(&recording) {
                let trial =
                    Trial::run(&recording, change, mode, request.seed).map_err(Error::other)?;
                print_row(&mut out, change, mode, trial.as_ref().map(Trial::scores))?;
                for entry in trial.iter().flat_map(|trial| trial.wrong(request.wrong)) {
                    writeln!(out, "{entry}")?;
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn print_row(
    out: &mut impl Write,
    change: &Change,
    mode: Mode,
    scores: Option<Scores>,
) -> Result<(), Error> {
    write!(out, "{:<30} {:<10} ", change.label(), mode.label())?;
    match scores {
        None => writeln!(out, "nothing to change so"),
        Some(Scores { gpu_path, host }) => {
            let exact = if gpu_path.true_pairs > 0 { gpu_path } else { host }.exactness();
            writeln!(out, "{} {} {exact:>7.4}", both(&gpu_path), both(&host))
        }
    }
}

fn both(score: &Score) -> String {
    match score.true_pairs {
        0 => format!("{:^15}", "-"),
        _ => format!("{:.4} {:.4}  ", score.precision(), score.recall()),
    }
}
