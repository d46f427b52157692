//! Summarizes the [`TraceEfficiency`] of one trace: the share of the measured time that efficiency models cover, and
//! the ops furthest from their roofline.

use super::roofline::Efficiency;
use super::trace::{OpEfficiency, TraceEfficiency};
use serde::Serialize;

/// Summary of one trace's efficiency.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct EfficiencyInfo {
    /// Name of the device whose peak rates were used; `None` if the peak rates are unknown.
    pub peaks_of: Option<String>,
    /// Share of the measured time that efficiency models cover, from 0 to 1; `None` if the trace has no measured time.
    pub coverage: Option<f64>,
    /// Like `coverage`, but only for events whose launch is in the trace.
    pub coverage_of_launched: Option<f64>,
    /// The ops furthest from their roofline, sorted by possible saving, largest first. If the peaks are unknown, the
    /// ops are sorted by time, longest first.
    pub furthest: Vec<FurthestOp>,
}

/// An op that is far from its roofline. All figures are totals over the calls with the same input shapes and types.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct FurthestOp {
    /// Name of the op.
    pub op: String,
    /// The `Input Dims` of the op.
    pub input_shape: String,
    /// The `Input type` of the op.
    pub input_type: String,
    /// Number of calls.
    pub count: u64,
    /// Total time of the op's events, in µs.
    pub time_us: f64,
    /// Possible saving: the part of `time_us` that exceeds the time at the roofline, in µs.
    pub savable_us: Option<f64>,
    /// Floating-point operations in all calls, in units of 10^9.
    pub gflops: Option<f64>,
    /// Minimum number of bytes moved in all calls, in units of 10^6.
    pub mbytes: Option<f64>,
    /// Achieved rate in 10^12 floating-point operations per second.
    pub tflops_per_s: Option<f64>,
    /// Achieved rate in 10^12 bytes per second.
    pub tb_per_s: Option<f64>,
    /// What limits the op at the roofline: `compute` or `memory`. If the op took less time than its roofline
    /// allows, the value is `cache_resident_or_model_too_high`, and the rates are `None`.
    pub bound: Option<&'static str>,
    /// The op's time at the roofline as a percentage of its measured time; `None` if the percentage exceeds 100.
    pub roofline_pct: Option<f64>,
}

impl EfficiencyInfo {
    /// Summarizes the efficiency of a trace, listing at most `most` of the ops furthest from their roofline.
    pub fn of(efficiency: &TraceEfficiency, most: usize) -> EfficiencyInfo {
        let furthest = efficiency.by_op().into_iter().take(most).map(FurthestOp::of).collect();
        EfficiencyInfo {
            peaks_of: efficiency.peaks().map(|peaks| peaks.name.clone()),
            coverage: efficiency.total().coverage(),
            coverage_of_launched: efficiency.launched().coverage(),
            furthest,
        }
    }
}

impl FurthestOp {
    fn of(op: OpEfficiency) -> FurthestOp {
        let did: Efficiency = op.efficiency;
        FurthestOp {
            op: op.op,
            input_shape: op.dims,
            input_type: op.types,
            count: op.count,
            time_us: did.time.as_micros(),
            savable_us: did.savable_us(),
            gflops: did.gflops(),
            mbytes: did.mbytes(),
            tflops_per_s: did.tflops_per_s(),
            tb_per_s: did.tb_per_s(),
            bound: did.bound_label(),
            roofline_pct: did.roofline_pct(),
        }
    }
}
