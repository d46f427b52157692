//! Computes values that several report files share; each value is computed on first use.

use super::lists::{self, List};
use super::nodes::facets::{self, Facet};
use super::summary::{
    LargeDifference, SideNote, Summary, largest_differences, notes, summarise_with,
};
use super::text::{Narrative, Unit};
use crate::analysis::Analysis;
use std::sync::{Arc, OnceLock};

/// The values shared by the report files.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) analysis: Arc<Analysis>,
    narrative: OnceLock<Narrative>,
    summary: OnceLock<Summary>,
    notes: OnceLock<Vec<SideNote>>,
    largest: OnceLock<Vec<LargeDifference>>,
    lists: OnceLock<Vec<List>>,
    facets: OnceLock<Vec<Facet>>,
}

impl Shared {
    pub(super) fn new(analysis: Arc<Analysis>) -> Shared {
        Shared {
            analysis,
            narrative: OnceLock::new(),
            summary: OnceLock::new(),
            notes: OnceLock::new(),
            largest: OnceLock::new(),
            lists: OnceLock::new(),
            facets: OnceLock::new(),
        }
    }

    /// The time unit of the report: milliseconds if a total is at least one millisecond, otherwise
    /// microseconds.
    pub(super) fn unit(&self) -> Unit {
        Unit::fitting(self.analysis.account().totals.map(|totals| totals.time))
    }

    pub(super) fn narrative(&self) -> &Narrative {
        self.narrative.get_or_init(|| Narrative::of(&self.analysis))
    }

    pub(super) fn notes(&self) -> &[SideNote] {
        self.notes.get_or_init(|| notes(&self.analysis))
    }

    pub(super) fn summary(&self) -> &Summary {
        self.summary.get_or_init(|| summarise_with(&self.analysis, self.largest()))
    }

    /// The largest time differences by name and lowest common node, largest first.
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
