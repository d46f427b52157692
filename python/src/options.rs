//! Converts the keyword arguments of `tracetree.diff` to library options, just as the command line converts its own
//! options.

use crate::errors::{raise, usage};
use crate::source::{Capture, captures};
use pyo3::prelude::*;
use std::path::PathBuf;
use tracetree::analysis::AnalysisOptions;
use tracetree::analysis::categories::Categories;
use tracetree::analysis::efficiency::{Models, Peaks};
use tracetree::analysis::verdict::Thresholds;
use tracetree::diff::{Aliases, DiffOptions, Pin};
use tracetree::program::{Phase, RepeatDetection, Selection, StepRange};
use tracetree::trace::{Anonymizer, Nanos, ReadOptions};
use tracetree::tree::{Frames, TreeOptions};
use tracetree::{ComparisonOptions, Error};

/// The options, extracted from a Python dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    python: bool,
    repeats: bool,
    aliases: Option<PathBuf>,
    #[pyo3(item("match"))]
    pins: Vec<String>,
    phase: Option<String>,
    baseline_steps: Option<String>,
    candidate_steps: Option<String>,
    categories: Option<PathBuf>,
    efficiency: Option<PathBuf>,
    peaks: Option<PathBuf>,
    stacks: usize,
    relative_threshold: f64,
    absolute_threshold_us: Option<f64>,
    names: Option<(String, String)>,
    baseline_captures: Option<Vec<Capture<'py>>>,
    candidate_captures: Option<Vec<Capture<'py>>>,
    strict: bool,
    max_unpacked: Option<u64>,
    anonymize: Option<Anonymize>,
}

/// Further names to replace, and the names of the inputs.
pub(crate) type Anonymize = (Vec<String>, Vec<String>);

impl Options<'_> {
    /// Converts the options to library options, and reads the TOML files that they name.
    pub(crate) fn of_comparison(mut self, py: Python<'_>) -> PyResult<ComparisonOptions> {
        let frames = if self.python { Frames::Kept } else { Frames::LeftOut };
        let repeats = if self.repeats { RepeatDetection::Found } else { RepeatDetection::Off };
        let failed = |error: Error| raise(py, &error);
        let aliases = self.aliases.as_ref().map(Aliases::read).transpose().map_err(failed)?;
        let pins = self.pins.iter().map(|pin| pin.parse::<Pin>());
        let pins = pins.collect::<Result<Vec<Pin>, Error>>().map_err(failed)?;
        let diff = DiffOptions::default().repeats(repeats).pins(pins);
        let diff = match aliases {
            Some(aliases) => diff.aliases(aliases),
            None => diff,
        };
        let (before, after) = (self.baseline_captures.take(), self.candidate_captures.take());
        Ok(ComparisonOptions::default()
            .captures(captures(before).map_err(failed)?, captures(after).map_err(failed)?)
            .read(reading(self.strict, self.max_unpacked, self.anonymize.take()))
            .tree(TreeOptions::default().frames(frames))
            .diff(diff)
            .selection(
                self.selection(py, self.baseline_steps.as_deref())?,
                self.selection(py, self.candidate_steps.as_deref())?,
            )
            .analysis(self.analysis(py)?))
    }

    fn selection(&self, py: Python<'_>, steps: Option<&str>) -> PyResult<Selection> {
        let phase = self.phase.as_ref().map(|name| {
            Phase::from_label(name).ok_or_else(|| {
                let known = Phase::ALL.map(Phase::label).join(", ");
                usage(py, name, format!("unknown phase; expected one of {known}"))
            })
        });
        let failed = |error: Error| raise(py, &error);
        let steps = steps.map(|steps| steps.parse::<StepRange>().map_err(failed));
        Ok(Selection { phase: phase.transpose()?, steps: steps.transpose()? })
    }

    fn analysis(&self, py: Python<'_>) -> PyResult<AnalysisOptions> {
        let failed = |error: Error| raise(py, &error);
        let absolute = self.absolute_threshold_us.map(|us| Nanos((us * 1e3).round() as i64));
        let thresholds = Thresholds { relative: self.relative_threshold, absolute };
        let mut options = AnalysisOptions::default().stacks(self.stacks).thresholds(thresholds);
        options.models =
            self.efficiency.as_ref().map(Models::extended).transpose().map_err(failed)?;
        options.peaks = self.peaks.as_ref().map(Peaks::extended).transpose().map_err(failed)?;
        if let Some((baseline, candidate)) = &self.names {
            options = options.names(baseline, candidate);
        }
        Ok(match &self.categories {
            Some(path) => options.categories(Categories::extended(path).map_err(failed)?),
            None => options,
        })
    }
}

/// The options for reading a trace.
pub(crate) fn reading(
    strict: bool,
    max_unpacked: Option<u64>,
    anonymize: Option<Anonymize>,
) -> ReadOptions {
    let mut options = ReadOptions::default();
    (options.strict, options.max_unpacked) = (strict, max_unpacked);
    let Some((names, inputs)) = anonymize else { return options };
    let anonymizer = names.iter().fold(Anonymizer::default(), |all, name| all.with_name(name));
    options.anonymize(inputs.iter().fold(anonymizer, |all, input| all.with_names_in(input)))
}
