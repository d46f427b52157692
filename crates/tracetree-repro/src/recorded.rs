//! What a trace recorded about a call: its time in all calls with the same arguments, its kernels, and its device.

use crate::grammar::{self, real_literal};
use std::fmt;
use tracetree::analysis::efficiency::Models;
use tracetree::program::{Platform, Vendor};
use tracetree::trace::{Device, Nanos};
use tracetree::tree::{CallId, CallKind, CallTree};

/// Maximum number of kernels that a script lists. One call can launch thousands.
const LISTED: usize = 64;

/// The kind of time that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// The sum of the durations of the call's GPU events.
    Gpu,
    /// The duration of the call on the host, if the trace has no GPU events.
    Host,
}

/// What one side recorded about a call.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    op: String,
    device: RecordedDevice,
    clock: Clock,
    count: usize,
    /// Lower quartile, median and upper quartile in microseconds.
    quartiles: [f64; 3],
    kernels: Vec<(String, f64)>,
    more_kernels: usize,
    /// 0 if the op has no efficiency model.
    gflops: f64,
    mbytes: f64,
}

impl Recorded {
    pub(crate) fn of(tree: &CallTree, call: CallId) -> Recorded {
        let has_gpu = tree.roots().any(|root| tree.is_gpu_path(root));
        let clock = if has_gpu { Clock::Gpu } else { Clock::Host };
        let mut times: Vec<Nanos> =
            equal_calls(tree, call).map(|equal| time(tree, equal, clock)).collect();
        times.sort_unstable();
        let events = gpu_events(tree, call);
        let listed = events.iter().take(LISTED);
        let kernels = listed
            .map(|&event| (tree.name(event).to_owned(), tree.duration(event).as_micros()))
            .collect();
        let demand = tree
            .arguments(call)
            .and_then(|given| Models::builtin().demand(tree.name(call), tree.trace(), given, None));
        Recorded {
            op: tree.name(call).to_owned(),
            device: RecordedDevice::of(tree, events.first().copied()),
            clock,
            count: times.len(),
            quartiles: [0.25, 0.5, 0.75].map(|share| quantile(&times, share)),
            kernels,
            more_kernels: events.len().saturating_sub(LISTED),
            gflops: demand.map_or(0.0, |demand| demand.flops / 1e9),
            mbytes: demand.and_then(|demand| demand.bytes).map_or(0.0, |bytes| bytes / 1e6),
        }
    }
}

/// All calls with the name and the arguments of a call, including the call itself.
fn equal_calls(tree: &CallTree, call: CallId) -> impl Iterator<Item = CallId> {
    let key =
        move |call: CallId| Some((tree.trace().name_id(tree.event(call)?), tree.arguments(call)));
    let wanted = key(call);
    tree.calls().filter(move |&other| tree.kind(other) == CallKind::Op && key(other) == wanted)
}

fn time(tree: &CallTree, call: CallId, clock: Clock) -> Nanos {
    match clock {
        Clock::Gpu => gpu_events(tree, call).iter().map(|&event| tree.duration(event)).sum(),
        Clock::Host => tree.duration(call),
    }
}

/// The GPU events below a call, by start.
fn gpu_events(tree: &CallTree, call: CallId) -> Vec<CallId> {
    let is_gpu = |call: &CallId| tree.kind(*call) == CallKind::Gpu;
    let mut events: Vec<CallId> = tree.subtree(call).filter(is_gpu).collect();
    events.sort_by_key(|&event| (tree.event(event).map(|event| tree.trace().start(event)), event));
    events
}

/// A quantile of sorted times in microseconds, interpolated linearly between its neighbors.
fn quantile(sorted: &[Nanos], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = share * last as f64;
    let [below, above] = [at.floor(), at.ceil()].map(|index| sorted[index as usize].as_micros());
    below + (above - below) * at.fract()
}

/// The device of a call: its name and its architecture, such as `nvidia 9.0`. Either may be unknown, and a trace
/// without GPU events has neither.
#[derive(Debug, Clone)]
struct RecordedDevice {
    name: String,
    architecture: String,
    shown: String,
}

impl RecordedDevice {
    fn of(tree: &CallTree, gpu_event: Option<CallId>) -> RecordedDevice {
        let trace = tree.trace();
        let vendor = Platform::of(trace).vendor;
        let stream = gpu_event.and_then(|call| trace.stream(tree.event(call)?));
        let devices = &trace.header().devices;
        let ran =
            devices.iter().find(|device| Some(device.id) == stream.map(|stream| stream.device));
        let device = ran.or(devices.first()).filter(|_| vendor != Vendor::Cpu);
        let name = device.map(|device| device.name.clone()).unwrap_or_default();
        let architecture =
            device.and_then(|device| architecture(device, vendor)).unwrap_or_default();
        let unnamed = if architecture.is_empty() { vendor.label() } else { &architecture };
        let shown = match (vendor, name.as_str()) {
            (Vendor::Cpu, _) => "CPU".to_owned(),
            (_, "") => unnamed.to_owned(),
            (_, name) => name.to_owned(),
        };
        RecordedDevice { name, architecture, shown }
    }
}

fn architecture(device: &Device, vendor: Vendor) -> Option<String> {
    let (major, minor) = device.capability?;
    Some(format!("{} {major}.{minor}", vendor.label()))
}

impl fmt::Display for RecordedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [name, arch, shown] =
            [&self.name, &self.architecture, &self.shown].map(|text| grammar::text(text));
        write!(f, "{{\"name\": {name}, \"arch\": {arch}, \"shown\": {shown}}}")
    }
}

impl fmt::Display for Recorded {
    /// Writes a Python dictionary, one line for each kernel.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measure = match self.clock {
            Clock::Gpu => "gpu",
            Clock::Host => "host",
        };
        let [low, median, high] = self.quartiles.map(rounded);
        let [gflops, mbytes] = [self.gflops, self.mbytes].map(rounded);
        writeln!(f, "{{")?;
        writeln!(f, "            \"op\": {},", grammar::text(&self.op))?;
        writeln!(f, "            \"device\": {},", self.device)?;
        writeln!(f, "            \"measure\": \"{measure}\",")?;
        writeln!(f, "            \"count\": {},", self.count)?;
        writeln!(f, "            \"median_us\": {median},")?;
        writeln!(f, "            \"low_us\": {low},")?;
        writeln!(f, "            \"high_us\": {high},")?;
        writeln!(f, "            \"gflops\": {gflops},")?;
        writeln!(f, "            \"mbytes\": {mbytes},")?;
        writeln!(f, "            \"kernels\": [")?;
        for (name, time) in &self.kernels {
            writeln!(f, "                ({}, {}),", grammar::text(name), rounded(*time))?;
        }
        writeln!(f, "            ],")?;
        writeln!(f, "            \"more_kernels\": {},", self.more_kernels)?;
        write!(f, "        }}")
    }
}

/// A figure with nine decimals at most, as a Python literal.
fn rounded(figure: f64) -> String {
    real_literal((figure * 1e9).round() / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_template() {
        let times = [1, 2, 3, 10].map(|micros| Nanos(micros * 1000));
        // statistics.quantiles([1, 2, 3, 10], n=4, method="inclusive")
        assert_eq!([0.25, 0.5, 0.75].map(|share| quantile(&times, share)), [1.75, 2.5, 4.75]);
        assert_eq!(quantile(&times[..1], 0.75), 1.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
