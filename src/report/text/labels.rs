//! Names a node of the merged tree; the name is `a | b` if its calls were renamed or match only
//! because of an alias.

use crate::analysis::Analysis;
use crate::diff::{MergedNode, Relation, TraceDiff};
use crate::side::Side;
use crate::tree::CallId;
use std::borrow::Cow;

/// Name of a node. If the names of two matched calls differ only in a line number or an address, the baseline's name
/// is used.
#[doc(hidden)]
pub fn node_name<'d>(analysis: &'d Analysis, node: MergedNode) -> Cow<'d, str> {
    let name = |side: Side, call| analysis.tree(side).name(call);
    match named_by(analysis, node) {
        NamedBy::One(side, call) => Cow::Borrowed(name(side, call)),
        NamedBy::Two(a, b) => {
            Cow::Owned(format!("{} | {}", name(Side::Baseline, a), name(Side::Candidate, b)))
        }
    }
}

/// The one or two calls whose names form the name of a node.
pub(in crate::report) enum NamedBy {
    One(Side, CallId),
    Two(CallId, CallId),
}

pub(in crate::report) fn named_by(analysis: &Analysis, node: MergedNode) -> NamedBy {
    match node {
        MergedNode::Both(a, b) if has_two_names(analysis.diff(), a, b) => NamedBy::Two(a, b),
        MergedNode::Both(a, _) => NamedBy::One(Side::Baseline, a),
        MergedNode::Only(side, call) => NamedBy::One(side, call),
    }
}

fn has_two_names(diff: &TraceDiff, a: CallId, b: CallId) -> bool {
    diff.relation(Side::Baseline, a) == Relation::Renamed || diff.is_aliased(a, b)
}
