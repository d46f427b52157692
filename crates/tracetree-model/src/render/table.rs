//! Produces the cells of the comparison table. The text and Markdown formats share these cells.

use super::figures;
use crate::compare::{Amounts, Row, total};
use crate::scenario::ModelComparison;

pub(super) type Line = [String; 10];

pub(super) const HEADS: [&str; 10] = [
    "kernel type",
    "model µs",
    "count",
    "profile µs",
    "count",
    "error",
    "count error",
    "share",
    "status",
    "model ops",
];

/// Whether a column contains numbers. Such columns are right-aligned.
pub(super) fn is_number(column: usize) -> bool {
    (1..=7).contains(&column)
}

/// The lines of the table: the `top` largest rows, the sum of any remaining rows, and the total.
pub(super) fn lines(comparison: &ModelComparison, top: usize) -> Vec<Line> {
    let (shown, rest) = comparison.rows.split_at(top.min(comparison.rows.len()));
    let mut lines: Vec<Line> = shown.iter().map(row_line).collect();
    if !rest.is_empty() {
        let share = rest.iter().filter_map(|row| row.profile_share_pct).sum();
        let head = format!("({} more)", rest.len());
        lines.push(line(head, &total(rest), Some(share), "", String::new()));
    }
    let share = comparison.total.is_measured().then_some(100.0);
    lines.push(line("TOTAL".to_owned(), &comparison.total, share, "", String::new()));
    lines
}

fn row_line(row: &Row) -> Line {
    let head = row.kernel_type.to_string();
    line(head, &row.amounts, row.profile_share_pct, row.status.label(), row.model_ops.join(", "))
}

fn line(
    head: String,
    amounts: &Amounts,
    share: Option<f64>,
    status: &str,
    model_ops: String,
) -> Line {
    [
        head,
        figures::micros(amounts.model),
        amounts.model_count.to_string(),
        figures::micros(amounts.profile),
        figures::count(amounts.profile_count),
        figures::difference(amounts.error_pct()),
        figures::difference(amounts.count_error_pct()),
        figures::share(share),
        status.to_owned(),
        model_ops,
    ]
}

/// The sentences below the table: the coverage, then the overall errors.
pub(super) fn summary(comparison: &ModelComparison) -> [String; 2] {
    let accuracy = &comparison.accuracy;
    let coverage: Vec<String> = accuracy
        .coverage
        .iter()
        .map(|part| {
            let types = figures::counted(part.kernel_types as u64, "type");
            format!("{} {} ({types})", part.status, stated_share(part.share_pct))
        })
        .collect();
    [
        format!("coverage of the profile's time: {}", coverage.join(", ")),
        format!(
            "weighted error {}, total error {}, predicted time of kernel types missing from the profile {} µs",
            stated_share(accuracy.weighted_error_pct),
            figures::stated(figures::difference(comparison.total.error_pct())),
            figures::micros(accuracy.model_only)
        ),
    ]
}

fn stated_share(percent: Option<f64>) -> String {
    figures::stated(figures::share(percent))
}

/// Two lines that describe the inputs: one for the model's trace, one for the profile.
pub(super) fn inputs(comparison: &ModelComparison) -> [String; 2] {
    let scenario = &comparison.scenario;
    let process = &comparison.process;
    let rows = &comparison.profile_rows;
    [
        format!(
            "model    {}: pid {} {}, {} compared, {} ignored (zero cost)",
            scenario.model_trace.display(),
            process.pid,
            process.name.as_deref().unwrap_or("(no name)"),
            figures::counted(comparison.ops.compared, "op"),
            comparison.ops.zero_cost
        ),
        format!(
            "profile  {}: {} in {}; ignored: {}, {} and {}",
            scenario.profile.display(),
            figures::counted(rows.kept, "kernel"),
            figures::counted(u64::from(scenario.forward_passes.get()), "forward pass"),
            figures::counted(rows.copies, "duplicate collective row"),
            figures::counted(rows.aicpu, "AI CPU row"),
            figures::counted(rows.incomplete, "incomplete row"),
        ),
    ]
}

/// The rows that contribute most to the weighted error. For each row: the kernel type, the
/// contribution in percentage points, and the row's own error.
pub(super) fn contributors(comparison: &ModelComparison) -> Vec<[String; 3]> {
    let largest = comparison.accuracy.contributors.iter();
    largest
        .map(|contributor| {
            let row = &comparison.rows[contributor.row.0];
            [
                row.kernel_type.to_string(),
                format!("{:.2}", contributor.points),
                figures::difference(row.amounts.error_pct()),
            ]
        })
        .collect()
}
