//! Prints one screen with the differences in GPU time between two traces.
//!
//! ```text
//! cargo run --example diff_two_traces [-- BASELINE CANDIDATE [REPORT]]
//! ```
//! Without arguments, the example uses the ResNet pair in `examples/traces`. If REPORT is given, the example also
//! writes a report folder with that name, as `tracetree diff` does.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use tracetree::analysis::Analysis;
use tracetree::diff::{MergedId, MergedNode, TraceDiff};
use tracetree::report::ReportOptions;
use tracetree::{Comparison, ComparisonOptions, Side};

const BASELINE: &str = "examples/traces/resnet.rocm.json.gz";
const CANDIDATE: &str = "examples/traces/resnet.cuda.json.gz";
/// Maximum number of lines in each list.
const TOP: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let baseline = arguments.next().unwrap_or_else(|| BASELINE.to_owned());
    let candidate = arguments.next().unwrap_or_else(|| CANDIDATE.to_owned());

    let options = ComparisonOptions::default();
    let comparison = Comparison::open(baseline.as_str(), candidate.as_str(), &options)?;

    let mut out = std::io::stdout().lock();
    totals(comparison.analysis(), &mut out)?;
    names(comparison.analysis(), &mut out)?;
    points(comparison.diff(), &mut out)?;
    if let Some(folder) = arguments.next() {
        let files = comparison.report(ReportOptions::default()).write(&folder)?;
        writeln!(out, "\nFiles written to {folder}: {}", files.len())?;
    }
    Ok(())
}

/// Prints the totals, and says whether the table rows add up to the totals.
fn totals(analysis: &Analysis, out: &mut impl Write) -> std::io::Result<()> {
    let account = analysis.account();
    for side in Side::BOTH {
        let totals = &account.totals[side];
        writeln!(
            out,
            "{} {}: GPU time {:.3} ms, GPU events: {}, GPU time of events without a launch in \
             the trace: {:.3} ms",
            side.label(),
            analysis.tree(side).trace().source(),
            totals.time.as_millis(),
            totals.events,
            totals.unlinked.as_millis(),
        )?;
    }
    let exact = if account.is_exact() { "exactly the totals" } else { "NOT the totals" };
    writeln!(out, "sum of all {} rows: {exact}", analysis.rows().len())
}

/// Prints the names of the ops with the largest differences.
fn names(analysis: &Analysis, out: &mut impl Write) -> std::io::Result<()> {
    let mut groups: Vec<_> = analysis.by_name().iter().collect();
    groups.sort_by_key(|group| {
        let difference = group.time.candidate - group.time.baseline;
        (std::cmp::Reverse(difference.abs()), group.name.clone())
    });
    writeln!(out, "\n{:>12} {:>12} {:>10}  rows", "baseline ms", "candidate ms", "diff ms")?;
    for group in groups.iter().take(TOP) {
        writeln!(
            out,
            "{:>12.3} {:>12.3} {:>+10.3}  {} x {}",
            group.time.baseline.as_millis(),
            group.time.candidate.as_millis(),
            (group.time.candidate - group.time.baseline).as_millis(),
            group.row_count(),
            group.name,
        )?;
    }
    Ok(())
}

/// Prints the call sites whose GPU work differs, grouped by description.
fn points(diff: &TraceDiff, out: &mut impl Write) -> std::io::Result<()> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for point in diff.differences().iter().filter(|point| point.gpu_events > 0) {
        let common = point.lowest_common.map_or_else(String::new, |id| label(diff, id));
        let kind = format!("{}  below {common}", label(diff, point.node));
        *kinds.entry(kind).or_default() += 1;
    }
    let mut kinds: Vec<(usize, String)> = kinds.into_iter().map(|(k, n)| (n, k)).collect();
    kinds.sort_by_key(|(count, kind)| (std::cmp::Reverse(*count), kind.clone()));
    writeln!(out, "\nCall sites with different GPU work")?;
    for (count, kind) in kinds.iter().take(TOP) {
        writeln!(out, "{count:>6} x {kind}")?;
    }
    Ok(())
}

fn label(diff: &TraceDiff, id: MergedId) -> String {
    let name = |side: Side, call| diff.tree(side).name(call);
    match diff.merged().node(id) {
        MergedNode::Both(a, b) => match (name(Side::Baseline, a), name(Side::Candidate, b)) {
            (a, b) if a == b => a.to_owned(),
            (a, b) => format!("{a} | {b}"),
        },
        MergedNode::Only(side, call) => format!("{} {}", side.label(), name(side, call)),
    }
}
