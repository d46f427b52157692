//! The rules about the structure: what a change does to a step, or what kind of change it is.

use crate::analysis::ChangeKind;
use crate::gate::rules::Severity;

/// A structural rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StructureRule {
    /// A call that waits for the GPU: a synchronization, a blocking copy, `aten::item`.
    NewSync,
    /// More copies, or more bytes copied.
    NewCopy,
    /// More compiled regions per step: the compiler breaks the graph more often.
    GraphBreaks,
    /// Fewer launches of captured graphs, or fewer kernels in them.
    GraphReplayLost,
    /// Several ops or kernels now do what one did before.
    LostFusion,
    /// More kernels per call of an op.
    KernelsPerCall,
    /// An op launches a different kernel than before.
    NewKernel,
    /// GPU work that an op no longer launches, without a replacement.
    GoneKernel,
    /// More launches per step.
    LaunchesPerStep,
    /// More communication.
    Collectives,
    /// An op, or a module with its ops, that is new or is called more often than before.
    NewOp,
    /// An op or module that is no longer called, or is called less often than before.
    GoneOp,
    /// Arguments of a different type.
    DtypeChange,
    /// Arguments of a different shape.
    ShapeChange,
    /// Arguments in a different memory layout.
    LayoutChange,
    /// A change of this kind.
    Kind(ChangeKind),
}

impl StructureRule {
    /// The rules that are checked without a rule file, in the order of reports. A change of one of the last
    /// kinds may violate no other rule.
    pub const ALL: [StructureRule; 22] = [
        StructureRule::NewSync,
        StructureRule::NewCopy,
        StructureRule::GraphBreaks,
        StructureRule::GraphReplayLost,
        StructureRule::LostFusion,
        StructureRule::KernelsPerCall,
        StructureRule::NewKernel,
        StructureRule::GoneKernel,
        StructureRule::LaunchesPerStep,
        StructureRule::Collectives,
        StructureRule::NewOp,
        StructureRule::GoneOp,
        StructureRule::DtypeChange,
        StructureRule::ShapeChange,
        StructureRule::LayoutChange,
        StructureRule::Kind(ChangeKind::Allocator),
        StructureRule::Kind(ChangeKind::Streams),
        StructureRule::Kind(ChangeKind::InputPipeline),
        StructureRule::Kind(ChangeKind::Arguments),
        StructureRule::Kind(ChangeKind::Python),
        StructureRule::Kind(ChangeKind::WarmUp),
        StructureRule::Kind(ChangeKind::Environment),
    ];

    /// The rule with this name in rule files: one of [`StructureRule::ALL`], or a kind of change.
    pub(in crate::gate) fn named(name: &str) -> Option<StructureRule> {
        StructureRule::every().find(|rule| rule.label() == name)
    }

    /// All rules that a rule file may name.
    pub(in crate::gate) fn every() -> impl Iterator<Item = StructureRule> {
        // Every change of collectives violates the rule of that name.
        // What the profiler recorded is not part of the program. A baseline file has no memory events.
        let is_new = |kind: &ChangeKind| {
            let rule = StructureRule::Kind(*kind);
            !matches!(
                kind,
                ChangeKind::Collectives
                    | ChangeKind::Recording
                    | ChangeKind::Leak
                    | ChangeKind::Memory
                    | ChangeKind::Workspace
            ) && !StructureRule::ALL.contains(&rule)
        };
        let kinds = ChangeKind::ALL.into_iter().filter(is_new);
        StructureRule::ALL.into_iter().chain(kinds.map(StructureRule::Kind))
    }

    /// The word for it in rule files.
    pub fn label(self) -> &'static str {
        match self {
            StructureRule::KernelsPerCall => "kernels_per_call",
            StructureRule::NewKernel => "new_kernel",
            StructureRule::GoneKernel => "gone_kernel",
            StructureRule::LaunchesPerStep => "launches_per_step",
            StructureRule::NewSync => "new_sync",
            StructureRule::NewCopy => "new_copy",
            StructureRule::LostFusion => "lost_fusion",
            StructureRule::NewOp => "new_op",
            StructureRule::GoneOp => "gone_op",
            StructureRule::DtypeChange => "dtype_change",
            StructureRule::ShapeChange => "shape_change",
            StructureRule::LayoutChange => "layout_change",
            StructureRule::GraphBreaks => "graph_breaks",
            StructureRule::GraphReplayLost => "graph_replay_lost",
            StructureRule::Collectives => "collectives",
            StructureRule::Kind(kind) => kind.label(),
        }
    }

    /// The severity of a violation without a rule file. Python code that calls no ops, code that is compiled
    /// or loaded, and another environment may be harmless, and what they cost is checked by the rules about
    /// time.
    pub fn usual(self) -> Severity {
        match self {
            StructureRule::Kind(
                ChangeKind::Python | ChangeKind::WarmUp | ChangeKind::Environment,
            ) => Severity::Warning,
            StructureRule::NewSync
            | StructureRule::NewCopy
            | StructureRule::GraphBreaks
            | StructureRule::GraphReplayLost
            | StructureRule::LostFusion
            | StructureRule::KernelsPerCall
            | StructureRule::NewKernel
            | StructureRule::GoneKernel
            | StructureRule::LaunchesPerStep
            | StructureRule::Collectives
            | StructureRule::NewOp
            | StructureRule::GoneOp
            | StructureRule::DtypeChange
            | StructureRule::ShapeChange
            | StructureRule::LayoutChange
            | StructureRule::Kind(_) => Severity::Error,
        }
    }

    /// What a violation means, for people.
    pub fn words(self) -> &'static str {
        match self {
            StructureRule::KernelsPerCall => "more kernels per call",
            StructureRule::NewKernel => "different kernel",
            StructureRule::GoneKernel => "GPU work no longer launched",
            StructureRule::LaunchesPerStep => "more launches per step",
            StructureRule::NewSync => "more waits for the GPU",
            StructureRule::NewCopy => "more data copied",
            StructureRule::LostFusion => "several ops or kernels replace one",
            StructureRule::NewOp => "new work",
            StructureRule::GoneOp => "work removed",
            StructureRule::DtypeChange => "arguments of different types",
            StructureRule::ShapeChange => "arguments of different shapes",
            StructureRule::LayoutChange => "arguments in a different memory layout",
            StructureRule::GraphBreaks => "more compiled regions",
            StructureRule::GraphReplayLost => "less work replayed from captured graphs",
            StructureRule::Collectives => "more communication",
            StructureRule::Kind(_) => "a change of this kind",
        }
    }
}
