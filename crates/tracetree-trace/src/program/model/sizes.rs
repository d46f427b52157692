//! Reads sizes from the recorded shapes of an op. The weight of a size consists of the total time
//! and the number of all calls with this size.

use crate::tree::{CallId, CallTree};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// The weight of a size, compared first by total time, then by number of calls. For a capture,
/// which has no times, only the number of calls is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Weight {
    pub(super) time: i64,
    pub(super) calls: u64,
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Weight) {
        self.time += other.time;
        self.calls += other.calls;
    }
}

/// The weight of each pair of sizes.
pub(super) type Counts = BTreeMap<(u64, u64), Weight>;

/// The pair of sizes with the most weight; on a tie, the largest pair.
pub(super) fn most(counts: &Counts) -> Option<(u64, u64)> {
    counts.iter().max_by_key(|&(sizes, weight)| (*weight, *sizes)).map(|(&sizes, _)| sizes)
}

pub(super) fn dims(tree: &CallTree, call: CallId) -> &str {
    tree.arguments(call).map_or("", |arguments| tree.trace().text(arguments.dims))
}

/// `[[2, 12, 197, 64], []]` → 2, 12, 197, 64. Inputs without recorded sizes are omitted.
pub(super) fn shapes(dims: &str) -> Vec<Vec<u64>> {
    let shapes = dims.trim_start_matches('[').split(']');
    let numbers = |shape: &str| -> Option<Vec<u64>> {
        let text = shape.trim_start_matches([',', ' ', '[']);
        text.split(',').map(|number| number.trim().parse().ok()).collect()
    };
    shapes.filter_map(numbers).filter(|shape| !shape.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::shapes;

    #[test]
    fn shapes_with_sizes_are_read() {
        assert_eq!(shapes("[[2, 12, 197, 64], [2]]"), [vec![2, 12, 197, 64], vec![2]]);
        assert_eq!(shapes("[[], [7, 8]]"), [vec![7, 8]]);
        assert!(shapes("").is_empty() && shapes("[[], []]").is_empty());
    }
}
