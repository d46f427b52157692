//! Attributes all measured time in a [`TraceDiff`] to rows, one for each lowest common op. Each event counts
//! in exactly one row.

pub mod account;
#[doc(hidden)]
pub mod annotated;
mod attribution;
pub mod categories;
pub mod causes;
pub mod changes;
pub mod comparability;
mod conditions;
pub mod efficiency;
mod facts;
#[doc(hidden)]
pub mod fusion;
mod grouped;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod layers;
pub mod memory;
mod modules;
#[doc(hidden)]
pub mod named_calls;
mod options;
pub mod replay;
#[doc(hidden)]
pub mod robust;
pub mod runs;
mod shared_texts;
mod side_names;
#[doc(hidden)]
pub mod steps;
mod trace_facts;
pub mod verdict;
pub mod wall;

pub use attribution::Attribution;
pub(crate) use attribution::RowNameIds;
use facts::Facts;
pub use options::AnalysisOptions;
pub(crate) use trace_facts::TraceFacts;

use crate::diff::TraceDiff;
use crate::side::PerSide;
use runs::Run;
use std::ops::Deref;
use std::sync::Arc;

/// All facts about a comparison: the [`Attribution`] of its time, and what follows from it. A fact is computed when it is
/// first needed, from the attribution and from earlier facts.
#[derive(Debug, Clone)]
pub struct Analysis {
    attribution: Attribution,
    facts: Facts,
}

impl Deref for Analysis {
    type Target = Attribution;

    fn deref(&self) -> &Attribution {
        &self.attribution
    }
}

impl Analysis {
    /// Attributes the time of both traces with default options.
    ///
    /// ```
    /// use tracetree::{Analysis, CallTree, Trace, TraceDiff};
    ///
    /// let before = Trace::open("examples/traces/resnet.rocm.json.gz")?;
    /// let after = Trace::open("examples/traces/resnet.cuda.json.gz")?;
    /// let (baseline, candidate) = (CallTree::build(before), CallTree::build(after));
    /// let diff = TraceDiff::new(baseline, candidate);
    /// let analysis = Analysis::new(diff);
    /// assert!(analysis.account().is_exact());
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn new(diff: impl Into<Arc<TraceDiff>>) -> Analysis {
        Analysis::with_options(diff, AnalysisOptions::default())
    }

    /// Attributes the time of both traces with the given options.
    #[doc(hidden)]
    pub fn with_options(diff: impl Into<Arc<TraceDiff>>, options: AnalysisOptions) -> Analysis {
        let diff = diff.into();
        let facts = TraceFacts::of(PerSide::from_fn(|side| diff.program(side)), &options);
        Analysis::of_facts(diff, facts, options)
    }

    /// Attributes the time of both traces, given the results that were computed for each trace alone.
    pub(crate) fn of_facts(
        diff: impl Into<Arc<TraceDiff>>,
        trace_facts: PerSide<TraceFacts>,
        options: AnalysisOptions,
    ) -> Analysis {
        let attribution = Attribution::new(diff.into(), trace_facts, options);
        Analysis { attribution, facts: Facts::default() }
    }

    /// Adds the other runs of each side. They must be sorted by step time and aligned with the median run.
    /// The median run is the run with the median step time (for an even number of runs, the faster of the
    /// two middle runs). Verdicts use the runs if both sides have several runs.
    #[must_use]
    pub(crate) fn with_runs(mut self, runs: PerSide<Vec<Run>>) -> Analysis {
        self.attribution.runs = runs;
        self.facts = Facts::default();
        self
    }
}
