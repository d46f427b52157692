//! Records which GPU event of a replay each captured launch produced.

/// The matches between captured launches and the GPU events of a replay.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alignment {
    /// For each event of the replay, the launch that produced this event.
    pub(super) launches: Vec<Option<u32>>,
    /// Fraction of the pairs that are supported by evidence other than their order; 1 if kernel
    /// names were recorded.
    pub(super) agreement: f64,
}

impl Alignment {
    /// The matched pairs (event, launch), given by the positions of event and launch in the two
    /// sequences.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let pair = |(at, launch): (usize, &Option<u32>)| launch.map(|launch| (at, launch as usize));
        self.launches.iter().enumerate().filter_map(pair)
    }

    pub(crate) fn placed(&self) -> usize {
        self.launches.iter().flatten().count()
    }

    /// Fraction of the pairs that are supported by evidence other than their order.
    pub(crate) fn agreement(&self) -> f64 {
        self.agreement
    }
}
