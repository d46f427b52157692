//! Suggests the known word that is most similar to an unknown word.

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
