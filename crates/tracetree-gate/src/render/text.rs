//! Renders a [`Gate`] as text for people: the outcome, then the findings (one per change), then the rules that were
//! not tested.

use crate::check::{Check, Finding, FindingSite, Gate, Outcome, State, measured_by};
use crate::rules::TimeMeasure;
use std::io::{self, Write};
use tracetree::escape::one_line;
use tracetree::program::counted;
use tracetree::report::Width;

/// Maximum length of a string, such as a kernel name, in characters; longer strings are truncated unless all details
/// are written.
const LONGEST: usize = 160;

/// Each line of a finding is a label and a value. The values start in this screen column.
const VALUES: usize = 14;

/// The layout of a gate result.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Line width.
    pub width: Width,
    /// Whether all call sites are listed.
    pub is_verbose: bool,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { width: Width::Pipe(100), is_verbose: false }
    }
}

pub(super) fn write(gate: &Gate, layout: Layout, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { layout, out };
    match layout.width {
        // The first line of a log has the whole outcome.
        Width::Pipe(_) => writeln!(page.out, "{}", one_line(&headline(gate)))?,
        Width::Screen(_) => page.hanging(0, 2, &one_line(&headline(gate)))?,
    }
    for state in [State::Failed, State::Warned, State::Allowed] {
        for finding in gate.with_state(state) {
            page.finding(gate, finding)?;
        }
    }
    if !gate.reasons.is_empty() {
        writeln!(page.out, "\ninconclusive because:")?;
    }
    for reason in &gate.reasons {
        page.hanging(2, 4, &one_line(reason))?;
    }
    if !gate.floors.is_empty() {
        writeln!(page.out)?;
        let floor = |floor: &crate::check::Floor| {
            format!("{} {:.1} µs ({:.1}%)", one_line(&floor.measure), floor.micros, floor.percent)
        };
        let floors: Vec<String> = gate.floors.iter().map(floor).collect();
        page.hanging(0, 2, &format!("run-to-run noise: {}", floors.join(", ")))?;
    }
    if !gate.notes.is_empty() {
        writeln!(page.out)?;
    }
    for note in &gate.notes {
        page.hanging(0, 2, &format!("note: {}", one_line(note)))?;
    }
    Ok(())
}

/// The outcome in one line, such as `FAIL: 1 finding at 21 call sites violates 2 of 20 rules; undecided: step_wall
/// 9.833 ms → 13.027 ms (+32.5%) …`.
pub(super) fn headline(gate: &Gate) -> String {
    let failed: Vec<&Finding> = gate.with_state(State::Failed).collect();
    let broken = gate.checks.iter().filter(|check| check.state == State::Failed).count();
    let places: usize = failed.iter().map(|finding| finding.sites.len()).sum();
    let rules =
        if gate.rules.is_empty() { String::new() } else { format!(", rules {}", gate.rules) };
    let sides = format!(
        "runs {} | {}, steps {} | {}{rules}",
        gate.runs.baseline, gate.runs.candidate, gate.steps.baseline, gate.steps.candidate
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
            let untested = untested(gate);
            format!("FAIL: {found}{at} {verb} {broken} of {all} rules{untested} ({sides})")
        }
        Outcome::Inconclusive => match times_alone(gate) {
            Some(times) => {
                format!("INCONCLUSIVE (structure passed): {times}; {} ({sides})", measured(gate))
            }
            None => format!("INCONCLUSIVE: {} ({sides})", first_reason(gate)),
        },
    }
}

/// A suffix that lists the times that exceed a limit, but not by more than chance explains, such as `; undecided:
/// step_wall 9.833 ms → 13.027 ms (+32.5%) with 1 run per side; record 3 runs per side to decide`.
fn untested(gate: &Gate) -> String {
    let unknown = gate.checks.iter().filter(|check| check.state == State::Inconclusive);
    let shown: Vec<String> = unknown
        .filter(|check| is_time(check))
        .map(|check| format!("{} {}", check.title(), check.message))
        .collect();
    if shown.is_empty() { String::new() } else { format!("; undecided: {}", shown.join(", ")) }
}

fn measured(gate: &Gate) -> String {
    measured_by(&gate.evidence.candidate, gate.steps.candidate)
}

/// The first reason why the gate or one of its rules is inconclusive, followed by the number of other reasons.
fn first_reason(gate: &Gate) -> String {
    let first = gate.reasons.first().map_or_else(String::new, |reason| short(reason));
    match gate.reasons.len().saturating_sub(1) {
        0 => first,
        more => format!("{first}; and {}", counted(more as u64, "more reason")),
    }
}

fn is_time(check: &Check) -> bool {
    TimeMeasure::ALL.iter().any(|time| time.label() == check.rule)
}

/// The title and message of the first inconclusive time rule. Returns `None` unless time rules are the only reason
/// why the gate is inconclusive.
fn times_alone(gate: &Gate) -> Option<String> {
    let unknown: Vec<&Check> =
        gate.checks.iter().filter(|check| check.state == State::Inconclusive).collect();
    let is_all = unknown.len() == gate.reasons.len() && unknown.iter().all(|check| is_time(check));
    let first = unknown.first().filter(|_| is_all)?;
    Some(format!("{} {}", first.title(), first.message))
}

struct Page<'a> {
    layout: Layout,
    out: &'a mut dyn Write,
}

impl Page<'_> {
    /// Writes wrapped text whose first line starts in column `first` and whose other lines start in column `others`.
    fn hanging(&mut self, first: usize, others: usize, text: &str) -> io::Result<()> {
        let lines = self.layout.width.lines(text, first.max(others), usize::MAX);
        for (at, line) in lines.iter().enumerate() {
            let indent = if at == 0 { first } else { others };
            writeln!(self.out, "{:indent$}{line}", "")?;
        }
        Ok(())
    }

    /// Writes a field such as `  cost        +4.740 ms per step`.
    fn field(&mut self, name: &str, text: &str) -> io::Result<()> {
        let lines = self.layout.width.lines(text, VALUES, usize::MAX);
        for (at, line) in lines.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            writeln!(self.out, "  {name:<room$}{line}", room = VALUES - 2)?;
        }
        Ok(())
    }

    fn finding(&mut self, gate: &Gate, finding: &Finding) -> io::Result<()> {
        writeln!(self.out)?;
        let what = format!("{}: {}", finding.state.label(), self.short(&finding.what));
        self.hanging(0, 2, &what)?;
        self.field(rules(finding), &self.short(&finding.rules.join(", ")))?;
        if !finding.limit.is_empty() {
            let (before, after, limit) = (&finding.before, &finding.after, &finding.limit);
            let change = format!("{before} → {after} (allowed: {limit})");
            self.field("measured", &self.short(&change))?;
        }
        for line in &finding.evidence {
            let line = self.short(line);
            let known = ["price ", "attributed ", "first ", "usually "];
            let name = known.into_iter().find(|name| line.starts_with(name)).unwrap_or_default();
            self.field(name.trim_end(), &line[name.len()..])?;
        }
        if self.layout.is_verbose {
            self.sites(&finding.sites)?
        } else {
            self.example(&finding.sites)?
        }
        if !finding.remark.is_empty() {
            self.field("allowed", &self.short(&finding.remark))?;
        }
        // The command is not wrapped, so that it can be copied.
        let command = gate.command(finding);
        writeln!(self.out, "  {:<room$}{}", "inspect", one_line(&command), room = VALUES - 2)
    }

    /// Writes the first call site in full. Then lists up to three of the Python functions that make the calls at any of
    /// the call sites.
    fn example(&mut self, sites: &[FindingSite]) -> io::Result<()> {
        let Some(first) = sites.first() else { return Ok(()) };
        let what = if first.what.is_empty() { String::new() } else { format!(": {}", first.what) };
        self.field("example", &self.short(&format!("{}{what}", place(first))))?;
        let mut lines: Vec<String> = Vec::new();
        for line in sites.iter().filter_map(|site| site.line.as_ref()) {
            let line = one_line(&line.to_string()).into_owned();
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        if !lines.is_empty() {
            let more = lines.len().saturating_sub(3);
            lines.truncate(3);
            if more > 0 {
                lines.push(format!("{more} more"));
            }
            self.field("called in", &self.short(&lines.join(", ")))?;
        }
        match sites.len() {
            1 => Ok(()),
            count => self.field("all", &format!("--verbose lists {count} call sites")),
        }
    }

    fn sites(&mut self, sites: &[FindingSite]) -> io::Result<()> {
        let mut line = None;
        for site in sites {
            self.hanging(2, 4, &format!("at {}", place(site)))?;
            if !site.what.is_empty() {
                let times =
                    if site.calls > 1 { format!("{} × ", site.calls) } else { String::new() };
                self.hanging(4, 6, &one_line(&format!("{times}{}", site.what)))?;
            }
            if site.line.is_some() && site.line != line {
                line.clone_from(&site.line);
                let line = line.as_ref().map(ToString::to_string).unwrap_or_default();
                self.hanging(4, 6, &format!("called in {}", one_line(&line)))?;
            }
        }
        Ok(())
    }

    /// Puts a string on one line, and truncates the string unless all details are written.
    fn short(&self, text: &str) -> String {
        if self.layout.is_verbose { one_line(text).into_owned() } else { short(text) }
    }
}

fn rules(finding: &Finding) -> &'static str {
    if finding.rules.len() == 1 { "rule" } else { "rules" }
}

fn place(site: &FindingSite) -> String {
    let words = one_line(&site.place.words()).into_owned();
    match site.place.phase.as_str() {
        "" | "unknown" => words,
        phase => format!("{words} [{}]", one_line(phase)),
    }
}

fn short(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.into_owned(),
    }
}
