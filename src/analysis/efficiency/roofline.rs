//! Computes the achieved rates of a group of events, its bound, its time at the roofline, and the ratio of this time to
//! the measured time.
//!
//! ```text
//! TFLOP/s
//!    peak ┤          ╭───────────────   compute bound: operations / peak
//!         │        ╱                    memory bound:  bytes / bandwidth
//!         │      ╱                      time at the roofline: the larger of the two
//!         └────╱──────────────────── operations per byte
//! ```

use super::demand::Demand;
use super::jobs::{Job, Path};
use super::peaks::DevicePeaks;
use crate::trace::Nanos;

/// The resource that limits an op at the roofline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Bound {
    /// The op is limited by its number of operations.
    Compute,
    /// The op is limited by the number of bytes that it moves.
    Memory,
}

impl Bound {
    /// The label of the bound: `compute` or `memory`.
    pub fn label(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::Memory => "memory",
        }
    }
}

/// The work of a group of events, and its time at the roofline. The minimum work of an op is split among the events of
/// the op in proportion to their times, so the total work does not depend on how events are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Efficiency {
    /// Total time of the events in the group whose work is known from a model.
    pub modelled: Nanos,
    /// Total time of all events in the group.
    pub time: Nanos,
    /// Number of events.
    pub events: u64,
    /// Floating-point operations.
    pub flops: f64,
    /// Number of bytes that the events must move.
    pub bytes: f64,
    /// Number of bytes that must be sent over links to other devices.
    pub bus_bytes: f64,
    /// Number of modeled ops whose number of bytes is unknown. An event that does part of an op's work counts as a
    /// fraction of the op.
    unknown_bytes: f64,
    /// Time at the roofline of the compute-bound events, in µs. `memory_us` is the time of the memory-bound events.
    compute_us: f64,
    memory_us: f64,
    /// Total measured time of the events whose time at the roofline is known.
    roofed: Nanos,
}

impl Efficiency {
    /// Adds an event that does part of the work of `job` on a device with the given `peaks`.
    pub(super) fn add(&mut self, time: Nanos, job: Option<&Job>, peaks: Option<&DevicePeaks>) {
        self.time += time;
        self.events += 1;
        let Some(job) = job else { return };
        let part = part(time, job);
        self.modelled += time;
        self.flops += part * job.demand.flops;
        match job.demand.bytes {
            Some(bytes) => self.bytes += part * bytes,
            None => self.unknown_bytes += part,
        }
        match job.path {
            Path::Memory => self.add_roofline(part, time, job.demand, peaks),
            Path::Network(factor) => {
                self.bus_bytes += part * factor * job.demand.bytes.unwrap_or(0.0);
            }
            Path::Host => {}
        }
    }

    /// Adds the work and time of the events in `other`.
    pub(in crate::analysis) fn absorb(&mut self, other: &Efficiency) {
        self.modelled += other.modelled;
        self.time += other.time;
        self.events += other.events;
        self.flops += other.flops;
        self.bytes += other.bytes;
        self.bus_bytes += other.bus_bytes;
        self.unknown_bytes += other.unknown_bytes;
        self.compute_us += other.compute_us;
        self.memory_us += other.memory_us;
        self.roofed += other.roofed;
    }

    fn add_roofline(
        &mut self,
        part: f64,
        time: Nanos,
        demand: Demand,
        peaks: Option<&DevicePeaks>,
    ) {
        let Some((bound, us)) = peaks.and_then(|peaks| roofline(demand, peaks)) else { return };
        match bound {
            Bound::Compute => self.compute_us += part * us,
            Bound::Memory => self.memory_us += part * us,
        }
        self.roofed += time;
    }

    /// Whether the group has measured time, and models cover all of this time.
    #[doc(hidden)]
    pub fn is_modelled(&self) -> bool {
        self.events > 0 && self.modelled == self.time && self.modelled > Nanos::ZERO
    }

    /// Share of the measured time that models cover, from 0 to 1; `None` if there is no measured time.
    #[doc(hidden)]
    pub fn coverage(&self) -> Option<f64> {
        (self.time > Nanos::ZERO).then(|| self.modelled.0 as f64 / self.time.0 as f64)
    }

    /// Number of floating-point operations, in units of 10^9; `None` unless models cover all of the measured
    /// time.
    #[doc(hidden)]
    pub fn gflops(&self) -> Option<f64> {
        self.is_modelled().then_some(self.flops / 1e9)
    }

    /// Number of bytes that must be moved, in units of 10^6. `None` if models do not cover all of the
    /// measured time, or if the bytes of an op are unknown.
    #[doc(hidden)]
    pub fn mbytes(&self) -> Option<f64> {
        (self.is_modelled() && self.unknown_bytes == 0.0).then_some(self.bytes / 1e6)
    }

    /// Rate in 10^12 floating-point operations per second; `None` if it is unknown or if the events took less time than
    /// the roofline allows.
    #[doc(hidden)]
    pub fn tflops_per_s(&self) -> Option<f64> {
        Some(1e3 * self.gflops()? / self.time.as_micros()).filter(|_| !self.is_above_peak())
    }

    /// Rate in 10^12 bytes per second; for a collective, the algorithm bandwidth, which refers to the size of the whole
    /// message. `None` if the rate is unknown or if the events took less time than the roofline allows.
    #[doc(hidden)]
    pub fn tb_per_s(&self) -> Option<f64> {
        Some(self.mbytes()? / self.time.as_micros()).filter(|_| !self.is_above_peak())
    }

    /// Whether the events took less time than the roofline allows. This happens if their data was in a cache, or if the
    /// model overestimates their work, so such a rate says nothing about the device.
    pub(crate) fn is_above_peak(&self) -> bool {
        self.roofline_us().is_some_and(|least| least > self.time.as_micros())
    }

    /// Rate at which bytes are sent over the links to other devices, in 10^9 bytes per second; `None` if nothing was
    /// sent.
    #[doc(hidden)]
    pub fn bus_gb_per_s(&self) -> Option<f64> {
        let sent = self.is_modelled() && self.bus_bytes > 0.0;
        sent.then(|| self.bus_bytes / 1e3 / self.time.as_micros())
    }

    /// Minimum time for the work of all events (time at the roofline), in µs; `None` unless it is known for all of the
    /// measured time.
    #[doc(hidden)]
    pub fn roofline_us(&self) -> Option<f64> {
        (self.is_modelled() && self.roofed == self.time).then_some(self.compute_us + self.memory_us)
    }

    /// Like [`Efficiency::roofline_us`], but at the rates that the best known kernels reach on a device with the given
    /// peaks; `None` if these rates are unknown, too.
    pub(in crate::analysis) fn achievable_us(&self, peaks: &DevicePeaks) -> Option<f64> {
        self.roofline_us()?;
        let (memory, matrix) = peaks.achievable_shares()?;
        Some(self.memory_us / memory + self.compute_us / matrix)
    }

    /// The bound that accounts for most of the time at the roofline; `None` if this time is unknown.
    #[doc(hidden)]
    pub fn bound(&self) -> Option<Bound> {
        self.roofline_us()?;
        Some(if self.compute_us > self.memory_us { Bound::Compute } else { Bound::Memory })
    }

    /// The bound as shown in tables: `compute` or `memory`, or `cache_resident_or_model_too_high` if the
    /// events took less time than the roofline allows.
    #[doc(hidden)]
    pub fn bound_label(&self) -> Option<&'static str> {
        if self.is_above_peak() {
            Some("cache_resident_or_model_too_high")
        } else {
            self.bound().map(Bound::label)
        }
    }

    /// Time at the roofline as a percentage of the measured time; `None` if it is unknown or exceeds 100.
    #[doc(hidden)]
    pub fn roofline_pct(&self) -> Option<f64> {
        let pct = 100.0 * self.roofline_us()? / self.time.as_micros();
        (!self.is_above_peak()).then_some(pct)
    }

    /// Maximum possible saving in µs: the measured time minus the time at the roofline, but at least zero.
    #[doc(hidden)]
    pub fn savable_us(&self) -> Option<f64> {
        Some((self.time.as_micros() - self.roofline_us()?).max(0.0))
    }

    /// Arithmetic intensity: operations per byte.
    pub(crate) fn intensity(&self) -> Option<f64> {
        self.mbytes().filter(|&mbytes| mbytes > 0.0).map(|_| self.flops / self.bytes)
    }
}

/// The share of an op's minimum work that is attributed to one of its events. The shares are proportional to the times
/// of the events, or equal if all times are zero.
fn part(time: Nanos, job: &Job) -> f64 {
    match job.time {
        Nanos::ZERO => 1.0 / f64::from(job.events),
        all => time.0 as f64 / all.0 as f64,
    }
}

/// The resource that limits an op at the roofline, and the minimum time that the op's work takes, in µs.
fn roofline(demand: Demand, peaks: &DevicePeaks) -> Option<(Bound, f64)> {
    let memory = demand.bytes? / peaks.memory_tb_per_s / 1e6;
    let compute = match demand.flops {
        0.0 => 0.0,
        flops => flops / peaks.tflops_per_s(demand.unit, demand.precision?)? / 1e6,
    };
    Some(if compute > memory { (Bound::Compute, compute) } else { (Bound::Memory, memory) })
}
