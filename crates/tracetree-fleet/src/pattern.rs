//! Formats rank numbers as a short string: `0-3 6`, `≡ 0, 2, 6, 7 mod 8 (1000 ranks)`, `3 9 10 … (1000 ranks)`.

use std::collections::BTreeSet;
use tracetree::program::counted;

/// Maximum number of ranges or remainders in the string.
const MOST: usize = 8;

/// Maximum modulus. The modulus of a pattern is usually the number of ranks in a node, a tensor-parallel group or a
/// pipeline stage, which is rarely larger.
const LARGEST: u64 = 64;

/// A periodic pattern must cover at least this many full periods. Over a single period, any set of ranks looks
/// periodic.
const PERIODS: u64 = 3;

/// Formats ascending numbers such as `#0-#3 #6`, where consecutive numbers are written as a range. `mark` is written
/// before each number.
pub fn ranges(numbers: &[u64], mark: &str) -> String {
    let text = |range: &[u64]| match *range {
        [first, .., last] => format!("{mark}{first}-{mark}{last}"),
        [only] => format!("{mark}{only}"),
        [] => String::new(),
    };
    let found = numbers.chunk_by(|one, two| one + 1 == *two).map(text);
    found.collect::<Vec<_>>().join(" ")
}

/// The known ranks, in ascending order and each once.
pub(super) fn numbers(ranks: impl Iterator<Item = Option<i64>>) -> Vec<u64> {
    let known: BTreeSet<u64> = ranks.filter_map(|rank| u64::try_from(rank?).ok()).collect();
    known.into_iter().collect()
}

/// Formats the ranks `some`, a subset of `all`, as a short string. Both lists are in ascending order. The string
/// contains the ranks as ranges. If there are too many ranges, the string contains a modulus and the remainders of the
/// ranks. A modulus fits if no rank outside `some` has one of these remainders; ranks before the first or after the
/// last rank of `some` may be ignored. If no modulus fits, the string contains the first few ranges.
pub(super) fn pattern(some: &[u64], all: &[u64]) -> String {
    let text = ranges(some, "");
    let pieces: Vec<&str> = text.split(' ').collect();
    if pieces.len() <= MOST {
        return text;
    }
    let (first, last) = (some[0], some[some.len() - 1]);
    let near: Vec<u64> = all.iter().copied().filter(|rank| (first..=last).contains(rank)).collect();
    let ranks = counted(some.len() as u64, "rank");
    let among = |all: &[u64]| (2..=LARGEST).find_map(|modulus| remainders(some, all, modulus));
    match (among(all), among(&near)) {
        (Some(found), _) => format!("{found} ({ranks})"),
        (None, Some(found)) => format!("{found} in {first}-{last} ({ranks})"),
        (None, None) => folded(pieces.into_iter(), &ranks),
    }
}

/// The first few names, followed by the total number of ranks if names are omitted.
pub(super) fn first_names(names: &[&str]) -> String {
    if names.len() <= MOST {
        names.join(" ")
    } else {
        folded(names.iter().copied(), &counted(names.len() as u64, "rank"))
    }
}

fn folded<'t>(pieces: impl Iterator<Item = &'t str>, ranks: &str) -> String {
    let shown: Vec<&str> = pieces.take(MOST).collect();
    format!("{} … ({ranks})", shown.join(" "))
}

/// Returns a string such as `≡ 0, 2 mod 8` if the ranks of `all` with these remainders are exactly the ranks in `some`.
fn remainders(some: &[u64], all: &[u64], modulus: u64) -> Option<String> {
    let found: BTreeSet<u64> = some.iter().map(|rank| rank % modulus).collect();
    let span = some[some.len() - 1] - some[0] + 1;
    if found.len() > MOST || span < PERIODS * modulus {
        return None;
    }
    let same = all.iter().filter(|&rank| found.contains(&(rank % modulus))).count();
    let list: Vec<String> = found.iter().map(u64::to_string).collect();
    (same == some.len()).then(|| format!("≡ {} mod {modulus}", list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(end: u64) -> Vec<u64> {
        (0..end).collect()
    }

    fn of(end: u64, has: impl Fn(u64) -> bool) -> String {
        pattern(&all(end).into_iter().filter(|&rank| has(rank)).collect::<Vec<_>>(), &all(end))
    }

    #[test]
    fn a_few_ranges_are_listed() {
        assert_eq!(of(2000, |rank| rank < 1000 || rank == 1500), "0-999 1500");
        assert_eq!(of(16, |rank| rank % 2 == 0), "0 2 4 6 8 10 12 14");
    }

    #[test]
    fn remainders_are_found_among_the_ranks_that_exist() {
        let has = |rank: u64| [0, 2, 6, 7].contains(&(rank % 8));
        assert_eq!(of(2000, has), "≡ 0, 2, 6, 7 mod 8 (1000 ranks)");
        assert_eq!(of(2000, |rank| rank % 3 == 1), "≡ 1 mod 3 (667 ranks)");
        // Rank 7 is missing from the compared ranks, which must not hide the pattern.
        let compared: Vec<u64> = all(100).into_iter().filter(|&rank| rank != 7).collect();
        let some: Vec<u64> = compared.iter().copied().filter(|rank| rank % 7 == 0).collect();
        assert_eq!(pattern(&some, &compared), "≡ 0 mod 7 (14 ranks)");
    }

    #[test]
    fn remainders_in_a_part_of_the_ranks_name_the_part() {
        let has = |rank: u64| rank % 4 == 1 && (500..1000).contains(&rank);
        assert_eq!(of(2000, has), "≡ 1 mod 4 in 501-997 (125 ranks)");
    }

    #[test]
    fn ranks_without_a_pattern_are_shortened() {
        let text = of(1000, |rank| rank.count_ones() % 3 == 1);
        assert!(text.starts_with("1-2 4 8 ") && text.ends_with(" ranks)"), "{text}");
        assert!(text.contains(" … (") && !text.contains('≡') && text.len() < 60, "{text}");
        // Rank 13 does not fit the pattern of even ranks, so no pattern is printed.
        assert!(!of(1000, |rank| rank % 2 == 0 || rank == 13).contains('≡'));
    }

    #[test]
    fn names_are_shortened() {
        assert_eq!(first_names(&["a", "b"]), "a b");
        assert_eq!(first_names(&["a"; 9]), "a a a a a a a a … (9 ranks)");
    }
}
