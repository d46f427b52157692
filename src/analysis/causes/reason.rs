//! Why a part of the wall time differs, in a word.

use crate::analysis::IdleKind;

/// Why a part of the wall time differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The same kernels, equally often, take more time.
    KernelSlower,
    /// The same kernels, equally often, take less time.
    KernelFaster,
    /// Most of the same kernels differ by one ratio: perhaps the clock of the device.
    Clock,
    /// Other kernels do the same op.
    KernelSwapped,
    /// More kernels run for the same op.
    MoreKernels,
    /// Fewer kernels run for the same op.
    FewerKernels,
    /// The candidate runs a compiled region or graph in the place of several calls.
    Compiled,
    /// The baseline does.
    Uncompiled,
    /// The op has other shapes or types.
    MoreWork,
    /// Only the candidate does it.
    New,
    /// Only the baseline does it.
    Gone,
    /// The device waited for the host.
    Host,
    /// The device waited while the host waited for it.
    Sync,
    /// The device waited for work that was being launched.
    Latency,
    /// The device waited although work was queued.
    Queue,
    /// Nothing ran until the window ended.
    Tail,
    /// The device waited for work whose launch is not in the trace.
    Unknown,
    /// Work that was launched before the window, or was not selected; no part of the steps.
    BeforeWindow,
}

impl Reason {
    /// All, in the order of the documentation.
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

    /// As tables write it.
    pub fn label(self) -> &'static str {
        match self {
            Reason::KernelSlower => "kernel_slower",
            Reason::KernelFaster => "kernel_faster",
            Reason::Clock => "clock?",
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

    /// The reason of idle time of this kind.
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
