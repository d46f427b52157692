//! What the measuring programs ask the system: processor time and memory.

#![allow(dead_code, unreachable_pub, reason = "every program uses another part of it")]

/// Processor time of this thread in seconds; wall time where `/proc` does not tell it.
pub fn thread_seconds() -> f64 {
    // The account of a running thread is brought up to date when it yields.
    std::thread::yield_now();
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = schedule.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(
        || std::time::UNIX_EPOCH.elapsed().map_or(0.0, |e| e.as_secs_f64()),
        |n| n / 1e9,
    )
}

/// Processor time of all threads of the process.
pub fn processor_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let schedules = tasks.map(|task| task.path().join("schedstat"));
    let nanos = schedules.filter_map(|path: std::path::PathBuf| {
        std::fs::read_to_string(path).ok()?.split(' ').next()?.parse::<f64>().ok()
    });
    nanos.sum::<f64>() / 1e9
}

/// The highest memory of the process so far, in bytes; 0 where `/proc` does not tell it.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
