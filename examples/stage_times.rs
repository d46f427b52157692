//! Measures the cost of each stage of a comparison: time, memory, and trace bytes per second.
//!
//! ```text
//! cargo run --release --example stage_times -- BASELINE CANDIDATE [ROUNDS]
//! ```
//!
//! All values are medians over the rounds. Memory is the peak memory of the process during the stage, including memory
//! retained from earlier stages. The memory is 0 if the system does not report the peak in `/proc`. Trace bytes are the
//! uncompressed bytes of both traces.

#![expect(clippy::print_stdout, reason = "the example prints a table")]

mod measuring;

use measuring::{peak_memory, processor_seconds};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tracetree::report::{Emit, Report, ReportOptions};
use tracetree::trace::ReadOptions;
use tracetree::{Analysis, CallTree, PerSide, Trace, TraceDiff};

/// Default number of rounds.
const ROUNDS: usize = 5;

/// The measured stages of a comparison, in order.
const STAGES: [&str; 6] = ["read", "build", "align", "attribute", "write tables", "write page"];

/// The cost of one stage in one round, in seconds and bytes.
#[derive(Debug, Clone, Copy)]
struct Cost {
    wall: f64,
    processor: f64,
    peak: u64,
}

/// The costs of all stages in one round, and the total size of the compared traces.
struct Round {
    costs: Vec<Cost>,
    events: usize,
    bytes: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [baseline, candidate, rest @ ..] = &args[..] else {
        return Err("pass BASELINE and CANDIDATE".into());
    };
    let rounds = rest.first().map_or(Ok(ROUNDS), |number| number.parse())?;
    let paths = PerSide::new(Path::new(baseline), Path::new(candidate));
    let folder = std::env::temp_dir().join(format!("tracetree-stages-{}", std::process::id()));
    let rounds: Result<Vec<Round>, _> = (0..rounds.max(1)).map(|_| round(paths, &folder)).collect();
    std::fs::remove_dir_all(&folder)?;
    print_table(&rounds?);
    Ok(())
}

fn round(paths: PerSide<&Path>, folder: &Path) -> tracetree::Result<Round> {
    let mut costs = Vec::new();
    let options = ReadOptions::default().without_flows();
    let read = |path: &Path| Trace::open_with(path, &options).map(Arc::new);
    let (baseline, candidate) =
        measured(&mut costs, || rayon::join(|| read(paths.baseline), || read(paths.candidate)));
    let traces = PerSide::new(baseline?, candidate?);
    let build = |trace: &Arc<Trace>| CallTree::build(trace.clone());
    let trees = measured(&mut costs, || {
        rayon::join(|| build(&traces.baseline), || build(&traces.candidate))
    });
    let diff = measured(&mut costs, || TraceDiff::new(trees.0, trees.1));
    let analysis = Arc::new(measured(&mut costs, || Analysis::new(diff)));
    for emits in [vec![], vec![Emit::Html, Emit::Markdown]] {
        let options = ReportOptions { emits, ..ReportOptions::default() };
        measured(&mut costs, || Report::with_options(analysis.clone(), options).write(folder))?;
    }
    let both = |of: fn(&Trace) -> u64| of(&traces.baseline) + of(&traces.candidate);
    Ok(Round {
        costs,
        events: both(|trace| trace.len() as u64) as usize,
        bytes: both(Trace::unpacked_bytes),
    })
}

fn measured<T>(costs: &mut Vec<Cost>, work: impl FnOnce() -> T) -> T {
    forget_peak();
    let (processor, start) = (processor_seconds(), Instant::now());
    let result = work();
    let wall = start.elapsed().as_secs_f64();
    costs.push(Cost { wall, processor: processor_seconds() - processor, peak: peak_memory() });
    result
}

fn print_table(rounds: &[Round]) {
    let (events, bytes) = (rounds[0].events, rounds[0].bytes as f64);
    println!("events: {events}, unpacked: {:.1} MB, rounds: {}\n", bytes / 1e6, rounds.len());
    println!("| stage | wall ms | processor ms | MB/s | peak MB | peak bytes per trace byte |");
    println!("|---|---|---|---|---|---|");
    let mut total = (0.0, 0.0, 0.0f64);
    for (stage, name) in STAGES.iter().enumerate() {
        let figures = |of: fn(&Cost) -> f64| median(rounds, stage, of);
        let wall = figures(|cost| cost.wall);
        let processor = figures(|cost| cost.processor);
        let peak = figures(|cost| cost.peak as f64);
        print_row(name, wall, processor, peak, bytes);
        total = (total.0 + wall, total.1 + processor, total.2.max(peak));
    }
    print_row("all", total.0, total.1, total.2, bytes);
}

fn print_row(name: &str, wall: f64, processor: f64, peak: f64, bytes: f64) {
    println!(
        "| {name} | {:.1} | {:.1} | {:.0} | {:.1} | {:.3} |",
        wall * 1e3,
        processor * 1e3,
        bytes / wall / 1e6,
        peak / 1e6,
        peak / bytes
    );
}

fn median(rounds: &[Round], stage: usize, of: fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(|round| of(&round.costs[stage])).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Resets the recorded peak memory of the process to its current memory use.
fn forget_peak() {
    // If `clear_refs` cannot be written, the reported peak covers all stages so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
