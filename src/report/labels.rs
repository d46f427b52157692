//! A node of the merged tree → its name: one, or `a | b` where it was renamed.

use crate::analysis::Analysis;
use crate::diff::{MergedNode, Relation};
use crate::side::Side;
use std::borrow::Cow;

/// Name of a node. Calls that are the same can differ in a line number or an address; then the name
/// is the baseline's.
pub fn node_name<'d>(analysis: &Analysis<'d>, node: MergedNode) -> Cow<'d, str> {
    let name = |side: Side, call| analysis.tree(side).name(call);
    match node {
        MergedNode::Both(a, b) => match analysis.diff().relation(Side::Baseline, a) {
            Relation::Renamed => {
                Cow::Owned(format!("{} | {}", name(Side::Baseline, a), name(Side::Candidate, b)))
            }
            Relation::Same | Relation::Moved | Relation::OnlyBaseline | Relation::OnlyCandidate => {
                Cow::Borrowed(name(Side::Baseline, a))
            }
        },
        MergedNode::Only(side, call) => Cow::Borrowed(name(side, call)),
    }
}
