//! Which event is which, by uid: the map both ways.

use super::{Relation, TraceDiff};
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
}

impl TraceDiff<'_> {
    /// Every event of both trees exactly once: by baseline uid, then those only in the candidate.
    pub fn uid_map(&self) -> Vec<UidPair> {
        let mut map = Vec::with_capacity(self.trees.baseline.len() + self.trees.candidate.len());
        for side in Side::BOTH {
            let tree = self.trees[side];
            for call in tree.calls() {
                let partner = self.partner(side, call);
                let Some(event) =
                    tree.event(call).filter(|_| side == Side::Baseline || partner.is_none())
                else {
                    continue;
                };
                let uid = Some(tree.trace().uid(event));
                let other = self.trees[side.other()];
                let other_uid = partner.and_then(|p| other.event(p)).map(|e| other.trace().uid(e));
                let relation = self.relation(side, call);
                map.push(match side {
                    Side::Baseline => UidPair { baseline: uid, candidate: other_uid, relation },
                    Side::Candidate => UidPair { baseline: other_uid, candidate: uid, relation },
                });
            }
        }
        map.sort_by_key(|pair| (pair.baseline.is_none(), pair.baseline, pair.candidate));
        map
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
    /// let (baseline, candidate) = (CallTree::build(&before), CallTree::build(&after));
    /// let diff = TraceDiff::new(&baseline, &candidate);
    /// let partner = diff.corresponding_uid(Side::Baseline, Uid(4)).expect("a partner");
    /// assert_eq!(diff.corresponding_uid(Side::Candidate, partner), Some(Uid(4)));
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn corresponding_uid(&self, side: Side, uid: Uid) -> Option<Uid> {
        let call = self.trees[side]
            .trace()
            .event_at(uid)
            .and_then(|event| self.trees[side].call_of(event))?;
        let other = self.trees[side.other()];
        other.event(self.partner(side, call)?).map(|event| other.trace().uid(event))
    }
}
