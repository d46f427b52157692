//! [`Gate`] → Markdown for `$GITHUB_STEP_SUMMARY`, below the 1 MiB that a summary may have.

use crate::gate::check::{Check, Finding, Gate, State};
use crate::report::{self, plain};
use std::fmt::Write as _;
use std::io::{self, Write};

/// GitHub takes 1 MiB; other steps may write as well.
const MOST: usize = 900_000;

/// Longer texts are cut to so many characters.
const LONGEST: usize = 300;

pub(super) fn write(gate: &Gate, out: &mut dyn Write) -> io::Result<()> {
    let mut text =
        format!("## tracetree gate: {}\n\n{}\n", gate.outcome.label(), cell(&gate.headline()));
    if !gate.reasons.is_empty() {
        text.push_str("\nNothing can be said:\n\n");
        for reason in &gate.reasons {
            let _ = writeln!(text, "- {}", cell(reason));
        }
    }
    let mut left_out = 0;
    let states = [State::Failed, State::Warned, State::Allowed];
    let findings: Vec<(&Check, &Finding)> =
        states.into_iter().flat_map(|state| gate.findings(state)).collect();
    if !findings.is_empty() {
        text.push_str("\n| state | rule | place | what | before | after | called in |\n");
        text.push_str("|---|---|---|---|---|---|---|\n");
    }
    for (check, finding) in &findings {
        let row = row(check, finding);
        match text.len() + row.len() < MOST {
            true => text.push_str(&row),
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "\nand {left_out} more");
    }
    write_checks(gate, &mut text);
    out.write_all(text.as_bytes())
}

fn row(check: &Check, finding: &Finding) -> String {
    let site = finding.site.as_ref().map_or_else(String::new, |site| code(&site.to_string()));
    let remark = match finding.remark.as_str() {
        "" => String::new(),
        remark => format!(" ({})", cell(remark)),
    };
    format!(
        "| {}{remark} | {} | {} | {} | {} | {} | {site} |\n",
        finding.state.label(),
        code(&check.title()),
        code(&finding.place.words()),
        cell(&finding.what),
        cell(&finding.before),
        cell(&finding.after),
    )
}

fn write_checks(gate: &Gate, text: &mut String) {
    if text.len() >= MOST {
        return;
    }
    if !gate.checks.is_empty() {
        text.push_str(
            "\n<details><summary>All rules</summary>\n\n| rule | state | |\n|---|---|---|\n",
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
            "\nNoise between runs: {} {:.1} µs ({:.1} %)",
            floor.measure, floor.micros, floor.percent
        );
    }
    for note in &gate.notes {
        let _ = writeln!(text, "\nNote: {}", cell(note));
    }
}

/// A text that stays in its cell, and is no markup.
fn cell(text: &str) -> String {
    plain(text, LONGEST)
}

/// A name, as code.
fn code(text: &str) -> String {
    report::code(text, LONGEST)
}
