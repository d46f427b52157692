//! A request to stop, shared between who may ask for it and who works.

use crate::error::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop that can be made from another thread. Clones stand for the same request.
///
/// ```
/// use tracetree::{Cancel, Comparison, ComparisonOptions, ErrorKind};
///
/// let cancel = Cancel::new();
/// let options = ComparisonOptions::default().cancel(cancel.clone());
/// cancel.request();
/// let trace = "examples/traces/resnet.rocm.json.gz";
/// let error = Comparison::open(trace, trace, &options).expect_err("it was cancelled");
/// assert_eq!(error.kind(), ErrorKind::Cancelled);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// No request yet.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Asks for the work to stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Stops the work on `path` where somebody asked for it.
    ///
    /// # Errors
    /// Of kind [`ErrorKind::Cancelled`].
    pub(crate) fn check(&self, path: impl AsRef<Path>) -> Result<()> {
        match self.is_requested() {
            true => Err(Error::new(ErrorKind::Cancelled, path, "stopped on request")),
            false => Ok(()),
        }
    }
}
