//! [`TraceEfficiency`] → what a person wants to know of one trace: how much of its time has a model,
//! and the ops that are furthest from their roofline.

use super::roofline::Efficiency;
use super::trace::{OpEfficiency, TraceEfficiency};
use serde::Serialize;

/// The efficiency of one trace, in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EfficiencyInfo {
    /// The device whose peaks were taken; `None` where it is not known.
    pub peaks_of: Option<String>,
    /// Share of the time that has a model; `None` where there is no time.
    pub coverage: Option<f64>,
    /// The same of the events whose launch is in the trace.
    pub coverage_of_launched: Option<f64>,
    /// The ops that are furthest from their roofline: most time that could be saved first; where no
    /// peaks are known, most time.
    pub furthest: Vec<FurthestOp>,
}

/// One op and shapes that is far from its roofline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FurthestOp {
    /// Name of the op.
    pub op: String,
    /// `Input Dims`.
    pub input_shape: String,
    /// `Input type`.
    pub input_type: String,
    /// How often it ran.
    pub count: u64,
    /// Sum of the times of its events, in µs.
    pub time_us: f64,
    /// Of this what is above the time at the roofline.
    pub savable_us: Option<f64>,
    /// 10^9 floating-point operations, all calls together.
    pub gflops: Option<f64>,
    /// 10^6 bytes that must move, all calls together.
    pub mbytes: Option<f64>,
    /// 10^12 operations per second.
    pub tflops_per_s: Option<f64>,
    /// 10^12 bytes per second.
    pub tb_per_s: Option<f64>,
    /// `compute` or `memory`: what limits it at best; `cache_resident_or_model_too_high` where it took
    /// less time than at the roofline, and has no rates.
    pub bound: Option<&'static str>,
    /// Time at the roofline over the time, in percent; never above 100.
    pub roofline_pct: Option<f64>,
}

impl EfficiencyInfo {
    /// The `most` ops that are furthest from their roofline.
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
