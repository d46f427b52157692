//! Maps uids between the two traces, in both directions.

use super::{Confidence, MergedId, Relation, TraceDiff};
use crate::side::{PerSide, Side};
use crate::trace::{EventId, Uid};
use crate::tree::CallId;

/// A line of the uid map: an event and its counterpart, or an event without a counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UidPair {
    /// Position of the event in the baseline's `traceEvents`; `None` if only the candidate has the event.
    pub baseline: Option<Uid>,
    /// Position of the event in the candidate's `traceEvents`; `None` if only the baseline has the event.
    pub candidate: Option<Uid>,
    /// How the two events relate to each other.
    pub relation: Relation,
    /// The confidence of the match; `None` if the event has no counterpart.
    pub confidence: Option<Confidence>,
    /// The node of the compiled region or multi-tensor op that contains the event, or that replaced
    /// it.
    pub region: Option<MergedId>,
}

impl TraceDiff {
    /// Lists every event of both trees exactly once. Events in the baseline come first, by uid.
    /// Candidate-only events follow, by uid.
    pub fn uid_map(&self) -> impl Iterator<Item = UidPair> + '_ {
        let pair = |side: Side| move |call| self.uid_pair(side, call);
        let is_alone = |&call: &CallId| self.counterpart_event(Side::Candidate, call).is_none();
        let alone = self.calls_by_uid(Side::Candidate).filter(is_alone);
        self.calls_by_uid(Side::Baseline)
            .map(pair(Side::Baseline))
            .chain(alone.map(pair(Side::Candidate)))
    }

    /// All calls on one side that are events in the trace file, sorted by uid, which is their order in the file.
    fn calls_by_uid(&self, side: Side) -> impl Iterator<Item = CallId> + '_ {
        let tree = self.tree(side);
        tree.trace().events().filter_map(|event| tree.call_of(event))
    }

    #[inline]
    fn counterpart_event(&self, side: Side, call: CallId) -> Option<EventId> {
        self.tree(side.other()).event(self.counterpart(side, call)?)
    }

    fn uid_pair(&self, side: Side, call: CallId) -> UidPair {
        let uid = |side: Side, event| self.tree(side).trace().uid(event);
        let own = self.tree(side).event(call).map(|event| uid(side, event));
        let other = self.counterpart_event(side, call).map(|event| uid(side.other(), event));
        let PerSide { baseline, candidate } = PerSide::seen_from(side, own, other);
        let region = self.region_of(side, call);
        let region = region.map(|at| self.region_node(&self.regions()[at]));
        UidPair {
            baseline,
            candidate,
            relation: self.relation(side, call),
            confidence: self.confidence(side, call),
            region,
        }
    }

    /// The uid in the opposite trace that corresponds to `uid` on `side`.
    ///
    /// Returns `None` if the event has no counterpart or is not part of the tree.
    ///
    /// ```
    /// use tracetree::{CallTree, Side, Trace, TraceDiff, Uid};
    ///
    /// let before = Trace::open("tests/fixtures/bias_add/baseline.json")?;
    /// let after = Trace::open("tests/fixtures/bias_add/candidate.json")?;
    /// let (baseline, candidate) = (CallTree::build(before), CallTree::build(after));
    /// let diff = TraceDiff::new(baseline, candidate);
    /// let counterpart = diff.corresponding_uid(Side::Baseline, Uid(4)).expect("a counterpart");
    /// assert_eq!(diff.corresponding_uid(Side::Candidate, counterpart), Some(Uid(4)));
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn corresponding_uid(&self, side: Side, uid: Uid) -> Option<Uid> {
        let tree = self.tree(side);
        let call = tree.call_of(tree.trace().event_at(uid)?)?;
        let other = self.counterpart_event(side, call)?;
        Some(self.tree(side.other()).trace().uid(other))
    }
}
