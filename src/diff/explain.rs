//! Explains why a call was matched with its counterpart, with the evidence for the match and the possible
//! alternatives.

use super::align::Vocabulary;
use super::bags::Bags;
use super::keys::Keys;
use super::outline::{ArgumentIds, Outline};
use super::{Pass, Relation, TraceDiff, recorded, step_pairs};
use crate::program::counted;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallTree};

/// Maximum number of alternative counterparts to report.
const CANDIDATES: usize = 5;

/// A word that two names share.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct SharedWord {
    /// The shared word, in lower case.
    pub word: String,
    /// The weight of the word as evidence; a weight of 1 or more is enough on its own to show that two ops
    /// are related. The fewer distinct names contain the word, the larger its weight.
    pub weight: f64,
}

/// The evidence for and against matching two calls.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct PairEvidence {
    /// The call that the explained call could be matched with.
    pub call: CallId,
    /// Whether both calls have the same kind and name, ignoring anything that may differ between two runs.
    pub same_key: bool,
    /// Whether both calls have exactly the same name.
    pub same_name: bool,
    /// Whether the arguments (shapes, types, concrete inputs) of both calls are identical; `false` if a call has no
    /// arguments.
    pub same_arguments: bool,
    /// Whether everything below the two calls is identical, including kernel names.
    pub same_subtree: bool,
    /// Whether everything below the two calls is identical, ignoring kernel names.
    pub same_shape: bool,
    /// Number of names, arguments and GPU events that the two subtrees share.
    pub shared: u32,
    /// Number of names, arguments and GPU events in the larger of the two subtrees: `shared / of`
    /// is the similarity.
    pub of: u32,
    /// Difference between the positions of the two calls among their siblings.
    pub distance: u32,
    /// The call that `call` is matched with, if any.
    pub counterpart: Option<CallId>,
    /// The long words that both names contain, with their weights; empty if both calls have the same key.
    pub words: Vec<SharedWord>,
}

/// The explanation of a call's match.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The side that has the explained call.
    pub side: Side,
    /// The explained call.
    pub call: CallId,
    /// How the call relates to the opposite trace.
    pub relation: Relation,
    /// The pass of the alignment that matched the call; `None` if the call has no counterpart.
    pub pass: Option<Pass>,
    /// The evidence for the call's counterpart; `None` if the call has no counterpart.
    pub counterpart: Option<PairEvidence>,
    /// The best alternative counterparts at the same position in the opposite trace, best first.
    pub others: Vec<PairEvidence>,
}

impl TraceDiff {
    /// Explains how one call was matched. The evidence is recomputed, which takes about as long as reading both trees
    /// once.
    pub fn explain(&self, side: Side, call: CallId) -> Explanation {
        let mut keys = Keys::new(&self.options().aliases, self.windows());
        let mut arguments = ArgumentIds::of(self.trees());
        let outlines =
            self.trees().map(|tree| Outline::new(tree, &mut keys, &mut arguments).summed_up());
        let programs = self.programs.as_ref().map(|program| &**program);
        let left_out = step_pairs::left_out(programs, self.step_pairs());
        let outlines = recorded::without_one_sided(
            self.trees(),
            outlines,
            &self.thread_pairs(),
            left_out.as_ref(),
        );
        let mut view = View {
            diff: self,
            outlines: outlines.as_ref(),
            bags: Bags::new(outlines.as_ref()),
            words: Vocabulary::new(self.trees(), outlines.as_ref(), self.windows()),
            side,
            position: position(self.tree(side), call),
        };
        let counterpart = self.counterpart(side, call);
        let mut others: Vec<PairEvidence> = view
            .place_of(call)
            .into_iter()
            .filter(|&(other, _)| Some(other) != counterpart)
            .map(|(other, position)| view.evidence(call, other, position))
            .filter(|evidence| evidence.same_key || evidence.shared > 0)
            .collect();
        others.sort_by_key(|e| {
            (
                !e.same_key,
                !e.same_subtree,
                !e.same_shape,
                std::cmp::Reverse(e.shared),
                e.distance,
                e.call,
            )
        });
        others.truncate(CANDIDATES);
        Explanation {
            side,
            call,
            relation: self.relation(side, call),
            pass: self.matched_by(side, call),
            counterpart: counterpart.map(|counterpart| {
                view.evidence(call, counterpart, position(self.tree(side.other()), counterpart))
            }),
            others,
        }
    }
}

impl TraceDiff {
    /// The matched pairs of thread roots.
    fn thread_pairs(&self) -> Vec<(u32, u32)> {
        let roots = self.tree(Side::Baseline).roots();
        let pair = |root| Some((root, self.counterpart(Side::Baseline, root)?));
        roots.filter_map(pair).map(|(a, b)| (a.0, b.0)).collect()
    }
}

impl Explanation {
    /// Describes in words why a possible counterpart was not chosen.
    #[doc(hidden)]
    pub fn why_not(&self, other: &PairEvidence) -> String {
        let taken = match other.counterpart {
            Some(_) if !other.same_subtree => "; it has a counterpart of its own",
            Some(_) => "; its own counterpart is nearer",
            None => "",
        };
        let best = self.counterpart.as_ref();
        let reason = match best {
            _ if !other.same_key => "different name".to_owned(),
            Some(best) if best.same_subtree && !other.same_subtree => {
                "its subtree differs".to_owned()
            }
            Some(best) if best.same_arguments && !other.same_arguments => {
                "different arguments".to_owned()
            }
            Some(best) if best.shared * other.of > other.shared * best.of => {
                format!("less in common ({} of {})", other.shared, other.of)
            }
            Some(best) if is_more_alike(other, best) => {
                format!("more similar, but {} away", counted(u64::from(other.distance), "sibling"))
            }
            Some(_) => format!(
                "equally similar, but {} away",
                counted(u64::from(other.distance), "sibling")
            ),
            None => format!("{} of {} in common", other.shared, other.of),
        };
        reason + taken
    }
}

/// Whether the evidence for `one` is stronger than the evidence for `other`, regardless of position.
fn is_more_alike(one: &PairEvidence, other: &PairEvidence) -> bool {
    let evidence = |of: &PairEvidence| (of.same_subtree, of.same_arguments);
    evidence(one) > evidence(other)
        || (evidence(one) == evidence(other) && one.shared * other.of > other.shared * one.of)
}

struct View<'a> {
    diff: &'a TraceDiff,
    outlines: PerSide<&'a Outline<'a>>,
    bags: Bags<'a>,
    words: Vocabulary,
    side: Side,
    /// Number of siblings before the explained call.
    position: u32,
}

impl View<'_> {
    /// The possible counterparts of `call`, which are the children of two calls in the other trace: the parent of the
    /// call's counterpart, and the counterpart of the call's nearest matched ancestor. Each comes with the number of
    /// siblings before it.
    fn place_of(&self, call: CallId) -> Vec<(CallId, u32)> {
        let other = self.side.other();
        let above = self
            .diff
            .tree(self.side)
            .ancestors(call)
            .find_map(|above| self.diff.counterpart(self.side, above));
        let beside = self
            .diff
            .counterpart(self.side, call)
            .and_then(|counterpart| self.diff.tree(other).parent(counterpart));
        let mut calls: Vec<(CallId, u32)> = [above, beside]
            .into_iter()
            .flatten()
            .flat_map(|parent| self.diff.tree(other).children(parent).zip(0..))
            .collect();
        calls.sort();
        calls.dedup();
        calls
    }

    fn evidence(&mut self, call: CallId, other: CallId, position: u32) -> PairEvidence {
        let (mine, theirs) = (self.outlines[self.side], self.outlines[self.side.other()]);
        let (a, b) = (call.index(), other.index());
        let shared = self.bags.shared(PerSide::seen_from(self.side, call.0, other.0));
        let names =
            (self.diff.tree(self.side).name(call), self.diff.tree(self.side.other()).name(other));
        PairEvidence {
            call: other,
            same_key: mine.keys[a] == theirs.keys[b],
            same_name: names.0 == names.1,
            same_arguments: mine.arguments[a] != 0 && mine.arguments[a] == theirs.arguments[b],
            same_subtree: mine.exact[a] == theirs.exact[b],
            same_shape: mine.shape[a] == theirs.shape[b],
            shared,
            of: mine.weight(call.0).max(theirs.weight(other.0)),
            distance: self.position.abs_diff(position),
            counterpart: self.diff.counterpart(self.side.other(), other),
            words: self.words(call, other),
        }
    }

    fn words(&self, call: CallId, other: CallId) -> Vec<SharedWord> {
        let mine = self.outlines[self.side].keys[call.index()];
        let theirs = self.outlines[self.side.other()].keys[other.index()];
        let shared = self.words.shared(mine, theirs).filter(|_| mine != theirs);
        shared.map(|(word, weight)| SharedWord { word: word.to_owned(), weight }).collect()
    }
}

/// Number of siblings before a call.
fn position(tree: &CallTree, call: CallId) -> u32 {
    tree.parent(call).map_or(0, |parent| {
        tree.children(parent).take_while(|&sibling| sibling != call).count() as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(same_subtree: bool, same_arguments: bool, shared: u32, of: u32) -> PairEvidence {
        PairEvidence {
            call: CallId(0),
            same_key: true,
            same_name: true,
            same_arguments,
            same_subtree,
            same_shape: same_subtree,
            shared,
            of,
            distance: 3,
            counterpart: None,
            words: Vec::new(),
        }
    }

    #[test]
    fn otherwise_the_candidate_with_more_in_common_is_more_similar() {
        let better = |one: [u32; 4], two: [u32; 4]| {
            let of = |[tree, arguments, shared, of]: [u32; 4]| {
                evidence(tree > 0, arguments > 0, shared, of)
            };
            is_more_alike(&of(one), &of(two))
        };
        assert!(better([1, 0, 1, 9], [0, 1, 9, 9]) && !better([0, 1, 9, 9], [1, 0, 1, 9]));
        assert!(better([0, 1, 1, 9], [0, 0, 9, 9]) && !better([0, 0, 9, 9], [0, 1, 1, 9]));
        assert!(better([0, 0, 3, 4], [0, 0, 4, 6]) && !better([0, 0, 4, 6], [0, 0, 3, 4]));
        assert!(!better([0, 0, 2, 4], [0, 0, 3, 6]) && !better([1, 1, 4, 4], [1, 1, 4, 4]));
    }

    #[test]
    fn the_first_criterion_that_differs_explains_why_a_candidate_lost() {
        let why = |other: &PairEvidence, best: Option<PairEvidence>| {
            let explanation = Explanation {
                side: Side::Baseline,
                call: CallId(0),
                relation: Relation::Same,
                pass: None,
                counterpart: best,
                others: Vec::new(),
            };
            explanation.why_not(other)
        };
        let best = || Some(evidence(true, true, 4, 4));
        let renamed = PairEvidence { same_key: false, ..evidence(true, true, 4, 4) };
        assert_eq!(why(&renamed, best()), "different name");
        assert_eq!(why(&evidence(false, true, 4, 4), best()), "its subtree differs");
        assert_eq!(why(&evidence(true, false, 4, 4), best()), "different arguments");
        assert_eq!(why(&evidence(true, true, 3, 4), best()), "less in common (3 of 4)");
        assert_eq!(
            why(&evidence(true, true, 4, 4), best()),
            "equally similar, but 3 siblings away"
        );
        let little = Some(evidence(false, false, 1, 4));
        let more = evidence(false, false, 2, 4);
        assert_eq!(why(&more, little), "more similar, but 3 siblings away");
        assert_eq!(why(&more, None), "2 of 4 in common");
        let taken = PairEvidence { counterpart: Some(CallId(7)), ..evidence(true, true, 4, 4) };
        assert!(why(&taken, best()).ends_with("; its own counterpart is nearer"));
        let taken = PairEvidence { counterpart: Some(CallId(7)), ..evidence(false, true, 4, 4) };
        assert!(why(&taken, best()).ends_with("; it has a counterpart of its own"));
    }
}
