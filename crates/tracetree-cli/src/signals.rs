//! Removes unfinished files when a signal ends the process.

use tracetree::report::Unfinished;

/// Removes unfinished files when the process is interrupted (Ctrl-C), terminated, or loses its
/// terminal.
#[cfg(unix)]
pub(super) fn watch(unfinished: Unfinished) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::{iterator::Signals, low_level::emulate_default_handler};

    // A signal that was ignored at startup, for example because of nohup, stays ignored.
    let ignored = ignored_signals();
    let wanted =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| ignored >> (signal - 1) & 1 == 0);
    // If no handler can be installed, a signal ends the process immediately, and the next run removes the unfinished
    // files.
    let Ok(mut signals) = Signals::new(wanted) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            unfinished.remove();
            let _ = emulate_default_handler(signal);
        }
    });
}

/// Bit mask of the signals that were ignored when this process started; 0 if the system does not report the mask.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Does nothing on systems without signals, where unfinished files are removed by the next run.
#[cfg(not(unix))]
pub(super) fn watch(_: Unfinished) {}
