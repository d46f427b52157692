//! Renders a [`Gate`] as JUnit XML: one test case per rule, and one test case that checks whether the sides are
//! comparable.

use crate::check::{Check, Finding, Gate, State};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::io::{self, Write};
use tracetree::escape::one_line;

/// The class name of all test cases.
const CLASS: &str = "tracetree.gate";

pub(super) fn write(gate: &Gate, out: &mut dyn Write) -> io::Result<()> {
    let mut suite = TestSuite::new(CLASS);
    suite.add_test_case(comparable(gate));
    for check in &gate.checks {
        suite.add_test_case(case(gate, check));
    }
    let mut report = Report::new("tracetree gate");
    report.add_test_suite(suite);
    let text = report.to_string().map_err(io::Error::other)?;
    out.write_all(text.as_bytes())?;
    writeln!(out)
}

/// The test case that passes if the sides can be compared.
fn comparable(gate: &Gate) -> TestCase {
    let of_sides = gate.checks.is_empty() && !gate.reasons.is_empty();
    let status = if of_sides {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message("inconclusive").set_description(lines(&gate.reasons));
        status
    } else {
        TestCaseStatus::success()
    };
    let mut case = TestCase::new("comparable", status);
    case.set_classname(CLASS);
    case
}

fn case(gate: &Gate, check: &Check) -> TestCase {
    let status = match check.state {
        State::Failed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(first(gate, check)).set_description(findings(gate, check));
            status
        }
        State::Inconclusive => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(clean(&format!("inconclusive: {}", check.message)));
            status
        }
        State::Passed | State::Warned | State::Allowed => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(clean(&check.title()), status);
    case.set_classname(CLASS);
    if matches!(check.state, State::Warned | State::Allowed) {
        case.set_system_out(findings(gate, check));
    }
    case
}

fn first(gate: &Gate, check: &Check) -> String {
    match of_check(gate, check).next() {
        Some(finding) => clean(&finding.what),
        None => clean(&check.message),
    }
}

fn of_check<'g>(gate: &'g Gate, check: &'g Check) -> impl Iterator<Item = &'g Finding> {
    check.findings.iter().map(|&at| &gate.findings[at])
}

fn findings(gate: &Gate, check: &Check) -> String {
    let mut text = String::new();
    for finding in of_check(gate, check) {
        push_line(&mut text, &finding.what);
        if !finding.limit.is_empty() {
            let (before, after, limit) = (&finding.before, &finding.after, &finding.limit);
            push_line(&mut text, &format!("  {before} → {after} (allowed: {limit})"));
        }
        for line in &finding.evidence {
            push_line(&mut text, &format!("  {line}"));
        }
        for site in &finding.sites {
            let line = site.line.as_ref().map_or_else(String::new, |line| format!(" ({line})"));
            push_line(&mut text, &format!("  at {}: {}{line}", site.place.words(), site.what));
        }
        push_line(&mut text, &format!("  inspect: {}", gate.command(finding)));
    }
    text
}

/// Puts text on one line and escapes the characters that XML does not allow.
fn clean(text: &str) -> String {
    one_line(text).into_owned()
}

fn lines(texts: &[String]) -> String {
    texts.iter().map(|text| clean(text)).collect::<Vec<_>>().join("\n")
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(&one_line(line));
    text.push('\n');
}
