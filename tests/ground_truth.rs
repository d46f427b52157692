//! Traces changed in a known way → how much of the truth the UID map finds.

mod support;

use support::changes::Change;
use support::files::{real_traces, unpacked};
use support::recording::{Forest, Recording};
use support::score::Truth;
use support::splitmix::SplitMix;
use support::trace_builder::TraceBuilder;

/// The nearest event above that `keep` knows.
fn nearest(forest: &Forest, mut at: usize, keep: impl Fn(usize) -> bool) -> Option<usize> {
    while let Some(parent) = forest.parents[at] {
        if keep(parent) {
            return Some(parent);
        }
        at = parent;
    }
    None
}

/// True partners stand below true partners, but for what was added or removed between.
fn count_misplaced(baseline: &Recording, candidate: &Recording) -> usize {
    let (one, two) = (Forest::of(&baseline.events), Forest::of(&candidate.events));
    let truth = Truth::between(baseline, candidate);
    let mut partner = vec![None; baseline.events.len()];
    for pair in truth.pairs() {
        partner[pair.0.unwrap() as usize] = pair.1;
    }
    let is_old = |at: usize| candidate.events[at].origin.is_some();
    let misplaced = truth.pairs().filter(|pair| {
        let above = nearest(&one, pair.0.unwrap() as usize, |at| partner[at].is_some());
        let expected = above.and_then(|at| partner[at]);
        nearest(&two, pair.1.unwrap() as usize, is_old) != expected.map(|at| at as usize)
    });
    misplaced.count()
}

#[test]
fn real() {
    let Some(root) = real_traces() else { return };
    for dir in std::fs::read_dir(root).unwrap() {
        let dir = dir.unwrap().path();
        if !dir.is_dir() || dir.ends_with("malformed") {
            continue;
        }
        for f in std::fs::read_dir(dir).unwrap() {
            let f = f.unwrap().path();
            if !f.to_string_lossy().ends_with("json.gz") {
                continue;
            }
            let t0 = std::time::Instant::now();
            let Some(recording) = Recording::read(&unpacked(&f).unwrap()) else {
                println!("NOT {f:?}");
                continue;
            };
            println!("=== {f:?} {} events, read {:?}", recording.events.len(), t0.elapsed());
            for change in Change::all() {
                let t0 = std::time::Instant::now();
                let Some(changed) = change.apply(&recording, &mut SplitMix::new(1)) else {
                    println!("  {} n/a", change.label());
                    continue;
                };
                let t1 = t0.elapsed();
                let truth = Truth::between(&recording, &changed);
                let t2 = t0.elapsed();
                println!(
                    "  {} events {} pairs {} misplaced {} in {:?} {:?}",
                    change.label(),
                    changed.events.len(),
                    truth.pairs().count(),
                    count_misplaced(&recording, &changed),
                    t1,
                    t2
                );
            }
        }
    }
}
