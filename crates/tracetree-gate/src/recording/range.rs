//! Defines the range of a count per step: its minimum, median and maximum over all steps of all runs.

/// The minimum, median and maximum of a count per step, over all steps of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Range {
    /// The smallest count in a step.
    pub least: u64,
    /// The median count; for an even number of steps, the lower of the two middle counts.
    pub usual: u64,
    /// The largest count in a step.
    pub most: u64,
}

impl Range {
    /// The range of the given counts.
    pub fn of(mut counts: Vec<u64>) -> Range {
        counts.sort_unstable();
        match (counts.first(), counts.last()) {
            (Some(&least), Some(&most)) => {
                Range { least, usual: counts[(counts.len() - 1) / 2], most }
            }
            (_, _) => Range::default(),
        }
    }

    /// A range for a count that is the same in every step.
    pub fn always(count: u64) -> Range {
        Range { least: count, usual: count, most: count }
    }

    /// Whether the count varies between steps.
    pub fn is_variable(self) -> bool {
        self.least != self.most
    }

    /// Whether every count in this range exceeds every count in `other` by more than the width of the wider range. This
    /// margin is needed because, among many varying counts, some ranges are disjoint by chance.
    pub fn is_above(self, other: Range) -> bool {
        let varies = (self.most - self.least).max(other.most - other.least);
        self.least > other.most.saturating_add(varies)
    }
}

impl std::fmt::Display for Range {
    /// Formats the range as `3`, or as `3 (2 to 5)` if the count varies.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.usual)?;
        if self.is_variable() { write!(f, " ({} to {})", self.least, self.most) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_middle_count() {
        let range = Range::of(vec![3, 1, 9, 3]);
        assert_eq!((range.least, range.usual, range.most), (1, 3, 9));
        assert_eq!(range.to_string(), "3 (1 to 9)");
        assert!(!range.is_above(Range::always(1)) && !Range::always(10).is_above(range));
        assert!(Range::always(18).is_above(range) && Range::always(2).is_above(Range::always(1)));
        assert_eq!(Range::of(Vec::new()), Range::default());
    }
}
