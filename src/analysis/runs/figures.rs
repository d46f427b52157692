//! Statistics over the runs of one side.

use crate::analysis::robust;

/// Means over the steps of one run, in µs; totals of the whole window if a side has no steps.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct StepMeans {
    /// Wall time per step: busy + idle.
    pub wall_us: f64,
    /// Time per step during which the device ran work of the step.
    pub busy_us: f64,
    /// Time per step during which the device was idle.
    pub idle_us: f64,
    /// Total measured time of the work that the step launched; each of several concurrent kernels counts in
    /// full.
    pub time_us: f64,
}

/// Median and spread of a time over the runs of a side.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct RunFigures {
    /// Number of runs.
    pub runs: usize,
    /// The median over the runs in µs; for an even number of runs, the lower of the two middle values.
    pub median_us: f64,
    /// The largest difference between two runs, in µs.
    pub spread_us: f64,
}

impl RunFigures {
    /// Computes median and spread from the values of all runs, in µs.
    pub fn of(times: &[f64]) -> RunFigures {
        RunFigures {
            runs: times.len(),
            median_us: robust::lower_median(times),
            spread_us: robust::range(times),
        }
    }

    /// The spread as a share of the median, in percent; `None` if the median is zero.
    pub(crate) fn spread_pct(&self) -> Option<f64> {
        (self.median_us > 0.0).then(|| 100.0 * self.spread_us / self.median_us)
    }
}

/// How much the runs of one side differ. The runs execute the same program, so a difference up to this spread
/// is noise.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct RunNoise {
    /// The measured time per step, as median and spread over the runs.
    pub time: RunFigures,
    /// The wall time (busy + idle) per step, as median and spread over the runs; `None` if some runs have
    /// steps and others do not.
    pub wall: Option<RunFigures>,
    /// The largest number of points at which any run's call tree differs from the median run's call tree.
    pub variable: usize,
}
