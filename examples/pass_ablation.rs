//! Measures how much each pass of the alignment contributes, and prints a table.
//!
//! ```text
//! cargo run --release --example pass_ablation -- TRACE… [--seed N] [--only TEXT] [--without PASS,PASS,…]
//! ```
//! Each trace is changed in every known way, as in `alignment_quality`. The alignment then runs once with all passes,
//! and then once for each pass, with only that pass skipped. The score of a changed trace is its lowest precision or
//! recall. Each row of the table represents a skipped pass. The columns show how many scores fall or rise by more than
//! 0.001 without this pass, the sums of these losses and gains, and the changed trace with the largest loss.
//!
//! When a pass is skipped, a later pass often makes the same matches. With `--without`, the first row shows the losses
//! if all given passes are skipped. Each of the other rows shows the additional losses if one more pass is skipped.

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
use tracetree::diff::Pass;

const USAGE: &str = "usage: pass_ablation TRACE… [--seed N] [--only TEXT] [--without PASS,…]";

/// The smallest difference between two scores that counts as a loss or gain.
const VISIBLE: f64 = 0.001;

/// Passes that all other passes depend on.
const BASIS: [Pass; 2] = [Pass::Pinned, Pass::Threads];

/// The losses and gains in the scores if one pass is skipped.
#[derive(Debug, Default)]
struct Worth {
    worse: usize,
    lost: f64,
    better: usize,
    gained: f64,
    /// The largest loss, and the change that causes this loss.
    most: (f64, String),
}

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<(), Error> {
    let (mut traces, mut seed, mut only) = (Vec::new(), 1, String::new());
    let mut without: Vec<Pass> = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| Error::other(USAGE));
        match argument.as_str() {
            "--seed" => seed = value()?.parse().map_err(Error::other)?,
            "--only" => only = value()?,
            "--without" => without = value()?.split(',').map(named).collect::<Result<_, _>>()?,
            _ => traces.push(argument),
        }
    }
    if traces.is_empty() {
        return Err(Error::other(USAGE));
    }
    let passes: Vec<Pass> = Pass::ALL
        .into_iter()
        .filter(|pass| !BASIS.contains(pass) && !without.contains(pass))
        .collect();
    let mut together = Worth::default();
    let mut worth: Vec<Worth> = passes.iter().map(|_| Worth::default()).collect();
    let mut trials = 0;
    for path in &traces {
        let recording = Recording::read(&unpacked(Path::new(path))?).ok_or_else(|| {
            Error::other(format!("{path}: not a trace (expected a Kineto trace)"))
        })?;
        let changes = Change::all().into_iter().chain(Change::hard());
        for change in changes.filter(|change| change.label().contains(&only)) {
            for &mode in Mode::of(&recording) {
                let trial = Trial::run(&recording, &change, mode, seed).map_err(Error::other)?;
                let Some(trial) = trial else { continue };
                trials += 1;
                let name = || format!("{}, {}, {path}", change.label(), mode.label());
                let with = lowest(&trial.scores_without(without.iter().copied()));
                together.add(lowest(&trial.scores()) - with, name);
                for (&pass, worth) in passes.iter().zip(&mut worth) {
                    let left_out = without.iter().copied().chain([pass]);
                    worth.add(with - lowest(&trial.scores_without(left_out)), name);
                }
            }
        }
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{trials} changed traces")?;
    let [pass, worse, lost, better, gained, most] =
        ["without", "worse", "lost", "better", "gained", "most lost"];
    writeln!(out, "{pass:<20} {worse:>6} {lost:>8} {better:>7} {gained:>8}  {most}")?;
    if !without.is_empty() {
        print(&mut out, "all of --without", &together)?;
    }
    passes.iter().zip(&worth).try_for_each(|(pass, worth)| print(&mut out, pass.name(), worth))
}

fn named(name: &str) -> Result<Pass, Error> {
    let pass = Pass::ALL.into_iter().find(|pass| pass.name() == name);
    pass.ok_or_else(|| Error::other(format!("there is no pass {name}")))
}

impl Worth {
    fn add(&mut self, lost: f64, name: impl Fn() -> String) {
        if lost > VISIBLE {
            self.worse += 1;
            self.lost += lost;
        } else if lost < -VISIBLE {
            self.better += 1;
            self.gained -= lost;
        }
        if lost > self.most.0 {
            self.most = (lost, name());
        }
    }
}

fn print(out: &mut impl Write, name: &str, worth: &Worth) -> Result<(), Error> {
    let Worth { worse, lost, better, gained, most: (most, place) } = worth;
    write!(out, "{name:<20} {worse:>6} {lost:>8.3} {better:>7} {gained:>8.3}  ")?;
    if *most > VISIBLE { writeln!(out, "{most:.3}: {place}") } else { writeln!(out) }
}

/// The lowest of all precision and recall scores.
fn lowest(scores: &Scores) -> f64 {
    let both = |score: &Score| score.precision().min(score.recall());
    both(&scores.gpu_path).min(both(&scores.host))
}
