//! Writes the [`Narrative`] as `key: value` lines for scripts and coding agents: `tracetree diff
//! --format brief`.
//!
//! The keys stay the same across versions. Numbers have a decimal point and no unit; the unit is
//! part of the key. A value never contains a line break. `docs/start/python.md` lists the keys.

use super::Report;
use super::text::{Layer, Line, Port, one_line, shorten};
use crate::analysis::Analysis;
use crate::analysis::bill::BillKind;
use crate::analysis::verdict::Verdict;
use crate::side::Side;
use crate::trace::Nanos;
use std::io::{self, Write};

/// Maximum size of the brief, in bytes.
pub const LONGEST_BRIEF: usize = 2_000;
/// Version of the brief's keys; increased when a key changes its meaning or is removed.
const VERSION: u32 = 1;
/// Minimum size of the lines of one change, in bytes.
const CHANGE: usize = 60;
/// Maximum length of a sentence or command in the brief, in characters.
const SENTENCE: usize = 140;
const COMMAND: usize = 200;
/// Maximum number of lines about the same program at another speed.
const SAME_PROGRAM: usize = 4;

/// Writes the result of a comparison as `key: value` lines, at most [`LONGEST_BRIEF`] bytes. Changes that do not fit
/// are omitted, but the number in `changes` includes them.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_brief(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut most = LONGEST_BRIEF / CHANGE;
    loop {
        let text = text(report, most);
        let shown = report.narrative().certain.lines.len().min(most);
        if text.len() <= LONGEST_BRIEF || shown == 0 {
            return out.write_all(text.as_bytes());
        }
        most = shown - 1;
    }
}

/// The lines of the brief, with at most `most` changes.
fn text(report: &Report, most: usize) -> String {
    let (analysis, narrative) = (&report.shared.analysis, report.narrative());
    let mut brief = Brief::begin();
    for side in Side::BOTH {
        brief.line(side.word(), &short(&narrative.names[side], SENTENCE));
    }
    brief.line("comparable", yes(analysis.comparability().obstacles().next().is_none()));
    brief.line("headline", &short(&narrative.headline, SENTENCE));
    let step = |side: Side| analysis.wall().totals(side).step_ms();
    let [a, b] = Side::BOTH.map(step);
    brief.line("step_baseline_ms", &millis(a));
    brief.line("step_candidate_ms", &millis(b));
    brief.line("step_difference_ms", &millis(b - a));
    brief.line("significant", significant(analysis));
    let noise = if narrative.confidence.is_empty() {
        "not tested: one run on a side"
    } else {
        &narrative.confidence
    };
    brief.line("noise", &short(noise, SENTENCE));
    brief.line("identical", yes(analysis.changes().is_identical()));
    brief.line("cost_is", if narrative.has_prices { "price_by_replay" } else { "attributed" });
    let changes = analysis.changes().list();
    brief.line("changes", &changes.len().to_string());
    let mut at = 0;
    for line in narrative.certain.lines.iter().take(most) {
        let Some(change) = line.number.map(|number| &changes[number]) else {
            // What all changes do together, and what another device explains.
            brief.line(&format!("{}_ms", line.kind.label()), &cost(line));
            continue;
        };
        at += 1;
        let key = format!("change_{at}");
        brief.line(&key, &short(&line.sentence, SENTENCE));
        brief.line(&format!("{key}_kind"), change.kind.label());
        brief.line(&format!("{key}_certainty"), change.certainty.label());
        brief.line(&format!("{key}_cost_ms"), &cost(line));
        brief.line(&format!("{key}_attributed_ms"), &millis(change.cost.as_millis()));
        brief.line(&format!("{key}_where"), &short(&change.place, SENTENCE));
    }
    for (text, at) in narrative.port.iter().flat_map(Port::sentences).zip(1..) {
        brief.line(&format!("port_{at}"), &short(&text, SENTENCE));
    }
    let same = narrative.other_speed.lines.iter().chain(&narrative.within_noise.lines);
    for (line, at) in same.filter(|line| line.kind != BillKind::Rest).take(SAME_PROGRAM).zip(1..) {
        let key = format!("same_program_{at}");
        brief.line(&key, &short(&line.sentence, SENTENCE));
        brief.line(&format!("{key}_kind"), line.kind.label());
        brief.line(&format!("{key}_cost_ms"), &cost(line));
    }
    brief.line("other_speed_ms", &sum(&narrative.other_speed));
    brief.line("noise_or_not_tested_ms", &sum(&narrative.within_noise));
    brief.line("unexplained_ms", &millis(analysis.bill().rest().as_millis()));
    let codes: Vec<&str> = report.notes().iter().map(|note| note.note.code).collect();
    brief.line("warnings", &short(&codes.join(" "), SENTENCE));
    for (action, at) in narrative.next.iter().zip(1..) {
        let key = format!("next_{at}");
        brief.line(&key, &short(&action.text, SENTENCE));
        if !action.command.is_empty() && action.command.chars().count() <= COMMAND {
            brief.line(&format!("{key}_command"), &one_line(&action.command));
        }
    }
    brief.text
}

/// A brief that is built line by line.
pub struct Brief {
    /// The lines so far.
    pub text: String,
}

impl Brief {
    /// Creates a brief that contains only the line with its version.
    pub fn begin() -> Brief {
        let mut brief = Brief { text: String::new() };
        brief.line("brief_version", &VERSION.to_string());
        brief
    }

    /// Adds a line to the brief, unless the value is empty.
    pub fn line(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.text.extend([key, ": ", value, "\n"]);
        }
    }
}

/// Puts a value on one line and shortens it to `longest` characters.
pub fn short(text: &str, longest: usize) -> String {
    shorten(&one_line(text), longest).into_owned()
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn cost(line: &Line) -> String {
    millis(line.cost.as_millis())
}

fn sum(layer: &Layer) -> String {
    let sum: Nanos = layer.lines.iter().map(|line| line.cost).sum();
    millis(sum.as_millis())
}

/// Formats a time in ms, without a sign if it rounds to zero.
fn millis(time: f64) -> String {
    let text = format!("{time:.3}");
    if text == "-0.000" { "0.000".to_owned() } else { text }
}

/// Whether the difference in step time is significant over the runs: `yes`, `no`, or `unknown` if a side has only one
/// run.
fn significant(analysis: &Analysis) -> &'static str {
    match analysis.judged().step.map(|step| step.verdict) {
        Some(Verdict::Slower | Verdict::Faster) => "yes",
        Some(Verdict::Similar | Verdict::WithinNoise) => "no",
        Some(Verdict::NotTested) | None => "unknown",
    }
}
