//! Matches names against patterns with `*`, `?` and `|`.

/// A pattern for entire names: `*` matches any characters, `?` matches one character, and `|`
/// separates alternatives.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Glob {
    text: String,
    choices: Vec<Vec<char>>,
}

impl Glob {
    /// Creates a pattern from a string. Every string is a valid pattern.
    pub fn new(text: &str) -> Glob {
        let choices = text.split('|').map(|choice| choice.trim().chars().collect()).collect();
        Glob { text: text.to_owned(), choices }
    }

    /// The pattern string.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the pattern matches an entire name.
    pub fn matches(&self, name: &str) -> bool {
        self.choices.iter().any(|choice| is_like(name, choice))
    }
}

/// Whether a name matches one alternative of a pattern. Backtracks to the last `*` on a mismatch,
/// so the number of steps is at most the length of the name times the length of the pattern.
fn is_like(name: &str, pattern: &[char]) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut in_pattern) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((at, in_pattern));
                in_pattern += 1;
            }
            Some(&letter) if letter == '?' || letter == name[at] => {
                (at, in_pattern) = (at + 1, in_pattern + 1);
            }
            Some(_) | None => {
                let Some((from, back)) = star else { return false };
                star = Some((from + 1, back));
                (at, in_pattern) = (from + 1, back + 1);
            }
        }
    }
    pattern[in_pattern..].iter().all(|&letter| letter == '*')
}

/// The known word that differs from the unknown word by the fewest added, dropped, changed or
/// swapped letters (optimal string alignment distance). On a tie, the first of the equally similar
/// words wins. `None` if there are no known words. Case is ignored.
#[doc(hidden)]
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = word.to_lowercase();
    known.into_iter().min_by_key(|known| strsim::osa_distance(&word, &known.to_lowercase()))
}

/// Whether changing at most half of the longer word's letters turns one word into the other.
#[must_use]
#[doc(hidden)]
pub fn is_near(one: &str, two: &str) -> bool {
    let (one, two) = (one.to_lowercase(), two.to_lowercase());
    strsim::osa_distance(&one, &two) * 2 <= one.chars().count().max(two.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_characters() {
        let fits = |pattern: &str, name: &str| Glob::new(pattern).matches(name);
        assert!(fits("aten::*", "aten::add") && fits("*", "") && fits("*a*a*", "banana"));
        assert!(fits("a?c", "abc") && !fits("a?c", "ac"));
        assert!(fits("aten::add|aten::mul", "aten::mul"));
        assert!(!fits("aten::add", "aten::add_") && !fits("add", "aten::add"));
        assert!(!fits("*ab", "abc") && fits("*ab", "abcab"));
    }

    #[test]
    fn the_nearest_word_has_the_fewest_changes() {
        let known = ["new_kernel", "new_op", "new_copy", "gone_op"];
        assert_eq!(nearest("new_kernal", known), Some("new_kernel"));
        assert_eq!(nearest("New_Ops", known), Some("new_op"));
        assert_eq!(nearest("onegop", known), Some("gone_op"));
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn a_word_of_which_more_than_half_differs_is_not_near() {
        assert!(is_near("resnet_eagr.json.gz", "resnet_eager.pt.trace.json.gz"));
        assert!(!is_near("none.csv", "about.hbs"));
        assert!(is_near("ABC", "abx"));
        assert!(!is_near("abc", "axy"));
    }
}
