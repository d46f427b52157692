//! Checks that comments, docs and the program's strings do not contain the phrases listed below. Each phrase uses a
//! word in a sense that is unusual in engineering.

#[path = "support/prose.rs"]
mod prose;

use prose::{Kind, Passage};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The kinds of text to which a banned phrase applies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Everywhere,
    /// The phrase is banned everywhere except in comments, where its words may be identifiers.
    OnScreen,
}

use Where::{Everywhere, OnScreen};

/// Banned phrases, each with a replacement and a sentence that contains the phrase.
///
/// A phrase is a sequence of word patterns: `a|b` matches either word, `!a|b` matches any word except these two, `*`
/// matches any word, `^` matches the start of a sentence that is not a question, and `$` matches the end of a clause.
const PHRASES: &[(Where, &str, &str, &str)] = &[
    (
        Everywhere,
        "stands|stand|stood !for|out|by|up",
        "is, appears",
        "The name stands in the file.",
    ),
    (Everywhere, "stands|stand|stood for no", "has no", "It stands for no trace."),
    (Everywhere, "tell|tells !you|us|whether|if", "report, show", "Nothing tells them apart."),
    (Everywhere, "told", "reported", "Else it varies, which is told."),
    (
        Everywhere,
        "hold|holds|holding|held the|a|an|no|it|its !lock|gil|mutex",
        "contain",
        "It holds the calls.",
    ),
    (
        Everywhere,
        "hold|holds|holding|held what|one|two|all|more|most|many|much|several|every|everything|only|calls|events|work",
        "contain",
        "A row that holds several kinds holds everything.",
    ),
    (
        Everywhere,
        "what|that|which it|they hold|holds|held",
        "contain",
        "Its size is what it holds.",
    ),
    (Everywhere, "which one|of hold|holds", "apply", "Which one holds?"),
    (Everywhere, "rules|rule hold|holds", "apply, pass", "All rules hold everywhere."),
    (
        Everywhere,
        "hold|holds|held against",
        "check against",
        "The schema is held against the output.",
    ),
    (Everywhere, "hold|holds * * against", "check against", "Hold the file against its schema."),
    (Everywhere, "parts at|here|there|from", "diverge, split", "The path parts here."),
    (
        Everywhere,
        "sides|traces|they|paths|threads|calls part !of",
        "diverge, split",
        "This is where the traces part.",
    ),
    (Everywhere, "^ who", "a noun", "Who comes from TraceLens exchanges the import line."),
    (Everywhere, "by|for|of|to|than|all|those who", "a noun", "Time by who had it."),
    (Everywhere, "what is odd", "what is malformed", "What is odd is repaired or counted."),
    (Everywhere, "nobody|everybody", "a noun", "Nobody knows the noise between runs."),
    (Everywhere, "what no|nothing", "a noun", "What nothing matches is free."),
    (Everywhere, "to be had", "available", "The counts are to be had."),
    (Everywhere, "goes|go|went by", "uses", "The order goes by time."),
    (
        Everywhere,
        "is|are of a|an|the|which|whole|phase|category|changes !same",
        "belongs to",
        "The limit is of a whole step.",
    ),
    (Everywhere, "of a step of", "an adjective", "The time of a call of a step of a side."),
    (Everywhere, "accounted !for", "attributed", "The calls are accounted to their op."),
    (
        Everywhere,
        "accounts|account each|every|to|at",
        "attribute",
        "It accounts each kernel to an op.",
    ),
    (Everywhere, "the|an account", "attribution, totals", "The account is exact."),
    (OnScreen, "^ places", "call site", "Places and causes."),
    (OnScreen, "places that|where", "call site", "Charts, places that changed."),
    (
        OnScreen,
        "a|each|every|all|many|same|this|other|no place|places",
        "call site",
        "The rule is given twice for the same place.",
    ),
    (
        OnScreen,
        "` place|places !of",
        "call site",
        "12 `n` places of the model: `n` places changed.",
    ),
    (Everywhere, "leave|leaves|left|leaving aside", "ignore", "These are left aside."),
    (Everywhere, "leave|leaves|leaving * aside", "ignore", "We leave these aside."),
    (Everywhere, "taken for", "treated as", "The queries are taken for kernels."),
    (Everywhere, "takes|take a * for a", "treat as", "The reader takes a number for a name."),
    (Everywhere, "partner|partners", "counterpart", "A call without a partner."),
    (Everywhere, "paired|unpaired|pairing", "matched", "The ops are paired by name."),
    (Everywhere, "pairs the|each|every|them|all", "matches", "This pairs the traces."),
    (
        Everywhere,
        "one-sided !test|tests|interval|bound|bounds|probability|permutation|p-value",
        "unmatched, baseline only",
        "A one-sided call.",
    ),
    (
        Everywhere,
        "this|that|its side alone|only",
        "baseline only, candidate only",
        "It is shown on its side alone.",
    ),
    (
        Everywhere,
        "trace|baseline|candidate alone has|have|is",
        "only",
        "A trace alone has no counterpart.",
    ),
    (Everywhere, "judge|judges|judged|judging", "test", "The call sites are judged."),
    (Everywhere, "proven|untested", "significant, not tested", "The change is not proven."),
    (Everywhere, "broken rule|rules|limit|limits", "violated", "A broken rule fails the gate."),
    (Everywhere, "rule|rules|limit|limits is|are broken", "violated", "Two rules are broken."),
    (
        Everywhere,
        "breaks|break|broke a|the|its rule|limit|budget",
        "violate",
        "The run breaks the limit.",
    ),
    (
        Everywhere,
        "host work between launches",
        "host gap (launch-bound)",
        "The GPU waits for host work between launches.",
    ),
    (
        Everywhere,
        "beyond the|its|a limit",
        "regression, improvement",
        "The time is beyond the limit.",
    ),
    (
        Everywhere,
        "in|of|than|and|where trace1|trace2",
        "the baseline, the candidate",
        "It takes longer than trace1.",
    ),
    (
        Everywhere,
        "!there|there's|where|have is|are|was|were no !longer|more|less|better|worse|different|slower|faster|larger",
        "is not a",
        "That is no finding.",
    ),
    (
        Everywhere,
        "behind a|the|it|them|each|every !lock|switch|scenes|differences|decision|idea|best",
        "after",
        "The marker comes behind the first call.",
    ),
    (
        Everywhere,
        "and|comes|come|goes behind",
        "after",
        "Spaces before and behind names are ignored.",
    ),
    (Everywhere, "behind and", "after", "Spaces behind and before names are ignored."),
    (Everywhere, "beside", "next to", "It is stored beside its number."),
    (
        Everywhere,
        "in|of|with|at|below|for|after so many !that|calls",
        "this many, a number",
        "A word in so many names.",
    ),
    (Everywhere, "there where", "where", "It ends there where the other begins."),
    (Everywhere, "^ else", "otherwise", "Else the count varies."),
    (Everywhere, "their|its likes|like", "similar calls", "They are matched with their likes."),
    (Everywhere, "faces nothing", "has no counterpart", "Such a region faces nothing."),
    (Everywhere, "was not asked", "not tested", "Empty where it was not asked."),
    (Everywhere, "had the time", "an active verb", "This is what had the time."),
    (Everywhere, "serves|serve for", "is used for", "A list serves for both."),
    (Everywhere, "of today", "recent", "Traces of today have them."),
];

/// Reviewed exceptions: the file, the words that the file may contain, and why they are allowed.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("docs/concepts/glossary.md", "the account", "explains the name in file formats and code"),
    ("docs/concepts/glossary.md", "partner", "explains the name in code"),
    ("crates/tracetree-cli/src/diff_args.rs", "and trace2", "names the columns of the tables"),
];

/// A word in a passage, in lowercase, or a punctuation mark.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    /// The line number of the word.
    line: usize,
    /// The word or the punctuation mark. The marks `.` and `?` end a sentence, `,` ends a clause, and `` ` `` replaces
    /// code.
    text: String,
}

/// An occurrence of a banned phrase in a passage.
struct Hit {
    line: usize,
    phrase: &'static str,
    instead: &'static str,
    /// The words that match the phrase.
    words: String,
}

/// The words in a passage, without code, link targets and placeholders.
fn words(passage: &Passage) -> Vec<Word> {
    let mut words = Vec::new();
    // The character that ends the current piece of code; `None` outside code.
    let mut end = None;
    for (number, line) in &passage.lines {
        let mut rest = line.as_str();
        if passage.kind == Kind::Literal && rest.trim().is_empty() {
            words.push(Word { line: *number, text: ".".to_owned() });
        }
        while let Some(next) = rest.chars().next() {
            let mut push = |text: &str| words.push(Word { line: *number, text: text.to_owned() });
            let mut length = next.len_utf8();
            if let Some(last) = end {
                if next == last {
                    end = None;
                }
            } else if next == '`' || (next == '{' && passage.kind == Kind::Literal) {
                push("`");
                end = Some(if next == '`' { '`' } else { '}' });
            } else if rest.starts_with("](") {
                end = Some(')');
                length = 2;
            } else if next == '\\' {
                // An escaped line end continues the sentence; other escapes separate words.
                length += rest[1..].chars().next().map_or(0, char::len_utf8);
                if length > 1 {
                    push(".");
                }
            } else if is_letter(next) {
                length = word_length(rest);
                let word = rest[..length].trim_matches(['-', '\'', '’', '_', '.']);
                let is_code = word.contains('_') || word.contains("::") || word.contains('/');
                match word.is_empty() {
                    true => push(","),
                    false if is_code => push("`"),
                    false => push(&word.to_lowercase().replace('’', "'")),
                }
            } else {
                match next {
                    '.' | '!' => push("."),
                    '?' => push("?"),
                    next if next.is_whitespace() || next == '*' || next == '"' => {}
                    _ => push(","),
                }
            }
            rest = &rest[length..];
        }
    }
    words
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || "_-'’".contains(c)
}

fn word_length(rest: &str) -> usize {
    for (at, c) in rest.char_indices() {
        let joins = ".:/".contains(c)
            && rest[at + 1..]
                .starts_with(|next: char| next.is_alphanumeric() || ":/_".contains(next));
        if !is_letter(c) && !joins {
            return at;
        }
    }
    rest.len()
}

/// Whether a word pattern in a phrase matches the word at a position. The first and the last item in `words` must be
/// punctuation marks.
fn matches(part: &str, words: &[Word], at: usize) -> bool {
    let word = words[at].text.as_str();
    let is_mark = matches!(word, "." | "?" | ",");
    let others = part.strip_prefix('!');
    match part {
        "*" => !is_mark,
        "$" => is_mark,
        "^" => matches!(word, "." | "?") && !is_question(&words[at + 1..]),
        _ => others.unwrap_or(part).split('|').any(|one| one == word) != others.is_some(),
    }
}

fn is_question(words: &[Word]) -> bool {
    words
        .iter()
        .find(|word| matches!(word.text.as_str(), "." | "?"))
        .is_some_and(|end| end.text == "?")
}

/// The banned phrases in a passage, each with the line of its first word.
fn hits(passage: &Passage) -> Vec<Hit> {
    let mark = |line| Word { line, text: ".".to_owned() };
    let mut words = vec![mark(passage.lines.first().map_or(0, |&(line, _)| line))];
    words.extend(self::words(passage));
    words.push(mark(words[words.len() - 1].line));

    let mut all = Vec::new();
    for &(place, phrase, instead, _) in PHRASES {
        if place == OnScreen && passage.kind == Kind::Comment {
            continue;
        }
        let parts: Vec<&str> = phrase.split(' ').collect();
        for at in 0..(words.len() + 1).saturating_sub(parts.len()) {
            if parts.iter().enumerate().all(|(offset, part)| matches(part, &words, at + offset)) {
                let found = &words[at..at + parts.len()];
                // If the match begins with a mark, the reported line is the line of the first word after it.
                let first = found.iter().find(|word| !is_mark(&word.text)).unwrap_or(&found[0]);
                let texts: Vec<&str> = found.iter().map(|word| word.text.as_str()).collect();
                all.push(Hit { line: first.line, phrase, instead, words: texts.join(" ") });
            }
        }
    }
    all
}

fn is_mark(text: &str) -> bool {
    matches!(text, "." | "?" | "," | "`")
}

#[test]
fn comments_documents_and_texts_have_no_banned_phrase() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut used = vec![false; EXCEPTIONS.len()];
    let mut report = String::new();
    for path in prose::files(root) {
        let text = fs::read_to_string(root.join(&path)).expect("a readable file");
        let name = path.to_string_lossy().replace('\\', "/");
        // This file is exempt, because it contains an example of every phrase.
        if name == "tests/voice.rs" {
            continue;
        }
        for passage in prose::passages(&path, &text) {
            for hit in hits(&passage) {
                let excepted = EXCEPTIONS
                    .iter()
                    .position(|&(file, words, _)| file == name && hit.words.contains(words));
                if let Some(at) = excepted {
                    used[at] = true;
                    continue;
                }
                let line = passage.lines.iter().find(|&&(line, _)| line == hit.line);
                let line = line.map_or("", |(_, text)| text.trim());
                let Hit { line: number, phrase, instead, words } = hit;
                writeln!(
                    report,
                    "{name}:{number}: {words} in \"…{line}…\" ({phrase}: say {instead})"
                )
                .expect("text");
            }
        }
    }
    for (&(file, words, _), _) in EXCEPTIONS.iter().zip(&used).filter(|(_, used)| !**used) {
        writeln!(report, "{file}: the exception for \"{words}\" matches nothing, remove it")
            .expect("text");
    }
    assert!(report.is_empty(), "{} lines:\n{report}", report.lines().count());
}

#[test]
fn names_of_tests_have_no_banned_phrase() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut report = String::new();
    for path in
        prose::files(root).iter().filter(|path| path.extension().is_some_and(|end| end == "rs"))
    {
        let text = fs::read_to_string(root.join(path)).expect("a readable file");
        for name in text.split("#[test]").skip(1).filter_map(name_of_function) {
            for phrase in phrases(Kind::Prose, &name.replace('_', " ")) {
                writeln!(report, "{}: {name} ({phrase})", path.display()).expect("text");
            }
        }
    }
    assert!(report.is_empty(), "{} names:\n{report}", report.lines().count());
}

/// The name of the first function that is defined in a text.
fn name_of_function(text: &str) -> Option<&str> {
    let name = text.split_once("fn ")?.1;
    Some(&name[..name.find('(')?])
}

/// The passages in `text`, as if `text` were the content of a file named `name`.
fn passages(name: &str, text: &str) -> Vec<(Kind, usize, String)> {
    let all = prose::passages(Path::new(name), text);
    let joined = |passage: Passage| {
        let lines: Vec<&str> = passage.lines.iter().map(|(_, text)| text.as_str()).collect();
        (passage.kind, passage.lines[0].0, lines.join("|"))
    };
    all.into_iter().map(joined).collect()
}

fn phrases(kind: Kind, text: &str) -> Vec<&'static str> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect();
    hits(&Passage { kind, lines }).into_iter().map(|hit| hit.phrase).collect()
}

#[test]
fn each_banned_phrase_is_found_in_its_sentence() {
    for &(place, phrase, _, sentence) in PHRASES {
        assert!(phrases(Kind::Prose, sentence).contains(&phrase), "{phrase}: {sentence}");
        let in_comment = phrases(Kind::Comment, sentence).contains(&phrase);
        assert_eq!(in_comment, place == Everywhere, "{phrase}: {sentence}");
    }
}

#[test]
fn ordinary_english_is_not_banned() {
    let sentences = [
        "`N` stands for the number of steps.",
        "One rank stands out.",
        "The law holds for every pair of traces.",
        "The thread holds the lock.",
        "Exit with 1 if this condition holds.",
        "The files are moved into place. Two calls swapped places.",
        "The tensor is changed in place, which takes place in the first call.",
        "The pair of traces in both folders.",
        "A one-sided test.",
        "The stacks are on one side only.",
        "There is no step, and where there are no kernels, it is no longer empty.",
        "The name is already taken.",
        "No folder is left behind, and each mutant is behind a switch.",
        "This accounts for most of the time.",
        "Who waits for whom?",
        "It reports whether you can tell whether it ends.",
        "The parts of a step.",
        "The two traces are of the same work.",
        "Write `what it holds` and `nobody`.",
    ];
    for sentence in sentences {
        assert_eq!(phrases(Kind::Prose, sentence), [""; 0], "{sentence}");
    }
}

#[test]
fn a_phrase_may_continue_on_the_next_line_but_not_in_the_next_sentence() {
    let lines = "The baseline and what\nit holds.";
    let lines = lines.lines().enumerate().map(|(at, line)| (at + 7, line.to_owned())).collect();
    let found = hits(&Passage { kind: Kind::Comment, lines });
    assert_eq!(found.iter().map(|hit| hit.line).collect::<Vec<_>>(), [7]);
    assert!(phrases(Kind::Prose, "It is less than. Trace1 is longer.").is_empty());
}

#[test]
fn rust_has_comments_and_literals() {
    let text = r##"//! One
//! two.
/// Three `code`.
/// ```text
/// not this
/// ```
fn f<'a>(a: &'a str) -> char { '"' } // four
/* five
   six */
const A: &str = "seven // eight \" nine";
const B: &str = r#"ten "eleven""#;
#[cfg(test)]
mod tests {
    const C: &str = "not this";
}
"##;
    assert_eq!(
        passages("src/a.rs", text),
        [
            (Kind::Comment, 1, "One|two.".to_owned()),
            (Kind::Comment, 3, "Three `code`.".to_owned()),
            (Kind::Comment, 7, "four".to_owned()),
            (Kind::Comment, 8, "five|six".to_owned()),
            (Kind::Literal, 10, r#""seven // eight \" nine""#.to_owned()),
            (Kind::Literal, 11, r##"r#"ten "eleven""#"##.to_owned()),
        ]
    );
    assert_eq!(
        passages("tests/a.rs", "f(\"not this\"); // this"),
        [(Kind::Comment, 1, "this".to_owned())]
    );
}

#[test]
fn markdown_has_paragraphs_items_and_rows_without_code() {
    let text = "# One\nTwo\nthree.\n\n- four\n| five |\n```\nnot this\n```\n\
                <!-- columns: a -->\nnot this\n<!-- end -->\nsix\n";
    let found: Vec<_> =
        passages("a.md", text).into_iter().map(|(_, line, text)| (line, text)).collect();
    let expected = [(1, "# One"), (2, "Two|three."), (5, "- four"), (6, "| five |"), (13, "six")];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    let words = prose::passages(Path::new("a.md"), "See [the `holds`](what/it/holds.md), v1.2.");
    let words: Vec<String> = self::words(&words[0]).into_iter().map(|word| word.text).collect();
    assert_eq!(words, ["see", ",", "the", "`", ",", "v1.2", "."]);
}

#[test]
fn scripts_styles_templates_and_python_have_text() {
    let script = "const a = /\"/.test(b) / 2; // one\nlet c = `two ${d} three`;\n";
    assert_eq!(
        passages("src/a.js", script),
        [(Kind::Comment, 1, "one".to_owned()), (Kind::Literal, 2, "`two ${d} three`".to_owned()),]
    );
    assert_eq!(
        passages("src/a.css", "a { b: c } /* one */"),
        [(Kind::Comment, 1, "one".to_owned())]
    );
    let template =
        "<style>not this</style>\n<p class=\"not this\">One {{ two }}\n</p>{% if three %}\n";
    assert_eq!(passages("src/a.html", template), [(Kind::Prose, 2, "One `…`".to_owned())]);
    let python =
        "# One\ndef f():\n    \"\"\"Two.\n\n    >>> not_this()\n    \"\"\"\n    return 'three'\n";
    assert_eq!(
        passages("python/a.py", python),
        [
            (Kind::Comment, 1, "One".to_owned()),
            (Kind::Comment, 3, "Two.".to_owned()),
            (Kind::Literal, 7, "'three'".to_owned()),
        ]
    );
    assert_eq!(passages("src/a.toml", "# One\na = 1"), [(Kind::Comment, 1, "One".to_owned())]);
}
