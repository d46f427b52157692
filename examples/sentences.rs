//! Prints a random sample of the sentences that people read in this repository: in comments, docs and program strings.
//!
//! ```text
//! cargo run --example sentences [-- COUNT [SEED]]
//! ```
//! The output consists of COUNT (default 100) lines in the form `file:line<TAB>sentence`. Each sentence should be clear
//! on its own. The same SEED (default 1) selects the same sentences.

#[path = "../tests/support/prose.rs"]
mod prose;
#[allow(dead_code, unreachable_pub, reason = "only tests use all of its functions")]
#[path = "../tests/support/splitmix.rs"]
mod splitmix;

use prose::{Kind, Passage};
use splitmix::SplitMix;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

const COUNT: usize = 100;
const SEED: u64 = 1;
/// Minimum number of words in a sentence. A text with fewer words is a label or a name.
const WORDS: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(COUNT), |text| text.parse())?;
    let seed = arguments.next().map_or(Ok(SEED), |text| text.parse())?;

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for path in prose::files(root) {
        let text = fs::read_to_string(root.join(&path))?;
        let passages = prose::passages(&path, &text);
        let found = passages.iter().flat_map(sentences).filter(|(_, text)| is_sentence(text));
        all.extend(found.map(|(line, text)| format!("{}:{line}\t{}", path.display(), text.trim())));
    }

    let mut random = SplitMix::new(seed);
    let mut out = std::io::stdout().lock();
    for _ in 0..count.min(all.len()) {
        let chosen = all.swap_remove(random.below(all.len()));
        writeln!(out, "{chosen}")?;
    }
    Ok(())
}

/// The sentences of a passage as written, each with its line number.
fn sentences(passage: &Passage) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let (mut ended, mut braces) = (true, 0);
    let is_template = passage.lines.first().is_some_and(|(_, line)| line.starts_with('`'));
    for (number, line) in &passage.lines {
        let is_literal = passage.kind == Kind::Literal;
        let line = match is_literal {
            // A `…` replaces each expression in a template literal of a script.
            true if is_template => without_expressions(line, &mut braces),
            true => line.clone(),
            false => line.trim_start_matches(['-', '*', '#']).to_owned(),
        };
        // In a string literal, each line of output starts a new sentence.
        let parts: Vec<&str> = if is_literal { line.split("\\n").collect() } else { vec![&line] };
        for part in parts {
            for word in part.trim_end_matches('\\').split_whitespace() {
                let begins = word.starts_with(|c: char| c.is_uppercase() || "`[*(\"".contains(c));
                let in_code =
                    all.last().is_some_and(|(_, open)| open.matches('`').count() % 2 == 1);
                let in_code = in_code && !is_template;
                match all.last_mut() {
                    Some((_, open)) if in_code || !(ended && begins) && word != "|" => {
                        open.push(' ');
                        open.push_str(word);
                    }
                    // Each cell of a table row starts a new sentence.
                    _ if word == "|" => all.push((*number, String::new())),
                    _ => all.push((*number, word.to_owned())),
                }
                ended = word.trim_end_matches(['"', ')', '*', '`']).ends_with(['.', '!', '?']);
            }
            if is_literal && !part.ends_with('\\') {
                all.push((*number, String::new()));
            }
        }
    }
    all
}

/// Replaces the expressions in a line of a template literal. `braces` counts the braces that are still open at the
/// start of the line; the function updates it.
fn without_expressions(line: &str, braces: &mut usize) -> String {
    let mut kept = String::new();
    for character in line.chars() {
        match character {
            '{' if *braces > 0 || kept.ends_with('$') => *braces += 1,
            '}' if *braces > 0 => *braces -= 1,
            _ if *braces > 0 => continue,
            _ => kept.push(character),
        }
        if *braces == 0 && character == '}' {
            kept.truncate(kept.trim_end_matches('$').len());
            kept.push('…');
        }
    }
    kept
}

/// Whether a string has enough words to be a sentence.
fn is_sentence(text: &str) -> bool {
    let is_word = |word: &&str| {
        let word = word.trim_matches(|c: char| ".,:;!?()\"'*".contains(c));
        !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || "-'’".contains(c))
    };
    text.split_whitespace().filter(is_word).count() >= WORDS
}
