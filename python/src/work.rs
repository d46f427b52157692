//! Runs long work on other threads while the interpreter keeps running. Ctrl-C stops the work.
//!
//! ```text
//! caller   ─ start ─ wait … check for Ctrl-C … report progress … ─ take the result
//! threads        └─ work ─────────────────────────────────────┘
//! ```
//!
//! Each long operation gets its own thread pool. A shared pool would not work after a fork: the child process would not
//! have the pool's threads, so work sent to the pool would wait forever.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tracetree::{Cancel, Stage};

/// The interval at which the caller checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// A message from the worker threads to the caller.
enum Message<T> {
    Reached(Stage),
    Done(std::thread::Result<T>),
}

/// Reports to the caller which stage the work has reached.
pub(crate) struct Teller<T>(Sender<Message<T>>);

impl<T> Teller<T> {
    /// Reports a stage. If the caller was interrupted, the message is dropped.
    pub(crate) fn tell(&self, stage: Stage) {
        let _ = self.0.send(Message::Reached(stage));
    }
}

/// Lets the caller follow the progress of the work and cancel the work.
pub(crate) struct Watch<'py> {
    /// The function to call with the name of the stage, the side and the number of bytes read so far.
    pub(crate) progress: Option<Bound<'py, PyAny>>,
    /// Cancels the work.
    pub(crate) cancel: Cancel,
}

/// Runs `work` on `threads` new threads while the caller waits. Ctrl-C cancels the work, and the caller
/// returns without waiting for the work to end.
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
        .map_err(|error| {
            PyRuntimeError::new_err(format!("cannot start worker threads: {error}"))
        })?;
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
            Ok(Message::Reached(stage)) => tell(watch, stage).and_then(|()| py.check_signals()),
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(broken(&"the worker thread ended without a result"));
            }
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
        Stage::Reading(side, bytes) => ("reading", Some(side.word()), bytes),
        Stage::Building => ("building", None, 0),
        Stage::Aligning => ("aligning", None, 0),
        Stage::Accounting => ("accounting", None, 0),
        _ => return Ok(()),
    };
    progress.call1((name, side, bytes)).map(drop)
}

/// Converts a panic, which is always a bug in this library, to a Python exception. So a panic does not end the
/// interpreter.
fn broken(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
    PyRuntimeError::new_err(format!(
        "internal error in tracetree; please report this error, with the traces if possible: {text}"
    ))
}

/// Number of threads for work that uses all cores.
pub(crate) fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
