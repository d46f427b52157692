//! Parses the string in `sub_kernel_durations` into kernel types with their durations.
//!
//! The string is a printed Python list, such as `[('MatMulV2', 9.39), ('hcom_allReduce_', 22.5)]`. The times are in
//! microseconds. Pairs may be tuples or lists. Anything else, such as `[10, 20]` or a pair whose time is `None`, is
//! rejected.

use super::kernel_type::KernelType;
use super::micros;
use tracetree_trace::trace::Nanos;

/// Returns the pairs in the list, in order; `None` if the string is not a list of names with numbers.
pub(crate) fn parse(text: &str) -> Option<Vec<(KernelType, Nanos)>> {
    let mut scan = Scan { rest: text };
    scan.take('[')?;
    let mut pairs = Vec::new();
    while scan.take(']').is_none() {
        if !pairs.is_empty() {
            scan.take(',')?;
            if scan.take(']').is_some() {
                break;
            }
        }
        pairs.push(scan.pair()?);
    }
    scan.rest.trim().is_empty().then_some(pairs)
}

/// The part of the string that is not parsed yet.
struct Scan<'a> {
    rest: &'a str,
}

impl Scan<'_> {
    /// Skips whitespace, then consumes the character `wanted`.
    fn take(&mut self, wanted: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(wanted)?;
        Some(())
    }

    fn pair(&mut self) -> Option<(KernelType, Nanos)> {
        let close = match self.take('(') {
            Some(()) => ')',
            None => self.take('[').map(|()| ']')?,
        };
        let name = self.text()?;
        self.take(',')?;
        let duration = self.number()?;
        // Python allows a trailing comma before the closing bracket.
        let _ = self.take(',');
        self.take(close)?;
        Some((KernelType::new(name)?, duration))
    }

    /// Parses a Python string in single or double quotes. Only quotes and backslashes can be escaped.
    fn text(&mut self) -> Option<String> {
        let quote = if self.take('\'').is_some() { '\'' } else { self.take('"').map(|()| '"')? };
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => text.push(chars.next().map(|(_, c)| c).filter(|c| "\\'\"".contains(*c))?),
                _ if c == quote => {
                    self.rest = &self.rest[at + c.len_utf8()..];
                    return Some(text);
                }
                _ => text.push(c),
            }
        }
        None
    }

    fn number(&mut self) -> Option<Nanos> {
        let text = self.rest.trim_start();
        let end = text.find([',', ')', ']'])?;
        self.rest = &text[end..];
        micros::parse(&text[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<Vec<String>> {
        let pairs = parse(text)?;
        Some(pairs.iter().map(|(name, time)| format!("{name} {time}")).collect())
    }

    #[test]
    fn the_list_that_python_prints_is_read() {
        let pairs = shown("[('MatMulV2', 9.39), ('hcom_allReduce_', 22.5)]").expect("pairs");
        assert_eq!(pairs, ["MatMulV2 9.390", "hcom_allReduce_ 22.500"]);
    }

    #[test]
    fn lists_double_quotes_escapes_and_trailing_commas_are_python_too() {
        let pairs = shown(r#" [ ["a, (b)", 1e-3], ('it\'s', 2,), ] "#).expect("pairs");
        assert_eq!(pairs, ["a, (b) 0.001", "it's 2.000"]);
        assert_eq!(shown("[]"), Some(vec![]));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "garbage",
            "[10, 20, 60]",
            "[('A', None)]",
            "[('A', nan)]",
            "[('A')]",
            "[('A', 1)",
            "[('A', 1)] x",
            "[('A', 1) ('B', 2)]",
            "[,]",
            "[('', 1)]",
            "['A', 1]",
            "{'A': 1}",
            "[('A', 1, 2)]",
            r"[('\x41', 1)]",
            "[('A', 1), , ('B', 2)]",
            "[('A', 1]",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
