//! Measures how well traces are read after random damage, and prints a table.
//!
//! ```text
//! cargo run --release --example damage -- TRACE… [--cases N] [--seed N] [--show N] [--only N]
//! ```
//! Each case damages one of the traces in one way, reads the damaged trace, and checks that no undamaged event is lost
//! silently (`tests/support/damage.rs`). The last four columns must be 0, because they count failures of the reader:
//! losses or damage without a note, wrong counts, invalid JSON that `strict` accepts, and panics. `--show` prints the
//! first N failures with their case numbers. `--only` repeats one case and writes the damaged trace to `damaged.json`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Error, Write};
use std::path::Path;
use std::process::ExitCode;
use support::damage::{Kind, Outcome, Sample, judge};
use support::files::unpacked;
use support::splitmix::SplitMix;

/// The command-line arguments.
struct Request {
    traces: Vec<String>,
    cases: usize,
    seed: u64,
    show: usize,
    only: Option<usize>,
}

fn main() -> ExitCode {
    match Request::parse(std::env::args().skip(1)).and_then(|request| run(&request)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

impl Request {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Request, Error> {
        let mut request =
            Request { traces: Vec::new(), cases: 10_000, seed: 1, show: 0, only: None };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let value = arguments.next().and_then(|value| value.parse::<u64>().ok());
                value.ok_or_else(|| Error::other(format!("{argument} needs a number")))
            };
            match argument.as_str() {
                "--cases" => request.cases = number()? as usize,
                "--seed" => request.seed = number()?,
                "--show" => request.show = number()? as usize,
                "--only" => request.only = Some(number()? as usize),
                _ => request.traces.push(argument),
            }
        }
        Ok(request)
    }
}

/// Prints the table and returns the number of failed cases.
fn run(request: &Request) -> Result<usize, Error> {
    // Panics are counted but not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let mut samples = Vec::new();
    for path in &request.traces {
        let sample = Sample::new(unpacked(Path::new(path))?);
        samples.push(sample.ok_or_else(|| {
            Error::other(format!("{path}: must be an undamaged trace that contains events"))
        })?);
    }
    let mut counts = [[0usize; Outcome::ALL.len()]; Kind::ALL.len()];
    let mut shown = 0;
    let mut out = std::io::stdout().lock();
    for case in request.only.map_or(0..request.cases, |case| case..case + 1) {
        let mut random =
            SplitMix::new(request.seed.wrapping_mul(1 << 32).wrapping_add(case as u64));
        let kind = Kind::ALL[case % Kind::ALL.len()];
        let sample =
            random.pick(&samples).ok_or_else(|| Error::other("name at least one trace"))?;
        let damaged = sample.damaged(kind, &mut random);
        let (outcome, message) = judge(&damaged);
        counts[kind as usize][outcome as usize] += 1;
        if request.only.is_some() || (outcome.is_failure() && shown < request.show) {
            shown += 1;
            writeln!(out, "case {case}, {}: {outcome:?}: {message}", kind.label())?;
        }
        if request.only.is_some() {
            std::fs::write("damaged.json", &damaged.bytes)?;
        }
    }
    table(&mut out, &counts)
}

fn table(
    out: &mut impl Write,
    counts: &[[usize; Outcome::ALL.len()]; Kind::ALL.len()],
) -> Result<usize, Error> {
    writeln!(
        out,
        "| damage | cases | still JSON | refused | nothing intact lost | lost and reported | silent | wrong count | accepted by strict | panics |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|")?;
    let mut sums = [0; Outcome::ALL.len()];
    for kind in Kind::ALL {
        let row = counts[kind as usize];
        line(out, kind.label(), &row)?;
        (0..row.len()).for_each(|at| sums[at] += row[at]);
    }
    line(out, "all", &sums)?;
    Ok(Outcome::ALL
        .into_iter()
        .filter(|outcome| outcome.is_failure())
        .map(|outcome| sums[outcome as usize])
        .sum())
}

fn line(out: &mut impl Write, label: &str, row: &[usize]) -> Result<(), Error> {
    let cells: Vec<String> = row.iter().map(usize::to_string).collect();
    writeln!(out, "| {label} | {} | {} |", row.iter().sum::<usize>(), cells.join(" | "))
}
