//! The chrome trace that a performance model wrote → [`ModelTrace`]: its ops, in file order.
//!
//! Such a trace is flat. Nothing nests and nothing links, all `args` are strings, and starts and
//! ends are rounded apart, so only the durations mean something. Two models may have written into
//! one file, each under a pid of its own; the one that predicts is named `empirical` or `profiling`.

use std::path::Path;

use super::document::{self, Event};
use super::input;
use super::kernel_type::KernelType;
use super::process::{self, ModelProcess};
use super::{micros, sub_kernels};
use crate::error::{Error, ErrorKind, Result};
use crate::trace::{Nanos, Notes};

/// The ops that the model predicted, in file order.
#[derive(Debug, Clone)]
pub struct ModelTrace {
    /// The process whose events these are.
    pub process: ModelProcess,
    /// Every complete event of that process.
    pub ops: Vec<ModelOp>,
    /// Odd data that was met.
    pub notes: Notes,
}

/// One op of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOp {
    /// The op's name, such as `aten.mm.default`.
    pub name: String,
    /// How long the model says it takes.
    pub duration: Nanos,
    /// Where that time comes from.
    pub source: Source,
}

/// Where the model took an op's time from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The model says that the op costs nothing.
    ZeroCost,
    /// Computed: the model's database had no measurement.
    Miss,
    /// Looked up, with a time for each kernel.
    Measured(Vec<(KernelType, Nanos)>),
    /// Looked up as a whole: the kernels share the op's duration equally.
    Shared(Vec<KernelType>),
}

impl ModelTrace {
    /// Reads a model's trace; gzip is recognised.
    ///
    /// # Errors
    /// A file that cannot be read, no JSON with `traceEvents`, no process to take, no op in it, or
    /// a negative or unreadable duration.
    pub fn read(path: impl AsRef<Path>) -> Result<ModelTrace> {
        let path = path.as_ref();
        ModelTrace::from_bytes(&input::read(path, "model's trace")?, path)
    }

    /// The model's trace in `bytes`, unpacked JSON; `path` stands in errors.
    ///
    /// # Errors
    /// As [`ModelTrace::read`].
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<ModelTrace> {
        let path = path.as_ref();
        let events = document::events(bytes, path)?;
        let mut notes = Notes::default();
        let process = process::choose(&events, path, &mut notes)?;
        let mut ops = Vec::new();
        for (index, event) in events.iter().enumerate() {
            if event.is_complete() && event.pid() == process.pid {
                ops.push(OpReader { event, index, path }.op(&mut notes)?);
            }
        }
        Ok(ModelTrace { process, ops, notes })
    }
}

/// Reads one event; knows where it stands for errors.
struct OpReader<'a> {
    event: &'a Event,
    index: usize,
    path: &'a Path,
}

impl OpReader<'_> {
    fn op(&self, notes: &mut Notes) -> Result<ModelOp> {
        let name = self.event.name.as_text().unwrap_or_else(|| {
            notes.add("UNNAMED_OP", 1, "", || format!("event {} has no name", self.index));
            "(unnamed)"
        });
        let duration = self.duration(notes)?;
        Ok(ModelOp { name: name.to_owned(), duration, source: self.source(notes)? })
    }

    fn duration(&self, notes: &mut Notes) -> Result<Nanos> {
        let Some(text) = self.event.dur.as_text() else {
            notes.add("NO_OP_DURATION", 1, "the op counts with 0 µs", || {
                format!("event {} has no duration", self.index)
            });
            return Ok(Nanos::ZERO);
        };
        let duration = micros::parse(text).ok_or_else(|| {
            self.error(&format!("the duration {} is no number of µs", input::quoted(text)))
        })?;
        self.not_negative("duration", duration)
    }

    fn source(&self, notes: &mut Notes) -> Result<Source> {
        let Some(args) = &self.event.args else { return Ok(Source::Miss) };
        if args.zero_cost.as_text().is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Ok(Source::ZeroCost);
        }
        let kernels = kernel_types(args.kernel_type.as_text().unwrap_or_default());
        if kernels.is_empty() {
            return Ok(Source::Miss);
        }
        let durations = args.sub_kernel_durations.as_text().unwrap_or_default();
        match sub_kernels::parse(durations) {
            Some(pairs) if pairs.is_empty() => Ok(Source::Shared(kernels)),
            Some(pairs) => self.measured(pairs),
            None => {
                self.note_unreadable(durations, notes);
                Ok(Source::Shared(kernels))
            }
        }
    }

    fn measured(&self, pairs: Vec<(KernelType, Nanos)>) -> Result<Source> {
        for (kernel_type, duration) in &pairs {
            self.not_negative(&format!("duration of {kernel_type}"), *duration)?;
        }
        Ok(Source::Measured(pairs))
    }

    fn note_unreadable(&self, durations: &str, notes: &mut Notes) {
        // Absent, or Python's word for it: nothing odd.
        if matches!(durations.trim(), "" | "None") {
            return;
        }
        let hint = "the op's kernels share its duration equally";
        notes.add("UNREADABLE_SUB_KERNELS", 1, hint, || {
            let text = input::quoted(durations);
            format!("sub_kernel_durations of event {} is no list of pairs: {text}", self.index)
        });
    }

    fn not_negative(&self, what: &str, time: Nanos) -> Result<Nanos> {
        if time >= Nanos::ZERO {
            return Ok(time);
        }
        Err(self.error(&format!("the {what} is negative: {time} µs")))
    }

    fn error(&self, message: &str) -> Error {
        let name = input::quoted(self.event.name.as_text().unwrap_or_default());
        Error::new(
            ErrorKind::Malformed,
            self.path,
            format!("event {} ({name}): {message}", self.index),
        )
        .remedy("let the model write its trace again")
    }
}

/// The kernel types of `args.kernel_type`; none where it is empty or `?`, which say "not found".
fn kernel_types(text: &str) -> Vec<KernelType> {
    if text.trim() == "?" {
        return Vec::new();
    }
    text.split(',').filter_map(KernelType::new).collect()
}
