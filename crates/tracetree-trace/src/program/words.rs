//! Splits names into words: `cunn_SoftMaxForward<8>` → `cunn soft max forward 8`.
//!
//! A word ends at any character that is neither a letter nor a digit, at any boundary between
//! letters and digits, and where a new capitalized word begins. Patterns are split into words in
//! the same way as names, so a pattern can be copied from a name. Patterns match whole words only:
//! `sort` does not match `resort`, and `relu` does not match `prelude`.

/// The words of a name, in lowercase.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Words(Vec<String>);

impl Words {
    /// Splits a name into words.
    pub fn of(name: &str) -> Words {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut before = None;
        let mut characters = name.chars().peekable();
        while let Some(character) = characters.next() {
            if !word.is_empty() && starts_word(before, character, characters.peek().copied()) {
                words.push(std::mem::take(&mut word));
            }
            match character.is_ascii_alphanumeric() {
                true => word.push(character.to_ascii_lowercase()),
                false if character.is_alphanumeric() => word.extend(character.to_lowercase()),
                false => {}
            }
            before = Some(character);
        }
        if !word.is_empty() {
            words.push(word);
        }
        Words(words)
    }

    /// The words, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the name has no words.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the words of `part` appear in the name consecutively and in order.
    pub fn contain(&self, part: &Words) -> bool {
        self.0.windows(part.len().max(1)).any(|window| window == part.0)
    }

    /// The positions in the name at which the words of `part` appear consecutively and in order.
    pub fn places_of(&self, part: &Words) -> impl Iterator<Item = std::ops::Range<usize>> {
        let length = part.len().max(1);
        let places = self.0.windows(length).enumerate();
        places.filter(move |(_, window)| *window == part.0).map(move |(at, _)| at..at + length)
    }

    /// Whether all words of `part` appear in the name, in any order.
    pub fn contain_all(&self, part: &Words) -> bool {
        part.0.iter().all(|word| self.0.contains(word))
    }

    /// Whether the name contains a word.
    pub fn has(&self, word: &str) -> bool {
        self.0.iter().any(|known| known == word)
    }

    /// Whether all words of the name satisfy `is_such`; `false` if the name has no words.
    pub fn all(&self, is_such: impl Fn(&str) -> bool) -> bool {
        !self.0.is_empty() && self.0.iter().all(|word| is_such(word))
    }

    /// The words of the name that are not numbers.
    pub fn without_numbers(&self) -> Words {
        let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
        Words(self.0.iter().filter(|word| !is_number(word)).cloned().collect())
    }

    /// The words of the name without those in `words`. If no word would remain, returns all words
    /// of the name.
    pub fn without(&self, words: &[&str]) -> Words {
        let kept = self.0.iter().filter(|word| !words.contains(&word.as_str()));
        let kept: Vec<String> = kept.cloned().collect();
        if kept.is_empty() { self.clone() } else { Words(kept) }
    }

    /// The word at a position.
    pub fn at(&self, position: usize) -> Option<&str> {
        self.0.get(position).map(String::as_str)
    }

    /// The first `count` words of the name, or all words if the name is shorter.
    pub fn first(&self, count: usize) -> Words {
        Words(self.0[..count.min(self.0.len())].to_vec())
    }

    /// The words after the first occurrence of `word`; `None` if `word` does not occur.
    pub fn behind(&self, word: &str) -> Option<Words> {
        let at = self.0.iter().position(|known| known == word)?;
        Some(Words(self.0[at + 1..].to_vec()))
    }
}

/// Whether a new word starts at a given character.
fn starts_word(before: Option<char>, this: char, next: Option<char>) -> bool {
    let Some(before) = before else { return false };
    if !this.is_alphanumeric() || !before.is_alphanumeric() {
        return true;
    }
    if this.is_ascii_digit() != before.is_ascii_digit() {
        return true;
    }
    // Splits `softMax` into soft max, and `KVCache` into kv cache.
    let next_is_lower = next.is_some_and(char::is_lowercase);
    this.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str) -> String {
        Words::of(name).0.join(" ")
    }

    #[test]
    fn words_end_at_marks_digits_and_capitals() {
        assert_eq!(words("cunn_SoftMaxForward"), "cunn soft max forward");
        assert_eq!(
            words("cutlass_80_tensorop_s1688gemm_64x64"),
            "cutlass 80 tensorop s 1688 gemm 64 x 64"
        );
        assert_eq!(words("PagedKVCacheKernel"), "paged kv cache kernel");
        assert_eq!(words("aten::_foreach_add_"), "aten foreach add");
        assert_eq!(words(""), "");
    }

    #[test]
    fn only_whole_words_match() {
        let name = Words::of("aten::scatter_add_");
        assert!(name.contain(&Words::of("scatter")) && name.contain(&Words::of("scatter_add")));
        assert!(!name.contain(&Words::of("scat")) && !name.contain(&Words::of("add_scatter")));
        assert!(name.contain_all(&Words::of("add_scatter")) && name.at(0) == Some("aten"));
    }
}
