//! Measures how reliable verdicts are. The example counts false verdicts on real traces without changes, and correct
//! verdicts on traces in which one call site is slowed down by a known factor.
//!
//! ```sh
//! TRACETREE_TRACES=DIR cargo run --release --example verdict_power        # all traces with steps below DIR
//! cargo run --release --example verdict_power -- TRACE…
//! cargo run --release --example verdict_power -- --runs RUN…               # whole runs instead of steps
//! ```
//! The steps of one trace are split into two sides. The two sides differ only by noise, so any verdict `slower` or
//! `faster` is false. Then a slowdown is simulated: on one side, the times of one call site are multiplied by a factor,
//! and the call site is tested. The test is repeated for every call site and every way to split the steps.
//!
//! If a trace has too few steps for two sides, the steps of both sides are drawn with replacement from all steps of the
//! trace, and the table marks the row as *drawn*. Results in these rows look better than they are, because a step that
//! is drawn twice agrees with itself. Scaled times are not rounded to the resolution of the trace's clock. Call sites
//! without work in some of the steps are ignored, because a different rule applies to them.
//!
//! With `--runs`, the example measures the time decision of the gate instead: how often a slow-down of the whole
//! candidate exceeds the default limit of 10%, for several numbers of runs per side. The runs are drawn from two
//! simulated machines, whose speed varies from run to run by 1% and by 5% (standard deviation), and from the given
//! runs of one program.

#![expect(clippy::print_stdout, reason = "the example prints a table")]

use std::path::{Path, PathBuf};
use tracetree::analysis::Analysis;
use tracetree::analysis::verdict::{
    Family, Judgement, Question, Ruling, Shift, Thresholds, Verdict, drift,
};
use tracetree::diff::TraceDiff;
use tracetree::trace::Trace;
use tracetree::tree::CallTree;
use tracetree::{PerSide, Result, Side};

/// Verdicts are tested with each of these numbers of steps per side.
const STEPS: [usize; 4] = [2, 3, 5, 6];

/// Factors by which a call site is slowed down. The largest factor is needed for noisy call sites.
const FACTORS: [f64; 4] = [1.05, 1.1, 1.5, 3.0];

/// A call site counts as quiet if the standard deviation of the logarithms of its times is at most this value.
const QUIET: f64 = 0.02;

/// Maximum number of tested ways to split the steps of a trace into two sides.
const DIVISIONS: usize = 20;

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|word| word == "--runs").is_some() {
        let paths: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
        return power_of_runs(&paths);
    }
    let named: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let paths = match std::env::var_os("TRACETREE_TRACES") {
        Some(folder) if named.is_empty() => traces_below(Path::new(&folder)),
        Some(_) | None => named,
    };
    println!(
        "| trace | steps per side | call sites | quiet | false calls | false totals | ×1.05 | ×1.10 | ×1.5 | others ×3 |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for path in paths {
        let Ok(trace) = Trace::open(&path) else { continue };
        let recording = Recording::of(trace);
        for steps in STEPS {
            if let Some(counts) = Counts::of(&recording, steps) {
                println!("| {} | {} |", name(&path), counts.cells(&recording, steps));
            }
        }
    }
    Ok(())
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(".json").next().unwrap_or_default().to_owned()
}

fn traces_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let is_damaged = |path: &&PathBuf| path.ends_with("malformed");
    let below =
        |path: &PathBuf| if path.is_dir() { traces_below(path) } else { vec![path.clone()] };
    let is_trace = |path: &PathBuf| path.to_string_lossy().ends_with(".json.gz");
    paths.iter().filter(|path| !is_damaged(path)).flat_map(below).filter(is_trace).collect()
}

/// The time of each call site in each step of one trace.
struct Recording {
    steps: usize,
    places: Vec<Vec<f64>>,
    /// Total time of all call sites in each step, including ignored call sites.
    total: Vec<f64>,
}

impl Recording {
    fn of(trace: Trace) -> Recording {
        let tree = CallTree::build(trace);
        let analysis = Analysis::new(TraceDiff::new(tree.clone(), tree));
        let steps = analysis.diff().steps(Side::Baseline).len();
        let sites = &analysis.judged().sites;
        let places: Vec<Vec<f64>> =
            sites.iter().map(|site| site.question.samples.baseline.clone()).collect();
        let total = (0..steps).map(|step| places.iter().map(|place| place[step]).sum()).collect();
        let has_all = |place: &Vec<f64>| place.iter().all(|&time| time > 0.0);
        Recording { steps, places: places.into_iter().filter(has_all).collect(), total }
    }

    /// Whether a trace has too few steps for `count` different steps on each side. If so, steps must be drawn with
    /// replacement.
    fn is_drawn(&self, count: usize) -> bool {
        self.steps < 2 * count
    }

    fn is_quiet(&self, place: usize) -> bool {
        deviation_of_logs(&self.places[place]) <= QUIET
    }

    /// Ways to split the steps into two sides with `count` steps each: all ways, or an evenly spaced selection if there
    /// are more than [`DIVISIONS`] ways. If the trace has too few steps, returns [`DIVISIONS`] random draws with
    /// replacement.
    fn divisions(&self, count: usize) -> Vec<PerSide<Vec<usize>>> {
        if self.is_drawn(count) {
            return (0..DIVISIONS as u64).map(|seed| drawn(self.steps, count, seed)).collect();
        }
        let all = divided(self.steps, count);
        let taken = all.len().min(DIVISIONS);
        (0..taken).map(|at| all[at * all.len() / taken].clone()).collect()
    }
}

fn deviation_of_logs(times: &[f64]) -> f64 {
    let logs: Vec<f64> = times.iter().map(|time| time.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (squares / (logs.len() - 1) as f64).sqrt()
}

/// All ways to assign `count` steps to each side. Each step belongs to the baseline, to the candidate or to neither.
fn divided(steps: usize, count: usize) -> Vec<PerSide<Vec<usize>>> {
    let choices = (0..3_usize.pow(steps as u32)).map(|code| {
        let on = |side: usize| {
            (0..steps).filter(|&step| code / 3_usize.pow(step as u32) % 3 == side).collect()
        };
        PerSide::<Vec<usize>>::new(on(1), on(2))
    });
    choices.filter(|sides| Side::BOTH.iter().all(|&side| sides[side].len() == count)).collect()
}

/// Steps for both sides, drawn with replacement.
fn drawn(steps: usize, count: usize, seed: u64) -> PerSide<Vec<usize>> {
    let mut random = Random(seed);
    PerSide::from_fn(|_| (0..count).map(|_| (random.next() % steps as u64) as usize).collect())
}

fn question(times: &[f64], sides: &PerSide<Vec<usize>>) -> Question {
    let samples = sides.as_ref().map(|steps| steps.iter().map(|&step| times[step]).collect());
    Question { samples, ..Question::default() }
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

/// Counts of verdicts over all ways to split the steps.
#[derive(Default)]
struct Counts {
    false_calls: Share,
    false_totals: Share,
    quiet: [Share; FACTORS.len()],
    others: [Share; FACTORS.len()],
}

impl Counts {
    fn of(recording: &Recording, steps: usize) -> Option<Counts> {
        // Two or three steps that are drawn from only a few steps are often the same step, and therefore show no noise.
        let is_divisible = recording.steps >= 2 * steps || steps > 3;
        if recording.steps < 2 || recording.places.is_empty() || !is_divisible {
            return None;
        }
        let mut counts = Counts::default();
        for sides in recording.divisions(steps) {
            counts.add(recording, &sides);
        }
        Some(counts)
    }

    fn add(&mut self, recording: &Recording, sides: &PerSide<Vec<usize>>) {
        let thresholds = Thresholds::default();
        let mut questions: Vec<Question> =
            recording.places.iter().map(|times| question(times, sides)).collect();
        let family = Family::of(&questions);
        let is_change = |judgement: Judgement| judgement.verdict.is_change();
        for question in &questions {
            self.false_calls.add(is_change(family.judge(question, &thresholds)));
        }
        let total = question(&recording.total, sides);
        self.false_totals.add(is_change(family.judge(&total, &thresholds)));
        for place in 0..questions.len() {
            let shares = if recording.is_quiet(place) { &mut self.quiet } else { &mut self.others };
            let before = questions[place].clone();
            for (factor, share) in FACTORS.into_iter().zip(shares) {
                questions[place] = before.clone();
                questions[place].samples.candidate.iter_mut().for_each(|time| *time *= factor);
                let judgement = Family::of(&questions).judge(&questions[place], &thresholds);
                share.add(judgement.verdict == Verdict::Slower);
            }
            questions[place] = before;
        }
    }

    fn cells(&self, recording: &Recording, steps: usize) -> String {
        let quiet = (0..recording.places.len()).filter(|&place| recording.is_quiet(place)).count();
        let manner = if recording.is_drawn(steps) { ", drawn" } else { "" };
        let mut cells = vec![
            format!("{steps} of {}{manner}", recording.steps),
            recording.places.len().to_string(),
            quiet.to_string(),
            self.false_calls.percent(),
            format!("{} of {}", self.false_totals.found, self.false_totals.of_all),
        ];
        cells.extend(self.quiet[..3].iter().map(|share| share.percent()));
        cells.push(self.others[3].percent());
        cells.join(" | ")
    }
}

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

fn power_of_runs(paths: &[PathBuf]) -> Result<()> {
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
    let recorded = recorded(paths)?;
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
        for site in &analysis.judged().sites {
            let name = format!("{} {}", site.name, site.module.baseline);
            let times = of_sites.entry(name).or_default();
            times.resize(number + 1, 0.0);
            times[number] += site.time.baseline.as_micros();
        }
    }
    of_sites.retain(|_, times| times.len() == paths.len() && times.iter().all(|&time| time > 0.0));
    let run = |(number, step)| {
        let sites = of_sites.values().map(|times| times[number]).collect();
        Run { step, sites }
    };
    Ok(steps.into_iter().enumerate().map(run).collect())
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
