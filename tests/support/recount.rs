//! Computes the wall time in a trace from its raw JSON, independently of the library. The computation uses no trees or
//! tables, and visits one gap at a time.

use super::files::unpacked;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// The recomputed wall time of the steps in one trace; all times are in ns.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recount {
    /// Number of steps.
    pub steps: i64,
    /// Time from the start of the first step to the end of the last step or GPU event.
    pub wall: i64,
    /// Time, within the wall time, during which at least one GPU event runs.
    pub busy: i64,
    /// Idle time by kind: `host`, `latency`, `queue` and `tail`. Time spent waiting for the GPU counts as `host`.
    pub idle: BTreeMap<&'static str, i64>,
    /// Idle time of kind `host`, by the name of the innermost call that is open at that time.
    pub host: BTreeMap<String, i64>,
}

/// A call on a thread: start and end in ns, and name.
struct Call {
    start: i64,
    end: i64,
    name: String,
}

/// Converts a time in µs to ns. Integers are converted exactly, because ns since the epoch are too
/// large for a double.
fn nanos(value: &Value) -> i64 {
    match value.as_i64() {
        Some(micros) => micros * 1000,
        None => (value.as_f64().expect("a time") * 1000.0).round() as i64,
    }
}

/// Recomputes the wall time for a trace file that contains the launch of every GPU event.
pub fn recount(path: &Path) -> Recount {
    let document: Value =
        serde_json::from_slice(&unpacked(path).expect("a trace")).expect("a JSON document");
    let events = document.get("traceEvents").unwrap_or(&document).as_array().expect("events");
    let mut threads: BTreeMap<String, Vec<Call>> = BTreeMap::new();
    let (mut steps, mut gpu, mut launches) = (Vec::new(), Vec::new(), HashMap::new());
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let kind = event["cat"].as_str().unwrap_or_default().to_lowercase();
        let name = event["name"].as_str().unwrap_or_default().to_owned();
        let start = nanos(&event["ts"]);
        let end = start + nanos(&event["dur"]);
        let lane = format!("{} {}", event["pid"], event["tid"]);
        let correlation = event["args"]["correlation"].as_i64();
        let is_runtime = kind.ends_with("runtime") || kind == "cuda_driver";
        if name.starts_with("ProfilerStep#") && ["operator", "user_annotation"].contains(&&*kind) {
            steps.push((start, end, name.clone()));
        }
        if ["kernel", "memcpy", "memset", "gpu_memcpy", "gpu_memset"].contains(&&*kind) {
            gpu.push((start, end, correlation.expect("a correlation")));
        }
        if is_runtime && let Some(id) = correlation {
            launches.entry(id).or_insert((start, lane.clone()));
        }
        if is_runtime || ["operator", "cpu_op", "python_function"].contains(&&*kind) {
            threads.entry(lane).or_default().push(Call { start, end, name });
        }
    }
    steps.sort();
    steps.dedup_by(|a, b| a.2 == b.2);
    gpu.sort_unstable();
    count(&steps, &gpu, &launches, &threads)
}

fn count(
    steps: &[(i64, i64, String)],
    gpu: &[(i64, i64, i64)],
    launches: &HashMap<i64, (i64, String)>,
    threads: &BTreeMap<String, Vec<Call>>,
) -> Recount {
    let begin = steps.first().expect("steps").0;
    let last = gpu.iter().map(|event| event.1).max().expect("GPU events");
    let end = steps.iter().map(|step| step.1).max().expect("steps").max(last);
    let mut sums = Recount { steps: steps.len() as i64, wall: end - begin, ..Recount::default() };
    let mut idle_from = begin;
    for (start, until, correlation) in gpu {
        if *start > idle_from {
            let (launched, lane) = &launches[correlation];
            let launched = *launched;
            if launched < idle_from {
                *sums.idle.entry("queue").or_default() += start - idle_from
            } else {
                *sums.idle.entry("host").or_default() += launched - idle_from;
                *sums.idle.entry("latency").or_default() += start - launched;
                innermost(&threads[lane], idle_from, launched, &mut sums.host);
            }
        }
        sums.busy += (until - (*start).max(idle_from)).max(0);
        idle_from = idle_from.max(*until);
    }
    *sums.idle.entry("tail").or_default() += end - idle_from;
    sums
}

/// Splits a time span at the starts and ends of calls, and attributes each piece to the shortest call that is open
/// during this piece.
fn innermost(calls: &[Call], from: i64, until: i64, sums: &mut BTreeMap<String, i64>) {
    let over = |call: &&Call| call.start < until && call.end > from && call.start < call.end;
    let over: Vec<&Call> = calls.iter().filter(over).collect();
    let mut bounds: Vec<(i64, usize, bool)> = vec![(until, usize::MAX, false)];
    for (at, call) in over.iter().enumerate() {
        bounds.extend([(call.start.max(from), at, true), (call.end.min(until), at, false)]);
    }
    bounds.sort_unstable();
    let (mut open, mut reached) = (BTreeSet::new(), from);
    for (time, at, opens) in bounds {
        let shortest = open.first().map(|&(_, at): &(i64, usize)| over[at].name.as_str());
        let name = shortest.unwrap_or("(between calls)");
        if time > reached {
            *sums.entry(name.to_owned()).or_default() += time - reached;
            reached = time;
        }
        let Some(call) = over.get(at) else { continue };
        let key = (call.end - call.start, at);
        if opens {
            open.insert(key)
        } else {
            open.remove(&key)
        };
    }
}
