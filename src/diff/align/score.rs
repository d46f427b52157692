//! How much it is worth to pair two siblings: what they have in common, counted in tokens.

use super::Both;
use super::compare::{Compare, Tokens};
use super::inner::is_one_inside_other;
use super::plain::shared_tokens;
use super::runs;
use super::threads::LoneThread;
use super::weights::{AFFINITY, ARGUMENTS, EXACT, NAME, QUERY, SETTLED, TOKEN, WRAPPED};
use crate::diff::bags::{Bag, Bags};
use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::program::Program;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::cell::OnceCell;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Two lists of siblings to be aligned.
pub(super) struct Siblings<'a, 'b> {
    programs: PerSide<&'a Program>,
    outlines: PerSide<&'a Outline<'a>>,
    bags: &'b mut Bags<'a>,
    lists: PerSide<&'b [u32]>,
    /// The elements that are aligned, as ranges of the lists: single calls but for `runs`.
    elements: PerSide<Vec<Range<usize>>>,
    /// For each launch key, whether both lists launch equally often: then order is evidence enough.
    launches_agree: OnceCell<FxHashMap<Key, bool>>,
    /// What is known of each element, once it was asked for.
    known: PerSide<Vec<Element>>,
    /// GPU events of one launch may be paired by order; unlinked ones by name only.
    launched_together: bool,
    /// The threads of each side that have no partner.
    lone_threads: PerSide<&'b FxHashSet<LoneThread>>,
}

/// What is known of an element, whatever stands opposite it.
#[derive(Debug, Clone, Copy)]
struct Element {
    /// Its only call, or the first one of a run.
    call: u32,
    key: Key,
    exact: u64,
    /// Hash of its name to the letter.
    name: u64,
    /// Tokens of all that it holds.
    tokens: i64,
    is_run: bool,
    is_gpu: bool,
    is_query: bool,
    /// Whether its list has more calls that equal it than the other list.
    is_novel: bool,
    /// Whether its list has more calls of its key than the other list.
    is_new_name: bool,
    /// Whether an element of the other list with a new name may wrap a call of its key.
    may_be_wrapped: bool,
    /// What it holds, once that was asked for.
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
            launches_agree: OnceCell::new(),
            known: PerSide::default(),
            launched_together,
            lone_threads,
        }
    }

    /// The two calls of a pair of elements.
    pub(super) fn calls(&self, i: usize, j: usize) -> (u32, u32) {
        let first = |side: Side, at: usize| self.lists[side][self.elements[side][at].start];
        (first(Side::Baseline, i), first(Side::Candidate, j))
    }

    /// Whether one of two elements is more than a single call.
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

    /// What is known of two elements.
    fn known(&mut self, i: usize, j: usize) -> (&Element, &Element) {
        if self.known.baseline.is_empty() {
            self.look_up();
        }
        (&self.known.baseline[i], &self.known.candidate[j])
    }

    fn look_up(&mut self) {
        self.known = PerSide::from_fn(|side| self.elements_of(side));
        let cores = PerSide::from_fn(|side| {
            let wrappers = self.known[side].iter().filter(|element| element.is_new_name);
            self.bags.keys_inside(side, wrappers.map(|element| element.call))
        });
        for side in Side::BOTH {
            for element in &mut self.known[side] {
                element.may_be_wrapped = cores[side.other()].contains(&element.key);
            }
        }
    }

    fn elements_of(&self, side: Side) -> Vec<Element> {
        let (outline, tree) = (self.outlines[side], self.programs[side].tree());
        let exact = |side: Side, call: u32| self.outlines[side].exact[call as usize];
        let key = |side: Side, call: u32| u64::from(self.outlines[side].keys[call as usize].0);
        let novel = surplus(self.lists, side, exact);
        let new_names = surplus(self.lists, side, key);
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
                is_novel: novel[range.start],
                is_new_name: new_names[range.start],
                may_be_wrapped: false,
                bag: None,
            }
        };
        self.elements[side].iter().map(known).collect()
    }

    fn score_gpu(&self, a: u32, b: u32) -> i64 {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        match (self.launched_together, x.place(a) == y.place(b)) {
            (false, _) => 0,
            (true, true) => TOKEN / 4,
            // ROCm 7.1 wrote copies as kernels, 7.2 as copies.
            (true, false) => TOKEN / 8,
        }
    }

    /// Of two launches of one key.
    fn score_launch(&mut self, i: usize, j: usize) -> i64 {
        let (a, _) = self.calls(i, j);
        let key = self.outlines.baseline.keys[a as usize];
        let launches = || launches_agree(self.outlines, self.lists);
        let agree = self.launches_agree.get_or_init(launches).get(&key).copied().unwrap_or(false);
        let shared = self.shared(i, j);
        // The key and the kind of GPU event are common to all launches; names are the evidence.
        let own = i64::from(self.outlines.baseline.own_weight(a)) + 1;
        match agree || shared > own {
            true => TOKEN * shared,
            false => 0,
        }
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

    /// What two calls of different keys share, where at least one of them is new in its list.
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
                // At least 1: two calls opposite each other that have nothing in common are still a better
                // guess than two calls without partner.
                wrapped.unwrap_or_else(|| (AFFINITY * self.shared(i, j)).max(1))
            }
            // Where one side has no op around its launch, the launch stands in the place of the op.
            (CallKind::Op, CallKind::Runtime) if y.is_launch(b) => self.holds(a, b, y.weight(b)),
            (CallKind::Runtime, CallKind::Op) if x.is_launch(a) => self.holds(a, b, x.weight(a)),
            _ => 0,
        }
    }

    /// What a call and the one of its name inside of a wrapper share. They become a pair, if one
    /// level deeper, and must hold their place in a row of like siblings as a pair does.
    fn wrapped(&mut self, one: &Element, two: &Element) -> Option<i64> {
        let mut inside = |side: Side, outer: &Element, inner: &Element| match outer.wraps(inner) {
            true => self.bags.inside(side, outer.call, inner.key),
            false => None,
        };
        let (a, b) = match inside(Side::Candidate, two, one) {
            Some(inner) => (one.call, inner),
            None => (inside(Side::Baseline, one, two)?, two.call),
        };
        Some(WRAPPED * self.common(a, b))
    }

    /// What two calls share, where that is all of `weight` but the names of kernels.
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

    fn is_pair(&self, i: usize, j: usize) -> bool {
        if self.is_run(i, j) {
            return false;
        }
        let (a, b) = self.calls(i, j);
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let same_key = x.keys[a as usize] == y.keys[b as usize];
        (same_key && !is_one_inside_other(self.outlines, a, b)) || (x.is_gpu(a) && y.is_gpu(b))
    }

    fn score(&mut self, i: usize, j: usize) -> i64 {
        let (one, two) = self.known(i, j);
        if one.is_run || two.is_run {
            return AFFINITY * self.shared(i, j);
        }
        let (a, b) = (one.call, two.call);
        // Where each has an equal partner elsewhere, the two have changed places.
        let settled = !one.is_novel && !two.is_novel;
        if one.is_gpu && two.is_gpu {
            return match one.key == two.key {
                true => 2 * TOKEN + name_bonus(one, two),
                false => self.score_gpu(a, b),
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
        let worth = match x.is_launch(a) && y.is_launch(b) {
            true => self.score_launch(i, j),
            false => self.score_call(i, j),
        };
        if settled { worth / SETTLED } else { worth }
    }

    fn most(&mut self, i: usize, j: usize) -> i64 {
        let (one, two) = self.known(i, j);
        let common = one.tokens.min(two.tokens);
        if one.is_run || two.is_run {
            return AFFINITY * common;
        }
        let same_key = one.key == two.key;
        if one.is_gpu && two.is_gpu {
            // Two GPU events of one launch may be a pair without a token in common.
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

    /// Calls of one key share at least that; launches need more.
    fn scores(&mut self, i: usize, j: usize) -> bool {
        let (a, _) = self.calls(i, j);
        let is_op_or_frame = self.outlines.baseline.is_op_or_frame(a);
        (is_op_or_frame && self.is_pair(i, j)) || self.score(i, j) > 0
    }

    /// The most telling tokens of which the two lists share enough: exact ones, else shapes, else
    /// keys. Exact ones hold the names of kernels, which another platform has other ones for; where
    /// they are shared by some and the next by more, nothing tells which are right but the paths.
    fn tokens(&mut self, a: Range<usize>, b: Range<usize>) -> Vec<Tokens> {
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
    /// Whether it may be a wrapper around the call of the other element's name.
    fn wraps(&self, inner: &Element) -> bool {
        self.is_new_name && inner.may_be_wrapped
    }
}

fn name_bonus(one: &Element, two: &Element) -> i64 {
    if one.name == two.name { NAME } else { 0 }
}

/// For each element of one list, whether it has more calls of its token than the other list: not
/// all of them can have a partner of that token.
fn surplus(lists: PerSide<&[u32]>, side: Side, token: impl Fn(Side, u32) -> u64) -> Vec<bool> {
    let mut surplus: FxHashMap<u64, i64> = FxHashMap::default();
    for &call in lists[side] {
        *surplus.entry(token(side, call)).or_default() += 1;
    }
    for &call in lists[side.other()] {
        *surplus.entry(token(side.other(), call)).or_default() -= 1;
    }
    lists[side].iter().map(|&call| surplus[&token(side, call)] > 0).collect()
}

fn launches_agree(outlines: PerSide<&Outline<'_>>, lists: PerSide<&[u32]>) -> FxHashMap<Key, bool> {
    let mut balance: FxHashMap<Key, i64> = FxHashMap::default();
    for side in Side::BOTH {
        let outline = outlines[side];
        for &call in lists[side].iter().filter(|&&call| outline.is_launch(call)) {
            *balance.entry(outline.keys[call as usize]).or_default() +=
                if side == Side::Baseline { 1 } else { -1 };
        }
    }
    balance.into_iter().map(|(key, difference)| (key, difference == 0)).collect()
}
