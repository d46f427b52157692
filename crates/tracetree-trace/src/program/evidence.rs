//! Collects the [`Evidence`] from one run: what was measured, and how much is missing.
//!
//! The gate, `--fail-on`, the status of a pair in a fleet, the comparability check and the headline
//! all use this evidence. Without it, a recording with lost kernels would look fast, because
//! kernels that were not recorded add no time.
//!
//! Two properties of profilers reveal most losses. First, each kernel launch outside of a graph
//! capture has a kernel in the trace; this was true in all of about 60 recordings from 2021 to
//! 2026. Memsets are an exception: many of them never appear as GPU events. Second, if a GPU event
//! has no recorded launch, it was launched before the window began.

mod order;

use super::captures::{Captured, captures};
use super::{Measure, Program, StepOrigin, Unread};
use crate::side::PerSide;
use crate::trace::{ByName, Category, EventId, Header, Losses, Nanos, ThreadId, Trace};
use crate::tree::{CallKind, CallTree, contains_word};
use order::misplaced_gpu_events;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// What one run measured, and how much is missing from the recording.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[doc(hidden)]
pub struct Evidence {
    /// How much of the file could not be read.
    pub losses: Losses,
    /// Number of complete events in a category that tracetree knows.
    pub events: u64,
    /// Number of complete events in an unknown category. Their work is not counted.
    pub unknown_events: u64,
    /// Number of kernels, copies and memsets.
    pub gpu_events: u64,
    /// Number of GPU events with zero duration.
    pub untimed_gpu_events: u64,
    /// Whether all times are whole microseconds, so that short events have a duration of zero.
    pub is_coarse: bool,
    /// Whether the file names a GPU.
    pub names_gpu: bool,
    /// Number of calls that launch kernels, graphs or copies, outside of graph captures.
    pub launches: u64,
    /// Number of launches without any GPU event.
    pub launches_without_work: u64,
    /// Number of launches without a GPU event that come after their thread's last launch with a GPU
    /// event. The recording ended before the work of these launches ran.
    pub launches_at_end: u64,
    /// Number of GPU events whose launch is not in the trace.
    pub unlaunched: u64,
    /// Number of GPU events that have no recorded launch and start after the first GPU event with a
    /// recorded launch.
    pub unlaunched_inside: u64,
    /// Number of GPU events that cannot have run when the trace says: they start before their
    /// launch, before work that their stream was given earlier, or together with other work of
    /// their stream. If most events start before the previous event of their stream is half done,
    /// these count, too.
    pub misplaced_gpu_events: u64,
    /// Fraction (0 to 1) of the GPU time that belongs to events with a recorded launch; 1 if there
    /// is no GPU time.
    pub launched_share: f64,
    /// Number of `ProfilerStep#N` annotations.
    pub recorded_steps: u64,
    /// How many step numbers are missing between the lowest and the highest recorded number.
    pub missing_steps: u64,
    /// Number of steps, recorded or derived, that have zero duration.
    pub untimed_steps: u64,
    /// Number of steps without measured work; 0 if no step at all contains measured work.
    pub empty_steps: u64,
    /// Number of cut-off steps, from 0 to 2. The first and the last recorded step count as cut off
    /// if they have fewer than half of the usual number of calls.
    pub cut_steps: u64,
    /// Fraction (0 to 1) of the measured time that belongs to work launched outside of all steps; 0
    /// if the trace has no steps.
    pub outside_steps: f64,
    /// The rank of the recorded process in its distributed job, by the content of the trace or, if
    /// the content does not say it, by the file name; `None` if neither says it.
    pub rank: Option<i64>,
}

impl Evidence {
    /// Collects the evidence from one run. [`Program::evidence`] caches the result.
    pub(super) fn of(program: &Program) -> Evidence {
        let tree: &CallTree = program.tree();
        let trace = tree.trace();
        let mut evidence = Evidence {
            losses: trace.losses(),
            events: trace.len() as u64,
            unknown_events: Unread::of(trace).count(),
            is_coarse: is_coarse(trace),
            names_gpu: trace.header().devices.iter().any(|device| !device.name.is_empty()),
            misplaced_gpu_events: misplaced_gpu_events(tree),
            rank: rank_of(trace.header(), trace.source()),
            ..Evidence::default()
        };
        evidence.add_gpu_events(tree);
        evidence.add_launches(trace);
        evidence.add_steps(program);
        evidence
    }

    /// Number of events that the trace would contain if none had been lost.
    pub(crate) fn expected_events(&self) -> u64 {
        self.events + self.unknown_events + self.losses.events
    }

    fn add_gpu_events(&mut self, tree: &CallTree) {
        let (mut all, mut launched) = (Nanos::ZERO, Nanos::ZERO);
        let mut first_launched: Option<Nanos> = None;
        let mut unlaunched = Vec::new();
        let trace = tree.trace();
        for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
            let event = tree.event(call).expect("a GPU event");
            let (start, time) = (trace.start(event), trace.duration(event));
            self.gpu_events += 1;
            self.untimed_gpu_events += u64::from(time <= Nanos::ZERO);
            all += time;
            if tree.launch(call).is_some() {
                launched += time;
                first_launched = Some(first_launched.map_or(start, |first| first.min(start)));
            } else {
                unlaunched.push(start);
            }
        }
        self.launched_share =
            if all > Nanos::ZERO { launched.0 as f64 / all.0 as f64 } else { 1.0 };
        self.unlaunched = unlaunched.len() as u64;
        let is_inside = |start: &&Nanos| first_launched.is_none_or(|first| **start > first);
        self.unlaunched_inside = unlaunched.iter().filter(is_inside).count() as u64;
    }

    fn add_launches(&mut self, trace: &Trace) {
        let with_work: FxHashSet<i64> = trace
            .correlations()
            .iter()
            .filter(|&(event, &id)| id > 0 && trace.category(event).is_gpu())
            .map(|(_, &id)| id)
            .collect();
        let captures = captures(trace);
        let mut names: ByName<bool> = ByName::new(trace);
        let mut without: Vec<EventId> = Vec::new();
        let mut last_with: FxHashMap<ThreadId, Nanos> = FxHashMap::default();
        for event in trace.events().filter(|&event| trace.category(event) == Category::Runtime) {
            let launches = || launches_work(trace.name(event));
            if !names.get(trace.name_id(event), launches) || trace.is_captured(event) {
                continue;
            }
            let has_work = trace.correlations().get(event).is_some_and(|id| with_work.contains(id));
            if has_work || !is_captured(&captures, trace, event) {
                self.launches += 1;
                if has_work {
                    let start = trace.start(event);
                    let last = last_with.entry(trace.thread_of(event)).or_insert(start);
                    *last = start.max(*last);
                } else {
                    without.push(event)
                }
            }
        }
        // The work that a thread launches runs roughly in launch order. If some of this work ran
        // after the end of the recording, it is therefore the work of the thread's last launches.
        let is_at_end = |event: &&EventId| {
            let last = last_with.get(&trace.thread_of(**event));
            last.is_some_and(|last| trace.start(**event) > *last)
        };
        self.launches_without_work = without.len() as u64;
        self.launches_at_end = without.iter().filter(is_at_end).count() as u64;
    }

    fn add_steps(&mut self, program: &Program) {
        let (tree, steps) = (program.tree(), program.steps());
        if steps.is_empty() {
            return;
        }
        let measure = Measure::of(PerSide::new(&**tree, &**tree));
        let mut time_of = vec![Nanos::ZERO; steps.len()];
        let mut outside = Nanos::ZERO;
        for call in measure.calls(tree) {
            let is_linked = tree.kind(call) != CallKind::Gpu || tree.launch(call).is_some();
            match steps.step(call) {
                Some(step) => time_of[step.index()] += measure.time(tree, call),
                None if is_linked => outside += measure.time(tree, call),
                None => {}
            }
        }
        let inside: Nanos = time_of.iter().copied().sum();
        let all = inside + outside;
        self.outside_steps = if all > Nanos::ZERO { outside.0 as f64 / all.0 as f64 } else { 0.0 };
        let empty = time_of.iter().filter(|&&time| time == Nanos::ZERO).count();
        self.empty_steps = if inside > Nanos::ZERO { empty as u64 } else { 0 };
        let spans = steps.spans();
        self.untimed_steps = spans.iter().filter(|span| span.end <= span.start).count() as u64;
        let numbers: Vec<u64> = spans.iter().filter_map(|span| span.number).collect();
        self.recorded_steps = numbers.len() as u64;
        self.missing_steps = match (numbers.iter().min(), numbers.iter().max()) {
            (Some(first), Some(last)) => (last - first + 1).saturating_sub(self.recorded_steps),
            (_, _) => 0,
        };
        if spans.iter().all(|span| span.origin == StepOrigin::Recorded) {
            let calls_of = |at: usize| {
                let step = super::StepId(at as u32);
                steps.calls_of(step).map(|range| range.len()).sum::<usize>()
            };
            self.cut_steps = cut_at_edges(&(0..steps.len()).map(calls_of).collect::<Vec<_>>());
        }
    }
}

/// How many of the two outermost steps (the first and the last) have fewer than half of the median
/// number of calls.
fn cut_at_edges(calls: &[usize]) -> u64 {
    let mut sorted = calls.to_vec();
    sorted.sort_unstable();
    let (Some(first), Some(last)) = (calls.first(), calls.last()) else { return 0 };
    let usual = sorted[sorted.len() / 2];
    let edges = if calls.len() > 1 { vec![first, last] } else { Vec::new() };
    edges.into_iter().filter(|&&calls| 2 * calls < usual).count() as u64
}

/// Whether all times of a trace are whole microseconds.
fn is_coarse(trace: &Trace) -> bool {
    trace
        .events()
        .all(|event| trace.start(event).0 % 1_000 == 0 && trace.duration(event).0 % 1_000 == 0)
}

/// Whether, in a complete recording, every runtime call with this name has a GPU event.
fn launches_work(name: &str) -> bool {
    let is_runtime = ["cu", "hip"].iter().any(|prefix| name.starts_with(prefix));
    let launches = ["LaunchKernel", "LaunchCooperativeKernel", "GraphLaunch"];
    let copies = ["MemcpyAsync", "MemcpyWithStream", "MemcpyPeerAsync"];
    is_runtime
        && !name.contains("HostFunc")
        && launches.iter().chain(&copies).any(|word| contains_word(name, word))
}

/// Whether an event happened while its thread captured a graph. Work that is launched during a
/// capture is recorded into the graph, but does not run.
fn is_captured(captures: &[Captured], trace: &Trace, event: EventId) -> bool {
    let (thread, start) = (trace.thread_of(event), trace.start(event));
    let begun = captures.partition_point(|range| (range.thread, range.span.0) <= (thread, start));
    let last = captures[..begun].last().filter(|range| range.thread == thread);
    last.is_some_and(|range| start < range.span.1)
}

/// The rank by the content of a trace or, if the content does not say it, by the file name.
#[doc(hidden)]
pub fn rank_of(header: &Header, source: &str) -> Option<i64> {
    let stated = header.distributed.as_ref().and_then(|group| group.rank);
    stated.or_else(|| rank_of_name(source))
}

/// The number after `rank` in a file name such as `rank_3.json.gz`, `trace-rank12.json` or `run1.rank0.pt.trace.json`, or
/// in the names that SGLang (`…-TP-0.trace.json.gz`) and Accelerate (`profile_0.json`) give.
fn rank_of_name(path: &str) -> Option<i64> {
    let name = path.rsplit(['/', '\\']).next()?.to_lowercase();
    let number = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse::<i64>().ok()
    };
    let after = |word: &str| {
        let at = name.rfind(word)?;
        let is_word = !name[..at].ends_with(|before: char| before.is_alphabetic());
        number(name[at + word.len()..].trim_start_matches(['_', '-', '.', '='])).filter(|_| is_word)
    };
    let accelerate = || number(name.strip_prefix("profile_")?);
    after("rank").or_else(|| after("-tp-")).or_else(accelerate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_recognized_by_name_among_runtime_calls() {
        for name in [
            "cudaLaunchKernel",
            "cudaLaunchKernelExC",
            "cuLaunchKernelEx",
            "hipExtModuleLaunchKernel",
            "cudaLaunchCooperativeKernel",
            "hipGraphLaunch",
            "cudaMemcpyAsync",
        ] {
            assert!(launches_work(name), "{name}");
        }
        for name in ["cudaMemsetAsync", "cudaMalloc", "cudaStreamIsCapturing", "cudaLaunchHostFunc"]
        {
            assert!(!launches_work(name), "{name}");
        }
    }

    #[test]
    fn a_step_at_an_end_with_less_than_half_of_the_usual_calls_is_cut_off() {
        assert_eq!(cut_at_edges(&[100, 90, 100]), 0);
        assert_eq!(cut_at_edges(&[40, 100, 100]), 1);
        assert_eq!(cut_at_edges(&[10, 100, 100, 100, 20]), 2);
        // A short step in the middle of the window was not cut off; it simply did less work.
        assert_eq!(cut_at_edges(&[100, 10, 100]), 0);
        assert_eq!(cut_at_edges(&[5]) + cut_at_edges(&[]), 0);
    }

    #[test]
    fn the_rank_in_a_file_name_follows_the_word() {
        assert_eq!(rank_of_name("job/rank_3.json.gz"), Some(3));
        assert_eq!(rank_of_name("trace-rank12.json"), Some(12));
        assert_eq!(rank_of_name("run1.Rank0.pt.trace.json"), Some(0));
        assert_eq!(rank_of_name("1761-TP-3.trace.json.gz"), Some(3));
        assert_eq!(rank_of_name("out/profile_2.json"), Some(2));
        assert_eq!(rank_of_name("http-1.json"), None);
        assert_eq!(rank_of_name("profile_before.json"), None);
        assert_eq!(rank_of_name("rank_7/frank1.json"), None);
        assert_eq!(rank_of_name("ranked.json"), None);
    }
}
