//! For a trace without GPU events, attributes each moment of the window to the innermost op. Time outside of ops counts
//! as host time.
//!
//! ```text
//! main       ├─ op a ────┤      ├─ op c ─┤
//! autograd            ├─ op b ─┤
//!            └─ busy: a ─┘└ b ─┘└busy: c─┘
//! ```
//! If ops run on two threads at the same moment, the moment counts only for the outermost op that started
//! first. Time outside of all ops is attributed to the host calls on the thread of the next op.

use super::boundaries::Boundaries;
use super::part::{Idle, IdleKind, Part};
use super::rows::Collector;
use super::sweep::Cursors;
use super::window::{Occupied, Window};
use crate::analysis::account::span;
use crate::order::Order as _;
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};

/// The outermost ops, sorted by start time. The function `part` returns the part of the wall time to which an
/// op's time is attributed.
fn outermost_ops(tree: &CallTree, part: impl Fn(CallId) -> Part) -> Vec<Occupied> {
    let mut ops = Vec::new();
    let mut next = 0;
    while next < tree.len() as u32 {
        let call = CallId(next);
        next += 1;
        if tree.kind(call) == CallKind::Op {
            next = tree.end(call).0;
            let (start, end) = span(tree, call);
            ops.push(Occupied { call: Some(call), start, end, part: part(call) });
        }
    }
    ops.order_by_key(|op| (op.start, op.end, op.call));
    ops
}

/// Divides the window into busy time and gaps, and passes them to `ledger`.
pub(super) fn sweep<'t>(
    tree: &'t CallTree,
    window: Window,
    boundaries: &Boundaries,
    part: impl Fn(CallId) -> Part,
    ledger: &mut Collector<'t>,
) {
    let mut walk = Walk { tree, cursors: Cursors::new(tree), ledger, gap: 0 };
    let mut reached = window.start;
    let mut last: Option<Occupied> = None;
    for op in outermost_ops(tree, part).iter().take_while(|op| op.start < window.end) {
        let (start, end) = window.clip(op.start, op.end);
        if start > reached {
            if let Some((at, part)) = boundaries.cut(reached, start, op.part) {
                let before = last.map(|last| Occupied { part, ..last });
                walk.gap(reached, at, before.as_ref(), IdleKind::Tail);
                reached = at;
            }
            if start > reached {
                walk.gap(reached, start, Some(op), IdleKind::Host);
            }
            reached = start;
        }
        if end > reached {
            walk.covered(reached, end, op);
            reached = end;
        }
        last = Some(*op);
    }
    if window.end > reached {
        walk.gap(reached, window.end, last.as_ref(), IdleKind::Tail);
    }
}

struct Walk<'t, 'l> {
    tree: &'t CallTree,
    cursors: Cursors<'t>,
    ledger: &'l mut Collector<'t>,
    gap: u32,
}

impl Walk<'_, '_> {
    /// Attributes a gap to the calls on the thread of `op`; if there is no `op`, the gap has no owner.
    fn gap(&mut self, from: Nanos, until: Nanos, op: Option<&Occupied>, kind: IdleKind) {
        self.gap += 1;
        let (gap, part) = (self.gap, op.map_or(Part::Window, |op| op.part));
        let idle = |owner, time| Idle { kind, part, owner, gap, time, before: None };
        let ledger = &mut *self.ledger;
        match op.and_then(|op| self.cursors.of_call(self.tree, op.call?)) {
            Some(cursor) => {
                cursor.spend(from, until, |call, time| {
                    ledger.idle(idle(Some(call), time));
                });
            }
            None => ledger.idle(idle(None, until - from)),
        }
    }

    fn covered(&mut self, from: Nanos, until: Nanos, op: &Occupied) {
        let (tree, gap, part) = (self.tree, self.gap, op.part);
        let ledger = &mut *self.ledger;
        let cursor = op.call.and_then(|call| self.cursors.of_call(tree, call));
        let Some(cursor) = cursor else { return };
        cursor.spend(from, until, |call, time| {
            let mut calls = std::iter::once(call).chain(tree.ancestors(call));
            match calls.find(|&above| tree.kind(above) == CallKind::Op) {
                Some(op) => ledger.busy(Some(op), part, time),
                // The recorded end of an op may be later than the end of its enclosing call or the start of the next
                // call. In this case, the cursor leaves the op at the earliest of the three times.
                None => {
                    let (kind, owner) = (IdleKind::Host, Some(call));
                    ledger.idle(Idle { kind, part, owner, gap, time, before: None });
                }
            }
        });
    }
}
