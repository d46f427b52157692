//! A compared pair of ranks, and the names of several ranks.

use crate::pattern::{first_names, numbers, pattern, ranges};
use crate::plan::PlannedPair;
use crate::shard::Facts;
use crate::status::Status;
use tracetree::side::Side;
use tracetree::trace::Nanos;

/// A pair that was compared.
pub(super) struct Compared<'p> {
    pub(super) pair: &'p PlannedPair,
    pub(super) facts: Facts,
    pub(super) status: Status,
}

impl Compared<'_> {
    pub(super) fn is_whole(&self) -> bool {
        self.status == Status::Compared
    }

    pub(super) fn per_step(&self, side: Side, time: Nanos) -> f64 {
        time.as_micros() / self.facts.steps[side].max(1) as f64
    }
}

/// Names the ranks: by number if all ranks have different numbers, otherwise by folder.
pub(super) fn names(ranks: &[&PlannedPair]) -> String {
    let known = numbers(ranks.iter().map(|pair| pair.rank));
    if known.len() == ranks.len() {
        return ranges(&known, "");
    }
    ranks.iter().map(|pair| pair.folder.as_str()).collect::<Vec<_>>().join(" ")
}

/// A short string that names the ranks in `ranks`.
pub(super) fn short_names(ranks: &[&PlannedPair], all: &[&PlannedPair]) -> String {
    let some = numbers(ranks.iter().map(|pair| pair.rank));
    if some.len() == ranks.len() {
        return pattern(&some, &numbers(all.iter().map(|pair| pair.rank)));
    }
    first_names(&ranks.iter().map(|pair| pair.folder.as_str()).collect::<Vec<_>>())
}
