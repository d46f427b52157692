//! Call trees of the runs of one side, one after the other → their [`Digest`].

use super::growth::Growth;
use super::run::Run;
use super::tallies::Nodes;
use super::totals::{StepTotals, Totals};
use super::{Digest, RunFacts, Setup};
use crate::analysis::{Categories, TraceCategories};
use crate::error::{Error, ErrorKind, Result};
use crate::program::{Program, RepeatDetection};
use crate::tree::CallTree;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Takes runs of one side, and becomes their digest.
#[derive(Debug)]
pub struct Digester {
    nodes: Nodes,
    steps: usize,
    setup: Option<Setup>,
    runs: Vec<RunFacts>,
    totals: Totals,
    categories: Categories,
    repeats: RepeatDetection,
    /// Calls of each op of the first run in a step.
    ops: Option<BTreeMap<String, f64>>,
}

/// Two runs of which fewer ops are the same are of two programs.
pub(in crate::gate) const ONE_PROGRAM: f64 = 0.5;

/// The share of calls that two sides have both, of what either has.
pub(in crate::gate) fn likeness(one: &BTreeMap<String, f64>, two: &BTreeMap<String, f64>) -> f64 {
    let of = |ops: &BTreeMap<String, f64>, name: &str| ops.get(name).copied().unwrap_or(0.0);
    let shared: f64 = one.iter().map(|(name, &calls)| calls.min(of(two, name))).sum();
    let all = one.values().sum::<f64>() + two.values().sum::<f64>() - shared;
    if all > 0.0 { shared / all } else { 1.0 }
}

impl Default for Digester {
    fn default() -> Self {
        Digester::new(Categories::default(), RepeatDetection::Found)
    }
}

impl Digester {
    /// Without any run yet; says by which rules kinds of work are told, and whether repeats stand for
    /// steps where none are recorded.
    pub fn new(categories: Categories, repeats: RepeatDetection) -> Digester {
        Digester {
            nodes: Nodes::new(),
            steps: 0,
            setup: None,
            runs: Vec::new(),
            totals: Totals::default(),
            categories,
            repeats,
            ops: None,
        }
    }

    /// Adds a run.
    ///
    /// # Errors
    /// If it is no run of the program that the first one is of: fewer than half of their ops are the
    /// same.
    pub fn add(&mut self, tree: impl Into<Arc<CallTree>>) -> Result<()> {
        let program = Program::with_repeats(tree, self.repeats);
        let rules = self.categories.clone();
        let run = Run::new(&program);
        let (categories, (ops, setup)) = rayon::join(
            || TraceCategories::of(&program, run.measure, &rules),
            || (run.ops(), run.setup()),
        );
        self.check_likeness(&run, ops)?;
        let steps = program.steps().len().max(1);
        match &mut self.setup {
            // What one run shows, all can show.
            Some(known) => {
                known.has_gpu |= setup.has_gpu;
                known.has_modules |= setup.has_modules;
                known.has_shapes |= setup.has_shapes;
                known.is_coarse |= setup.is_coarse;
            }
            None => self.setup = Some(setup),
        }
        let place = (self.steps, self.runs.len());
        let (totals, ()) = rayon::join(
            || StepTotals::of(&run, &categories),
            || Growth::of(&mut self.nodes, &run, &categories, place).grow(),
        );
        self.totals.add_run(&totals, self.steps);
        self.runs.push(run.facts(steps as u64));
        self.steps += steps;
        Ok(())
    }

    fn check_likeness(&mut self, run: &Run<'_>, ops: BTreeMap<String, f64>) -> Result<()> {
        let Some(first) = &self.ops else {
            self.ops = Some(ops);
            return Ok(());
        };
        let alike = likeness(first, &ops);
        if alike >= ONE_PROGRAM {
            return Ok(());
        }
        let message = format!(
            "is no run of the program that {} is of: {:.0} % of their ops are the same",
            self.runs[0].name,
            100.0 * alike
        );
        Err(Error::new(ErrorKind::Usage, run.tree.trace().source(), message)
            .remedy("give runs of one program as one side"))
    }

    /// The digest of all runs that were added.
    pub fn finish(self) -> Digest {
        let runs = &self.runs;
        let (tree, root) = self.nodes.finish(self.steps, |nanos| per_step(nanos, runs));
        Digest {
            setup: self.setup.unwrap_or_default(),
            times: self.totals.times(),
            counts: self.totals.counts(self.steps),
            runs: self.runs,
            tree,
            root,
        }
    }
}

/// Times of each run, in µs per step; none where no run has any.
fn per_step(nanos: &[i64], runs: &[RunFacts]) -> Vec<f64> {
    if nanos.is_empty() {
        return Vec::new();
    }
    let time = |(at, run): (usize, &RunFacts)| {
        nanos.get(at).copied().unwrap_or(0) as f64 / 1e3 / run.steps as f64
    };
    runs.iter().enumerate().map(time).collect()
}
