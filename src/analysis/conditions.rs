//! Reports recording conditions that differ between the sides, such as the device, but do not prevent a comparison.

use crate::diff::TraceDiff;
use crate::side::{PerSide, Side};
use crate::trace::{Distributed, Header, Notes, Recorder};

/// Hints on how to record data that a trace lacks. They depend on the profiler that wrote the trace.
pub(super) struct Remedies {
    /// How to record which ops launch the kernels of a graph.
    pub(super) graphs: &'static str,
    /// How to record Python frames.
    pub(super) stacks: &'static str,
    /// How to record input shapes.
    pub(super) shapes: &'static str,
}

impl Remedies {
    pub(super) fn of(recorder: Recorder) -> Remedies {
        match recorder {
            Recorder::Kineto => Remedies {
                graphs: "record without CUDA/HIP graphs to see which op launched each kernel",
                stacks: "profile with with_stack=True",
                shapes: "profile with record_shapes=True",
            },
            Recorder::NsightSystems => Remedies {
                graphs: "record without CUDA graphs to see which op launched each kernel, or with nsys \
                         profile --cuda-graph-trace=node to see the kernels",
                stacks: "Nsight Systems records no frames; FSDP marks its modules with NVTX ranges",
                shapes: "record with torch.autograd.profiler.emit_nvtx(record_shapes=True)",
            },
            Recorder::Xla => Remedies {
                graphs: "record with XLA_FLAGS=--xla_gpu_enable_command_buffer= to see which op \
                         launched each kernel",
                stacks: "record with jax.profiler.trace, which records Python frames and the \
                         compiled programs",
                shapes: "XLA records only the shapes of compiled programs, in the .xplane.pb",
            },
            Recorder::Rocprof => Remedies {
                graphs: "record without HIP graphs to see which call launched each kernel",
                stacks: "rocprofv3 records no frames; profile with torch.profiler",
                shapes: "rocprofv3 records no shapes; profile with torch.profiler",
            },
        }
    }
}

/// Compares device, versions, recording options, rank and backend.
pub(super) fn check_conditions(diff: &TraceDiff, names: &PerSide<String>, notes: &mut Notes) {
    let headers = PerSide::from_fn(|side| diff.tree(side).trace().header());
    // Adds a note if both sides recorded a condition with different values.
    let mut check = |code, hint, what: &str, shown: PerSide<Option<String>>| {
        let shown = shown.map(|text| text.filter(|text| !text.is_empty()));
        if let PerSide { baseline: Some(one), candidate: Some(two) } = shown {
            notes.add(code, u64::from(one != two), hint, || format!("{what}: {one} → {two}"));
        }
    };
    check(
        "DIFFERENT_RECORDER",
        "the recorders capture and name events differently: compare ops rather than kernels, \
         and check surprising rows in both files",
        "recorders",
        headers.map(|header| Some(header.recorder.label().to_owned())),
    );
    check(
        "DIFFERENT_DEVICE",
        "part of the time difference is due to the different devices",
        "devices",
        headers.map(devices),
    );
    check(
        "DIFFERENT_RANK",
        "compare the same rank of both runs, or pass folders that contain all ranks",
        "ranks",
        headers.map(|header| distributed(header, |group| group.rank.map(|r| r.to_string()))),
    );
    check(
        "DIFFERENT_BACKEND",
        "part of the difference in communication time is due to the different libraries",
        "communication backends",
        headers.map(|header| distributed(header, |group| Some(group.backend.clone()))),
    );
    check_versions(headers, notes);
    check_options(names, headers, notes);
}

/// Compares the versions of software for which both traces record a version.
fn check_versions(headers: PerSide<&Header>, notes: &mut Notes) {
    let PerSide { baseline, candidate } = headers;
    let differing: Vec<String> = baseline
        .versions
        .iter()
        .filter_map(|(key, one)| {
            let (_, two) = candidate.versions.iter().find(|(other, _)| other == key)?;
            (one != two).then(|| format!("{key} {one} | {two}"))
        })
        .collect();
    let hint =
        "different versions may run different kernels: treat the version as part of the change";
    notes.add("DIFFERENT_VERSIONS", differing.len() as u64, hint, || {
        format!("the versions differ: {}", differing.join(", "))
    });
}

/// Reports recording options that are set on only one side. Does nothing if neither trace lists its options.
fn check_options(names: &PerSide<String>, headers: PerSide<&Header>, notes: &mut Notes) {
    let alone = |side: Side| {
        let other = &headers[side.other()].options;
        let own = headers[side].options.iter().filter(|option| !other.contains(option));
        own.map(|option| format!("{option} in {} only", names[side])).collect::<Vec<_>>()
    };
    if headers.baseline.options.is_empty() && headers.candidate.options.is_empty() {
        return;
    }
    let differing = Side::BOTH.map(alone).concat();
    let hint =
        "recording costs host time, with_stack most of all: use the same options on both sides";
    notes.add("DIFFERENT_OPTIONS", differing.len() as u64, hint, || {
        format!("the profiler recorded {}", differing.join(", "))
    });
}

/// The distinct names of the devices in a trace. A device without a name is described by its compute capability and its
/// number of multiprocessors.
fn devices(header: &Header) -> Option<String> {
    let mut names: Vec<String> = header
        .devices
        .iter()
        .map(|device| match (device.name.as_str(), device.capability, device.multiprocessors) {
            ("", Some((major, minor)), Some(units)) => {
                format!(
                    "unnamed device (compute capability {major}.{minor}, {units} multiprocessors)"
                )
            }
            ("", _, _) => String::new(),
            (name, _, _) => name.to_owned(),
        })
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    Some(names.join(", "))
}

fn distributed(header: &Header, pick: fn(&Distributed) -> Option<String>) -> Option<String> {
    header.distributed.as_ref().and_then(pick)
}
