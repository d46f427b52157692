//! Scores possible matches of siblings by the number of tokens that the two siblings share.

use super::aligner::Both;
use super::anchors::{Shaped, anchors, token};
use super::compare::{Compare, Tokens};
use super::inner::is_one_inside_other;
use super::layers::{self, Credit, Row};
use super::lone_threads::LoneThread;
use super::plain::shared_tokens;
use super::runs;
use crate::diff::bags::{Bag, Bags};
use crate::diff::counts;
use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::diff::weights::{
    AFFINITY, ANCHOR, ARGUMENTS, EXACT, LAYER, LAYERS, LEAST_RUN, NAME, QUERY, SETTLED, TOKEN,
    WRAPPED,
};
use crate::program::Program;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::cell::OnceCell;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Two lists of siblings that are to be aligned.
pub(super) struct Siblings<'a, 'b> {
    programs: PerSide<&'a Program>,
    outlines: PerSide<&'a Outline<'a>>,
    bags: &'b mut Bags<'a>,
    lists: PerSide<&'b [u32]>,
    /// The elements to align, as ranges of the lists: each is a single call or a run found by
    /// `runs`.
    elements: PerSide<Vec<Range<usize>>>,
    /// For each launch key, the number of launches with this key in each list. If both lists have the same number, the
    /// order of the launches is enough evidence to match them.
    launches: OnceCell<FxHashMap<Key, PerSide<u32>>>,
    /// Properties of each element, computed on demand.
    known: PerSide<Vec<Element>>,
    /// Whether the GPU events in each list come from a single launch. If so, these events may be matched by their
    /// order; GPU events without a launch are matched only by name.
    launched_together: bool,
    lone_threads: PerSide<&'b FxHashSet<LoneThread>>,
    /// The calls that show which repetitions of a loop correspond to each other.
    anchors: FxHashSet<(Key, u32)>,
}

/// Properties of an element that are independent of the element it is compared with.
#[derive(Debug, Clone, Copy)]
struct Element {
    /// For a single call, the call itself; for a run, its first call.
    call: u32,
    key: Key,
    exact: u64,
    /// Hash of the call's exact name.
    name: u64,
    /// Number of tokens in the element, including its whole subtree.
    tokens: i64,
    is_run: bool,
    is_gpu: bool,
    is_query: bool,
    /// Whether calls identical to the element occur more often in its own list than in the opposite list.
    is_novel: bool,
    /// Whether calls with the element's key occur more often in its own list than in the opposite list.
    is_new_name: bool,
    /// Whether the counterpart may be inside a wrapper: an element in the opposite list has a new name, and one of the
    /// calls inside that element has this element's key.
    may_be_wrapped: bool,
    /// Whether the element is in a run of layers that is longer on one side.
    in_row: bool,
    /// The credit of a layer; known only if the layer is in a run of layers that is longer on one side.
    credit: Option<Credit>,
    /// The tokens of the element's subtree, computed on demand.
    bag: Option<Bag>,
}

impl<'a, 'b> Siblings<'a, 'b> {
    pub(super) fn new(
        both: &Both<'a>,
        bags: &'b mut Bags<'a>,
        lists: PerSide<&'b [u32]>,
        launched_together: bool,
    ) -> Self
    where
        'a: 'b,
    {
        let Both { programs, outlines, lone_threads, .. } = *both;
        let elements = runs::elements(outlines, bags, lists);
        Siblings {
            programs,
            outlines,
            bags,
            lists,
            elements,
            launches: OnceCell::new(),
            known: PerSide::default(),
            launched_together,
            lone_threads,
            anchors: FxHashSet::default(),
        }
    }

    /// The key and the arguments of an element; `None` for runs and for calls without arguments.
    fn shaped(&self, side: Side, at: usize) -> Shaped {
        let element = &self.elements[side][at];
        let call = self.lists[side][element.start] as usize;
        let (key, arguments) =
            (self.outlines[side].keys[call], self.outlines[side].arguments[call]);
        (element.len() == 1 && arguments != 0).then_some((key, arguments))
    }

    /// The calls of two elements. A run is represented by its first call.
    pub(super) fn calls(&self, i: usize, j: usize) -> (u32, u32) {
        let first = |side: Side, at: usize| self.lists[side][self.elements[side][at].start];
        (first(Side::Baseline, i), first(Side::Candidate, j))
    }

    /// Whether either of two elements is a run.
    fn is_run(&self, i: usize, j: usize) -> bool {
        self.elements.baseline[i].len() > 1 || self.elements.candidate[j].len() > 1
    }

    fn bag(&mut self, side: Side, at: usize) -> Bag {
        if let Some(bag) = self.known[side][at].bag {
            return bag;
        }
        let bag = match &self.lists[side][self.elements[side][at].clone()] {
            &[call] => self.bags.of(side, call),
            run => self.bags.of_all(side, run),
        };
        self.known[side][at].bag = Some(bag);
        bag
    }

    /// Number of tokens that two elements share.
    fn shared(&mut self, i: usize, j: usize) -> i64 {
        let bags = (self.bag(Side::Baseline, i), self.bag(Side::Candidate, j));
        i64::from(self.bags.common(bags.0, bags.1))
    }

    #[inline]
    fn known(&mut self, i: usize, j: usize) -> (&Element, &Element) {
        if self.known.baseline.is_empty() {
            self.look_up();
        }
        (&self.known.baseline[i], &self.known.candidate[j])
    }

    #[cold]
    fn look_up(&mut self) {
        let calls = self.lists.map(|list| list.iter().copied());
        let exact = |side: Side, call: u32| self.outlines[side].exact[call as usize];
        let exact = counts::of_tokens(calls.clone(), exact);
        let keys = |side: Side, call: u32| self.outlines[side].keys[call as usize];
        let keys = counts::of_tokens(calls, keys);
        self.known = PerSide::from_fn(|side| self.elements_of(side, &exact, &keys));
        let cores = PerSide::from_fn(|side| {
            let wrappers = self.known[side].iter().filter(|element| element.is_new_name);
            self.bags.keys_inside(side, wrappers.map(|element| element.call))
        });
        for side in Side::BOTH {
            for element in &mut self.known[side] {
                element.may_be_wrapped = cores[side.other()].contains(&element.key);
            }
        }
        self.credit_layers();
    }

    /// Computes [`Element::credit`] for the layers of each row of layers that is longer on one side.
    fn credit_layers(&mut self) {
        let (one, two) = self.lengths();
        if one.min(two) < LAYERS {
            return;
        }
        let layers = PerSide::from_fn(|side| {
            let outline = self.outlines[side];
            // A layer is a frame, or an op without arguments (such as an annotation).
            let is_layer = move |element: &Element| {
                !element.is_run
                    && element.tokens >= LAYER
                    && outline.is_op_or_frame(element.call)
                    && outline.arguments[element.call as usize] == 0
            };
            let elements = self.known[side].iter().enumerate();
            elements.filter(move |(_, known)| is_layer(known)).map(|(at, known)| (at, known.key))
        });
        let rows = layers::uneven(layers);
        if rows.is_empty() {
            return;
        }
        let full = |element: &Element| TOKEN * (element.tokens + 1) + EXACT;
        let full = self.known.as_ref().map(|elements| elements.iter().map(full).collect());
        let full: PerSide<Vec<i64>> = full;
        for row in rows {
            let full = full.as_ref().map(Vec::as_slice);
            let credits = layers::credits(&row, full, |i, j| self.nameless_score(i, j));
            let has_twin = self.repetitions_with_twin(&row);
            for side in Side::BOTH {
                for (at, &credit) in row[side].iter().zip(&credits[side]) {
                    self.known[side][*at].in_row = true;
                    self.known[side][*at].credit = credit.filter(|_| !has_twin[side].contains(at));
                }
            }
        }
    }

    /// In a row of repeated calls of one frame, the positions of the calls that have an identical call on the opposite
    /// side. These calls are not layers: they are matched with the identical calls, or not at all.
    fn repetitions_with_twin(&self, row: &Row) -> PerSide<FxHashSet<usize>> {
        let elements = |side: Side| row[side].iter().map(move |&at| &self.known[side][at]);
        let mut names = Side::BOTH.into_iter().flat_map(elements).map(|element| element.name);
        let first = names.next();
        let is_frame = |side: Side, element: &Element| {
            self.outlines[side].kind(element.call) == CallKind::Frame
        };
        let are_repetitions = names.all(|name| Some(name) == first)
            && elements(Side::Baseline).all(|element| is_frame(Side::Baseline, element));
        if !are_repetitions {
            return PerSide::default();
        }
        let exact = PerSide::from_fn(|side| {
            elements(side).map(|element| element.exact).collect::<FxHashSet<u64>>()
        });
        PerSide::from_fn(|side| {
            let has_twin = |&at: &usize| exact[side.other()].contains(&self.known[side][at].exact);
            row[side].iter().copied().filter(has_twin).collect()
        })
    }

    /// The score of two elements without the bonus for equal names.
    fn nameless_score(&mut self, i: usize, j: usize) -> i64 {
        let score = self.plain(i, j);
        let (one, two) = self.known(i, j);
        score - name_bonus(one, two)
    }

    /// The elements of one list. `exact` and `keys` contain the number of calls with each hash and each key.
    fn elements_of(
        &self,
        side: Side,
        exact: &FxHashMap<u64, PerSide<u32>>,
        keys: &FxHashMap<Key, PerSide<u32>>,
    ) -> Vec<Element> {
        let (outline, tree) = (self.outlines[side], self.programs[side].tree());
        let is_more = |count: &PerSide<u32>| count[side] > count[side.other()];
        let known = |range: &Range<usize>| {
            let calls = &self.lists[side][range.clone()];
            let call = calls[0];
            let mut name = FxHasher::default();
            tree.name(CallId(call)).hash(&mut name);
            Element {
                call,
                key: outline.keys[call as usize],
                exact: outline.exact[call as usize],
                name: name.finish(),
                tokens: calls.iter().map(|&call| i64::from(outline.weight(call))).sum(),
                is_run: calls.len() > 1,
                is_gpu: outline.is_gpu(call),
                is_query: outline.is_query(call),
                is_novel: is_more(&exact[&outline.exact[call as usize]]),
                is_new_name: is_more(&keys[&outline.keys[call as usize]]),
                may_be_wrapped: false,
                in_row: false,
                credit: None,
                bag: None,
            }
        };
        self.elements[side].iter().map(known).collect()
    }

    /// The score of two elements without the credit that is added for layers.
    fn plain(&mut self, i: usize, j: usize) -> i64 {
        let (one, two) = self.known(i, j);
        if one.is_run || two.is_run {
            return AFFINITY * self.shared(i, j);
        }
        let (a, b) = (one.call, two.call);
        // If both elements have identical counterparts elsewhere, they should be matched with those counterparts
        // instead of with each other.
        let settled = !one.is_novel && !two.is_novel;
        if one.is_gpu && two.is_gpu {
            return if one.key == two.key {
                2 * TOKEN + name_bonus(one, two)
            } else {
                self.score_gpu(a, b)
            };
        }
        if one.key != two.key {
            return self.affinity(i, j);
        }
        if one.is_query || two.is_query {
            return QUERY;
        }
        if one.exact == two.exact {
            return TOKEN * (one.tokens + 1) + EXACT + name_bonus(one, two);
        }
        if is_one_inside_other(self.outlines, a, b) {
            return self.affinity(i, j);
        }
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let worth = if x.is_launch(a) && y.is_launch(b) {
            self.score_launch(i, j)
        } else {
            self.score_call(i, j)
        };
        if settled { worth / SETTLED } else { worth }
    }

    fn score_gpu(&self, a: u32, b: u32) -> i64 {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        match (self.launched_together, x.place(a) == y.place(b)) {
            (false, _) => 0,
            (true, true) => TOKEN / 4,
            // A memory copy may correspond to a kernel, because ROCm 7.1 recorded copies as kernels, unlike ROCm 7.2.
            (true, false) => TOKEN / 8,
        }
    }

    /// The score of two launches with the same key.
    fn score_launch(&mut self, i: usize, j: usize) -> i64 {
        let (a, _) = self.calls(i, j);
        let (lists, outlines) = (self.lists, self.outlines);
        let key = |side: Side, call: u32| outlines[side].keys[call as usize];
        let launches = self.launches.get_or_init(|| {
            let launches = PerSide::from_fn(|side| {
                lists[side].iter().copied().filter(move |&call| outlines[side].is_launch(call))
            });
            counts::of_tokens(launches, key)
        });
        let count = launches.get(&key(Side::Baseline, a));
        let agree = count.is_some_and(|count| count.baseline == count.candidate);
        let shared = self.shared(i, j);
        // All launches with the same key have GPU events of the same kind, so only kernel names are
        // evidence.
        let own = i64::from(self.outlines.baseline.own_weight(a)) + 1;
        if agree || shared > own { TOKEN * shared } else { 0 }
    }

    fn score_call(&mut self, i: usize, j: usize) -> i64 {
        let shared = self.shared(i, j);
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let (one, two) = self.known(i, j);
        let larger = one.tokens.max(two.tokens).max(1);
        let arguments = x.arguments[one.call as usize];
        let same_arguments = arguments != 0 && arguments == y.arguments[two.call as usize];
        TOKEN * shared
            + TOKEN * shared / larger
            + if same_arguments { ARGUMENTS } else { 0 }
            + name_bonus(one, two)
    }

    /// The score for aligning two calls that cannot match each other. If neither call occurs more often in its own list
    /// than in the opposite list, both calls may have identical counterparts elsewhere. The score is then 0.
    fn affinity(&mut self, i: usize, j: usize) -> i64 {
        let (one, two) = self.known(i, j);
        if !one.is_novel && !two.is_novel {
            return 0;
        }
        let (one, two) = (*one, *two);
        let (a, b) = (one.call, two.call);
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        match (x.kind(a), y.kind(b)) {
            (CallKind::Frame, CallKind::Frame) | (CallKind::Op, CallKind::Op)
                if x.is_gpu_path(a) == y.is_gpu_path(b) =>
            {
                let wrapped = self.wrapped(&one, &two);
                // The score is at least 1, because aligning two calls that have nothing in common
                // is still better than leaving both calls unmatched.
                wrapped.unwrap_or_else(|| (AFFINITY * self.shared(i, j)).max(1))
            }
            // If only one side has an op around a launch, that op is aligned opposite the bare launch on the other
            // side.
            (CallKind::Op, CallKind::Runtime) if y.is_launch(b) => self.holds(a, b, y.weight(b)),
            (CallKind::Runtime, CallKind::Op) if x.is_launch(a) => self.holds(a, b, x.weight(a)),
            _ => 0,
        }
    }

    /// The score of a call opposite a wrapper that contains a call with the same name. The call will be matched later,
    /// with a call inside the wrapper. For this to happen, the alignment must put the call opposite the wrapper, even
    /// in a run of similar siblings. The score is therefore nearly as high as for a match.
    fn wrapped(&mut self, one: &Element, two: &Element) -> Option<i64> {
        let mut inside = |side: Side, outer: &Element, inner: &Element| {
            if outer.wraps(inner) { self.bags.inside(side, outer.call, inner.key) } else { None }
        };
        let (a, b) = match inside(Side::Candidate, two, one) {
            Some(inner) => (one.call, inner),
            None => (inside(Side::Baseline, one, two)?, two.call),
        };
        Some(WRAPPED * self.common(a, b))
    }

    /// The score for aligning an op with a launch that has no enclosing op. The score is 0 unless the op shares at
    /// least two thirds of the launch's tokens. This threshold allows the kernel names to differ, but little else.
    /// `weight` is the number of tokens of the launch.
    fn holds(&mut self, a: u32, b: u32, weight: u32) -> i64 {
        let shared = self.common(a, b);
        if 3 * shared >= 2 * i64::from(weight) { AFFINITY * shared } else { 0 }
    }

    fn common(&mut self, a: u32, b: u32) -> i64 {
        i64::from(self.bags.shared(PerSide::new(a, b)))
    }
}

impl Compare for Siblings<'_, '_> {
    fn lengths(&self) -> (usize, usize) {
        (self.elements.baseline.len(), self.elements.candidate.len())
    }

    fn equal(&mut self, i: usize, j: usize) -> bool {
        if self.is_run(i, j) {
            return false;
        }
        let (a, b) = self.calls(i, j);
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        x.exact[a as usize] == y.exact[b as usize]
    }

    fn same_to_the_letter(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = self.calls(a, b);
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let name = |side: Side, call: u32| self.programs[side].tree().name(CallId(call));
        x.size(a) == y.size(b)
            && x.subtree(a)
                .zip(y.subtree(b))
                .all(|(i, j)| name(Side::Baseline, i) == name(Side::Candidate, j))
    }

    fn begins_step(&self, side: Side, at: usize) -> bool {
        let step = |at: usize| {
            let call = self.lists[side][self.elements[side][at].start];
            self.programs[side].steps().step(CallId(call))
        };
        at < self.elements[side].len() && (at == 0 || step(at - 1) != step(at))
    }

    fn is_a_thread(&self, side: Side, first: usize, length: usize) -> bool {
        let (threads, outline) = (self.lone_threads[side.other()], self.outlines[side]);
        !threads.is_empty() && {
            let run = &self.elements[side][first..first + length];
            let exact = |at: usize| outline.exact[self.lists[side][at] as usize];
            let ends = run.first().zip(run.last());
            ends.is_some_and(|(first, last)| {
                let calls = last.end - first.start;
                threads.contains(&LoneThread {
                    first: exact(first.start),
                    last: exact(last.end - 1),
                    calls,
                })
            })
        }
    }

    fn contradicts(&mut self, found: &[(usize, usize)]) -> bool {
        let (one, two) = self.lengths();
        if one.min(two) < LEAST_RUN {
            return false;
        }
        let calls = PerSide::from_fn(|side| {
            let elements = 0..self.elements[side].len();
            elements.map(|at| self.shaped(side, at)).collect::<Vec<_>>()
        });
        self.anchors = anchors(calls.as_ref().map(Vec::as_slice), found);
        !self.anchors.is_empty()
    }

    fn is_anchor(&self, i: usize, j: usize) -> bool {
        !self.anchors.is_empty() && {
            let shaped = self.shaped(Side::Baseline, i);
            shaped == self.shaped(Side::Candidate, j)
                && shaped.is_some_and(|call| self.anchors.contains(&call))
        }
    }

    fn is_pair(&self, i: usize, j: usize) -> bool {
        if self.is_run(i, j) {
            return false;
        }
        let (a, b) = self.calls(i, j);
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let same_key = x.keys[a as usize] == y.keys[b as usize];
        (same_key && !is_one_inside_other(self.outlines, a, b)) || (x.is_gpu(a) && y.is_gpu(b))
    }

    fn in_row(&mut self, i: usize, j: usize) -> bool {
        let (one, two) = self.known(i, j);
        one.in_row || two.in_row
    }

    fn score(&mut self, i: usize, j: usize) -> i64 {
        match self.plain(i, j) {
            0 => 0,
            plain if self.is_anchor(i, j) => plain + ANCHOR,
            plain => {
                let (one, two) = self.known(i, j);
                one.credits_with(two).map_or(plain, |(mine, theirs)| {
                    plain + mine.with(theirs, plain - name_bonus(one, two))
                })
            }
        }
    }

    fn most(&mut self, i: usize, j: usize) -> i64 {
        let is_anchor = self.is_anchor(i, j);
        let (one, two) = self.known(i, j);
        let credit = || one.credits_with(two).map_or(0, |(mine, theirs)| mine.most(theirs));
        one.plain_most(two) + if is_anchor { ANCHOR } else { credit() }
    }

    /// Ops and frames with the same key share at least that key, so their score is positive.
    fn scores(&mut self, i: usize, j: usize) -> bool {
        let (a, _) = self.calls(i, j);
        let is_op_or_frame = self.outlines.baseline.is_op_or_frame(a);
        (is_op_or_frame && self.is_pair(i, j)) || self.score(i, j) > 0
    }

    /// Chooses the kind of tokens to compare: exact tokens, shapes or keys. Exact tokens are the most specific, but
    /// they include kernel names, which differ between platforms. A less specific kind is chosen instead if the two
    /// lists share more than twice as many tokens of the less specific kind as of the more specific kind. If the lists
    /// share more tokens of the less specific kind, but at most twice as many, both kinds are returned, and the
    /// weighted alignment decides.
    fn tokens(&mut self, a: Range<usize>, b: Range<usize>) -> Vec<Tokens> {
        if !self.anchors.is_empty() {
            // Tokens of which only those of anchors are equal: the numbers of other elements are odd or even.
            let of = |side: Side, elements: Range<usize>| -> Vec<u64> {
                let own =
                    |at: usize| (1 << 63) | (2 * at as u64) | u64::from(side == Side::Baseline);
                let anchor =
                    |at: usize| self.shaped(side, at).filter(|call| self.anchors.contains(call));
                elements.map(|at| anchor(at).map_or_else(|| own(at), token)).collect()
            };
            return vec![(of(Side::Baseline, a), of(Side::Candidate, b))];
        }
        let first = |side: Side, elements: Range<usize>| -> Vec<u32> {
            let elements = self.elements[side][elements].iter();
            elements.map(|element| self.lists[side][element.start]).collect()
        };
        let lists = PerSide::new(first(Side::Baseline, a), first(Side::Candidate, b));
        let levels: [fn(&Outline<'_>, u32) -> u64; 3] = [
            |outline, call| outline.exact[call as usize],
            |outline, call| outline.shape[call as usize],
            |outline, call| u64::from(outline.keys[call as usize].0),
        ];
        let of_level = |level: fn(&Outline<'_>, u32) -> u64| -> Tokens {
            let of =
                |side: Side| lists[side].iter().map(|&c| level(self.outlines[side], c)).collect();
            (of(Side::Baseline), of(Side::Candidate))
        };
        let mut chosen: Vec<Tokens> = Vec::new();
        let mut most = 0;
        for tokens in levels.map(of_level) {
            let shared = shared_tokens(&tokens.0, &tokens.1);
            if chosen.is_empty() || shared > 2 * most {
                chosen = vec![tokens];
                most = shared;
            } else if chosen.len() == 1 && shared > most {
                chosen.push(tokens);
            }
        }
        chosen
    }
}

impl Element {
    /// An upper bound on [`Siblings::plain`].
    fn plain_most(&self, two: &Element) -> i64 {
        let one = self;
        let common = one.tokens.min(two.tokens);
        if one.is_run || two.is_run {
            return AFFINITY * common;
        }
        let same_key = one.key == two.key;
        if one.is_gpu && two.is_gpu {
            // Two GPU events from the same launch may match without sharing a token.
            return if same_key { 2 * TOKEN + NAME } else { TOKEN / 4 };
        }
        if same_key && one.exact == two.exact {
            return TOKEN * (common + 1) + EXACT + NAME;
        }
        let settled = !one.is_novel && !two.is_novel;
        match (same_key, settled) {
            (true, false) => TOKEN * (common + 1) + ARGUMENTS + NAME,
            (true, true) => (TOKEN * (common + 1) + ARGUMENTS + NAME) / SETTLED,
            (false, true) => 0,
            (false, false) => {
                let may_wrap = one.wraps(two) || two.wraps(one);
                (if may_wrap { WRAPPED } else { AFFINITY } * common).max(1)
            }
        }
    }

    /// The credits of two layers with the same key.
    fn credits_with(&self, two: &Element) -> Option<(Credit, Credit)> {
        self.credit.zip(two.credit).filter(|_| self.key == two.key)
    }

    /// Whether this element may be a wrapper around a call that has the same name as `inner`.
    fn wraps(&self, inner: &Element) -> bool {
        self.is_new_name && inner.may_be_wrapped
    }
}

fn name_bonus(one: &Element, two: &Element) -> i64 {
    if one.name == two.name { NAME } else { 0 }
}
