//! Renders a [`Gate`] as Markdown for `$GITHUB_STEP_SUMMARY`, within its 1 MiB limit.

use crate::check::{Finding, Gate, State};
use std::fmt::Write as _;
use std::io::{self, Write};
use tracetree::program::counted;
use tracetree::report::{self, plain};

/// Maximum size of the listed findings in bytes. GitHub allows 1 MiB for the summary, and other steps write to it too.
const MOST: usize = 900_000;

/// Maximum number of call sites listed per finding.
const SITES: usize = 3;

/// Maximum length of a string in characters; longer strings are truncated.
const LONGEST: usize = 300;

pub(super) fn write(gate: &Gate, out: &mut dyn Write) -> io::Result<()> {
    let mut text =
        format!("## tracetree gate: {}\n\n{}\n", gate.outcome.label(), cell(&gate.headline()));
    if !gate.reasons.is_empty() {
        text.push_str("\nInconclusive because:\n\n");
        for reason in &gate.reasons {
            let _ = writeln!(text, "- {}", cell(reason));
        }
    }
    let mut left_out = 0_u64;
    let states = [State::Failed, State::Warned, State::Allowed];
    let findings: Vec<&Finding> =
        states.into_iter().flat_map(|state| gate.with_state(state)).collect();
    if !findings.is_empty() {
        text.push_str(
            "\n| State | Rules | Finding | Baseline | Candidate | Call sites | Called in |\n",
        );
        text.push_str("|---|---|---|---|---|---|---|\n");
    }
    for finding in &findings {
        let row = row(finding);
        if text.len() + row.len() < MOST { text.push_str(&row) } else { left_out += 1 }
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n… and {}", counted(left_out, "more finding"));
    }
    write_checks(gate, &mut text);
    out.write_all(text.as_bytes())
}

fn row(finding: &Finding) -> String {
    let line = finding.sites.iter().find_map(|site| site.line.as_ref());
    let line = line.map_or_else(String::new, |line| code(&line.to_string()));
    let remark = match finding.remark.as_str() {
        "" => String::new(),
        remark => format!(" ({})", cell(remark)),
    };
    let listed = finding.sites.iter().take(SITES).map(|site| code(&site.place.words()));
    let mut sites: Vec<String> = listed.collect();
    if finding.sites.len() > SITES {
        sites.push(format!("{} more", finding.sites.len() - SITES));
    }
    sites.dedup();
    let evidence: Vec<String> = finding.evidence.iter().map(|line| cell(line)).collect();
    format!(
        "| {}{remark} | {} | **{}**<br>{} | {} | {} | {} | {line} |\n",
        finding.state.label(),
        code(&finding.rules.join(" ")),
        cell(&finding.what),
        evidence.join("; "),
        cell(&finding.before),
        cell(&finding.after),
        sites.join(", "),
    )
}

fn write_checks(gate: &Gate, text: &mut String) {
    if text.len() >= MOST {
        return;
    }
    if !gate.checks.is_empty() {
        text.push_str(
            "\n<details><summary>All rules</summary>\n\n| Rule | State | Details |\n|---|---|---|\n",
        );
        for check in &gate.checks {
            let state = check.state.label();
            let _ =
                writeln!(text, "| {} | {state} | {} |", code(&check.title()), cell(&check.message));
        }
        text.push_str("\n</details>\n");
    }
    for floor in &gate.floors {
        let _ = writeln!(
            text,
            "\nRun-to-run noise: {} {:.1} µs ({:.1}%)",
            floor.measure, floor.micros, floor.percent
        );
    }
    for note in &gate.notes {
        let _ = writeln!(text, "\nNote: {}", cell(note));
    }
}

/// Escapes text so that it stays within its table cell and is not parsed as markup.
fn cell(text: &str) -> String {
    plain(text, LONGEST)
}

/// Formats a name as code.
fn code(text: &str) -> String {
    report::code(text, LONGEST)
}
