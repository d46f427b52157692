//! Merges sentences about the same change on several ranks into one sentence: `1201–1204 instead of 401 aten::item
//! calls per step`.
//!
//! Counts differ slightly between ranks, for example because their batches differ. Sentences are merged if they differ
//! only in numbers, and each number differs by at most a tenth.

use tracetree::order::Order as _;

/// Maximum difference between two merged numbers, as a share of the larger number.
const NEAR: f64 = 0.1;

/// A part of a sentence.
#[derive(PartialEq)]
enum Piece<'t> {
    Text(&'t str),
    /// A number that is a word of its own: its value, and the text of the number.
    Number(f64, &'t str),
}

/// Merges sentences. Each input is a sentence and the number of ranks that it applies to. Returns each merged sentence
/// together with the sentences that it replaces.
pub(super) fn merged<'t>(mut counts: Vec<(&'t str, usize)>) -> Vec<(String, Vec<&'t str>)> {
    // The sentence that applies to the most ranks comes first, so that the other sentences are compared with it. The
    // sort is stable, so sentences with equal numbers of ranks keep their order.
    counts.order_by_key(|&(_, ranks)| std::cmp::Reverse(ranks));
    let mut groups: Vec<Vec<(&str, Vec<Piece<'_>>)>> = Vec::new();
    for (sentence, _) in counts {
        let pieces = pieces(sentence);
        match groups.iter_mut().find(|group| are_near(&group[0].1, &pieces)) {
            Some(group) => group.push((sentence, pieces)),
            None => groups.push(vec![(sentence, pieces)]),
        }
    }
    let row = |group: Vec<(&'t str, Vec<Piece<'_>>)>| {
        let text = text(&group.iter().map(|(_, pieces)| &**pieces).collect::<Vec<_>>());
        (text, group.into_iter().map(|(sentence, _)| sentence).collect())
    };
    groups.into_iter().map(row).collect()
}

fn are_near(one: &[Piece<'_>], other: &[Piece<'_>]) -> bool {
    let is_near = |(one, other): (&Piece<'_>, &Piece<'_>)| match (one, other) {
        (Piece::Number(a, _), Piece::Number(b, _)) => (a - b).abs() <= NEAR * a.max(*b),
        (one, other) => one == other,
    };
    one.len() == other.len() && one.iter().zip(other).all(is_near)
}

/// The text that the sentences share, in which each number is replaced by the range from its smallest to its largest
/// value.
fn text(group: &[&[Piece<'_>]]) -> String {
    let piece = |at: usize| match &group[0][at] {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Number(..) => {
            let mut numbers: Vec<(f64, &str)> = group
                .iter()
                .filter_map(|pieces| match pieces[at] {
                    Piece::Number(value, digits) => Some((value, digits)),
                    Piece::Text(_) => None,
                })
                .collect();
            numbers.order_by(|a, b| a.0.total_cmp(&b.0));
            let (first, last) = (numbers[0].1, numbers[numbers.len() - 1].1);
            if first == last { first.to_owned() } else { format!("{first}–{last}") }
        }
    };
    (0..group[0].len()).map(piece).collect()
}

/// Splits a sentence into text and numbers. Digits in a name, as in `aten::conv2d`, belong to the text.
fn pieces(sentence: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while let Some(offset) = sentence[at..].find(|letter: char| letter.is_ascii_digit()) {
        let first = at + offset;
        let run = &sentence[first..];
        let length =
            run.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ',');
        let digits = run[..length.unwrap_or(run.len())].trim_end_matches(['.', ',']);
        at = first + digits.len();
        let is_word =
            sentence[..first].chars().next_back().is_none_or(|letter| " (".contains(letter))
                && sentence[at..].chars().next().is_none_or(|letter| " ),.:;%".contains(letter));
        if let (true, Ok(value)) = (is_word, digits.replace(',', "").parse()) {
            found.push(Piece::Text(&sentence[begin..first]));
            found.push(Piece::Number(value, digits));
            begin = at;
        }
    }
    found.push(Piece::Text(&sentence[begin..]));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sentences: &[(&'static str, usize)]) -> Vec<String> {
        merged(sentences.to_vec()).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn counts_that_differ_slightly_are_a_range() {
        let merged = merged(vec![
            ("1201 instead of 401 aten::item calls per step", 3),
            ("1204 instead of 401 aten::item calls per step", 5),
            ("1190 instead of 401 aten::item calls per step", 1),
        ]);
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].0, "1190–1204 instead of 401 aten::item calls per step");
        assert_eq!(merged[0].1.len(), 3);
    }

    #[test]
    fn other_counts_and_other_names_remain() {
        let layers = [("3 instead of 4 Block calls", 1), ("2 instead of 4 Block calls", 1)];
        assert_eq!(of(&layers), layers.map(|(text, _)| text));
        let names = [("100 × aten::conv2d", 1), ("100 × aten::conv3d", 1)];
        assert_eq!(of(&names), names.map(|(text, _)| text));
        let kernels = [("runs gemm_100", 1), ("runs gemm_101", 1), ("runs gemm", 1)];
        assert_eq!(of(&kernels).len(), 3);
    }

    #[test]
    fn a_sentence_is_put_together_as_it_was() {
        for sentence in ["", "7", "1,204 of 2.5 (3)", "ends with 5.", "µs 5 × ä6", "(1, 2)"] {
            assert_eq!(of(&[(sentence, 1)]), [sentence]);
        }
    }
}
