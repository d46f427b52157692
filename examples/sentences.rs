//! Prints a random sample of the sentences that people read in this repository: comments, docs and
//! strings of the program.
//!
//! ```text
//! cargo run --example sentences [-- COUNT [SEED]]
//! ```
//! The output consists of COUNT sentences (default 100) as `file:line<TAB>sentence`. Each sentence
//! should be clear on its own. The same SEED (default 1) selects the same sentences.

#[path = "../tests/support/prose.rs"]
mod prose;
#[allow(dead_code, unreachable_pub, reason = "tests use the rest of it")]
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
/// Minimum number of words in a sentence; any shorter text is a label or a name.
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

/// The sentences of a passage as written, each with its line.
fn sentences(passage: &Passage) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut ended = true;
    for (number, line) in &passage.lines {
        let line = match passage.kind {
            // A line of a literal may end in an escape.
            Kind::Literal => line.replace("\\n", " ").trim_end_matches('\\').to_owned(),
            Kind::Comment | Kind::Prose => line.trim_start_matches(['-', '*', '#', '|']).to_owned(),
        };
        for word in line.split_whitespace() {
            let begins = word.starts_with(|c: char| c.is_uppercase() || "`[*(\"".contains(c));
            match all.last_mut() {
                Some((_, open)) if !(ended && begins) && word != "|" => {
                    open.push(' ');
                    open.push_str(word);
                }
                // The cells of a table row are separate.
                _ if word == "|" => all.push((*number, String::new())),
                _ => all.push((*number, word.to_owned())),
            }
            ended = word.trim_end_matches(['"', ')', '*', '`']).ends_with(['.', '!', '?']);
        }
    }
    all
}

/// Whether a text is more than a name, a number or a pattern.
fn is_sentence(text: &str) -> bool {
    let is_word = |word: &&str| {
        let word = word.trim_matches(|c: char| ".,:;!?()\"'*".contains(c));
        !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || "-'’".contains(c))
    };
    text.split_whitespace().filter(is_word).count() >= WORDS
}
