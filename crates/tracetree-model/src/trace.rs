//! Reads the Chrome trace that a performance model wrote.
//!
//! A performance model's trace is flat, without nesting or links. All `args` are strings. Starts and ends are
//! rounded separately, so only durations are meaningful. One file may contain the output of two models, each with
//! its own pid; the process with the prediction is named `empirical` or `profiling`.

use std::path::Path;

use super::document::{self, Event};
use super::input;
use super::kernel_type::KernelType;
use super::process::{self, ModelProcess};
use super::{micros, sub_kernels};
use tracetree_trace::error::{Error, ErrorKind, Result};
use tracetree_trace::trace::{Nanos, Notes};

/// The ops that the model predicted, in file order.
#[derive(Debug, Clone)]
pub struct ModelTrace {
    /// The process that contains the ops.
    pub process: ModelProcess,
    /// The ops: the complete events of the process.
    pub ops: Vec<ModelOp>,
    /// Notes about irregularities in the trace.
    pub notes: Notes,
}

/// An op that the model predicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOp {
    /// The op's name, such as `aten.mm.default`.
    pub name: String,
    /// The predicted duration.
    pub duration: Nanos,
    /// The origin of the op's duration.
    pub source: Source,
}

/// The origin of an op's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The model marks the op as costing nothing.
    ZeroCost,
    /// The duration was computed, because the model's database had no measurement.
    Miss,
    /// The duration was looked up. The trace lists a time for each kernel.
    Measured(Vec<(KernelType, Nanos)>),
    /// The duration was looked up for the whole op. The duration is divided equally among the kernels.
    Shared(Vec<KernelType>),
}

impl ModelTrace {
    /// Reads a model's trace from a plain or gzipped file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not JSON with a list of events, if the process with the prediction cannot
    /// be determined or has no ops, or if a duration is negative or unreadable.
    pub fn read(path: impl AsRef<Path>) -> Result<ModelTrace> {
        let path = path.as_ref();
        ModelTrace::from_bytes(&input::read(path, "model's trace")?, path)
    }

    /// Parses a model's trace from decompressed JSON. `path` is used only in error messages.
    ///
    /// # Errors
    /// Fails for the same reasons as [`ModelTrace::read`].
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

/// Reads one event. Error messages give the position of the event in the file.
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
            notes.add(
                "NO_OP_DURATION",
                1,
                "an op without a duration counts as 0 µs; write the model's trace again",
                || format!("event {} has no duration", self.index),
            );
            return Ok(Nanos::ZERO);
        };
        let duration = micros::parse(text).ok_or_else(|| {
            self.error(&format!("the duration {} is not a number of µs", input::quoted(text)))
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
        // `sub_kernel_durations` is often missing or `None`, so neither case adds a note.
        if matches!(durations.trim(), "" | "None") {
            return;
        }
        let hint = "the op's duration is divided equally among its kernels";
        notes.add("UNREADABLE_SUB_KERNELS", 1, hint, || {
            let text = input::quoted(durations);
            format!("sub_kernel_durations of event {} is not a list of pairs: {text}", self.index)
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
        .remedy("write the model's trace again")
    }
}

/// The kernel types in `args.kernel_type`; none if the string is empty or `?`, both of which mean "not found".
fn kernel_types(text: &str) -> Vec<KernelType> {
    if text.trim() == "?" {
        return Vec::new();
    }
    text.split(',').filter_map(KernelType::new).collect()
}
