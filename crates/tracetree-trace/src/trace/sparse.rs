//! Stores columns in which only a few events have a value.

use super::ids::EventId;

/// A column in which only a few events have a value. Entries of the column are sorted by event and
/// looked up by binary search.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Sparse<T> {
    events: Vec<EventId>,
    values: Vec<T>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Sparse { events: Vec::new(), values: Vec::new() }
    }
}

impl<T> FromIterator<(EventId, T)> for Sparse<T> {
    /// Collects values whose events ascend.
    fn from_iter<I: IntoIterator<Item = (EventId, T)>>(entries: I) -> Sparse<T> {
        let mut column = Sparse::default();
        entries.into_iter().for_each(|(event, value)| column.push(event, value));
        column
    }
}

impl<T> Sparse<T> {
    /// Appends a value. Events must be appended in ascending order.
    pub(crate) fn push(&mut self, event: EventId, value: T) {
        debug_assert!(self.events.last().is_none_or(|&last| last < event));
        self.events.push(event);
        self.values.push(value);
    }

    pub(crate) fn reserve(&mut self, count: usize) {
        self.events.reserve(count);
        self.values.reserve(count);
    }

    /// The first event that has a value in the column.
    pub(crate) fn first(&self) -> Option<EventId> {
        self.events.first().copied()
    }

    /// The value of `event`.
    #[inline]
    pub fn get(&self, event: EventId) -> Option<&T> {
        self.events.binary_search(&event).ok().map(|at| &self.values[at])
    }

    /// All entries of the column, in ascending order of events.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (EventId, &T)> {
        self.events.iter().copied().zip(&self.values)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether the column has no entries.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_event() {
        let mut column = Sparse::default();
        column.push(EventId(3), "three");
        column.push(EventId(7), "seven");
        assert_eq!(column.get(EventId(7)), Some(&"seven"));
        assert_eq!(column.get(EventId(4)), None);
        assert_eq!(column.iter().map(|(event, _)| event.index()).collect::<Vec<_>>(), [3, 7]);
        assert_eq!((column.len(), column.is_empty()), (2, false));
    }
}
