//! Finds the run of siblings that each compiled region replaced, before the siblings are aligned.
//!
//! ```text
//! trace1   L  L  L  L  L  L              Each region is opposite a run with the work that the region is expected to
//! trace2   L  R  L  R  R  L              have replaced, so the layers between the regions match in order
//! ```
//!
//! The calls between regions may be identical layers, which nothing but the regions distinguishes. So a plain alignment
//! may match them with layers that a region replaced, and the region then has nothing opposite it.

use crate::diff::outline::Outline;
use crate::diff::regions;
use crate::diff::weights::{COLUMN_CELLS, COLUMN_STEPS, SAME_SHAPE};
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, CallTree};

/// Splits two lists of siblings before and after each region that replaced a run of siblings. A region and the run that
/// it replaced are in none of the parts. `None` if no list has such a region, or if both lists have regions.
pub(super) fn between_regions(
    trees: PerSide<&CallTree>,
    outlines: PerSide<&Outline<'_>>,
    lists: &PerSide<Vec<u32>>,
) -> Option<Vec<PerSide<Vec<u32>>>> {
    let is_region = |side: Side, call: u32| regions::is_opaque(trees[side], CallId(call));
    let has_region = |side: Side| lists[side].iter().any(|&call| is_region(side, call));
    let side = match Side::BOTH.map(has_region) {
        [true, false] => Side::Baseline,
        [false, true] => Side::Candidate,
        [true, true] | [false, false] => return None,
    };
    let (mine, theirs) = (outlines[side], outlines[side.other()]);
    let calls = Item::all(theirs, &lists[side.other()]);
    let columns = expected(
        &calls,
        lists[side].iter().map(|&call| {
            let events = is_region(side, call).then(|| gpu_events(trees[side], call));
            (Item::of(mine, call), events)
        }),
    )?;
    let replaced = Search::new(&calls, &columns)?.replaced();
    let mut parts = Vec::new();
    let (mut from, mut from_other) = (0, 0);
    let mut add = |columns: std::ops::Range<usize>, others: std::ops::Range<usize>| {
        let (calls, others) = (&lists[side][columns], &lists[side.other()][others]);
        let mut part = PerSide::default();
        part[side] = calls.to_vec();
        part[side.other()] = others.to_vec();
        parts.push(part);
    };
    for (region, run) in replaced {
        add(from..region, from_other..run.start);
        (from, from_other) = (region + 1, run.end);
    }
    add(from..lists[side].len(), from_other..lists[side.other()].len());
    (parts.len() > 1).then_some(parts)
}

/// Number of GPU events in a region, at least 1.
fn gpu_events(tree: &CallTree, call: u32) -> i64 {
    let events = tree.subtree(CallId(call)).filter(|&below| tree.kind(below) == CallKind::Gpu);
    (events.count() as i64).max(1)
}

/// A sibling, as the search compares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item {
    key: u32,
    shape: u64,
    /// Number of evidence tokens in the subtree.
    tokens: i64,
}

impl Item {
    fn of(outline: &Outline<'_>, call: u32) -> Item {
        Item {
            key: outline.keys[call as usize].0,
            shape: outline.shape[call as usize],
            tokens: i64::from(outline.weight(call)),
        }
    }

    fn all(outline: &Outline<'_>, calls: &[u32]) -> Vec<Item> {
        calls.iter().map(|&call| Item::of(outline, call)).collect()
    }

    /// The score of two siblings. Kernel names are ignored.
    fn score(self, other: Item) -> i64 {
        match (self.key == other.key, self.shape == other.shape) {
            (true, true) => SAME_SHAPE * self.tokens + 1,
            (true, false) => self.tokens.min(other.tokens),
            (false, _) => 0,
        }
    }
}

/// An element of the list that has regions.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Call(Item),
    /// A region that is expected to have replaced siblings with this number of tokens.
    Region(f64),
}

/// The columns, with the work that each region is expected to have replaced: the work that only the opposite list has,
/// divided in proportion to the GPU events of the regions. `None` if the opposite list has no additional work.
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

/// How well a run with `tokens` tokens fits a region that is expected to have replaced `expected` tokens.
fn fit(tokens: i64, expected: f64) -> f64 {
    expected * (1.0 - (tokens as f64 / expected).ln().abs())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    SkipCall,
    SkipColumn,
    Match,
    /// The region replaced this number of calls.
    Replace(u32),
}

/// A search for the alignment with the highest score, in which each region is aligned with a run of calls.
struct Search<'s> {
    calls: &'s [Item],
    columns: &'s [Column],
    /// Number of tokens before each call, with one additional entry at the end.
    tokens_before: Vec<i64>,
}

impl<'s> Search<'s> {
    /// `None` if the search would take too long, or if the lists have no calls to match.
    fn new(calls: &'s [Item], columns: &'s [Column]) -> Option<Self> {
        let mut tokens_before = vec![0];
        for call in calls {
            tokens_before.push(tokens_before[tokens_before.len() - 1] + call.tokens);
        }
        let search = Search { calls, columns, tokens_before };
        let cells = (calls.len() + 1).saturating_mul(columns.len() + 1);
        let can_match = columns.iter().any(|column| matches!(column, Column::Call(_)));
        let steps = columns.iter().map(|column| match column {
            Column::Call(_) => 0,
            Column::Region(expected) => search.runs(*expected).map(|(_, run)| run.len()).sum(),
        });
        (can_match && cells <= COLUMN_CELLS && steps.sum::<usize>() <= COLUMN_STEPS)
            .then_some(search)
    }

    /// For each end of a run, the starts of all runs that fit a region.
    fn runs(&self, expected: f64) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
        let (least, most) = (expected / std::f64::consts::E, expected * std::f64::consts::E);
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

    /// For each region that replaced calls, its column and the run of these calls.
    fn replaced(&self) -> Vec<(usize, std::ops::Range<usize>)> {
        let rows = self.calls.len() + 1;
        let mut best = vec![0.0_f64; rows];
        let mut steps = vec![Step::SkipCall; rows * (self.columns.len() + 1)];
        for (at, column) in self.columns.iter().enumerate() {
            let steps = &mut steps[(at + 1) * rows..][..rows];
            let mut next = best.clone();
            steps.fill(Step::SkipColumn);
            match column {
                Column::Call(item) => {
                    for row in 1..rows {
                        let score = item.score(self.calls[row - 1]) as f64;
                        if score > 0.0 && best[row - 1] + score >= next[row] {
                            (next[row], steps[row]) = (best[row - 1] + score, Step::Match);
                        }
                    }
                }
                Column::Region(expected) => {
                    for (end, starts) in self.runs(*expected) {
                        for start in starts {
                            let tokens = self.tokens_before[end] - self.tokens_before[start];
                            let score = best[start] + fit(tokens, *expected);
                            if score > next[end] {
                                next[end] = score;
                                steps[end] = Step::Replace((end - start) as u32);
                            }
                        }
                    }
                }
            }
            for row in 1..rows {
                if next[row - 1] > next[row] {
                    (next[row], steps[row]) = (next[row - 1], Step::SkipCall);
                }
            }
            best = next;
        }
        self.traced(&steps)
    }

    fn traced(&self, steps: &[Step]) -> Vec<(usize, std::ops::Range<usize>)> {
        let rows = self.calls.len() + 1;
        let (mut row, mut column) = (rows - 1, self.columns.len());
        let mut replaced = Vec::new();
        while column > 0 {
            match steps[column * rows + row] {
                Step::SkipCall => row -= 1,
                Step::SkipColumn => column -= 1,
                Step::Match => (row, column) = (row - 1, column - 1),
                Step::Replace(length) => {
                    column -= 1;
                    replaced.push((column, row - length as usize..row));
                    row -= length as usize;
                }
            }
        }
        replaced.reverse();
        replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters as siblings with 2 tokens each. A digit is a region with that number of GPU events.
    fn replaced(calls: &str, columns: &str) -> Vec<String> {
        let item = |letter: char| Item { key: u32::from(letter), shape: letter.into(), tokens: 2 };
        let items: Vec<Item> = calls.chars().map(item).collect();
        let events = |letter: char| letter.to_digit(10).map(i64::from);
        let list = columns.chars().map(|letter| (item(letter), events(letter)));
        let Some(columns) = expected(&items, list) else { return Vec::new() };
        let search = Search::new(&items, &columns).expect("a short search");
        search.replaced().into_iter().map(|(_, run)| calls[run].to_owned()).collect()
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
    fn a_region_without_calls_opposite_it_replaced_nothing() {
        assert!(replaced("abc", "a3bc").is_empty());
    }
}
