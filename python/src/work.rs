//! Long work → its result: beside the interpreter, which goes on, and stops at Ctrl-C.
//!
//! ```text
//! caller   ─ start ─ wait … check for Ctrl-C … tell of progress … ─ take the result
//! threads        └─ work ──────────────────────────────────────┘
//! ```
//!
//! The threads of a piece of work live as long as it does. A pool that outlives its work is lost in a
//! forked process, where anything that asks it for help would wait for ever.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tracetree::{Cancel, Side, Stage};

/// How often the caller looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// What the threads tell the caller.
enum Message<T> {
    Told(Stage),
    Done(std::thread::Result<T>),
}

/// How the work tells of its stages.
pub(crate) struct Teller<T>(Sender<Message<T>>);

impl<T> Teller<T> {
    /// Tells of a stage. Nobody listens any more where the caller was interrupted.
    pub(crate) fn tell(&self, stage: Stage) {
        let _ = self.0.send(Message::Told(stage));
    }
}

/// What the caller of a piece of work may do meanwhile.
pub(crate) struct Watch<'py> {
    /// Called with the name of a stage, the side and the bytes that were read.
    pub(crate) progress: Option<Bound<'py, PyAny>>,
    /// What ends the work.
    pub(crate) cancel: Cancel,
}

/// Does `work` on `threads` threads of its own while the caller waits. At Ctrl-C the work is asked to
/// stop and the caller does not wait for it.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: usize,
    watch: &Watch<'_>,
    work: impl FnOnce(Teller<T>) -> T + Send + 'static,
) -> PyResult<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|at| format!("tracetree-{at}"))
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("no thread to work on: {error}")))?;
    let (sender, mut receiver) = channel();
    let teller = Teller(sender.clone());
    pool.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(teller)));
        let _ = sender.send(Message::Done(result));
    });
    loop {
        let message;
        (receiver, message) = py.detach(move || wait(receiver));
        let answer = match message {
            Ok(Message::Done(Ok(result))) => return Ok(result),
            Ok(Message::Done(Err(panic))) => return Err(broken(panic.as_ref())),
            Ok(Message::Told(stage)) => tell(watch, stage).and_then(|()| py.check_signals()),
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
            Err(RecvTimeoutError::Disconnected) => return Err(broken(&"its thread is gone")),
        };
        answer.inspect_err(|_| watch.cancel.request())?;
    }
}

fn wait<T>(
    receiver: Receiver<Message<T>>,
) -> (Receiver<Message<T>>, Result<Message<T>, RecvTimeoutError>) {
    let message = receiver.recv_timeout(LOOK);
    (receiver, message)
}

fn tell(watch: &Watch<'_>, stage: Stage) -> PyResult<()> {
    let Some(progress) = &watch.progress else { return Ok(()) };
    let (name, side, bytes) = match stage {
        Stage::Reading(Side::Baseline, bytes) => ("reading", Some("baseline"), bytes),
        Stage::Reading(Side::Candidate, bytes) => ("reading", Some("candidate"), bytes),
        Stage::Building => ("building", None, 0),
        Stage::Aligning => ("aligning", None, 0),
        Stage::Accounting => ("accounting", None, 0),
        _ => return Ok(()),
    };
    progress.call1((name, side, bytes)).map(drop)
}

/// The exception for a fault of this library: the interpreter goes on.
fn broken(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
    PyRuntimeError::new_err(format!(
        "tracetree has a fault, please report it with the traces if you can: {text}"
    ))
}

/// Threads for work that shares itself among all cores.
pub(crate) fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
