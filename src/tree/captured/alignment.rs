//! Records which GPU event of a replay each captured launch became.

/// The event that each launch became.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alignment {
    /// For each event of the replay, the launch that became it.
    pub(super) launches: Vec<Option<u32>>,
    /// Fraction of the pairs whose evidence is more than their order; 1 if names are recorded.
    pub(super) agreement: f64,
}

impl Alignment {
    /// Pairs of (position of an event, position of its launch).
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let pair = |(at, launch): (usize, &Option<u32>)| launch.map(|launch| (at, launch as usize));
        self.launches.iter().enumerate().filter_map(pair)
    }

    pub(crate) fn placed(&self) -> usize {
        self.launches.iter().flatten().count()
    }

    /// Fraction of the pairs whose evidence is more than their order.
    pub(crate) fn agreement(&self) -> f64 {
        self.agreement
    }
}
