//! The part of an analysis that depends on only one trace, so it can be computed while the two traces are
//! being aligned.

use super::AnalysisOptions;
use super::efficiency::TraceEfficiency;
use crate::program::{Measure, Program};
use crate::side::PerSide;

/// The facts about one trace that every analysis needs.
#[derive(Debug, Clone)]
pub(crate) struct TraceFacts {
    pub(super) efficiency: TraceEfficiency,
}

impl TraceFacts {
    /// Computes the facts for both sides in parallel. This also computes the results that a [`Program`]
    /// caches.
    pub(crate) fn of(
        programs: PerSide<&Program>,
        options: &AnalysisOptions,
    ) -> PerSide<TraceFacts> {
        let measure = Measure::of(programs.map(|program| &**program.tree()));
        let models = options.models.clone().unwrap_or_default();
        let peaks = options.peaks.clone().unwrap_or_default();
        PerSide::from_fn_at_once(|side| {
            let program = programs[side];
            program.phases();
            program.communication();
            program.layers(measure);
            program.architecture();
            let tree = program.tree().clone();
            TraceFacts { efficiency: TraceEfficiency::with_measure(tree, measure, &models, &peaks) }
        })
    }
}
