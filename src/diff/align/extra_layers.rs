//! Finds the layers that only one of two lists of calls has, for traces in which no call encloses a layer.
//!
//! ```text
//! trace1   embed  n q k m  n q k m  n q k m  loss
//! trace2   embed  n q k m  n k m    n q k m  n q k m  loss        the second layer lost its q
//! ```
//! If the calls were aligned directly, the alignment could skip parts of several layers and match the first `q` that it
//! finds. Such an alignment would match more calls than one that skips a whole layer, but most of its matches would be
//! wrong. The layers are therefore matched first, and the calls of the extra layers are left out of the alignment of
//! the calls.

use super::aligner::Aligner;
use super::bare_layers::{Layers, Token, layers};
use super::compare::{Compare, Tokens};
use super::layers::{Credit, credits};
use super::plain::shared_in_order;
use super::sequence;
use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::diff::weights::{BARE_LAYER_CELLS, FEWEST_MARKS, FUSED, LAYERS, TOKEN};
use crate::side::{PerSide, Side};
use crate::tree::{AUTOGRAD_PREFIX, CallId, CallKind, CallTree};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::ops::Range;

impl Aligner<'_> {
    /// Removes the calls of extra layers from two lists of siblings. These calls stay unmatched.
    pub(super) fn set_aside_extra_layers(&self, lists: &mut PerSide<Vec<u32>>) {
        let extra = extra_layers(self.trees, self.outlines, lists);
        let Some((side, extra)) = extra else { return };
        if self.may_be_elsewhere(side, &extra, lists) {
            return;
        }
        for run in extra.into_iter().rev() {
            for call in lists[side].drain(run) {
                for below in self.outlines[side].subtree(call) {
                    self.both.links.set_aside(side, below);
                }
            }
        }
    }

    /// Whether the calls of extra layers may have counterparts outside the two lists, or in generated code.
    fn may_be_elsewhere(
        &self,
        side: Side,
        extra: &[Range<usize>],
        lists: &PerSide<Vec<u32>>,
    ) -> bool {
        let weight = |side: Side, call: u32| u64::from(self.outlines[side].weight(call));
        let generated = |side: Side| -> u64 {
            let is_generated = |&&call: &&u32| {
                self.both.words.is_generated(self.outlines[side].keys[call as usize])
                    || self.trees[side].is_graph_launch(CallId(call))
            };
            lists[side].iter().filter(is_generated).map(|&call| weight(side, call)).sum()
        };
        let extra = || extra.iter().flat_map(|run| &lists[side][run.clone()]);
        let lost: u64 = extra().map(|&call| weight(side, call)).sum();
        let calls = extra().count();
        let threads = self.both.lone_threads[side.other()];
        generated(side.other()) > generated(side) + lost / FUSED
            || threads.iter().any(|thread| 2 * thread.calls >= calls)
    }
}

/// The side that has more layers, and the ranges of its list that contain the extra layers. Returns `None` if both
/// lists have the same number of layers, or if no layers are found.
fn extra_layers(
    trees: PerSide<&CallTree>,
    outlines: PerSide<&Outline<'_>>,
    lists: &PerSide<Vec<u32>>,
) -> Option<(Side, Vec<Range<usize>>)> {
    let (n, m) = (lists.baseline.len(), lists.candidate.len());
    if n == m || n.min(m) < LAYERS * FEWEST_MARKS {
        return None;
    }
    // If frames were recorded, each layer is a frame, so this search is not needed.
    let is_frame = |side: Side, call: u32| outlines[side].kind(call) == CallKind::Frame;
    if Side::BOTH.into_iter().any(|side| lists[side].iter().any(|&call| is_frame(side, call))) {
        return None;
    }
    let tokens = tokens(outlines, lists);
    let is_backward = Side::BOTH.into_iter().all(|side| {
        let name = |&call: &u32| trees[side].name(CallId(call));
        let nodes = lists[side].iter().filter(|call| name(call).starts_with(AUTOGRAD_PREFIX));
        2 * nodes.count() > lists[side].len()
    });
    let whole = PerSide::from_fn(|side| -> Vec<u64> {
        lists[side].iter().map(|&call| outlines[side].exact[call as usize]).collect()
    });
    let (tokens, whole) = (tokens.as_ref().map(Vec::as_slice), whole.as_ref().map(Vec::as_slice));
    extra(tokens, whole, is_backward)
}

/// Finds the extra layers. If several layers of a step could be the extra ones, the last of them are chosen. In a
/// backward pass, which runs the layers in reverse order, the first of them are chosen instead. However, layers that
/// are identical to the first layers of the other list are matched before any search. `whole` contains the hash of the
/// whole subtree of each call.
fn extra(
    tokens: PerSide<&[Token]>,
    whole: PerSide<&[u64]>,
    is_backward: bool,
) -> Option<(Side, Vec<Range<usize>>)> {
    let Layers { ranges, length } = layers(tokens)?;
    let (one, two) = (ranges.baseline.len(), ranges.candidate.len());
    if one == two || one.min(two) < LAYERS || one.saturating_mul(two) > BARE_LAYER_CELLS {
        return None;
    }
    let longer = if one > two { Side::Baseline } else { Side::Candidate };
    // If the lists differ only by copies of layers, an alignment of the calls is exact, wherever layers begin. But only
    // the layers show which of the copies in a backward pass are extra.
    if !is_backward && is_without_copies(whole[longer.other()], whole[longer], length) {
        return None;
    }
    let mut blocks = Blocks::new(tokens, &ranges, is_backward);
    // The calls that differ from one repetition of a loop to the next show which repetitions are extra.
    if !blocks.have_usual_layer() {
        return None;
    }
    let extra = blocks.extra(longer)?;
    // The extra layers must explain most of the difference in length.
    let removed: usize = extra.iter().map(Range::len).sum();
    let surplus = tokens[longer].len().saturating_sub(tokens[longer.other()].len());
    (2 * surplus.abs_diff(removed) <= surplus).then_some((longer, extra))
}

/// Whether `few` is `many` without some runs of `length` calls, each equal to the run before it or after it.
fn is_without_copies(few: &[u64], many: &[u64], length: usize) -> bool {
    let is_copy = |at: usize| {
        let run = many.get(at..at + length);
        let before = at.checked_sub(length).and_then(|before| many.get(before..at));
        let after = many.get(at + length..at + 2 * length);
        run.is_some() && (run == before || run == after)
    };
    let mut at = 0;
    for call in few.iter().map(Some).chain([None]) {
        while many.get(at) != call {
            if !is_copy(at) {
                return false;
            }
            at += length;
        }
        at += 1;
    }
    true
}

/// The tokens of two lists. A call whose name occurs in only one list may be a wrapper. If it contains only a single
/// call, its token is therefore the token of that call.
fn tokens(outlines: PerSide<&Outline<'_>>, lists: &PerSide<Vec<u32>>) -> PerSide<Vec<Token>> {
    let names = PerSide::from_fn(|side| -> FxHashSet<Key> {
        lists[side].iter().map(|&call| outlines[side].keys[call as usize]).collect()
    });
    PerSide::from_fn(|side| {
        let outline = outlines[side];
        let token = |&call: &u32| {
            let mut at = call;
            while !names[side.other()].contains(&outline.keys[at as usize]) {
                let mut inside = outline.each_child(at);
                let (Some(only), None) = (inside.next(), inside.next()) else { break };
                at = only;
            }
            let at = at as usize;
            u64::from(outline.keys[at].0) << 32 | u64::from(outline.arguments[at])
        };
        lists[side].iter().map(token).collect()
    })
}

/// A layer, or the calls between two layers.
struct Block {
    range: Range<usize>,
    is_layer: bool,
    /// Number of layers between this layer and the last block before it that is not a layer. `None` in a backward pass,
    /// or if there is no such block, because the recording may have begun between two layers.
    number: Option<usize>,
    /// Number of layers between this layer and the next block that is not a layer, or the end of the list.
    left: usize,
    /// The tokens of the calls, sorted.
    tokens: Vec<Token>,
    /// Hash of the tokens in the order of the calls.
    exact: u64,
    /// The layer's credit; `None` for blocks that are not layers.
    credit: Option<Credit>,
}

impl Block {
    /// Whether two layers have the same position in their runs of layers.
    fn has_place_of(&self, other: &Block) -> bool {
        match (self.number, other.number) {
            (Some(one), Some(two)) => one == two,
            (_, _) => self.left == other.left,
        }
    }
}

/// The blocks of both lists, in order.
struct Blocks(PerSide<Vec<Block>>);

impl Blocks {
    fn new(
        tokens: PerSide<&[Token]>,
        layers: &PerSide<Vec<Range<usize>>>,
        is_backward: bool,
    ) -> Blocks {
        let mut blocks = Blocks(PerSide::from_fn(|side| blocks_of(tokens[side], &layers[side])));
        blocks.add_cut_layers();
        Side::BOTH.into_iter().for_each(|side| number(&mut blocks.0[side], is_backward));
        blocks.credit_layers();
        blocks
    }

    /// If a recording began or ended within a layer, the rest of this layer counts as a layer.
    fn add_cut_layers(&mut self) {
        let mut inside: FxHashSet<Token> = FxHashSet::default();
        for side in Side::BOTH {
            let layers = self.0[side].iter().filter(|block| block.is_layer);
            layers.for_each(|layer| inside.extend(&layer.tokens));
        }
        let is_rest = |block: Option<&Block>| {
            block.is_some_and(|block| {
                !block.is_layer && block.tokens.iter().all(|token| inside.contains(token))
            })
        };
        let first = self.0.as_ref().map(|blocks| is_rest(blocks.first()));
        let last = self.0.as_ref().map(|blocks| is_rest(blocks.last()));
        for side in Side::BOTH {
            let [begin, end] = [first, last].map(|is_rest| is_rest[side] && !is_rest[side.other()]);
            if let Some(block) = self.0[side].first_mut().filter(|_| begin) {
                block.is_layer = true;
            }
            if let Some(block) = self.0[side].last_mut().filter(|_| end) {
                block.is_layer = true;
            }
        }
    }

    /// Computes the credit of each layer, which compensates for the calls that the layer lacks.
    fn credit_layers(&mut self) {
        let row = self.0.as_ref().map(|blocks| -> Vec<usize> {
            (0..blocks.len()).filter(|&at| blocks[at].is_layer).collect()
        });
        let full = self.0.as_ref().map(|blocks| -> Vec<i64> {
            blocks.iter().map(|block| TOKEN * block.tokens.len() as i64).collect()
        });
        let full = full.as_ref().map(Vec::as_slice);
        let credits = credits(&row, full, |i, j| self.shared(i, j));
        for side in Side::BOTH {
            for (&at, &credit) in row[side].iter().zip(&credits[side]) {
                self.0[side][at].credit = credit;
            }
        }
    }

    /// Whether half of the layers on either side are equal.
    fn have_usual_layer(&self) -> bool {
        Side::BOTH.into_iter().any(|side| {
            let mut layers: Vec<u64> = self.0[side]
                .iter()
                .filter(|block| block.is_layer)
                .map(|block| block.exact)
                .collect();
            layers.sort_unstable();
            let equal = layers.chunk_by(|one, two| one == two).map(<[u64]>::len);
            2 * equal.max().unwrap_or(0) >= layers.len()
        })
    }

    fn shared(&self, i: usize, j: usize) -> i64 {
        let shared = shared_in_order(&self.0.baseline[i].tokens, &self.0.candidate[j].tokens);
        TOKEN * shared as i64
    }

    /// The ranges of the layers on the side with more layers that have no counterpart. Returns `None` if the other side
    /// has different calls in place of these layers.
    fn extra(&mut self, longer: Side) -> Option<Vec<Range<usize>>> {
        let mut counterparts = self.0.as_ref().map(|blocks| vec![None; blocks.len()]);
        for (i, j) in sequence::align(self).pairs {
            counterparts.baseline[i] = Some(j);
            counterparts.candidate[j] = Some(i);
        }
        let layers = self.0[longer].iter().filter(|block| block.is_layer);
        let longest = layers.map(|layer| layer.range.len()).max()?;
        let instead = |(block, counterpart): (&Block, &Option<usize>)| {
            let opposite =
                counterpart.map_or(0, |counterpart| self.0[longer][counterpart].range.len());
            !block.is_layer && 2 * block.range.len() >= 2 * opposite + longest
        };
        if self.0[longer.other()].iter().zip(&counterparts[longer.other()]).any(instead) {
            return None;
        }
        let extra = self.0[longer].iter().zip(&counterparts[longer]);
        let extra = extra.filter(|(block, counterpart)| block.is_layer && counterpart.is_none());
        Some(extra.map(|(block, _)| block.range.clone()).collect())
    }
}

/// Divides one list into blocks.
fn blocks_of(tokens: &[Token], layers: &[Range<usize>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let block = |range: Range<usize>, is_layer: bool| {
        let mut tokens = tokens[range.clone()].to_vec();
        let mut hasher = FxHasher::default();
        tokens.hash(&mut hasher);
        let exact = hasher.finish();
        tokens.sort_unstable();
        Block { range, is_layer, number: None, left: 0, tokens, exact, credit: None }
    };
    let mut from = 0;
    for layer in layers.iter().cloned().chain(std::iter::once(tokens.len()..tokens.len())) {
        if from < layer.start {
            blocks.push(block(from..layer.start, false));
        }
        from = layer.end;
        if !layer.is_empty() {
            blocks.push(block(layer, true));
        }
    }
    blocks
}

/// Sets [`Block::number`] and [`Block::left`].
fn number(blocks: &mut [Block], is_backward: bool) {
    let mut number = None;
    for block in blocks.iter_mut() {
        block.number = number.filter(|_| !is_backward);
        number = if block.is_layer { number.map(|number| number + 1) } else { Some(0) };
    }
    let mut left = 0;
    for block in blocks.iter_mut().rev() {
        block.left = left;
        left = if block.is_layer { left + 1 } else { 0 };
    }
}

impl Compare for Blocks {
    fn lengths(&self) -> (usize, usize) {
        (self.0.baseline.len(), self.0.candidate.len())
    }

    fn equal(&mut self, i: usize, j: usize) -> bool {
        let (one, two) = (&self.0.baseline[i], &self.0.candidate[j]);
        one.is_layer == two.is_layer && one.exact == two.exact
    }

    fn score(&mut self, i: usize, j: usize) -> i64 {
        let (one, two) = (&self.0.baseline[i], &self.0.candidate[j]);
        if one.is_layer != two.is_layer {
            return 0;
        }
        let credit = |shared: i64| {
            let credits = one.credit.zip(two.credit);
            credits.map_or(0, |(mine, theirs)| mine.with(theirs, shared))
        };
        match self.shared(i, j) {
            0 => 0,
            shared => shared + credit(shared) + i64::from(one.is_layer && one.has_place_of(two)),
        }
    }

    fn in_row(&mut self, i: usize, j: usize) -> bool {
        self.0.baseline[i].is_layer || self.0.candidate[j].is_layer
    }

    fn tokens(&mut self, a: Range<usize>, b: Range<usize>) -> Vec<Tokens> {
        let exact = |blocks: &[Block]| blocks.iter().map(|block| block.exact).collect();
        vec![(exact(&self.0.baseline[a]), exact(&self.0.candidate[b]))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the extra layers in two strings whose letters are the calls, and returns the start and the end (exclusive)
    /// of each layer. Checks that exchanging the strings gives the same layers.
    fn found(a: &str, b: &str) -> Option<Vec<(usize, usize)>> {
        found_in_pass(a, b, false)
    }

    fn found_in_pass(a: &str, b: &str, is_backward: bool) -> Option<Vec<(usize, usize)>> {
        let of = |a: &str, b: &str| {
            let letters = |text: &str| text.bytes().map(Token::from).collect::<Vec<_>>();
            let tokens = PerSide::new(letters(a), letters(b));
            let tokens = tokens.as_ref().map(Vec::as_slice);
            extra(tokens, tokens, is_backward)
        };
        let there = of(a, b);
        let exchanged = of(b, a).map(|(side, extra)| (side.other(), extra));
        assert_eq!(exchanged, there, "{a} {b}");
        there.map(|(_, extra)| extra.into_iter().map(|run| (run.start, run.end)).collect())
    }

    #[test]
    fn a_damaged_layer_keeps_its_counterpart() {
        let (a, b) = ("x abcdefgh abcdefgh abcdefgh y", "x abcdefgh abdefgh abcdefgh abcdefgh y");
        let [a, b] = [a, b].map(|text| text.replace(' ', ""));
        assert_eq!(found(&a, &b), Some(vec![(24, 32)]));
    }

    #[test]
    fn a_layer_of_another_kind_keeps_its_counterpart() {
        let (a, b) =
            ("abcdefgh abcdefgh abcdEFGH abcdefgh abcdefgh", "abcdefgh abcdEFGH abcdefgh abcefgh");
        let [a, b] = [a, b].map(|text| format!("x{}y", text.replace(' ', "")));
        assert_eq!(found(&a, &b), Some(vec![(9, 17)]));
    }

    #[test]
    fn each_step_has_its_own_extra_layers() {
        let step = |layers: usize| format!("xw{}yz", "abcdefgh".repeat(layers));
        // The second step of the longer list lost its `w`.
        let longer = format!("{}{}", step(4), step(4).replace('w', ""));
        assert_eq!(found(&step(3).repeat(2), &longer), Some(vec![(26, 34), (61, 69)]));
    }

    #[test]
    fn layers_that_differ_inside_a_call_are_matched_first() {
        let letters = |text: &str| text.bytes().map(Token::from).collect::<Vec<_>>();
        let layers = |layers: usize| format!("xw{}yz", "abcdefgh".repeat(layers));
        // A call below the first `b` of the longer list is missing.
        let (few, many) = (letters(&layers(3)), letters(&layers(5)));
        let damaged = letters(&layers(5).replacen('b', "B", 1));
        let extra = extra(PerSide::new(&few, &many), PerSide::new(&few, &damaged), false);
        assert_eq!(extra, Some((Side::Candidate, vec![26..34, 34..42])));
    }

    #[test]
    fn copies_of_layers_are_left_to_the_alignment() {
        let layers = |layers: usize| format!("xw{}yz", "abcdefgh".repeat(layers));
        assert_eq!(found(&layers(3), &layers(5)), None);
        assert_eq!(found(&layers(3).repeat(2), &format!("{}{}", layers(4), layers(5))), None);
        assert!(found(&layers(3), &layers(5).replace('z', "")).is_some());
    }

    #[test]
    fn the_first_layers_of_a_backward_pass_are_extra() {
        let (a, b) =
            ("xw abcdefgh abcdefgh abcdefgh yz", "xw abdefgh abcdefgh abcdefgh abcdefgh yz");
        let [a, b] = [a, b].map(|text| text.replace(' ', ""));
        assert_eq!(found_in_pass(&a, &b, true), Some(vec![(2, 9)]));
        assert_eq!(found_in_pass(&a, &b, false), Some(vec![(25, 33)]));
    }

    #[test]
    fn a_recording_that_begins_within_a_layer_has_the_last_layers() {
        let whole = format!("xw{}yz", "abcdefgh".repeat(6));
        let cut = format!("fgh{}yz", "abcdefgh".repeat(3));
        assert_eq!(found(&cut, &whole), Some(vec![(2, 10), (10, 18)]));
    }

    #[test]
    fn layers_that_other_calls_replace_are_not_extra() {
        let whole = format!("xw{}z", "abcdefgh".repeat(5));
        let [same, replaced] =
            ["", "klmnopqrstu"].map(|calls| format!("xw{}{calls}abcdefghyz", "abcdefgh".repeat(2)));
        assert!(found(&same, &whole).is_some());
        assert_eq!(found(&replaced, &whole), None);
    }

    #[test]
    fn a_difference_in_length_must_be_that_of_the_layers() {
        let layers = |layers: usize, more: &str| format!("x{}{more}y", "abcdefgh".repeat(layers));
        assert!(found(&layers(3, ""), &layers(4, "klm")).is_some());
        assert_eq!(found(&layers(3, ""), &layers(4, &"klmnopqrst".repeat(3))), None);
    }
}
