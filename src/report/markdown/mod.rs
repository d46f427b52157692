//! Writes `report.md`, the result for a GitHub issue or step summary, in the order of the page and
//! within GitHub's length limit.

mod comparison;
mod opening;
mod tables;

use super::shared::Shared;
use super::text::{Unit, code, plain};
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::io::{self, Write};

/// Maximum size of the Markdown in bytes; GitHub rejects issues of more than 65,536 characters. A limit in bytes is
/// sufficient, because a string never has more characters than bytes.
const LONGEST: usize = 64_000;
/// `report.md` lists this many names, which are those with the largest differences.
pub(super) const NAMES: usize = 20;
/// Maximum length of a name in a table cell, in characters. Wide tables scroll.
const CELL: usize = 110;
/// Maximum length of a name outside of tables, where Markdown wraps lines. Some kernel names have
/// 5,000 characters.
const NAME: usize = 1_000;

/// Writes the report as Markdown with `top` names, at most 64,000 bytes.
pub(super) fn write(shared: &Shared, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let (analysis, unit) = (&shared.analysis, shared.unit());
    let (summary, largest) = (shared.summary(), shared.largest());
    let mut paper = Paper::default();
    paper.write(&opening::answer(shared));
    // Space is reserved for the last section, which must always fit.
    let account = tables::account(analysis, summary, unit);
    paper.reserved = account.len();
    paper.add(&opening::inputs(analysis));
    paper.add(&opening::notes(shared));
    paper.add(&tables::names(analysis, largest, top, unit));
    for section in comparison::of_names(analysis, largest, unit) {
        paper.add(&section);
    }
    paper.add(&comparison::rows(analysis, unit));
    paper.add(&comparison::points(analysis));
    for chart in shared.facets() {
        paper.add(&tables::chart(analysis, chart, unit));
    }
    let (first, last): (Vec<_>, Vec<_>) = shared
        .lists()
        .iter()
        .partition(|list| matches!(list.key, "steps" | "idle" | "marked-regions"));
    first.into_iter().for_each(|list| paper.add(&tables::list(list)));
    paper.add(&tables::efficiency(analysis));
    last.into_iter().for_each(|list| paper.add(&tables::list(list)));
    paper.write(&account);
    if paper.left_out {
        paper.write("\nLines that do not fit are omitted; the report's tables are complete.\n");
    }
    out.write_all(paper.text.as_bytes())
}

/// A heading followed by lines. The lines are independent of each other, so a long section can be cut after any line.
#[derive(Default)]
struct Section {
    head: String,
    lines: Vec<String>,
    foot: String,
}

impl Section {
    /// Creates a collapsible section.
    fn folded(title: &str, before: &str) -> Section {
        let head = format!("\n<details><summary>{title}</summary>\n\n{before}");
        Section { head, lines: Vec::new(), foot: "\n</details>\n".to_owned() }
    }
}

/// The Markdown text written so far.
#[derive(Default)]
struct Paper {
    text: String,
    /// Number of bytes reserved for the last section.
    reserved: usize,
    left_out: bool,
}

impl Paper {
    fn write(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds as many lines of a section as fit; skips the section if no line fits.
    fn add(&mut self, section: &Section) {
        let used = self.text.len() + self.reserved + section.head.len() + section.foot.len();
        let mut room = (LONGEST - 200).saturating_sub(used);
        let fits = |line: &&String| {
            let left = room.checked_sub(line.len());
            room = left.unwrap_or(room);
            left.is_some()
        };
        let count = section.lines.iter().take_while(fits).count();
        self.left_out |= count < section.lines.len();
        if count > 0 {
            self.text.push_str(&section.head);
            section.lines[..count].iter().for_each(|line| self.text.push_str(line));
            self.text.push_str(&section.foot);
        }
    }
}

/// Formats a name for a table cell.
fn cell(name: &str) -> String {
    code(name, CELL)
}

/// Formats a name for use outside of tables, where Markdown wraps lines.
fn whole(name: &str) -> String {
    code(name, NAME)
}

/// Formats text for use outside of tables, where Markdown wraps lines.
fn wrapped(text: &str) -> String {
    plain(text, 2 * NAME)
}

/// The names of the two sides, formatted for a table cell.
fn side_names(analysis: &Analysis) -> [String; 2] {
    Side::BOTH.map(|side| plain(&analysis.names()[side], CELL))
}

/// Table cells with the times on both sides, their difference and their ratio.
fn figures(unit: Unit, time: PerSide<Nanos>) -> String {
    unit.figures(time).join(" | ")
}

/// The head of a table whose last columns are those of [`figures`].
fn table_head(analysis: &Analysis, titles: &[&str], unit: Unit) -> String {
    let (label, [one, two]) = (unit.label(), side_names(analysis));
    let rule = "---:|".repeat(titles.len() + 3);
    format!(
        "| {} | {one} {label} | {two} {label} | difference | ratio |\n|---|{rule}\n",
        titles.join(" | ")
    )
}
