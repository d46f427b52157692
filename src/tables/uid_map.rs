//! The `uid_map` table: every event of both trees exactly once, with its counterpart.

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
    Columns::new()
        .column(uid1.side(Side::Baseline))
        .column(uid2.side(Side::Candidate))
        .word(
            "relation",
            "`same`, `renamed`, `moved`, `replaced`, `trace1_only`, `trace2_only`",
            |_, pair| pair.relation.label().into(),
        )
        .whole(
            "region",
            "merged-tree node of the region that contains or replaced the event; all members of a \
             region share one number",
            |_, pair| pair.region.map(|id| id.index()).into(),
        )
        .word(
            "confidence",
            "how sure the match is: `firm`, `likely` or `interchangeable`; empty without a \
             counterpart",
            |_, pair| pair.confidence.map_or("", Confidence::label).into(),
        )
        .whole(
            "group",
            "number of the group of calls that may be exchanged, if the match is interchangeable",
            |_, pair| pair.confidence.and_then(Confidence::group).into(),
        )
        .table(
            (
                name,
                "event of the two trees: those of the baseline by uid, then those of the candidate \
                 only",
            ),
            analysis,
            |analysis| Box::new(analysis.diff().uid_map()),
        )
}
