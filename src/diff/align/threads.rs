//! Matches the threads of both sides by their contents, not by their numbers.
//!
//! Threads can swap roles between runs, and the work of one thread can be split over two threads. The threads with the
//! most in common are matched first. Calls on threads that stay unmatched are then matched with unmatched calls on the
//! opposite side.
//!
//! Comparing thousands of threads with each other would be too slow. If there are many threads, identical threads are
//! matched in order first. Each remaining thread is then compared only with the threads that share its rarest tokens,
//! and with the threads near its position.

use super::aligner::Aligner;
use crate::diff::bags::Bags;
use crate::diff::keys::Key;
use crate::diff::outline::{Outline, Token};
use crate::diff::passes::Pass;
use crate::diff::weights::{FOREIGN, RESCUED, THREAD_PAIRS, THREADS_BESIDE, THREADS_LIKE};
use crate::side::{PerSide, Side};
use crate::tree::CallKind;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// The matched threads, and the matched roots of GPU events without a launch.
#[derive(Debug, Clone, Default)]
pub(in crate::diff) struct ThreadPairs {
    /// The roots of each matched pair.
    pub(in crate::diff) pairs: Vec<(u32, u32)>,
    /// Number of threads for which only some of the threads on the opposite side were considered as counterparts.
    pub(in crate::diff) cut: u64,
}

pub(in crate::diff) fn pair_threads(outlines: PerSide<&Outline<'_>>) -> ThreadPairs {
    let mut bags = Bags::new(outlines);
    let mut roots = Roots::new(outlines);
    let (equal, cut) = roots.take_equal(outlines);
    let mut candidates = Vec::new();
    for (i, j) in roots.candidates(&mut bags) {
        let (a, b) = (roots.of.baseline[i], roots.of.candidate[j]);
        if let Some(shared) = likeness(outlines, &mut bags, a, b) {
            candidates.push((Reverse(shared), a.at.abs_diff(b.at), a.call, b.call));
        }
    }
    candidates.sort_unstable();
    let mut taken: PerSide<FxHashSet<u32>> = PerSide::default();
    let mut pairs = equal;
    for (_, _, a, b) in candidates {
        if !taken.baseline.contains(&a) && !taken.candidate.contains(&b) {
            taken.baseline.insert(a);
            taken.candidate.insert(b);
            pairs.push((a, b));
        }
    }
    ThreadPairs { pairs, cut }
}

#[derive(Debug, Clone, Copy)]
struct Root {
    call: u32,
    /// Position of the thread among the roots on its side.
    at: usize,
    /// Whether the thread has an op or a frame. Only a thread that has one can be treated as unrelated to another
    /// thread.
    tells: bool,
    /// Number of runtime calls and GPU events on the thread. [`Bags::launches`] finds at most this many tokens for the
    /// thread.
    launches: u32,
}

impl Root {
    fn new(outline: &Outline<'_>, at: usize, call: u32) -> Root {
        let (mut tells, mut launches) = (false, 0);
        for call in call + 1..outline.end(call) {
            match outline.kind(call) {
                CallKind::Op | CallKind::Frame => tells = true,
                CallKind::Runtime | CallKind::Gpu => launches += 1,
                CallKind::Thread | CallKind::Unlinked => {}
            }
        }
        Root { call, at, tells, launches }
    }
}

/// The thread roots that are still to be matched.
struct Roots {
    of: PerSide<Vec<Root>>,
}

impl Roots {
    fn new(outlines: PerSide<&Outline<'_>>) -> Roots {
        let roots = |outline: &Outline<'_>| {
            let roots = outline.roots().into_iter().enumerate();
            roots.map(|(at, call)| Root::new(outline, at, call)).collect()
        };
        Roots { of: outlines.map(roots) }
    }

    fn are_many(&self) -> bool {
        self.of.baseline.len().saturating_mul(self.of.candidate.len()) > THREAD_PAIRS
    }

    /// Matches identical threads in order if there are many threads. Returns the matched pairs.
    /// Also returns the number of remaining threads if there are too many of them to compare all
    /// pairs, otherwise 0.
    fn take_equal(&mut self, outlines: PerSide<&Outline<'_>>) -> (Vec<(u32, u32)>, u64) {
        if !self.are_many() {
            return (Vec::new(), 0);
        }
        let token = |side: Side, root: &Root| {
            let outline = outlines[side];
            (outline.exact[root.call as usize], outline.size(root.call))
        };
        let mut waiting: FxHashMap<(u64, u32), Vec<u32>> = FxHashMap::default();
        for root in self.of.candidate.iter().rev() {
            waiting.entry(token(Side::Candidate, root)).or_default().push(root.call);
        }
        let mut pairs = Vec::new();
        self.of.baseline.retain(|root| {
            let counterpart = waiting.get_mut(&token(Side::Baseline, root)).and_then(Vec::pop);
            pairs.extend(counterpart.map(|counterpart| (root.call, counterpart)));
            counterpart.is_none()
        });
        let taken: FxHashSet<u32> = pairs.iter().map(|&(_, b)| b).collect();
        self.of.candidate.retain(|root| !taken.contains(&root.call));
        let left =
            if self.are_many() { self.of.baseline.len() + self.of.candidate.len() } else { 0 };
        (pairs, left as u64)
    }

    /// Positions of the thread pairs to compare.
    fn candidates(&self, bags: &mut Bags<'_>) -> Vec<(usize, usize)> {
        let (n, m) = (self.of.baseline.len(), self.of.candidate.len());
        if !self.are_many() {
            return (0..n).flat_map(|i| (0..m).map(move |j| (i, j))).collect();
        }
        // For each token, the positions of the threads on the candidate side that contain the token.
        let mut holders: FxHashMap<Token, Vec<usize>> = FxHashMap::default();
        for (at, root) in self.of.candidate.iter().enumerate() {
            let bag = bags.below(Side::Candidate, root.call);
            for &(token, _) in bags.entries(bag) {
                holders.entry(token).or_default().push(at);
            }
        }
        let mut found = Vec::new();
        for (i, root) in self.of.baseline.iter().enumerate() {
            let beside = i * m / n;
            let mut near: Vec<usize> =
                (beside.saturating_sub(THREADS_BESIDE)..(beside + THREADS_BESIDE).min(m)).collect();
            let bag = bags.below(Side::Baseline, root.call);
            let lists = bags.entries(bag).iter().filter_map(|(token, _)| holders.get(token));
            let mut rarest: Vec<&Vec<usize>> = lists.collect();
            rarest.sort_by_key(|list| (list.len(), list.first().copied()));
            near.extend(rarest.into_iter().flatten().take(THREADS_LIKE));
            near.sort_unstable();
            near.dedup();
            found.extend(near.into_iter().map(|j| (i, j)));
        }
        found
    }
}

/// The number of tokens that two thread roots share; `None` if the roots must not be matched.
fn likeness(outlines: PerSide<&Outline<'_>>, bags: &mut Bags<'_>, a: Root, b: Root) -> Option<u32> {
    let (x, y) = (outlines.baseline, outlines.candidate);
    if x.keys[a.call as usize] != y.keys[b.call as usize] {
        return None;
    }
    if x.kind(a.call) == CallKind::Unlinked {
        return Some(0);
    }
    let below = bags.below(Side::Baseline, a.call);
    let other = bags.below(Side::Candidate, b.call);
    let shared = bags.common(below, other);
    if are_foreign(bags, PerSide::new(a, b)) {
        return None;
    }
    let alike = shared > 0
        || below.size == other.size
        || ask_the_same(outlines, PerSide::new(a.call, b.call));
    alike.then_some(shared)
}

/// Whether two threads have nothing in common except that both launch GPU work: they share no op, frame, shape or
/// kernel.
fn are_foreign(bags: &mut Bags<'_>, roots: PerSide<Root>) -> bool {
    let below = PerSide::from_fn(|side| bags.below(side, roots[side].call));
    let tells = |side: Side| below[side].size >= FOREIGN && roots[side].tells;
    if !Side::BOTH.into_iter().all(tells) {
        return false;
    }
    let shared = bags.common(below.baseline, below.candidate);
    shared <= roots.baseline.launches.min(roots.candidate.launches) && {
        let launches = PerSide::from_fn(|side| bags.launches(side, roots[side].call));
        shared == bags.common(launches.baseline, launches.candidate)
    }
}

/// Whether both threads make the same kind of runtime call without GPU work. Such calls are weak evidence, which is
/// used only if there is no better evidence.
fn ask_the_same(outlines: PerSide<&Outline<'_>>, threads: PerSide<u32>) -> bool {
    let queries = PerSide::from_fn(|side| -> FxHashSet<Key> {
        let outline = outlines[side];
        let queries = outline.each_child(threads[side]).filter(|&call| outline.is_query(call));
        queries.map(|call| outline.keys[call as usize]).collect()
    });
    !queries.baseline.is_disjoint(&queries.candidate)
}

impl Aligner<'_> {
    pub(super) fn align_threads(&mut self, threads: &[(u32, u32)]) {
        self.run(Pass::Threads, |me| {
            threads.iter().for_each(|&(a, b)| me.pair_in_place(a, b));
        });
        let mut roots = std::mem::take(&mut self.pending);
        // The largest threads are aligned first, so that no core is still busy with a large thread when all others are
        // idle.
        let size = |&(a, b): &(u32, u32)| {
            self.outlines.baseline.size(a).max(self.outlines.candidate.size(b))
        };
        roots.sort_by_key(|roots| Reverse(size(roots)));
        let both = self.both;
        roots.into_par_iter().for_each_init(
            || Aligner::new(both),
            |aligner, roots| {
                aligner.pending.push(roots);
                aligner.descend();
            },
        );
        for side in Side::BOTH {
            self.run(Pass::SplitThreads, |me| me.rescue_split_threads(side));
        }
        self.run(Pass::NewCallers, Aligner::pair_moved_elsewhere);
        self.run(Pass::AroundMatches, Aligner::pair_around_counterparts);
        self.run(Pass::LeftBehind, Aligner::pair_left_behind);
        self.note_what_moved_out();
    }

    /// For each unmatched thread, largest first, searches the unmatched calls on the opposite side for counterparts of
    /// its calls. The number of visited calls is limited, so that the search does not dominate the run time.
    fn rescue_split_threads(&mut self, side: Side) {
        let outlines = self.outlines;
        let roots = PerSide::from_fn(|side| {
            let outline = outlines[side];
            let roots = outline.roots().into_iter().enumerate();
            let threads = roots.filter(|&(_, root)| outline.kind(root) == CallKind::Thread);
            threads.map(|(at, root)| Root::new(outline, at, root)).collect::<Vec<_>>()
        });
        let free = roots[side].iter().filter(|root| self.is_free(side, root.call));
        let mut free: Vec<Root> = free.copied().collect();
        free.sort_by_key(|root| (Reverse(outlines[side].weight(root.call)), root.call));
        let mut left = RESCUED * (outlines.baseline.len() + outlines.candidate.len());
        for (done, &root) in free.iter().enumerate() {
            let Some(theirs) = self.best_left_over(side, root, &roots[side.other()], &mut left)
            else {
                if left == 0 {
                    self.both.links.add_cut_threads((free.len() - done) as u64);
                    break;
                }
                continue;
            };
            let mine = outlines[side].children(root.call);
            let inside = root.call + 1..outlines[side].end(root.call);
            let other = theirs.first().map_or(0..0, |&first| {
                first..theirs.last().map_or(first, |&last| outlines[side.other()].end(last))
            });
            self.scope = PerSide::seen_from(side, inside, other);
            self.align_lists(PerSide::seen_from(side, mine, theirs));
            self.descend();
        }
    }

    /// Finds the opposite thread that has the most in common with `root`, and returns this thread's unmatched calls at
    /// any depth. Nested calls are included because a loop may have been split, so that a second thread runs only part
    /// of its body. The number of visited calls is deducted from `left`. If `left` is used up, returns `None` and sets
    /// `left` to 0.
    fn best_left_over(
        &mut self,
        side: Side,
        root: Root,
        others: &[Root],
        left: &mut usize,
    ) -> Option<Vec<u32>> {
        let wanted = self.bags.below(side, root.call);
        let mut best: Option<(u32, Vec<u32>)> = None;
        for &other in others {
            let size = self.outlines[side.other()].size(other.call) as usize + 1;
            *left = left.saturating_sub(size);
            if *left == 0 {
                return None;
            }
            let roots = PerSide::seen_from(side, root, other);
            if are_foreign(&mut self.bags, roots) {
                continue;
            }
            let free = self.unpaired_below(side.other(), other.call);
            let theirs = self.bags.of_all(side.other(), &free);
            let shared = self.bags.common(wanted, theirs);
            if shared > best.as_ref().map_or(0, |&(most, _)| most) {
                best = Some((shared, free));
            }
        }
        self.bags.tidy();
        best.map(|(_, free)| free)
    }

    /// The outermost calls below `root` whose subtrees are entirely unmatched, in preorder.
    fn unpaired_below(&self, side: Side, root: u32) -> Vec<u32> {
        let outline = self.outlines[side];
        let mut behind = root + 1;
        let mut free = self.entirely_free_below(side, root);
        free.retain(|&call| {
            let is_outermost = call >= behind;
            behind = behind.max(outline.end(call));
            is_outermost
        });
        free
    }

    /// All calls below `root` whose subtrees are entirely unmatched, in preorder.
    pub(super) fn entirely_free_below(&self, side: Side, root: u32) -> Vec<u32> {
        let outline = self.outlines[side];
        // The first matched call at or after `call` in preorder.
        let mut paired = outline.end(root);
        let mut found = Vec::new();
        for call in (root + 1..outline.end(root)).rev() {
            if !self.is_free(side, call) {
                paired = call;
            } else if paired >= outline.end(call) && !outline.is_hidden(call) {
                found.push(call);
            }
        }
        found.reverse();
        found
    }
}
