//! Defines a request to stop, shared between the code that may request the stop and the code that does the work.

use crate::error::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop, which any thread can make. All clones of a `Cancel` share the same request.
///
/// ```
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("a folder");
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
    /// Creates a `Cancel` for which no stop has been requested yet.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Requests that the work stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error that names `path` if a stop was requested.
    ///
    /// # Errors
    /// Fails with [`ErrorKind::Cancelled`] if a stop was requested.
    #[doc(hidden)]
    pub fn check(&self, path: impl AsRef<Path>) -> Result<()> {
        if self.is_requested() {
            Err(Error::new(ErrorKind::Cancelled, path, "stopped on request"))
        } else {
            Ok(())
        }
    }
}
