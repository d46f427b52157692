//! Finds the layers in two lists of calls if no Python frames were recorded, so that no call encloses a layer.
//!
//! ```text
//!        embed  n l q k a l  n l q k a l  n l k a l  n l q k a l  n head
//! marks             q k a        q k a        k a        q k a
//! layers        └─────────┘  └─────────┘  └───────┘  └─────────┘
//! ```
//! A call that occurs once per layer is a *mark*. A new layer begins where the sequence of marks starts again. Some
//! layers may lack calls, so the marks and their order are determined from the majority of layers.

use crate::diff::weights::{FEWEST_MARKS, LAYERS, LEAST_RUN};
use crate::side::{PerSide, Side};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Calls that have the same name and arguments have the same token.
pub(super) type Token = u64;

/// The layers in two lists.
pub(super) struct Layers {
    pub(super) ranges: PerSide<Vec<Range<usize>>>,
    /// Number of calls in most layers. Layers in which calls are missing are shorter.
    pub(super) length: usize,
}

/// The layers in both lists. Returns `None` if there are no layers, or if most of them are not equally long and adjacent
/// to each other.
pub(super) fn layers(tokens: PerSide<&[Token]>) -> Option<Layers> {
    let marks = Marks::new(tokens)?;
    let starts = PerSide::from_fn(|side| marks.starts(tokens[side]));
    let lengths = starts.as_ref().map(|starts| -> Vec<usize> {
        let mut lengths: Vec<usize> = starts.windows(2).map(|two| two[1] - two[0]).collect();
        lengths.sort_unstable();
        lengths
    });
    let usual =
        lengths.as_ref().map(|lengths| lengths.get(lengths.len() / 2).copied().unwrap_or(0));
    // The usual length of a layer. A side on which calls are missing may have shorter layers.
    let length = usual.baseline.max(usual.candidate);
    if length < LEAST_RUN || 4 * usual.baseline.min(usual.candidate) < 3 * length {
        return None;
    }
    let adjacent_layers = |starts: &PerSide<Vec<usize>>| {
        let mut found: Vec<(Side, Range<usize>)> = Vec::new();
        for side in Side::BOTH {
            let layers = starts[side].windows(2).map(|two| two[0]..two[1]);
            let adjacent = layers.filter(|layer| 2 * layer.len() <= 3 * length);
            found.extend(adjacent.map(|layer| (side, layer)));
        }
        found
    };
    let whole = whole(tokens, &adjacent_layers(&starts));
    let starts = moved_to_beginning(tokens, &starts, length);
    // The last call of a layer and the first call of the next layer.
    let mut seams: FxHashMap<[Token; 2], usize> = FxHashMap::default();
    for (side, layer) in adjacent_layers(&starts) {
        *seams.entry([tokens[side][layer.end - 1], tokens[side][layer.end]]).or_default() += 1;
    }
    let seam = seams.into_iter().max_by_key(|&(seam, count)| (count, seam)).map(|(seam, _)| seam);
    let ranges = PerSide::from_fn(|side| {
        let all = tokens[side];
        let ends = starts[side].iter().skip(1).copied().chain([usize::MAX]);
        let layer = |(&start, next): (&usize, usize)| {
            // Layers may have a few more calls than usual.
            if next <= start + length + length / 8 + 1 {
                return start..next;
            }
            let limit = next.min(all.len()).min(start + length);
            let is_seam = |&at: &usize| seam == Some([all[at - 1], all[at]]);
            let mut near = (start + length * 3 / 4..=limit.min(all.len() - 1)).rev();
            let limit = near.find(is_seam).unwrap_or(limit);
            start..start + best_length(all[start..limit].iter(), whole.clone())
        };
        let layers = starts[side].iter().zip(ends).map(layer);
        layers.filter(|layer| 2 * layer.len() >= length).collect()
    });
    Some(Layers { ranges, length })
}

/// The calls of a layer, and how often each call occurs in it. If there are several kinds of layers, the result
/// combines the calls of all kinds.
fn whole(tokens: PerSide<&[Token]>, layers: &[(Side, Range<usize>)]) -> FxHashMap<Token, usize> {
    // For each token, the number of layers that contain it, and the largest number of times that it occurs in one
    // layer.
    let mut seen: FxHashMap<Token, (usize, usize)> = FxHashMap::default();
    for (side, layer) in layers {
        let counts = counted(&tokens[*side][layer.clone()]);
        counts.into_iter().for_each(|(token, count)| {
            let (layers, most) = seen.entry(token).or_default();
            *layers += 1;
            *most = count.max(*most);
        });
    }
    // A call that only a few layers contain is not part of the layers, but of the work between two steps.
    let is_inside = |having: usize| 6 * having >= layers.len();
    let inside = seen.into_iter().filter(|&(_, (having, _))| is_inside(having));
    inside.map(|(token, (_, most))| (token, most)).collect()
}

/// The marks and their order.
struct Marks(FxHashMap<Token, usize>);

impl Marks {
    /// The tokens, and pairs of adjacent tokens, that occur once per layer.
    fn new(tokens: PerSide<&[Token]>) -> Option<Marks> {
        let mut seen: FxHashMap<Token, PerSide<usize>> = FxHashMap::default();
        for side in Side::BOTH {
            for at in 0..tokens[side].len() {
                for mark in marks_at(tokens[side], at) {
                    seen.entry(mark).or_default()[side] += 1;
                }
            }
        }
        let counts =
            seen.into_iter().map(|(mark, count)| (mark, (count.baseline, count.candidate)));
        let mut counts: FxHashMap<Token, (usize, usize)> =
            counts.filter(|(_, (one, two))| *one.min(two) > 1).collect();
        // If one side has more layers, the calls of a layer occur more often on that side.
        let is_longer = tokens.baseline.len() > tokens.candidate.len();
        let is_uneven = |&(one, two): &(usize, usize)| {
            one.min(two) >= LAYERS
                && one.abs_diff(two) * 8 > one.max(two)
                && (one > two) == is_longer
        };
        let is_like = |leader: (usize, usize), count: (usize, usize)| {
            let is_like =
                |most: usize, count: usize| count <= most && most - count <= (most / 5).max(1);
            is_like(leader.0, count.0) && is_like(leader.1, count.1)
        };
        // For each pair of counts, the number of tokens that occur this often on the two sides.
        let mut alike: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        counts.values().for_each(|&count| *alike.entry(count).or_default() += 1);
        let like = |leader: (usize, usize)| -> usize {
            let like = alike.iter().filter(|&(&count, _)| is_like(leader, count));
            like.map(|(_, tokens)| tokens).sum()
        };
        let leaders = alike.keys().copied().filter(is_uneven);
        let leader =
            leaders.max_by_key(|&(one, two)| (like((one, two)), one + two, one.min(two)))?;
        counts.retain(|_, count| is_like(leader, *count));
        (counts.len() >= FEWEST_MARKS).then(|| Marks::ranked(tokens, &counts.into_keys().collect()))
    }

    /// Sorts the marks by their usual distance from the first mark of a layer.
    fn ranked(tokens: PerSide<&[Token]>, marks: &FxHashSet<Token>) -> Marks {
        let seen = tokens.map(|tokens| -> Vec<Token> {
            let mark = |at| marks_at(tokens, at).into_iter().find(|mark| marks.contains(mark));
            (0..tokens.len()).filter_map(mark).collect()
        });
        let mut first: FxHashMap<Token, usize> = FxHashMap::default();
        for side in Side::BOTH {
            let mut met = FxHashSet::default();
            for (at, &token) in seen[side].iter().enumerate() {
                if met.insert(token) {
                    *first.entry(token).or_default() += at;
                }
            }
        }
        let begin = first.iter().min_by_key(|&(&token, &at)| (at, token)).map(|(&token, _)| token);
        let mut distances: FxHashMap<Token, Vec<usize>> = FxHashMap::default();
        for side in Side::BOTH {
            let mut since = 0;
            for &token in &seen[side] {
                since = if Some(token) == begin { 0 } else { since + 1 };
                distances.entry(token).or_default().push(since);
            }
        }
        let median = |distances: &mut Vec<usize>| {
            distances.sort_unstable();
            distances[distances.len() / 2]
        };
        let mut order: Vec<(usize, Token)> =
            distances.iter_mut().map(|(&token, distances)| (median(distances), token)).collect();
        order.sort_unstable();
        Marks(order.into_iter().enumerate().map(|(rank, (_, token))| (token, rank)).collect())
    }

    /// The positions in one list where a layer begins.
    fn starts(&self, tokens: &[Token]) -> Vec<usize> {
        let mut starts = Vec::new();
        let mut before = None;
        for at in 0..tokens.len() {
            let mut marks = marks_at(tokens, at).into_iter();
            let Some(rank) = marks.find_map(|mark| self.0.get(&mark).copied()) else { continue };
            // Marks may swap places within a layer, so only a large step back in their order begins a new layer.
            let back = self.0.len().div_ceil(4).max(2);
            if before.is_none_or(|before| before >= rank + back) {
                starts.push(at);
            }
            before = Some(rank);
        }
        starts
    }
}

/// The tokens that may be a mark at a position: the token, and the token together with its predecessor.
fn marks_at(tokens: &[Token], at: usize) -> [Token; 2] {
    let mut hasher = FxHasher::default();
    (at.checked_sub(1).map(|before| tokens[before]), tokens[at]).hash(&mut hasher);
    [tokens[at], hasher.finish()]
}

/// Moves the start of each layer from its first mark to its actual beginning. If the
/// same calls precede the first mark of the second and of the third layer, these calls are the beginning of every layer.
fn moved_to_beginning(
    tokens: PerSide<&[Token]>,
    starts: &PerSide<Vec<usize>>,
    length: usize,
) -> PerSide<Vec<usize>> {
    let heads = PerSide::from_fn(|side| head(tokens[side], &starts[side], length));
    let head = heads.baseline.max(heads.candidate);
    let calls = counted(&head.1);
    PerSide::from_fn(|side| {
        let all = tokens[side];
        let mut before = 0;
        let mut moved = Vec::with_capacity(starts[side].len());
        for &start in &starts[side] {
            let least = start.saturating_sub(head.1.len() + 2).max(before);
            moved.push(start - best_length(all[least..start].iter().rev(), calls.clone()));
            before = start + 1;
        }
        moved
    })
}

/// The calls before the first mark of the second layer, and how well they agree with the calls before the first mark of
/// the third layer.
fn head(tokens: &[Token], starts: &[usize], length: usize) -> (i64, Vec<Token>) {
    let &[_, one, two, ..] = starts else { return (0, Vec::new()) };
    let mut seen: FxHashMap<Token, i64> = FxHashMap::default();
    let (mut worth, mut best) = (0, (0, 0));
    for back in 1..=one.min(2 * length - 1) {
        // Each call that occurs in both layers raises the value of a length; every other call lowers it.
        let mine = seen.entry(tokens[one - back]).or_default();
        worth += if *mine < 0 { 1 } else { -1 };
        *mine += 1;
        let theirs = seen.entry(tokens[two - back]).or_default();
        worth += if *theirs > 0 { 2 } else { 0 };
        *theirs -= 1;
        if worth > best.0 {
            best = (worth, back);
        }
    }
    let (worth, back) = best;
    // If a whole layer agrees, the head consists only of the calls before that layer.
    let own = if back + 2 < length { back } else { back.saturating_sub(length) };
    (worth, tokens[one - own..one].to_vec())
}

/// The length of the beginning of `tokens` that agrees best with a layer. Each call that the layer contains raises the
/// value of a length; every other call lowers it.
fn best_length<'t>(
    tokens: impl Iterator<Item = &'t Token>,
    mut layer: FxHashMap<Token, usize>,
) -> usize {
    let (mut worth, mut best) = (0_i64, (0, 0));
    for (at, token) in tokens.enumerate() {
        let left = layer.get_mut(token).filter(|left| **left > 0);
        worth += if left.is_some() { 1 } else { -1 };
        left.into_iter().for_each(|left| *left -= 1);
        if worth > best.0 {
            best = (worth, at + 1);
        }
    }
    best.1
}

fn counted(tokens: &[Token]) -> FxHashMap<Token, usize> {
    let mut counts = FxHashMap::default();
    tokens.iter().for_each(|&token| *counts.entry(token).or_default() += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layers in two strings, whose letters are the calls.
    fn found(a: &str, b: &str) -> Option<[Vec<String>; 2]> {
        let tokens =
            PerSide::new(a, b).map(|text| text.bytes().map(Token::from).collect::<Vec<_>>());
        let layers = layers(tokens.as_ref().map(Vec::as_slice))?.ranges;
        let texts = |text: &str, layers: &[Range<usize>]| {
            layers.iter().map(|layer| text[layer.clone()].to_owned()).collect()
        };
        Some([texts(a, &layers.baseline), texts(b, &layers.candidate)])
    }

    #[test]
    fn a_layer_begins_where_the_marks_start_again_even_if_some_are_missing() {
        let [_, candidate] =
            found("xabcdefghabcdefghabcdefghy", "xabcdefghabdefghbcdefghabcdefghabcdefghy")
                .unwrap();
        assert_eq!(candidate, ["abcdefgh", "abdefgh", "bcdefgh", "abcdefgh", "abcdefgh"]);
    }

    #[test]
    fn calls_that_a_layer_repeats_are_part_of_it() {
        // `o` occurs twice per layer, so the first mark is `a`, `b` or a pair of letters.
        let layer = "oabocdefg";
        let [baseline, _] =
            found(&format!("xy{}z", layer.repeat(3)), &format!("xy{}z", layer.repeat(5))).unwrap();
        assert_eq!(baseline, [layer; 3]);
    }

    #[test]
    fn marks_before_the_first_layer_do_not_shift_the_layers() {
        let layer = "abcdefghijkl";
        let [baseline, candidate] =
            found(&format!("xfg{}y", layer.repeat(4)), &format!("xfg{}y", layer.repeat(6)))
                .unwrap();
        assert_eq!((baseline, candidate), (vec![layer.to_owned(); 4], vec![layer.to_owned(); 6]));
    }

    #[test]
    fn the_last_layer_ends_where_another_would_begin() {
        // The last layer lost its `d`. The `a` after this layer belongs to the work that follows the layers.
        let [_, candidate] = found(
            &format!("x{}ayz", "abcdefgh".repeat(3)),
            &format!("x{}abcefghayz", "abcdefgh".repeat(4)),
        )
        .unwrap();
        assert_eq!(candidate.last().unwrap(), "abcefgh");
    }

    #[test]
    fn lists_that_do_not_repeat_have_no_layers() {
        assert_eq!(found("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyzABCDEFG"), None);
        // These lists repeat, but the repeated part has too few calls to be a layer.
        assert_eq!(found(&"abcd".repeat(6), &"abcd".repeat(9)), None);
    }
}
