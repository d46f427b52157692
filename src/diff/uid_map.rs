//! Which event is which, by uid: the map both ways.

use super::{MergedId, Relation, TraceDiff};
use crate::side::Side;
use crate::trace::Uid;

/// One line of the uid map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UidPair {
    /// Position in the baseline's `traceEvents`.
    pub baseline: Option<Uid>,
    /// Position in the candidate's `traceEvents`.
    pub candidate: Option<Uid>,
    /// How the two relate.
    pub relation: Relation,
    /// The node of the region that the event is part of, or was replaced by.
    pub region: Option<MergedId>,
}

impl TraceDiff {
    /// Every event of both trees exactly once: by baseline uid, then those only in the candidate by
    /// theirs.
    pub fn uid_map(&self) -> impl Iterator<Item = UidPair> + '_ {
        let baseline = self.uid_pairs(Side::Baseline);
        baseline.chain(self.uid_pairs(Side::Candidate).filter(|pair| pair.baseline.is_none()))
    }

    /// The events of one side, which stand in the file in the order of their uids.
    fn uid_pairs(&self, side: Side) -> impl Iterator<Item = UidPair> + '_ {
        let (tree, other) = (self.tree(side), self.tree(side.other()));
        tree.trace().events().filter_map(move |event| {
            let call = tree.call_of(event)?;
            let partner = self.partner(side, call).and_then(|partner| other.event(partner));
            let uid = Some(tree.trace().uid(event));
            let other_uid = partner.map(|event| other.trace().uid(event));
            let (baseline, candidate) = match side {
                Side::Baseline => (uid, other_uid),
                Side::Candidate => (other_uid, uid),
            };
            let region = self.region_of(side, call);
            let region = region.map(|at| self.region_node(&self.regions()[at]));
            let relation = self.relation(side, call);
            Some(UidPair { baseline, candidate, relation, region })
        })
    }

    /// The uid of the event in the other trace that corresponds to `uid` of `side`.
    ///
    /// `None` if the event has no partner, or is no part of the tree.
    ///
    /// ```
    /// use tracetree::{CallTree, Side, Trace, TraceDiff, Uid};
    ///
    /// let before = Trace::open("tests/fixtures/bias_add/baseline.json")?;
    /// let after = Trace::open("tests/fixtures/bias_add/candidate.json")?;
    /// let (baseline, candidate) = (CallTree::build(before), CallTree::build(after));
    /// let diff = TraceDiff::new(baseline, candidate);
    /// let partner = diff.corresponding_uid(Side::Baseline, Uid(4)).expect("a partner");
    /// assert_eq!(diff.corresponding_uid(Side::Candidate, partner), Some(Uid(4)));
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn corresponding_uid(&self, side: Side, uid: Uid) -> Option<Uid> {
        let call = self
            .tree(side)
            .trace()
            .event_at(uid)
            .and_then(|event| self.tree(side).call_of(event))?;
        let other = self.tree(side.other());
        other.event(self.partner(side, call)?).map(|event| other.trace().uid(event))
    }
}
