//! A scenario in the words of a user, queries with factors → the step time of each side in it.

use super::effects::Replays;
use super::scenario::Scenario;
use crate::analysis::Analysis;
use crate::error::{Error, ErrorKind, Result};
use crate::program::{Query, Word, is_synchronisation};
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;
use std::str::FromStr;

/// What differs from the recording. The default is the recording itself.
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

/// The runtime calls at which the host does not wait for the GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Without {
    /// All of them: `sync`.
    All,
    /// Those that a query finds: `call("cudaStreamSynchronize")`.
    Some(Query),
}

impl FromStr for Without {
    type Err = Error;

    /// # Errors
    /// If the query is invalid, or finds anything but runtime calls.
    fn from_str(text: &str) -> Result<Without> {
        if matches!(text.trim(), "sync" | "sync()") {
            return Ok(Without::All);
        }
        let query = text.parse::<Query>()?;
        match query.finds() {
            Word::Call => Ok(Without::Some(query)),
            Word::Module | Word::Frame | Word::Op | Word::Kernel => {
                Err(Error::usage(text, "does not find runtime calls")
                    .remedy("use `sync`, or a query such as call(\"cuda*Synchronize\")"))
            }
        }
    }
}

/// The step time of one side, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTimes {
    /// As recorded.
    pub recorded: Nanos,
    /// As replayed without any difference. How close it is to `recorded` shows how far to trust the replay.
    pub replayed: Nanos,
    /// In the scenario.
    pub scenario: Nanos,
}

impl WhatIf {
    /// Multiplies the time of the GPU work at and below the calls that a query finds.
    ///
    /// # Errors
    /// If the factor is not a number from 0 to 1000000.
    pub fn scale(mut self, query: Query, by: f64) -> Result<WhatIf> {
        let by = factor(query.text(), by)?;
        self.scale.push((query, by));
        Ok(self)
    }

    /// Multiplies all host times; 0 gives a lower bound.
    ///
    /// # Errors
    /// If the factor is not a number from 0 to 1000000.
    pub fn host(mut self, by: f64) -> Result<WhatIf> {
        self.host = Some(factor("host", by)?);
        Ok(self)
    }

    /// The host does not wait for the GPU at these calls.
    #[must_use]
    pub fn without(mut self, calls: Without) -> WhatIf {
        self.without.push(calls);
        self
    }

    /// Whether nothing was asked for.
    pub fn is_recording(&self) -> bool {
        self.host.is_none() && self.scale.is_empty() && self.without.is_empty()
    }

    /// The step time of a side.
    ///
    /// # Errors
    /// If a query finds no call of this side.
    pub fn step_times(
        &self,
        analysis: &Analysis,
        replays: &Replays,
        side: Side,
    ) -> Result<StepTimes> {
        let tree = analysis.tree(side);
        let factors = self.factors(tree)?;
        let skipped = self.skipped(tree)?;
        let scenario = Scenario {
            host: self.host.unwrap_or(1.0),
            work: &|call| factors.get(&call).copied().unwrap_or(1.0),
            waits: &|call| skipped.binary_search(&call).is_err(),
        };
        let measured = &replays.recorded(side).measured;
        Ok(StepTimes {
            recorded: Nanos(measured.end / measured.steps.len().max(1) as i64),
            replayed: replays.step_time(side, &Scenario::RECORDED),
            scenario: replays.step_time(side, &scenario),
        })
    }

    /// The factor of each GPU event at or below a call that a query finds.
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

    /// The calls at which the host does not wait, sorted.
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

impl Replays {
    /// The graphs of both sides.
    ///
    /// # Errors
    /// If a trace, or the comparison, cannot be replayed; the message has the reason.
    pub fn required(analysis: &Analysis) -> Result<Replays> {
        Replays::of(analysis).map_err(|(side, reason)| {
            let tree = analysis.tree(side.unwrap_or(Side::Baseline));
            let message = format!("the effect cannot be computed: {reason}");
            Error::new(ErrorKind::Usage, tree.trace().source(), message)
                .remedy("see docs/guides/what-if.md for what can be replayed")
        })
    }
}

fn factor(what: &str, by: f64) -> Result<f64> {
    match by.is_finite() && (0.0..=1e6).contains(&by) {
        true => Ok(by),
        false => Err(Error::new(ErrorKind::Usage, what, format!("cannot be multiplied by {by}"))
            .remedy("pass a factor from 0 to 1000000")),
    }
}
