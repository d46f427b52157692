//! Writes the opening of the Markdown: what changed, whether the traces are comparable, the inputs, and the warnings.

use super::{CELL, Section, cell, side_names, whole, wrapped};
use crate::analysis::Analysis;
use crate::analysis::comparability::INCOMPLETE;
use crate::report::shared::Shared;
use crate::report::summary::Summary;
use crate::report::text::{Line, Narrative, Port, capitalised, evidence, plain};
use crate::side::Side;
use std::fmt::Write as _;

/// Maximum number of lines for each layer of the narrative, that is, for each degree of certainty.
const CHANGES: usize = 12;

/// Writes the headline, an alert if the traces are not comparable, the parts of the step-time difference by certainty,
/// and suggested actions.
pub(super) fn answer(shared: &Shared) -> String {
    let (analysis, summary, narrative) = (&shared.analysis, shared.summary(), shared.narrative());
    let mut text = format!("**{}**\n\n", wrapped(&narrative.headline));
    let names = narrative.names.as_ref();
    let inputs = &narrative.inputs;
    let inputs = format!("{} → {}: {inputs}", names.baseline, names.candidate);
    let about = [&narrative.leading, &narrative.split, &narrative.confidence, &inputs];
    let evidence = capitalised(&evidence(analysis, &summary.verdict));
    let remarks = narrative.remarks.iter().chain(&narrative.runs).chain([&evidence]);
    for line in about.into_iter().chain(remarks) {
        if !line.is_empty() {
            let _ = writeln!(text, "{}\n", wrapped(line));
        }
    }
    text += &alert(analysis, summary);
    text += &narrative.port.as_ref().map(|port| porting(port, narrative)).unwrap_or_default();
    for layer in narrative.layers() {
        let is_certain = *layer == narrative.certain;
        let measure = if is_certain { format!(": {}", narrative.measure()) } else { String::new() };
        let _ = writeln!(text, "### {}{measure}\n", wrapped(&layer.title));
        for line in layer.lines.iter().take(CHANGES) {
            text += &bullet(line);
        }
        if let Some(rest) = narrative.rest(layer, CHANGES) {
            let _ = writeln!(text, "- and {rest}");
        }
        text.push('\n');
    }
    if let Some(why) = &narrative.no_prices {
        let _ = writeln!(text, "{}.\n", wrapped(&capitalised(why)));
    }
    text += &next(narrative);
    text
}

/// The comparison of two platforms.
fn porting(port: &Port, narrative: &Narrative) -> String {
    let is_upgrade = port.classes.is_empty();
    let title = if is_upgrade { "Other kernels" } else { "What the hardware explains" };
    let mut text = format!("### {title}\n\n");
    for line in [&port.split, &port.limit, &port.peaks] {
        if !line.is_empty() {
            let _ = writeln!(text, "{}\n", wrapped(line));
        }
    }
    let row = |cells: &[String; 8]| {
        format!("| {} |\n", cells.iter().map(|text| wrapped(text)).collect::<Vec<_>>().join(" | "))
    };
    if !is_upgrade {
        text += &row(&port.titles(&narrative.names));
        text += "|---|--:|--:|--:|--:|--:|--:|---|\n";
        text.extend(port.classes.iter().map(row));
    }
    for side in Side::BOTH {
        for item in &port.slower_on[side] {
            let name = wrapped(&narrative.names[side]);
            let sentence = wrapped(&item.sentence);
            let _ = write!(
                text,
                "\n- look at {name}: {} {sentence} ({})",
                item.cost,
                wrapped(&item.why)
            );
        }
    }
    for line in port.both.iter().chain(&port.lowering) {
        let _ = write!(text, "\n- {}", wrapped(line));
    }
    text + "\n\n"
}

/// A list item with a part of the difference and its cost.
fn bullet(line: &Line) -> String {
    let detail = match line.detail().as_str() {
        "" => String::new(),
        detail => format!(" ({})", wrapped(detail)),
    };
    let cost = match line.shown.as_str() {
        "" => String::new(),
        shown => format!("{shown} "),
    };
    format!("- {cost}{}{detail}\n", wrapped(&line.sentence))
}

fn next(narrative: &Narrative) -> String {
    if narrative.next.is_empty() {
        return String::new();
    }
    let mut text = String::from("### What to do\n\n");
    for (action, number) in narrative.next.iter().zip(1..) {
        let command = match action.command.as_str() {
            "" => String::new(),
            command => format!(": {}", whole(command)),
        };
        let _ = writeln!(text, "{number}. {}{command}", wrapped(&action.text));
    }
    text + "\n"
}

/// A GitHub warning with the notes about incomplete traces and about different work.
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
        text.push_str("> The traces do different work.\n");
    }
    for note in incomplete.into_iter().chain(other) {
        let _ = writeln!(text, "> - `{}`: {}", note.code, whole(&note.message));
    }
    text + "\n"
}

/// The file, the device, the number of events, the recording options and the versions on each side.
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

pub(super) fn notes(shared: &Shared) -> Section {
    let line = |note: &crate::report::SideNote| {
        let side = note.side_name(shared.analysis.names());
        let side = side.map_or_else(String::new, |side| format!(" {}", plain(side, CELL)));
        let hint = match note.note.hint {
            "" => String::new(),
            hint => format!(" → {hint}"),
        };
        format!("- `{}`{side}: {}{hint}\n", note.note.code, whole(&note.note.message))
    };
    let lines = shared.notes().iter().map(line).collect();
    Section { head: "\n### Warnings\n\n".to_owned(), lines, foot: String::new() }
}
