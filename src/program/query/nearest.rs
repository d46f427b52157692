//! A word that nobody knows → the nearest of those that are known.

/// The known word with the fewest letters to add, drop, change or exchange, the first of equals;
/// `None` where no word is known.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    known.into_iter().min_by_key(|known| {
        let known: Vec<char> = known.to_lowercase().chars().collect();
        distance(&word, &known)
    })
}

/// Letters to add, drop, change, or exchange with their neighbour (optimal string alignment).
fn distance(one: &[char], two: &[char]) -> usize {
    let width = two.len() + 1;
    let mut rows: [Vec<usize>; 3] = [vec![0; width], (0..width).collect(), vec![0; width]];
    for at in 1..=one.len() {
        rows[2][0] = at;
        for to in 1..width {
            let change = usize::from(one[at - 1] != two[to - 1]);
            let mut least =
                (rows[1][to] + 1).min(rows[2][to - 1] + 1).min(rows[1][to - 1] + change);
            let exchanged =
                at > 1 && to > 1 && one[at - 1] == two[to - 2] && one[at - 2] == two[to - 1];
            if exchanged {
                least = least.min(rows[0][to - 2] + 1);
            }
            rows[2][to] = least;
        }
        rows.rotate_left(1);
    }
    rows[1][width - 1]
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
    fn letters_are_counted() {
        let count = |one: &str, two: &str| {
            distance(&one.chars().collect::<Vec<_>>(), &two.chars().collect::<Vec<_>>())
        };
        assert_eq!(
            [
                count("", "abc"),
                count("abc", "abc"),
                count("abc", "acb"),
                count("kitten", "sitting")
            ],
            [3, 0, 1, 3]
        );
    }
}
