//! Finds the run of siblings that each compiled region replaced, before the two lists of siblings
//! are aligned.
//!
//! ```text
//! trace1   L  L  L  L  L  L              Each region is opposite a run with the work that the region is expected to
//! trace2   L  R  L  R  R  L              have replaced, so the layers between the regions match in order
//! ```
//!
//! A plain alignment of identical layers may match the layers between the regions with layers that a region replaced.
//! No layers would then be left for the region to match.

use crate::diff::counts::sums;
use crate::diff::outline::Outline;
use crate::diff::regions;
use crate::diff::weights::{COLUMN_CELLS, COLUMN_STEPS};
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallTree};
use rustc_hash::FxHashMap;
use std::ops::{Range, RangeInclusive};

/// A run fits a region if the run's work differs from the expected work by less than this factor.
const REACH: f64 = 3.5;
/// Determines how far the search extends in both directions from the predicted position: (`BAND` × work of the largest
/// region) + (all work / `BAND`).
const BAND: f64 = 8.0;

/// The side that has compiled regions or graph launches; `None` if both sides have them, or if neither side has them.
/// If both sides have regions, an unmatched region may have been moved or wrapped instead of replacing calls.
pub(super) fn compiled_side(
    trees: PerSide<&CallTree>,
    outlines: PerSide<&Outline<'_>>,
) -> Option<Side> {
    let is_compiled = |side: Side| {
        let mut seen = Vec::new();
        // Checking one call per key is enough, because either all calls with the same key are
        // regions, or none of them is.
        (0..).zip(&outlines[side].keys).any(|(call, key)| {
            let at = key.0 as usize;
            seen.resize(seen.len().max(at + 1), false);
            !std::mem::replace(&mut seen[at], true)
                && regions::names_region(outlines[side].kind(call), trees[side].name(CallId(call)))
        })
    };
    match Side::BOTH.map(is_compiled) {
        [true, false] => Some(Side::Baseline),
        [false, true] => Some(Side::Candidate),
        [true, true] | [false, false] => None,
    }
}

/// Splits two lists of siblings at each region of `side` that replaced a run of siblings. The resulting parts contain
/// neither the region nor its run. However, some calls in the run occur in the list with the regions at least as often
/// as in the opposite list. No region replaced these calls, so they are added to the part after the region. Returns
/// `None` if no region replaced a run.
pub(super) fn between_regions(
    trees: PerSide<&CallTree>,
    outlines: PerSide<&Outline<'_>>,
    side: Side,
    lists: &PerSide<Vec<u32>>,
) -> Option<Vec<PerSide<Vec<u32>>>> {
    let is_region = |call: u32| regions::is_opaque(trees[side], CallId(call));
    if !lists[side].iter().any(|&call| is_region(call)) {
        return None;
    }
    let (mine, theirs) = (outlines[side], outlines[side.other()]);
    let mut calls: Vec<Item> =
        lists[side.other()].iter().map(|&call| Item::of(theirs, call)).collect();
    let columns = expected(
        &calls,
        lists[side].iter().map(|&call| {
            let events =
                is_region(call).then(|| trees[side].gpu_events(CallId(call)).max(1) as i64);
            (Item::of(mine, call), events)
        }),
    )?;
    mark_survivors(&mut calls, &columns);
    let replaced = Search::new(&calls, &columns)?.replaced();
    let mut parts = Vec::new();
    let mut part: PerSide<Vec<u32>> = PerSide::default();
    let (mut from, mut from_other) = (0, 0);
    for (region, run) in replaced {
        part[side].extend(&lists[side][from..region]);
        part[side.other()].extend(&lists[side.other()][from_other..run.start]);
        parts.push(std::mem::take(&mut part));
        let survivors = run.clone().filter(|&at| calls[at].survives);
        part[side.other()].extend(survivors.map(|at| lists[side.other()][at]));
        (from, from_other) = (region + 1, run.end);
    }
    part[side].extend(&lists[side][from..]);
    part[side.other()].extend(&lists[side.other()][from_other..]);
    parts.push(part);
    (parts.len() > 1).then_some(parts)
}

/// The properties of a sibling that the search compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item {
    key: u32,
    shape: u64,
    exact: u64,
    /// Number of evidence tokens in the subtree.
    tokens: i64,
    /// Whether the list that contains the regions has at least as many calls of this shape as the opposite list. If so,
    /// no region replaced this call.
    survives: bool,
}

impl Item {
    fn of(outline: &Outline<'_>, call: u32) -> Item {
        Item {
            key: outline.keys[call as usize].0,
            shape: outline.shape[call as usize],
            exact: outline.exact[call as usize],
            tokens: i64::from(outline.weight(call)),
            survives: false,
        }
    }

    /// The score of two siblings: about 3 per token if the siblings are identical, 2 per token if only their kernels
    /// differ, and 1 per token if only their keys are the same.
    fn score(self, other: Item) -> i64 {
        if self.key != other.key {
            0
        } else if self.exact == other.exact {
            3 * self.tokens + 1
        } else if self.shape == other.shape {
            2 * self.tokens + 1
        } else {
            self.tokens.min(other.tokens)
        }
    }
}

/// An element of the list that contains the regions: a call or a region.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Call(Item),
    /// A region that is expected to have replaced siblings with this number of tokens.
    Region(f64),
}

/// Returns the columns, with an estimate of the work that each region replaced. For this estimate, the additional work
/// in the opposite list is divided among the regions in proportion to their GPU events. Returns `None` if the opposite
/// list has no additional work.
fn expected(
    calls: &[Item],
    columns: impl Iterator<Item = (Item, Option<i64>)> + Clone,
) -> Option<Vec<Column>> {
    let tokens = |items: &[Item]| items.iter().map(|item| item.tokens).sum::<i64>();
    let kept: i64 =
        columns.clone().filter(|column| column.1.is_none()).map(|one| one.0.tokens).sum();
    let events: i64 = columns.clone().filter_map(|column| column.1).sum();
    let replaced = tokens(calls) - kept;
    let column = |(item, region): (Item, Option<i64>)| match region {
        Some(own) => Column::Region(replaced as f64 * own as f64 / events as f64),
        None => Column::Call(item),
    };
    (replaced > 0).then(|| columns.map(column).collect())
}

/// Marks the calls that occur in the list with the regions at least as often as in the opposite list, such as the steps
/// that accumulate gradients. A compiled backward step may run all of its work before the steps that accumulate
/// gradients.
fn mark_survivors(calls: &mut [Item], columns: &[Column]) {
    let mut surplus: FxHashMap<u64, i64> = FxHashMap::default();
    for call in &*calls {
        *surplus.entry(call.shape).or_default() += 1;
    }
    for column in columns {
        match column {
            Column::Call(item) => *surplus.entry(item.shape).or_default() -= 1,
            Column::Region(_) => {}
        }
    }
    for call in calls {
        call.survives = surplus[&call.shape] <= 0;
    }
}

/// How well a run with `tokens` tokens fits a region that is expected to have replaced `expected` tokens. A token
/// scores less here than in a match of two calls, so matching two calls takes precedence over a better fit. A small
/// deviation hardly lowers the score, because casts that the compiler adds and ops that it removes change the amount of
/// work slightly.
fn fit(tokens: i64, expected: f64) -> f64 {
    let off = (tokens as f64 / expected).ln() / REACH.ln();
    expected / 4.0 * (1.0 - off * off)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    SkipCall,
    SkipColumn,
    Match,
    /// The column is a region that replaced this number of calls.
    Replace(u32),
}

/// The column of a region, and the run of calls that the region replaced.
type Replaced = (usize, Range<usize>);

/// A search for the alignment with the highest score. Each region is aligned with a run of calls. The search visits
/// only cells near the path that the expected work predicts.
struct Search<'s> {
    calls: &'s [Item],
    columns: &'s [Column],
    /// Number of tokens before each call, counting only calls that a region may have replaced. One additional entry at
    /// the end contains the total.
    tokens_before: Vec<i64>,
    /// For each column, the rows to search.
    rows: Vec<RangeInclusive<usize>>,
}

impl<'s> Search<'s> {
    /// Returns `None` if the search would take too long, or if the lists have no calls to match.
    fn new(calls: &'s [Item], columns: &'s [Column]) -> Option<Self> {
        let tokens_before =
            sums(calls.iter().map(|call| if call.survives { 0 } else { call.tokens }));
        let rows = band(&sums(calls.iter().map(|call| call.tokens)), columns);
        let search = Search { calls, columns, tokens_before, rows };
        let cells = search.rows.iter().map(|rows| rows.end() + 1 - rows.start());
        let can_match = columns.iter().any(|column| matches!(column, Column::Call(_)));
        let steps = columns.iter().map(|column| match column {
            Column::Call(_) => 0,
            Column::Region(expected) => search.runs(*expected).map(|(_, run)| run.len()).sum(),
        });
        let is_short = can_match
            && cells.sum::<usize>() <= COLUMN_CELLS
            && steps.sum::<usize>() <= COLUMN_STEPS;
        is_short.then_some(search)
    }

    /// For each position, finds the runs that end there, and returns the range of their start
    /// positions. A run is included if its number of tokens differs from `expected` by at most the
    /// factor [`REACH`].
    fn runs(&self, expected: f64) -> impl Iterator<Item = (usize, Range<usize>)> {
        let (least, most) = (expected / REACH, expected * REACH);
        let before = &self.tokens_before;
        let (mut first, mut last) = (0, 0);
        (0..before.len()).map(move |end| {
            while (before[end] - before[first]) as f64 > most {
                first += 1;
            }
            while last < end && (before[end] - before[last]) as f64 >= least {
                last += 1;
            }
            (end, first..last.max(first))
        })
    }

    /// The regions that replaced calls, each with the run that it replaced. Unmatched calls
    /// directly before and after the run are added to the run.
    fn replaced(&self) -> Vec<Replaced> {
        const OUTSIDE: f64 = f64::NEG_INFINITY;
        let rows = self.calls.len() + 1;
        let mut best = vec![0.0_f64; rows];
        let mut steps: Vec<Vec<Step>> = Vec::with_capacity(self.columns.len());
        for (column, range) in self.columns.iter().zip(&self.rows) {
            let (from, to) = (*range.start(), *range.end());
            let mut next = vec![OUTSIDE; rows];
            let mut own = vec![Step::SkipColumn; to + 1 - from];
            next[from..=to].copy_from_slice(&best[from..=to]);
            match column {
                Column::Call(item) => {
                    for row in from.max(1)..=to {
                        let score = item.score(self.calls[row - 1]) as f64;
                        if score > 0.0 && best[row - 1] + score >= next[row] {
                            (next[row], own[row - from]) = (best[row - 1] + score, Step::Match);
                        }
                    }
                }
                Column::Region(expected) => {
                    for (end, starts) in self.runs(*expected).filter(|(end, _)| range.contains(end))
                    {
                        for start in starts {
                            let tokens = self.tokens_before[end] - self.tokens_before[start];
                            let score = best[start] + fit(tokens, *expected);
                            if score > next[end] {
                                next[end] = score;
                                own[end - from] = Step::Replace((end - start) as u32);
                            }
                        }
                    }
                }
            }
            for row in from + 1..=to {
                if next[row - 1] > next[row] {
                    (next[row], own[row - from]) = (next[row - 1], Step::SkipCall);
                }
            }
            best = next;
            steps.push(own);
        }
        self.traced(&steps)
    }

    fn traced(&self, steps: &[Vec<Step>]) -> Vec<Replaced> {
        let (mut row, mut column) = (self.calls.len(), self.columns.len());
        let mut replaced: Vec<Replaced> = Vec::new();
        let mut gap = Gap { end: row, before_region: false, has_columns: false };
        while column > 0 {
            match steps[column - 1][row - self.rows[column - 1].start()] {
                Step::SkipCall => row -= 1,
                Step::SkipColumn => {
                    column -= 1;
                    gap.has_columns = true;
                }
                Step::Match => {
                    gap.extend_next(&mut replaced, row);
                    (row, column) = (row - 1, column - 1);
                    gap = Gap { end: row, before_region: false, has_columns: false };
                }
                Step::Replace(length) => {
                    gap.extend_next(&mut replaced, row);
                    let end = if gap.before_region || gap.has_columns { row } else { gap.end };
                    (row, column) = (row - length as usize, column - 1);
                    replaced.push((column, row..end));
                    gap = Gap { end: row, before_region: true, has_columns: false };
                }
            }
        }
        gap.extend_next(&mut replaced, 0);
        replaced.reverse();
        replaced
    }
}

/// A stretch of unmatched calls with a match or a region at each end. The calls belong to an adjacent region if no
/// unmatched column is opposite them.
struct Gap {
    end: usize,
    before_region: bool,
    has_columns: bool,
}

impl Gap {
    /// If a region directly follows the gap, extends the region's run so that it begins at `start`.
    fn extend_next(&self, replaced: &mut [Replaced], start: usize) {
        if self.before_region
            && !self.has_columns
            && let Some((_, run)) = replaced.last_mut()
        {
            run.start = start;
        }
    }
}

/// For each column, the rows to search: the rows near the one that the expected work of the preceding columns predicts.
fn band(tokens_before: &[i64], columns: &[Column]) -> Vec<RangeInclusive<usize>> {
    let last = tokens_before.len() - 1;
    let all = tokens_before[last] as f64;
    let work = |column: &Column| match column {
        Column::Call(item) => item.tokens as f64,
        Column::Region(expected) => *expected,
    };
    let is_region = |column: &&Column| matches!(column, Column::Region(_));
    let largest = columns.iter().filter(is_region).map(work).fold(0.0, f64::max);
    let width = BAND * largest + all / BAND;
    let mut before = 0.0;
    let rows = columns.iter().enumerate().map(|(at, column)| {
        let from = before - width;
        before += work(column);
        let row = |tokens: f64| tokens_before.partition_point(|&other| (other as f64) < tokens);
        let from = if at == 0 { 0 } else { row(from).min(last) };
        from..=if at + 1 == columns.len() { last } else { row(before + width).min(last) }
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interprets each letter as a sibling with 2 tokens, and each digit as a region with that
    /// number of GPU events.
    fn replaced(calls: &str, columns: &str) -> Vec<String> {
        let item = |letter: char| Item {
            key: letter.into(),
            shape: letter.into(),
            exact: letter.into(),
            tokens: 2,
            survives: false,
        };
        let mut items: Vec<Item> = calls.chars().map(item).collect();
        let events = |letter: char| letter.to_digit(10).map(i64::from);
        let list = columns.chars().map(|letter| (item(letter), events(letter)));
        let Some(columns) = expected(&items, list) else { return Vec::new() };
        mark_survivors(&mut items, &columns);
        let search = Search::new(&items, &columns).expect("a short search");
        let letters: Vec<char> = calls.chars().collect();
        let gone = |run: Range<usize>| run.filter(|&at| !items[at].survives).map(|at| letters[at]);
        search.replaced().into_iter().map(|(_, run)| gone(run).collect()).collect()
    }

    #[test]
    fn each_region_replaced_one_of_several_equal_layers() {
        assert_eq!(replaced("abcabcabcabcx", "abc3abc3x"), ["abc", "abc"]);
        assert_eq!(replaced("abcabcabcabcx", "33abcabcx"), ["abc", "abc"]);
        assert_eq!(replaced("xabcabcabcabc", "xabc33abc"), ["abc", "abc"]);
    }

    #[test]
    fn a_larger_region_replaced_more_calls() {
        assert_eq!(replaced("abcdexy", "14xy"), ["a", "bcde"]);
        assert_eq!(replaced("abcdexy", "41xy"), ["abcd", "e"]);
    }

    #[test]
    fn a_call_that_both_lists_have_was_not_replaced() {
        assert_eq!(replaced("axbyc", "3yx"), ["ab"]);
    }

    #[test]
    fn a_region_without_calls_opposite_it_replaced_nothing() {
        assert!(replaced("abc", "a3bc").is_empty());
    }
}
