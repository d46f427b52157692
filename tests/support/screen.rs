//! Formats a comparison as one screen of text: the merged tree, the rows with their totals, and the notes.

use std::collections::BTreeMap;
use std::fmt::Write;
use tracetree::Side;
use tracetree::analysis::Analysis;
use tracetree::analysis::account::Row;
use tracetree::diff::Relation;
use tracetree::report::{summarise, write_merged_tree};

/// Width of a screen, in columns.
const WIDTH: usize = 110;
/// Column titles. `sum` is the total time of GPU events in µs, and `busy` is the time in µs during which at least one
/// of these events runs.
const TITLES: [&str; 8] =
    ["row", "sum 1", "sum 2", "busy 1", "busy 2", "step", "presence", "lowest common node"];

/// The whole comparison as text, as it is stored in snapshots.
///
/// # Panics
/// The function never panics, because writing to memory cannot fail.
pub fn screen(analysis: &Analysis) -> String {
    let mut text = merged_tree(analysis);
    writeln!(text).expect(MEMORY);
    write_line(&mut text, &TITLES.map(str::to_owned));
    for row in analysis.rows() {
        write_line(&mut text, &cells(analysis, row));
    }
    write_line(&mut text, &totals(analysis));
    writeln!(text, "{}", relations(analysis)).expect(MEMORY);
    for note in summarise(analysis).notes {
        let side = note.side.unwrap_or("both");
        writeln!(
            text,
            "note {} ({side}, {}): {}",
            note.note.code, note.note.count, note.note.message
        )
        .expect(MEMORY);
    }
    text
}

const MEMORY: &str = "writing to memory does not fail";

/// The merged tree as text, truncated to the width of a screen.
///
/// # Panics
/// The function never panics, because writing to memory cannot fail.
pub fn merged_tree(analysis: &Analysis) -> String {
    let mut bytes = Vec::new();
    write_merged_tree(analysis, &mut bytes).expect(MEMORY);
    let text = String::from_utf8(bytes).expect("the merged tree is UTF-8");
    text.lines().map(|line| line.chars().take(WIDTH).collect::<String>() + "\n").collect()
}

fn cells(analysis: &Analysis, row: &Row) -> [String; 8] {
    [
        row.name(analysis.diff()),
        row.time.baseline.to_string(),
        row.time.candidate.to_string(),
        row.busy.baseline.to_string(),
        row.busy.candidate.to_string(),
        row.step(analysis.diff()).map_or_else(|| "-".to_owned(), |step| step.0.to_string()),
        row.presence().label().to_owned(),
        row.lowest_common_name(analysis.diff()).to_owned(),
    ]
}

fn totals(analysis: &Analysis) -> [String; 8] {
    let totals = &analysis.account().totals;
    let exact = if analysis.account().is_exact() { "exact" } else { "NOT exact" };
    let [time1, time2] = Side::BOTH.map(|side| totals[side].time.to_string());
    let [busy1, busy2] = Side::BOTH.map(|side| totals[side].busy.to_string());
    ["total".to_owned(), time1, time2, busy1, busy2, String::new(), exact.to_owned(), String::new()]
}

/// The number of entries in the UID map for each relation.
fn relations(analysis: &Analysis) -> String {
    let mut counts: BTreeMap<Relation, usize> = BTreeMap::new();
    for pair in analysis.diff().uid_map() {
        *counts.entry(pair.relation).or_default() += 1;
    }
    let parts: Vec<String> =
        counts.iter().map(|(relation, count)| format!("{count} {}", relation.label())).collect();
    format!("uid map: {}", parts.join(", "))
}

fn write_line(text: &mut String, cells: &[String; 8]) {
    let [name, sum1, sum2, busy1, busy2, step, presence, common] = cells;
    let line = format!(
        "{name:<34} {sum1:>8} {sum2:>8} {busy1:>8} {busy2:>8} {step:>5}  {presence:<12} {common}"
    );
    writeln!(text, "{}", line.trim_end()).expect(MEMORY);
}
