//! What several files of one report show, made once, by the first of them that needs it.

use super::lists::{self, List};
use super::nodes::facets::{self, Facet};
use super::summary::{LargeDifference, Summary, largest_differences, summarise_with};
use super::text::Unit;
use crate::analysis::Analysis;
use std::sync::{Arc, OnceLock};

/// The parts of a report that more than one file has.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) analysis: Arc<Analysis>,
    summary: OnceLock<Summary>,
    largest: OnceLock<Vec<LargeDifference>>,
    lists: OnceLock<Vec<List>>,
    facets: OnceLock<Vec<Facet>>,
}

impl Shared {
    pub(super) fn new(analysis: Arc<Analysis>) -> Shared {
        Shared {
            analysis,
            summary: OnceLock::new(),
            largest: OnceLock::new(),
            lists: OnceLock::new(),
            facets: OnceLock::new(),
        }
    }

    /// The unit that fits the totals.
    pub(super) fn unit(&self) -> Unit {
        Unit::fitting(self.analysis.account().totals.map(|totals| totals.time))
    }

    pub(super) fn summary(&self) -> &Summary {
        self.summary.get_or_init(|| summarise_with(&self.analysis, self.largest()))
    }

    /// Where the time differs, largest difference first.
    pub(super) fn largest(&self) -> &[LargeDifference] {
        self.largest.get_or_init(|| largest_differences(&self.analysis))
    }

    pub(super) fn lists(&self) -> &[List] {
        self.lists.get_or_init(|| lists::of(&self.analysis, self.unit()))
    }

    pub(super) fn facets(&self) -> &[Facet] {
        self.facets.get_or_init(|| facets::of(&self.analysis))
    }
}
