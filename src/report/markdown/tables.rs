//! Writes the tables of the Markdown: largest differences by name, changed call sites, groups,
//! lists, totals.

use super::{CELL, Section, cell, figures, side_names, table_head, wrapped};
use crate::analysis::Analysis;
use crate::analysis::account::Totals;
use crate::analysis::efficiency::{EfficiencyRow, clause};
use crate::report::LargeDifference;
use crate::report::lists::List;
use crate::report::nodes::facets::Facet;
use crate::report::summary::Summary;
use crate::report::text::{Unit, both, plain, sentence};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::fmt::Write as _;

/// Maximum number of ops in the table that lists how much time could be saved.
const OPS: usize = 10;
/// Maximum number of groups per facet.
const GROUPS: usize = 24;

/// The names with the largest differences, each with the number of calls, the number of attributed events and the times
/// on both sides.
pub(super) fn names(
    analysis: &Analysis,
    names: &[LargeDifference],
    top: usize,
    unit: Unit,
) -> Section {
    let title = "\n### Differences\n\n";
    if names.is_empty() {
        let line = "None: the times of all rows are equal.\n".to_owned();
        return Section { head: title.to_owned(), lines: vec![line], foot: String::new() };
    }
    let titles = ["name", "calls", super::comparison::events_word(analysis)];
    let head = format!("{title}{}", table_head(analysis, &titles, unit));
    let line = |group: &LargeDifference| {
        let below = match group.below.as_str() {
            "" => String::new(),
            below => format!(" below {}", cell(below)),
        };
        format!(
            "| {}{below} | {} | {} | {} |\n",
            cell(&group.name),
            both(group.calls),
            both(group.events),
            figures(unit, group.time)
        )
    };
    let foot = match names.len().saturating_sub(top) {
        0 => String::new(),
        more => format!("\n… and {more} more, by name in `diff_stats_names_summary.csv`.\n"),
    };
    Section { head, lines: names.iter().take(top).map(line).collect(), foot }
}

/// The times grouped by category, step, phase, layer or module class.
pub(super) fn chart(analysis: &Analysis, facet: &Facet, unit: Unit) -> Section {
    let head = table_head(analysis, &[facet.title, "events"], unit);
    let mut section = Section::folded(&format!("By {}", facet.title), &head);
    for group in facet.groups.iter().take(GROUPS) {
        let label = match group.value.as_str() {
            "" => "(none)".to_owned(),
            value => cell(value),
        };
        section.lines.push(format!(
            "| {label} | {} | {} |\n",
            group.events,
            figures(unit, group.time)
        ));
    }
    if facet.groups.len() > GROUPS {
        section.foot = format!("\n… and {} more.\n{}", facet.groups.len() - GROUPS, section.foot);
    }
    section
}

/// The table of one list, such as the list of steps or the list of idle times.
pub(super) fn list(list: &List) -> Section {
    let titles: Vec<String> = list.titles.iter().map(|title| plain(title, CELL)).collect();
    let rule = "---:|".repeat(titles.len().saturating_sub(1));
    let before = format!("{}\n\n| {} |\n|---|{rule}\n", wrapped(&list.remark), titles.join(" | "));
    let mut section = Section::folded(list.title, &before);
    for line in &list.lines {
        let note = match &*line.note("tail") {
            "" => String::new(),
            note => format!(" {}", cell(note)),
        };
        let cells = line.cells.join(" | ");
        section.lines.push(format!("| {}{note} | {cells} |\n", cell(&line.name)));
    }
    section
}

/// The ops that could save the most time, if the peaks of a device are known.
pub(super) fn efficiency(analysis: &Analysis) -> Section {
    let rows = analysis.by_efficiency();
    let saved = |row: &EfficiencyRow, side: Side| row.efficiency[side].savable_us();
    let known = |row: &&EfficiencyRow| Side::BOTH.iter().any(|&side| saved(row, side).is_some());
    let [one, two] = side_names(analysis);
    let head =
        format!("| op | shapes | {one}, ms | {two}, ms | rates |\n|---|---|---:|---:|---|\n");
    let mut section = Section::folded("Time that could be saved", &head);
    for row in rows.iter().filter(known).take(OPS) {
        let [a, b] = Side::BOTH
            .map(|side| saved(row, side).map_or_else(String::new, |us| format!("{:.3}", us / 1e3)));
        let dims = [&row.dims.candidate, &row.dims.baseline];
        let dims = dims.into_iter().find(|dims| !dims.is_empty()).map_or("", |dims| dims);
        let rates = clause(&row.efficiency).unwrap_or_default();
        section.lines.push(format!(
            "| {} | {} | {a} | {b} | {} |\n",
            cell(&row.name),
            cell(dims),
            plain(&rates, CELL)
        ));
    }
    section
}

/// The section with the totals: the attributed time, the parts that add up to it, and the number of
/// rows.
pub(super) fn account(analysis: &Analysis, summary: &Summary, unit: Unit) -> String {
    let totals = &analysis.account().totals;
    let label = unit.label();
    let [one, two] = side_names(analysis);
    let mut text = format!("\n### Totals\n\n{}\n\n", wrapped(&sentence(analysis)));
    let _ = writeln!(
        text,
        "| {label} | {one} | {two} | difference | ratio |\n|---|---:|---:|---:|---:|"
    );
    let mut line = |title: &str, pick: fn(&Totals) -> Nanos| {
        let time = PerSide::from_fn(|side| pick(&totals[side]));
        if time != PerSide::default() {
            let _ = writeln!(text, "| {title} | {} |", figures(unit, time));
        }
    };
    line(&summary.measure.replace('_', " "), |totals| totals.time);
    line("busy", |totals| totals.busy);
    line("in rows that both sides have", |totals| totals.paired);
    line("in rows that only this side has", |totals| totals.one_sided);
    line("launch not in trace", |totals| totals.unlinked);
    let exact =
        if summary.account_is_exact { "add up exactly" } else { "**do not** add up exactly" };
    let _ = writeln!(
        text,
        "\nRows: {}. The rows {exact} to {} and {} events. Points of difference: {}.",
        analysis.rows().len(),
        summary.trace1.accounted_events,
        summary.trace2.accounted_events,
        summary.points_of_difference,
    );
    text
}
