//! [`Gate`] → text for people: the outcome first, then why.

use crate::escape::one_line;
use crate::gate::check::{Check, Finding, Gate, Outcome, State};
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
    let unsettled = |check: &&Check| check.state == State::NotTested;
    for check in gate.checks.iter().filter(unsettled) {
        let told = format!("{}: {}", check.title(), check.message);
        writeln!(out, "\nnot tested: {}", one_line(&told))?;
    }
    if !gate.reasons.is_empty() {
        writeln!(out, "\nnothing can be said:")?;
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

/// `FAIL: 2 rules are broken at 3 places, of 16 (1 | 1 runs, 3 | 3 steps)`.
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
            format!("PASS: all {all} rules hold ({sides})")
        }
        Outcome::Pass => {
            format!("PASS, though inconclusive: {} ({sides})", things(gate.reasons.len()))
        }
        Outcome::Fail => {
            let rules = if broken == 1 { "1 rule is" } else { &format!("{broken} rules are") };
            let at = if places == 1 { "1 place" } else { &format!("{places} places") };
            format!("FAIL: {rules} broken at {at}, of {all} ({sides})")
        }
        Outcome::Inconclusive => {
            format!("INCONCLUSIVE: {} ({sides})", things(gate.reasons.len()))
        }
    }
}

fn things(count: usize) -> String {
    match count {
        1 => "1 thing cannot be told".to_owned(),
        count => format!("{count} things cannot be told"),
    }
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
