//! Defines the columns with the uids of calls, which several tables share.

use super::table::{Cell, Column, ColumnType, Columns};
use crate::analysis::Analysis;
use crate::side::Side;
use crate::tree::CallId;

/// The columns `uid1` and `uid2`. The function `call` returns the call of a row on a side.
pub(super) fn columns<R: 'static>(
    meaning: &'static str,
    call: fn(&Analysis, &R, Side) -> Option<CallId>,
) -> Columns<Analysis, R> {
    let column = |name: &str, side: Side| {
        let column = Column::new(name, ColumnType::Uid, meaning, move |a: &Analysis, r: &R| {
            uid(a, side, call(a, r, side))
        });
        column.side(side)
    };
    Columns::default()
        .column(column("uid1", Side::Baseline))
        .column(column("uid2", Side::Candidate))
}

/// The uid of a call; an empty cell if there is no call, or if the call is not an event.
pub(super) fn uid(analysis: &Analysis, side: Side, call: Option<CallId>) -> Cell<'static> {
    let tree = analysis.tree(side);
    let event = call.and_then(|call| tree.event(call));
    event.map(|event| tree.trace().uid(event).0).into()
}
