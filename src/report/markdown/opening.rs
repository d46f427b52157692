//! How the Markdown opens: what happened, whether it may be compared, why; then inputs and warnings.

use super::{CELL, Section, cell, side_names, whole, wrapped};
use crate::analysis::Analysis;
use crate::report::summary::Summary;
use crate::report::text::{answer_remarks, cause_lines, evidence, plain};
use crate::side::Side;
use std::fmt::Write as _;

/// The sentence, an alert where the traces are not of the same work, and the causes.
pub(super) fn answer(analysis: &Analysis, summary: &Summary) -> String {
    let mut text = format!("**{}**\n\n", wrapped(&crate::report::text::answer(analysis)));
    for remark in answer_remarks(analysis) {
        let _ = writeln!(text, "{}\n", wrapped(&remark));
    }
    let _ = writeln!(text, "Verdict: {}.\n", evidence(analysis, &summary.verdict));
    text += &alert(analysis, summary);
    let (causes, rest) = cause_lines(analysis);
    if !causes.is_empty() {
        text.push_str("### Why\n\n");
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

/// What GitHub shows as a warning: which notes say that the traces are not of the same work.
fn alert(analysis: &Analysis, summary: &Summary) -> String {
    if summary.comparable {
        return String::new();
    }
    let mut text =
        String::from("> [!WARNING]\n> These traces are incomplete or not of the same work.\n");
    for note in analysis.comparability().obstacles() {
        let _ = writeln!(text, "> - `{}`: {}", note.code, whole(&note.message));
    }
    text + "\n"
}

/// Files, devices, and what else tells the recordings apart.
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
