//! The structural rules. Each rule covers one effect or one kind of change.

use crate::rules::Severity;
use tracetree::analysis::changes::ChangeKind;

/// A structural rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StructureRule {
    /// The host waits for the GPU more often, for example because of a synchronization, a blocking copy or
    /// `aten::item`.
    NewSync,
    /// More copies are made, or more bytes are copied.
    NewCopy,
    /// More compiled regions run per step because the compiler breaks the graph more often.
    GraphBreaks,
    /// Fewer captured graphs are launched, or fewer kernels run in captured graphs.
    GraphReplayLost,
    /// Several ops or kernels do the work that a single op or kernel did before.
    LostFusion,
    /// An op launches more kernels per call.
    KernelsPerCall,
    /// An op launches a different kernel than before.
    NewKernel,
    /// An op no longer launches some of its GPU work, and no other GPU work replaces the missing work.
    GoneKernel,
    /// Each step launches GPU work more often.
    LaunchesPerStep,
    /// More communication happens.
    Collectives,
    /// An op, or a module with its ops, is new or is called more often than before.
    NewOp,
    /// An op or module is no longer called, or is called less often than before.
    GoneOp,
    /// Arguments have a different type.
    DtypeChange,
    /// Arguments have a different shape.
    ShapeChange,
    /// Arguments have a different memory layout.
    LayoutChange,
    /// A change of the given kind occurred.
    Kind(ChangeKind),
}

impl StructureRule {
    /// The rules that are checked without a rule file, in the order in which reports list them. The rules at the end of
    /// the list cover kinds of changes that can occur without violating any other rule.
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

    /// The rule that is called `name` in rule files: one of [`StructureRule::ALL`], or a rule for one kind of change.
    pub(crate) fn named(name: &str) -> Option<StructureRule> {
        StructureRule::every().find(|rule| rule.label() == name)
    }

    pub(crate) fn every() -> impl Iterator<Item = StructureRule> {
        // Some kinds of changes have no rule of their own. Changes in collectives violate the rule `collectives`.
        // Recording options are not part of the program, so changes in them violate no rule. A baseline file has no
        // memory events, so changes in memory use cannot be detected.
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

    /// The name of the rule in rule files.
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

    /// The default severity of a violation, for rules whose severity is not set in a rule file. By default, three kinds
    /// of changes cause only warnings: changes in Python code that calls no ops, changes in the compiling or loading of
    /// code, and changes in the environment. Such changes may be harmless, and the time rules limit how much time they
    /// may cost.
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

    /// A short description of a violation of the rule.
    pub fn words(self) -> &'static str {
        match self {
            StructureRule::KernelsPerCall => "more kernels per call",
            StructureRule::NewKernel => "different kernel",
            StructureRule::GoneKernel => "GPU work no longer launched",
            StructureRule::LaunchesPerStep => "more launches per step",
            StructureRule::NewSync => "more waits for the GPU",
            StructureRule::NewCopy => "more data copied",
            StructureRule::LostFusion => "one op or kernel replaced by several",
            StructureRule::NewOp => "new work",
            StructureRule::GoneOp => "work removed",
            StructureRule::DtypeChange => "arguments with different types",
            StructureRule::ShapeChange => "arguments with different shapes",
            StructureRule::LayoutChange => "arguments in a different memory layout",
            StructureRule::GraphBreaks => "more compiled regions",
            StructureRule::GraphReplayLost => "less work replayed from captured graphs",
            StructureRule::Collectives => "more communication",
            StructureRule::Kind(_) => "a change of this kind",
        }
    }
}
