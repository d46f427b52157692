//! Parses a string into a [`Query`], or returns an error with the most similar known word.

use super::{Glob, Part, Query, Word, nearest};
use crate::error::{Error, Result};
use std::str::FromStr;

/// An example query for error messages.
const EXAMPLE: &str = r#"write `module("Block_*") / op("aten::linear") / kernel("*gemm*")`"#;

impl FromStr for Query {
    type Err = Error;

    fn from_str(text: &str) -> Result<Query> {
        let mut rest = text.trim();
        let mut parts = Vec::new();
        loop {
            let (part, after) = part(rest, text)?;
            parts.push(part);
            rest = match after.strip_prefix('/') {
                Some(after) => after.trim_start(),
                None if after.is_empty() => break,
                None => {
                    let message = format!("expected `/` or the end of the query, found `{after}`");
                    return Err(malformed(text, message));
                }
            };
        }
        Ok(Query { text: text.trim().to_owned(), parts })
    }
}

/// Parses the query part at the start of `rest`, and also returns the remainder of the string.
fn part<'t>(rest: &'t str, whole: &str) -> Result<(Part, &'t str)> {
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let word = word(&rest[..end], whole)?;
    let inside = rest[end..].trim_start().strip_prefix('(').map(str::trim_start);
    let inside =
        inside.ok_or_else(|| malformed(whole, format!("expected `(` after `{}`", word.label())))?;
    let quoted = inside.strip_prefix('"').ok_or_else(|| {
        malformed(whole, format!("expected a name in `\"` after `{}(`", word.label()))
    })?;
    let (name, after) =
        quoted.split_once('"').ok_or_else(|| malformed(whole, "a `\"` is not closed"))?;
    let after = after.trim_start().strip_prefix(')');
    let after = after.ok_or_else(|| malformed(whole, format!("expected `)` after `{name}`")))?;
    if name.is_empty() {
        return Err(malformed(whole, format!("the name in `{}` is empty", word.label())));
    }
    Ok((Part { word, glob: Glob::new(name) }, after.trim_start()))
}

fn word(text: &str, whole: &str) -> Result<Word> {
    if let Some(word) = Word::ALL.into_iter().find(|word| word.label() == text) {
        return Ok(word);
    }
    let known = Word::ALL.map(Word::label);
    Err(malformed(
        whole,
        match (text, nearest(text, known)) {
            ("", _) | (_, None) => format!("expected one of {}", known.join(", ")),
            (_, Some(word)) => format!("unknown word `{text}`; did you mean `{word}`?"),
        },
    ))
}

fn malformed(text: &str, message: impl Into<String>) -> Error {
    Error::usage(text, message).remedy(EXAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_between_the_parts_do_not_matter() {
        let parse = |text: &str| text.parse::<Query>().expect("a query").parts;
        let one = parse(r#"module("A")/op("b")"#);
        assert_eq!(one, parse(r#"  module ( "A" )  /  op("b") "#));
        assert_eq!(one.len(), 2);
    }

    #[test]
    fn an_invalid_query_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "expected one of module"),
            ("modul(\"A\")", "did you mean `module`?"),
            ("kernels(\"A\")", "did you mean `kernel`?"),
            ("op", "expected `(`"),
            ("op(aten::add)", "expected a name in `\"`"),
            ("op(\"aten::add)", "is not closed"),
            ("op(\"aten::add\"", "expected `)`"),
            ("op(\"\")", "is empty"),
            ("op(\"a\") op(\"b\")", "expected `/`"),
            ("op(\"a\") /", "expected one of"),
        ] {
            let error = text.parse::<Query>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
