//! Suggests the known word that is most similar to an unknown one.

/// The known word that needs the fewest added, dropped, changed or swapped letters (optimal string
/// alignment distance). On a tie, the first such word wins. `None` if there are no known words.
/// Case is ignored.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = word.to_lowercase();
    known.into_iter().min_by_key(|known| strsim::osa_distance(&word, &known.to_lowercase()))
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
}
