//! Call trees of the runs of one side, one after the other → their [`Digest`].

use super::growth::{Firsts, Growth};
use super::run::{Run, setup_of};
use super::tallies::Nodes;
use super::totals::{StepTotals, Totals};
use super::{Digest, RunFacts, Setup};
use crate::analysis::{Categories, TraceCategories};
use crate::error::{Error, ErrorKind, Result};
use crate::program::{CaptureSource, Footing, Measure, Program, RepeatDetection};
use crate::side::PerSide;
use crate::tree::CallTree;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Takes runs of one side, and becomes their digest.
#[derive(Debug)]
pub struct Digester {
    nodes: Nodes,
    steps: usize,
    setup: Option<Setup>,
    runs: Vec<RunFacts>,
    totals: Totals,
    /// Made when first asked for: where they are not given, beside the reading of the first run.
    categories: OnceLock<Categories>,
    repeats: RepeatDetection,
    captures: CaptureSource,
    remarks: Vec<String>,
    /// Calls of each op of the first run in a step.
    ops: Option<BTreeMap<String, f64>>,
}

/// Two runs of which fewer ops are the same are of two programs.
pub(in crate::gate) const ONE_PROGRAM: f64 = 0.5;

/// The share of calls that two sides have both, of what either has.
pub(in crate::gate) fn likeness(one: &BTreeMap<String, f64>, two: &BTreeMap<String, f64>) -> f64 {
    let of = |ops: &BTreeMap<String, f64>, name: &str| ops.get(name).copied().unwrap_or(0.0);
    // From 0: an empty sum of floats is −0.
    let shared = one.iter().fold(0.0, |sum, (name, &calls)| sum + calls.min(of(two, name)));
    let all = one.values().sum::<f64>() + two.values().sum::<f64>() - shared;
    if all > 0.0 { shared / all } else { 1.0 }
}

impl Default for Digester {
    fn default() -> Self {
        Digester::with(OnceLock::new(), RepeatDetection::Found)
    }
}

impl Digester {
    /// Without any run yet; says by which rules kinds of work are told, and whether repeats stand for
    /// steps where none are recorded.
    pub fn new(categories: Categories, repeats: RepeatDetection) -> Digester {
        Digester::with(OnceLock::from(categories), repeats)
    }

    fn with(categories: OnceLock<Categories>, repeats: RepeatDetection) -> Digester {
        Digester {
            nodes: Nodes::new(),
            steps: 0,
            setup: None,
            runs: Vec::new(),
            totals: Totals::default(),
            categories,
            repeats,
            captures: CaptureSource::default(),
            remarks: Vec::new(),
            ops: None,
        }
    }

    /// Looks there for what was recorded while the graphs of each run were captured.
    #[must_use]
    pub fn captures(mut self, source: CaptureSource) -> Digester {
        self.captures = source;
        self
    }

    /// Where the captures of each run are looked for.
    pub(in crate::gate) fn capture_source(&self) -> &CaptureSource {
        &self.captures
    }

    /// The rules by which kinds of work are told.
    pub(in crate::gate) fn categories(&self) -> &Categories {
        self.categories.get_or_init(Categories::default)
    }

    /// Adds a run.
    ///
    /// # Errors
    /// If it is no run of the program that the first one is of: fewer than half of their ops are the
    /// same.
    pub fn add(&mut self, tree: impl Into<Arc<CallTree>>) -> Result<()> {
        let program = Program::with_repeats(tree, self.repeats);
        let rules = self.categories().clone();
        let measure = Measure::of(PerSide::new(program.tree(), program.tree()));
        // What the calls are is told beside where they stand. Facts that both ask for are found once.
        let (grown, (work, totals, footing, setup)) = rayon::join(
            || self.grow(&program, measure),
            || {
                program.steps();
                program.communication();
                let work = TraceCategories::of(&program, measure, &rules);
                let totals = StepTotals::of(&program, measure, &work);
                let footing = Footing::of(&program);
                let setup = setup_of(program.tree(), &footing);
                (work, totals, footing, setup)
            },
        );
        let (run, firsts) = grown?;
        let steps = program.steps().len().max(1);
        firsts.describe(&mut self.nodes, &run, &work);
        self.add_setup(setup);
        self.totals.add_run(&totals, self.steps);
        self.remarks.extend(run.remarks());
        self.runs.push(run.facts(&footing, steps as u64));
        self.steps += steps;
        // To give its memory back takes as long as to count its steps.
        rayon::spawn(move || drop(program));
        Ok(())
    }

    /// Adds the calls of a run, if it is one of the program.
    fn grow<'p>(&mut self, program: &'p Program, measure: Measure) -> Result<(Run<'p>, Firsts)> {
        let run = Run::new(program, measure);
        self.check_likeness(&run)?;
        let place = (self.steps, self.runs.len());
        let firsts = Growth::of(&mut self.nodes, &run, place).grow();
        Ok((run, firsts))
    }

    /// What one run shows, all can show.
    fn add_setup(&mut self, setup: Setup) {
        match &mut self.setup {
            Some(known) => {
                known.has_gpu |= setup.has_gpu;
                known.has_modules |= setup.has_modules;
                known.has_shapes |= setup.has_shapes;
                known.is_coarse |= setup.is_coarse;
                known.captured = known.captured.and(setup.captured);
            }
            None => self.setup = Some(setup),
        }
    }

    fn check_likeness(&mut self, run: &Run<'_>) -> Result<()> {
        let ops = run.ops();
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
            remarks: self.remarks,
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
