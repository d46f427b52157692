//! [`Gate`] → text for people: the outcome first, then why.

use crate::escape::one_line;
use crate::gate::check::{Check, Finding, Gate, Outcome, State};
use crate::gate::rules::TimeMeasure;
use crate::program::Damage;
use std::io::{self, Write};

/// Names of kernels are cut to this many characters.
const LONGEST: usize = 160;

/// So many findings of a rule are told at length; of the others a line each.
const DETAILED: usize = 5;

pub(super) fn write(gate: &Gate, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", headline(gate))?;
    for state in [State::Failed, State::Warned, State::Allowed] {
        for check in &gate.checks {
            let findings = check.findings.iter().filter(|finding| finding.state == state);
            for (at, finding) in findings.enumerate() {
                match at {
                    ..DETAILED => write_finding(gate, check, finding, out)?,
                    DETAILED.. => write_line(check, finding, at == DETAILED, out)?,
                }
            }
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
            "\nnoise between runs: {} {:.1} us ({:.1} %)",
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

/// `FAIL: 2 rules violated at 3 call sites, of 16 (1 | 1 runs, 3 | 3 steps)`.
pub(super) fn headline(gate: &Gate) -> String {
    let broken = gate.checks.iter().filter(|check| check.state == State::Failed).count();
    let places = gate.findings(State::Failed).count();
    let sides = format!(
        "{} | {} runs, {} | {} steps",
        gate.runs[0], gate.runs[1], gate.steps[0], gate.steps[1]
    );
    let all = gate.checks.len();
    match gate.outcome {
        Outcome::Pass if gate.reasons.is_empty() => {
            format!("PASS: all {all} rules hold; {} ({sides})", measured(gate))
        }
        Outcome::Pass => format!("PASS, though inconclusive: {} ({sides})", first_reason(gate)),
        Outcome::Fail => {
            let rules = counted(broken, "rule");
            let at = counted(places, "call site");
            format!("FAIL: {rules} violated at {at}, of {all} ({sides})")
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

/// `785 GPU events in 5 steps, nothing lost`: what the candidate's runs measured.
fn measured(gate: &Gate) -> String {
    let runs = &gate.evidence.candidate;
    let gpu: u64 = runs.iter().map(|run| run.gpu_events).sum();
    let events: u64 = runs.iter().map(|run| run.events).sum();
    let what = match gpu {
        0 => counted(events as usize, "host event"),
        gpu => counted(gpu as usize, "GPU event"),
    };
    let is_whole = gate.evidence.candidate.iter().all(|run| Damage::of(run).is_empty());
    let lost = if is_whole { "nothing lost" } else { "with tolerated losses" };
    format!("{what} in {}, {lost}", counted(gate.steps[1] as usize, "step"))
}

/// The first reason, and how many more there are.
fn first_reason(gate: &Gate) -> String {
    let first = gate.reasons.first().map_or_else(String::new, |reason| short(reason));
    match gate.reasons.len().saturating_sub(1) {
        0 => first,
        more => format!("{first}; and {}", counted(more, "more reason")),
    }
}

/// What could not be tested of the time, where everything else was checked and holds.
fn times_alone(gate: &Gate) -> Option<String> {
    let is_time = |check: &Check| TimeMeasure::ALL.iter().any(|time| time.label() == check.rule);
    let unknown: Vec<&Check> =
        gate.checks.iter().filter(|check| check.state == State::Inconclusive).collect();
    let is_all = unknown.len() == gate.reasons.len() && unknown.iter().all(|check| is_time(check));
    let first = unknown.first().filter(|_| is_all)?;
    Some(format!("{} {}", first.title(), first.message))
}

/// `1 rule`, `3 rules`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn write_finding(
    gate: &Gate,
    check: &Check,
    finding: &Finding,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out)?;
    let (state, title) = (finding.state.label(), short(&check.title()));
    writeln!(out, "{state} {title} at {}", place(finding))?;
    writeln!(out, "  {}", short(&finding.what))?;
    if let Some(site) = &finding.site {
        writeln!(out, "  called in {}", short(&site.to_string()))?;
    }
    let change = format!("{} → {}", finding.before, finding.after);
    writeln!(out, "  {} (allowed: {})", short(&change), short(&finding.limit))?;
    for line in &finding.evidence {
        writeln!(out, "    {}", short(line))?;
    }
    if !finding.remark.is_empty() {
        writeln!(out, "  {}", short(&finding.remark))?;
    }
    writeln!(out, "  look closer: {}", short(&gate.command(finding)))
}

/// A finding in a line, below others of its rule.
fn write_line(
    check: &Check,
    finding: &Finding,
    is_first: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if is_first {
        writeln!(out, "\n{} {} as well at", finding.state.label(), short(&check.title()))?;
    }
    writeln!(out, "  {}", place(finding))?;
    writeln!(out, "    {}", short(&finding.what))
}

fn place(finding: &Finding) -> String {
    let words = short(&finding.place.words());
    match finding.place.phase.as_str() {
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
