//! Expands the wrappers and finds the variants of ops in a gap between two matched siblings.
//!
//! ```text
//! trace1   z(…)            trace2   W(z(…))        W is a wrapper: z is matched one level deeper
//! trace1   miopen(k k)     trace2   cudnn(k k)     renamed: same position, same work below
//! ```
//!
//! A call is expanded if expanding it matches more tokens than keeping it. If a call is expanded, its contents can
//! match anything on the opposite side of the gap. If it is kept, it is matched as a whole with its best counterpart (a
//! call with a different name), and its contents can match only the contents of this counterpart.

use super::renames::are_out_of_proportion;
use super::vocabulary::Vocabulary;
use crate::diff::bags::{Bag, Bags};
use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::diff::weights::{PARTNERS, RENAME_BONUS, WRAPPED_MODULE};
use crate::side::{PerSide, Side};
use crate::tree::CallKind;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A gap: a non-empty run of adjacent unmatched siblings on each side.
pub(super) struct Gap<'a, 'b> {
    pub(super) outlines: PerSide<&'a Outline<'a>>,
    pub(super) bags: &'b mut Bags<'a>,
    pub(super) words: &'b Vocabulary,
    pub(super) runs: PerSide<&'b [u32]>,
}

/// The calls in a run and their contents.
struct Held {
    bag: Bag,
    /// For each key, the positions (in the run) of the calls that may wrap a call with this key.
    wrappers: FxHashMap<Key, Vec<usize>>,
    /// The contents of each call, computed on demand.
    below: Vec<Option<Bag>>,
    /// Whether the run has launches but neither ops nor frames, although the ops of the opposite run do as much work.
    /// The ops around these launches were probably not recorded.
    lost_its_ops: bool,
}

/// Where a module's counterpart is.
#[derive(Debug, Clone, Copy)]
enum ModulePlace {
    /// In the opposite run, or inside a frame of it.
    Beside,
    /// The counterpart is in the opposite run, and belongs to a module that this module wraps.
    Inside,
}

impl<'a, 'b> Gap<'a, 'b> {
    /// Replaces each wrapper in the runs with its children; returns `None` if there is no wrapper.
    ///
    /// If any call in the gap has a positive gain, calls with a gain of 0 are not expanded yet, because they may find a
    /// match once the other calls are expanded.
    pub(super) fn opened(&mut self) -> Option<PerSide<Vec<u32>>> {
        let runs = self.runs;
        let mut held = PerSide::from_fn(|side| Held {
            bag: self.bags.of_all(side, runs[side]),
            wrappers: self.wrappers(side),
            below: vec![None; runs[side].len()],
            lost_its_ops: self.lost_its_ops(side),
        });
        let gains = PerSide::from_fn(|side| {
            let others = &mut held[side.other()];
            let gain = |(at, &call)| self.gain_of_opening(side, at, call, others);
            runs[side].iter().enumerate().map(gain).collect::<Vec<Option<u32>>>()
        });
        let most = gains.baseline.iter().chain(&gains.candidate).flatten().max()?;
        let opens = |gain: &Option<u32>| gain.is_some_and(|gain| gain > 0 || *most == 0);
        Some(PerSide::from_fn(|side| {
            let children = |&call: &u32| self.outlines[side].children(call);
            let calls = self.runs[side].iter().zip(&gains[side]);
            calls
                .flat_map(|(call, gain)| if opens(gain) { children(call) } else { vec![*call] })
                .collect()
        }))
    }

    /// The gain from expanding a call: the number of tokens that match if the call is expanded, minus the number of
    /// tokens that match if the call is instead matched as renamed. `None` if the call must not be expanded.
    fn gain_of_opening(
        &mut self,
        side: Side,
        at: usize,
        call: u32,
        others: &mut Held,
    ) -> Option<u32> {
        let (outline, wanted) = (self.outlines[side], others.bag);
        if !outline.is_op_or_frame(call) || !outline.has_children(call) {
            return None;
        }
        // A numbered layer is never a wrapper around a different layer's work.
        if self.words.is_numbered(outline.keys[call as usize]) {
            return None;
        }
        let near = self.near(side, at);
        let counterparts = &self.runs[side.other()][near.clone()];
        let inner = self.bags.below(side, call);
        if inner.size == 0 {
            return self.wraps_queries(side, call, counterparts).then_some(0);
        }
        if self.words.is_module(outline.keys[call as usize]) {
            match self.place_of_module(side, call, counterparts) {
                Some(ModulePlace::Beside) => return None,
                Some(ModulePlace::Inside) => return Some(inner.size),
                None => {}
            }
        }
        let mut opened = self.bags.common(inner, wanted);
        let bare = |&other: &u32| self.outlines[side.other()].is_launch(other);
        if self.words.is_generated(outline.keys[call as usize]) && !counterparts.iter().any(bare) {
            // A compiled call launches its own kernels instead of the kernels that the ops on the opposite side launch.
            // Launches on both sides are therefore no evidence that the compiled call wraps the opposite ops.
            let launches = self.bags.launches(side, call);
            opened -= self.bags.common(launches, wanted).min(opened);
        }
        // A call is expanded only if the expansion matches at least half of the call's contents or at least half of the
        // opposite run. Unrelated calls rarely share half of their tokens by chance. An inner op with the same name as
        // an op on the opposite side is sufficient evidence as well, and so is a run that lost its ops.
        let gives_half = 2 * opened >= inner.size || 2 * opened >= wanted.size;
        let is_enough = gives_half || others.lost_its_ops;
        if opened == 0 || !(is_enough || self.contains_one_by_name(side, call, counterparts)) {
            return None;
        }
        if self.is_wrapped_by_name(side, at, call, others)
            || self.is_wrapped(side, call, counterparts, opened)
        {
            return None;
        }
        let mut kept = 0;
        for (&other, below) in counterparts.iter().zip(&mut others.below[near]) {
            if self.weight_below(side.other(), other).min(inner.size) + RENAME_BONUS > kept {
                kept = kept.max(self.rename_worth(side, (call, inner), (other, below)));
            }
            if kept > opened {
                return None;
            }
        }
        Some(opened - kept)
    }

    /// Where the counterpart of a module is, if the opposite run has a module with the same contents.
    fn place_of_module(
        &mut self,
        side: Side,
        module: u32,
        counterparts: &[u32],
    ) -> Option<ModulePlace> {
        for &other in counterparts {
            if !self.outlines[side.other()].is_op_or_frame(other) {
                continue;
            }
            if !self.is_module(side.other(), other) {
                let inside = self.modules_inside(side.other(), other).next();
                if inside.is_some_and(|inner| self.contain_half(side, module, inner)) {
                    return Some(ModulePlace::Beside);
                }
            } else if self.contain_half(side, module, other) {
                let is_wrapper = self.is_wrapper_of_module(side, module, other);
                return Some(if is_wrapper { ModulePlace::Inside } else { ModulePlace::Beside });
            }
        }
        None
    }

    /// Whether a module only wraps a module that holds as much of the contents of `other`. Both have the same depth
    /// then: without the wrapper, the module has one module less inside it.
    fn is_wrapper_of_module(&mut self, side: Side, module: u32, other: u32) -> bool {
        let mine = self.modules_inside(side, module).count();
        let theirs = self.modules_inside(side.other(), other).count();
        let inner = self.modules_inside(side, module).next().filter(|_| mine == theirs + 1);
        let Some(inner) = inner else { return false };
        let whole = self.common_below(PerSide::seen_from(side, module, other));
        self.contain_half(side, inner, other)
            && self.common_below(PerSide::seen_from(side, inner, other)) + WRAPPED_MODULE >= whole
    }

    /// The modules below a call, in preorder.
    fn modules_inside(&self, side: Side, call: u32) -> impl Iterator<Item = u32> {
        let below = self.outlines[side].subtree(call).skip(1);
        below.filter(move |&call| self.is_module(side, call))
    }

    fn is_module(&self, side: Side, call: u32) -> bool {
        self.words.is_module(self.outlines[side].keys[call as usize])
    }

    /// Whether two calls share at least half of the contents of the larger one.
    fn contain_half(&mut self, side: Side, call: u32, other: u32) -> bool {
        let sizes = (self.weight_below(side, call), self.weight_below(side.other(), other));
        let larger = sizes.0.max(sizes.1);
        larger > 0 && 2 * self.common_below(PerSide::seen_from(side, call, other)) >= larger
    }

    /// See [`Held::lost_its_ops`].
    fn lost_its_ops(&self, side: Side) -> bool {
        let (mine, theirs) = (self.outlines[side], self.outlines[side.other()]);
        let launches = self.runs[side].iter().filter(|&&call| mine.is_launch(call)).count();
        let works = self.runs[side.other()].iter().filter(|&&call| theirs.is_gpu_path(call));
        launches > 0
            && 2 * launches >= works.count()
            && !self.runs[side].iter().any(|&call| mine.is_op_or_frame(call))
    }

    /// Number of tokens below a call, excluding the call itself.
    fn weight_below(&self, side: Side, call: u32) -> u32 {
        self.outlines[side].weight(call) - self.outlines[side].own_weight(call)
    }

    /// Whether a call is a wrapper around a query. A child of the call must be a query whose key also belongs to a
    /// query in the opposite run. The opposite run must contain no call of the wrapper's kind, because the wrapper
    /// could be a renamed version of such a call.
    fn wraps_queries(&self, side: Side, call: u32, others: &[u32]) -> bool {
        let (mine, theirs) = (self.outlines[side], self.outlines[side.other()]);
        let is_there = |query: u32| {
            let key = mine.keys[query as usize];
            others.iter().any(|&other| theirs.is_query(other) && theirs.keys[other as usize] == key)
        };
        let is_alone = || others.iter().all(|&other| theirs.kind(other) != mine.kind(call));
        mine.each_child(call).any(is_there) && is_alone()
    }

    fn wrappers(&mut self, side: Side) -> FxHashMap<Key, Vec<usize>> {
        let mut wrappers: FxHashMap<Key, Vec<usize>> = FxHashMap::default();
        for (at, &call) in self.runs[side].iter().enumerate() {
            for &(key, _) in self.bags.core(side, call) {
                wrappers.entry(key).or_default().push(at);
            }
        }
        wrappers
    }

    /// Whether a call contains an inner op that has the same name as `other` and accounts for most of the call's
    /// contents. Both the inner op and `other` must launch GPU work. For example, a `conv2d` may cast its inputs and
    /// call `convolution`. The inner `convolution` may launch different kernels on the two sides.
    fn contains_by_name(&mut self, side: Side, call: u32, other: u32) -> bool {
        let (mine, theirs) = (self.outlines[side], self.outlines[side.other()]);
        theirs.kind(other) == CallKind::Op
            && theirs.is_gpu_path(other)
            && self.bags.inside(side, call, theirs.keys[other as usize]).is_some_and(|inner| {
                mine.is_gpu_path(inner)
                    && !are_out_of_proportion(mine.weight(inner), theirs.weight(other))
            })
    }

    fn contains_one_by_name(&mut self, side: Side, call: u32, others: &[u32]) -> bool {
        let theirs = self.outlines[side.other()];
        let keys: Vec<Key> = self.bags.core(side, call).iter().map(|&(key, _)| key).collect();
        let named = |&&other: &&u32| keys.contains(&theirs.keys[other as usize]);
        !keys.is_empty()
            && others.iter().filter(named).any(|&other| self.contains_by_name(side, call, other))
    }

    /// Whether a call in the opposite run contains a call with the same name as `call`. If so, the opposite call is a
    /// wrapper around `call`.
    fn is_wrapped_by_name(&mut self, side: Side, at: usize, call: u32, others: &Held) -> bool {
        let key = self.outlines[side].keys[call as usize];
        let Some(wrappers) = others.wrappers.get(&key) else { return false };
        let near = self.near(side, at);
        let wrappers = &wrappers[wrappers.partition_point(|&at| at < near.start)..];
        let run = self.runs[side.other()];
        wrappers.iter().take_while(|&at| near.contains(at)).map(|&at| run[at]).any(|other| {
            self.contains_by_name(side.other(), other, call)
                && !self.contains_by_name(side, call, other)
        })
    }

    /// Whether `call` shares more tokens with the contents of one call in the opposite run than would match if `call`
    /// were expanded.
    fn is_wrapped(&mut self, side: Side, call: u32, counterparts: &[u32], opened: u32) -> bool {
        let whole = self.bags.of(side, call);
        counterparts.iter().any(|&other| {
            self.weight_below(side.other(), other) > opened && {
                let inner = self.bags.below(side.other(), other);
                self.bags.common(whole, inner) > opened
            }
        })
    }

    /// The positions in the opposite run that approximately correspond to position `at` in the run on `side`.
    fn near(&self, side: Side, at: usize) -> Range<usize> {
        let others = self.runs[side.other()].len();
        let middle = at * others / self.runs[side].len();
        let from = middle.saturating_sub(PARTNERS / 2).min(others.saturating_sub(PARTNERS));
        from..(from + PARTNERS).min(others)
    }

    /// Finds pairs of calls that are variants of one op, such as `miopen_convolution` and `cudnn_convolution`, in the
    /// order of the calls. A call that is inside one variant, such as a bias add, may be next to the other variant on
    /// the opposite side. Both variants are therefore expanded, and their contents are aligned with the rest of the
    /// gap.
    pub(super) fn variants(&mut self) -> Vec<(u32, u32)> {
        let works = PerSide::from_fn(|side| self.working_ops(side));
        if let Some(twins) = self.vendor_twins(&works) {
            return vec![twins];
        }
        let as_many = works.baseline.len() == works.candidate.len();
        let mut found = Vec::new();
        let mut from = 0;
        for &at in &works.baseline {
            let a = self.runs.baseline[at];
            let near = self.near(Side::Baseline, at);
            from = from.max(works.candidate.partition_point(|&at| at < near.start));
            let others = works.candidate[from..].iter().take_while(|&&at| near.contains(&at));
            let next = others
                .enumerate()
                .find(|&(_, &position)| self.is_variant(a, self.runs.candidate[position], as_many));
            if let Some((offset, &position)) = next {
                found.push((a, self.runs.candidate[position]));
                from += offset + 1;
            }
        }
        found
    }

    /// The ops of two vendors' libraries that do the same, if each of them is the only op of a vendor's library in its
    /// run. Their names are enough evidence: one library adds the bias inside its op, the other leaves it to the
    /// caller.
    fn vendor_twins(&self, works: &PerSide<Vec<usize>>) -> Option<(u32, u32)> {
        let only = PerSide::from_fn(|side| {
            let calls = works[side].iter().map(|&at| self.runs[side][at]);
            let key = |call: u32| self.outlines[side].keys[call as usize];
            let mut of_vendor = calls.filter(|&call| self.words.is_of_vendor(key(call)));
            of_vendor.next().filter(|_| of_vendor.next().is_none())
        });
        let (a, b) = only.baseline.zip(only.candidate)?;
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let (mine, theirs) = (x.keys[a as usize], y.keys[b as usize]);
        (mine != theirs && self.words.are_vendor_twins(mine, theirs)).then_some((a, b))
    }

    /// The positions of a run's ops that launch GPU work.
    fn working_ops(&self, side: Side) -> Vec<usize> {
        let outline = self.outlines[side];
        let works = |&call: &u32| outline.kind(call) == CallKind::Op && outline.is_gpu_path(call);
        let run = self.runs[side].iter().enumerate();
        run.filter(|(_, call)| works(call)).map(|(at, _)| at).collect()
    }

    /// Whether two calls have related names and also agree in contents, arguments or position. Equal positions count as
    /// evidence only if both sides of the gap have the same number of ops that launch GPU work.
    fn is_variant(&mut self, a: u32, b: u32, as_many: bool) -> bool {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let keys = (x.keys[a as usize], y.keys[b as usize]);
        let akin = self.words.are_akin(keys.0, keys.1)
            && self.words.is_generated(keys.0) == self.words.is_generated(keys.1);
        if !akin || are_out_of_proportion(x.weight(a), y.weight(b)) {
            return false;
        }
        let mut holds = |side: Side, call: u32, key: Option<u32>| {
            let inner = self.bags.below(side, call);
            key.is_some_and(|key| self.bags.holds(inner, key))
        };
        // A call that contains the opposite call is a wrapper with a similar name, not a variant.
        let wraps =
            holds(Side::Baseline, a, y.tokens(b)[0]) || holds(Side::Candidate, b, x.tokens(a)[0]);
        let arguments = (x.arguments[a as usize], y.arguments[b as usize]);
        let same_arguments = arguments.0 != 0 && arguments.0 == arguments.1;
        !wraps && (as_many || same_arguments || self.share_most(PerSide::new(a, b)))
    }

    /// Whether two calls share at least half of the contents of the smaller call.
    fn share_most(&mut self, calls: PerSide<u32>) -> bool {
        let [one, two] = Side::BOTH.map(|side| self.weight_below(side, calls[side]));
        2 * self.common_below(calls) >= one.min(two)
    }

    /// Number of tokens that the contents of two calls share.
    fn common_below(&mut self, calls: PerSide<u32>) -> u32 {
        let below = PerSide::from_fn(|side| self.bags.below(side, calls[side]));
        self.bags.common(below.baseline, below.candidate)
    }

    /// Number of tokens that would match if `call` (with contents `inner`) and `other` (with contents `below`) were
    /// matched as renamed. Computes `below` if it has not been computed yet.
    fn rename_worth(
        &mut self,
        side: Side,
        (call, inner): (u32, Bag),
        (other, below): (u32, &mut Option<Bag>),
    ) -> u32 {
        let (mine, theirs) = (self.outlines[side], self.outlines[side.other()]);
        if mine.kind(call) != theirs.kind(other) {
            return 0;
        }
        // A module is not renamed to a plain frame that has a module inside.
        let frame = match (self.is_module(side, call), self.is_module(side.other(), other)) {
            (true, false) => Some((side.other(), other)),
            (false, true) => Some((side, call)),
            (true, true) | (false, false) => None,
        };
        if frame.is_some_and(|(side, frame)| self.modules_inside(side, frame).next().is_some()) {
            return 0;
        }
        let bonus = match (mine.arguments[call as usize], theirs.arguments[other as usize]) {
            (0, 0) => 1,
            (a, b) if a == b => RENAME_BONUS,
            _ => 0,
        };
        let below = *below.get_or_insert_with(|| self.bags.below(side.other(), other));
        self.bags.common(inner, below) + bonus
    }
}
