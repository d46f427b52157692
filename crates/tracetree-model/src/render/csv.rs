//! Renders the outcomes as CSV, with a line for each kernel type of each scenario. There are no lines with totals,
//! so columns can be summed.

use super::figures::rounded;
use crate::compare::Row;
use crate::scenario::Outcome;
use tracetree_trace::escape::cell;

const COLUMNS: [&str; 11] = [
    "scenario",
    "kernel_type",
    "model_ops",
    "model_total_us",
    "model_count",
    "profile_us_per_pass",
    "profile_count",
    "error_pct",
    "count_error_pct",
    "profile_share_pct",
    "status",
];

pub(super) fn render(outcomes: &[Outcome]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS).expect("writing to memory cannot fail");
    for outcome in outcomes {
        match outcome {
            Outcome::Compared(comparison) => {
                for row in &comparison.rows {
                    let record = record(&comparison.scenario.name, row);
                    writer.write_record(record).expect("writing to memory cannot fail");
                }
            }
            Outcome::Skipped { .. } => {}
        }
    }
    let bytes = writer.into_inner().expect("writing to memory cannot fail");
    String::from_utf8(bytes).expect("all cells are UTF-8")
}

fn record(scenario: &str, row: &Row) -> [String; 11] {
    let amounts = &row.amounts;
    [
        cell(scenario).into_owned(),
        cell(&row.kernel_type.to_string()).into_owned(),
        cell(&row.model_ops.join(", ")).into_owned(),
        amounts.model.to_string(),
        amounts.model_count.to_string(),
        amounts.profile.to_string(),
        rounded(amounts.profile_count).to_string(),
        number(amounts.error_pct()),
        number(amounts.count_error_pct()),
        number(row.profile_share_pct),
        row.status.to_string(),
    ]
}

fn number(value: Option<f64>) -> String {
    value.map(|value| rounded(value).to_string()).unwrap_or_default()
}
