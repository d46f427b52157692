//! Derives the [`Damage`] on one side from the [`Evidence`] for each run on that side. The damage
//! says which data is missing, which reported values are affected, and how to fix the recording.

use super::Evidence;
use std::fmt;

/// A kind of data loss in a recording. As a result, work, time or call sites are missing from the
/// results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(hidden)]
pub enum Damage {
    /// The file ends before the trace does.
    CutOff,
    /// The compressed data does not match its checksum.
    Corrupt,
    /// Number of events that could not be read, and the number of bytes that were skipped.
    LostEvents(u64, u64),
    /// Number of events without a start or a duration.
    UntimedEvents(u64),
    /// Number of events with an impossible time.
    ImpossibleTimes(u64),
    /// Number of complete events with an unknown category, and the total number of complete events.
    UnknownEvents(u64, u64),
    /// Number of launches without a GPU event, and the total number of launches.
    LaunchesWithoutWork(u64, u64),
    /// Number of launches without a GPU event, and the total number of launches. On each thread,
    /// the launches without a GPU event come after all other launches.
    LaunchesAtEnd(u64, u64),
    /// Number of GPU events inside the window that have no launch, and the total number of GPU
    /// events.
    Unlaunched(u64, u64),
    /// Number of GPU events with zero duration, and the total number of GPU events.
    UntimedGpuEvents(u64, u64),
    /// Number of GPU events that cannot have run when the trace says, and the total number of GPU
    /// events.
    MisplacedGpuEvents(u64, u64),
    /// Number of steps missing between the first and the last step.
    MissingSteps(u64),
    /// Number of steps with zero duration.
    UntimedSteps(u64),
    /// Number of recorded steps without any work, although other steps of the run contain work.
    EmptySteps(u64),
    /// Number of incomplete steps at the edges of the window: steps with fewer than half of the
    /// usual number of calls.
    CutSteps(u64),
}

/// Maximum fraction of the GPU events inside the window that may have no launch. A recording of a
/// single thread also contains collectives from other threads, but not the launches of these
/// collectives (3.6% of the GPU events in a job on eight V100s).
const MOST_UNLAUNCHED: f64 = 0.05;

/// Maximum fraction of the events that may have an unknown category.
const MOST_UNKNOWN: f64 = 0.01;

/// If the clock counts whole microseconds, at most this fraction of the GPU events may have zero
/// duration. In a ResNet-50 training run from 2021, 7% of the GPU events have zero duration. With a
/// finer clock, no GPU event may have zero duration.
const MOST_UNTIMED: f64 = 0.2;

/// Maximum fraction of the GPU events that may be misplaced. A few misplaced events do not change
/// the times of a step.
const MOST_MISPLACED: f64 = 0.01;

impl Damage {
    /// The damage in one run.
    pub fn of(evidence: &Evidence) -> Vec<Damage> {
        let losses = evidence.losses;
        let above = |part: u64, all: u64, share: f64| part as f64 > share * all as f64;
        let untimed = if evidence.is_coarse { MOST_UNTIMED } else { 0.0 };
        let (gpu, all) = (evidence.gpu_events, evidence.expected_events());
        let found = [
            (losses.is_truncated, Damage::CutOff),
            (losses.is_corrupt, Damage::Corrupt),
            (losses.events > 0, Damage::LostEvents(losses.events, losses.bytes)),
            (losses.untimed > 0, Damage::UntimedEvents(losses.untimed)),
            (losses.clocks > 0, Damage::ImpossibleTimes(losses.clocks)),
            (
                above(evidence.unknown_events, all, MOST_UNKNOWN),
                Damage::UnknownEvents(evidence.unknown_events, all),
            ),
            (
                evidence.launches_without_work > evidence.launches_at_end,
                Damage::LaunchesWithoutWork(evidence.launches_without_work, evidence.launches),
            ),
            (
                evidence.launches_without_work > 0
                    && evidence.launches_without_work == evidence.launches_at_end,
                Damage::LaunchesAtEnd(evidence.launches_at_end, evidence.launches),
            ),
            (
                above(evidence.unlaunched_inside, gpu, MOST_UNLAUNCHED),
                Damage::Unlaunched(evidence.unlaunched_inside, gpu),
            ),
            (
                above(evidence.untimed_gpu_events, gpu, untimed),
                Damage::UntimedGpuEvents(evidence.untimed_gpu_events, gpu),
            ),
            (
                above(evidence.misplaced_gpu_events, gpu, MOST_MISPLACED),
                Damage::MisplacedGpuEvents(evidence.misplaced_gpu_events, gpu),
            ),
            (evidence.missing_steps > 0, Damage::MissingSteps(evidence.missing_steps)),
            (evidence.untimed_steps > 0, Damage::UntimedSteps(evidence.untimed_steps)),
            (
                evidence.recorded_steps > 0 && evidence.empty_steps > 0,
                Damage::EmptySteps(evidence.empty_steps),
            ),
            (evidence.cut_steps > 0, Damage::CutSteps(evidence.cut_steps)),
        ];
        found.into_iter().filter(|(is_found, _)| *is_found).map(|(_, damage)| damage).collect()
    }

    /// The damage in the runs on one side. Each kind of damage is listed once, with the values of
    /// the first affected run and the number of affected runs.
    pub fn of_runs<'e>(runs: impl IntoIterator<Item = &'e Evidence>) -> Vec<(Damage, usize)> {
        let mut found: Vec<(Damage, usize)> = Vec::new();
        for damage in runs.into_iter().flat_map(Damage::of) {
            let kind = std::mem::discriminant(&damage);
            match found.iter_mut().find(|(known, _)| std::mem::discriminant(known) == kind) {
                Some((_, runs)) => *runs += 1,
                None => found.push((damage, 1)),
            }
        }
        found
    }
}

impl Damage {
    /// The code of this damage in the `tolerate` list of a rule file.
    pub fn code(self) -> &'static str {
        match self {
            Damage::CutOff => "cut_off",
            Damage::Corrupt => "corrupt",
            Damage::LostEvents(..) => "lost_events",
            Damage::UntimedEvents(_) => "untimed_events",
            Damage::ImpossibleTimes(_) => "impossible_times",
            Damage::UnknownEvents(..) => "unknown_events",
            Damage::LaunchesWithoutWork(..) | Damage::LaunchesAtEnd(..) => "launches_without_work",
            Damage::Unlaunched(..) => "unlaunched",
            Damage::UntimedGpuEvents(..) => "untimed_gpu_events",
            Damage::MisplacedGpuEvents(..) => "misplaced_gpu_events",
            Damage::MissingSteps(_) => "missing_steps",
            Damage::UntimedSteps(_) => "untimed_steps",
            Damage::EmptySteps(_) => "empty_steps",
            Damage::CutSteps(_) => "cut_steps",
        }
    }
}

impl Damage {
    /// Whether work or time is missing from the totals. A GPU event without a launch is not such a
    /// loss: the totals include its time, and only its call site is unknown. The time of a misplaced
    /// GPU event is included as well.
    pub fn is_loss(self) -> bool {
        !matches!(self, Damage::Unlaunched(..) | Damage::MisplacedGpuEvents(..))
    }
}

impl fmt::Display for Damage {
    /// Writes which data is missing, which reported values are affected, and how to fix the
    /// recording.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Damage::CutOff => f.write_str(
                "the file is cut off; the missing events add no time. Record or copy it again",
            ),
            Damage::Corrupt => f.write_str(
                "the compressed data does not match its checksum; any value may be wrong. Copy it again",
            ),
            Damage::LostEvents(events, 0) => write!(
                f,
                "{} could not be read; counts and times are lower bounds. Copy or record it again",
                counted(events, "event")
            ),
            Damage::LostEvents(events, bytes) => write!(
                f,
                "{} ({bytes} bytes) could not be read; counts and times are lower bounds. Copy or \
                 record it again",
                counted(events, "event")
            ),
            Damage::UntimedEvents(events) => write!(
                f,
                "{} without a start or a duration; times are lower bounds. Record again",
                counted(events, "event")
            ),
            Damage::ImpossibleTimes(events) => write!(
                f,
                "{} with an impossible time, counted as 0; times are lower bounds. Record again",
                counted(events, "event")
            ),
            Damage::UnknownEvents(events, all) => write!(
                f,
                "{} of an unknown category; their work is not counted. See `tracetree info -v`",
                share(events, all, "event")
            ),
            Damage::LaunchesWithoutWork(launches, all) if launches == all => write!(
                f,
                "{} without a GPU event: GPU activity was not recorded, so GPU time is unknown. Record with \
                 ProfilerActivity.CUDA, and allow access to CUPTI or ROCm (permissions, containers, WSL)",
                share(launches, all, "launch")
            ),
            Damage::LaunchesWithoutWork(launches, all) => write!(
                f,
                "{} without a GPU event (dropped by the profiler?); GPU time is a lower bound. Record a \
                 shorter window",
                share(launches, all, "launch")
            ),
            Damage::LaunchesAtEnd(launches, all) => write!(
                f,
                "{} without a GPU event, because the recording ended before the work ran; GPU time is a \
                 lower bound. Synchronize before the recording ends, or choose whole steps with --steps",
                share(launches, all, "launch")
            ),
            Damage::Unlaunched(events, all) => write!(
                f,
                "{} without a launch; their call site is unknown. Record the CUDA/HIP runtime calls too",
                share(events, all, "GPU event")
            ),
            Damage::UntimedGpuEvents(events, all) => write!(
                f,
                "{} with duration 0; GPU time is a lower bound. Record again",
                share(events, all, "GPU event")
            ),
            Damage::MisplacedGpuEvents(events, all) => write!(
                f,
                "{} start before their launch, before earlier work of their stream, or together with other \
                 work of their stream; the times cannot be right. Record again",
                share(events, all, "GPU event")
            ),
            Damage::MissingSteps(steps) => write!(
                f,
                "{} missing between the first and the last step; per-step figures cover only the \
                 recorded steps. Record again",
                counted(steps, "step")
            ),
            Damage::UntimedSteps(steps) => write!(
                f,
                "{} of length 0; step times are lower bounds. Record again",
                counted(steps, "step")
            ),
            Damage::EmptySteps(steps) => write!(
                f,
                "{} without work, although other steps have work; per-step figures are too low. Record again",
                counted(steps, "step")
            ),
            Damage::CutSteps(steps) => write!(
                f,
                "{} at the edge of the window with fewer than half of the usual calls; per-step figures \
                 are too low. Record whole steps, or choose them with --steps",
                counted(steps, "step")
            ),
        }
    }
}

/// `1 event`, `3 events`, `2 launches`.
pub fn counted(count: u64, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    format!("{count} {what}{}", if count == 1 { "" } else { plural })
}

/// `392 of 785 launches (49.9%)`.
fn share(part: u64, all: u64, what: &str) -> String {
    let percent = 100.0 * part as f64 / all.max(1) as f64;
    format!("{part} of {} ({percent:.1}%)", counted(all, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Losses;

    fn whole() -> Evidence {
        Evidence {
            events: 1_000,
            gpu_events: 100,
            launches: 100,
            launched_share: 1.0,
            recorded_steps: 5,
            ..Evidence::default()
        }
    }

    fn shown(change: impl Fn(&mut Evidence)) -> Vec<String> {
        let mut evidence = whole();
        change(&mut evidence);
        Damage::of(&evidence).iter().map(Damage::to_string).collect()
    }

    #[test]
    fn a_whole_recording_has_no_damage() {
        assert_eq!(shown(|_| {}), [""; 0]);
        // Even intact recordings contain a few GPU events without a launch or without a duration,
        // so a small number of such events does not count as damage.
        assert_eq!(shown(|e| (e.unlaunched, e.unlaunched_inside) = (40, 3)), [""; 0]);
        assert_eq!(shown(|e| (e.untimed_gpu_events, e.is_coarse) = (9, true)), [""; 0]);
        assert_eq!(shown(|e| e.unknown_events = 5), [""; 0]);
    }

    #[test]
    fn one_missing_kernel_is_damage() {
        let found = shown(|e| e.launches_without_work = 1);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("1 of 100 launches (1.0%) without a GPU event"), "{found:?}");
    }

    #[test]
    fn every_kind_of_loss_is_damage_with_a_remedy() {
        let losses = |change: fn(&mut Losses)| shown(|e| change(&mut e.losses));
        let found = [
            losses(|l| l.is_truncated = true),
            losses(|l| l.is_corrupt = true),
            losses(|l| (l.events, l.bytes) = (2, 9_000)),
            losses(|l| l.untimed = 1),
            losses(|l| l.clocks = 1),
            shown(|e| e.unknown_events = 20),
            shown(|e| e.unlaunched_inside = 6),
            shown(|e| e.untimed_gpu_events = 1),
            shown(|e| e.misplaced_gpu_events = 2),
            shown(|e| e.missing_steps = 1),
            shown(|e| e.untimed_steps = 1),
            shown(|e| e.empty_steps = 1),
            shown(|e| e.cut_steps = 1),
        ];
        for texts in found {
            assert_eq!(texts.len(), 1, "{texts:?}");
            assert!(texts[0].contains("; ") && texts[0].contains(". "), "{texts:?}");
        }
    }

    #[test]
    fn runs_with_the_same_damage_are_counted() {
        let mut cut = whole();
        cut.losses.is_truncated = true;
        assert_eq!(Damage::of_runs([&whole(), &cut, &cut]), [(Damage::CutOff, 2)]);
    }
}
