//! The opening of the Markdown: what happened, whether the traces are comparable, why; then inputs and
//! warnings.

use super::{CELL, Section, cell, side_names, whole, wrapped};
use crate::analysis::{Analysis, INCOMPLETE};
use crate::report::summary::Summary;
use crate::report::text::{ChangeLine, answer_remarks, cause_lines, change_lines, evidence, plain};
use crate::side::Side;
use std::fmt::Write as _;

/// The answer in one sentence, an alert if the traces are not comparable, and the causes.
pub(super) fn answer(analysis: &Analysis, summary: &Summary) -> String {
    let mut text = format!("**{}**\n\n", wrapped(&crate::report::text::answer(analysis)));
    for remark in answer_remarks(analysis) {
        let _ = writeln!(text, "{}\n", wrapped(&remark));
    }
    let _ = writeln!(text, "Verdict: {}.\n", evidence(analysis, &summary.verdict));
    text += &alert(analysis, summary);
    text += &changes(analysis);
    let (causes, rest) = cause_lines(analysis);
    if !causes.is_empty() {
        text.push_str("\n### Where the time went\n\n");
    }
    for cause in &causes {
        let _ = writeln!(
            text,
            "- {} {} {}: {}",
            cause.difference,
            whole(cause.reason),
            whole(&cause.place),
            wrapped(&cause.evidence),
        );
    }
    if let Some(rest) = rest {
        let _ = writeln!(text, "- {rest}");
    }
    text
}

/// What changed with its cost, and what the same program costs at another speed.
fn changes(analysis: &Analysis) -> String {
    let lines = change_lines(analysis);
    let mut text = String::from("### What changed\n\n");
    if let Some(headline) = &lines.headline {
        let _ = writeln!(text, "{}.", wrapped(headline));
    }
    let bullet = |text: &mut String, line: &ChangeLine| {
        let detail = match line.detail.as_str() {
            "" => String::new(),
            detail => format!(" ({})", wrapped(detail)),
        };
        let _ = writeln!(text, "- {} {}{detail}", line.difference, wrapped(&line.sentence));
    };
    lines.changes.iter().for_each(|line| bullet(&mut text, line));
    if let Some(rest) = &lines.rest {
        let _ = writeln!(text, "- {rest}");
    }
    if !lines.same_program.is_empty() {
        text.push_str("\nThe same program at another speed:\n\n");
        lines.same_program.iter().for_each(|line| bullet(&mut text, line));
    }
    text
}

/// A GitHub warning with the notes on an incomplete trace and on work that differs.
fn alert(analysis: &Analysis, summary: &Summary) -> String {
    if summary.comparable {
        return String::new();
    }
    let (incomplete, other): (Vec<_>, Vec<_>) =
        analysis.comparability().obstacles().partition(|note| note.code == INCOMPLETE);
    let mut text = String::from("> [!WARNING]\n");
    if !incomplete.is_empty() {
        text.push_str("> A trace is incomplete.\n");
    }
    if !other.is_empty() {
        text.push_str("> The traces do not run the same work.\n");
    }
    for note in incomplete.into_iter().chain(other) {
        let _ = writeln!(text, "> - `{}`: {}", note.code, whole(&note.message));
    }
    text + "\n"
}

/// Files, devices, and other differences between the recordings.
pub(super) fn inputs(analysis: &Analysis) -> Section {
    let [one, two] = side_names(analysis);
    let head = format!("\n### Inputs\n\n| | {one} | {two} |\n|---|---|---|\n");
    let line = |title: &str, text: &dyn Fn(Side) -> String| {
        let [a, b] = Side::BOTH.map(|side| cell(&text(side)));
        (!a.is_empty() || !b.is_empty()).then(|| format!("| {title} | {a} | {b} |\n"))
    };
    let trace = |side: Side| analysis.tree(side).trace();
    let lines = [
        line("file", &|side| trace(side).source().to_owned()),
        line("device", &|side| {
            let names = trace(side).header().devices.first().map(|device| device.name.clone());
            names.unwrap_or_default()
        }),
        line("events", &|side| trace(side).total_events().to_string()),
        line("recorded with", &|side| trace(side).header().options.join(", ")),
        line("versions", &|side| {
            let versions = trace(side).header().versions.iter();
            let versions: Vec<String> =
                versions.map(|(key, value)| format!("{key} {value}")).collect();
            versions.join(", ")
        }),
    ];
    Section { head, lines: lines.into_iter().flatten().collect(), foot: String::new() }
}

pub(super) fn notes(summary: &Summary) -> Section {
    let line = |note: &crate::report::SideNote| {
        let side = summary.side_of(note);
        let side = side.map_or_else(String::new, |side| format!(" {}", plain(side, CELL)));
        let hint = match note.note.hint {
            "" => String::new(),
            hint => format!(" → {hint}"),
        };
        format!("- `{}`{side}: {}{hint}\n", note.note.code, whole(&note.note.message))
    };
    let lines = summary.notes.iter().map(line).collect();
    Section { head: "\n### Warnings\n\n".to_owned(), lines, foot: String::new() }
}
