//! Renders the outcomes as Markdown tables, for a merge request or a job summary.

use super::table::{self, HEADS};
use crate::scenario::{ModelComparison, Outcome};
use tracetree_trace::escape::one_line;

pub(super) fn render(outcomes: &[Outcome], top: usize) -> String {
    let parts: Vec<String> = outcomes
        .iter()
        .map(|outcome| match outcome {
            Outcome::Compared(comparison) => scenario(comparison, top),
            Outcome::Skipped { scenario, reason } => {
                format!("## {}\n\nskipped: {}\n", escaped(scenario), escaped(&reason.to_string()))
            }
        })
        .collect();
    parts.join("\n")
}

fn scenario(comparison: &ModelComparison, top: usize) -> String {
    let heads = HEADS.map(str::to_owned);
    let table = table_of(&heads, &table::lines(comparison, top), table::is_number);
    let [coverage, errors] = table::summary(comparison).map(|line| escaped(&line));
    let [model, profile] = table::inputs(comparison).map(|line| escaped(&line));
    let mut text = format!(
        "## {}\n\n{table}\n- {coverage}\n- {errors}\n- {model}\n- {profile}\n",
        escaped(&comparison.scenario.name)
    );
    let contributors = table::contributors(comparison);
    if !contributors.is_empty() {
        let heads = ["largest contributors", "percentage points of weighted error", "error"];
        let numbers = |column| column > 0;
        text.push_str(&format!(
            "\n{}",
            table_of(&heads.map(str::to_owned), &contributors, numbers)
        ));
    }
    text
}

fn table_of<const N: usize>(
    heads: &[String; N],
    lines: &[[String; N]],
    is_number: impl Fn(usize) -> bool,
) -> String {
    let rule: [String; N] =
        std::array::from_fn(|column| if is_number(column) { "--:" } else { ":--" }.to_owned());
    let body = lines.iter().map(|line| table_line(&line.each_ref().map(|cell| escaped(cell))));
    [table_line(heads), table_line(&rule)].into_iter().chain(body).collect()
}

fn table_line<const N: usize>(cells: &[String; N]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Escapes Markdown markup in a name that was read from a file, and removes line breaks.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '|' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '\\' | '#' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}
