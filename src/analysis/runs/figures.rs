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

/// Whether every run of one side takes longer than every run of the other side; `false` if a side has no runs.
#[doc(hidden)]
pub fn are_apart(baseline: &[f64], candidate: &[f64]) -> bool {
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |times: &[f64]| times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let has_runs = !baseline.is_empty() && !candidate.is_empty();
    has_runs && (most(baseline) < least(candidate) || most(candidate) < least(baseline))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_not_apart() {
        assert!(are_apart(&[0.0, 0.0], &[1.0, 2.0]));
        assert!(are_apart(&[3.0, 4.0], &[1.0, 2.0]));
        assert!(!are_apart(&[0.0, 1.0], &[1.0, 2.0]));
        assert!(!are_apart(&[0.0, 0.0], &[0.0, 2.0]));
        assert!(!are_apart(&[], &[1.0]));
    }
}
