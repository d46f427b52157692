//! Computes the step time of each side in a what-if scenario that a user describes with queries and factors.

use super::effects::{Check, Replays};
use super::scenario::Scenario;
use crate::diff::TraceDiff;
use crate::error::{Error, ErrorKind, Result};
use crate::program::{Query, Word, is_synchronisation};
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;
use std::str::FromStr;

/// A hypothetical change to a recording. The default scenario changes nothing.
///
/// ```
/// use tracetree::analysis::replay::WhatIf;
///
/// let asked = WhatIf::default().host(0.0)?.scale(r#"kernel("*softmax*")"#.parse()?, 0.5)?;
/// assert!(!asked.is_recording());
/// # Ok::<(), tracetree::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct WhatIf {
    scale: Vec<(Query, f64)>,
    host: Option<f64>,
    without: Vec<Without>,
}

/// Selects the runtime calls at which the host no longer waits for the GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Without {
    /// All runtime calls that wait for the GPU, written as `sync`.
    All,
    /// The calls that a query finds, for example `call("cudaStreamSynchronize")`.
    Some(Query),
}

impl FromStr for Without {
    type Err = Error;

    /// # Errors
    /// Fails if the query is invalid, or if it selects anything other than runtime calls.
    fn from_str(text: &str) -> Result<Without> {
        if matches!(text.trim(), "sync" | "sync()") {
            return Ok(Without::All);
        }
        let query = text.parse::<Query>()?;
        match query.finds() {
            Word::Call => Ok(Without::Some(query)),
            Word::Module | Word::Frame | Word::Op | Word::Kernel => {
                Err(Error::usage(text, "does not select runtime calls")
                    .remedy("use `sync`, or a query such as call(\"cuda*Synchronize\")"))
            }
        }
    }
}

/// The step time of one side: as recorded, as replayed, and in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct StepTimes {
    /// Step time in the recording.
    pub recorded: Nanos,
    /// Step time in an unmodified replay. The closer this time is to `recorded`, the more reliable the result
    /// of the scenario is.
    pub replayed: Nanos,
    /// Step time in the scenario.
    pub scenario: Nanos,
}

impl WhatIf {
    /// Finds the calls that match a query, and scales the time of all GPU work at and below these calls by a
    /// factor.
    ///
    /// # Errors
    /// Fails if the factor is not a number from 0 to 1000000.
    pub fn scale(mut self, query: Query, by: f64) -> Result<WhatIf> {
        let by = factor(query.text(), by)?;
        self.scale.push((query, by));
        Ok(self)
    }

    /// Multiplies all host times by a factor. A factor of 0 gives a lower bound for the step time.
    ///
    /// # Errors
    /// Fails if the factor is not a number from 0 to 1000000.
    pub fn host(mut self, by: f64) -> Result<WhatIf> {
        self.host = Some(factor("host", by)?);
        Ok(self)
    }

    /// Removes the waits for the GPU at the given calls.
    #[must_use]
    #[doc(hidden)]
    pub fn without(mut self, calls: Without) -> WhatIf {
        self.without.push(calls);
        self
    }

    /// Whether the scenario is the unmodified recording.
    pub fn is_recording(&self) -> bool {
        self.host.is_none() && self.scale.is_empty() && self.without.is_empty()
    }

    /// The step times of one side: as recorded, as replayed, and in this scenario.
    ///
    /// # Errors
    /// Fails if a query finds no call on this side.
    #[doc(hidden)]
    pub fn step_times(&self, diff: &TraceDiff, replays: &Replays, side: Side) -> Result<StepTimes> {
        let tree = diff.tree(side);
        let factors = self.factors(tree)?;
        let skipped = self.skipped(tree)?;
        let scenario = Scenario {
            host: self.host.unwrap_or(1.0),
            work: &|call| factors.get(&call).copied().unwrap_or(1.0),
            waits: &|call| skipped.binary_search(&call).is_err(),
        };
        let Check { recorded, replayed } = replays.check(side);
        Ok(StepTimes { recorded, replayed, scenario: replays.step_time(side, &scenario) })
    }

    /// The factor for each GPU event at or below a call found by a query.
    fn factors(&self, tree: &CallTree) -> Result<BTreeMap<CallId, f64>> {
        let mut factors = BTreeMap::new();
        for (query, factor) in &self.scale {
            for found in query.find_some(tree)? {
                for call in tree.subtree(found).filter(|&call| tree.kind(call) == CallKind::Gpu) {
                    *factors.entry(call).or_insert(1.0) *= factor;
                }
            }
        }
        Ok(factors)
    }

    /// The calls at which the host no longer waits, sorted.
    fn skipped(&self, tree: &CallTree) -> Result<Vec<CallId>> {
        let mut skipped = Vec::new();
        for calls in &self.without {
            match calls {
                Without::All => {
                    let waits = |call: &CallId| is_synchronisation(tree.name(*call));
                    skipped.extend(tree.calls().filter(waits));
                }
                Without::Some(query) => skipped.extend(query.find_some(tree)?),
            }
        }
        skipped.sort_unstable();
        Ok(skipped)
    }
}

fn factor(what: &str, by: f64) -> Result<f64> {
    if by.is_finite() && (0.0..=1e6).contains(&by) {
        Ok(by)
    } else {
        Err(Error::new(ErrorKind::Usage, what, format!("cannot be multiplied by {by}"))
            .remedy("pass a factor from 0 to 1000000"))
    }
}
