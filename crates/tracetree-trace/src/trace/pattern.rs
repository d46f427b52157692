//! Regular expressions that are matched against names.

use crate::error::{Error, ErrorKind, Result};
use regex::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::str::FromStr;

/// Maximum size of a compiled pattern, in bytes.
#[doc(hidden)]
pub const LARGEST_PATTERN: usize = 10 << 20;

/// Maximum size of the cache with which a pattern is matched, in bytes.
const LARGEST_CACHE: usize = 2 << 20;

/// A regular expression for names, in the syntax of the `regex` crate.
///
/// ```
/// use tracetree::trace::Pattern;
///
/// let vendor: Pattern = "^aten::(miopen|cudnn)_(.*)$".parse()?;
/// assert!(vendor.matches("aten::cudnn_convolution"));
/// assert!(!vendor.matches("aten::convolution"));
/// # Ok::<(), tracetree::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Whether the pattern matches anywhere in `name`.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    /// Replaces each match in `name` with the replacement string `with`. In this string, `$1`,
    /// `${1}` and `${word}` refer to capture groups. `None` if a changed name would have more than
    /// `most` bytes.
    #[doc(hidden)]
    pub fn replace<'n>(&self, name: &'n str, with: &str, most: usize) -> Option<Cow<'n, str>> {
        if !self.matches(name) {
            return Some(Cow::Borrowed(name));
        }
        let (mut replaced, mut end) = (String::new(), 0);
        for groups in self.0.captures_iter(name) {
            let Some(found) = groups.get(0) else { continue };
            replaced.push_str(&name[end..found.start()]);
            groups.expand(with, &mut replaced);
            end = found.end();
            if replaced.len() > most {
                return None;
            }
        }
        replaced.push_str(&name[end..]);
        (replaced.len() <= most).then_some(Cow::Owned(replaced))
    }

    /// Parses a pattern that may have at most `most` bytes after it is compiled.
    ///
    /// # Errors
    /// Fails if the text is not a pattern, or, with [`ErrorKind::LimitExceeded`], if the pattern is
    /// too large.
    #[doc(hidden)]
    pub fn within(text: &str, most: usize) -> Result<Pattern> {
        let mut builder = RegexBuilder::new(text);
        let built = builder.size_limit(most).dfa_size_limit(most.min(LARGEST_CACHE)).build();
        built.map(Pattern).map_err(|error| {
            if let regex::Error::CompiledTooBig(_) = error {
                let message = format!("the compiled pattern has more than {most} bytes");
                return Error::new(ErrorKind::LimitExceeded, text, message);
            }
            let drawn = error.to_string();
            let last = drawn.lines().last().unwrap_or_default();
            Error::usage(text, last.strip_prefix("error: ").unwrap_or(last))
        })
    }

    /// The first capture group that `with` refers to although the pattern does not define it.
    #[doc(hidden)]
    pub fn unknown_group(&self, with: &str) -> Option<String> {
        let known = |group: &&str| {
            self.0
                .capture_names()
                .enumerate()
                .any(|(at, name)| name == Some(group) || group.parse() == Ok(at))
        };
        groups(with).into_iter().find(|group| !known(group)).map(str::to_owned)
    }
}

/// The capture groups that a replacement string refers to. As in the regex crate, `$1_x` refers to
/// the group `1_x`.
fn groups(with: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = with;
    while let Some((_, after)) = rest.split_once('$') {
        if let Some(escaped) = after.strip_prefix('$') {
            rest = escaped;
            continue;
        }
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let group = match after.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
            Some((group, _)) => group,
            None => &after[..after.find(|c| !word(c)).unwrap_or(after.len())],
        };
        if !group.is_empty() {
            found.push(group);
        }
        rest = after;
    }
    found
}

impl FromStr for Pattern {
    type Err = Error;

    /// Parses a pattern; the error is a single line that describes the problem.
    fn from_str(text: &str) -> Result<Pattern> {
        Pattern::within(text, LARGEST_PATTERN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_expression_is_explained_in_one_line() {
        let shown = |text: &str| text.parse::<Pattern>().expect_err("broken").to_string();
        assert_eq!(shown("a(b"), "a(b: unclosed group");
        assert_eq!(shown("a**["), "a**[: unclosed character class");
    }

    #[test]
    fn a_replacement_names_only_groups_of_the_pattern() {
        let pattern: Pattern = "(a)(?<word>b)".parse().expect("a pattern");
        for known in ["$1", "${1}_x", "$word", "${word}s", "$$9", "$0", "cost $"] {
            assert_eq!(pattern.unknown_group(known), None, "{known}");
        }
        assert_eq!(pattern.unknown_group("$1_x").as_deref(), Some("1_x"));
        assert_eq!(pattern.unknown_group("$1 $3").as_deref(), Some("3"));
        assert_eq!(pattern.unknown_group("${other}").as_deref(), Some("other"));
    }
}
