//! Computes the duration of a kernel from its number of bytes or operations, with realistic variation.

use crate::support::splitmix::SplitMix;
use crate::support::trace_builder::Platform;

/// A model of a GPU's speed.
pub(super) struct Gpu {
    platform: Platform,
    random: SplitMix,
}

impl Gpu {
    /// Creates a model of the platform's GPU. The durations vary randomly, but in the same way each time the program
    /// runs.
    pub(super) fn new(platform: Platform) -> Self {
        Gpu { platform, random: SplitMix::new(20_260_101) }
    }

    /// Duration in µs of a kernel that moves `bytes` bytes.
    pub(super) fn stream(&mut self, bytes: i64) -> f64 {
        let (floor, bytes_per_micro) = match self.platform {
            Platform::Cuda => (1.7, 1_900_000.0),
            Platform::Rocm => (2.9, 2_300_000.0),
        };
        self.scatter(floor + bytes as f64 / bytes_per_micro)
    }

    /// Duration in µs of a convolution or matrix product with the given number of multiplications.
    pub(super) fn product(&mut self, multiplications: i64) -> f64 {
        let (floor, per_micro) = match self.platform {
            Platform::Cuda => (4.1, 88_000_000.0),
            Platform::Rocm => (6.3, 51_000_000.0),
        };
        self.scatter(floor + multiplications as f64 / per_micro)
    }

    /// Duration in µs of a copy between host and GPU.
    pub(super) fn transfer(&mut self, bytes: i64) -> f64 {
        self.scatter(1.6 + bytes as f64 / 21_000.0)
    }

    /// Varies a duration by up to ±3%, and rounds it to whole ns.
    fn scatter(&mut self, micros: f64) -> f64 {
        let factor = 0.97 + self.random.below(601) as f64 / 10_000.0;
        (micros * factor * 1000.0).round() / 1000.0
    }
}
