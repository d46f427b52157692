//! Lists changes that the alignment does not handle reliably yet.

use super::Change;

impl Change {
    /// Changes and combinations of changes that are not in [`Change::all`]. For these changes, `tests/matching`
    /// requires no minimum score. The two changes with more layers are the only exceptions. `alignment_quality`
    /// measures both lists.
    pub fn hard() -> Vec<Change> {
        vec![
            Change::MoreLayersDrop(5.0),
            Change::CompileHalf,
            Change::cast_and_dropped(),
            Change::ForeachOptimizer,
            Change::ShuffleExperts,
            Change::RecordLevel,
            Change::record_level_of_another_platform(),
            Change::StartMidStep,
            Change::ReorderSteps,
            Change::more_layers_wrapped(),
            Change::half_compiled_and_cast(),
        ]
    }

    fn cast_and_dropped() -> Change {
        let parts = vec![Change::LowerPrecision(5.0), Change::DropOps(5.0)];
        Change::Several("bfloat16 casts, 5 % dropped", parts)
    }

    fn record_level_of_another_platform() -> Change {
        let parts = vec![Change::RecordLevel, Change::OtherPlatform, Change::DropOps(2.0)];
        Change::Several("top level, other platform, dropped", parts)
    }

    /// The model has a third more layers, 5% of the ops are dropped, and 2% of the ops are wrapped in new ops.
    pub fn more_layers_wrapped() -> Change {
        let parts = vec![Change::MoreLayersDrop(5.0), Change::WrapOps(2.0)];
        Change::Several("more layers, dropped, wrapped", parts)
    }

    /// Layers are compiled last, because a cast or a dropped op inside a compiled region would not be realistic.
    fn half_compiled_and_cast() -> Change {
        let parts = vec![Change::LowerPrecision(5.0), Change::DropOps(2.0), Change::CompileHalf];
        Change::Several("half compiled, cast, dropped", parts)
    }
}
