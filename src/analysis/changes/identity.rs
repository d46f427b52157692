//! Decides whether the two programs are identical, from everything that was recorded about them.
//!
//! The absence of changes proves nothing: a rule may overlook a call. Two programs are therefore identical only if no
//! change was found *and* nothing is left over: each op, launch and GPU event in the compared steps has a counterpart
//! with the same name, the same recorded arguments, and the same launch size or number of bytes. What was not recorded
//! limits the statement.

use crate::analysis::shared_texts::SharedTexts;
use crate::analysis::steps::StepPairs;
use crate::diff::{MergedNode, TraceDiff, is_generated};
use crate::program::{Unread, counted};
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Recorder, TextId};
use crate::tree::{CallId, CallKind};
use std::collections::BTreeMap;

/// What the two programs have in common, and what is left over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Identity {
    /// Whether at least one call in the compared steps is matched.
    pub(super) has_matches: bool,
    /// Whether a change of the program was found.
    pub(super) has_changes: bool,
    /// Number of ops, launches and GPU events without a counterpart that has the same name.
    pub(super) unmatched: u64,
    /// The name of the first of them.
    example: String,
    /// Number of matched ops that were called with other recorded arguments.
    arguments: u64,
    /// Number of matched GPU events with another launch size or another number of bytes.
    events: u64,
    /// Number of matched kernels that a compiler generated with another launch size. The compiler measures which size is
    /// fastest, so the size differs between two runs of one program.
    tuned: u64,
    /// Whether ops or GPU events were compared.
    has_work: bool,
    /// Whether arguments were compared.
    pub(super) has_arguments: bool,
    /// Whether calls seem to be in different places, because times in whole microseconds do not show how they nest.
    is_nested_otherwise: bool,
    /// Number of events that were not read, because their categories are unknown.
    unread: u64,
    /// Whether Python frames were compared.
    has_frames: bool,
    /// Whether Python frames were recorded on one side only.
    has_frames_on_one_side: bool,
}

impl Identity {
    pub(super) fn of(diff: &TraceDiff, compared: &StepPairs) -> Identity {
        let frames = frames(diff);
        let mut found = Identity {
            unread: Side::BOTH.map(|side| Unread::of(diff.tree(side).trace()).count()).iter().sum(),
            has_frames: frames.baseline && frames.candidate,
            has_frames_on_one_side: frames.baseline != frames.candidate,
            ..Identity::default()
        };
        let mut texts = SharedTexts::new(diff);
        let is_coarse = diff.coarse_tick().is_some();
        let mut unmatched: BTreeMap<&str, PerSide<Vec<usize>>> = BTreeMap::new();
        for (_, node) in diff.merged().nodes() {
            let mut calls = node.calls();
            if !calls.all(|(side, call)| compared.is_compared(diff, side, call)) {
                continue;
            }
            let is_unmatched = found.add(diff, node, &mut texts);
            for (side, call) in node.calls().filter(|_| is_unmatched && is_coarse) {
                unmatched.entry(diff.plain_name(side, call)).or_default()[side].push(call.index());
            }
        }
        if is_coarse {
            // Whole microseconds do not show below which call a call is, but they do show where in the trace it is.
            found.unmatched = unmatched.values().map(surplus).sum();
            let example = unmatched.iter().find(|(_, calls)| surplus(calls) > 0);
            found.example = example.map_or_else(String::new, |(name, _)| (*name).to_owned());
            found.is_nested_otherwise = !unmatched.is_empty() && found.unmatched == 0;
        }
        found
    }

    /// Adds a node, and returns whether it is a call without a counterpart that has the same name.
    fn add(&mut self, diff: &TraceDiff, node: MergedNode, texts: &mut SharedTexts<'_>) -> bool {
        let Some((side, call)) = node.calls().next() else { return false };
        let kind = diff.tree(side).kind(call);
        let is_counted = matches!(kind, CallKind::Op | CallKind::Runtime | CallKind::Gpu);
        let is_unmatched = is_counted && diff.is_difference(node);
        if is_unmatched {
            if self.unmatched == 0 {
                self.example = diff.plain_name(side, call).to_owned();
            }
            self.unmatched += 1;
        }
        if let MergedNode::Both(one, two) = node {
            self.has_matches |= kind != CallKind::Thread;
            self.arguments += u64::from(!other_arguments(diff, (one, two), texts).is_empty());
            self.has_work |= is_counted;
            if kind == CallKind::Gpu {
                let (bytes, grid) = other_sizes(diff, (one, two), texts);
                let is_tuned = grid && !bytes && is_compiled(diff, one);
                self.tuned += u64::from(is_tuned);
                self.events += u64::from((bytes || grid) && !is_tuned);
            }
        }
        is_unmatched
    }

    pub(super) fn is_identical(&self) -> bool {
        self.has_matches && !self.has_changes && self.remainder().is_none()
    }

    /// What differs although no change was found; `None` if nothing does.
    pub(crate) fn remainder(&self) -> Option<String> {
        if self.has_changes {
            return None;
        }
        let parts = [
            (self.unmatched > 0).then(|| {
                let calls = counted(self.unmatched, "call");
                format!("{calls} without a counterpart, such as {}", self.example)
            }),
            (self.arguments > 0)
                .then(|| format!("{} with other arguments", counted(self.arguments, "op"))),
            (self.events > 0).then(|| {
                let events = counted(self.events, "GPU event");
                format!("{events} with another launch size or number of bytes")
            }),
            (self.unread > 0).then(|| {
                format!("{} of unknown categories were not read", counted(self.unread, "event"))
            }),
        ];
        let found: Vec<String> = parts.into_iter().flatten().collect();
        (!found.is_empty()).then(|| found.join("; "))
    }

    /// What limits the statement that the programs are identical, as the end of a sentence; `None` if everything that
    /// tracetree reads was recorded, and is the same.
    pub(crate) fn limit(&self) -> Option<String> {
        let stacks = if self.has_frames_on_one_side {
            "Python stacks on one side, so loops in Python are invisible"
        } else {
            "Python stacks, so loops in Python are invisible"
        };
        let missing = [
            (!self.has_work).then_some("ops"),
            (self.has_work && !self.has_arguments).then_some("arguments"),
            (!self.has_frames).then_some(stacks),
        ];
        let missing: Vec<&str> = missing.into_iter().flatten().collect();
        let missing =
            (!missing.is_empty()).then(|| format!("not recorded: {}", missing.join(", ")));
        let tuned = (self.tuned > 0).then(|| {
            let kernels = counted(self.tuned, "compiled kernel");
            format!("{kernels} with another launch size, as after autotuning")
        });
        let nesting = self
            .is_nested_otherwise
            .then(|| "times in whole microseconds do not show how some calls nest".to_owned());
        let parts: Vec<String> = tuned.into_iter().chain(nesting).chain(missing).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Whether the tree of each side contains Python frames.
pub(super) fn frames(diff: &TraceDiff) -> PerSide<bool> {
    PerSide::from_fn(|side| {
        let tree = diff.tree(side);
        tree.calls().any(|call| tree.kind(call) == CallKind::Frame)
    })
}

/// The number of calls of one name that have no counterpart at about the same position in the order of all calls.
fn surplus(calls: &PerSide<Vec<usize>>) -> u64 {
    /// By how many calls a position may differ. Calls that begin within the same microsecond may change places.
    const NEAR: usize = 16;
    let (mut one, mut two) = (calls.baseline.clone(), calls.candidate.clone());
    one.sort_unstable();
    two.sort_unstable();
    let apart = one.iter().zip(&two).filter(|(a, b)| a.abs_diff(**b) > NEAR).count();
    (one.len().abs_diff(two.len()) + apart) as u64
}

/// Whether the GPU events of each side were recorded. A side that launches work without a single GPU event was recorded
/// without them; on a side that launches nothing, nothing is missing.
pub(super) fn gpu_events(diff: &TraceDiff) -> PerSide<bool> {
    PerSide::from_fn(|side| {
        let tree = diff.tree(side);
        let has = |kind| tree.calls().any(|call| tree.kind(call) == kind);
        has(CallKind::Gpu) || !has(CallKind::Runtime)
    })
}

/// Whether a node is a frame although the opposite side recorded no frames, a scope on a pool of threads, or a wait of
/// XLA's runtime. Such a frame says nothing about the program; it only labels the calls inside it.
pub(super) fn is_label(diff: &TraceDiff, frames: &PerSide<bool>, node: MergedNode) -> bool {
    let is_scope = |(side, call)| {
        let tree = diff.tree(side);
        tree.kind(call) == CallKind::Frame && (tree.is_pooled(call) || tree.is_wait(call))
    };
    if node.calls().all(is_scope) {
        return true;
    }
    match node {
        MergedNode::Only(side, call) => {
            diff.tree(side).kind(call) == CallKind::Frame && !frames[side.other()]
        }
        MergedNode::Both(..) => false,
    }
}

/// The recorded arguments that differ between two matched calls.
pub(super) fn other_arguments(
    diff: &TraceDiff,
    (a, b): (CallId, CallId),
    texts: &mut SharedTexts<'_>,
) -> Vec<Argument> {
    let [one, two] = [(Side::Baseline, a), (Side::Candidate, b)]
        .map(|(side, call)| diff.tree(side).arguments(call));
    let (Some(one), Some(two)) = (one, two) else { return Vec::new() };
    let mut differs = |which: Argument| {
        let (one, two) = (one.text(which), two.text(which));
        one != TextId::EMPTY
            && two != TextId::EMPTY
            && texts.number(Side::Baseline, one) != texts.number(Side::Candidate, two)
    };
    Argument::ALL.into_iter().filter(|&which| differs(which)).collect()
}

/// Whether two matched GPU events move a different number of bytes, and whether they have different launch sizes. Values
/// that only one side recorded are ignored.
fn other_sizes(
    diff: &TraceDiff,
    (one, two): (CallId, CallId),
    texts: &mut SharedTexts<'_>,
) -> (bool, bool) {
    let mut sizes = |side: Side, call: CallId| {
        let tree = diff.tree(side);
        let (trace, event) = (tree.trace(), tree.event(call)?);
        let grid = trace.grids().get(event).map(|grid| [grid.grid, grid.block]);
        let grid = grid.map(|grid| grid.map(|text| texts.number(side, text)));
        Some((trace.gpu_bytes().get(event).copied(), grid))
    };
    let sizes = sizes(Side::Baseline, one).zip(sizes(Side::Candidate, two));
    sizes.map_or((false, false), |((bytes, grid), (other_bytes, other_grid))| {
        (
            bytes.zip(other_bytes).is_some_and(|(one, two)| one != two),
            grid.zip(other_grid).is_some_and(|(one, two)| one != two),
        )
    })
}

/// Whether a compiler generated a kernel.
fn is_compiled(diff: &TraceDiff, call: CallId) -> bool {
    let tree = diff.tree(Side::Baseline);
    tree.trace().header().recorder == Recorder::Xla || is_generated(tree.name(call))
}

#[cfg(test)]
mod tests {
    use super::surplus;
    use crate::side::PerSide;

    #[test]
    fn a_call_that_is_elsewhere_in_the_trace_is_not_only_nested_otherwise() {
        let of = |one: &[usize], two: &[usize]| surplus(&PerSide::new(one.to_vec(), two.to_vec()));
        assert_eq!(of(&[7, 40], &[41, 5]), 0);
        assert_eq!(of(&[7, 40], &[7, 90]), 1);
        assert_eq!(of(&[7], &[7, 9]), 1);
    }
}
