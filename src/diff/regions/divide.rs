//! Decides which region replaced which calls if several regions are between the same two matched
//! pairs.
//!
//! The regions keep their order, so each region is assigned a run of consecutive calls. The runs are chosen so that the
//! kernels of each region name as many ops in its run as possible. On a tie, the length of each run is chosen to be as
//! close as possible to the region's share of the work.

use super::finder::{Finder, WRAPPER};
use super::names::{is_fused, named_ops};
use crate::diff::counts::sums;
use crate::program::Words;
use crate::side::Side;
use crate::tree::{CallId, CallKind};

/// Maximum number of search steps. If the search would take more steps, the lengths of the runs are simply proportional
/// to the amounts of work in the regions.
const LONGEST_SEARCH: usize = 4_000_000;

/// The ops that a region runs, as far as the names of its kernels and ops show.
pub(super) struct Named {
    /// The ops of each generated kernel.
    kernels: Vec<Words>,
    /// The ops that the region calls itself, such as a matrix product that is not part of a
    /// generated kernel.
    ops: Vec<Words>,
}

impl Named {
    /// Whether a name in the region shows that the region runs this op.
    fn has(&self, op: &Words) -> bool {
        self.ops.contains(op) || self.kernels.iter().any(|kernel| kernel.contain_all(op))
    }
}

impl Finder<'_> {
    /// Assigns calls to regions. Calls and regions keep their order.
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

    /// Whether nearly all ops that do GPU work in these calls are among the [ops](Named) that the region runs. The
    /// region may then have replaced the calls even if the amounts of work differ, because a backward step may also
    /// rerun a forward pass (activation checkpointing).
    pub(super) fn is_named(&self, side: Side, region: CallId, calls: &[CallId]) -> bool {
        let named = self.named(side, region);
        let ops: Vec<Words> =
            calls.iter().flat_map(|&call| self.working_ops(side.other(), call)).collect();
        let unnamed = ops.iter().filter(|op| !named.has(op)).count();
        unnamed * WRAPPER < ops.len()
    }

    /// For each call, the number of its GPU events whose ops the region names, minus the number of its other GPU
    /// events.
    fn explained(&self, side: Side, region: CallId, calls: &[CallId]) -> Vec<i64> {
        let named = self.named(side, region);
        let of_call = |&call: &CallId| {
            let ops = self.working_ops(side.other(), call);
            ops.iter().map(|op| if named.has(op) { 1 } else { -1 }).sum()
        };
        calls.iter().map(of_call).collect()
    }

    /// Finds the ops that a region runs, based on the names of its kernels and ops.
    pub(super) fn named(&self, side: Side, region: CallId) -> Named {
        let tree = self.trees[side];
        let kernels = tree.subtree(region).filter_map(|call| named_ops(tree.name(call))).collect();
        let is_extern =
            |&call: &CallId| tree.kind(call) == CallKind::Op && !is_fused(tree.name(call));
        let ops = tree.subtree(region).skip(1).filter(is_extern);
        Named { kernels, ops: ops.map(|call| own_words(tree.name(call))).collect() }
    }

    /// The ops that do the GPU work of a call, one entry per GPU event; in host-only traces, one entry per innermost
    /// op.
    fn working_ops(&self, side: Side, call: CallId) -> Vec<Words> {
        let tree = self.trees[side];
        let op = |work: CallId| {
            let mut path = std::iter::once(work).chain(tree.ancestors(work));
            path.find(|&above| tree.kind(above) == CallKind::Op)
        };
        self.work(side, call).filter_map(op).map(|op| own_words(tree.name(op))).collect()
    }
}

/// The words of an op's name, without its namespace.
fn own_words(name: &str) -> Words {
    Words::of(name.rsplit("::").next().unwrap_or(name))
}

/// How many of the calls each region replaced, estimated from its share of the work.
fn expected(sizes: &[usize], calls: usize) -> Vec<usize> {
    let all = sizes.iter().sum::<usize>().max(1);
    sizes.iter().map(|size| size * calls / all).collect()
}

/// For each region, the position at which its run of calls ends.
fn ends(explained: &[Vec<i64>], expected: &[usize], calls: usize) -> Vec<usize> {
    let regions = explained.len();
    if calls * calls * regions > LONGEST_SEARCH {
        let mut ends = sums(expected.iter().copied());
        ends[regions] = calls;
        return ends.split_off(1);
    }
    // Naming one more op must count more than all deviations from the expected lengths together.
    let scale = 2 * calls as i64 * regions as i64 + 1;
    let mut best = vec![i64::MIN / 2; calls + 1];
    best[0] = 0;
    let mut from: Vec<Vec<usize>> = Vec::with_capacity(regions);
    for (worth, &length) in explained.iter().zip(expected) {
        let sums = sums(worth.iter().copied());
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
