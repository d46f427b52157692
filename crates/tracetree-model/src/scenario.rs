//! Runs the comparison that a [`Scenario`] describes.

use std::path::{Path, PathBuf};

use super::accuracy::{self, Accuracy};
use super::compare::{self, Amounts, Row};
use super::forward_passes::ForwardPasses;
use super::mapping::OpMapping;
use super::predict::Prediction;
use super::process::ModelProcess;
use super::profile::{Profile, ProfileRows};
use super::trace::ModelTrace;
use tracetree_trace::error::{Error, ErrorKind, Result};
use tracetree_trace::trace::Notes;

/// The inputs of one comparison: a model's trace, a profile and an op mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The scenario's name in the report.
    pub name: String,
    /// The Chrome trace that the model wrote.
    pub model_trace: PathBuf,
    /// The kernel profile of the real run.
    pub profile: PathBuf,
    /// The op mapping, if any.
    pub op_mapping: Option<PathBuf>,
    /// Number of forward passes in the profile; the model's trace always describes one pass.
    pub forward_passes: ForwardPasses,
}

/// The result of comparing a model's trace with a profile.
#[derive(Debug, Clone)]
pub struct ModelComparison {
    /// The compared inputs.
    pub scenario: Scenario,
    /// The process of the model's trace whose ops were compared.
    pub process: ModelProcess,
    /// How many ops were compared, and how many were ignored.
    pub ops: ModelOps,
    /// How many rows of the profile were kept, and how many were dropped.
    pub profile_rows: ProfileRows,
    /// One row for each kernel type in the prediction or the profile; the kernel types that take
    /// the most time come first.
    pub rows: Vec<Row>,
    /// The sum of the amounts of all rows.
    pub total: Amounts,
    /// Coverage, weighted error, and the largest contributors to the weighted error.
    pub accuracy: Accuracy,
    /// Notes about irregularities in the inputs.
    pub notes: Notes,
}

/// Numbers of compared and ignored ops in a model's trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelOps {
    /// Number of compared ops.
    pub compared: u64,
    /// Number of ops that were ignored because they cost nothing.
    pub zero_cost: u64,
}

/// The outcome of running a scenario.
#[derive(Debug)]
pub enum Outcome {
    /// All files of the scenario exist, and they were compared.
    Compared(Box<ModelComparison>),
    /// The scenario was skipped because one of its files does not exist.
    Skipped {
        /// The scenario's name.
        scenario: String,
        /// The error that names the missing file.
        reason: Error,
    },
}

impl Scenario {
    /// Creates a scenario with one forward pass and no op mapping, named after the model's trace.
    pub fn new(model_trace: impl Into<PathBuf>, profile: impl Into<PathBuf>) -> Self {
        let model_trace = model_trace.into();
        Scenario {
            name: name_from(&model_trace),
            model_trace,
            profile: profile.into(),
            op_mapping: None,
            forward_passes: ForwardPasses::ONE,
        }
    }

    /// Reads the files of the scenario and compares them.
    ///
    /// # Errors
    /// Fails if a file is missing, unreadable or malformed.
    pub fn compare(&self) -> Result<ModelComparison> {
        let mapping = self.op_mapping.as_ref().map(OpMapping::read).transpose()?;
        let trace = ModelTrace::read(&self.model_trace)?;
        let profile = Profile::read(&self.profile)?;
        Ok(self.compare_values(&trace, &mapping.unwrap_or_default(), &profile))
    }

    /// Compares inputs that were already read. The scenario's paths are only shown in the report;
    /// no file is opened.
    pub fn compare_values(
        &self,
        trace: &ModelTrace,
        mapping: &OpMapping,
        profile: &Profile,
    ) -> ModelComparison {
        let prediction = Prediction::new(trace, mapping);
        let rows = compare::rows(&prediction, profile, self.forward_passes);
        ModelComparison {
            scenario: self.clone(),
            process: trace.process.clone(),
            ops: ModelOps { compared: prediction.ops, zero_cost: prediction.zero_cost_ops },
            profile_rows: profile.rows,
            total: compare::total(&rows),
            accuracy: accuracy::accuracy(&rows),
            rows,
            notes: joined([&trace.notes, &prediction.notes, &profile.notes]),
        }
    }

    /// Like [`Scenario::compare`], but skips the scenario if a file does not exist.
    ///
    /// # Errors
    /// Fails if an existing file is unreadable or malformed.
    pub fn outcome(&self) -> Result<Outcome> {
        match self.compare() {
            Ok(comparison) => Ok(Outcome::Compared(Box::new(comparison))),
            Err(reason) if is_missing_file(&reason) => {
                Ok(Outcome::Skipped { scenario: self.name.clone(), reason })
            }
            Err(error) => Err(error),
        }
    }
}

/// The file name up to its first dot: `qwen3_pf` for `runs/qwen3_pf.trace.json.gz`.
fn name_from(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    match name.split_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.into_owned(),
    }
}

fn joined(parts: [&Notes; 3]) -> Notes {
    let mut notes = Notes::default();
    for note in parts.into_iter().flatten() {
        notes.add(note.code, note.count, note.hint, || note.message.clone());
    }
    notes
}

fn is_missing_file(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    error.kind() == ErrorKind::Io && io.is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound)
}
