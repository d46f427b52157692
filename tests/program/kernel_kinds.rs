//! Checks the kind of work that is assigned to each of more than a thousand kernels. The expected kinds are
//! hand-assigned labels in `tests/data/kernels.csv`.
//!
//! The file `kernels.csv` has the following columns: the kernel name; the ops above the launch, outermost first; the
//! label; the GPU time in µs that the row represents in recorded traces; and whether the kernel comes from a recording
//! or from public documentation.

use crate::support::compared::{compare_with, trace};
use crate::support::root;
use crate::support::trace_builder::{HostThread, TraceBuilder};
use serde::Deserialize;
use tracetree::analysis::AnalysisOptions;
use tracetree::tree::CallKind;
use tracetree::{PerSide, Side};

#[derive(Debug, Deserialize)]
struct Judged {
    kernel: String,
    ops: String,
    kind: String,
    recorded_us: Option<f64>,
    source: String,
}

fn judged() -> Vec<Judged> {
    let path = root().join("tests/data/kernels.csv");
    let mut reader = csv::Reader::from_path(path).expect("the list of kernels");
    reader.deserialize().map(|row| row.expect("a row of the list")).collect()
}

fn below(t: &mut HostThread<'_>, ops: &[&str], kernel: &str) {
    match ops {
        [op, rest @ ..] => t.op(*op, |t| below(t, rest, kernel)),
        [] => t.kernel(kernel, 5.0),
    }
}

/// The kind of work assigned to the only kernel in a trace, and the evidence for that kind.
fn kind(row: &Judged) -> (String, &'static str) {
    let ops: Vec<&str> = row.ops.split(" > ").filter(|op| !op.is_empty()).collect();
    let json = TraceBuilder::cuda().thread("main", |t| below(t, &ops, &row.kernel)).json();
    let traces = PerSide::new(trace("baseline", &json), trace("candidate", &json));
    compare_with(traces, AnalysisOptions::default(), |analysis| {
        let tree = analysis.tree(Side::Baseline);
        let kernel = tree.calls().find(|&call| tree.kind(call) == CallKind::Gpu);
        let kernel = kernel.expect("the kernel");
        let source =
            analysis.categories().of(analysis.diff(), Side::Baseline, kernel).source.label();
        (analysis.categories().name(analysis.diff(), Side::Baseline, kernel).to_owned(), source)
    })
}

/// The total weight of the misclassified rows from one source, and the total weight of all rows from that source. The
/// function `weight` returns a row's GPU time, or 1 to count rows. Prints the misclassified rows.
#[expect(clippy::print_stdout, reason = "which rows are wrong is what the list is kept for")]
fn wrong(source: &str, weight: fn(&Judged) -> f64) -> (f64, f64) {
    let (mut wrong, mut all) = (0.0, 0.0);
    for row in judged().iter().filter(|row| row.source == source) {
        all += weight(row);
        let (found, by) = kind(row);
        if found != row.kind {
            wrong += weight(row);
            println!("{} is {found} by {by}: {} below `{}`", row.kind, row.kernel, row.ops);
        }
    }
    (wrong, all)
}

#[test]
fn at_most_one_percent_of_the_recorded_time_is_misclassified() {
    let (wrong, all) = wrong("recorded", |row| row.recorded_us.expect("a recorded time"));
    assert!(wrong * 100.0 <= all, "{wrong} of {all} us");
}

#[test]
fn at_most_one_percent_of_the_publicly_known_kernels_are_misclassified() {
    let (wrong, all) = wrong("public", |_| 1.0);
    assert!(wrong * 100.0 <= all, "{wrong} of {all}");
}

#[test]
fn the_list_of_kernels_has_no_duplicate_rows() {
    let rows = judged();
    let mut keys: Vec<(&str, &str)> =
        rows.iter().map(|row| (row.kernel.as_str(), row.ops.as_str())).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), rows.len());
    assert!(rows.len() >= 600);
}
