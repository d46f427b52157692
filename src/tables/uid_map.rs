//! The `uid_map` table, which lists every event of both trees exactly once, together with its
//! counterpart.

use super::table::{Column, ColumnType, Columns, Table};
use crate::analysis::Analysis;
use crate::diff::{Confidence, UidPair};
use crate::side::Side;
use std::sync::Arc;

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    const MEANING: &str = "the event in each trace; -1 if it has no counterpart";
    let uid1 = Column::new("uid1", ColumnType::Uid, MEANING, |_: &Analysis, pair: &UidPair| {
        pair.baseline.map(|uid| uid.0).into()
    });
    let uid2 = Column::new("uid2", ColumnType::Uid, MEANING, |_: &Analysis, pair: &UidPair| {
        pair.candidate.map(|uid| uid.0).into()
    });
    Columns::default()
        .column(uid1.side(Side::Baseline))
        .column(uid2.side(Side::Candidate))
        .word(
            "relation",
            "`same`, `renamed`, `moved`, `replaced`, `trace1_only`, `trace2_only`",
            |_, pair| pair.relation.label().into(),
        )
        .whole(
            "region",
            "the region that contains the event or replaced it, as the number of a node in the merged tree; this \
             number is the same for all events in a region",
            |_, pair| pair.region.map(|id| id.index()).into(),
        )
        .word(
            "confidence",
            "confidence in the match: `firm`, `likely` or `interchangeable`; empty without a counterpart",
            |_, pair| pair.confidence.map_or("", Confidence::label).into(),
        )
        .whole(
            "group",
            "if the match is interchangeable: id of the group of calls whose matches may be swapped",
            |_, pair| pair.confidence.and_then(Confidence::group).into(),
        )
        .table(
            (
                name,
                "one row per event in either tree: the baseline's events by uid, then events that only the \
                 candidate has",
            ),
            analysis,
            |analysis| Box::new(analysis.diff().uid_map()),
        )
}
