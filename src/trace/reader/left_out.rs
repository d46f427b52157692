//! Events that take no part in a comparison → how many there are of each phase and category.

use super::strings::{Form, Strings};
use crate::trace::texts::TextId;
use rustc_hash::FxHashMap;

/// The counts, by phase and category.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    counts: FxHashMap<(TextId, TextId), u64>,
    labels: Vec<(&'static str, u64)>,
}

impl LeftOut {
    /// Counts an event, from the raw bytes of its phase and category.
    pub(super) fn add(&mut self, phase: &[u8], category: &[u8], strings: &mut Strings) {
        let key = (
            strings.intern(phase, Form::Text).0,
            strings.intern(category, Form::Text).0,
        );
        *self.counts.entry(key).or_default() += 1;
    }

    /// Counts an element that is no event.
    pub(super) fn add_label(&mut self, label: &'static str) {
        match self.labels.iter_mut().find(|(other, _)| *other == label) {
            Some((_, count)) => *count += 1,
            None => self.labels.push((label, 1)),
        }
    }

    /// Whether an event with a phase was counted.
    pub(super) fn has_phases(&self) -> bool {
        self.counts.keys().any(|(phase, _)| *phase != TextId::EMPTY)
    }

    /// The counts with their labels (`i cpu_instant_event`), sorted.
    pub(super) fn into_sorted(self, strings: &Strings) -> Vec<(String, u64)> {
        let mut sorted: Vec<(String, u64)> = self
            .counts
            .into_iter()
            .map(|((phase, category), count)| {
                let label = format!("{} {}", strings.get(phase), strings.get(category));
                (label.trim().to_owned(), count)
            })
            .chain(
                self.labels
                    .into_iter()
                    .map(|(label, count)| (label.to_owned(), count)),
            )
            .collect();
        sorted.sort();
        sorted
    }
}
