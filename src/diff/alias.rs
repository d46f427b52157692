//! Reads alias files: rules that make different names count as the same name when two traces are aligned.
//!
//! ```toml
//! [[alias]]
//! pattern = '^aten::(miopen|cudnn)_(.*)$'
//! name = 'aten::vendor_$2'
//! ```

use crate::error::{Error, ErrorKind, Result};
use crate::trace::Pattern;
use serde::Deserialize;
use std::borrow::Cow;
use std::fs;
use std::path::Path;
use toml::Spanned;

/// The rules in an alias file, which define which names count as the same name. The rules apply in order, each to the
/// name that the previous rule returned.
#[derive(Debug, Clone, Default)]
pub struct Aliases {
    rules: Vec<Alias>,
}

/// A rule that replaces every match of the pattern with the name.
#[derive(Debug, Clone)]
struct Alias {
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
    /// regular expression, or if a name refers to a group that the pattern does not have. The error message contains
    /// the line number.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Aliases> {
        let path = path.as_ref();
        let fail = |at: usize, message: String| {
            let line = text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
            Error::new(ErrorKind::Malformed, path, format!("line {line}: {message}"))
        };
        let file: AliasFile = toml::from_str(text).map_err(|error| {
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            fail(error.span().map_or(0, |span| span.start), message)
                .remedy("write the rule as [[alias]] with pattern = '…' and name = '…'")
        })?;
        let rules = file.alias.into_iter().map(|entry| {
            let pattern: Pattern = entry.pattern.get_ref().parse().map_err(|error: Error| {
                let shown = entry.pattern.get_ref();
                let message = format!("`{shown}` is not a valid pattern: {}", error.message());
                fail(entry.pattern.span().start, message)
            })?;
            match pattern.unknown_group(entry.name.get_ref()) {
                None => Ok(Alias { pattern, name: entry.name.into_inner() }),
                Some(group) => {
                    let message = format!("the pattern has no group `{group}`");
                    Err(fail(entry.name.span().start, message)
                        .remedy("groups are $1, $2, …; write ${1}_x if a letter follows"))
                }
            }
        });
        Ok(Aliases { rules: rules.collect::<Result<_>>()? })
    }

    /// Whether the alias file contains no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Applies all rules to a name.
    pub fn apply<'n>(&self, name: &'n str) -> Cow<'n, str> {
        let mut result = Cow::Borrowed(name);
        for rule in &self.rules {
            if let Cow::Owned(changed) = rule.pattern.replace(&result, &rule.name) {
                result = Cow::Owned(changed);
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
