//! One change of the structure: what, where, and the rule that speaks of it.

use crate::gate::digest::Range;
use crate::program::{Progress, Query, Segment, Word};

/// What a rule about the structure looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StructureRule {
    /// More kernels for each call of an op.
    KernelsPerCall,
    /// A kernel that the op did not launch before, in the place of another.
    NewKernel,
    /// A kernel, copy or memset that an op no longer launches, with none in its place.
    GoneKernel,
    /// More launches in a step.
    LaunchesPerStep,
    /// A call that waits for the GPU: a synchronisation, a blocking copy, `aten::item`.
    NewSync,
    /// More copies, or more bytes in them.
    NewCopy,
    /// One op or kernel did what several do now.
    LostFusion,
    /// An op, or a module with its ops, that was not called before, or more often.
    NewOp,
    /// An op or module that is called no more, or less often.
    GoneOp,
    /// Arguments of another type.
    DtypeChange,
    /// Arguments of another shape.
    ShapeChange,
    /// More compiled regions in a step: the compiler gives up in between.
    GraphBreaks,
    /// Fewer launches of captured graphs, or fewer kernels in them.
    GraphReplayLost,
    /// More collectives, or more bytes in them.
    Collectives,
}

impl StructureRule {
    /// All of them, in the order of reports.
    pub const ALL: [StructureRule; 14] = [
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
    ];

    /// As rules write it.
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
            StructureRule::GraphBreaks => "graph_breaks",
            StructureRule::GraphReplayLost => "graph_replay_lost",
            StructureRule::Collectives => "collectives",
        }
    }

    /// Whether it speaks of the kernels that an op launches.
    pub(in crate::gate) fn is_of_kernels(self) -> bool {
        matches!(
            self,
            StructureRule::KernelsPerCall | StructureRule::NewKernel | StructureRule::GoneKernel
        )
    }

    /// What a broken rule says, for people.
    pub fn words(self) -> &'static str {
        match self {
            StructureRule::KernelsPerCall => "more kernels for each call",
            StructureRule::NewKernel => "another kernel",
            StructureRule::GoneKernel => "GPU work that is no longer launched",
            StructureRule::LaunchesPerStep => "more launches in a step",
            StructureRule::NewSync => "the host waits for the GPU",
            StructureRule::NewCopy => "more is copied",
            StructureRule::LostFusion => "several do what one did",
            StructureRule::NewOp => "new work",
            StructureRule::GoneOp => "work is gone",
            StructureRule::DtypeChange => "arguments of another type",
            StructureRule::ShapeChange => "arguments of another shape",
            StructureRule::GraphBreaks => "more compiled regions",
            StructureRule::GraphReplayLost => "less is replayed from captured graphs",
            StructureRule::Collectives => "more communication",
        }
    }
}

/// A path of a digest, as people and queries see it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// Words and names from the outermost module down.
    pub path: Vec<(Word, String)>,
    /// What the program does there; empty for a whole step.
    pub phase: String,
}

impl Place {
    /// Whether a query names this place, or one around it.
    pub fn is_within(&self, query: &Query) -> bool {
        let (mut progress, mut chain) = (Progress::default(), String::new());
        self.path.iter().any(|(word, name)| {
            if *word == Word::Module {
                crate::program::extend_chain(&mut chain, name);
            }
            let (below, is_named) =
                query.step(progress, Segment { word: *word, name, chain: &chain });
            progress = below;
            is_named
        })
    }

    /// `Net_0.Block_1 / aten::conv2d`; `step` where nothing is around it.
    pub fn words(&self) -> String {
        let modules: Vec<&str> = self.names(|word| word == Word::Module).collect();
        let others = self.names(|word| word != Word::Module);
        let parts: Vec<String> = std::iter::once(modules.join("."))
            .chain(others.map(str::to_owned))
            .filter(|part| !part.is_empty())
            .collect();
        match parts.is_empty() {
            true => "step".to_owned(),
            false => parts.join(" / "),
        }
    }

    /// A query that names this place, to look closer; empty for a whole step.
    pub fn query(&self) -> String {
        let modules: Vec<&(Word, String)> =
            self.path.iter().filter(|(word, _)| *word == Word::Module).collect();
        let last_module = modules.last().map(|part| &part.1);
        let module = last_module.map(|name| format!("module(\"{name}\")"));
        let others = self.path.iter().filter(|(word, _)| *word != Word::Module);
        let others = others.map(|(word, name)| format!("{}(\"{name}\")", word.label()));
        module.into_iter().chain(others).collect::<Vec<_>>().join(" / ")
    }

    fn names(&self, is_wanted: fn(Word) -> bool) -> impl Iterator<Item = &str> {
        self.path.iter().filter(move |(word, _)| is_wanted(*word)).map(|(_, name)| name.as_str())
    }
}

/// A Python function that calls.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The file, as the trace names it.
    pub file: String,
    /// The line that the function begins at.
    pub line: u64,
    /// The function.
    pub function: String,
}

impl Site {
    /// `model.py(31): forward` taken apart; `None` where it is no frame of a file.
    pub fn of(frame: &str) -> Option<Site> {
        let (place, function) = frame.split_once("): ")?;
        let (file, line) = place.rsplit_once('(')?;
        Some(Site {
            file: file.to_owned(),
            line: line.parse().ok()?,
            function: function.to_owned(),
        })
    }
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{} {}", self.file, self.line, self.function)
    }
}

/// One thing that changed at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What: an op, a module, a kernel, shapes.
    pub what: String,
    /// What stood in a step before, in words.
    pub before: String,
    /// And what after.
    pub after: String,
}

impl Item {
    pub(super) fn of(what: &str, before: Range, after: Range) -> Item {
        Item { what: what.to_owned(), before: before.to_string(), after: after.to_string() }
    }
}

/// What changed at one place, as one rule sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The rule that speaks of it.
    pub rule: StructureRule,
    /// Where.
    pub place: Place,
    /// What: the first tells most.
    pub items: Vec<Item>,
    /// In a step before, in the unit of the rule (calls, kernels, copies).
    pub before: u64,
    /// And after.
    pub after: u64,
    /// Who calls, where the trace has Python frames.
    pub site: Option<Site>,
    /// The category of the work, where it is one.
    pub category: String,
    /// Launches in a step, after − before, that the change brings.
    pub launches: i64,
}
