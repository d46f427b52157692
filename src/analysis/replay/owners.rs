//! The changes of a comparison → the change that each item of the host line and each work belongs to.

use super::recorded::{Item, Point, Work};
use crate::analysis::Analysis;
use crate::side::Side;
use crate::tree::{CallId, CallKind};

const NONE: u32 = u32::MAX;

/// The changes of calls and rows.
#[derive(Debug)]
pub(super) struct Owners<'a> {
    analysis: &'a Analysis,
    of_node: Vec<u32>,
    of_row: Vec<u32>,
}

impl<'a> Owners<'a> {
    pub(super) fn of(analysis: &'a Analysis) -> Owners<'a> {
        let diff = analysis.diff();
        let merged = diff.merged();
        let mut claimed = vec![NONE; merged.len()];
        let mut of_row = vec![NONE; analysis.rows().len()];
        for (at, change) in (0..).zip(analysis.changes().list()) {
            for node in &change.nodes {
                if claimed[node.index()] == NONE {
                    claimed[node.index()] = at;
                }
            }
            for &row in &change.rows {
                of_row[row] = at;
            }
        }
        // What is inside an unmatched call, or inside an op, belongs to the change of that call.
        let mut of_node = vec![NONE; merged.len()];
        for (id, node) in merged.nodes() {
            let own = claimed[id.index()];
            of_node[id.index()] = match merged.parent(id) {
                Some(above) if own == NONE => {
                    let is_matched = Side::BOTH.iter().all(|&side| node.call(side).is_some());
                    let is_in_op = Side::BOTH.iter().any(|&side| {
                        let call = merged.node(above).call(side);
                        call.is_some_and(|call| analysis.tree(side).kind(call) == CallKind::Op)
                    });
                    if !is_matched || is_in_op { of_node[above.index()] } else { NONE }
                }
                Some(_) | None => own,
            };
        }
        Owners { analysis, of_node, of_row }
    }

    fn call(&self, side: Side, call: CallId) -> u32 {
        self.of_node[self.analysis.diff().merged().of(side, call).index()]
    }

    /// The change of an unmatched call. Host times of matched calls belong to no change.
    fn unmatched(&self, side: Side, call: CallId) -> u32 {
        match self.analysis.diff().partner(side, call) {
            Some(_) => NONE,
            None => self.call(side, call),
        }
    }

    /// The changes of the point of each item and of the host time before it.
    pub(super) fn items(&self, side: Side, items: &[Item]) -> Vec<(u32, u32)> {
        let of = |item: &Item| {
            let point = match item.point {
                Point::Start(call) | Point::End(call) => self.call(side, call),
                Point::Step(_) => NONE,
            };
            (point, item.owner.map_or(NONE, |owner| self.unmatched(side, owner)))
        };
        items.iter().map(of).collect()
    }

    /// The change of each work: that of its row, otherwise that of its launch.
    pub(super) fn works(&self, side: Side, works: &[Work]) -> Vec<u32> {
        let of = |work: &Work| {
            let row = self.analysis.row_index(side, work.call).map_or(NONE, |row| self.of_row[row]);
            if row != NONE { row } else { self.call(side, work.call) }
        };
        works.iter().map(of).collect()
    }
}
