//! Escapes untrusted text so that Markdown displays it literally, as running text or as code. All Markdown escaping for
//! reports, gates and fleet tables happens here.

use super::figures::shorten;
use crate::escape::one_line;

/// Escapes text for Markdown and HTML, and puts it on a single line. The result may be used in table cells. In text of
/// more than `longest` characters, characters in the middle are omitted.
pub fn plain(text: &str, longest: usize) -> String {
    let text = one_line(text);
    let mut shown = String::with_capacity(text.len());
    for letter in shorten(&text, longest).chars() {
        match letter {
            // Unescaped, a pair of backticks would form a code span, even across adjacent strings.
            '`' => shown.push_str("&#96;"),
            // Without the invisible space after `@`, GitHub would notify the user whose name follows the `@`.
            '@' => shown.push_str("@\u{200b}"),
            letter if "\\*_[]<>&|#~".contains(letter) => shown.extend(['\\', letter]),
            letter => shown.push(letter),
        }
    }
    shown
}

/// Formats a name as a code span, which may be used in table cells. No character in the name can end the span.
/// Returns an empty string for an empty name.
pub fn code(name: &str, longest: usize) -> String {
    if name.is_empty() {
        return String::new();
    }
    let clean = one_line(name);
    let short = shorten(&clean, longest);
    let mut text = String::with_capacity(short.len() + 4);
    let mut previous = ' ';
    for letter in short.chars() {
        match letter {
            // After a backslash, even an escaped pipe would end the table cell.
            '|' if previous == '\\' => text.push('∣'),
            '|' => text.push_str("\\|"),
            _ => text.push(letter),
        }
        previous = letter;
    }
    let fence = "`".repeat(1 + longest_run(&text, '`'));
    if text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() {
        format!("{fence} {text} {fence}")
    } else {
        format!("{fence}{text}{fence}")
    }
}

fn longest_run(text: &str, letter: char) -> usize {
    text.split(|c| c != letter).map(str::len).max().unwrap_or_default()
}

/// The text with a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_code_span() {
        let code = |name| code(name, 100);
        assert_eq!(code("aten::mm"), "`aten::mm`");
        assert_eq!(code("<script>"), "`<script>`");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a | b"), "`a \\| b`");
        assert_eq!(code("a\\|b"), "`a\\∣b`");
        assert_eq!(code("a\nb"), "`a\\nb`");
        assert_eq!(code(""), "");
    }

    #[test]
    fn texts_neither_break_a_table_nor_become_markup() {
        assert_eq!(plain("a|b<script>\n*x*", 99), "a\\|b\\<script\\>\\\\n\\*x\\*");
        assert_eq!(plain("`x` @someone", 99), "&#96;x&#96; @\u{200b}someone");
        assert_eq!(plain(&"x".repeat(1_000), 10).chars().count(), 10);
    }
}
