//! Adds the detailed sections of the Markdown report: shapes and kernels of the names with the largest differences, then
//! individual rows, then the points of difference.

use super::{CELL, Section, figures, side_names, table_head, whole};
use crate::analysis::Analysis;
use crate::analysis::account::Row;
use crate::analysis::runs::settled_differences;
use crate::diff::{MergedId, MergedNode};
use crate::escape::markup;
use crate::order::Order as _;
use crate::program::{Measure, counted};
use crate::report::LargeDifference;
use crate::report::text::{Unit, node_name, plain};
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Nanos};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of names compared in detail.
const NAMES: usize = 6;
/// Maximum number of shapes per name. The same limit applies to kernels per name and side.
const LISTED: usize = 6;
/// Maximum number of individual rows. The same limit applies to points of difference.
const ROWS: usize = 20;

/// The plural noun for the events whose time is attributed: kernels or ops.
pub(super) fn events_word(analysis: &Analysis) -> &'static str {
    match analysis.ledger().measure() {
        Measure::GpuTime => "kernels",
        Measure::HostSelfTime => "ops",
    }
}

/// For each name with a large difference, a section that compares all rows with that name: their shapes, and the
/// kernels of each side with their counts.
pub(super) fn of_names(analysis: &Analysis, names: &[LargeDifference], unit: Unit) -> Vec<Section> {
    let mut rows: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in analysis.rows() {
        rows.entry(row.name(analysis.diff())).or_default().push(row);
    }
    let mut listed: Vec<&str> = Vec::new();
    for group in names {
        if listed.len() < NAMES && !listed.contains(&group.name.as_str()) {
            listed.push(&group.name);
        }
    }
    listed
        .into_iter()
        .filter_map(|name| {
            let rows = rows.get(name)?;
            let time = PerSide::from_fn(|side| rows.iter().map(|row| row.time[side]).sum());
            let difference = unit.show_signed(PerSide::difference(time));
            let title = format!("{} {difference} {}", html(name), unit.label());
            let head = format!("Kernels and shapes of {}:\n\n", whole(name));
            let mut section = Section::folded(&title, &head);
            section.lines = kernels(analysis, rows, unit);
            section.lines.push(shapes(analysis, rows, unit));
            Some(section)
        })
        .collect()
}

/// Escapes a name for use inside HTML.
fn html(name: &str) -> String {
    let name = crate::report::text::one_line(name);
    let short = crate::report::text::shorten(&name, CELL);
    format!("<code>{}</code>", markup(&short).replace('@', "@\u{200b}"))
}

/// The kernels on each side with their counts and times, longest time first.
fn kernels(analysis: &Analysis, rows: &[&Row], unit: Unit) -> Vec<String> {
    let names = side_names(analysis);
    let mut lines = Vec::new();
    for side in Side::BOTH {
        let mut sums: BTreeMap<&str, (u64, Nanos)> = BTreeMap::new();
        for &event in rows.iter().flat_map(|row| &row.events[side]) {
            let sum = sums.entry(analysis.tree(side).name(event)).or_default();
            *sum = (sum.0 + 1, sum.1 + analysis.ledger().time_of(analysis.diff(), side, event));
        }
        let total: u64 = sums.values().map(|sum| sum.0).sum();
        lines.push(format!("- {}: {total} {}\n", names[side as usize], events_word(analysis)));
        let mut sums: Vec<(&str, (u64, Nanos))> = sums.into_iter().collect();
        sums.order_by_key(|&(name, (_, time))| (Reverse(time), name));
        for (name, (count, time)) in sums.iter().take(LISTED) {
            let time = unit.show(*time);
            lines.push(format!("  - {count} × {}, {time} {}\n", whole(name), unit.label()));
        }
        if sums.len() > LISTED {
            let more = counted((sums.len() - LISTED) as u64, "more name");
            lines.push(format!("  - {more}\n"));
        }
    }
    lines
}

/// A text table of the rows with a given name, grouped by shape, largest difference first.
fn shapes(analysis: &Analysis, rows: &[&Row], unit: Unit) -> String {
    let mut sums: BTreeMap<String, (u64, PerSide<Nanos>)> = BTreeMap::new();
    for row in rows {
        let [a, b] =
            Side::BOTH.map(|side| row.argument_text(analysis.diff(), Argument::Shape, side));
        let shape = match (a, b) {
            (a, b) if a == b || b.is_empty() => a.to_owned(),
            ("", b) => b.to_owned(),
            (a, b) => format!("{a} → {b}"),
        };
        let sum = sums.entry(shape).or_default();
        *sum = (sum.0 + 1, PerSide::from_fn(|side| sum.1[side] + row.time[side]));
    }
    if sums.len() == 1 && sums.contains_key("") {
        return String::new();
    }
    let mut sums: Vec<(String, (u64, PerSide<Nanos>))> = sums.into_iter().collect();
    sums.order_by_key(|(shape, (_, time))| (Reverse(time.difference().abs()), shape.clone()));
    let mut text = format!("\n{}", table_head(analysis, &["shapes", "rows"], unit));
    for (shape, (count, time)) in sums.iter().take(LISTED) {
        let shape = if shape.is_empty() { "(not recorded)" } else { shape };
        text += &format!("| {} | {count} | {} |\n", super::cell(shape), figures(unit, *time));
    }
    if sums.len() > LISTED {
        text += &format!("\n{}.\n", counted((sums.len() - LISTED) as u64, "more shape"));
    }
    text
}

/// The individual rows with the largest differences, with module, shapes and kernels.
pub(super) fn rows(analysis: &Analysis, unit: Unit) -> Section {
    let mut order: Vec<(usize, &Row)> = analysis.rows().iter().enumerate().collect();
    order.order_by_key(|&(id, row)| (Reverse(row.difference().abs()), id));
    order.retain(|(_, row)| row.difference() != Nanos::ZERO);
    let title = format!("Largest rows ({} of {})", order.len().min(ROWS), order.len());
    let mut section = Section::folded(&title, "");
    let names = side_names(analysis);
    for (id, row) in order.into_iter().take(ROWS) {
        let mut text = format!(
            "- {}: {} {} → {} {} (row {id}, {})\n",
            whole(&row.name(analysis.diff())),
            unit.show(row.time.baseline),
            unit.label(),
            unit.show(row.time.candidate),
            unit.label(),
            row.presence().label(),
        );
        for line in [module_line(analysis, row), shape_line(analysis, row)].into_iter().flatten() {
            text += &format!("  - {line}\n");
        }
        for side in Side::BOTH {
            let kernels = kernel_line(analysis, row, side);
            text += &format!("  - {}: {kernels}\n", names[side as usize]);
        }
        section.lines.push(text);
    }
    section
}

fn module_line(analysis: &Analysis, row: &Row) -> Option<String> {
    let module = row.module(analysis.diff());
    (!module.is_empty()).then(|| format!("module {}", whole(module)))
}

fn shape_line(analysis: &Analysis, row: &Row) -> Option<String> {
    let shape = |side| row.argument_text(analysis.diff(), Argument::Shape, side);
    match (shape(Side::Baseline), shape(Side::Candidate)) {
        ("", "") => None,
        (a, b) if a == b => Some(format!("shapes {}", whole(a))),
        (a, b) => Some(format!("shapes {} → {}", whole(a), whole(b))),
    }
}

/// The number of kernels in a row, and up to four kernel names, each with its count.
fn kernel_line(analysis: &Analysis, row: &Row, side: Side) -> String {
    let mut names: Vec<(&str, u64)> = Vec::new();
    for name in row.event_names(analysis.diff(), side) {
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let one = |(name, count): &(&str, u64)| match count {
        1 => whole(name),
        count => format!("{count} × {}", whole(name)),
    };
    let shown: Vec<String> = names.iter().take(4).map(one).collect();
    match names.len().saturating_sub(4) {
        0 => shown.join(", "),
        more => format!("{} and {}", shown.join(", "), counted(more as u64, "more name")),
    }
}

/// The points of difference that contain the most GPU events.
pub(super) fn points(analysis: &Analysis) -> Section {
    let (mut all, varying) = settled_differences(analysis.diff(), analysis.runs());
    all.order_by_key(|point| (Reverse(point.gpu_events), Reverse(point.calls), point.node));
    let shown = all.len().min(ROWS);
    let title = format!("Points of difference ({shown} of {})", all.len());
    let mut section = Section::folded(&title, "");
    for point in all.iter().take(ROWS) {
        let below = point.lowest_common.map_or_else(
            || "without a common call above".to_owned(),
            |id| format!("below {}", node_text(analysis, id)),
        );
        section.lines.push(format!(
            "- {} {below}: {}, {}\n",
            node_text(analysis, point.node),
            counted(u64::from(point.calls), "call"),
            counted(u64::from(point.gpu_events), "GPU event"),
        ));
    }
    if varying > 0 {
        section.lines.push(format!(
            "\nPoints of difference omitted because they also vary between runs on the same side: {varying}.\n"
        ));
    }
    section
}

fn node_text(analysis: &Analysis, id: MergedId) -> String {
    let node = analysis.diff().merged().node(id);
    let side = match node {
        MergedNode::Both(..) => String::new(),
        MergedNode::Only(side, _) => format!("{} only: ", plain(&analysis.names()[side], CELL)),
    };
    format!("{side}{}", whole(&node_name(analysis, node)))
}
