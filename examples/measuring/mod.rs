//! Reads the CPU time and the peak memory of the process, for examples that measure costs.

#![allow(dead_code, unreachable_pub, reason = "each example uses only some functions")]

/// CPU time in seconds of all threads in the process, including threads that have ended.
pub fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Peak resident memory of the process so far, in bytes; 0 if `/proc` does not report the peak.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
