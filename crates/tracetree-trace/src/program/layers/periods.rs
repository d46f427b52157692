//! Finds the layers of graph replays. A layer is a repeated section of a replay's kernel sequence.
//!
//! A captured graph has no modules, only kernels in order. Two kinds of patterns reveal the layers
//! of a graph:
//!
//! - An *anchor* is a kernel that occurs once in each layer. Layers need not be identical. For
//!   example, a model may alternate between two kinds of attention: one layer runs one attention
//!   kernel and the next layer runs two, but all other kernels are the same.
//! - A *run* is a kernel sequence that repeats exactly, back to back. A graph may contain several
//!   consecutive runs (one for each kind of block), and some kernels may occur in more than one
//!   run.
//!
//! ```text
//! e n │ q r A m o n │ q r B b m o n │ q r A m o n │ f        q r m o: once in each layer
//! e │ a b n c │ a b n c │ a b n c │ n s │ n s t u │ …        two runs: a b n c, then n s t u
//! ```
//! Anchors mark where each layer begins, so layers found by anchors take precedence over runs.
//! There is one exception: runs take precedence if they contain different kinds of layers and cover
//! at least three quarters as many kernels as the layers found by anchors.

use super::runs::{self, FEWEST_KERNELS, FEWEST_LAYERS, Part};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// At least one of every `ANCHOR_SHARE` kernels in the layers must be an anchor.
const ANCHOR_SHARE: usize = 2;

/// Two adjacent runs contain different kinds of layers if their first layers have at most this many
/// quarters of all their kernels in common. If they have more in common, all layers are of one
/// kind, and an irregular layer separates the two runs.
const COMMON_QUARTERS: usize = 3;

/// The sections of a kernel sequence that consist of repeated layers, in order; empty if no layers
/// repeat.
pub(super) fn parts(kernels: &[u32]) -> Vec<Part> {
    let anchored = anchored(kernels);
    let runs = runs::runs(kernels);
    let covered = |part: &Part| part.iter().map(Range::len).sum::<usize>();
    let by_runs = runs.iter().map(covered).sum::<usize>();
    let tell_kinds = runs.windows(2).any(|pair| are_unlike(kernels, &pair[0][0], &pair[1][0]));
    if anchored.is_empty() || (tell_kinds && by_runs * 4 >= covered(&anchored) * 3) {
        runs
    } else {
        vec![anchored]
    }
}

/// Whether at most [`COMMON_QUARTERS`] quarters of all kernels in two layers are common to both
/// layers.
fn are_unlike(kernels: &[u32], one: &Range<usize>, other: &Range<usize>) -> bool {
    let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
    for &kernel in &kernels[one.clone()] {
        *counts.entry(kernel).or_default() += 1;
    }
    let mut take = |kernel: &&u32| match counts.get_mut(*kernel) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        Some(_) | None => false,
    };
    let common = kernels[other.clone()].iter().filter(&mut take).count();
    common * 4 <= (one.len() + other.len() - common) * COMMON_QUARTERS
}

/// The layers found by their anchors; empty if there are no anchors.
fn anchored(kernels: &[u32]) -> Part {
    let mut positions: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, &kernel) in kernels.iter().enumerate() {
        positions.entry(kernel).or_default().push(at);
    }
    // Anchors are sorted by position, so the earliest of several equally good anchors marks the
    // start of a layer.
    let mut places: Vec<Vec<usize>> = positions.into_values().collect();
    places.retain(|starts| starts.len() >= FEWEST_LAYERS);
    places.sort_unstable();
    let groups = by_count(&places);
    let all =
        groups.iter().flat_map(|group| group.iter().map(|starts| Anchors::around(starts, group)));
    let best = all.reduce(|best, next| if next.weight() > best.weight() { next } else { best });
    let layers = best.filter(|best| best.are_most(kernels)).map(|best| best.layers(kernels));
    layers.filter(is_layered).unwrap_or_default()
}

/// Groups kernels that occur the same number of times, because only such kernels can be anchors of
/// the same layers.
fn by_count(places: &[Vec<usize>]) -> Vec<Vec<&Vec<usize>>> {
    let mut groups: std::collections::BTreeMap<usize, Vec<&Vec<usize>>> = Default::default();
    for starts in places {
        groups.entry(starts.len()).or_default().push(starts);
    }
    groups.into_values().collect()
}

/// Whether there are at least [`FEWEST_LAYERS`] layers with an average of at least
/// [`FEWEST_KERNELS`] kernels.
fn is_layered(layers: &Part) -> bool {
    let kernels: usize = layers.iter().map(Range::len).sum();
    layers.len() >= FEWEST_LAYERS && kernels >= FEWEST_KERNELS * layers.len()
}

/// The starts of a set of layers, and the anchors of these layers: the kernels that occur exactly
/// once in each layer.
struct Anchors<'a> {
    starts: &'a [usize],
    /// For each anchor, its positions: one per layer.
    anchors: Vec<&'a [usize]>,
}

impl<'a> Anchors<'a> {
    fn around(starts: &'a [usize], places: &[&'a Vec<usize>]) -> Self {
        let once_in_each = |positions: &&'a Vec<usize>| {
            positions.len() == starts.len()
                && starts.iter().zip(positions.iter()).all(|(start, at)| start <= at)
                && starts[1..].iter().zip(positions.iter()).all(|(next, at)| at < next)
        };
        let anchors = places.iter().copied().filter(once_in_each).map(Vec::as_slice).collect();
        Anchors { starts, anchors }
    }

    /// Total number of kernels that are anchors.
    fn kernels(&self) -> usize {
        self.anchors.len() * self.starts.len()
    }

    /// Whether there are enough layers and enough anchors: from the first layer to the last, at
    /// least one in [`ANCHOR_SHARE`] kernels must be an anchor. Kernels before and after the layers
    /// are ignored.
    fn are_most(&self, kernels: &[u32]) -> bool {
        let reach = self.end_of_last(kernels) - self.starts[0];
        self.starts.len() >= FEWEST_LAYERS && self.kernels() * ANCHOR_SHARE >= reach
    }

    /// Sort key for sets of layers: the best set has the most kernels that are anchors; on a tie,
    /// the most layers.
    fn weight(&self) -> (usize, usize) {
        (self.kernels(), self.starts.len())
    }

    fn layers(&self, kernels: &[u32]) -> Vec<Range<usize>> {
        let end = self.end_of_last(kernels);
        let ends = self.starts[1..].iter().copied().chain([end]);
        self.starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    fn end_of_last(&self, kernels: &[u32]) -> usize {
        let layers = self.starts.len();
        let behind = |layer: usize| {
            let last = self.anchors.iter().map(|anchor| anchor[layer]).max();
            last.map_or(self.starts[layer], |at| at + 1)
        };
        let tail = &kernels[behind(layers - 2)..self.starts[layers - 1]];
        let rest = &kernels[behind(layers - 1)..];
        let common = tail.iter().zip(rest).take_while(|(a, b)| a == b).count();
        behind(layers - 1) + common
    }
}

#[cfg(test)]
mod tests {
    use super::{are_unlike, parts};

    /// Splits a kernel sequence into layers; each letter of the string represents a kernel.
    fn split(sequence: &str) -> Vec<Vec<&str>> {
        let kernels: Vec<u32> = sequence.bytes().map(u32::from).collect();
        let layers = |part: Vec<std::ops::Range<usize>>| {
            part.into_iter().map(|range| &sequence[range]).collect()
        };
        parts(&kernels).into_iter().map(layers).collect()
    }

    #[test]
    fn layers_of_one_kind_are_the_period() {
        assert_eq!(split("xabcnabcnabcnz"), [["abcn", "abcn", "abcn"]]);
    }

    #[test]
    fn alternating_layers_are_found_one_by_one() {
        let layers = ["qrAmon", "qrBbmon", "qrAmon", "qrBbmon"];
        assert_eq!(split("enqrAmonqrBbmonqrAmonqrBbmonf"), [layers]);
    }

    #[test]
    fn a_kernel_that_repeats_inside_a_layer_does_not_divide_it() {
        assert_eq!(split("eqnknvoqnknvoqnknvop"), [["qnknvo", "qnknvo", "qnknvo"]]);
    }

    #[test]
    fn two_kinds_of_consecutive_blocks_are_two_parts() {
        let sequence = format!("xyz{}{}uvw", "nabmncd".repeat(3), "nqbmcr".repeat(5));
        let parts = split(&sequence);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [3, 5], "{parts:?}");
        assert_eq!((parts[0][0], parts[1][0]), ("nabmncd", "nqbmcr"));
    }

    #[test]
    fn a_long_head_and_tail_do_not_hide_the_layers_between_them() {
        let sequence = format!("ABCDEFGHIJKLMNOP{}QRSTUVWXYZ", "abcd".repeat(3));
        assert_eq!(split(&sequence), [["abcd", "abcd", "abcd"]]);
    }

    #[test]
    fn a_few_repeated_kernels_are_not_layers() {
        assert!(split("xaaaaaaaaaaaaz").is_empty());
        assert!(split("xabababababz").is_empty());
    }

    #[test]
    fn sequences_without_repetition_have_no_layers() {
        assert!(split("abcdefgh").is_empty());
        assert!(split("abab").is_empty());
        assert!(split("aXbYcZaUdVeWa").is_empty());
        assert!(split("").is_empty());
    }

    #[test]
    fn layers_differ_if_at_most_three_quarters_of_their_kernels_are_in_both() {
        let unlike = |kernels: &[u32], middle: usize| {
            let (one, other) = (0..middle, middle..kernels.len());
            let found = are_unlike(kernels, &one, &other);
            assert_eq!(are_unlike(kernels, &other, &one), found);
            found
        };
        assert!(!unlike(&[1, 2, 3, 4, 1, 2, 3, 4], 4));
        // Layers that share three of four kernels are different; layers that share four of five
        // kernels are similar.
        assert!(unlike(&[1, 2, 3, 1, 2, 3, 4], 3));
        assert!(!unlike(&[1, 2, 3, 4, 1, 2, 3, 4, 5], 4));
        // Kernel counts matter, not only names.
        assert!(unlike(&[1, 1, 1, 1, 1], 4) && unlike(&[1, 2, 3, 4], 2));
    }
}
