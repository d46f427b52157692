//! Runs requests (futures) on two dedicated threads while the caller blocks.

use std::future::Future;
use std::io;
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, sync_channel};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

/// Number of threads for requests. Two threads are enough: requests mostly wait for the network,
/// and the threads only have to decrypt the incoming data.
const THREADS: usize = 2;

static RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("tracetree-storage")
        .enable_all()
        .build()
});

/// A request in flight. Dropping this value aborts the request.
pub(super) struct Pending<T> {
    shown: Receiver<T>,
    work: AbortHandle,
}

impl<T> Pending<T> {
    /// Blocks until the result of the request is available. Any thread may call this function,
    /// including threads of another async runtime.
    ///
    /// # Errors
    /// Fails if the request ended without a result.
    pub(super) fn wait(&self) -> io::Result<T> {
        self.shown.recv().map_err(|_| io::Error::other("the request ended without a response"))
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// Starts a request.
///
/// # Errors
/// Fails if the system cannot create threads.
pub(super) fn begin<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<Pending<T>> {
    let (tell, shown) = sync_channel(1);
    let runtime =
        RUNTIME.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    let work = runtime.spawn(async move {
        // Sending the result fails only if the receiver was dropped.
        let _ = tell.send(work.await);
    });
    Ok(Pending { shown, work: work.abort_handle() })
}

/// Starts a request and waits for its result.
///
/// # Errors
/// Fails for the same reasons as [`begin`] and [`Pending::wait`].
pub(super) fn done<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    begin(work)?.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_another_runtime_may_wait() {
        let other = Builder::new_current_thread().build().expect("a runtime");
        let waited = other.block_on(async { done(async { 7 }) });
        assert_eq!(waited.expect("done"), 7);
    }

    #[test]
    fn work_that_panics_is_an_error() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let waited = done(async { std::hint::black_box(None::<u8>).expect("nothing") });
        std::panic::set_hook(hook);
        assert!(waited.is_err());
    }
}
