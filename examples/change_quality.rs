//! Compares pairs of recordings between which one known change was made. For each pair, prints whether tracetree names
//! this change, and what fraction of the time difference tracetree attributes to changes.
//!
//! ```text
//! cargo run --release --all-features --example change_quality            all pairs, both ways
//! cargo run --release --all-features --example change_quality A B        the changes between two traces
//! ```
//! The columns are the position of the known change in the list of changes, the number of other changes in the list,
//! the fraction of the time difference that is attributed to changes, and the fraction that is unexplained. Pairs of
//! real traces are read from the folder `TRACETREE_TRACES`.

#[path = "../tests/changes/pairs.rs"]
mod pairs;
#[path = "../tests/support/mod.rs"]
mod support;

use pairs::{KNOWN, SAME, compare};
use std::io::{Result, Write, stdout};
use support::compared::compare_files;
use tracetree::PerSide;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;
use tracetree::trace::Nanos;

fn main() -> Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    match paths.as_slice() {
        [] => table(&mut stdout()),
        [baseline, candidate] => {
            let paths = PerSide::new(baseline, candidate);
            compare_files(paths, |analysis| list(analysis, &mut stdout()))
        }
        _ => Err(std::io::Error::other("usage: change_quality [BASELINE CANDIDATE]")),
    }
}

fn list(analysis: &Analysis, out: &mut dyn Write) -> Result<()> {
    for change in analysis.changes().list() {
        let (cost, kind) = (change.cost.as_millis(), change.kind.label());
        writeln!(out, "{cost:+10.3} ms  {kind:<17} {}  {}", change.sentence, change.place)?;
    }
    for part in analysis.changes().without_change() {
        writeln!(out, "{:+10.3} ms  {}", part.cost.as_millis(), part.name)?;
    }
    Ok(())
}

fn table(out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{:<58} {:<17} rank others changes unexplained", "pair", "kind")?;
    for pair in KNOWN {
        // The expected words describe only the change from the baseline to the candidate. If the sides are swapped,
        // only the kind of the change is checked, because the sentence then describes the opposite change in different
        // words.
        let both =
            [(pair.baseline, pair.candidate, pair.words), (pair.candidate, pair.baseline, "")];
        for (one, two, words) in both {
            let line = compare(one, two, |analysis| figures(analysis, Some((pair.kind, words))));
            if let Some(line) = line {
                writeln!(out, "{:<58} {:<17} {line}", format!("{one} → {two}"), pair.kind.label())?;
            }
        }
    }
    for (one, two) in SAME {
        if let Some(line) = compare(one, two, |analysis| figures(analysis, None)) {
            writeln!(out, "{:<58} {:<17} {line}", format!("{one} → {two}"), "none")?;
        }
    }
    Ok(())
}

fn figures(analysis: &Analysis, known: Option<(ChangeKind, &str)>) -> String {
    let list = analysis.changes().list();
    let rank = known.and_then(|(kind, words)| {
        list.iter().position(|change| change.kind == kind && change.sentence.contains(words))
    });
    let rank = rank.map(|at| at + 1);
    let others = list.len() - usize::from(rank.is_some());
    let changes: Nanos = list.iter().map(|change| change.cost.abs()).sum();
    let rest: Nanos = analysis.changes().without_change().iter().map(|part| part.cost.abs()).sum();
    let share = |time: Nanos| 100.0 * time.0 as f64 / (changes + rest).0.max(1) as f64;
    let rank = rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
    let unexplained = share(analysis.changes().unexplained().abs());
    format!("{rank:>4} {others:>6} {:>6.1}% {unexplained:>10.1}%", share(changes))
}
