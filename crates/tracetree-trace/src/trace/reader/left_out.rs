//! Counts, by phase and category, the events that comparisons ignore.

use super::strings::{Form, Strings, equal};
use crate::trace::texts::TextId;
use rustc_hash::FxHashMap;

/// Maximum number of kinds of ignored events that are recognized by comparing raw bytes. Most
/// traces have fewer kinds. In other traces, the additional kinds are looked up by the ids of their
/// interned phase and category.
const COMMON: usize = 16;

/// The counts of events, by phase and category.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    common: Vec<Kind>,
    others: FxHashMap<(TextId, TextId), u64>,
    labels: Vec<(&'static str, u64)>,
}

/// The number of events with a given phase and category.
#[derive(Debug)]
struct Kind {
    phase: Vec<u8>,
    category: Vec<u8>,
    ids: (TextId, TextId),
    count: u64,
}

impl LeftOut {
    /// Counts an event by the raw bytes of its phase and category; returns the category.
    #[inline]
    pub(super) fn add(&mut self, phase: &[u8], category: &[u8], strings: &mut Strings) -> TextId {
        let same = |kind: &&mut Kind| equal(&kind.phase, phase) && equal(&kind.category, category);
        match self.common.iter_mut().find(same) {
            Some(kind) => {
                kind.count += 1;
                kind.ids.1
            }
            None => self.add_new(phase, category, strings),
        }
    }

    fn add_new(&mut self, phase: &[u8], category: &[u8], strings: &mut Strings) -> TextId {
        let ids = (strings.intern(phase, Form::Text).0, strings.intern(category, Form::Text).0);
        if self.common.len() < COMMON {
            let (phase, category) = (phase.to_vec(), category.to_vec());
            self.common.push(Kind { phase, category, ids, count: 1 });
        } else {
            *self.others.entry(ids).or_default() += 1;
        }
        ids.1
    }

    /// Counts an element that is not an event.
    pub(super) fn add_label(&mut self, label: &'static str) {
        match self.labels.iter_mut().find(|(other, _)| *other == label) {
            Some((_, count)) => *count += 1,
            None => self.labels.push((label, 1)),
        }
    }

    /// Whether any event with a phase was counted.
    pub(super) fn has_phases(&self) -> bool {
        let common = self.common.iter().map(|kind| kind.ids.0);
        common.chain(self.others.keys().map(|ids| ids.0)).any(|phase| phase != TextId::EMPTY)
    }

    /// The counts, sorted by label. The label of an event consists of its phase and category, such
    /// as `i cpu_instant_event`.
    pub(super) fn into_sorted(mut self, strings: &Strings) -> Vec<(String, u64)> {
        for kind in self.common {
            *self.others.entry(kind.ids).or_default() += kind.count;
        }
        let label = |(phase, category)| {
            format!("{} {}", strings.get(phase), strings.get(category)).trim().to_owned()
        };
        let labels = self.labels.into_iter().map(|(label, count)| (label.to_owned(), count));
        let counts = self.others.into_iter().map(|(ids, count)| (label(ids), count));
        let mut sorted: Vec<(String, u64)> = counts.chain(labels).collect();
        sorted.sort();
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_however_many_there_are() {
        let (mut left_out, mut strings) = (LeftOut::default(), Strings::default());
        for round in 0..2 {
            for kind in 0..40 {
                left_out.add(b"i", format!("kind{kind:02}").as_bytes(), &mut strings);
            }
            assert!(left_out.has_phases(), "round {round}");
        }
        left_out.add_label("(empty)");
        let sorted = left_out.into_sorted(&strings);
        assert_eq!(sorted.len(), 41);
        assert_eq!(sorted[0], ("(empty)".to_owned(), 1));
        assert!(sorted[1..].iter().all(|(_, count)| *count == 2));
    }
}
