//! Computes unions of time spans. Kernels of one op may overlap, so busy time is computed as a
//! union, which counts each moment only once.

use super::Nanos;

/// Total length of the union of half-open spans (start, end).
#[doc(hidden)]
pub fn busy_time(mut spans: Vec<(Nanos, Nanos)>) -> Nanos {
    spans.sort_unstable();
    newly_busy(&spans).into_iter().sum()
}

/// Union of half-open spans (start, end), as disjoint spans sorted by start.
pub(crate) fn union(mut spans: Vec<(Nanos, Nanos)>) -> Vec<(Nanos, Nanos)> {
    spans.sort_unstable();
    let mut union: Vec<(Nanos, Nanos)> = Vec::new();
    for (start, end) in spans {
        match union.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            Some(_) | None => union.push((start, end)),
        }
    }
    union
}

/// For each span, the length that is not covered by earlier spans. `spans` must be sorted by start.
/// The resulting lengths add up to the length of the union.
pub fn newly_busy(spans: &[(Nanos, Nanos)]) -> Vec<Nanos> {
    let mut reached = Nanos(i64::MIN / 2);
    spans
        .iter()
        .map(|&(start, end)| {
            let new = (end - start.max(reached)).max(Nanos::ZERO);
            reached = reached.max(end);
            new
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_moment_counts_twice() {
        let spans = [(0, 10), (5, 15), (6, 8), (20, 30)].map(|(a, b)| (Nanos(a), Nanos(b)));
        assert_eq!(newly_busy(&spans), [10, 5, 0, 10].map(Nanos));
        assert_eq!(busy_time(spans.into_iter().rev().collect()), Nanos(25));
        assert_eq!(busy_time(Vec::new()), Nanos::ZERO);
    }

    #[test]
    fn spans_that_touch_are_one() {
        let spans = [(20, 30), (0, 10), (6, 8), (10, 15)].map(|(a, b)| (Nanos(a), Nanos(b)));
        assert_eq!(union(spans.to_vec()), [(0, 15), (20, 30)].map(|(a, b)| (Nanos(a), Nanos(b))));
    }

    #[test]
    fn a_span_inside_another_one_does_not_end_it() {
        let spans = [(0, 20), (5, 8), (12, 25)].map(|(a, b)| (Nanos(a), Nanos(b)));
        assert_eq!(newly_busy(&spans), [20, 0, 5].map(Nanos));
    }
}
