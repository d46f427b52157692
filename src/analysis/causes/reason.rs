//! The reasons why a part of the wall time differs between the sides.

use crate::analysis::wall::IdleKind;

/// Why a part of the wall time differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Both sides run the same kernels the same number of times, but the kernels take more time in
    /// the candidate.
    KernelSlower,
    /// Both sides run the same kernels the same number of times, but the kernels take less time in
    /// the candidate.
    KernelFaster,
    /// The times of most kernels that run on both sides differ by the same ratio, probably because the device clocks
    /// differ.
    Clock,
    /// The two sides run different kernels for the same op.
    KernelSwapped,
    /// The candidate runs more kernels for the same op.
    MoreKernels,
    /// The candidate runs fewer kernels for the same op.
    FewerKernels,
    /// The candidate runs a compiled region or graph instead of several calls that the baseline makes.
    Compiled,
    /// The baseline runs a compiled region or graph instead of several calls that the candidate makes.
    Uncompiled,
    /// The shapes, the types or the amount of work of the op differ between the sides.
    MoreWork,
    /// Only the candidate has this GPU work.
    New,
    /// Only the baseline has this GPU work.
    Gone,
    /// The device waited for the host.
    Host,
    /// Synchronization: the device was idle because the host was waiting for the device and had not launched new work
    /// yet.
    Sync,
    /// Launch latency: the host had launched work, but the device had not started this work yet.
    Latency,
    /// Queueing delay: the device was idle although work was queued.
    Queue,
    /// Final wait: the device was idle from the last GPU event to the end of the window.
    Tail,
    /// The device waited for work whose launch is not in the trace.
    Unknown,
    /// GPU work that is not part of the compared steps: it was launched before the window, or the user did not select
    /// it.
    BeforeWindow,
}

impl Reason {
    /// All reasons, in the order used in the documentation.
    pub const ALL: [Reason; 18] = [
        Reason::KernelSlower,
        Reason::KernelFaster,
        Reason::Clock,
        Reason::KernelSwapped,
        Reason::MoreKernels,
        Reason::FewerKernels,
        Reason::Compiled,
        Reason::Uncompiled,
        Reason::MoreWork,
        Reason::New,
        Reason::Gone,
        Reason::Host,
        Reason::Sync,
        Reason::Latency,
        Reason::Queue,
        Reason::Tail,
        Reason::Unknown,
        Reason::BeforeWindow,
    ];

    /// The name of the reason in tables.
    pub fn label(self) -> &'static str {
        match self {
            Reason::KernelSlower => "kernel_slower",
            Reason::KernelFaster => "kernel_faster",
            Reason::Clock => "gpu_clock",
            Reason::KernelSwapped => "kernel_swapped",
            Reason::MoreKernels => "more_kernels",
            Reason::FewerKernels => "fewer_kernels",
            Reason::Compiled => "compiled",
            Reason::Uncompiled => "uncompiled",
            Reason::MoreWork => "more_work",
            Reason::New => "new",
            Reason::Gone => "gone",
            Reason::Host => "host",
            Reason::Sync => "sync",
            Reason::Latency => "latency",
            Reason::Queue => "queue",
            Reason::Tail => "tail",
            Reason::Unknown => "unknown",
            Reason::BeforeWindow => "before_window",
        }
    }

    /// The reason for idle time of a given kind.
    pub(super) fn of_idle(kind: IdleKind) -> Reason {
        match kind {
            IdleKind::Host => Reason::Host,
            IdleKind::Sync => Reason::Sync,
            IdleKind::Latency => Reason::Latency,
            IdleKind::Queue => Reason::Queue,
            IdleKind::Tail => Reason::Tail,
            IdleKind::Unknown => Reason::Unknown,
        }
    }
}
