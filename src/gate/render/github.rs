//! [`Gate`] → commands of GitHub's workflows: the first ten findings as annotations.
//!
//! GitHub shows ten of each sort for a step; the rest stands in the summary (`--format md`).

use crate::escape::one_line;
use crate::gate::check::{Check, Finding, Gate, Outcome, State};
use std::io::{self, Write};

/// So many annotations of one sort does GitHub show for a step.
const SHOWN: usize = 10;

pub(super) fn write(gate: &Gate, out: &mut dyn Write) -> io::Result<()> {
    for (state, command) in [(State::Failed, "error"), (State::Warned, "warning")] {
        let findings: Vec<(&Check, &Finding)> = gate.findings(state).collect();
        for (check, finding) in findings.iter().take(SHOWN) {
            annotate(command, check, finding, out)?;
        }
        if let Some(more) = findings.len().checked_sub(SHOWN).filter(|&more| more > 0) {
            writeln!(out, "::notice::{more} more of them stand in the summary")?;
        }
    }
    if gate.outcome == Outcome::Inconclusive {
        for reason in gate.reasons.iter().take(SHOWN) {
            writeln!(out, "::error title=inconclusive::{}", data(reason))?;
        }
    }
    writeln!(out, "{}", one_line(&gate.headline()))
}

fn annotate(
    command: &str,
    check: &Check,
    finding: &Finding,
    out: &mut dyn Write,
) -> io::Result<()> {
    let place = match &finding.site {
        Some(site) => format!("file={},line={},", property(relative(&site.file)), site.line),
        None => String::new(),
    };
    let message = format!(
        "{} at {}: {} → {} (allowed: {})",
        finding.what,
        finding.place.words(),
        finding.before,
        finding.after,
        finding.limit
    );
    writeln!(out, "::{command} {place}title={}::{}", property(&check.title()), data(&message))
}

/// Annotations name files from the root of the repository, and the profiler often the whole path.
fn relative(file: &str) -> &str {
    let folder = std::env::current_dir().ok();
    let folder = folder.as_deref().and_then(std::path::Path::to_str);
    let inside = folder.and_then(|folder| file.strip_prefix(folder));
    inside.map_or(file, |inside| inside.trim_start_matches('/'))
}

/// The text of a command, as GitHub wants it.
fn data(text: &str) -> String {
    let lines = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    // What GitHub has no escape for: it would reach the log as it is.
    one_line(&lines).into_owned()
}

/// A property of a command, as GitHub wants it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(data("5 %\n::error::x"), "5 %25%0A::error::x");
        assert_eq!(data("a\u{1b}[2J\u{9b}"), "a\\u001b[2J\\u009b");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
