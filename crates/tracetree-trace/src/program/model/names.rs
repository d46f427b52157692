//! Counts how often each name occurs in a tree. A trace has many calls but few names, so each name
//! is examined once.

use crate::trace::TextId;
use crate::tree::{CallKind, CallTree};

/// The kinds of calls whose names say something about the model.
const TELLING: [CallKind; 3] = [CallKind::Frame, CallKind::Op, CallKind::Gpu];

/// The names of the frames, ops and GPU events in a tree, each with the number of calls of this
/// kind that have this name.
pub(super) fn names(tree: &CallTree) -> Vec<(CallKind, &str, usize)> {
    let trace = tree.trace();
    let mut calls = vec![[0_u32; TELLING.len()]; trace.texts().len()];
    for call in tree.calls() {
        let kind = match tree.kind(call) {
            CallKind::Frame => 0,
            CallKind::Op => 1,
            CallKind::Gpu => 2,
            CallKind::Thread | CallKind::Runtime | CallKind::Unlinked => continue,
        };
        if let Some(event) = tree.event(call) {
            calls[trace.name_id(event).index()][kind] += 1;
        }
    }
    let mut names = Vec::new();
    for (name, calls) in (0..).map(TextId).zip(calls) {
        let counted = TELLING.into_iter().zip(calls).filter(|&(_, count)| count > 0);
        names.extend(counted.map(|(kind, count)| (kind, trace.text(name), count as usize)));
    }
    names
}
