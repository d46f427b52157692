//! Several regions between the same two pairs → which calls each of them replaced.
//!
//! The regions keep their order, so each has a run of the calls. The runs are chosen such that as much
//! as possible of the work in them is named by the kernels of their region; among equals those that
//! are as long as their regions are.

use super::names::{is_fused, named_ops};
use super::{Finder, WRAPPER};
use crate::program::Words;
use crate::side::Side;
use crate::tree::{CallId, CallKind};

/// Above so many steps of the search, runs are as long as their regions say.
const LONGEST_SEARCH: usize = 4_000_000;

/// What the names in a region say that it runs.
pub(super) struct Named {
    /// The ops of each generated kernel.
    kernels: Vec<Words>,
    /// The ops that it calls itself, as a product that no kernel was generated for.
    ops: Vec<Words>,
}

impl Named {
    /// Whether the region says that it runs this op.
    fn has(&self, op: &Words) -> bool {
        self.ops.contains(op) || self.kernels.iter().any(|kernel| kernel.contain_all(op))
    }
}

impl Finder<'_> {
    /// The calls divided among the regions, both in order.
    pub(super) fn divided(
        &self,
        side: Side,
        regions: &[CallId],
        calls: Vec<CallId>,
    ) -> Vec<(CallId, Vec<CallId>)> {
        if let [region] = regions {
            return vec![(*region, calls)];
        }
        let explained: Vec<Vec<i64>> =
            regions.iter().map(|&region| self.explained(side, region, &calls)).collect();
        let sizes: Vec<usize> = regions.iter().map(|&r| self.work(side, r).count()).collect();
        let ends = ends(&explained, &expected(&sizes, calls.len()), calls.len());
        let mut start = 0;
        let runs = regions.iter().zip(ends).map(|(&region, end)| {
            let run = calls[start..end].to_vec();
            start = end;
            (region, run)
        });
        runs.collect()
    }

    /// Whether the kernels and ops in a region name nearly all of the work of these calls. A step of the
    /// backward pass may hold a forward pass that is run again (activation checkpointing).
    pub(super) fn is_named(&self, side: Side, region: CallId, calls: &[CallId]) -> bool {
        let named = self.named(side, region);
        let ops: Vec<Words> =
            calls.iter().flat_map(|&call| self.working_ops(side.other(), call)).collect();
        let unnamed = ops.iter().filter(|op| !named.has(op)).count();
        unnamed * WRAPPER < ops.len()
    }

    /// For each call, how much of its work the region names, less what it does not.
    fn explained(&self, side: Side, region: CallId, calls: &[CallId]) -> Vec<i64> {
        let named = self.named(side, region);
        let of_call = |&call: &CallId| {
            let ops = self.working_ops(side.other(), call);
            ops.iter().map(|op| if named.has(op) { 1 } else { -1 }).sum()
        };
        calls.iter().map(of_call).collect()
    }

    /// What the names of the kernels and ops in a region say.
    pub(super) fn named(&self, side: Side, region: CallId) -> Named {
        let tree = self.trees[side];
        let kernels = tree.subtree(region).filter_map(|call| named_ops(tree.name(call))).collect();
        let is_extern =
            |&call: &CallId| tree.kind(call) == CallKind::Op && !is_fused(tree.name(call));
        let ops = tree.subtree(region).skip(1).filter(is_extern);
        Named { kernels, ops: ops.map(|call| own_words(tree.name(call))).collect() }
    }

    /// The ops that do the work of a call, once for each piece of work.
    fn working_ops(&self, side: Side, call: CallId) -> Vec<Words> {
        let tree = self.trees[side];
        let op = |work: CallId| {
            let mut path = std::iter::once(work).chain(tree.ancestors(work));
            path.find(|&above| tree.kind(above) == CallKind::Op)
        };
        self.work(side, call).filter_map(op).map(|op| own_words(tree.name(op))).collect()
    }
}

/// The words of a name without its name space.
fn own_words(name: &str) -> Words {
    Words::of(name.rsplit("::").next().unwrap_or(name))
}

/// How many calls each region would have if they were as long as the regions say.
fn expected(sizes: &[usize], calls: usize) -> Vec<usize> {
    let all = sizes.iter().sum::<usize>().max(1);
    sizes.iter().map(|size| size * calls / all).collect()
}

/// Where the run of each region ends.
fn ends(explained: &[Vec<i64>], expected: &[usize], calls: usize) -> Vec<usize> {
    let regions = explained.len();
    if calls * calls * regions > LONGEST_SEARCH {
        let sums = expected.iter().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        });
        let mut ends: Vec<usize> = sums.collect();
        ends[regions - 1] = calls;
        return ends;
    }
    // One more op that a name explains outweighs any sum of deviations from the expected lengths.
    let scale = 2 * calls as i64 * regions as i64 + 1;
    let mut best = vec![i64::MIN / 2; calls + 1];
    best[0] = 0;
    let mut from: Vec<Vec<usize>> = Vec::with_capacity(regions);
    for (worth, &length) in explained.iter().zip(expected) {
        let mut sums = vec![0; calls + 1];
        for (at, worth) in worth.iter().enumerate() {
            sums[at + 1] = sums[at] + worth;
        }
        let step = |end: usize| {
            let value = |start: usize| {
                let odd = (end - start).abs_diff(length) as i64;
                (best[start] + scale * (sums[end] - sums[start]) - odd, start)
            };
            (0..=end).map(value).max().unwrap_or((i64::MIN / 2, 0))
        };
        let steps: Vec<(i64, usize)> = (0..=calls).map(step).collect();
        best = steps.iter().map(|step| step.0).collect();
        from.push(steps.iter().map(|step| step.1).collect());
    }
    let mut ends = vec![calls; regions];
    for at in (1..regions).rev() {
        ends[at - 1] = from[at][ends[at]];
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::ends;

    #[test]
    fn names_divide_before_lengths_do() {
        let first = vec![1, 1, -1, -1, -1];
        let second = vec![-1, -1, 1, 1, 1];
        assert_eq!(ends(&[first, second], &[4, 1], 5), [2, 5]);
        let alike = vec![1; 6];
        assert_eq!(ends(&[alike.clone(), alike], &[4, 2], 6), [4, 6]);
    }
}
