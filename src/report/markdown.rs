//! `report.md`: the result as GitHub shows it in an issue or a step summary, within its length limit.

use super::nodes::facets;
use super::summary::largest_differences;
use super::summary::{Summary, summarise};
use super::text::node_name;
use super::text::{Unit, one_line, shorten, times};
use super::text::{answer, answer_remarks, cause_lines, evidence, sentence};
use crate::analysis::{Analysis, EfficiencyRow, Row, clause};
use crate::diff::{MergedId, MergedNode};
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Nanos};
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write};

/// GitHub refuses an issue of more than 65,536 characters; bytes are never fewer.
const LONGEST: usize = 64_000;
/// Names among the largest differences in the file of the report.
pub(super) const NAMES: usize = 20;
/// Single rows, and points of difference.
const ROWS: usize = 20;
/// Ops with time to save.
const OPS: usize = 10;
/// Groups of each facet.
const GROUPS: usize = 24;
/// Longest name in characters.
const NAME: usize = 110;

/// Writes the report as Markdown with `top` names, at most 64,000 bytes.
pub(super) fn write(analysis: &Analysis, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let unit = Unit::fitting(analysis.account().totals.map(|totals| totals.time));
    let summary = summarise(analysis);
    let mut text = head(analysis, &summary, unit);
    let mut left_out = false;
    let mut sections =
        vec![names(analysis, top, unit), notes(&summary), changes(analysis, &summary, unit)];
    sections.push(efficiency(analysis));
    sections.extend(charts(analysis, unit));
    sections.extend([rows(analysis, unit), points(analysis)]);
    for section in sections {
        match text.len() + section.len() <= LONGEST - 200 {
            true => text.push_str(&section),
            false => left_out = true,
        }
    }
    if left_out {
        text.push_str("\nSections that would not fit are left out; the tables of the report have everything.\n");
    }
    out.write_all(text.as_bytes())
}

fn head(analysis: &Analysis, summary: &Summary, unit: Unit) -> String {
    let totals = &analysis.account().totals;
    let label = unit.label();
    let mut text = opening(analysis);
    let _ = writeln!(text, "Verdict: {}.\n", evidence(&summary.verdict));
    let _ = writeln!(text, "{}\n", escaped(&sentence(analysis)));
    let measure = summary.measure.replace('_', " ");
    let [one, two] = side_names(analysis);
    let _ = writeln!(text, "| | {one} | {two} | difference | ratio |\n|---|---:|---:|---:|---:|");
    let _ = writeln!(
        text,
        "| file | {} | {} | | |",
        code(&summary.trace1.path),
        code(&summary.trace2.path)
    );
    let devices = [&summary.trace1, &summary.trace2].map(|side| device(&side.devices));
    let _ = writeln!(text, "| device | {} | {} | | |", devices[0], devices[1]);
    let mut line = |title: &str, pick: fn(&crate::analysis::Totals) -> Nanos| {
        let time = PerSide::from_fn(|side| pick(&totals[side]));
        if time != PerSide::default() {
            let _ = writeln!(text, "| {title}, {label} | {} |", figures(unit, time));
        }
    };
    line(&measure, |totals| totals.time);
    line("busy", |totals| totals.busy);
    line("paired", |totals| totals.paired);
    line("only on this side", |totals| totals.one_sided);
    line("launch not in trace", |totals| totals.unlinked);
    let exact = if summary.account_is_exact { "exactly" } else { "**not exactly**" };
    let _ = writeln!(
        text,
        "\nAccount: {} rows add up to {} and {} events, {exact}. {} points of difference.",
        analysis.rows().len(),
        summary.trace1.accounted_events,
        summary.trace2.accounted_events,
        summary.points_of_difference,
    );
    if !summary.comparable {
        text.push_str("\n**These traces are not of the same work, see the warnings.**\n");
    }
    text
}

/// What happened end to end, and why.
fn opening(analysis: &Analysis) -> String {
    let mut text = format!("**{}**\n\n", escaped(&answer(analysis)));
    for remark in answer_remarks(analysis) {
        let _ = writeln!(text, "{}\n", escaped(&remark));
    }
    let (causes, rest) = cause_lines(analysis);
    for cause in &causes {
        let _ = writeln!(
            text,
            "- {} {} {}: {}",
            cause.difference,
            escaped(cause.reason),
            code(&cause.place),
            escaped(&shorten(&cause.evidence, 2 * NAME)),
        );
    }
    if let Some(rest) = rest {
        let _ = writeln!(text, "- {rest}");
    }
    text + "\n"
}

/// The ops with most time to save, where the peaks of a device are known.
fn efficiency(analysis: &Analysis) -> String {
    let rows = analysis.by_efficiency();
    let saved = |row: &EfficiencyRow, side: Side| row.efficiency[side].savable_us();
    let known = |row: &&EfficiencyRow| Side::BOTH.iter().any(|&side| saved(row, side).is_some());
    let rows: Vec<&EfficiencyRow> = rows.iter().filter(known).take(OPS).collect();
    if rows.is_empty() {
        return String::new();
    }
    let [one, two] = side_names(analysis);
    let mut text = format!(
        "\n### Time that could be saved\n\n| op | shapes | {one}, ms | {two}, ms | rates |\n|---|---|---:|---:|---|\n"
    );
    for row in rows {
        let [a, b] = Side::BOTH
            .map(|side| saved(row, side).map_or_else(String::new, |us| format!("{:.3}", us / 1e3)));
        let dims = [&row.dims.candidate, &row.dims.baseline];
        let dims = dims.into_iter().find(|dims| !dims.is_empty()).map_or("", |dims| dims);
        let rates = clause(&row.efficiency).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {a} | {b} | {} |",
            code(&row.name),
            code(dims),
            escaped(&rates)
        );
    }
    text
}

fn device(names: &[String]) -> String {
    match names.first() {
        Some(name) if !name.is_empty() => code(name),
        Some(_) | None => String::new(),
    }
}

/// Both times, their difference and ratio as cells.
fn figures(unit: Unit, time: PerSide<Nanos>) -> String {
    let difference = unit.show_signed(time.candidate - time.baseline);
    format!(
        "{} | {} | {difference} | {}",
        unit.show(time.baseline),
        unit.show(time.candidate),
        times(time)
    )
}

/// What people call the two sides, as text of a cell.
fn side_names(analysis: &Analysis) -> [String; 2] {
    Side::BOTH.map(|side| escaped(analysis.side_name(side)))
}

/// Text that Markdown and HTML show letter by letter.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in one_line(text).chars() {
        if "\\`*_[]<>&|#~".contains(letter) {
            shown.push('\\');
        }
        shown.push(letter);
    }
    shown
}

fn table_head(analysis: &Analysis, title: &str, counted: &str, unit: Unit) -> String {
    let label = unit.label();
    let [one, two] = side_names(analysis);
    format!(
        "| {title} | {counted} | {one} {label} | {two} {label} | difference | ratio |\n|---|---:|---:|---:|---:|---:|\n"
    )
}

fn names(analysis: &Analysis, top: usize, unit: Unit) -> String {
    let names = largest_differences(analysis);
    let mut text = String::from("\n### Largest differences\n\n");
    if names.is_empty() {
        text.push_str("None: the times of all rows are equal.\n");
        return text;
    }
    text.push_str(&table_head(analysis, "name", "rows", unit));
    for group in names.iter().take(top) {
        let _ = writeln!(
            text,
            "| {}{} | {} | {} |",
            code(&group.name),
            if group.below.is_empty() {
                String::new()
            } else {
                format!(" below {}", code(&group.below))
            },
            group.row_count,
            figures(unit, group.time)
        );
    }
    if names.len() > top {
        let _ = writeln!(
            text,
            "\n… and {} more, by name in `diff_stats_names_summary.csv`.",
            names.len() - top
        );
    }
    text
}

fn notes(summary: &Summary) -> String {
    let mut text = String::new();
    if !summary.notes.is_empty() {
        text.push_str("\n### Warnings\n\n");
    }
    for note in &summary.notes {
        let side =
            summary.side_of(note).map_or_else(String::new, |side| format!(" {}", escaped(side)));
        let hint = match note.note.hint {
            "" => String::new(),
            hint => format!(" → {hint}"),
        };
        let message = code_to(&note.note.message, 400);
        let _ = writeln!(text, "- `{}`{side}: {message}{hint}", note.note.code);
    }
    text
}

/// The places that changed as far as the repeats support it.
fn changes(analysis: &Analysis, summary: &Summary, unit: Unit) -> String {
    if summary.verdict.largest_changes.is_empty() {
        return String::new();
    }
    let listed = summary.verdict.largest_changes.len() as u64;
    let heading = match summary.verdict.changes {
        1 => "1 place changed".to_owned(),
        all if all == listed => format!("{all} places changed"),
        all => format!("{all} places changed, the {listed} largest"),
    };
    let mut text = details_head(&heading);
    let label = unit.label();
    let [one, two] = side_names(analysis);
    let _ =
        writeln!(text, "| place | verdict | {one} {label} | {two} {label} | difference | ratio |");
    text.push_str("|---|---|---:|---:|---:|---:|\n");
    for change in &summary.verdict.largest_changes {
        let nanos = |micros: f64| Nanos((micros * 1e3).round() as i64);
        let time = PerSide::new(nanos(change.kernel_us_trace1), nanos(change.kernel_us_trace2));
        let modules = [&change.module_trace1, &change.module_trace2];
        let module = modules.into_iter().find(|module| !module.is_empty());
        let place = module.map_or_else(String::new, |module| format!(" in {}", code(module)));
        let _ = writeln!(
            text,
            "| {}{place} | {} | {} |",
            code(&change.name),
            change.verdict,
            figures(unit, time)
        );
    }
    text + DETAILS_END
}

fn charts(analysis: &Analysis, unit: Unit) -> Vec<String> {
    facets::of(analysis)
        .into_iter()
        .map(|facet| {
            let groups = &facet.groups;
            let mut text = details_head(&format!("By {}", facet.title));
            text.push_str(&table_head(analysis, facet.title, "events", unit));
            for group in groups.iter().take(GROUPS) {
                let label =
                    if group.value.is_empty() { "(none)".to_owned() } else { code(&group.value) };
                let _ = writeln!(
                    text,
                    "| {label} | {} | {} |",
                    group.events,
                    figures(unit, group.time)
                );
            }
            if groups.len() > GROUPS {
                let _ = writeln!(text, "\n… and {} more.", groups.len() - GROUPS);
            }
            text + DETAILS_END
        })
        .collect()
}

const DETAILS_END: &str = "\n</details>\n";

fn details_head(title: &str) -> String {
    format!("\n<details><summary>{title}</summary>\n\n")
}

/// The single rows with the largest difference, with shapes and kernels.
fn rows(analysis: &Analysis, unit: Unit) -> String {
    let mut order: Vec<(usize, &Row)> = analysis.rows().iter().enumerate().collect();
    order.sort_by_key(|&(id, row)| (Reverse(row.difference().abs()), id));
    order.retain(|(_, row)| row.difference() != Nanos::ZERO);
    if order.is_empty() {
        return String::new();
    }
    let mut text = details_head(&format!("The {} largest single rows", order.len().min(ROWS)));
    let names = side_names(analysis);
    for (id, row) in order.into_iter().take(ROWS) {
        let _ = writeln!(
            text,
            "- {}: {} {} → {} {} (row {id}, {})",
            code(&analysis.row_name(row)),
            unit.show(row.time.baseline),
            unit.label(),
            unit.show(row.time.candidate),
            unit.label(),
            row.presence().label(),
        );
        for line in [module_line(analysis, row), shape_line(analysis, row)].into_iter().flatten() {
            let _ = writeln!(text, "  - {line}");
        }
        for side in Side::BOTH {
            let _ = writeln!(
                text,
                "  - {}: {}",
                names[side as usize],
                kernel_line(analysis, row, side)
            );
        }
    }
    text + DETAILS_END
}

fn module_line(analysis: &Analysis, row: &Row) -> Option<String> {
    let module = analysis.module_of(row);
    (!module.is_empty()).then(|| format!("module {}", code(module)))
}

fn shape_line(analysis: &Analysis, row: &Row) -> Option<String> {
    let shape = |side| analysis.argument_text(row, Argument::Shape, side);
    match (shape(Side::Baseline), shape(Side::Candidate)) {
        ("", "") => None,
        (a, b) if a == b => Some(format!("shapes {}", code(a))),
        (a, b) => Some(format!("shapes {} against {}", code(a), code(b))),
    }
}

/// Up to four kernels of a row, with what is left.
fn kernel_line(analysis: &Analysis, row: &Row, side: Side) -> String {
    let names = analysis.event_names(row, side);
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let shown: Vec<String> = names.iter().take(4).map(|name| code(name)).collect();
    match names.len().saturating_sub(4) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The points of difference with the most GPU events.
fn points(analysis: &Analysis) -> String {
    let (mut all, varying) = analysis.settled_differences();
    all.sort_by_key(|point| (Reverse(point.gpu_events), Reverse(point.calls), point.node));
    if all.is_empty() && varying == 0 {
        return String::new();
    }
    let shown = all.len().min(ROWS);
    let mut text = details_head(&format!("Points of difference ({shown} of {})", all.len()));
    for point in all.iter().take(ROWS) {
        let below = point.lowest_common.map_or_else(
            || "with nothing in common above".to_owned(),
            |id| format!("below {}", node_text(analysis, id)),
        );
        let _ = writeln!(
            text,
            "- {} {below}: {} calls, {} GPU events",
            node_text(analysis, point.node),
            point.calls,
            point.gpu_events,
        );
    }
    if varying > 0 {
        let _ = writeln!(text, "\n{varying} more vary among the runs of a side.");
    }
    text + DETAILS_END
}

fn node_text(analysis: &Analysis, id: MergedId) -> String {
    let node = analysis.diff().merged().node(id);
    let side = match node {
        MergedNode::Both(..) => String::new(),
        MergedNode::Only(side, _) => format!("{} only: ", escaped(analysis.side_name(side))),
    };
    format!("{side}{}", code(&node_name(analysis, node)))
}

fn code(name: &str) -> String {
    code_to(name, NAME)
}

/// A name as a code span that ends where the name ends, also inside of a table.
fn code_to(name: &str, longest: usize) -> String {
    let clean = one_line(name);
    let short = shorten(&clean, longest);
    let mut text = String::with_capacity(short.len() + 4);
    let mut previous = ' ';
    for letter in short.chars() {
        match letter {
            // A backslash before it would make the pipe of an escaped pipe end the cell.
            '|' if previous == '\\' => text.push('∣'),
            '|' => text.push_str("\\|"),
            _ => text.push(letter),
        }
        previous = letter;
    }
    let fence = "`".repeat(1 + longest_run(&text, '`'));
    match text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

fn longest_run(text: &str, letter: char) -> usize {
    text.split(|c| c != letter).map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_code_span() {
        assert_eq!(code("aten::mm"), "`aten::mm`");
        assert_eq!(code("<script>"), "`<script>`");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a | b"), "`a \\| b`");
        assert_eq!(code("a\\|b"), "`a\\∣b`");
        assert_eq!(code("a\nb"), "`a\\nb`");
    }
}
