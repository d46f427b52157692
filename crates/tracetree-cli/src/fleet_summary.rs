//! Formats the ranks of a fleet as text, CSV, JSON or Markdown.

use super::output::Format;
use std::io::{self, Write};
use tracetree::program::counted;
use tracetree::report::{CsvTexts, one_line, plain, write_csv_with, write_rows_json};
use tracetree::signed::signed;
use tracetree::{PerSide, Side};
use tracetree_fleet::{ClassRow, Fleet, Headline, RankRow, ranges};

pub(super) fn print(
    fleet: &Fleet,
    (format, texts): (Format, CsvTexts),
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Text => screen(fleet, out),
        Format::Brief => out.write_all(fleet.brief().as_bytes()),
        Format::Csv => write_csv_with(&fleet.table(), texts, out),
        Format::Json => write_rows_json(&fleet.table(), out),
        Format::Md => markdown(&fleet.ranks, out),
    }
}

const TITLES: [&str; 6] = [
    "rank",
    "GPU ms baseline",
    "GPU ms candidate",
    "difference",
    "wait ms baseline",
    "wait ms candidate",
];

/// Minimum width of a number column, in characters.
const FIGURE: usize = 12;

/// Maximum length of a folder name in Markdown, in characters.
const LONGEST: usize = 200;

/// Maximum number of findings to print. If a fleet has more ranks than this, its ranks are not printed one by one.
const MOST: usize = 32;

/// Maximum number of classes of work to print.
const CLASSES: usize = 8;

/// Prints the headline, the counts and the findings. If the fleet has at most [`MOST`] ranks, also prints every rank.
fn screen(fleet: &Fleet, out: &mut dyn Write) -> io::Result<()> {
    let Headline { text: headline, .. } = fleet.headline();
    writeln!(out, "{}", one_line(&headline))?;
    let counts = fleet.counts();
    writeln!(
        out,
        "{} compared, {} failed, {} unmatched; {}",
        counted(counts.ok as u64, "rank"),
        counts.failed,
        counts.unmatched,
        counted(fleet.roles.len() as u64, "role")
    )?;
    for finding in fleet.findings.iter().take(MOST) {
        let word = if finding.count > 1 { "ranks" } else { "rank" };
        let ranks = format!("{word} {}", finding.ranks);
        writeln!(out, "  {:<18} {ranks:<13} {}", finding.code, finding.message)?;
    }
    if fleet.findings.len() > MOST {
        writeln!(out, "  … and {} more in fleet.json", fleet.findings.len() - MOST)?;
    }
    classes(&fleet.classes, out)?;
    if fleet.ranks.len() <= MOST { text(&fleet.ranks, out) } else { Ok(()) }
}

/// Prints the classes of work of a fleet on two platforms.
fn classes(rows: &[ClassRow], out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    writeln!(out, "GPU ms per step (mean of {})", counted(first.ranks, "rank"))?;
    let line = |out: &mut dyn Write, name: &str, cells: [String; 5]| {
        let cells: Vec<String> = cells.iter().map(|cell| format!(" {cell:>FIGURE$}")).collect();
        writeln!(out, "  {name:<14}{}", cells.concat())
    };
    line(out, "", ClassRow::TITLES.map(str::to_owned))?;
    for row in rows.iter().take(CLASSES) {
        line(out, &row.name, row.cells())?;
    }
    Ok(())
}

fn text(rows: &[RankRow], out: &mut dyn Write) -> io::Result<()> {
    let line = |out: &mut dyn Write, cells: &[String]| -> io::Result<()> {
        write!(out, "{:<16}", cells[0])?;
        for (title, cell) in TITLES.iter().zip(cells).skip(1) {
            write!(out, " {cell:>width$}", width = title.len().max(FIGURE))?;
        }
        writeln!(out)
    };
    line(out, &TITLES.map(str::to_owned))?;
    for row in rows {
        line(out, &cells(row))?;
    }
    for side in Side::BOTH {
        for row in rows.iter().filter(|row| row.is_straggler[side]) {
            writeln!(out, "{}: the other ranks wait for {}", side.word(), row.folder)?;
        }
        let last = rows.iter().filter(|row| !row.waits[side].last_in.is_empty());
        let last: Vec<String> = last
            .map(|row| format!("{} in {}", row.folder, ranges(&row.waits[side].last_in, "#")))
            .collect();
        if !last.is_empty() {
            writeln!(out, "{}: last to enter collectives: {}", side.word(), last.join(", "))?;
        }
    }
    Ok(())
}

fn markdown(rows: &[RankRow], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "| {} |", TITLES.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(TITLES.len()))?;
    for row in rows {
        // A folder name can contain any characters, including Markdown syntax, so every cell is escaped.
        let cells: Vec<String> = cells(row).iter().map(|cell| plain(cell, LONGEST)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

fn cells(row: &RankRow) -> Vec<String> {
    let PerSide { baseline, candidate } = row.time;
    let waits = row.waits.as_ref().map(|wait| format!("{:.3}", wait.wait.as_millis()));
    vec![
        row.folder.clone(),
        format!("{:.3}", baseline.as_millis()),
        format!("{:.3}", candidate.as_millis()),
        signed((candidate - baseline).as_millis(), 3),
        waits.baseline,
        waits.candidate,
    ]
}
