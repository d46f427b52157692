//! Pairs of ops → the kernels that run under the same name on both sides: the same code, so that
//! another time comes from clocks, memory or the machine, or from another shape.

use super::most_time_first;
use crate::analysis::{Analysis, Row, Tally};
use crate::side::{PerSide, Side};
use crate::trace::TextId;
use crate::tree::CallId;
use std::collections::BTreeMap;

/// All events of one kernel under paired ops of one name and one set of shapes.
#[derive(Debug, Clone, PartialEq)]
pub struct SameKernelRow {
    /// Name of the pair of ops, or of their launch where there is no op.
    pub op: String,
    /// Name of the kernel.
    pub kernel: String,
    /// `Input Dims` of the baseline's and the candidate's op; empty where not recorded.
    pub shapes: PerSide<String>,
    /// The events.
    pub tally: Tally,
}

/// The kernels that both sides run under paired ops, and what is left.
#[derive(Debug, Clone, PartialEq)]
pub struct SameKernels {
    /// Most time of both sides first.
    pub rows: Vec<SameKernelRow>,
    /// All other events: with the rows they add up to the account.
    pub others: Tally,
}

impl SameKernels {
    /// The events of all rows and all others: every accounted event once.
    pub fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.rows.iter().map(|row| &row.tally).chain([&self.others])
    }
}

/// What makes two events of one row: op, kernel, shapes.
type Key<'a> = (String, &'a str, [&'a str; 2]);

impl Analysis {
    /// The kernels of equal name under paired ops.
    pub fn same_kernels(&self) -> SameKernels {
        let mut groups: BTreeMap<Key<'_>, Tally> = BTreeMap::new();
        let mut others = Tally::default();
        for row in self.rows() {
            let is_pair = row.calls.baseline.is_some() && row.calls.candidate.is_some();
            let op = self.row_name(row);
            for (kernel, events) in self.by_event_name(row) {
                let same = is_pair && events.iter().all(|list| !list.is_empty());
                let tally = match same {
                    true => groups.entry((op.clone(), kernel, self.shapes(row))).or_default(),
                    false => &mut others,
                };
                for (side, event) in Side::BOTH.into_iter().zip(events).flat_map(pairs) {
                    tally.add(side, event, self.time_of(side, event));
                }
            }
        }
        let mut rows: Vec<SameKernelRow> = groups
            .into_iter()
            .map(|((op, kernel, shapes), tally)| SameKernelRow {
                op,
                kernel: kernel.to_owned(),
                shapes: PerSide::new(shapes[0].to_owned(), shapes[1].to_owned()),
                tally,
            })
            .collect();
        rows.sort_by_cached_key(|row| most_time_first(&row.tally));
        SameKernels { rows, others }
    }

    /// The events of a row by name, baseline and candidate.
    fn by_event_name(&self, row: &Row) -> BTreeMap<&str, [Vec<CallId>; 2]> {
        let mut names: BTreeMap<&str, [Vec<CallId>; 2]> = BTreeMap::new();
        for (at, side) in Side::BOTH.into_iter().enumerate() {
            for &event in &row.events[side] {
                names.entry(self.tree(side).name(event)).or_default()[at].push(event);
            }
        }
        names
    }

    fn shapes(&self, row: &Row) -> [&str; 2] {
        Side::BOTH.map(|side| {
            let tree = self.tree(side);
            let arguments = row.calls[side].and_then(|call| tree.arguments(call));
            tree.trace().text(arguments.map_or(TextId::EMPTY, |arguments| arguments.dims))
        })
    }
}

fn pairs((side, events): (Side, Vec<CallId>)) -> impl Iterator<Item = (Side, CallId)> {
    events.into_iter().map(move |event| (side, event))
}
