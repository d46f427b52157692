//! Divides time spans on a host thread into pieces, each with a single innermost open call.
//!
//! ```text
//! ├─ a ───────────────┤
//!     ├─ b ───┤
//!      ├c┤
//!  a   b c b    a        (between calls)
//! ```
//! The cursor keeps the stack of open calls and never moves backward. So each call is visited only once, even if all
//! spans of a trace are processed.

use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};

/// The stack of open calls of one thread at one moment.
#[derive(Debug)]
pub(super) struct StackCursor<'t> {
    tree: &'t CallTree,
    now: Nanos,
    /// The next host call in preorder that has not started yet, with its start time. GPU events are skipped
    /// because they take no host time.
    next: CallId,
    begins: Nanos,
    end: CallId,
    /// The open calls with their end times. The first entry is the thread's root, which never ends.
    open: Vec<(CallId, Nanos)>,
}

impl<'t> StackCursor<'t> {
    /// Creates a cursor before the first call of the thread with the given root.
    pub(super) fn new(tree: &'t CallTree, root: CallId) -> Self {
        let mut cursor = StackCursor {
            tree,
            now: Nanos(i64::MIN),
            next: CallId(root.0 + 1),
            begins: Nanos(i64::MAX),
            end: tree.end(root),
            open: vec![(root, Nanos(i64::MAX))],
        };
        cursor.look_for_next();
        cursor
    }

    /// Divides the time `from..until` into pieces that each have a single innermost call, and calls `spent` for each
    /// piece in order. While no call is open, the piece belongs to the root of the thread. Spans must be requested in order
    /// and must not overlap.
    pub(super) fn spend(
        &mut self,
        from: Nanos,
        until: Nanos,
        mut spent: impl FnMut(CallId, Nanos),
    ) {
        self.go(from, &mut |_, _| {});
        self.go(until, &mut spent);
    }

    fn go(&mut self, until: Nanos, spent: &mut impl FnMut(CallId, Nanos)) {
        while self.now < until {
            let Some(&(call, end)) = self.open.last() else { return };
            let stop = end.min(self.begins).min(until);
            if stop > self.now {
                spent(call, stop - self.now);
                self.now = stop;
            }
            if self.begins <= self.now && self.next < self.end {
                self.enter(self.next);
            } else if end <= self.now && self.open.len() > 1 {
                self.open.pop();
            }
        }
    }

    fn look_for_next(&mut self) {
        while self.next < self.end && self.tree.kind(self.next) == CallKind::Gpu {
            self.next.0 += 1;
        }
        let event = (self.next < self.end).then(|| self.tree.event(self.next)).flatten();
        self.begins = event.map_or(Nanos(i64::MAX), |event| self.tree.trace().start(event));
    }

    /// Pops every call that is not an ancestor of `call`, even if the recorded end of the popped call is later. Then
    /// pushes `call`.
    fn enter(&mut self, call: CallId) {
        let parent = self.tree.parent(call);
        while self.open.len() > 1 && self.open.last().map(|&(top, _)| top) != parent {
            self.open.pop();
        }
        let cut = self.open.last().map_or(Nanos(i64::MAX), |&(_, end)| end);
        let end = self.tree.event(call).map_or(cut, |event| self.tree.trace().end(event));
        self.open.push((call, end.min(cut)));
        self.next.0 += 1;
        self.look_for_next();
    }
}
