//! Determines which change each item of the host timeline and each GPU event belongs to.

use super::parts::{Item, Point, Work};
use crate::analysis::account::Ledger;
use crate::analysis::changes::{Change, ChangeKind, Changes};
use crate::diff::{MergedNode, Relation, TraceDiff};
use crate::program::Measure;
use crate::side::Side;
use crate::tree::{CallId, CallKind};

/// The change that each call and each row belongs to.
#[derive(Debug)]
pub(super) struct Owners<'a> {
    diff: &'a TraceDiff,
    ledger: &'a Ledger,
    of_node: Vec<Option<u32>>,
    of_row: Vec<Option<u32>>,
    /// The change that replaces separate launches with a captured graph (or the reverse), if there is one.
    graphs: Option<u32>,
}

impl<'a> Owners<'a> {
    pub(super) fn of(diff: &'a TraceDiff, ledger: &'a Ledger, changes: &Changes) -> Owners<'a> {
        let merged = diff.merged();
        let mut claimed = vec![None; merged.len()];
        let mut of_row = vec![None; ledger.rows().len()];
        for (at, change) in (0..).zip(changes.list()) {
            // A matched call that merely allocates a different amount of memory runs the same code, so it
            // does not belong to the change.
            let is_of_memory = matches!(
                change.kind,
                ChangeKind::Leak | ChangeKind::Memory | ChangeKind::Workspace
            );
            for node in &change.nodes {
                let calls = merged.node(*node);
                let is_matched = Side::BOTH.iter().all(|&side| calls.call(side).is_some());
                if !(is_of_memory && is_matched) && claimed[node.index()].is_none() {
                    claimed[node.index()] = Some(at);
                }
            }
            for &row in &change.rows {
                of_row[row] = Some(at);
            }
        }
        let is_graphs = |change: &Change| change.kind == ChangeKind::Graphs;
        let graphs = changes.list().iter().position(is_graphs).map(|at| at as u32);
        // If a call is not itself part of a change, it is assigned to its parent's change in two cases: the
        // call is unmatched or renamed, or the parent is an op.
        let mut of_node = vec![None; merged.len()];
        for (id, node) in merged.nodes() {
            let own = claimed[id.index()].or(graphs.filter(|_| diff.is_captured_on_one_side(node)));
            of_node[id.index()] = match merged.parent(id) {
                Some(above) if own.is_none() => {
                    let is_matched = Side::BOTH.iter().all(|&side| node.call(side).is_some());
                    let is_in_op = Side::BOTH.iter().any(|&side| {
                        let call = merged.node(above).call(side);
                        call.is_some_and(|call| diff.tree(side).kind(call) == CallKind::Op)
                    });
                    let is_other_code = !is_matched || is_renamed(diff, node);
                    if is_other_code || is_in_op { of_node[above.index()] } else { None }
                }
                Some(_) | None => own,
            };
        }
        Owners { diff, ledger, of_node, of_row, graphs }
    }

    /// Whether the start and end of a call become points of the graph. This is the case if host time is
    /// measured, or if the call may launch work, wait for the GPU, or be part of a change. All other calls
    /// contribute only their host time to the graph.
    pub(super) fn may_matter(&self, side: Side, call: CallId) -> bool {
        let tree = self.diff.tree(side);
        let is_known = match tree.kind(call) {
            CallKind::Op => tree.is_gpu_path(call),
            CallKind::Frame => false,
            CallKind::Runtime | CallKind::Thread | CallKind::Unlinked | CallKind::Gpu => true,
        };
        is_known
            || self.ledger.measure() == Measure::HostSelfTime
            || self.diff.counterpart(side, call).is_none()
            || self.call(side, call).is_some()
    }

    fn call(&self, side: Side, call: CallId) -> Option<u32> {
        self.of_node[self.diff.merged().of(side, call).index()]
    }

    /// The change to which a call's host time belongs. The host time of a matched call belongs to a change
    /// only in three cases: host time is measured; the call is renamed, so the sides run different code; or a
    /// graph replays the call on one side, so the call takes no host time on that side.
    fn host(&self, side: Side, call: CallId) -> Option<u32> {
        match (self.diff.counterpart(side, call), self.ledger.measure()) {
            (None, _) => self.call(side, call),
            (Some(_), Measure::GpuTime) => {
                let diff = self.diff;
                let node = diff.merged().node(diff.merged().of(side, call));
                let renamed = self.call(side, call).filter(|_| is_renamed(diff, node));
                renamed.or(self.graphs.filter(|_| diff.is_captured_on_one_side(node)))
            }
            (Some(_), Measure::HostSelfTime) => {
                let row = self.ledger.row_index(self.diff, side, call);
                row.and_then(|row| self.of_row[row])
            }
        }
    }

    /// For each item, the change that its point belongs to, and the change that the host time before this
    /// point belongs to.
    pub(super) fn items(&self, side: Side, items: &[Item]) -> Vec<(Option<u32>, Option<u32>)> {
        let of = |item: &Item| {
            let point = match item.point {
                Point::Start(call) | Point::End(call) => self.call(side, call),
                Point::Step(_) => None,
            };
            (point, item.owner.and_then(|owner| self.host(side, owner)))
        };
        items.iter().map(of).collect()
    }

    /// For each GPU event, the change that includes the event's row or, if there is none, the change that the
    /// event's node in the merged tree belongs to.
    pub(super) fn works(&self, side: Side, works: &[Work]) -> Vec<Option<u32>> {
        let of = |work: &Work| {
            let row = self.ledger.row_index(self.diff, side, work.call);
            row.and_then(|row| self.of_row[row]).or_else(|| self.call(side, work.call))
        };
        works.iter().map(of).collect()
    }
}

/// Whether a merged node represents calls to different functions or ops on the two sides.
fn is_renamed(diff: &TraceDiff, node: MergedNode) -> bool {
    node.call(Side::Baseline)
        .is_some_and(|call| diff.relation(Side::Baseline, call) == Relation::Renamed)
}
