//! Stores the metadata of a trace: devices, versions, rank, recording options.

use super::time::Nanos;
use serde::{Deserialize, Serialize};

/// A GPU, as described by `deviceProperties`. A missing number is `None`; a missing name is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Device {
    /// Device number, as used by GPU events.
    pub id: i64,
    /// Marketing name of the GPU. ROCm often records none; the name is then empty unless the compute units and the memory
    /// identify the GPU.
    pub name: String,
    /// Compute capability (CUDA) or gfx version (ROCm), major and minor.
    pub capability: Option<(i64, i64)>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Number of streaming multiprocessors (CUDA) or compute units (ROCm).
    pub multiprocessors: Option<i64>,
    /// Number of threads in a warp or wavefront: 32 on NVIDIA, 64 on AMD CDNA.
    pub warp_size: Option<i64>,
}

/// The GPUs that only one product has with these properties: gfx version, compute units, and memory in GiB.
const IDENTIFIED: [((i64, i64), i64, u64, &str); 5] = [
    ((9, 4), 304, 192, "AMD Instinct MI300X"),
    ((9, 4), 304, 256, "AMD Instinct MI325X"),
    ((9, 4), 228, 128, "AMD Instinct MI300A"),
    ((9, 0), 110, 64, "AMD Instinct MI250X"),
    ((9, 0), 120, 32, "AMD Instinct MI100"),
];

impl Device {
    /// Names a device without a name if its properties identify it.
    pub(crate) fn identified(mut self) -> Device {
        let gib = self.memory_bytes.map(|bytes| bytes.div_ceil(1 << 30));
        let known = IDENTIFIED.iter().find(|&&(capability, units, memory, _)| {
            // Traces record a little less than the whole memory.
            self.capability == Some(capability)
                && self.multiprocessors == Some(units)
                && gib.is_some_and(|gib| gib <= memory && 20 * gib >= 19 * memory)
        });
        if let Some(&(.., name)) = known.filter(|_| self.name.is_empty()) {
            name.clone_into(&mut self.name);
        }
        self
    }
}

/// Beginning of the name of a track with the ops and launches of compiled programs, which XLA profiles get next to each
/// host thread.
pub(crate) const PROGRAMS: &str = "XLA programs: ";

/// Whether a call of XLA's runtime only waits, such as for ops on other threads. How often the runtime waits depends on
/// the number of buffers and on the threads that are idle, so a wait says nothing about the program.
pub(crate) fn is_wait(name: &str) -> bool {
    const WAITS: [&str; 5] = ["Wait for ", "::Await", "::BlockHost", "::WaitFor", "(wait for "];
    WAITS.iter().any(|mark| name.contains(mark))
}

/// The profiler that wrote a trace file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[doc(hidden)]
pub enum Recorder {
    /// PyTorch's profiler, or a different profiler that writes the same JSON format.
    #[default]
    Kineto,
    /// NVIDIA Nsight Systems.
    NsightSystems,
    /// The XLA profiler, as used by JAX.
    Xla,
    /// AMD's rocprofv3.
    Rocprof,
}

impl Recorder {
    /// Whether the profiler is [`Recorder::Kineto`].
    pub(crate) fn is_kineto(&self) -> bool {
        *self == Recorder::Kineto
    }

    /// The display name of the profiler.
    pub fn label(self) -> &'static str {
        match self {
            Recorder::Kineto => "Kineto",
            Recorder::NsightSystems => "Nsight Systems",
            Recorder::Xla => "XLA",
            Recorder::Rocprof => "rocprofv3",
        }
    }
}

/// The fields of `distributedInfo` that comparisons need.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[doc(hidden)]
pub struct Distributed {
    /// `nccl`, `gloo`, …
    pub backend: String,
    /// Rank of the process that was recorded.
    pub rank: Option<i64>,
    /// Number of processes.
    pub world_size: Option<i64>,
}

/// The fields at the top level of a trace file that comparisons need, except `traceEvents`.
///
/// The blocks with `metadata` and environment variables are never read, because they contain
/// credentials in real traces. Stored headers lack what says nothing about the program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Header {
    /// The profiler that wrote the trace file.
    #[serde(default, skip_serializing_if = "Recorder::is_kineto")]
    pub recorder: Recorder,
    /// `schemaVersion`.
    #[serde(skip)]
    pub schema_version: Option<i64>,
    /// `deviceProperties`, in file order.
    pub devices: Vec<Device>,
    /// Known version keys (`cuda_runtime_version`, `hip_driver_version`, …) with their values as
    /// strings, sorted by key. Unknown keys, and values that do not look like a version, are not
    /// read, because in real traces they can contain credentials.
    pub versions: Vec<(String, String)>,
    /// `distributedInfo`, if the process belonged to a process group.
    pub distributed: Option<Distributed>,
    /// The recording options that were switched on, sorted: `record_shapes`, `with_stack`,
    /// `with_modules`, `profile_memory`, `with_flops`.
    pub options: Vec<String>,
    /// `baseTimeNanoseconds`: event times are relative to this point in time.
    #[serde(skip)]
    pub base_time: Option<Nanos>,
}
