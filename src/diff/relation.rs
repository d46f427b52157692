//! How a call relates to the opposite trace.

use crate::side::Side;

/// The entry of an unmatched call in a column that contains counterparts.
pub(super) const NONE: u32 = u32::MAX;

/// The relation of a call to the opposite trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// The call is matched to a call with the same key.
    Same,
    /// The call is matched to a call at the same position with a different name. Renamed calls are not common
    /// nodes.
    Renamed,
    /// The call is matched to a counterpart with the same key at a different position, or below a different caller.
    Moved,
    /// Only one trace has a compiled region here: the call is part of this region, or the region replaced the call.
    Replaced,
    /// The call exists only in the baseline.
    OnlyBaseline,
    /// The call exists only in the candidate.
    OnlyCandidate,
}

impl Relation {
    /// The name of the relation in tables: `same`, `renamed`, `moved`, `replaced`, `trace1_only`, `trace2_only`.
    pub fn label(self) -> &'static str {
        match self {
            Relation::Same => "same",
            Relation::Renamed => "renamed",
            Relation::Moved => "moved",
            Relation::Replaced => "replaced",
            Relation::OnlyBaseline => "trace1_only",
            Relation::OnlyCandidate => "trace2_only",
        }
    }

    /// Whether a call with this relation has a counterpart with the same key and can therefore be a
    /// lowest common node.
    #[doc(hidden)]
    pub fn is_common(self) -> bool {
        matches!(self, Relation::Same | Relation::Moved)
    }

    /// The relation of a call that exists only on the given side.
    #[doc(hidden)]
    pub fn only(side: Side) -> Relation {
        match side {
            Side::Baseline => Relation::OnlyBaseline,
            Side::Candidate => Relation::OnlyCandidate,
        }
    }
}
