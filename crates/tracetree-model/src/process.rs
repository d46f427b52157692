//! Finds the process in a model's trace that contains the prediction. The process is found by its name. If no name
//! matches, but exactly one process contains ops, that process is used.

use std::collections::HashMap;
use std::path::Path;

use super::document::Event;
use super::input;
use tracetree_trace::error::{Error, ErrorKind, Result};
use tracetree_trace::trace::Notes;

/// The name of the process to compare contains one of these words, in upper or lower case.
const PREDICTING: [&str; 2] = ["profiling", "empirical"];

/// The process of a model's trace whose ops are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelProcess {
    /// The pid of the process, as in the trace.
    pub pid: String,
    /// The name of the process, such as `empirical (PID: 0)`, if the trace contains one.
    pub name: Option<String>,
}

/// Chooses the process to compare.
///
/// # Errors
/// Fails if the process named as the prediction has no ops. If no process name indicates a prediction, fails unless
/// exactly one process has ops.
pub(crate) fn choose(events: &[Event], path: &Path, notes: &mut Notes) -> Result<ModelProcess> {
    let candidates = candidates(events);
    let mut named = candidates.iter().filter(|candidate| candidate.process.predicts());
    if let Some(first) = named.next() {
        note_others(&first.process, named.count(), notes);
        return first.with_ops(path);
    }
    let with_ops: Vec<&Candidate> = candidates.iter().filter(|one| one.has_ops).collect();
    match with_ops.as_slice() {
        [] => Err(no_op(path)),
        [only] => {
            note_unnamed(&only.process, notes);
            Ok(only.process.clone())
        }
        _ => Err(none_predicts(&candidates, path)),
    }
}

struct Candidate {
    process: ModelProcess,
    has_ops: bool,
}

impl Candidate {
    fn with_ops(&self, path: &Path) -> Result<ModelProcess> {
        if self.has_ops { Ok(self.process.clone()) } else { Err(no_op(path)) }
    }
}

impl ModelProcess {
    fn predicts(&self) -> bool {
        let name = self.name.as_deref().unwrap_or_default().to_lowercase();
        PREDICTING.iter().any(|word| name.contains(word))
    }

    fn shown(&self) -> String {
        match &self.name {
            Some(name) => format!("{} ({name})", self.pid),
            None => format!("{} (no name)", self.pid),
        }
    }
}

/// All processes that have a name or an op, in the order in which the names or ops first appear in the file.
fn candidates(events: &[Event]) -> Vec<Candidate> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut candidates: Vec<Candidate> = Vec::new();
    for event in events {
        let name = event.process_name();
        if name.is_none() && !event.is_complete() {
            continue;
        }
        let place = *places.entry(event.pid()).or_insert_with(|| {
            let process = ModelProcess { pid: event.pid().to_owned(), name: None };
            candidates.push(Candidate { process, has_ops: false });
            candidates.len() - 1
        });
        let candidate = &mut candidates[place];
        candidate.has_ops |= event.is_complete();
        if candidate.process.name.is_none() {
            candidate.process.name = name.map(str::to_owned);
        }
    }
    candidates
}

fn note_others(chosen: &ModelProcess, others: usize, notes: &mut Notes) {
    let hint =
        "the other processes are ignored; to compare another process, write it before the others";
    notes.add("SEVERAL_MODEL_PROCESSES", others as u64, hint, || {
        format!(
            "more than one process is named `profiling` or `empirical`; pid {} is used",
            chosen.shown()
        )
    });
}

fn note_unnamed(only: &ModelProcess, notes: &mut Notes) {
    let hint = "name the process `empirical` or `profiling` when the model writes the trace";
    notes.add("MODEL_PROCESS_UNNAMED", 1, hint, || {
        format!(
            "no process is named `profiling` or `empirical`; the only pid, {}, is used",
            only.shown()
        )
    });
}

fn no_op(path: &Path) -> Error {
    Error::new(ErrorKind::NotATrace, path, "the model's process contains no ops")
        .remedy("write the model's trace again")
}

fn none_predicts(candidates: &[Candidate], path: &Path) -> Error {
    let pids = candidates.iter().map(|candidate| candidate.process.shown());
    let message = format!(
        "no process is named `profiling` or `empirical`; pids in the trace: {}",
        input::listed(pids)
    );
    Error::new(ErrorKind::NotATrace, path, message)
        .remedy("use the model that looks up times in a profile to write the trace")
}
