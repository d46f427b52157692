//! Renders the outcomes as tables for a terminal.

use super::table::{self, HEADS};
use crate::scenario::{ModelComparison, Outcome};
use tracetree_trace::escape::one_line;

/// Maximum width of a cell, in characters; some names have thousands of characters.
const WIDEST: usize = 64;

pub(super) fn render(outcomes: &[Outcome], top: usize) -> String {
    let parts: Vec<String> = outcomes
        .iter()
        .map(|outcome| match outcome {
            Outcome::Compared(comparison) => scenario(comparison, top),
            Outcome::Skipped { scenario, reason } => {
                format!("{}\n", one_line(&format!("{scenario}: skipped, {reason}")))
            }
        })
        .collect();
    parts.join("\n")
}

fn scenario(comparison: &ModelComparison, top: usize) -> String {
    let mut lines = vec![comparison.scenario.name.clone()];
    lines.extend(table::inputs(comparison));
    lines.push(String::new());
    let heads = HEADS.map(str::to_owned);
    let cells = std::iter::once(heads).chain(table::lines(comparison, top)).collect::<Vec<_>>();
    lines.extend(laid_out(&cells, table::is_number));
    lines.push(String::new());
    lines.extend(table::summary(comparison));
    let contributors = table::contributors(comparison);
    if !contributors.is_empty() {
        lines.push("largest contributors to the weighted error, in percentage points:".to_owned());
        let numbers = |column| column > 0;
        lines.extend(laid_out(&contributors, numbers).iter().map(|line| format!("  {line}")));
    }
    lines.iter().map(|line| format!("{}\n", one_line(line).trim_end())).collect()
}

/// Lays out cells in columns separated by two spaces, with numbers right-aligned.
fn laid_out<const N: usize>(
    lines: &[[String; N]],
    is_number: impl Fn(usize) -> bool,
) -> Vec<String> {
    let lines: Vec<[String; N]> =
        lines.iter().map(|line| line.each_ref().map(|c| cut(c))).collect();
    let widths: [usize; N] = std::array::from_fn(|column| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
    });
    lines
        .iter()
        .map(|line| {
            let cells = line.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
                if is_number(column) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            });
            cells.collect::<Vec<_>>().join("  ")
        })
        .collect()
}

fn cut(cell: &str) -> String {
    match cell.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell.to_owned(),
    }
}
