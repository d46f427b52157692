//! Reads alias files: rules that make different names count as the same name when two traces are aligned.
//!
//! ```toml
//! [[alias]]
//! pattern = '^aten::(miopen|cudnn)_(.*)$'
//! name = 'aten::vendor_$2'
//! ```

use crate::error::{Error, ErrorKind, Result};
use crate::trace::{ByName, LARGEST_PATTERN, Pattern, Trace};
use serde::Deserialize;
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Maximum length of a name after a rule changed it, in bytes.
const LONGEST: usize = 64 << 10;

/// Maximum length of the name in a rule, in bytes.
const LONGEST_REPLACEMENT: usize = 4 << 10;

/// Maximum size of all patterns of a file, in bytes. Each pattern has an equal share.
const LARGEST: usize = 256 << 20;

/// The rules in an alias file, which define which names count as the same name. The rules apply in order, each to the
/// name that the previous rule returned.
#[derive(Debug, Clone, Default)]
pub struct Aliases {
    path: PathBuf,
    rules: Vec<Alias>,
}

/// A rule that replaces every match of the pattern with the name.
#[derive(Debug, Clone)]
struct Alias {
    line: usize,
    source: String,
    pattern: Pattern,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AliasFile {
    #[serde(default)]
    alias: Vec<AliasEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AliasEntry {
    pattern: Spanned<String>,
    name: Spanned<String>,
}

impl Aliases {
    /// Reads the rules of the TOML file at `path`.
    ///
    /// # Errors
    /// Fails if the file cannot be read or if [`Aliases::parse`] rejects its content.
    #[doc(hidden)]
    pub fn read(path: impl AsRef<Path>) -> Result<Aliases> {
        let path = path.as_ref();
        let text =
            fs::read_to_string(path).map_err(|error| Error::io(path, "read the aliases", error))?;
        Aliases::parse(&text, path)
    }

    /// Reads rules from TOML. Error messages name `path` as the source of the rules.
    ///
    /// ```
    /// use tracetree::diff::Aliases;
    ///
    /// let text = "[[alias]]\npattern = '^aten::(miopen|cudnn)_'\nname = 'aten::vendor_'";
    /// let aliases = Aliases::parse(text, "aliases.toml")?;
    /// assert_eq!(aliases.apply("aten::cudnn_batch_norm"), "aten::vendor_batch_norm");
    /// assert_eq!(aliases.apply("aten::batch_norm"), "aten::batch_norm");
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the text is not valid TOML, if it contains anything other than alias rules, if a pattern is not a valid
    /// regular expression, if a name is too long or refers to a group that the pattern does not have, or if the patterns
    /// are too large. The error message contains the line number.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Aliases> {
        let path = path.as_ref();
        let line = |at: usize| text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
        let fail = |at: usize, message: String| {
            Error::new(ErrorKind::Malformed, path, format!("line {}: {message}", line(at)))
        };
        let file: AliasFile = toml::from_str(text).map_err(|error| {
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            fail(error.span().map_or(0, |span| span.start), message)
                .remedy("write the rule as [[alias]] with pattern = '…' and name = '…'")
        })?;
        let most = LARGEST_PATTERN.min(LARGEST / file.alias.len().max(1));
        let rules = file.alias.into_iter().map(|entry| {
            let at = entry.pattern.span().start;
            let pattern = Pattern::within(entry.pattern.get_ref(), most).map_err(|error| {
                let shown = entry.pattern.get_ref();
                let message = format!("`{shown}` is not a valid pattern: {}", error.message());
                let is_large = error.kind() == ErrorKind::LimitExceeded;
                let failed = fail(at, message);
                if is_large { failed.remedy("write fewer or simpler patterns") } else { failed }
            })?;
            if entry.name.get_ref().len() > LONGEST_REPLACEMENT {
                let message = format!("the name has more than {LONGEST_REPLACEMENT} bytes");
                return Err(fail(entry.name.span().start, message).remedy("write a shorter name"));
            }
            match pattern.unknown_group(entry.name.get_ref()) {
                None => Ok(Alias {
                    line: line(at),
                    source: entry.pattern.into_inner(),
                    pattern,
                    name: entry.name.into_inner(),
                }),
                Some(group) => {
                    let message = format!("the pattern has no group `{group}`");
                    Err(fail(entry.name.span().start, message)
                        .remedy("groups are $1, $2, …; write ${1}_x if a letter follows"))
                }
            }
        });
        Ok(Aliases { path: path.to_owned(), rules: rules.collect::<Result<_>>()? })
    }

    /// Whether the alias file contains no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Applies all rules to a name. A name that would become longer than 64 KiB is left unchanged.
    pub fn apply<'n>(&self, name: &'n str) -> Cow<'n, str> {
        self.applied(name).unwrap_or(Cow::Borrowed(name))
    }

    /// Applies all rules to a name, or returns the rule that makes the name too long.
    fn applied<'n>(&self, name: &'n str) -> std::result::Result<Cow<'n, str>, &Alias> {
        let most = LONGEST.max(name.len());
        let mut result = Cow::Borrowed(name);
        for rule in &self.rules {
            match rule.pattern.replace(&result, &rule.name, most) {
                Some(Cow::Owned(changed)) => result = Cow::Owned(changed),
                Some(Cow::Borrowed(_)) => {}
                None => return Err(rule),
            }
        }
        Ok(result)
    }

    /// Checks that no rule makes a name of the trace too long.
    ///
    /// # Errors
    /// Fails if a name would become longer than 64 KiB.
    pub(crate) fn check(&self, trace: &Trace) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut names: ByName<Option<usize>> = ByName::new(trace);
        for event in trace.events() {
            let too_long = || self.applied(trace.name(event)).err().map(|rule| rule.line);
            let line = names.get(trace.name_id(event), too_long);
            if let Some(rule) = self.rules.iter().find(|rule| Some(rule.line) == line) {
                let message = format!(
                    "line {}: `{}` makes a name longer than {LONGEST} bytes",
                    rule.line, rule.source
                );
                return Err(Error::new(ErrorKind::LimitExceeded, &self.path, message)
                    .remedy("match whole names, or write a shorter name"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::ReadOptions;

    #[test]
    fn later_rules_apply_only_to_calls_that_earlier_rules_left() {
        let text = "[[alias]]\npattern = '(?i)miopen|cudnn'\nname = 'vendor'\n\
                    [[alias]]\npattern = '^lib::vendor_(\\w+)$'\nname = 'aten::$1'";
        let aliases = Aliases::parse(text, "a.toml").expect("aliases");
        assert_eq!(aliases.apply("lib::cudnn_norm"), "aten::norm");
        assert_eq!(aliases.apply("MiopenNorm to CudnnNorm"), "vendorNorm to vendorNorm");
        assert!(Aliases::parse("", "a.toml").expect("no rule").is_empty());
    }

    #[test]
    fn rules_whose_names_or_patterns_grow_without_bound_are_refused() {
        let grows = "[[alias]]\npattern = '.'\nname = '$0$0$0$0$0$0$0$0$0$0'\n".repeat(12);
        let aliases = Aliases::parse(&grows, "a.toml").expect("aliases");
        assert_eq!(aliases.apply("aten::mm"), "aten::mm");
        let text = r#"[{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]"#;
        let trace = Trace::from_reader("t.json", text.as_bytes(), &ReadOptions::default());
        let error = aliases.check(&trace.expect("a trace")).expect_err("too long").to_string();
        assert!(
            error.starts_with("a.toml: line 11: `.` makes a name longer than 65536"),
            "{error}"
        );
        let refusal = |text: &str| Aliases::parse(text, "a.toml").expect_err("refused").to_string();
        let long = format!("[[alias]]\npattern = 'a'\nname = '{}'", "$0".repeat(3_000));
        assert!(refusal(&long).starts_with("a.toml: line 3: the name has more than 4096 bytes"));
        let large = "[[alias]]\npattern = '(a{0,100}){0,100}'\nname = 'b'\n";
        assert!(Aliases::parse(large, "a.toml").is_ok());
        let error = refusal(&large.repeat(1_500));
        assert!(error.contains("line 2: `(a{0,100}){0,100}` is not a valid pattern"), "{error}");
        assert!(error.contains("write fewer or simpler patterns"), "{error}");
    }

    #[test]
    fn an_error_names_the_file_and_the_line() {
        let message = |text: &str| Aliases::parse(text, "a.toml").expect_err(text).to_string();
        let broken = message("[[alias]]\npattern = 'a(b'\nname = 'c'");
        assert_eq!(broken, "a.toml: line 2: `a(b` is not a valid pattern: unclosed group");
        assert!(message("[[alias]]\npattern = 'a'\nname = '$1_x'").contains("line 3: "));
        assert!(message("[[alias]]\npattern = 'a'").contains("missing field `name`"));
        assert!(message("\n[[alias]]\nregex = 'a'").starts_with("a.toml: line 3: unknown field"));
        assert!(message("[[alias]").starts_with("a.toml: line 1: "));
    }
}
