//! Writes a fleet as `key: value` lines for scripts and coding agents: `tracetree fleet run --format brief`.

use super::Fleet;
use super::headline::Headline;
use tracetree::report::{Brief, LONGEST_BRIEF, short};

/// Maximum length of a value in the brief, in characters.
const LONGEST_VALUE: usize = 160;

impl Fleet {
    /// Formats the headline, the counts and the first findings in at most [`LONGEST_BRIEF`] bytes. Findings that do not
    /// fit are omitted, but the line `findings` still counts them.
    pub fn brief(&self) -> String {
        let counts = self.counts();
        let Headline { text: headline, reason, .. } = self.headline();
        let mut brief = Brief::begin();
        let texts = [
            ("baseline", &self.baseline),
            ("candidate", &self.candidate),
            ("headline", &headline),
            ("reason", &reason),
        ];
        for (key, text) in texts {
            brief.line(key, &short(text, LONGEST_VALUE));
        }
        let numbers = [
            ("ranks_compared", counts.ok),
            ("ranks_failed", counts.failed),
            ("ranks_unmatched", counts.unmatched),
            ("findings", self.findings.len()),
        ];
        for (key, number) in numbers {
            brief.line(key, &number.to_string());
        }
        for (finding, at) in self.findings.iter().zip(1..) {
            let (code, ranks, message) = (&finding.code, &finding.ranks, &finding.message);
            let before = brief.text.len();
            let value = short(&format!("{code} ({ranks}): {message}"), LONGEST_VALUE);
            brief.line(&format!("finding_{at}"), &value);
            if brief.text.len() > LONGEST_BRIEF {
                brief.text.truncate(before);
                break;
            }
        }
        brief.text
    }
}
