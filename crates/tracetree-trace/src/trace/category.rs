//! Defines the kinds of events that comparisons use.

/// The kind of an event. Kineto has renamed categories since 2021; the old and the new name of a
/// category map to the same variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Category {
    /// `cpu_op` (2021: `Operator`).
    CpuOp,
    /// `python_function`: a Python frame, or an `nn.Module: …` call.
    PythonFunction,
    /// `cuda_runtime`, `cuda_driver`, `hip_runtime`, … (2021: `Runtime`): a host call into the GPU runtime.
    Runtime,
    /// `kernel` (2021: `Kernel`).
    Kernel,
    /// `gpu_memcpy` (2021: `Memcpy`).
    Memcpy,
    /// `gpu_memset` (2021: `Memset`).
    Memset,
    /// `user_annotation`: an interval that a user or a framework named, such as `ProfilerStep#3`.
    UserAnnotation,
    /// `gpu_user_annotation`: the interval on the GPU that corresponds to a `user_annotation`.
    GpuUserAnnotation,
}

/// Name suffix of an `nn.Module` call that was only partly recorded.
pub const CUT_MODULE: &str = " (cut)";

impl Category {
    /// Whether an event of this category is GPU work whose time is measured: a kernel, memcpy or
    /// memset.
    #[doc(hidden)]
    pub fn is_gpu(self) -> bool {
        matches!(self, Category::Kernel | Category::Memcpy | Category::Memset)
    }

    /// Whether an event of this category is a call on a host thread, and therefore part of the call
    /// tree.
    #[doc(hidden)]
    pub fn is_host_call(self) -> bool {
        matches!(self, Category::CpuOp | Category::PythonFunction | Category::Runtime)
    }

    /// The name that current Kineto versions give this category.
    pub fn label(self) -> &'static str {
        match self {
            Category::CpuOp => "cpu_op",
            Category::PythonFunction => "python_function",
            Category::Runtime => "cuda_runtime",
            Category::Kernel => "kernel",
            Category::Memcpy => "gpu_memcpy",
            Category::Memset => "gpu_memset",
            Category::UserAnnotation => "user_annotation",
            Category::GpuUserAnnotation => "gpu_user_annotation",
        }
    }
}
