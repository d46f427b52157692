//! Matches each end event (`ph: E`) with the begin event (`ph: B`) that it closes.

use crate::trace::ids::{EventId, ThreadId};
use crate::trace::texts::TextId;

/// Maximum number of open events to search for the begin event that belongs to an end event. The
/// limit exceeds the depth of any real call stack and bounds the cost of a file with many unmatched
/// begin events.
const MAX_SEARCH: usize = 1024;

/// For each thread, the events that have begun but not ended.
#[derive(Debug, Default)]
pub(super) struct OpenEvents {
    stacks: Vec<Vec<Open>>,
}

/// An event that has begun but not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) name: TextId,
    /// The event's id; `None` if the trace does not keep the event.
    pub(super) event: Option<EventId>,
}

impl OpenEvents {
    /// Records a begin event.
    pub(super) fn begin(&mut self, thread: ThreadId, open: Open) {
        if self.stacks.len() <= thread.index() {
            self.stacks.resize_with(thread.index() + 1, Vec::new);
        }
        self.stacks[thread.index()].push(open);
    }

    /// Ends the innermost open event with this name or, if the end event has no name, the innermost
    /// open event. Returns `None` if no open event matches.
    pub(super) fn end(&mut self, thread: ThreadId, name: TextId) -> Option<Open> {
        let stack = self.stacks.get_mut(thread.index())?;
        if name == TextId::EMPTY {
            return stack.pop();
        }
        let from = stack.len().saturating_sub(MAX_SEARCH);
        let at = stack[from..].iter().rposition(|open| open.name == name)?;
        Some(stack.remove(from + at))
    }

    /// The events of the trace that have begun but never ended, ordered by thread.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = EventId> {
        self.stacks.iter().flatten().filter_map(|open| open.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_closes_the_innermost_begin_of_its_name() {
        let mut events = OpenEvents::default();
        let thread = ThreadId(1);
        for (name, event) in [(1, 10), (2, 11), (1, 12)] {
            events.begin(thread, Open { name: TextId(name), event: Some(EventId(event)) });
        }
        let ended =
            |events: &mut OpenEvents, name| events.end(thread, TextId(name)).and_then(|o| o.event);
        assert_eq!(ended(&mut events, 2), Some(EventId(11)));
        assert_eq!(ended(&mut events, 0), Some(EventId(12)));
        assert_eq!(ended(&mut events, 2), None);
        assert_eq!(events.unfinished().collect::<Vec<_>>(), [EventId(10)]);
        assert_eq!(events.end(ThreadId(9), TextId(1)), None);
    }

    #[test]
    fn of_two_begins_of_one_name_the_inner_one_ends_first() {
        let mut events = OpenEvents::default();
        let (thread, name) = (ThreadId(0), TextId(3));
        for event in [10, 11] {
            events.begin(thread, Open { name, event: Some(EventId(event)) });
        }
        let mut ended = || events.end(thread, name).and_then(|open| open.event);
        assert_eq!((ended(), ended()), (Some(EventId(11)), Some(EventId(10))));
    }
}
