//! The [`Narrative`] in the form that the page reads: one list of changes, one of the same program.

use super::narrative::{Layer, Line, Narrative};
use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::trace::Nanos;

/// Maximum number of changes that are shown.
const SHOWN: usize = 6;

/// What a person should read about the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLines {
    /// Whether the programs are identical, have little in common, or do nothing; `None` otherwise.
    pub headline: Option<String>,
    /// The most expensive changes.
    pub changes: Vec<ChangeLine>,
    /// The other changes: `and 3 smaller, together +0.10 ms`.
    pub rest: Option<String>,
    /// The same program at another speed, and what is left.
    pub same_program: Vec<ChangeLine>,
}

/// A part of the difference of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLine {
    /// Candidate − baseline per step, with sign and unit.
    pub difference: String,
    /// Candidate − baseline per step.
    pub time: Nanos,
    /// What changed.
    pub sentence: String,
    /// The attributed time, the usual cause, and whether the change was inferred; may be empty.
    pub detail: String,
    /// The first node of the merged tree with this change; `None` if it has no call.
    pub node: Option<MergedId>,
}

/// The changes and the remaining parts. Together they add up to the difference of a step.
pub fn change_lines(analysis: &Analysis) -> ChangeLines {
    let narrative = Narrative::of(analysis);
    let shown = narrative.certain.lines.iter().take(SHOWN);
    let others: [&Layer; 2] = [&narrative.other_speed, &narrative.within_noise];
    ChangeLines {
        changes: shown.map(line).collect(),
        rest: narrative.rest(&narrative.certain, SHOWN),
        same_program: others.iter().flat_map(|layer| &layer.lines).map(line).collect(),
        headline: narrative.state,
    }
}

fn line(line: &Line) -> ChangeLine {
    let attributed = line.attributed.as_ref().map(|time| format!("attributed {time}"));
    let detail = line.detail();
    let parts: Vec<&str> = attributed.as_deref().into_iter().chain([detail.as_str()]).collect();
    ChangeLine {
        difference: line.shown.clone(),
        time: line.cost,
        sentence: line.sentence.clone(),
        detail: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; "),
        node: line.node,
    }
}

/// `37% slower: 9.48 → 13.03 ms per step; GPU busy +4.72 ms, GPU idle −1.17 ms; the device was idle
/// 31 → 13% of the step`; with several runs also `; medians of 3 runs each, spread …`.
pub fn answer(analysis: &Analysis) -> String {
    let narrative = Narrative::of(analysis);
    let runs = match narrative.runs.is_empty() {
        true => String::new(),
        false => format!("; {}", narrative.confidence),
    };
    format!("{}; {}{runs}", narrative.headline, narrative.split)
}

/// What supports the answer, and what it omits.
pub fn answer_remarks(analysis: &Analysis) -> Vec<String> {
    let narrative = Narrative::of(analysis);
    let remarks = narrative.remarks.into_iter().chain(narrative.runs);
    std::iter::once(narrative.confidence).chain(remarks).collect()
}
