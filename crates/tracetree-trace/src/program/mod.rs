//! Derives the facts about a program from its [`CallTree`]. Each fact is derived in exactly one
//! module.
//!
//! | fact | owner |
//! |---|---|
//! | steps, and the step of a call | [`Steps`] |
//! | phases, and the phase of a call | [`Phases`] |
//! | the meaning of a user annotation | `annotations` |
//! | how many tokens attention processes in one forward pass | [`Lengths`] |
//! | the GPU vendor | [`Platform`] |
//! | layers, and the position of a call relative to the layers | [`Layers`] |
//! | the kind of model, and the engine that runs the model | [`Model`] |
//! | which captured graph a launch replays | [`Captures`] |
//! | what was measured, and how much data is missing | [`Evidence`], [`Damage`] |
//! | why two recordings cannot be compared | [`Obstacle`] |
//! | which events were not read | [`Unread`] |
//! | what the profiler itself cost | [`OverheadInfo`] |
//! | whether GPU time or host time is measured | [`Measure`] |
//! | whether a call communicates | `Communication` |
//! | whether a call waits for the GPU | [`is_synchronisation`] |
//! | which calls a path query selects | [`Query`] |
//! | the class and the instance number of a module | [`ModuleName`](crate::tree::ModuleName) |

mod annotations;
mod batch_class;
mod captures;
#[doc(hidden)]
pub mod communication;
mod damage;
mod evidence;
mod info;
mod layers;
mod lengths;
mod measure;
pub mod memory;
mod model;
mod obstacles;
mod overhead;
mod phase;
mod phases;
mod platform;
mod query;
mod repeats;
mod selection;
mod steps;
mod synchronisation;
mod unread;
mod words;

pub use annotations::{Annotation, Batch, Meaning, annotations};
pub use batch_class::BatchClass;
pub use captures::{CaptureSource, Captures, LaunchKind};
#[doc(hidden)]
pub use communication::Communication;
pub use damage::Damage;
#[doc(hidden)]
pub use damage::counted;
pub use evidence::Evidence;
#[doc(hidden)]
pub use evidence::rank_of;
pub use info::{CapturedInfo, CategoryCount, Contents, DeviceInfo, HeadInfo, TraceInfo};
pub use layers::{Layer, LayerId, LayerPlace, Layers, Stack, StackKind};
pub use lengths::Lengths;
#[doc(hidden)]
pub use lengths::LengthsOf;
pub use measure::Measure;
pub use model::{Architecture, Found, Model};
pub use obstacles::{LOST_LAUNCHES, Obstacle, SideFacts, first_ranks};
pub use overhead::{OverheadInfo, OverheadKind};
pub use phase::Phase;
pub use phases::Phases;
pub use platform::{Platform, Vendor};
#[doc(hidden)]
pub use query::extend_chain;
pub use query::{Glob, Part, Progress, Query, Segment, Word, is_near, nearest};
pub use repeats::RepeatDetection;
pub use selection::{Selection, StepRange};
pub use steps::{StepId, StepOrigin, StepSpan, Steps};
pub use synchronisation::is_synchronisation;
pub use unread::Unread;
#[doc(hidden)]
pub use words::Words;

use crate::tree::CallTree;
use memory::MemoryUsage;
use std::sync::{Arc, OnceLock};

/// The facts about the program that made the calls in a call tree. Each fact is computed on first
/// use and cached.
#[derive(Debug, Clone)]
pub struct Program {
    tree: Arc<CallTree>,
    repeats: RepeatDetection,
    annotations: OnceLock<Vec<Annotation>>,
    steps: OnceLock<Steps>,
    phases: OnceLock<Phases>,
    communication: OnceLock<Communication>,
    layers: OnceLock<Arc<Layers>>,
    architecture: OnceLock<Option<Found<Architecture>>>,
    evidence: OnceLock<Evidence>,
    memory: OnceLock<MemoryUsage>,
}

impl Program {
    /// Returns the facts about the program that made the calls in `tree`.
    pub fn of(tree: impl Into<Arc<CallTree>>) -> Program {
        Program::with_repeats(tree, RepeatDetection::Found)
    }

    /// Same as [`Program::of`]; `repeats` decides whether repeated calls are used as steps if no
    /// steps are recorded.
    #[doc(hidden)]
    pub fn with_repeats(tree: impl Into<Arc<CallTree>>, repeats: RepeatDetection) -> Program {
        Program {
            tree: tree.into(),
            repeats,
            annotations: OnceLock::new(),
            steps: OnceLock::new(),
            phases: OnceLock::new(),
            communication: OnceLock::new(),
            layers: OnceLock::new(),
            architecture: OnceLock::new(),
            evidence: OnceLock::new(),
            memory: OnceLock::new(),
        }
    }

    /// The call tree.
    pub fn tree(&self) -> &Arc<CallTree> {
        &self.tree
    }

    /// The steps, and the step of each call.
    pub fn steps(&self) -> &Steps {
        let find = || Steps::annotated(&self.tree, self.annotations(), self.repeats);
        self.steps.get_or_init(find)
    }

    /// The phase of each call.
    pub fn phases(&self) -> &Phases {
        self.phases.get_or_init(|| Phases::annotated(&self.tree, self.annotations()))
    }

    /// The recognized annotations, sorted by thread, then by start time.
    fn annotations(&self) -> &[Annotation] {
        self.annotations.get_or_init(|| annotations(self.tree.trace()))
    }

    /// The layers, and the position of each call. The result of the first call is cached and
    /// ignores the measure of later calls, so every call must pass the measure that is used for
    /// both traces.
    #[doc(hidden)]
    pub fn layers(&self, measure: Measure) -> &Arc<Layers> {
        let find = || Arc::new(Layers::in_steps(&self.tree, measure, self.steps()));
        self.layers.get_or_init(find)
    }

    /// The architecture of the model that ran, with evidence; `None` if it cannot be determined.
    #[doc(hidden)]
    pub fn architecture(&self) -> Option<&Found<Architecture>> {
        self.architecture.get_or_init(|| Architecture::of(&self.tree)).as_ref()
    }

    /// What was measured, and how much data is missing from the recording.
    #[doc(hidden)]
    pub fn evidence(&self) -> &Evidence {
        self.evidence.get_or_init(|| Evidence::of(self))
    }

    /// The memory allocations and frees; empty if the trace records none.
    pub fn memory(&self) -> &MemoryUsage {
        self.memory.get_or_init(|| MemoryUsage::of(&self.tree))
    }

    /// Which ops and kernels of the trace communicate with other ranks.
    #[doc(hidden)]
    pub fn communication(&self) -> &Communication {
        self.communication.get_or_init(|| Communication::of(self.tree.trace()))
    }
}
