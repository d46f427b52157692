//! Finds the most items that are in the same order on both sides.

/// The longest subsequence of `items` in which the keys ascend. The items must be in the order of the other side.
pub(super) fn longest_in_order<T: Copy, K: Ord>(items: &[T], key: impl Fn(&T) -> K) -> Vec<T> {
    // For each length, the index of the last item of an ascending subsequence of this length. If there are several such
    // subsequences, the one whose last item has the smallest key is used.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let own = key(item);
        let length = ends.partition_point(|&end| key(&items[end]) < own);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut list = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        list.push(items[at]);
        next = before[at];
    }
    list.reverse();
    list
}

#[cfg(test)]
mod tests {
    use super::longest_in_order;

    #[test]
    fn crossing_pairs_are_omitted() {
        let pairs = [(0, 1), (1, 5), (2, 2), (3, 3), (4, 0), (5, 9)];
        let in_order = |pairs: &[(u32, u32)]| longest_in_order(pairs, |pair| pair.1);
        assert_eq!(in_order(&pairs), [(0, 1), (2, 2), (3, 3), (5, 9)]);
        assert_eq!(in_order(&[]), []);
        let calls = [(0, 0), (3, 4), (6, 1), (9, 12), (12, 14)];
        assert_eq!(in_order(&calls), [(0, 0), (6, 1), (9, 12), (12, 14)]);
    }
}
