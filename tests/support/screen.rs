//! A comparison → one screen of text: the merged tree, the rows with their account, the notes.

use std::fmt::Write;
use tracetree::Side;
use tracetree::analysis::{Analysis, Row};
use tracetree::report::{summarise, write_merged_tree};

/// Columns of a screen.
const WIDTH: usize = 110;

/// The whole comparison, as a snapshot holds it.
///
/// # Panics
/// Never: it writes to memory.
pub fn screen(analysis: &Analysis<'_>) -> String {
    let mut text = merged_tree(analysis);
    writeln!(text).expect(MEMORY);
    let titles = ["row", "us trace1", "us trace2", "presence", "lowest common node"];
    write_line(&mut text, titles.map(str::to_owned));
    for row in analysis.rows() {
        write_line(&mut text, cells(analysis, row));
    }
    let totals = &analysis.account().totals;
    let time = |side: Side| totals[side].time.to_string();
    let total = ["total".to_owned(), time(Side::Baseline), time(Side::Candidate)];
    let [name, baseline, candidate] = total;
    write_line(&mut text, [name, baseline, candidate, String::new(), String::new()]);
    for note in summarise(analysis).notes {
        let side = note.side.unwrap_or("both");
        writeln!(text, "note {} ({side}, {}): {}", note.note.code, note.note.count, note.note.message)
            .expect(MEMORY);
    }
    text
}

const MEMORY: &str = "writing to memory does not fail";

/// The merged tree, cut to the width of a screen.
///
/// # Panics
/// Never: it writes to memory.
pub fn merged_tree(analysis: &Analysis<'_>) -> String {
    let mut bytes = Vec::new();
    write_merged_tree(analysis, &mut bytes).expect(MEMORY);
    let text = String::from_utf8(bytes).expect("the merged tree is UTF-8");
    text.lines().map(|line| line.chars().take(WIDTH).collect::<String>() + "\n").collect()
}

fn cells(analysis: &Analysis<'_>, row: &Row) -> [String; 5] {
    [
        analysis.row_name(row),
        row.time.baseline.to_string(),
        row.time.candidate.to_string(),
        row.presence().to_owned(),
        analysis.lowest_common_name(row).to_owned(),
    ]
}

fn write_line(text: &mut String, [name, baseline, candidate, presence, common]: [String; 5]) {
    let line = format!("{name:<34} {baseline:>10} {candidate:>10}  {presence:<11}  {common}");
    writeln!(text, "{}", line.trim_end()).expect(MEMORY);
}
