//! Runs a closure that may panic, without printing the panic message to standard error. Returns the
//! closure's result, or `Panicked` if it panicked.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The closure passed to `catch` panicked.
pub(super) struct Panicked;

/// Runs `work`. If `work` panics, the panic message is not printed. Messages of other panics,
/// including panics on other threads, are still printed.
pub(super) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                before(info);
            }
        }));
    });
    let was_quiet = IS_QUIET.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(was_quiet);
    done.map_err(|_| Panicked)
}
