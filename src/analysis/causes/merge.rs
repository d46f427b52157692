//! Merges many small causes of one kind of idle time into one cause. For example, if the host is slower on one side,
//! each module call causes a small host gap.

use super::cause::{Cause, signed_ms, together, total};
use super::evidence::in_order;
use super::reason::Reason;
use super::scale::Scale;
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// Minimum number of small causes to be merged.
const MANY: usize = 3;

/// The reasons whose small causes are merged, each with a threshold and the name of the merged cause. A cause is small
/// if its difference is below this fraction of the sum of all absolute differences. The threshold is higher for launch
/// latency and queueing delay, because they have the same explanation at every call site.
const MERGED: [(Reason, f64, &str); 5] = [
    (Reason::Host, 0.04, "host gaps between launches"),
    (Reason::Sync, 0.04, "waiting for the GPU"),
    (Reason::Latency, 0.15, "launches"),
    (Reason::Queue, 0.15, "queued work"),
    (Reason::Tail, 0.04, "after the last GPU event"),
];

/// Merges the small causes of each kind of idle time if there are at least [`MANY`].
pub(super) fn small_ones(causes: &mut Vec<Cause>, scale: Scale) {
    let size = |cause: &Cause| scale.difference(cause.time).unsigned_abs() as f64;
    let all: f64 = causes.iter().map(size).sum();
    for (reason, share, name) in MERGED {
        // Only causes of idle time are merged. The time of a cause with kernels is busy time, so it remains separate.
        let is_small = |cause: &Cause| {
            cause.reason == reason
                && size(cause) < share * all
                && cause.kernels.baseline.is_empty()
                && cause.kernels.candidate.is_empty()
        };
        if causes.iter().filter(|cause| is_small(cause)).count() < MANY {
            continue;
        }
        let (small, others): (Vec<Cause>, Vec<Cause>) = causes.drain(..).partition(is_small);
        *causes = others;
        if scale.difference(total(&small)) != 0 {
            causes.push(one_of(reason, name, &small, scale));
        }
    }
}

/// Total idle time of the causes in each additional run on a side; empty if this time is unknown for one of the causes.
fn idle_of_runs(small: &[Cause], side: Side) -> Vec<Nanos> {
    let runs = small.iter().map(|cause| cause.idle_of_runs[side].len()).min().unwrap_or(0);
    (0..runs).map(|run| small.iter().map(|cause| cause.idle_of_runs[side][run]).sum()).collect()
}

fn one_of(reason: Reason, name: &str, small: &[Cause], scale: Scale) -> Cause {
    let count = PerSide::from_fn(|side: Side| small.iter().map(|cause| cause.count[side]).sum());
    let mut largest: Vec<&Cause> = small.iter().collect();
    largest.order_by_key(|cause| {
        (std::cmp::Reverse(scale.difference(cause.time).abs()), cause.place.clone(), cause.node)
    });
    let told: Vec<String> = largest
        .iter()
        .take(3)
        .map(|cause| {
            let difference = scale.round(scale.difference(cause.time));
            format!("{} {}", cause.place, signed_ms(difference))
        })
        .collect();
    Cause {
        reason,
        place: name.to_owned(),
        module: String::new(),
        arguments: PerSide::default(),
        node: None,
        nodes: in_order(small.iter().flat_map(|cause| cause.nodes.iter().copied()).collect()),
        rows: small.iter().flat_map(|cause| cause.rows.iter().copied()).collect(),
        time: total(small),
        count,
        idle_of_runs: PerSide::from_fn(|side| idle_of_runs(small, side)),
        difference: Nanos::ZERO,
        evidence: format!("{} call sites: {}, …", small.len(), told.join(", ")),
        kernels: PerSide::default(),
        few: None,
        by_step: together(small),
    }
}
