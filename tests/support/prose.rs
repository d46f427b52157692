//! Extracts the text that people read in this repository: comments, Markdown prose and string literals.

#![allow(unreachable_pub, reason = "a test and an example include this file")]
use std::fs;
use std::path::{Path, PathBuf};

/// The files and folders with prose, relative to the repository root.
const SOURCES: [&str; 13] = [
    "README.md",
    "AGENTS.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "docs",
    "src",
    "crates",
    "tests",
    "examples",
    "benches",
    "python",
];
/// Folders whose files are dependencies, inputs or expected output.
const SKIPPED: [&str; 6] = ["node_modules", "fixtures", "data", "snapshots", "target", "images"];

/// Where a passage comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A comment, a doc comment or a Python docstring.
    Comment,
    /// A paragraph, list item, heading or table row in Markdown, or text in a page template.
    Prose,
    /// A string literal in the program.
    Literal,
}

/// Consecutive lines that form one text, such as a paragraph or a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Where the passage comes from.
    pub kind: Kind,
    /// The number of each line, counted from 1, and the line's text.
    pub lines: Vec<(usize, String)>,
}

/// The syntax for comments and strings in a language.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Rust,
    Script,
    Style,
    /// Python and TOML.
    Hash,
}

/// The files with prose, relative to the repository root, in order.
pub fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for source in SOURCES {
        collect(root, Path::new(source), &mut found);
    }
    found.sort();
    found
}

fn collect(root: &Path, path: &Path, found: &mut Vec<PathBuf>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with('.') || SKIPPED.contains(&name.as_ref()) {
        return;
    }
    match fs::read_dir(root.join(path)) {
        Ok(entries) => {
            for entry in entries.flatten() {
                collect(root, &path.join(entry.file_name()), found);
            }
        }
        Err(_) if is_known(path) => found.push(path.to_path_buf()),
        Err(_) => {}
    }
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|end| end.to_str()).unwrap_or_default()
}

fn is_known(path: &Path) -> bool {
    matches!(extension(path), "rs" | "md" | "py" | "pyi" | "toml" | "js" | "mjs" | "css" | "html")
}

/// The passages in a file. String literals in tests are ignored, because users do not read them.
pub fn passages(path: &Path, text: &str) -> Vec<Passage> {
    let mut all = match extension(path) {
        "md" => markdown(text.lines().enumerate().map(|(at, line)| (at + 1, line)), Kind::Prose),
        "html" => template(text),
        "js" | "mjs" => code(text, Syntax::Script),
        "css" => code(text, Syntax::Style),
        "py" | "pyi" | "toml" => code(text, Syntax::Hash),
        _ => code(text, Syntax::Rust),
    };
    let tests = test_lines(path, text);
    all.retain(|passage| {
        passage.kind != Kind::Literal
            || passage.lines.first().is_some_and(|&(line, _)| line < tests)
    });
    all
}

/// The first line of the part of a file that contains only tests; `usize::MAX` if there is no such part.
fn test_lines(path: &Path, text: &str) -> usize {
    let is_test = path.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        part == "tests" || part.ends_with("tests.rs")
    });
    if is_test {
        return 0;
    }
    let lines: Vec<&str> = text.lines().collect();
    let module = lines.windows(2).position(|pair| {
        pair[0].starts_with("#[cfg(") && pair[0].contains("test") && pair[1].ends_with("tests {")
    });
    module.map_or(usize::MAX, |at| at + 1)
}

/// Paragraphs in Markdown, without fenced code.
fn markdown<'a>(lines: impl Iterator<Item = (usize, &'a str)>, kind: Kind) -> Vec<Passage> {
    let mut all = Vec::new();
    let mut open: Vec<(usize, String)> = Vec::new();
    let (mut fence, mut prompt, mut generated) = (false, false, false);
    let mut close = |open: &mut Vec<(usize, String)>| {
        if !open.is_empty() {
            all.push(Passage { kind, lines: std::mem::take(open) });
        }
    };
    for (number, line) in lines {
        let text = line.trim();
        let is_fence = text.starts_with("```") || text.starts_with("~~~");
        let item = ["- ", "* ", "#", "|", "> "].iter().any(|start| text.starts_with(start))
            || text.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
        // Generated lists of table columns are skipped, because their text is checked in the source code.
        generated = text.starts_with("<!-- columns:") || generated && text != "<!-- end -->";
        // Examples in docstrings end at an empty line.
        prompt = text.starts_with(">>>") || prompt && !text.is_empty();
        if is_fence || fence || item || text.is_empty() {
            close(&mut open);
        }
        if is_fence {
            fence = !fence;
        } else if !fence && !prompt && !generated && !text.is_empty() && !text.starts_with("<!--") {
            open.push((number, text.to_owned()));
            if text.starts_with('#') {
                close(&mut open);
            }
        }
    }
    close(&mut open);
    all
}

/// The text in a page template, without tags, expressions, styles and scripts.
fn template(text: &str) -> Vec<Passage> {
    let mut plain = String::new();
    let mut rest = text;
    let skipped = [
        ("{{", "}}", "`"),
        ("{%", "%}", ""),
        ("<style", "</style>", ""),
        ("<script", "</script>", ""),
        // Each table cell is a separate passage.
        ("<td", ">", " | "),
        ("<th", ">", " | "),
        ("<", ">", ""),
    ];
    while let Some(next) = rest.chars().next() {
        let found = skipped.iter().find(|(start, ..)| rest.starts_with(start));
        let end = found.and_then(|(_, end, _)| Some(rest.find(end)? + end.len()));
        let (length, instead) = match (found, end) {
            (Some((.., instead)), Some(end)) => (end, *instead),
            _ => (next.len_utf8(), &rest[..next.len_utf8()]),
        };
        // An expression in a template is treated as code.
        plain.push_str(if instead == "`" { "`…`" } else { instead });
        if length > 1 {
            plain.extend(rest[..length].chars().filter(|&c| c == '\n'));
        }
        rest = &rest[length..];
    }
    let lines = plain.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.flat_map(|line| markdown(std::iter::once(line), Kind::Prose)).collect()
}

/// A comment or string literal as written in the source.
struct Piece {
    kind: Kind,
    line: usize,
    text: String,
    /// Whether the piece is the first text on its line, apart from white space.
    first: bool,
}

/// The comments and string literals in a program.
fn code(text: &str, syntax: Syntax) -> Vec<Passage> {
    let mut all: Vec<Passage> = Vec::new();
    let mut comment: Vec<(usize, String)> = Vec::new();
    let mut prefix = "";
    let close = |comment: &mut Vec<(usize, String)>, all: &mut Vec<Passage>| {
        let lines = std::mem::take(comment);
        all.extend(markdown(lines.iter().map(|(at, line)| (*at, line.as_str())), Kind::Comment));
    };
    for piece in pieces(text, syntax) {
        if piece.kind == Kind::Literal {
            close(&mut comment, &mut all);
            let lines = piece.text.lines().enumerate();
            let lines: Vec<_> =
                lines.map(|(at, line)| (piece.line + at, line.to_owned())).collect();
            all.push(Passage { kind: Kind::Literal, lines });
            continue;
        }
        let start = ["///", "//!", "//", "/*", "#"].into_iter().find(|s| piece.text.starts_with(s));
        let start = start.unwrap_or_default();
        let follows = comment.last().is_some_and(|&(line, _)| line + 1 == piece.line);
        if !follows || !piece.first || start != prefix {
            close(&mut comment, &mut all);
        }
        prefix = start;
        let plain = |line: &str| {
            let line = line.trim().trim_end_matches("*/");
            line.trim_start_matches(['/', '#', '*', '!', '"'])
                .trim_end_matches("\"\"\"")
                .trim()
                .to_owned()
        };
        // In the docstring of a module, indented lines are code.
        let is_code = |line: &str| piece.text.starts_with("\"\"\"") && line.starts_with("    ");
        let in_module = piece.text.lines().skip(1).any(|line| line.starts_with(|c| c != ' '));
        let lines = piece.text.lines().enumerate().map(|(at, line)| (piece.line + at, line));
        let text = |line| if in_module && is_code(line) { String::new() } else { plain(line) };
        comment.extend(lines.map(|(at, line)| (at, text(line))));
    }
    close(&mut comment, &mut all);
    all
}

fn pieces(text: &str, syntax: Syntax) -> Vec<Piece> {
    let mut all = Vec::new();
    let mut at = 0;
    let mut line = 1;
    // `first`: whether the line so far contains only white space. `before`: the previous character, which shows whether
    // a `/` begins a regular expression or is a division sign.
    let (mut first, mut before) = (true, '(');
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let in_word = before.is_alphanumeric() || before == '_';
        let found = match syntax {
            Syntax::Hash => hash(rest, first),
            Syntax::Rust => slashes(rest).or_else(|| rust_literal(rest, in_word)),
            Syntax::Script => {
                slashes(rest).or_else(|| script_literal(rest, in_word || ")]}".contains(before)))
            }
            Syntax::Style => slashes(rest),
        };
        let Some((kind, length)) = found else {
            if next == '\n' {
                (line, first) = (line + 1, true);
            } else if !next.is_whitespace() {
                (first, before) = (false, next);
            }
            at += next.len_utf8();
            continue;
        };
        let text = rest[..length].to_owned();
        line += text.matches('\n').count();
        let started = line - text.matches('\n').count();
        for (from, to) in expressions(&text).filter(|_| syntax == Syntax::Script) {
            let lines = started + text[..from].matches('\n').count() - 1;
            let inner = pieces(&text[from..to], syntax).into_iter();
            all.extend(inner.map(|piece| Piece { line: piece.line + lines, ..piece }));
        }
        if let Some(kind) = kind {
            all.push(Piece { kind, line: started, text, first });
        }
        (at, first, before) =
            (at + length, false, if kind == Some(Kind::Comment) { before } else { ')' });
    }
    all
}

/// The kind and length of the piece that starts here, if any. A piece without a kind is neither a comment nor a string
/// literal, and is skipped.
type Found = Option<(Option<Kind>, usize)>;

fn slashes(rest: &str) -> Found {
    if rest.starts_with("//") {
        return Some((Some(Kind::Comment), rest.find('\n').unwrap_or(rest.len())));
    }
    let end = rest.starts_with("/*").then(|| rest.find("*/").map_or(rest.len(), |end| end + 2))?;
    Some((Some(Kind::Comment), end))
}

fn hash(rest: &str, first: bool) -> Found {
    if rest.starts_with('#') {
        return Some((Some(Kind::Comment), rest.find('\n').unwrap_or(rest.len())));
    }
    for quotes in ["\"\"\"", "'''"] {
        if rest.starts_with(quotes) {
            let kind = if first { Kind::Comment } else { Kind::Literal };
            return Some((Some(kind), quoted(rest, quotes)));
        }
    }
    let quote = ["\"", "'"].into_iter().find(|quote| rest.starts_with(quote))?;
    Some((Some(Kind::Literal), quoted(rest, quote)))
}

fn rust_literal(rest: &str, in_word: bool) -> Found {
    if rest.starts_with('"') {
        return Some((Some(Kind::Literal), quoted(rest, "\"")));
    }
    if let Some(character) = rest.strip_prefix('\'') {
        // A quote starts a character literal or a lifetime. A lifetime has no closing quote, so only its
        // quote is skipped.
        let length = match character.chars().next()? {
            '\\' => character.get(2..)?.find('\'')? + 4,
            next if character[next.len_utf8()..].starts_with('\'') => next.len_utf8() + 2,
            _ => 1,
        };
        return Some((None, length));
    }
    let raw = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r')).filter(|_| !in_word)?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let body = raw[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - body.len();
    Some((Some(Kind::Literal), start + body.find(&end).map_or(body.len(), |at| at + end.len())))
}

fn script_literal(rest: &str, after_value: bool) -> Found {
    if rest.starts_with('`') {
        let end = expressions(rest).last().map_or(1, |(_, to)| to);
        return Some((Some(Kind::Literal), end + quoted_end(&rest[end..], "`")));
    }
    let quote = ["\"", "'"].into_iter().find(|quote| rest.starts_with(quote));
    if let Some(quote) = quote {
        return Some((Some(Kind::Literal), quoted(rest, quote)));
    }
    // The slash starts a regular expression unless it is a division sign after a value.
    let line = rest.lines().next().unwrap_or_default();
    let is_expression = line.starts_with('/') && !after_value && line[1..].contains('/');
    is_expression.then(|| (None, quoted(rest, "/")))
}

/// The ranges of the `${expressions}` in a template literal. An expression may contain further template literals.
fn expressions(literal: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut at = usize::from(literal.starts_with('`'));
    std::iter::from_fn(move || {
        let rest = literal.get(at..).filter(|_| literal.starts_with('`'))?;
        let from = at + rest.find("${").filter(|&start| start < quoted_end(rest, "`"))? + 2;
        let mut depth = 1;
        let end = literal[from..].find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        let to = from + end?;
        at = to + 1;
        Some((from, to))
    })
}

/// The length of a string literal, including its quotes. The literal may contain escaped quotes.
fn quoted(rest: &str, quotes: &str) -> usize {
    quotes.len() + quoted_end(&rest[quotes.len()..], quotes)
}

/// The position in `rest` after the closing quotes of a string literal; `rest` begins after the opening quotes.
fn quoted_end(rest: &str, quotes: &str) -> usize {
    let mut at = 0;
    while let Some(next) = rest[at..].chars().next() {
        if rest[at..].starts_with(quotes) {
            return at + quotes.len();
        }
        at += next.len_utf8();
        if next == '\\' {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    rest.len()
}
