//! Kernel types. Predictions and measurements are matched by kernel type.

use std::fmt;

/// The type of a kernel, such as `MatMulV2` or `hcom_allReduce_`; types are ordered by name.
///
/// If the kernel of an op is unknown, the op's name (`aten.add.Tensor`) is used as the type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelType(String);

const ALL_REDUCE: &str = "hcom_allReduce_";

impl KernelType {
    /// Creates a kernel type from a name. Surrounding whitespace is removed; returns `None` if nothing remains.
    pub fn new(name: impl AsRef<str>) -> Option<Self> {
        let name = name.as_ref().trim();
        (!name.is_empty()).then(|| KernelType(name.to_owned()))
    }

    /// The kernel type for an op without a name.
    pub(crate) fn unnamed() -> Self {
        KernelType("(unnamed)".to_owned())
    }

    /// The all-reduce kernel of the Ascend communication library. Older traces do not list this kernel if it is part of
    /// a fused op.
    pub(crate) fn all_reduce() -> Self {
        KernelType(ALL_REDUCE.to_owned())
    }

    /// The name of the type, as written by the profiler.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the type is the communication library's all-reduce.
    pub(crate) fn is_all_reduce(&self) -> bool {
        self.0 == ALL_REDUCE
    }

    /// Whether the type is a collective (`hcom_…`), which a profile lists twice.
    pub fn is_collective(&self) -> bool {
        self.0.starts_with("hcom_")
    }

    /// Whether the type is a control kernel for a collective. Control kernels run on the AI CPU and are not device
    /// work.
    pub fn is_aicpu(&self) -> bool {
        self.0.ends_with("AicpuKernel")
    }
}

impl fmt::Display for KernelType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
