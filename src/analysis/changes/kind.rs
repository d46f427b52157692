//! The kinds of changes, and the settings that usually cause a change of each kind.

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// The device, driver or library versions differ.
    Environment,
    /// Calls run inside compiled regions on one side only.
    Compilation,
    /// Calls run inside graph launches on one side only.
    Graphs,
    /// The element types of inputs differ between the sides.
    Precision,
    /// The internal precision of kernels differs between the sides, although the inputs have the
    /// same type.
    MathMode,
    /// The sizes of inputs differ between the sides.
    Shapes,
    /// The memory layouts of inputs differ between the sides.
    MemoryFormat,
    /// The implementation of scaled dot product attention differs between the sides.
    Attention,
    /// A part of the forward pass runs again during the backward pass, on one side only.
    Checkpointing,
    /// A module is called more or less often.
    Layers,
    /// Ops were added, removed or replaced.
    Ops,
    /// Argument values of ops, or the number of tensors passed to ops, differ between the sides, although the sizes and
    /// types of the inputs are the same.
    Arguments,
    /// The optimizer or its implementation differs.
    Optimizer,
    /// Calls in which the host reads a result from the GPU, and waits for it, were added or removed.
    HostRead,
    /// Calls in which the host waits for the GPU, without reading a result, were added or removed.
    Synchronization,
    /// The data loader runs different code on each side.
    InputPipeline,
    /// Collectives were added, removed or replaced.
    Collectives,
    /// Python code that calls no ops was added or removed.
    Python,
    /// The two sides run different kernels for the same op with the same arguments.
    KernelSelection,
    /// One side allocates or frees device memory through the driver more often, or its allocator reserves a different
    /// amount of memory.
    Allocator,
    /// Live memory grows from step to step on one side, or grows faster than on the other side.
    Leak,
    /// Peak memory differs.
    Memory,
    /// Matched ops allocate temporary blocks of different sizes, although their tensors are the same.
    Workspace,
    /// The GPU work runs on more or fewer streams.
    Streams,
    /// Code is compiled or loaded in the compared steps of one side only.
    WarmUp,
    /// The profiler recorded different kinds of events on each side; the programs may be the same.
    Recording,
}

impl ChangeKind {
    /// All kinds of changes, in the order used in the documentation.
    pub const ALL: [ChangeKind; 26] = [
        ChangeKind::Environment,
        ChangeKind::Compilation,
        ChangeKind::Graphs,
        ChangeKind::Precision,
        ChangeKind::MathMode,
        ChangeKind::Shapes,
        ChangeKind::MemoryFormat,
        ChangeKind::Attention,
        ChangeKind::Checkpointing,
        ChangeKind::Layers,
        ChangeKind::Ops,
        ChangeKind::Arguments,
        ChangeKind::Optimizer,
        ChangeKind::HostRead,
        ChangeKind::Synchronization,
        ChangeKind::InputPipeline,
        ChangeKind::Collectives,
        ChangeKind::Python,
        ChangeKind::KernelSelection,
        ChangeKind::Allocator,
        ChangeKind::Leak,
        ChangeKind::Memory,
        ChangeKind::Workspace,
        ChangeKind::Streams,
        ChangeKind::WarmUp,
        ChangeKind::Recording,
    ];

    /// The name of the kind in tables.
    pub fn label(self) -> &'static str {
        match self {
            ChangeKind::Environment => "environment",
            ChangeKind::Compilation => "compilation",
            ChangeKind::Graphs => "graphs",
            ChangeKind::Precision => "precision",
            ChangeKind::MathMode => "math_mode",
            ChangeKind::Shapes => "shapes",
            ChangeKind::MemoryFormat => "memory_format",
            ChangeKind::Attention => "attention",
            ChangeKind::Checkpointing => "checkpointing",
            ChangeKind::Layers => "layers",
            ChangeKind::Ops => "ops",
            ChangeKind::Arguments => "arguments",
            ChangeKind::Optimizer => "optimizer",
            ChangeKind::HostRead => "host_read",
            ChangeKind::Synchronization => "synchronization",
            ChangeKind::InputPipeline => "input_pipeline",
            ChangeKind::Collectives => "collectives",
            ChangeKind::Python => "python",
            ChangeKind::KernelSelection => "kernel_selection",
            ChangeKind::Allocator => "allocator",
            ChangeKind::Leak => "leak",
            ChangeKind::Memory => "memory",
            ChangeKind::Workspace => "workspace",
            ChangeKind::Streams => "streams",
            ChangeKind::WarmUp => "warm_up",
            ChangeKind::Recording => "recording",
        }
    }

    /// The certainty of changes of this kind: they are either read directly from the trace or inferred from kernel
    /// names.
    #[doc(hidden)]
    pub fn certainty(self) -> Certainty {
        if self == ChangeKind::MathMode { Certainty::Likely } else { Certainty::Certain }
    }

    /// The setting or code that usually causes changes of this kind; empty if there is no usual cause.
    #[doc(hidden)]
    pub fn usual(self) -> &'static str {
        match self {
            ChangeKind::Compilation => "torch.compile",
            ChangeKind::Graphs => {
                "torch.compile(mode=\"reduce-overhead\"), torch.cuda.graph, enforce_eager"
            }
            ChangeKind::Precision => "torch.autocast, .bfloat16(), .half()",
            ChangeKind::MathMode => {
                "torch.backends.cudnn.allow_tf32, torch.set_float32_matmul_precision"
            }
            ChangeKind::Shapes => "batch size, sequence length, model size",
            ChangeKind::MemoryFormat => ".to(memory_format=torch.channels_last)",
            ChangeKind::Attention => {
                "torch.nn.attention.sdpa_kernel, or a mask or shape that rules a backend out"
            }
            ChangeKind::Optimizer => "the optimizer's fused= and foreach= options",
            ChangeKind::HostRead => ".item(), .cpu(), printing or branching on a tensor",
            ChangeKind::Synchronization => {
                "torch.cuda.synchronize(), a copy from memory that is not pinned"
            }
            ChangeKind::InputPipeline => "DataLoader(num_workers=, pin_memory=)",
            ChangeKind::Collectives => "DDP bucket size, a different process group",
            ChangeKind::KernelSelection => {
                "torch.backends.cudnn.benchmark, a library version, autotuning"
            }
            ChangeKind::Allocator => "memory fragmentation, empty_cache(), too few warm-up steps",
            ChangeKind::Leak => "a list of losses or outputs without .detach() or .item()",
            ChangeKind::Workspace => {
                "CUBLAS_WORKSPACE_CONFIG, torch.backends.cudnn.benchmark, a library version"
            }
            ChangeKind::Checkpointing => "torch.utils.checkpoint",
            ChangeKind::WarmUp => {
                "too few warm-up steps, or changing shapes that trigger recompilation"
            }
            ChangeKind::Recording => "with_stack= and record_shapes= of torch.profiler.profile",
            ChangeKind::Arguments
            | ChangeKind::Environment
            | ChangeKind::Layers
            | ChangeKind::Memory
            | ChangeKind::Ops
            | ChangeKind::Python
            | ChangeKind::Streams => "",
        }
    }
}

/// Whether a change is certain, or inferred and only likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The change is read from the trace.
    Certain,
    /// The change is inferred from kernel names.
    Likely,
}

impl Certainty {
    /// The name in tables: `certain` or `likely`.
    pub fn label(self) -> &'static str {
        match self {
            Certainty::Certain => "certain",
            Certainty::Likely => "likely",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ChangeKind;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_has_its_own_label() {
        let labels: BTreeSet<&str> = ChangeKind::ALL.iter().map(|kind| kind.label()).collect();
        assert_eq!(labels.len(), ChangeKind::ALL.len());
    }
}
