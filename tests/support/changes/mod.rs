//! Changes a recording in a known way; a seed determines all random choices.
//!
//! Events keep their `origin`, so [`super::score::Truth`] can determine every true counterpart. Every change keeps
//! spans nested: time is inserted for added calls, and dropped calls leave gaps.

mod adding;
mod annotating;
mod compiling;
mod foreach;
mod half_compiled;
mod hard;
mod modules;
mod moving;
mod numerics;
mod recorders;
mod removing;
mod renaming;
mod repeating;
mod rows;
mod steps;

use super::recording::{Forest, Kind, Recording};
use super::splitmix::SplitMix;

/// A known way to change a trace. Numeric fields are percentages of the ops (or launches) in the trace.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Nothing changes.
    Nothing,
    /// The same code runs again, with different addresses, process ids, correlation ids and times.
    OtherRun,
    /// The first op and all calls below it are removed.
    DropFirstOp,
    /// Random ops and all calls below them are removed.
    DropOps(f64),
    /// Random ops are removed, but not the calls below them, which move up one level.
    UnwrapOps(f64),
    /// Random sequences of one to three calls are each wrapped in a new op.
    WrapOps(f64),
    /// New ops are added at random positions, half of them with a kernel.
    InsertOps(f64),
    /// Random ops are renamed.
    RenameOps(f64),
    /// Kernels and runtime calls have the names used on a different platform.
    OtherPlatform,
    /// Random adjacent calls are swapped.
    SwapNeighbours(f64),
    /// Random steps are repeated; one step is added for every three steps in the recording.
    RepeatSteps,
    /// The candidate has five steps instead of three.
    MoreSteps,
    /// The candidate has three steps instead of five.
    FewerSteps,
    /// Random launches are removed together with their kernels.
    DropLaunches(f64),
    /// A module runs twice, as two instances, so the numbers of later instances increase.
    InsertModule,
    /// One of several identical layers runs twice, as two instances.
    InsertLayer,
    /// One of several identical layers is removed.
    DropLayer,
    /// Two modules of the same class are swapped. Instance numbers are not swapped, because the profiler numbers
    /// instances in execution order.
    SwapBranches,
    /// A module is called by its grandparent instead of its parent.
    MoveModule,
    /// The trace is recorded without Python stacks.
    ForgetStacks,
    /// Scripts are in a different folder, the Python version is different, and line numbers have changed.
    OtherCheckout,
    /// Threads, devices and streams have different numbers.
    OtherNumbers,
    /// The numbers in Triton kernel names are raised by one.
    RenumberTriton,
    /// One Triton kernel is fused into another, and later Triton kernels are renumbered.
    FuseTriton,
    /// Randomly chosen ops launch two kernels instead of one, like a split matrix product.
    SplitLaunches(f64),
    /// Random sequences of ops are compiled, each into one region with one kernel.
    CompileRegions(f64),
    /// The batch is four times as large.
    LargerBatch,
    /// Ops run in a lower precision, with casts before some ops.
    LowerPrecision(f64),
    /// Each thread is slowed down by a different factor.
    StretchThreads,
    /// The later half of the calls on the busiest thread moves to a new thread.
    SplitThread,
    /// The candidate has `record_function` ranges around random sequences of calls, at several levels of nesting.
    Annotate,
    /// The number of layers in a model grows by a third, and a percentage of the ops is removed.
    MoreLayersDrop(f64),
    /// Half of the layers are compiled, one region per layer.
    CompileHalf,
    /// The optimizer uses multi-tensor ops, which update all parameters, instead of separate ops for each parameter.
    ForeachOptimizer,
    /// Sibling modules of the same class, such as experts, run in a different order.
    ShuffleExperts,
    /// Only top-level ops are recorded.
    RecordLevel,
    /// The recording starts in the middle of the first step.
    StartMidStep,
    /// Two adjacent steps are swapped.
    ReorderSteps,
    /// Several changes under one name, applied one after the other.
    Several(&'static str, Vec<Change>),
}

impl Change {
    /// All individual changes with their usual strength, followed by combinations of changes. [`Change::hard`] lists
    /// the changes that the alignment does not handle reliably yet.
    pub fn all() -> Vec<Change> {
        vec![
            Change::Nothing,
            Change::OtherRun,
            Change::DropFirstOp,
            Change::DropOps(5.0),
            Change::UnwrapOps(5.0),
            Change::WrapOps(5.0),
            Change::InsertOps(5.0),
            Change::RenameOps(5.0),
            Change::OtherPlatform,
            Change::SwapNeighbours(5.0),
            Change::RepeatSteps,
            Change::DropLaunches(5.0),
            Change::InsertModule,
            Change::StretchThreads,
            Change::SplitThread,
            Change::MoreSteps,
            Change::FewerSteps,
            Change::InsertLayer,
            Change::DropLayer,
            Change::SwapBranches,
            Change::MoveModule,
            Change::ForgetStacks,
            Change::OtherCheckout,
            Change::OtherNumbers,
            Change::RenumberTriton,
            Change::FuseTriton,
            Change::SplitLaunches(30.0),
            Change::CompileRegions(2.0),
            Change::LargerBatch,
            Change::LowerPrecision(5.0),
            Change::Annotate,
            Change::annotated_on_another_platform(),
            Change::later_version(),
            Change::other_backend(),
            Change::forgotten_stacks(),
        ]
    }

    /// A combination of changes that simulates a later version of the program on the same platform.
    pub fn later_version() -> Change {
        let parts = vec![
            Change::DropOps(2.0),
            Change::InsertOps(2.0),
            Change::WrapOps(2.0),
            Change::RenameOps(1.0),
            Change::SwapNeighbours(1.0),
            Change::DropLaunches(2.0),
            Change::OtherRun,
        ];
        Change::Several("several at once", parts)
    }

    /// A combination of changes that simulates a different platform on which some ops are lowered differently. No
    /// launch is dropped: if one of two kernels with unknown names were missing, nothing would show which one.
    pub fn other_backend() -> Change {
        let parts = vec![
            Change::UnwrapOps(2.0),
            Change::InsertOps(2.0),
            Change::WrapOps(2.0),
            Change::RenameOps(1.0),
            Change::OtherPlatform,
            Change::OtherRun,
        ];
        Change::Several("several on another platform", parts)
    }

    /// A combination of changes that simulates a different platform, drops ops, and adds annotated ranges to the
    /// candidate. Ops are dropped first, because dropping an annotation later would drop all calls inside the
    /// annotation.
    pub fn annotated_on_another_platform() -> Change {
        let parts = vec![Change::DropOps(2.0), Change::Annotate, Change::OtherPlatform];
        Change::Several("annotated, dropped, other platform", parts)
    }

    /// A combination of changes that simulates a later version of the program, recorded without Python stacks.
    pub fn forgotten_stacks() -> Change {
        let parts = vec![Change::later_version(), Change::ForgetStacks];
        Change::Several("several, stacks on one side", parts)
    }

    /// A short name for the change, used in tables.
    pub fn label(&self) -> String {
        match self {
            Change::Nothing => "nothing".to_owned(),
            Change::OtherRun => "another run".to_owned(),
            Change::DropFirstOp => "first op dropped".to_owned(),
            Change::DropOps(share) => format!("{share} % of the ops dropped"),
            Change::UnwrapOps(share) => format!("{share} % of the ops unwrapped"),
            Change::WrapOps(share) => format!("{share} % of the ops wrapped"),
            Change::InsertOps(share) => format!("{share} % ops inserted"),
            Change::RenameOps(share) => format!("{share} % of the ops renamed"),
            Change::OtherPlatform => "other platform's names".to_owned(),
            Change::SwapNeighbours(share) => format!("{share} % neighbours swapped"),
            Change::RepeatSteps => "a third of the steps repeated".to_owned(),
            Change::DropLaunches(share) => format!("{share} % of the launches dropped"),
            Change::InsertModule => "a module inserted".to_owned(),
            Change::MoreSteps => "five steps for three".to_owned(),
            Change::FewerSteps => "three steps for five".to_owned(),
            Change::InsertLayer => "a layer inserted".to_owned(),
            Change::DropLayer => "a layer dropped".to_owned(),
            Change::SwapBranches => "branches swapped".to_owned(),
            Change::MoveModule => "a module moved".to_owned(),
            Change::ForgetStacks => "stacks on one side".to_owned(),
            Change::OtherCheckout => "another checkout".to_owned(),
            Change::OtherNumbers => "threads, streams renumbered".to_owned(),
            Change::RenumberTriton => "Triton renumbered".to_owned(),
            Change::FuseTriton => "Triton fused".to_owned(),
            Change::SplitLaunches(share) => format!("{share} % launch twice"),
            Change::CompileRegions(share) => format!("{share} % in compiled regions"),
            Change::LargerBatch => "batch times four".to_owned(),
            Change::LowerPrecision(share) => format!("bfloat16, {share} % casts"),
            Change::StretchThreads => "threads stretched".to_owned(),
            Change::SplitThread => "a thread split in two".to_owned(),
            Change::Annotate => "irregular annotations".to_owned(),
            Change::MoreLayersDrop(share) => format!("a third more layers, {share} % dropped"),
            Change::CompileHalf => "half of the layers compiled".to_owned(),
            Change::ForeachOptimizer => "multi-tensor optimizer".to_owned(),
            Change::ShuffleExperts => "experts shuffled".to_owned(),
            Change::RecordLevel => "top-level ops only".to_owned(),
            Change::StartMidStep => "start in mid-step".to_owned(),
            Change::ReorderSteps => "two steps swapped".to_owned(),
            Change::Several(name, _) => (*name).to_owned(),
        }
    }

    /// The changed recording; `None` if the change does not apply to the recording.
    pub fn apply(&self, recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
        match self {
            Change::Nothing => Some(recording.clone()),
            Change::OtherRun => Some(renaming::other_run(recording, random)),
            Change::DropFirstOp => removing::first_op(recording),
            Change::DropOps(share) => removing::ops(recording, *share, random),
            Change::UnwrapOps(share) => removing::only_calls(recording, *share, random),
            Change::WrapOps(share) => adding::wrappers(recording, *share, random),
            Change::InsertOps(share) => adding::ops(recording, *share, random),
            Change::RenameOps(share) => renaming::ops(recording, *share, random),
            Change::OtherPlatform => renaming::platform(recording),
            Change::SwapNeighbours(share) => moving::neighbours(recording, *share, random),
            Change::RepeatSteps => repeating::steps(recording, (1, 3), random),
            Change::MoreSteps => repeating::steps(recording, (2, 3), random),
            Change::FewerSteps => repeating::fewer_steps(recording, random),
            Change::InsertLayer => repeating::layer(recording, random),
            Change::DropLayer => modules::drop_layer(recording, random),
            Change::SwapBranches => modules::swap_branches(recording, random),
            Change::MoveModule => modules::move_module(recording, random),
            Change::ForgetStacks => recorders::without_stacks(recording),
            Change::OtherCheckout => recorders::checkout(recording, random),
            Change::OtherNumbers => Some(recorders::numbers(recording, random)),
            Change::RenumberTriton => compiling::triton_renumbered(recording),
            Change::FuseTriton => compiling::triton_fused(recording, random),
            Change::SplitLaunches(share) => compiling::split_k(recording, *share, random),
            Change::CompileRegions(share) => compiling::regions(recording, *share, random),
            Change::LargerBatch => numerics::batch(recording),
            Change::LowerPrecision(share) => numerics::bfloat16(recording, *share, random),
            Change::DropLaunches(share) => removing::launches(recording, *share, random),
            Change::InsertModule => repeating::module(recording, random),
            Change::StretchThreads => Some(moving::stretch(recording, random)),
            Change::SplitThread => moving::split_thread(recording, random),
            Change::Annotate => annotating::ranges(recording, random),
            Change::MoreLayersDrop(share) => rows::more_layers(recording, *share, random),
            Change::CompileHalf => half_compiled::layers(recording, random),
            Change::ForeachOptimizer => foreach::optimizer(recording, random),
            Change::ShuffleExperts => rows::shuffle(recording, random),
            Change::RecordLevel => recorders::top_level(recording),
            Change::StartMidStep => steps::start_in_the_middle(recording, random),
            Change::ReorderSteps => steps::reorder(recording, random),
            Change::Several(_, changes) => apply_all(changes, recording, random),
        }
    }
}

/// Applies all changes that apply to the recording; `None` if no change applies.
fn apply_all(changes: &[Change], first: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let mut changed = None;
    for change in changes {
        let next = change.apply(changed.as_ref().unwrap_or(first), random);
        changed = next.or(changed);
    }
    changed
}

/// Positions of all ops in a recording, sorted by thread and time. In traces from 2021, steps are recorded as ops. They
/// are not included, because the calls in a step are not compared if the step has no counterpart.
fn ops_of(recording: &Recording, forest: &Forest) -> Vec<usize> {
    let is_op = |at: &usize| {
        let event = &recording.events[*at];
        event.kind == Kind::Op && !event.name.starts_with(repeating::STEP)
    };
    forest.preorder.iter().copied().filter(is_op).collect()
}

/// Computes `percent`% of `whole`, but at least one.
fn portion(whole: usize, percent: f64) -> usize {
    ((whole as f64 * percent / 100.0).round() as usize).max(1)
}
