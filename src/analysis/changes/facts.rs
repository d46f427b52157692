//! Collects the facts about a comparison that do not depend on times: differences in arguments, kernels and
//! calls.

use super::identity::{self, other_arguments};
use crate::analysis::account::{Ledger, Row, RowKind};
use crate::analysis::shared_texts::SharedTexts;
use crate::analysis::steps::StepPairs;
use crate::analysis::wall::is_of_other_steps;
use crate::diff::{Confidence, MergedId, MergedNode, Relation, TraceDiff};
use crate::program::Measure;
use crate::side::Side;
use crate::trace::{Argument, Category};
use crate::tree::{CallId, CallKind};

/// The differences between the two programs, in merged-tree order.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Matched ops whose arguments differ between the sides.
    pub(super) arguments: Vec<(MergedId, Vec<Argument>)>,
    /// Whether the arguments of at least one matched op were recorded on both sides.
    pub(super) has_arguments: bool,
    /// Number of ops in the compared steps of both sides. `matched_ops` is the number of these ops that have a
    /// counterpart or were replaced by a region.
    ops: u64,
    matched_ops: u64,
    /// GPU time in the compared steps of both sides, in ns. `firm_time` is the part of this time that belongs to firmly
    /// matched calls.
    gpu_time: i64,
    firm_time: i64,
    /// Matched ops that were moved: their position among the calls of the enclosing op or module differs between the
    /// sides.
    pub(super) moved: Vec<MergedId>,
    /// The outermost calls that have no counterpart with the same name, except compiled regions and graphs that
    /// replaced calls.
    pub(super) calls: Vec<MergedId>,
    /// Positions of the attribution rows of matched calls that run different kernels on the two sides.
    pub(super) kernels: Vec<usize>,
}

impl Facts {
    pub(super) fn of(diff: &TraceDiff, ledger: &Ledger, compared: &StepPairs) -> Facts {
        let mut texts = SharedTexts::new(diff);
        let mut facts = Facts::default();
        for (id, node) in diff.merged().nodes() {
            facts.count(diff, compared, node);
            let MergedNode::Both(a, b) = node else { continue };
            let (one, two) = (diff.tree(Side::Baseline), diff.tree(Side::Candidate));
            let is_op = one.kind(a) == CallKind::Op;
            if is_op
                && diff.relation(Side::Baseline, a) == Relation::Moved
                && !one.is_pooled(a)
                && compared.is_compared(diff, Side::Baseline, a)
            {
                facts.moved.push(id);
            }
            // Ops without GPU work, such as views and allocations, are skipped, because they occur
            // only as a consequence of other ops.
            let works = || {
                ledger.measure() == Measure::HostSelfTime
                    || one.is_gpu_path(a)
                    || two.is_gpu_path(b)
            };
            // The arguments of ops with different names cannot be compared.
            let is_comparable = is_op && !diff.is_difference(node);
            if is_comparable && works() && compared.is_compared(diff, Side::Baseline, a) {
                facts.has_arguments |= one.arguments(a).is_some() && two.arguments(b).is_some();
                let other = other_arguments(diff, (a, b), &mut texts);
                if !other.is_empty() {
                    facts.arguments.push((id, other));
                }
            }
        }
        facts.calls = roots(diff, compared);
        // Kernels that were not recorded are not other kernels.
        let has_gpu = identity::gpu_events(diff);
        if ledger.measure() == Measure::GpuTime && has_gpu.baseline == has_gpu.candidate {
            let rows = ledger.rows().iter().enumerate();
            let other = rows.filter(|(_, row)| runs_other_kernels(diff, compared, row, &mut texts));
            facts.kernels = other.map(|(at, _)| at).collect();
        }
        facts
    }
}

/// Whether the first op of the model has larger or smaller inputs: the first matched op in a module or, without modules,
/// the first matched op with recorded shapes.
pub(super) fn is_first_input_larger(diff: &TraceDiff) -> bool {
    let tree = diff.tree(Side::Baseline);
    let has_modules = tree.module_calls().next().is_some();
    let is_of_model = |call: &CallId| {
        tree.kind(*call) == CallKind::Op
            && (!has_modules || tree.module(*call).is_some())
            && tree.arguments(*call).is_some_and(|arguments| {
                tree.trace()
                    .text(arguments.text(Argument::Shape))
                    .contains(|c: char| c.is_ascii_digit())
            })
    };
    let Some((one, two)) = tree
        .calls()
        .filter(is_of_model)
        .find_map(|call| Some((call, diff.counterpart(Side::Baseline, call)?)))
    else {
        return false;
    };
    let mut texts = SharedTexts::new(diff);
    other_arguments(diff, (one, two), &mut texts).contains(&Argument::Shape)
}

impl Facts {
    fn count(&mut self, diff: &TraceDiff, compared: &StepPairs, node: MergedNode) {
        for (side, call) in
            node.calls().filter(|&(side, call)| compared.is_compared(diff, side, call))
        {
            match diff.tree(side).kind(call) {
                CallKind::Op => {
                    self.ops += 1;
                    let is_matched = matches!(node, MergedNode::Both(..));
                    self.matched_ops +=
                        u64::from(is_matched || diff.region_of(side, call).is_some());
                }
                CallKind::Gpu => {
                    let time = diff.tree(side).duration(call).0;
                    self.gpu_time += time;
                    self.firm_time += if is_firm(diff, side, call) { time } else { 0 };
                }
                CallKind::Thread | CallKind::Unlinked | CallKind::Frame | CallKind::Runtime => {}
            }
        }
    }

    /// Share of the GPU time that belongs to firmly matched calls; `None` if there is no GPU time.
    pub(super) fn firm_share(&self) -> Option<f64> {
        (self.gpu_time > 0).then(|| self.firm_time as f64 / self.gpu_time as f64)
    }

    /// Share of the ops that have a counterpart or were replaced by a region.
    pub(super) fn matched_share(&self) -> f64 {
        if self.ops == 0 { 1.0 } else { self.matched_ops as f64 / self.ops as f64 }
    }
}

/// Whether a GPU event, or the op or frame that launched it, is firmly matched. An op may launch different
/// kernels on the two sides, so a kernel counts as firmly matched if its op is.
fn is_firm(diff: &TraceDiff, side: Side, event: CallId) -> bool {
    let tree = diff.tree(side);
    let is_host = |&above: &CallId| matches!(tree.kind(above), CallKind::Op | CallKind::Frame);
    let mut calls = std::iter::once(event).chain(tree.ancestors(event).find(is_host));
    calls.any(|call| diff.confidence(side, call) == Some(Confidence::Firm))
}

/// The outermost calls that have no counterpart with the same name. Only calls in compared steps and outside of regions
/// are returned. A call below a differing call belongs to the latter if it is returned. A thread, or a frame outside of
/// the steps, is not returned; then the frames below it are ignored, too, but the ops are returned. Frames that only one
/// side recorded are ignored.
fn roots(diff: &TraceDiff, compared: &StepPairs) -> Vec<MergedId> {
    let merged = diff.merged();
    let frames = identity::frames(diff);
    let (mut differs, mut is_claimed) = (vec![false; merged.len()], vec![false; merged.len()]);
    let mut roots = Vec::new();
    for (id, node) in merged.nodes() {
        let of_parent =
            |known: &[bool]| merged.parent(id).is_some_and(|above| known[above.index()]);
        let (is_inside, is_in_root) = (of_parent(&differs), of_parent(&is_claimed));
        let is_alone = matches!(node, MergedNode::Only(..));
        let kind = node.calls().next().map(|(side, call)| diff.tree(side).kind(call));
        differs[id.index()] = is_inside && is_alone
            || diff.is_difference(node)
                && !is_same_function(diff, node)
                && !identity::is_label(diff, &frames, node);
        is_claimed[id.index()] = is_in_root && is_alone
            || differs[id.index()]
                && (!is_inside || kind != Some(CallKind::Frame))
                && is_claimed_by_calls(diff, compared, node);
        if is_claimed[id.index()] && !is_in_root {
            roots.push(id);
        }
    }
    roots
}

/// Whether a node consists of two matched frames of the same function in files with the same name. The files
/// may be in different folders.
fn is_same_function(diff: &TraceDiff, node: MergedNode) -> bool {
    let MergedNode::Both(a, b) = node else { return false };
    let name = |side: Side, call| {
        let name = diff.plain_name(side, call);
        name.rsplit('/').next().unwrap_or(name)
    };
    diff.tree(Side::Baseline).kind(a) == CallKind::Frame
        && name(Side::Baseline, a) == name(Side::Candidate, b)
}

/// Whether all calls of a node are in compared steps and outside of regions, and are ops, frames, or unmatched runtime
/// calls outside of ops. Runtime calls inside an op are not compared as calls; the op's kernels are compared instead.
fn is_claimed_by_calls(diff: &TraceDiff, compared: &StepPairs, node: MergedNode) -> bool {
    node.calls().all(|(side, call)| {
        let tree = diff.tree(side);
        let is_in_op = || tree.parent(call).is_some_and(|above| tree.kind(above) == CallKind::Op);
        let is_claimed = match tree.kind(call) {
            CallKind::Op | CallKind::Frame => true,
            CallKind::Runtime => matches!(node, MergedNode::Only(..)) && !is_in_op(),
            CallKind::Thread | CallKind::Unlinked | CallKind::Gpu => false,
        };
        is_claimed
            && diff.compiled_region_of(side, call).is_none()
            && compared.is_compared(diff, side, call)
    })
}

/// Whether a row has a call on both sides, and these calls run kernels with different names or a different number of
/// kernels.
fn runs_other_kernels(
    diff: &TraceDiff,
    compared: &StepPairs,
    row: &Row,
    texts: &mut SharedTexts<'_>,
) -> bool {
    let is_on_both = row.calls.baseline.is_some() && row.calls.candidate.is_some();
    if !is_on_both || row.kind == RowKind::Replaced || is_of_other_steps(diff, compared, row) {
        return false;
    }
    // If a call is captured in a graph, memsets are ignored, because a captured memset may be replayed under a
    // different name or as a kernel.
    let is_captured = Side::BOTH
        .into_iter()
        .any(|side| row.calls[side].is_some_and(|call| diff.tree(side).is_captured(call)));
    let mut names = |side: Side| {
        let tree = diff.tree(side);
        let is_memset = |call: CallId| {
            let event = tree.event(call);
            event.is_some_and(|event| tree.trace().category(event) == Category::Memset)
        };
        let events = row.events[side].iter().filter(|&&event| !is_captured || !is_memset(event));
        let mut names: Vec<u32> = events.map(|&event| texts.of_event(side, event)).collect();
        names.sort_unstable();
        names
    };
    names(Side::Baseline) != names(Side::Candidate)
}
