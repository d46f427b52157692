//! Generates random traces, and pairs that consist of a trace and a randomly changed copy. All random choices are made
//! by proptest.
//!
//! The traces contain few distinct names. Many calls are therefore equal, and the alignment has to choose between them.
//! Trees are small, so that a failing trace shrinks to a trace that a person can read.

use super::changes::Change;
use super::recording::{Forest, Recording};
use super::splitmix::SplitMix;
use super::trace_builder::{HostThread, Op, Platform, TraceBuilder};
use proptest::collection::vec;
use proptest::prelude::*;

/// A random call and the calls below it.
#[derive(Debug, Clone)]
pub enum Call {
    /// A Python frame or module.
    Frame(u8, Vec<Call>),
    /// An op whose input has one of a few shapes.
    Op(u8, u8, Vec<Call>),
    /// A launch: the number in its name, and the number of kernels that it starts. With 0 kernels, the call starts no
    /// GPU work.
    Launch(u8, u8),
}

/// Random calls, nested at most five levels deep.
fn call() -> impl Strategy<Value = Call> {
    let launch = (0..5_u8, 0..4_u8).prop_map(|(name, kernels)| Call::Launch(name, kernels));
    let leaf =
        prop_oneof![launch, (0..6_u8, 0..3_u8).prop_map(|(n, dims)| Call::Op(n, dims, vec![]))];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            1 => (0..6_u8, vec(inner.clone(), 0..6)).prop_map(|(name, below)| Call::Frame(name, below)),
            2 => (0..6_u8, 0..3_u8, vec(inner, 0..6))
                .prop_map(|(name, dims, below)| Call::Op(name, dims, below)),
        ]
    })
}

/// A trace as JSON text. `Debug` shows its calls.
#[derive(Clone)]
pub struct Shown(pub String);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let recording = Recording::read(self.0.as_bytes()).expect("a built trace is a trace");
        let forest = Forest::of(&recording.events);
        for &at in &forest.preorder {
            let depth = std::iter::successors(forest.parents[at], |&up| forest.parents[up]).count();
            let event = &recording.events[at];
            let dims = event.args.get("Input Dims").map(ToString::to_string).unwrap_or_default();
            write!(
                f,
                "\n{:1$}{2} {dims} (uid {at}, tid {3})",
                "",
                2 * depth,
                event.name,
                event.lane.1
            )?;
        }
        Ok(())
    }
}

/// A random trace with one to three threads.
pub fn trace() -> impl Strategy<Value = Shown> {
    let platform = prop_oneof![Just(Platform::Cuda), Just(Platform::Rocm)];
    let threads = vec(vec(call(), 0..8), 1..4);
    (platform, threads, 0..3_u8).prop_map(|(platform, threads, unlinked)| {
        let mut trace = TraceBuilder::on(platform);
        for kernel in 0..unlinked {
            trace = trace.unlinked_kernel(&format!("kernel_{kernel}"), 5.0);
        }
        for (number, calls) in threads.iter().enumerate() {
            trace = trace.thread(&format!("thread {number}"), |t| write_all(calls, t, platform));
        }
        Shown(trace.json())
    })
}

/// A random item of [`Change::all`]: one known change or a combination of changes.
pub fn change() -> impl Strategy<Value = Change> {
    prop::sample::select(Change::all())
}

/// A random trace, and a copy with a random change. If the change does not apply to the trace, the copy is identical.
pub fn pair() -> impl Strategy<Value = (Shown, Shown)> {
    (trace(), change(), any::<u64>()).prop_map(|(trace, change, seed)| {
        let recording = Recording::read(trace.0.as_bytes()).expect("a built trace is a trace");
        let changed = change.apply(&recording, &mut SplitMix::new(seed)).unwrap_or(recording);
        let text = String::from_utf8(changed.write()).expect("JSON is UTF-8");
        (trace, Shown(text))
    })
}

/// Two unrelated random traces.
pub fn strangers() -> impl Strategy<Value = (Shown, Shown)> {
    (trace(), trace())
}

fn write_all(calls: &[Call], t: &mut HostThread<'_>, platform: Platform) {
    for call in calls {
        write(call, t, platform);
    }
}

/// Writes a call and the calls below it. The function recurses as deeply as the calls are nested, and [`call`] limits
/// the nesting.
fn write(call: &Call, t: &mut HostThread<'_>, platform: Platform) {
    match call {
        Call::Frame(name, below) => {
            let name = frame_name(*name);
            t.frame(&name, |t| write_all(below, t, platform));
        }
        Call::Op(name, dims, below) => {
            let op = Op::new(&format!("aten::op_{name}")).dims(&[&[i64::from(*dims), 8]]);
            t.op(op, |t| write_all(below, t, platform));
        }
        Call::Launch(_, 0) => t.call("cudaEventRecord"),
        Call::Launch(name, 1) => t.kernel(&format!("kernel_{name}"), 2.0 + f64::from(*name)),
        Call::Launch(name, kernels) => t.launch(platform.graph_api()).graph(|g| {
            for number in 0..*kernels {
                g.kernel(&format!("kernel_{}", (name + number) % 5), 1.5);
            }
        }),
    }
}

/// The name of a Python frame, or of an instance of a module class.
fn frame_name(name: u8) -> String {
    match name {
        0..3 => format!("train.py({}): f{}", 10 * name, name % 2),
        number => format!("nn.Module: Linear_{number}"),
    }
}
