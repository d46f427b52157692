//! A compared pair of ranks, and the names of several ranks.

use crate::pattern::{first_names, pattern, ranges};
use crate::plan::PlannedPair;
use crate::shard::Facts;
use crate::status::Status;
use std::collections::BTreeSet;
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
    let numbers: BTreeSet<u64> =
        ranks.iter().filter_map(|pair| u64::try_from(pair.rank?).ok()).collect();
    if numbers.len() == ranks.len() {
        let numbers: Vec<u64> = numbers.into_iter().collect();
        return ranges(&numbers, "");
    }
    ranks.iter().map(|pair| pair.folder.as_str()).collect::<Vec<_>>().join(" ")
}

/// A short string that names the ranks in `ranks`.
pub(super) fn short_names(ranks: &[&PlannedPair], all: &[&PlannedPair]) -> String {
    let numbers = |pairs: &[&PlannedPair]| -> BTreeSet<u64> {
        pairs.iter().filter_map(|pair| u64::try_from(pair.rank?).ok()).collect()
    };
    let (some, every) = (numbers(ranks), numbers(all));
    if some.len() == ranks.len() {
        let (some, every): (Vec<u64>, Vec<u64>) =
            (some.into_iter().collect(), every.into_iter().collect());
        return pattern(&some, &every);
    }
    first_names(&ranks.iter().map(|pair| pair.folder.as_str()).collect::<Vec<_>>())
}
