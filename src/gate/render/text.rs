//! [`Gate`] → text for people: the outcome first, then the reasons.

use crate::escape::one_line;
use crate::gate::check::{Check, Finding, FindingSite, Gate, Outcome, State, measured_by};
use crate::gate::rules::TimeMeasure;
use crate::program::counted;
use std::io::{self, Write};

/// Longer texts, such as kernel names, are cut to this many characters.
const LONGEST: usize = 160;

/// Number of call sites of a finding that are listed.
const SITES: usize = 5;

pub(super) fn write(gate: &Gate, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", headline(gate))?;
    for state in [State::Failed, State::Warned, State::Allowed] {
        for finding in gate.with_state(state) {
            write_finding(gate, finding, out)?;
        }
    }
    if !gate.reasons.is_empty() {
        writeln!(out, "\ninconclusive because:")?;
        for reason in &gate.reasons {
            writeln!(out, "  {}", one_line(reason))?;
        }
    }
    for floor in &gate.floors {
        writeln!(
            out,
            "\nrun-to-run noise: {} {:.1} µs ({:.1}%)",
            one_line(&floor.measure),
            floor.micros,
            floor.percent
        )?;
    }
    if !gate.notes.is_empty() {
        writeln!(out)?;
    }
    for note in &gate.notes {
        writeln!(out, "note: {}", one_line(note))?;
    }
    Ok(())
}

/// `FAIL: 1 finding at 21 call sites violates 2 of 20 rules (runs 1 | 1, steps 3 | 3)`.
pub(super) fn headline(gate: &Gate) -> String {
    let failed: Vec<&Finding> = gate.with_state(State::Failed).collect();
    let broken = gate.checks.iter().filter(|check| check.state == State::Failed).count();
    let places: usize = failed.iter().map(|finding| finding.sites.len()).sum();
    let sides = format!(
        "runs {} | {}, steps {} | {}",
        gate.runs[0], gate.runs[1], gate.steps[0], gate.steps[1]
    );
    let all = gate.checks.len();
    match gate.outcome {
        Outcome::Pass if gate.reasons.is_empty() => {
            format!("PASS: all {all} rules passed; {} ({sides})", measured(gate))
        }
        Outcome::Pass => {
            format!("PASS (inconclusive results accepted): {} ({sides})", first_reason(gate))
        }
        Outcome::Fail => {
            let found = counted(failed.len() as u64, "finding");
            let verb = if failed.len() == 1 { "violates" } else { "violate" };
            let at = match places {
                0 => String::new(),
                places => format!(" at {}", counted(places as u64, "call site")),
            };
            format!("FAIL: {found}{at} {verb} {broken} of {all} rules ({sides})")
        }
        Outcome::Inconclusive => match times_alone(gate) {
            Some(times) => {
                format!(
                    "PASS (structure); time inconclusive: {times}; {} ({sides})",
                    measured(gate)
                )
            }
            None => format!("INCONCLUSIVE: {} ({sides})", first_reason(gate)),
        },
    }
}

/// What the candidate's runs measured.
fn measured(gate: &Gate) -> String {
    measured_by(&gate.evidence.candidate, gate.steps[1])
}

/// The first reason and the number of the others.
fn first_reason(gate: &Gate) -> String {
    let first = gate.reasons.first().map_or_else(String::new, |reason| short(reason));
    match gate.reasons.len().saturating_sub(1) {
        0 => first,
        more => format!("{first}; and {}", counted(more as u64, "more reason")),
    }
}

/// The first undecided time rule, if everything except time rules was checked and passed.
fn times_alone(gate: &Gate) -> Option<String> {
    let is_time = |check: &Check| TimeMeasure::ALL.iter().any(|time| time.label() == check.rule);
    let unknown: Vec<&Check> =
        gate.checks.iter().filter(|check| check.state == State::Inconclusive).collect();
    let is_all = unknown.len() == gate.reasons.len() && unknown.iter().all(|check| is_time(check));
    let first = unknown.first().filter(|_| is_all)?;
    Some(format!("{} {}", first.title(), first.message))
}

fn write_finding(gate: &Gate, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, "{}: {}", finding.state.label(), short(&finding.what))?;
    writeln!(out, "  {} {}", rules(finding), short(&finding.rules.join(", ")))?;
    if !finding.limit.is_empty() {
        let change = format!("{} → {}", finding.before, finding.after);
        writeln!(out, "  {} (allowed: {})", short(&change), short(&finding.limit))?;
    }
    for line in &finding.evidence {
        writeln!(out, "  {}", short(line))?;
    }
    let mut line = None;
    for site in finding.sites.iter().take(SITES) {
        writeln!(out, "  at {}", short(&place(site)))?;
        if !site.what.is_empty() {
            let times = if site.calls > 1 { format!("{} × ", site.calls) } else { String::new() };
            writeln!(out, "    {}", short(&format!("{times}{}", site.what)))?;
        }
        if site.line.is_some() && site.line != line {
            line.clone_from(&site.line);
            let line = line.as_ref().map(ToString::to_string).unwrap_or_default();
            writeln!(out, "    called in {}", short(&line))?;
        }
    }
    if let Some(more) = finding.sites.len().checked_sub(SITES).filter(|&more| more > 0) {
        let more = counted(more as u64, "more call site");
        writeln!(out, "  and {more} (--format json lists all)")?;
    }
    if !finding.remark.is_empty() {
        writeln!(out, "  {}", short(&finding.remark))?;
    }
    writeln!(out, "  inspect: {}", short(&gate.command(finding)))
}

fn rules(finding: &Finding) -> &'static str {
    if finding.rules.len() == 1 { "rule" } else { "rules" }
}

fn place(site: &FindingSite) -> String {
    let words = short(&site.place.words());
    match site.place.phase.as_str() {
        "" | "unknown" => words,
        phase => format!("{words} [{}]", short(phase)),
    }
}

fn short(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.into_owned(),
    }
}
