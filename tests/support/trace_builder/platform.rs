//! The names, numbers and header fields that are specific to traces from each GPU platform.

use serde_json::{Map, Value, json};

/// The vendor of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// NVIDIA.
    Cuda,
    /// AMD.
    Rocm,
}

impl Platform {
    /// The API with which ATen launches its own kernels.
    pub fn launch_api(self) -> &'static str {
        match self {
            Platform::Cuda => "cudaLaunchKernel",
            Platform::Rocm => "hipLaunchKernel",
        }
    }

    /// The API that launches a captured graph.
    pub fn graph_api(self) -> &'static str {
        match self {
            Platform::Cuda => "cudaGraphLaunch",
            Platform::Rocm => "hipGraphLaunch",
        }
    }

    /// The API that copies memory.
    pub fn memcpy_api(self) -> &'static str {
        match self {
            Platform::Cuda => "cudaMemcpyAsync",
            Platform::Rocm => "hipMemcpyWithStream",
        }
    }

    /// The API that sets memory.
    pub fn memset_api(self) -> &'static str {
        match self {
            Platform::Cuda => "cudaMemsetAsync",
            Platform::Rocm => "hipMemsetAsync",
        }
    }

    /// The name of the argument that contains the number of a runtime function.
    pub fn function_key(self) -> &'static str {
        match self {
            Platform::Cuda => "cbid",
            Platform::Rocm => "cid",
        }
    }

    /// The category of a call to the given API. The functions of the CUDA driver have a category of
    /// their own.
    pub fn category_of(self, api: &str) -> &'static str {
        if api.starts_with("cuda") || api.starts_with("hip") {
            "cuda_runtime"
        } else {
            "cuda_driver"
        }
    }

    /// The id of the program's process, which is also the tid of its main thread.
    pub fn pid(self) -> i64 {
        match self {
            Platform::Cuda => 5617,
            Platform::Rocm => 950,
        }
    }

    /// The GPU's number, which is also the pid of its events.
    pub fn device(self) -> i64 {
        match self {
            Platform::Cuda => 0,
            Platform::Rocm => 2,
        }
    }

    /// PyTorch's default stream.
    pub fn default_stream(self) -> i64 {
        match self {
            Platform::Cuda => 7,
            Platform::Rocm => 0,
        }
    }

    /// Time in ns from a launch to the earliest start of its kernel.
    pub fn launch_latency(self) -> i64 {
        match self {
            Platform::Cuda => 5_400,
            Platform::Rocm => 8_900,
        }
    }

    /// Time in ns between two consecutive kernels on one stream.
    pub fn kernel_gap(self) -> i64 {
        match self {
            Platform::Cuda => 960,
            Platform::Rocm => 2_120,
        }
    }

    /// The header fields next to `traceEvents`.
    pub(super) fn header(self) -> Map<String, Value> {
        let fields = match self {
            Platform::Cuda => json!({
                "cuda_runtime_version": 12040, "cuda_driver_version": 12090, "cupti_version": 22,
                "deviceProperties": [{
                    "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_014_937_600_i64,
                    "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132,
                }],
            }),
            Platform::Rocm => json!({
                "roctracer_version": 4.1, "hip_runtime_version": 60_443_483, "hip_driver_version": 60_443_483,
                "deviceProperties": [{
                    "id": 2, "name": "AMD Instinct MI300X", "totalGlobalMem": 206_141_652_992_i64,
                    "computeMajor": 9, "computeMinor": 4, "warpSize": 64, "numSms": 304,
                }],
            }),
        };
        let mut header = fields.as_object().cloned().unwrap_or_default();
        header.insert("schemaVersion".to_owned(), json!(1));
        header.insert("displayTimeUnit".to_owned(), json!("ms"));
        header.insert("record_shapes".to_owned(), json!(1));
        header.insert("with_stack".to_owned(), json!(1));
        header.insert("baseTimeNanoseconds".to_owned(), json!(1_751_410_836_000_000_000_i64));
        header
    }
}
