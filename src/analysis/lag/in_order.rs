//! Keeps the calls that both sides start in the same order.

use crate::side::PerSide;
use crate::trace::Nanos;

/// The largest subset of the items whose times increase on both sides, sorted by time. Calls on different streams may
/// start in another order on the other side; such calls show nothing about the step.
pub(super) fn in_order<T>(mut items: Vec<T>, at: impl Fn(&T) -> PerSide<Nanos>) -> Vec<T> {
    items.sort_by_key(|item| (at(item).baseline, at(item).candidate));
    // For each length, the position of the last item of a chain with this length; of several chains, the one that ends
    // first.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        let time = at(item).candidate;
        let length = ends.partition_point(|&end| at(&items[end]).candidate <= time);
        before.push(length.checked_sub(1).map(|length| ends[length]));
        match ends.get_mut(length) {
            Some(end) => *end = position,
            None => ends.push(position),
        }
    }
    let mut is_kept = vec![false; items.len()];
    let mut next = ends.last().copied();
    while let Some(position) = next {
        is_kept[position] = true;
        next = before[position];
    }
    let mut is_kept = is_kept.into_iter();
    items.retain(|_| is_kept.next().unwrap_or(false));
    items
}

#[cfg(test)]
mod tests {
    use super::in_order;
    use crate::side::PerSide;
    use crate::trace::Nanos;

    #[test]
    fn calls_that_changed_places_are_left_out() {
        let calls = |times: &[(i64, i64)]| -> Vec<PerSide<Nanos>> {
            times.iter().map(|&(a, b)| PerSide::new(Nanos(a), Nanos(b))).collect()
        };
        let all = calls(&[(0, 0), (9, 12), (3, 4), (6, 1), (12, 14)]);
        let kept = in_order(all, |&at| at);
        assert_eq!(kept, calls(&[(0, 0), (6, 1), (9, 12), (12, 14)]));
        assert!(in_order(Vec::new(), |&at: &PerSide<Nanos>| at).is_empty());
    }
}
