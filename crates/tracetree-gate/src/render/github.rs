//! Renders a [`Gate`] as GitHub workflow commands, with the first ten findings of each severity as annotations.
//!
//! GitHub shows ten annotations of each severity per step; the summary (`--format md`) lists all findings.

use crate::check::{Finding, Gate, Outcome, State};
use std::io::{self, Write};
use tracetree::escape::one_line;
use tracetree::program::counted;

/// Maximum number of annotations of one severity that GitHub shows per step.
const SHOWN: usize = 10;

pub(super) fn write(gate: &Gate, out: &mut dyn Write) -> io::Result<()> {
    for (state, command) in [(State::Failed, "error"), (State::Warned, "warning")] {
        let findings: Vec<&Finding> = gate.with_state(state).collect();
        for finding in findings.iter().take(SHOWN) {
            annotate(command, finding, out)?;
        }
        if let Some(more) = findings.len().checked_sub(SHOWN).filter(|&more| more > 0) {
            let more = counted(more as u64, &format!("more {command}"));
            writeln!(out, "::notice::{more} in the step summary (--format md)")?;
        }
    }
    if gate.outcome == Outcome::Inconclusive {
        for reason in gate.reasons.iter().take(SHOWN) {
            writeln!(out, "::error title=inconclusive::{}", data(reason))?;
        }
    }
    writeln!(out, "{}", one_line(&gate.headline()))
}

fn annotate(command: &str, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let line = finding.sites.iter().find_map(|site| site.line.as_ref());
    let place = match line {
        Some(site) => format!("file={},line={},", property(relative(&site.file)), site.line),
        None => String::new(),
    };
    let at = match finding.sites.as_slice() {
        [] => String::new(),
        [only] => format!(" at {}", only.place.words()),
        [first, ..] => {
            format!(" at {} call sites, first {}", finding.sites.len(), first.place.words())
        }
    };
    let limit = match finding.limit.as_str() {
        "" => String::new(),
        limit => format!(": {} → {} (allowed: {limit})", finding.before, finding.after),
    };
    let message = format!("{}{at}{limit}", finding.what);
    let title = property(&finding.rules.join(" "));
    writeln!(out, "::{command} {place}title={title}::{}", data(&message))
}

/// A file's path relative to the repository root. Annotations require relative paths, but the profiler often records
/// absolute paths.
fn relative(file: &str) -> &str {
    let folder = std::env::current_dir().ok();
    let folder = folder.as_deref().and_then(std::path::Path::to_str);
    let inside = folder.and_then(|folder| file.strip_prefix(folder));
    inside.map_or(file, |inside| inside.trim_start_matches('/'))
}

/// Escapes text for use as a workflow command message.
fn data(text: &str) -> String {
    let lines = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    // GitHub defines escapes only for `%` and line breaks, so all other control characters are escaped as in JSON.
    one_line(&lines).into_owned()
}

/// Escapes text for use as a workflow command property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_would_end_a_command_are_escaped() {
        assert_eq!(data("5 %\n::error::x"), "5 %25%0A::error::x");
        assert_eq!(data("a\u{1b}[2J\u{9b}"), "a\\u001b[2J\\u009b");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
