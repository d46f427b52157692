//! Renders the outcomes as JSON with a versioned schema. Undefined quantities are `null`.

use serde::Serialize;
use serde_json::Number;

use super::figures::rounded;
use crate::accuracy::{Contributor, Coverage};
use crate::compare::{Amounts, Row};
use crate::profile::ProfileRows;
use crate::scenario::{ModelComparison, Outcome};
use tracetree_trace::escape::in_json;
use tracetree_trace::trace::Notes;

/// Version of the JSON schema, increased when a key is removed or changes its meaning.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: u32,
    scenarios: Vec<ScenarioView<'a>>,
    skipped: Vec<SkippedView<'a>>,
}

#[derive(Serialize)]
struct ScenarioView<'a> {
    scenario: &'a str,
    model_trace: String,
    profile: String,
    op_mapping: Option<String>,
    forward_passes: u32,
    model_pid: &'a str,
    model_process: Option<&'a str>,
    ops_compared: u64,
    ops_without_cost: u64,
    profile_rows: ProfileRows,
    rows: Vec<RowView<'a>>,
    total: AmountsView,
    coverage: Vec<CoverageView>,
    weighted_error_pct: Option<f64>,
    model_only_us: f64,
    contributors: Vec<ContributorView<'a>>,
    notes: &'a Notes,
}

#[derive(Serialize)]
struct SkippedView<'a> {
    scenario: &'a str,
    reason: String,
}

#[derive(Serialize)]
struct RowView<'a> {
    kernel_type: &'a str,
    model_ops: &'a [String],
    #[serde(flatten)]
    amounts: AmountsView,
    profile_share_pct: Option<f64>,
    status: &'static str,
}

#[derive(Serialize)]
struct AmountsView {
    model_total_us: f64,
    model_count: u64,
    profile_us_per_pass: f64,
    profile_count: Number,
    error_pct: Option<f64>,
    count_error_pct: Option<f64>,
}

#[derive(Serialize)]
struct CoverageView {
    status: &'static str,
    kernel_types: usize,
    profile_us_per_pass: f64,
    profile_share_pct: Option<f64>,
}

#[derive(Serialize)]
struct ContributorView<'a> {
    kernel_type: &'a str,
    weighted_error_points: f64,
}

pub(super) fn render(outcomes: &[Outcome]) -> String {
    let mut report = Report {
        schema: "tracetree.model_diff",
        version: VERSION,
        scenarios: Vec::new(),
        skipped: Vec::new(),
    };
    for outcome in outcomes {
        match outcome {
            Outcome::Compared(comparison) => report.scenarios.push(scenario(comparison)),
            Outcome::Skipped { scenario, reason } => {
                report.skipped.push(SkippedView { scenario, reason: reason.to_string() });
            }
        }
    }
    let text = serde_json::to_string_pretty(&report).expect("the report has only string keys");
    in_json(&text).into_owned() + "\n"
}

fn scenario(comparison: &ModelComparison) -> ScenarioView<'_> {
    let scenario = &comparison.scenario;
    let accuracy = &comparison.accuracy;
    ScenarioView {
        scenario: &scenario.name,
        model_trace: scenario.model_trace.display().to_string(),
        profile: scenario.profile.display().to_string(),
        op_mapping: scenario.op_mapping.as_ref().map(|path| path.display().to_string()),
        forward_passes: scenario.forward_passes.get(),
        model_pid: &comparison.process.pid,
        model_process: comparison.process.name.as_deref(),
        ops_compared: comparison.ops.compared,
        ops_without_cost: comparison.ops.zero_cost,
        profile_rows: comparison.profile_rows,
        rows: comparison.rows.iter().map(row).collect(),
        total: amounts(&comparison.total),
        coverage: accuracy.coverage.iter().map(coverage).collect(),
        weighted_error_pct: accuracy.weighted_error_pct.map(rounded),
        model_only_us: accuracy.model_only.as_micros(),
        contributors: accuracy
            .contributors
            .iter()
            .map(|contributor| contributed(contributor, comparison))
            .collect(),
        notes: &comparison.notes,
    }
}

fn row(row: &Row) -> RowView<'_> {
    RowView {
        kernel_type: row.kernel_type.as_str(),
        model_ops: &row.model_ops,
        amounts: amounts(&row.amounts),
        profile_share_pct: row.profile_share_pct.map(rounded),
        status: row.status.label(),
    }
}

fn amounts(amounts: &Amounts) -> AmountsView {
    AmountsView {
        model_total_us: amounts.model.as_micros(),
        model_count: amounts.model_count,
        profile_us_per_pass: amounts.profile.as_micros(),
        profile_count: count(amounts.profile_count),
        error_pct: amounts.error_pct().map(rounded),
        count_error_pct: amounts.count_error_pct().map(rounded),
    }
}

/// Writes a whole number as an integer, because programs expect counts to be integers.
fn count(count: f64) -> Number {
    let whole = Number::from(count as u64);
    if count.fract() == 0.0 { whole } else { Number::from_f64(rounded(count)).unwrap_or(whole) }
}

fn coverage(part: &Coverage) -> CoverageView {
    CoverageView {
        status: part.status.label(),
        kernel_types: part.kernel_types,
        profile_us_per_pass: part.profile.as_micros(),
        profile_share_pct: part.share_pct.map(rounded),
    }
}

fn contributed<'a>(
    contributor: &Contributor,
    comparison: &'a ModelComparison,
) -> ContributorView<'a> {
    ContributorView {
        kernel_type: comparison.rows[contributor.row.0].kernel_type.as_str(),
        weighted_error_points: rounded(contributor.points),
    }
}
