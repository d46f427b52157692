//! Hides calls from the alignment if only one side recorded calls of their kind.
//!
//! If only one of two runs was recorded with `with_stack`, the frames of that run cannot have counterparts. If these
//! frames were not hidden, they would lie between the ops and count as evidence against every match.
//!
//! ```text
//! trace1   step(forward(linear(addmm)))        aligned as   linear(addmm)
//! trace2   linear(addmm)                                    linear(addmm)
//! ```
//!
//! Captured calls are also hidden if the opposite side replays graphs whose captures are unknown. The arguments of a
//! kernel may name the part of the program that the kernel belongs to; such parts are hidden if no kernel on the
//! opposite side names a program part. The kernels of both replays are then aligned as if no captures or program parts
//! were known.
//!
//! The merged tree still contains the hidden calls: they are unmatched calls that enclose matched pairs.

use super::outline::Outline;
use super::ranges;
use crate::side::PerSide;
use crate::trace::CapturedAs;
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;

/// Kinds of calls that a profiler may omit while it records all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Optional {
    /// Python frames and built-in functions.
    Frame,
    /// `nn.Module: …`
    Module,
    /// Calls recorded while a graph was captured.
    Captured,
    /// The program part in which kernels of a graph were captured. Program parts are known only from the arguments of
    /// the kernels.
    Part,
}

impl Optional {
    const ALL: [Optional; 4] =
        [Optional::Frame, Optional::Module, Optional::Captured, Optional::Part];

    /// The optional kinds that apply to a call: none, one, or (for a captured frame) two.
    fn of(tree: &CallTree, call: u32) -> impl Iterator<Item = Optional> {
        let call = CallId(call);
        let kind = match tree.kind(call) {
            CallKind::Frame if tree.is_module(call) => Some(Optional::Module),
            CallKind::Frame => Some(Optional::Frame),
            CallKind::Thread
            | CallKind::Unlinked
            | CallKind::Op
            | CallKind::Runtime
            | CallKind::Gpu => None,
        };
        let captured = tree.captured_as(call).map(|known| match known {
            CapturedAs::Call => Optional::Captured,
            CapturedAs::Part => Optional::Part,
        });
        kind.into_iter().chain(captured)
    }
}

/// Which optional kinds of calls a thread contains, and which it could contain. Both arrays are indexed by
/// [`Optional`].
#[derive(Debug, Clone, Copy, Default)]
struct Recorded {
    /// For each kind, whether the thread contains a call of this kind.
    has: [bool; Optional::ALL.len()],
    /// For each kind, whether calls of this kind on the opposite side may have counterparts in this thread.
    can_have: [bool; Optional::ALL.len()],
}

/// In each matched thread, hides the kinds of calls that cannot have counterparts in the matching thread. In unmatched
/// threads, hides the kinds of calls that cannot have counterparts anywhere in the opposite trace. Also hides the calls
/// in `left_out`, and ranges whose names do not occur in the opposite trace.
pub(super) fn without_one_sided<'a>(
    trees: PerSide<&CallTree>,
    outlines: PerSide<Outline<'a>>,
    threads: &[(u32, u32)],
    left_out: PerSide<&Vec<bool>>,
) -> PerSide<Outline<'a>> {
    let ranges = ranges::one_sided(trees, outlines.as_ref());
    let recorded = PerSide::from_fn_at_once(|side| {
        let roots = outlines[side].roots();
        let of_root = |root| of_calls(trees[side], root..outlines[side].end(root));
        roots.into_iter().map(|root| (root, of_root(root))).collect::<Vec<_>>()
    });
    let anywhere = recorded.as_ref().map(|roots| {
        Optional::ALL.map(|kind| roots.iter().any(|(_, recorded)| recorded.can_have[kind as usize]))
    });
    let recorded_of = recorded.as_ref().map(|roots| roots.iter().copied().collect());
    let recorded_of: PerSide<FxHashMap<u32, Recorded>> = recorded_of;
    let counterparts: PerSide<FxHashMap<u32, u32>> = PerSide::new(
        threads.iter().copied().collect(),
        threads.iter().map(|&(a, b)| (b, a)).collect(),
    );
    let hidden = PerSide::from_fn(|side| {
        let mut hidden = left_out[side].clone();
        if !ranges[side].is_empty() {
            hidden.resize(outlines[side].len(), false);
            ranges[side].iter().for_each(|&range| hidden[range as usize] = true);
        }
        for &(root, mine) in &recorded[side] {
            let other = counterparts[side].get(&root);
            let theirs = other
                .map_or(anywhere[side.other()], |root| recorded_of[side.other()][root].can_have);
            let is_one_sided = |kind| mine.has[kind as usize] && !theirs[kind as usize];
            let one_sided = Optional::ALL.map(is_one_sided);
            if one_sided.contains(&true) {
                hidden.resize(outlines[side].len(), false);
                for call in root..outlines[side].end(root) {
                    let mut kinds = Optional::of(trees[side], call);
                    hidden[call as usize] |= kinds.any(|kind| one_sided[kind as usize]);
                }
            }
        }
        hidden
    });
    let hide = |outline: Outline<'a>, hidden: Vec<bool>| {
        if hidden.is_empty() { outline } else { outline.without(hidden) }
    };
    PerSide::new(
        hide(outlines.baseline, hidden.baseline),
        hide(outlines.candidate, hidden.candidate),
    )
}

fn of_calls(tree: &CallTree, calls: std::ops::Range<u32>) -> Recorded {
    let mut recorded = Recorded::default();
    let mut launches_graphs = false;
    let has_modules = tree.module_calls().next().is_some();
    for call in calls {
        let has = |kind: Optional| recorded.has[kind as usize];
        let frames_are_known = has(Optional::Frame) && (has(Optional::Module) || !has_modules);
        if !frames_are_known || tree.is_captured(CallId(call)) {
            Optional::of(tree, call).for_each(|kind| recorded.has[kind as usize] = true);
        }
        launches_graphs = launches_graphs || tree.is_graph_launch(CallId(call));
    }
    // Captured calls can match calls that ran eagerly. But if a thread launches graphs and contains no captured calls,
    // the captures are unknown, so captured calls cannot have counterparts in this thread.
    recorded.can_have = recorded.has;
    recorded.can_have[Optional::Captured as usize] |= !launches_graphs;
    recorded
}
