//! The kernel sequence of one graph replay → its layers: the parts that repeat.
//!
//! A captured graph has no modules, only kernels in order. Layers need not be equal: attention that
//! alternates between two kinds takes one kernel in one layer and two in the next, so that the exact
//! period of the sequence is two layers long. What all layers share still occurs once in each:
//!
//! ```text
//! e n │ q r A m o n │ q r B b m o n │ q r A m o n │ f        q r m o: once in each part
//! pre │ layer 0     │ layer 1       │ layer 2     │ post
//! ```
//! Such a kernel is an *anchor*. A layer reaches from its first anchor to that of the next layer; the
//! last one ends where its tail stops to look like that of the layer before.

use rustc_hash::FxHashMap;
use std::ops::Range;

/// Fewer repetitions are no evidence of layers.
const FEWEST_LAYERS: usize = 3;

/// The anchors must make up at least one in this many kernels of the sequence.
const ANCHOR_SHARE: usize = 2;

/// The layers of a sequence of kernels, as ranges of positions; empty where it does not repeat.
pub(super) fn layers(kernels: &[u32]) -> Vec<Range<usize>> {
    let mut positions: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, &kernel) in kernels.iter().enumerate() {
        positions.entry(kernel).or_default().push(at);
    }
    // By first position: among equally good ones, the first anchor of a layer begins it.
    let mut places: Vec<Vec<usize>> = positions.into_values().collect();
    places.sort_unstable();
    let Some(best) = places
        .iter()
        .filter(|starts| starts.len() >= FEWEST_LAYERS)
        .map(|starts| Anchors::around(starts, &places))
        .reduce(|best, next| if next.weight() > best.weight() { next } else { best })
    else {
        return Vec::new();
    };
    match best.kernels() * ANCHOR_SHARE >= kernels.len() {
        true => best.layers(kernels),
        false => Vec::new(),
    }
}

/// The kernels that occur once from each start to the next.
struct Anchors<'a> {
    starts: &'a [usize],
    /// Positions of each anchor, one for each start.
    anchors: Vec<&'a [usize]>,
}

impl<'a> Anchors<'a> {
    fn around(starts: &'a [usize], places: &'a [Vec<usize>]) -> Self {
        let once_in_each = |positions: &&'a Vec<usize>| {
            positions.len() == starts.len()
                && starts.iter().zip(positions.iter()).all(|(start, at)| start <= at)
                && starts[1..].iter().zip(positions.iter()).all(|(next, at)| at < next)
        };
        let anchors = places.iter().filter(once_in_each).map(Vec::as_slice).collect();
        Anchors { starts, anchors }
    }

    /// How many kernels of the sequence are anchors.
    fn kernels(&self) -> usize {
        self.anchors.len() * self.starts.len()
    }

    /// More anchors are better, and of those more layers.
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
    use super::layers;

    /// Letters stand for kernels.
    fn split(sequence: &str) -> Vec<&str> {
        let kernels: Vec<u32> = sequence.bytes().map(u32::from).collect();
        layers(&kernels).into_iter().map(|range| &sequence[range]).collect()
    }

    #[test]
    fn layers_of_one_kind_are_the_period() {
        assert_eq!(split("xabcnabcnabcnz"), ["abcn", "abcn", "abcn"]);
    }

    #[test]
    fn alternating_layers_are_found_one_by_one() {
        assert_eq!(
            split("enqrAmonqrBbmonqrAmonqrBbmonf"),
            ["qrAmon", "qrBbmon", "qrAmon", "qrBbmon"]
        );
    }

    #[test]
    fn a_kernel_that_repeats_inside_a_layer_does_not_divide_it() {
        assert_eq!(split("eqnknvoqnknvoqnknvop"), ["qnknvo", "qnknvo", "qnknvo"]);
    }

    #[test]
    fn what_does_not_repeat_has_no_layers() {
        assert!(split("abcdefgh").is_empty());
        assert!(split("abab").is_empty());
        assert!(split("aXbYcZaUdVeWa").is_empty());
        assert!(split("").is_empty());
    }
}
