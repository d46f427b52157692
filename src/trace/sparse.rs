//! Columns that few events fill.

use super::ids::EventId;

/// A column that few events fill: sorted by event, found by binary search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sparse<T> {
    events: Vec<EventId>,
    values: Vec<T>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Sparse { events: Vec::new(), values: Vec::new() }
    }
}

impl<T> Sparse<T> {
    /// Appends a value; events come in rising order.
    pub(crate) fn push(&mut self, event: EventId, value: T) {
        debug_assert!(self.events.last().is_none_or(|&last| last < event));
        self.events.push(event);
        self.values.push(value);
    }

    /// Makes room for `count` more values.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.events.reserve(count);
        self.values.reserve(count);
    }

    /// The first event that has a value.
    pub(crate) fn first(&self) -> Option<EventId> {
        self.events.first().copied()
    }

    /// The value of `event`.
    pub fn get(&self, event: EventId) -> Option<&T> {
        self.events.binary_search(&event).ok().map(|at| &self.values[at])
    }

    /// All filled entries, by rising event.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (EventId, &T)> {
        self.events.iter().copied().zip(&self.values)
    }

    /// How many entries are filled.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether no entry is filled.
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
