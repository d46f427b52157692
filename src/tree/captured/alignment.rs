//! Records which GPU event of a replay each captured launch became.

/// For each launch, the event that it became.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alignment {
    /// For each event of the replay, the launch that became this event.
    pub(super) launches: Vec<Option<u32>>,
    /// Fraction of the pairs that more evidence than their order supports; 1 if kernel names were
    /// recorded.
    pub(super) agreement: f64,
}

impl Alignment {
    /// Pairs of event and launch, both as positions.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let pair = |(at, launch): (usize, &Option<u32>)| launch.map(|launch| (at, launch as usize));
        self.launches.iter().enumerate().filter_map(pair)
    }

    pub(crate) fn placed(&self) -> usize {
        self.launches.iter().flatten().count()
    }

    /// Fraction of the pairs that more evidence than their order supports.
    pub(crate) fn agreement(&self) -> f64 {
        self.agreement
    }
}
