//! Merges causes whose kernels are the same on both sides and whose times differ by a common ratio, probably because
//! the device ran at a different clock rate.

use super::cause::{Cause, together, total};
use super::evidence::in_order;
use super::reason::Reason;
use super::scale::Scale;
use crate::order::Order as _;
use crate::side::PerSide;
use crate::trace::Nanos;

/// Maximum difference between the logarithms of a cause's ratio and of the common ratio for the cause to be merged.
const WITHIN: f64 = 0.03;
/// Minimum absolute value of the logarithm of the common ratio. A ratio closer to 1 is not reported.
const LEAST: f64 = 0.02;
/// Minimum number of causes that must share the common ratio to be merged.
const MANY: usize = 4;

/// Merges the causes that share a common ratio into one cause. Only causes whose kernels are the same on both sides are
/// considered, and the causes that share the ratio must account for two thirds of their time.
pub(super) fn merge(causes: &mut Vec<Cause>, scale: Scale) {
    let Some(common) = common_ratio(causes, scale) else { return };
    let shares = |cause: &Cause| {
        ratio(cause, scale).is_some_and(|ratio| (ratio / common).ln().abs() <= WITHIN)
    };
    let (sharing, others): (Vec<Cause>, Vec<Cause>) = causes.drain(..).partition(shares);
    let (all, part) = (weight(&sharing) + weight(&others), weight(&sharing));
    *causes = others;
    if sharing.len() < MANY || 3 * part < 2 * all {
        causes.extend(sharing);
        return;
    }
    causes.push(Cause {
        reason: Reason::Clock,
        place: "(all devices)".to_owned(),
        module: String::new(),
        arguments: PerSide::default(),
        node: None,
        nodes: in_order(sharing.iter().flat_map(|cause| cause.nodes.iter().copied()).collect()),
        rows: sharing.iter().flat_map(|cause| cause.rows.iter().copied()).collect(),
        time: total(&sharing),
        count: PerSide::new(sharing.len() as u64, sharing.len() as u64),
        idle_of_runs: PerSide::default(),
        difference: Nanos::ZERO,
        evidence: format!(
            "the same kernels at {} call sites take {common:.3}x as long: the GPU clock or the device differs",
            sharing.len()
        ),
        kernels: PerSide::default(),
            few: None,
            by_step: together(&sharing),
    });
}

/// Ratio of the cause's times per step, candidate / baseline; `None` if the sides run different kernels.
fn ratio(cause: &Cause, scale: Scale) -> Option<f64> {
    if !matches!(cause.reason, Reason::KernelSlower | Reason::KernelFaster) {
        return None;
    }
    let steps = scale.steps.baseline as f64 / scale.steps.candidate as f64;
    cause.time.ratio().map(|ratio| ratio * steps)
}

/// Total time (baseline plus candidate) of the causes whose kernels are the same on both sides.
fn weight(causes: &[Cause]) -> i64 {
    let same = causes
        .iter()
        .filter(|cause| matches!(cause.reason, Reason::KernelSlower | Reason::KernelFaster));
    same.map(|cause| cause.time.baseline.0 + cause.time.candidate.0).sum()
}

/// The common ratio: the median of the ratios of all causes whose kernels are the same on both sides, weighted by time.
/// `None` if the median is too close to 1.
fn common_ratio(causes: &[Cause], scale: Scale) -> Option<f64> {
    let mut ratios: Vec<(f64, i64)> = causes
        .iter()
        .filter_map(|cause| {
            Some((ratio(cause, scale)?, cause.time.baseline.0 + cause.time.candidate.0))
        })
        .collect();
    ratios.order_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let half = ratios.iter().map(|ratio| ratio.1).sum::<i64>() / 2;
    let mut sum = 0;
    let middle = ratios.iter().find(|ratio| {
        sum += ratio.1;
        sum > half
    });
    middle.map(|ratio| ratio.0).filter(|ratio| ratio.ln().abs() >= LEAST)
}
