//! Mutants → whether a test detects each of them, and a table of the results.

use crate::Places;
use crate::mutant::Mutant;
use crate::reached::{Test, command};
use crate::splitmix::SplitMix;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Duration of the first batch of tests in seconds. Each later batch takes three times as long.
const FIRST_BATCH: f64 = 0.5;

/// Tests that take longer (in seconds) are skipped: a few that read many real traces. The detected share
/// is therefore a lower bound.
const SLOWEST: f64 = 5.0;

/// Time limit of tests with a mutant, as a multiple of their time without one (20 s are added).
const SLOWER: f64 = 10.0;

/// The result for one mutant.
#[derive(Debug, Serialize, Deserialize, Clone)]
pub struct Outcome {
    pub mutant: usize,
    pub name: String,
    /// The test program that detected it; `None` if no test did.
    pub noticed_by: Option<String>,
}

/// A random sample of `count` mutants.
pub fn sample(mutants: &[usize], count: usize, seed: usize) -> Vec<usize> {
    let mut random = SplitMix::new(seed as u64);
    let mut keyed: Vec<(u64, usize)> = mutants.iter().map(|&at| (random.next(), at)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, at)| at).take(count).collect()
}

/// Tests the chosen mutants that have no cached outcome, on all cores.
pub fn run(
    places: &Places,
    programs: &BTreeMap<String, PathBuf>,
    tests: &[Test],
    mutants: &[Mutant],
    chosen: &[usize],
) -> io::Result<Vec<Outcome>> {
    let path = places.tests.join("outcomes.jsonl");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let mut outcomes: BTreeMap<usize, Outcome> = BTreeMap::new();
    for line in before.lines() {
        let outcome: Outcome = serde_json::from_str(line)?;
        outcomes.insert(outcome.mutant, outcome);
    }
    let open: Vec<usize> = chosen.iter().copied().filter(|at| !outcomes.contains_key(at)).collect();
    let file = Mutex::new(OpenOptions::new().create(true).append(true).open(&path)?);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(&mutant) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let noticed_by = noticed_by(places, programs, tests, mutant);
                    let name = mutants[mutant].name.clone();
                    let outcome = Outcome { mutant, name, noticed_by };
                    let line = serde_json::to_string(&outcome).expect("plain values");
                    writeln!(file.lock().expect("no panic"), "{line}").expect("a file to write to");
                    done.lock().expect("no panic").push(outcome);
                }
            });
        }
    });
    for outcome in done.into_inner().expect("no panic") {
        outcomes.insert(outcome.mutant, outcome);
    }
    Ok(chosen.iter().filter_map(|at| outcomes.get(at)).cloned().collect())
}

/// The test program that detects a mutant. Fast tests run first, in growing batches.
fn noticed_by(
    places: &Places,
    programs: &BTreeMap<String, PathBuf>,
    tests: &[Test],
    mutant: usize,
) -> Option<String> {
    let is_wanted = |test: &&Test| test.seconds <= SLOWEST && test.reaches.contains(&mutant);
    let mut reaching: Vec<&Test> = tests.iter().filter(is_wanted).collect();
    reaching.sort_by(|a, b| a.seconds.total_cmp(&b.seconds).then_with(|| a.name.cmp(&b.name)));
    let mut rest = reaching.as_slice();
    let mut limit = FIRST_BATCH;
    while !rest.is_empty() {
        let mut seconds = 0.0;
        let is_in = |test: &&&Test| {
            seconds += test.seconds;
            seconds <= limit
        };
        let (batch, later) = rest.split_at(rest.iter().take_while(is_in).count().max(1));
        let mut by_program: BTreeMap<&str, Vec<&Test>> = BTreeMap::new();
        batch.iter().for_each(|test| by_program.entry(&test.program).or_default().push(test));
        for (program, tests) in by_program {
            if !pass(places, &programs[program], &tests, mutant) {
                return Some(program.to_owned());
            }
        }
        (rest, limit) = (later, limit * 3.0);
    }
    None
}

fn pass(places: &Places, program: &Path, tests: &[&Test], mutant: usize) -> bool {
    let seconds: f64 = tests.iter().map(|test| test.seconds).sum();
    let child = command(places, program)
        // `--fail-fast` is not stable yet.
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["-Zunstable-options", "--fail-fast", "--exact", "--test-threads", "1"])
        .args(tests.iter().map(|test| &test.name))
        .env("TT_MUTANT", mutant.to_string())
        .spawn();
    let mut child = child.expect("a test program");
    let limit = Instant::now() + Duration::from_secs_f64(20.0 + SLOWER * seconds);
    wait(&mut child, limit)
}

/// Whether a program succeeds before the time limit.
fn wait(child: &mut Child, limit: Instant) -> bool {
    loop {
        match child.try_wait().expect("a child") {
            Some(status) => return status.success(),
            None if Instant::now() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Prints the undetected mutants and the detected share of each folder.
pub fn print(mutants: &[Mutant], outcomes: &[Outcome]) {
    let mut folders: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for outcome in outcomes {
        for folder in [mutants[outcome.mutant].folder(), "all"] {
            let counts = folders.entry(folder).or_default();
            counts.0 += u32::from(outcome.noticed_by.is_some());
            counts.1 += 1;
        }
    }
    for outcome in outcomes.iter().filter(|outcome| outcome.noticed_by.is_none()) {
        println!("not detected: {}", outcome.name);
    }
    for (folder, (noticed, count)) in folders {
        let share = 100.0 * f64::from(noticed) / f64::from(count);
        println!("{folder:<10} {noticed:>5} of {count:>5}  {share:.1}%");
    }
}
