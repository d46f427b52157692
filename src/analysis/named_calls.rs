//! Groups all ops, or all calls into the GPU runtime, by name. Tables of GPU time omit most of these calls,
//! because most of them launch no GPU work.

use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// The calls on both sides that share a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedCalls {
    /// The name of the calls, without details that may differ between two runs of the same code. Calls into the
    /// GPU runtime are named without the vendor's prefix, and all kinds of kernel launches are named `launch`.
    pub name: String,
    /// Number of calls.
    pub calls: PerSide<u64>,
    /// Number of calls that are inside a step.
    pub in_steps: PerSide<u64>,
    /// Number of calls that have a counterpart with the same name or with an alias of the name.
    pub matched: PerSide<u64>,
    /// Host time of the calls; a call nested in a call with the same name does not count again.
    pub host_total: PerSide<Nanos>,
    /// Host time of the calls, excluding nested ops, frames and runtime calls.
    pub host_self: PerSide<Nanos>,
    /// Time of the GPU events that the calls launched. Events that were launched by a nested op count only
    /// for the nested op.
    pub gpu: PerSide<Nanos>,
}

/// All ops by name, sorted by the absolute difference in GPU time, then in host self time,
/// largest first.
pub fn ops_by_name(diff: &TraceDiff) -> Vec<NamedCalls> {
    calls_by_name(diff, CallKind::Op)
}

/// The ops that only `side` calls, in the order of [`ops_by_name`].
pub fn ops_only_on(ops: &[NamedCalls], side: Side) -> Vec<NamedCalls> {
    ops.iter().filter(|op| op.calls[side.other()] == 0).cloned().collect()
}

/// All calls into the GPU runtime and driver by name, in the order of [`ops_by_name`].
pub fn api_calls_by_name(diff: &TraceDiff) -> Vec<NamedCalls> {
    calls_by_name(diff, CallKind::Runtime)
}

fn calls_by_name(diff: &TraceDiff, kind: CallKind) -> Vec<NamedCalls> {
    let mut groups = Groups::default();
    for side in Side::BOTH {
        groups.add(diff, side, kind);
    }
    let mut all = groups.all;
    let distance = |times: PerSide<Nanos>| (times.candidate.0 - times.baseline.0).abs();
    all.order_by(|one, two| {
        let order =
            |calls: &NamedCalls| (Reverse(distance(calls.gpu)), Reverse(distance(calls.host_self)));
        order(one).cmp(&order(two)).then_with(|| one.name.cmp(&two.name))
    });
    all
}

#[derive(Debug, Default)]
struct Groups {
    all: Vec<NamedCalls>,
    by_name: FxHashMap<String, usize>,
}

/// A host call that is still open at the current position of the preorder traversal.
struct Open {
    call: CallId,
    /// The group that the call belongs to; `None` if calls of this kind are not grouped.
    group: Option<usize>,
}

impl Groups {
    fn of(&mut self, name: &str) -> usize {
        if let Some(&group) = self.by_name.get(name) {
            return group;
        }
        self.all.push(NamedCalls { name: name.to_owned(), ..NamedCalls::default() });
        self.by_name.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    /// Adds all calls of one kind on one side.
    fn add(&mut self, diff: &TraceDiff, side: Side, kind: CallKind) {
        let tree = diff.tree(side);
        let steps = diff.steps(side);
        let mut open: Vec<Open> = Vec::new();
        for call in tree.calls() {
            while open.last().is_some_and(|above| tree.end(above.call) <= call) {
                open.pop();
            }
            let duration = tree.duration(call);
            match tree.kind(call) {
                CallKind::Thread | CallKind::Unlinked => continue,
                CallKind::Gpu => {
                    // GPU time is attributed to the nearest enclosing call that belongs to a group.
                    let above = open.iter().rev().find_map(|above| above.group);
                    if let Some(group) = above {
                        self.all[group].gpu[side] += duration;
                    }
                    continue;
                }
                CallKind::Frame | CallKind::Op | CallKind::Runtime => {}
            }
            // Captured calls take no host time, because only their kernels run when the graph is launched.
            let is_timed = !tree.is_captured(call);
            if let Some(group) = open.last().and_then(|above| above.group).filter(|_| is_timed) {
                self.all[group].host_self[side] -= duration;
            }
            let group = (tree.kind(call) == kind).then(|| {
                let name = match diff.relation(side, call).is_common() {
                    // Calls whose names are aliases of each other form one group.
                    true => diff.plain_name(Side::Baseline, self::baseline(diff, side, call)),
                    false => diff.plain_name(side, call),
                };
                let group = self.of(name);
                let is_inside_its_like = open.iter().any(|above| above.group == Some(group));
                let calls = &mut self.all[group];
                calls.calls[side] += 1;
                calls.in_steps[side] += u64::from(steps.step(call).is_some());
                calls.matched[side] += u64::from(diff.relation(side, call).is_common());
                if is_timed {
                    calls.host_self[side] += duration;
                    calls.host_total[side] +=
                        if is_inside_its_like { Nanos::ZERO } else { duration };
                }
                group
            });
            open.push(Open { call, group });
        }
    }
}

/// The call itself if it is a baseline call, otherwise its counterpart in the baseline.
fn baseline(diff: &TraceDiff, side: Side, call: CallId) -> CallId {
    match side {
        Side::Baseline => call,
        Side::Candidate => {
            diff.counterpart(side, call).expect("every common call has a counterpart")
        }
    }
}
