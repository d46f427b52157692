//! Measures how reliable the time decision of the gate is: how often a slow-down of the whole candidate exceeds the
//! default limit of 10%, for several numbers of runs per side.
//!
//! ```sh
//! cargo run --release --example gate_power -- RUN…        # several runs of one program; may be empty
//! ```
//! The runs are drawn from two simulated machines, whose speed varies from run to run by 1% and by 5% (standard
//! deviation), and from the given runs. Each cell shows how often the gate fails, and how often it is inconclusive.

#![expect(clippy::print_stdout, reason = "the example prints a table")]

use std::path::PathBuf;
use tracetree::analysis::Analysis;
use tracetree::analysis::verdict::{Ruling, Shift, drift};
use tracetree::diff::TraceDiff;
use tracetree::trace::Trace;
use tracetree::tree::CallTree;
use tracetree::{PerSide, Result, Side};

/// The allowed increase of the step time, which is the default of the gate.
const LIMIT: f64 = 0.1;

/// Numbers of runs per side.
const RUNS: [usize; 4] = [1, 3, 5, 9];

/// Slow-downs of the whole candidate; the first one is none at all.
const SLOWDOWNS: [f64; 6] = [0.0, 0.02, 0.05, 0.1, 0.3, 1.0];

/// Number of draws for each number in the table.
const DRAWS: u64 = 2_000;

/// The times of one run: the step time and the time of each call site, in µs.
#[derive(Clone)]
struct Run {
    step: f64,
    sites: Vec<f64>,
}

impl Run {
    /// A run with one call site, which is the whole step.
    fn simulated(step: f64) -> Run {
        Run { step, sites: vec![step] }
    }
}

fn main() -> Result<()> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    println!(
        "| machine | runs per side | unchanged | +2% | +5% | +10% | +30% | +100% |\n|---|---|---|---|---|---|---|---|"
    );
    for (machine, deviation) in [("1%", 0.01), ("5%", 0.05)] {
        let draw = |runs: usize, seed: u64| -> Vec<Run> {
            let mut random = Random(seed);
            let time = |_| Run::simulated(1e4 * (deviation * random.normal()).exp());
            (0..2 * runs).map(time).collect()
        };
        rows(machine, usize::MAX, draw);
    }
    let recorded = recorded(&paths)?;
    if !recorded.is_empty() {
        let draw = |runs: usize, seed: u64| Random(seed).some(&recorded, 2 * runs);
        rows("the given runs", recorded.len(), draw);
    }
    Ok(())
}

/// Prints a row for each number of runs: how often the gate fails, and how often it is inconclusive.
fn rows(machine: &str, most: usize, draw: impl Fn(usize, u64) -> Vec<Run>) {
    for runs in RUNS.into_iter().filter(|runs| 2 * runs <= most) {
        let cells = SLOWDOWNS.map(|slowdown| {
            let (mut failed, mut open) = (Share::default(), Share::default());
            for seed in 0..DRAWS {
                let ruling = ruling(&draw(runs, seed), slowdown);
                failed.add(ruling == Ruling::Exceeds);
                open.add(matches!(ruling, Ruling::Open(_)));
            }
            format!("{} / {}", failed.percent(), open.percent())
        });
        println!("| {machine} | {runs} | {} |", cells.join(" | "));
    }
}

/// The decision of the gate if the second half of the runs is slowed down.
fn ruling(runs: &[Run], slowdown: f64) -> Ruling {
    let (baseline, candidate) = runs.split_at(runs.len() / 2);
    let before: Vec<f64> = baseline.iter().map(|run| run.step).collect();
    let after: Vec<f64> = candidate.iter().map(|run| run.step * (1.0 + slowdown)).collect();
    let sites = [baseline, candidate].map(|runs| {
        let of_site = |site: usize| runs.iter().map(|run| run.sites[site]).collect::<Vec<f64>>();
        (0..runs[0].sites.len()).map(of_site).collect::<Vec<_>>()
    });
    let [one, two] = sites.each_ref().map(|sites| sites.iter().map(Vec::as_slice).collect());
    let shift =
        Shift::between(PerSide::new(&before[..], &after[..]), drift(&PerSide::new(one, two)))
            .expect("runs on both sides");
    shift.ruling(LIMIT * shift.medians.baseline)
}

/// The times of recorded runs of one program. The call sites that all runs have are kept.
fn recorded(paths: &[PathBuf]) -> Result<Vec<Run>> {
    let mut steps = Vec::new();
    let mut of_sites: std::collections::BTreeMap<String, Vec<f64>> = Default::default();
    for (number, path) in paths.iter().enumerate() {
        let tree = CallTree::build(Trace::open(path)?);
        let analysis = Analysis::new(TraceDiff::new(tree.clone(), tree));
        steps.push(1e3 * analysis.wall().totals(Side::Baseline).step_ms());
        for row in analysis.rows() {
            let name = row.name(analysis.diff());
            let times = of_sites.entry(name).or_default();
            times.resize(number + 1, 0.0);
            times[number] += row.time.baseline.as_micros();
        }
    }
    of_sites.retain(|_, times| times.len() == paths.len() && times.iter().all(|&time| time > 0.0));
    let run = |(number, step)| {
        let sites = of_sites.values().map(|times| times[number]).collect();
        Run { step, sites }
    };
    Ok(steps.into_iter().enumerate().map(run).collect())
}

/// The number of cases in which a difference was found, and the number of all cases.
#[derive(Default, Clone, Copy)]
struct Share {
    of_all: usize,
    found: usize,
}

impl Share {
    fn add(&mut self, is_found: bool) {
        self.of_all += 1;
        self.found += usize::from(is_found);
    }

    fn percent(self) -> String {
        match self.of_all {
            0 => "–".to_owned(),
            all => format!("{:.1}%", 100.0 * self.found as f64 / all as f64),
        }
    }
}

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to 1.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normally distributed number: the sum of twelve uniform numbers has the variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Some of the runs, each at most once.
    fn some(&mut self, runs: &[Run], count: usize) -> Vec<Run> {
        let mut left = runs.to_vec();
        (0..count)
            .map(|_| left.swap_remove((self.uniform() * left.len() as f64) as usize))
            .collect()
    }
}
