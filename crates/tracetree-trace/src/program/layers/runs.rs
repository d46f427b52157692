//! Finds the runs in a sequence of kernels: subsequences that repeat exactly, back to back.
//!
//! After the first period of a run, each kernel has the same name as the kernel one period earlier.
//! The candidates for a period are the most frequent distances between kernels with the same name.
//! To check a candidate, the sequence is read once:
//!
//! ```text
//! x a b c d a b c d a b c d y      distance 4: eight kernels in a row equal the kernel four
//!   └─────┘ = = = = = = = =        positions earlier, so three layers of four kernels begin at a
//! ```
//! The run that covers the most kernels is chosen first; the kernels before and after that run are
//! then searched for further runs.

use rustc_hash::FxHashMap;
use std::ops::Range;

/// Minimum number of repetitions of a section; fewer repetitions are not evidence of layers.
pub(super) const FEWEST_LAYERS: usize = 3;

/// Minimum number of kernels in a layer; a repeated copy or add is not a layer.
pub(super) const FEWEST_KERNELS: usize = 4;

/// The layers of a sequence, as ranges of positions.
pub(super) type Part = Vec<Range<usize>>;

/// Maximum number of distances to try as the period of a run.
const DISTANCES: usize = 24;

/// When distances are counted, each kernel is compared with this many preceding kernels of the same
/// name. One preceding kernel is not enough, because a layer may contain several kernels with the
/// same name.
const FOLLOWERS: usize = 6;

/// Minimum number of distinct names in a layer; `a b a b` is not a layer of four kernels.
const FEWEST_NAMES: usize = 3;

/// All runs in a kernel sequence, in order.
pub(super) fn runs(kernels: &[u32]) -> Vec<Part> {
    let mut found: Vec<Run> = Vec::new();
    let mut open: Vec<Range<usize>> = std::iter::once(0..kernels.len()).collect();
    while let Some(range) = open.pop() {
        if range.len() < FEWEST_KERNELS * FEWEST_LAYERS {
            continue;
        }
        if let Some(run) = longest(kernels, &range) {
            open.extend([range.start..run.start, run.end()..range.end]);
            found.push(run);
        }
    }
    found.sort_unstable_by_key(|run| run.start);
    found.iter().map(Run::layers).collect()
}

/// Consecutive layers of the same length.
#[derive(Debug, Clone, Copy)]
struct Run {
    start: usize,
    period: usize,
    layers: usize,
}

impl Run {
    fn end(&self) -> usize {
        self.start + self.period * self.layers
    }

    fn layers(&self) -> Part {
        let layer = |at: usize| self.start + at * self.period;
        (0..self.layers).map(|at| layer(at)..layer(at + 1)).collect()
    }

    /// Whether a run is preferable to another: the better run covers more kernels. On a tie, the
    /// run with the shorter period is better, then the run with the earlier start.
    fn is_better(&self, than: &Run) -> bool {
        let rank = |run: &Run| {
            (run.period * run.layers, std::cmp::Reverse(run.period), std::cmp::Reverse(run.start))
        };
        rank(self) > rank(than)
    }
}

/// The run that covers the most kernels in a range.
fn longest(kernels: &[u32], range: &Range<usize>) -> Option<Run> {
    let periods = distances(&kernels[range.clone()]).into_iter();
    let runs = periods.flat_map(|period| at_distance(kernels, range, period));
    runs.reduce(|best, run| if run.is_better(&best) { run } else { best })
}

/// The most frequent distances between kernels with the same name.
fn distances(kernels: &[u32]) -> Vec<usize> {
    let mut positions: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    let mut counts: FxHashMap<usize, usize> = FxHashMap::default();
    for (at, &kernel) in kernels.iter().enumerate() {
        let before = positions.entry(kernel).or_default();
        for &other in before.iter().rev().take(FOLLOWERS) {
            *counts.entry(at - other).or_default() += 1;
        }
        before.push(at);
    }
    let mut ranked: Vec<(usize, usize)> =
        counts.into_iter().filter(|&(distance, _)| distance >= FEWEST_KERNELS).collect();
    ranked.sort_unstable_by_key(|&(distance, count)| (std::cmp::Reverse(count), distance));
    ranked.truncate(DISTANCES);
    ranked.into_iter().map(|(distance, _)| distance).collect()
}

/// The runs in `range` whose layers have `period` kernels each.
fn at_distance(kernels: &[u32], range: &Range<usize>, period: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut start = range.start;
    for at in range.clone() {
        if at + period < range.end && kernels[at] == kernels[at + period] {
            continue;
        }
        let layers = (at - start) / period + 1;
        if layers >= FEWEST_LAYERS && is_one_layer(&kernels[start..start + period]) {
            runs.push(Run { start, period, layers });
        }
        start = at + 1;
    }
    runs
}

/// Whether a period is a single layer: it does not consist of several identical layers, and its
/// kernels have at least [`FEWEST_NAMES`] distinct names.
fn is_one_layer(kernels: &[u32]) -> bool {
    let mut names = kernels.to_vec();
    names.sort_unstable();
    names.dedup();
    names.len() >= FEWEST_NAMES && !is_made_of_equals(kernels)
}

/// Whether the period consists of repetitions of a shorter period.
fn is_made_of_equals(kernels: &[u32]) -> bool {
    let length = kernels.len();
    (1..=length / 2)
        .filter(|part| length.is_multiple_of(*part))
        .any(|part| kernels.iter().zip(&kernels[part..]).all(|(a, b)| a == b))
}
