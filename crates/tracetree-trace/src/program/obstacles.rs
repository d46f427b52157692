//! Lists the [`Obstacle`]s that prevent a comparison of two sides. They are derived from the
//! [`SideFacts`] of each side.
//!
//! The gate, baseline files, `diff --fail-on` and the comparability check all use this list. A rule
//! that is checked despite an obstacle could pass because work was not recorded, or fail because a
//! different program ran.

use super::{Damage, Evidence, Measure, Platform, Program};
use crate::side::{PerSide, Side};
use crate::tree::CallTree;
use std::fmt;

/// How much the fraction of GPU time in events with a recorded launch may differ between the sides.
pub const LOST_LAUNCHES: f64 = 0.05;

/// How much the fraction of measured time in work that was launched outside of all steps may differ
/// between the sides.
const OUTSIDE_STEPS: f64 = 0.05;

/// The hardware that one side was recorded on, and the data that is missing from its recording.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct SideFacts {
    /// `nvidia`, `amd`, …, `cpu`.
    pub vendor: String,
    /// Marketing names of the devices, without duplicates.
    pub devices: Vec<String>,
    /// Number of processes; 1 if the number is not recorded.
    pub world_size: u64,
    /// Whether GPU events were recorded.
    pub has_gpu: bool,
    /// Whether any call has a measured time.
    pub has_calls: bool,
    /// The evidence from each run.
    pub runs: Vec<Evidence>,
}

impl SideFacts {
    /// Describes a side with a single run: its hardware, and the data that its recording lacks.
    pub fn of(program: &Program) -> SideFacts {
        let tree: &CallTree = program.tree();
        let trace = tree.trace();
        let header = trace.header();
        let mut devices: Vec<String> =
            header.devices.iter().map(|device| device.name.clone()).collect();
        devices.retain(|name| !name.is_empty());
        devices.sort();
        devices.dedup();
        let group = header.distributed.as_ref().and_then(|group| group.world_size);
        let measure = Measure::of(PerSide::new(tree, tree));
        SideFacts {
            vendor: Platform::of(trace).vendor.label().to_owned(),
            devices,
            world_size: group.and_then(|size| u64::try_from(size).ok()).unwrap_or(1),
            has_gpu: measure == Measure::GpuTime,
            has_calls: measure.calls(tree).next().is_some(),
            runs: vec![program.evidence().clone()],
        }
    }

    /// The fraction of GPU time in events with a recorded launch, in the run with the lowest
    /// fraction.
    fn launched_share(&self) -> f64 {
        self.runs.iter().map(|run| run.launched_share).fold(1.0, f64::min)
    }

    /// The fraction of measured time in work that was launched outside of all steps, in the run
    /// with the highest fraction.
    fn outside_steps(&self) -> f64 {
        self.runs.iter().map(|run| run.outside_steps).fold(0.0, f64::max)
    }

    /// The distinct ranks of the runs.
    pub fn ranks(&self) -> Vec<i64> {
        let mut ranks: Vec<i64> = self.runs.iter().filter_map(|run| run.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// The distinct step counts of the runs.
    fn step_counts(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = self.runs.iter().map(|run| run.recorded_steps).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }
}

/// Why two sides cannot be compared.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub enum Obstacle {
    /// Recordings on one side are damaged. The first number is the number of damaged runs, and the
    /// second is the number of all runs.
    Damaged(Side, Damage, usize, usize),
    /// This side has no calls with a measured time.
    NoCalls(Side),
    /// This side has no GPU events, although the other side has some.
    NoGpuEvents(Side),
    /// A trace names a GPU, but neither side has GPU events.
    GpuNotRecorded(String),
    /// The sides ran on different devices.
    OtherDevice(PerSide<String>),
    /// The sides have different numbers of ranks.
    OtherRanks(PerSide<u64>),
    /// The runs of this side are different ranks of one job, which are not repeats.
    SeveralRanks(Side, Vec<i64>),
    /// Almost all times of one side are this many times as long as those of the same work on the
    /// other side, which no change of a program or machine explains.
    OtherScale(f64),
    /// The sides ran different programs; the string says how the difference was detected.
    OtherProgram(String),
    /// The fraction of GPU time in events with a recorded launch differs too much between the
    /// sides.
    LaunchesMissing(PerSide<f64>),
    /// The runs recorded different numbers of steps.
    OtherSteps(PerSide<Vec<u64>>),
    /// The fraction of measured time in work that was launched outside of all steps differs too
    /// much between the sides.
    WorkOutsideSteps(PerSide<f64>),
}

impl Obstacle {
    /// All obstacles that prevent a comparison of two sides. `lost_launches` is how much the
    /// fraction of GPU time in events with a recorded launch may differ between the sides.
    pub fn between(sides: PerSide<&SideFacts>, lost_launches: f64) -> Vec<Obstacle> {
        let mut found = Vec::new();
        for side in Side::BOTH {
            let facts = sides[side];
            let runs = facts.runs.len();
            let damage = Damage::of_runs(&facts.runs);
            found.extend(
                damage
                    .into_iter()
                    .map(|(what, in_runs)| Obstacle::Damaged(side, what, in_runs, runs)),
            );
            if !facts.has_calls {
                found.push(Obstacle::NoCalls(side));
            }
            let ranks = facts.ranks();
            if ranks.len() > 1 {
                found.push(Obstacle::SeveralRanks(side, ranks));
            }
        }
        let (one, two) = (sides.baseline, sides.candidate);
        match (one.has_gpu, two.has_gpu) {
            (true, false) => found.push(Obstacle::NoGpuEvents(Side::Candidate)),
            (false, true) => found.push(Obstacle::NoGpuEvents(Side::Baseline)),
            (false, false) => {
                let name = one.devices.first().or(two.devices.first());
                found.extend(name.map(|name| Obstacle::GpuNotRecorded(name.clone())));
            }
            (true, true) => {}
        }
        if one.vendor != two.vendor && one.has_gpu && two.has_gpu {
            found.push(Obstacle::OtherDevice(sides.map(|side| side.vendor.clone())));
        } else if !one.devices.is_empty() && !two.devices.is_empty() && one.devices != two.devices {
            found.push(Obstacle::OtherDevice(sides.map(|side| side.devices.join(", "))));
        }
        if one.world_size != two.world_size {
            found.push(Obstacle::OtherRanks(sides.map(|side| side.world_size)));
        }
        let shares = sides.map(SideFacts::launched_share);
        if one.has_gpu && two.has_gpu && (shares.baseline - shares.candidate).abs() > lost_launches
        {
            found.push(Obstacle::LaunchesMissing(shares));
        }
        let steps = sides.map(SideFacts::step_counts);
        if steps.baseline != steps.candidate || steps.baseline.len() > 1 {
            found.push(Obstacle::OtherSteps(steps));
        }
        let outside = sides.map(SideFacts::outside_steps);
        if (outside.baseline - outside.candidate).abs() > OUTSIDE_STEPS {
            found.push(Obstacle::WorkOutsideSteps(outside));
        }
        found
    }

    /// The code of this obstacle in the `tolerate` list of a rule file.
    pub fn code(&self) -> &'static str {
        match self {
            Obstacle::Damaged(_, damage, ..) => damage.code(),
            Obstacle::NoCalls(_) => "no_calls",
            Obstacle::NoGpuEvents(_) => "no_gpu_events",
            Obstacle::GpuNotRecorded(_) => "gpu_not_recorded",
            Obstacle::OtherDevice(_) => "other_device",
            Obstacle::OtherRanks(_) => "other_ranks",
            Obstacle::SeveralRanks(..) => "several_ranks",
            Obstacle::OtherScale(_) => "other_scale",
            Obstacle::OtherProgram(_) => "other_program",
            Obstacle::LaunchesMissing(_) => "launches_missing",
            Obstacle::OtherSteps(_) => "other_steps",
            Obstacle::WorkOutsideSteps(_) => "work_outside_steps",
        }
    }

    /// The obstacle codes that a rule file may tolerate: all codes except `no_calls` and
    /// `no_gpu_events`, which mean that one side has nothing to compare, and `several_ranks`, which
    /// means that the runs of a side say nothing about noise.
    pub const TOLERABLE: [&str; 22] = [
        "cut_off",
        "corrupt",
        "lost_events",
        "untimed_events",
        "impossible_times",
        "unknown_events",
        "launches_without_work",
        "unlaunched",
        "untimed_gpu_events",
        "misplaced_gpu_events",
        "missing_steps",
        "untimed_steps",
        "empty_steps",
        "cut_steps",
        "gpu_not_recorded",
        "other_device",
        "other_ranks",
        "other_scale",
        "other_program",
        "launches_missing",
        "other_steps",
        "work_outside_steps",
    ];
}

/// Number of ranks that a message lists.
const LISTED: usize = 8;

/// The first ranks in words: `0, 1, 2`.
#[doc(hidden)]
pub fn first_ranks(ranks: impl IntoIterator<Item = i64>) -> String {
    let mut ranks = ranks.into_iter();
    let listed: Vec<String> = ranks.by_ref().take(LISTED).map(|rank| rank.to_string()).collect();
    let more = if ranks.next().is_some() { ", …" } else { "" };
    format!("{}{more}", listed.join(", "))
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.0}%", 100.0 * share);
        match self {
            Obstacle::Damaged(side, damage, _, 1) => write!(f, "{}: {damage}", side.word()),
            Obstacle::Damaged(side, damage, in_runs, runs) => {
                write!(f, "{} ({in_runs} of {runs} runs): {damage}", side.word())
            }
            Obstacle::NoCalls(side) => write!(
                f,
                "the {} has no calls in its steps. Check the step marks and the selection",
                side.word()
            ),
            Obstacle::NoGpuEvents(side) => {
                let (side, other) = (side.word(), side.other().word());
                write!(
                    f,
                    "the {side} has no GPU events, but the {other} has some. Record the GPU on both \
                     sides"
                )
            }
            Obstacle::GpuNotRecorded(name) => write!(
                f,
                "the traces name a GPU ({name}) but have no GPU events; only host time is \
                 measured. Record with ProfilerActivity.CUDA"
            ),
            Obstacle::OtherDevice(names) => {
                write!(f, "different devices: {} | {}", names.baseline, names.candidate)
            }
            Obstacle::OtherRanks(ranks) => {
                write!(f, "different numbers of ranks: {} | {}", ranks.baseline, ranks.candidate)
            }
            Obstacle::SeveralRanks(side, ranks) => write!(
                f,
                "the runs of the {} are ranks {} of one job, not repeats. Compare them rank by rank \
                 with `tracetree fleet`, or pass several runs of one rank",
                side.word(),
                first_ranks(ranks.iter().copied())
            ),
            Obstacle::OtherScale(ratio) => {
                let (side, ratio) = match *ratio {
                    ratio if ratio < 1.0 => ("baseline", ratio.recip()),
                    ratio => ("candidate", ratio),
                };
                write!(
                    f,
                    "the same work takes about {ratio:.0} times as long in the {side}; the times of one \
                     side cannot be right. Check the units of both files"
                )
            }
            Obstacle::OtherProgram(how) => f.write_str(how),
            Obstacle::LaunchesMissing(shares) => write!(
                f,
                "launches are missing: only {} of the baseline's GPU time and {} of the candidate's \
                 GPU time come from recorded launches. Record the CUDA/HIP runtime calls in both",
                percent(shares.baseline),
                percent(shares.candidate)
            ),
            Obstacle::OtherSteps(steps) => {
                let list = |counts: &[u64]| {
                    counts.iter().map(u64::to_string).collect::<Vec<_>>().join(" or ")
                };
                write!(
                    f,
                    "different numbers of recorded steps: {} | {}; steps may be missing. Record \
                     the same number of steps in every run",
                    list(&steps.baseline),
                    list(&steps.candidate)
                )
            }
            Obstacle::WorkOutsideSteps(shares) => write!(
                f,
                "{} of the baseline's time and {} of the candidate's time come from work that was \
                 launched outside of all steps; per-step figures do not include this work. Mark \
                 every step with profiler.step()",
                percent(shares.baseline),
                percent(shares.candidate)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> SideFacts {
        let run = Evidence {
            gpu_events: 10,
            launches: 10,
            launched_share: 1.0,
            recorded_steps: 3,
            ..Evidence::default()
        };
        SideFacts {
            vendor: "nvidia".to_owned(),
            devices: vec!["NVIDIA H100".to_owned()],
            world_size: 1,
            has_gpu: true,
            has_calls: true,
            runs: vec![run.clone(), run],
        }
    }

    /// The obstacles that prevent a comparison of an intact side with a modified side. The first
    /// list is for the intact side as the baseline, the second for the modified side as the
    /// baseline.
    fn obstacles(change: impl Fn(&mut SideFacts)) -> [Vec<String>; 2] {
        let (one, mut two) = (whole(), whole());
        change(&mut two);
        let between = |sides: PerSide<&SideFacts>| -> Vec<String> {
            Obstacle::between(sides, LOST_LAUNCHES).iter().map(Obstacle::to_string).collect()
        };
        [between(PerSide::new(&one, &two)), between(PerSide::new(&two, &one))]
    }

    #[test]
    fn nothing_prevents_a_comparison_of_two_whole_sides() {
        assert_eq!(obstacles(|_| {}), [Vec::<String>::new(), Vec::new()]);
        // A few launches may be lost at the ends of a recording.
        assert_eq!(obstacles(|side| side.runs[0].launched_share = 0.96)[0], Vec::<String>::new());
    }

    #[test]
    fn damage_is_reported_for_its_side_with_the_runs_that_have_it() {
        let [one, two] = obstacles(|side| side.runs[1].losses.is_truncated = true);
        assert!(one[0].starts_with("candidate (1 of 2 runs): the file is cut off"), "{one:?}");
        assert!(two[0].starts_with("baseline (1 of 2 runs): the file is cut off"), "{two:?}");
    }

    #[test]
    fn each_obstacle_is_found_in_both_orders() {
        assert_eq!(
            obstacles(|side| side.has_calls = false)[1],
            ["the baseline has no calls in its steps. Check the step marks and the selection"]
        );
        assert_eq!(
            obstacles(|side| side.has_gpu = false),
            [
                [
                    "the candidate has no GPU events, but the baseline has some. Record the GPU on both sides"
                ],
                [
                    "the baseline has no GPU events, but the candidate has some. Record the GPU on both sides"
                ]
            ]
        );
        assert_eq!(
            obstacles(|side| side.devices = vec!["NVIDIA A100".to_owned()])[0],
            ["different devices: NVIDIA H100 | NVIDIA A100"]
        );
        assert_eq!(
            obstacles(|side| side.vendor = "amd".to_owned())[0],
            ["different devices: nvidia | amd"]
        );
        assert_eq!(obstacles(|side| side.world_size = 8)[0], ["different numbers of ranks: 1 | 8"]);
        for found in obstacles(|side| side.runs[0].launched_share = 0.5) {
            assert!(found[0].starts_with("launches are missing"), "{found:?}");
        }
        for found in obstacles(|side| side.runs[0].recorded_steps = 2) {
            assert!(found[0].starts_with("different numbers of recorded steps"), "{found:?}");
        }
        for found in obstacles(|side| side.runs[0].outside_steps = 0.3) {
            assert!(found[0].contains("outside of all steps"), "{found:?}");
        }
    }

    #[test]
    fn a_gpu_that_neither_side_recorded_is_an_obstacle() {
        let mut side = whole();
        side.has_gpu = false;
        let found = Obstacle::between(PerSide::new(&side, &side), LOST_LAUNCHES);
        assert_eq!(found, [Obstacle::GpuNotRecorded("NVIDIA H100".to_owned())]);
        side.devices.clear();
        assert_eq!(Obstacle::between(PerSide::new(&side, &side), LOST_LAUNCHES), []);
    }

    #[test]
    fn a_message_lists_the_first_ranks() {
        assert_eq!(first_ranks([0, 2]), "0, 2");
        assert_eq!(first_ranks(0..8), "0, 1, 2, 3, 4, 5, 6, 7");
        let many = Obstacle::SeveralRanks(Side::Baseline, (0..10_000).collect());
        let expected = "the runs of the baseline are ranks 0, 1, 2, 3, 4, 5, 6, 7, … of one job";
        assert!(many.to_string().starts_with(expected), "{many}");
    }

    #[test]
    fn a_rule_file_can_tolerate_obstacles_by_name() {
        let mut run = Evidence {
            losses: crate::trace::Losses {
                events: 1,
                bytes: 1,
                untimed: 1,
                clocks: 1,
                is_truncated: true,
                is_corrupt: true,
            },
            unknown_events: 9,
            gpu_events: 1,
            untimed_gpu_events: 1,
            misplaced_gpu_events: 1,
            launches: 1,
            launches_without_work: 1,
            unlaunched_inside: 1,
            ..Evidence::default()
        };
        (run.recorded_steps, run.missing_steps, run.untimed_steps) = (2, 1, 1);
        (run.empty_steps, run.cut_steps) = (1, 1);
        for damage in Damage::of(&run) {
            assert!(Obstacle::TOLERABLE.contains(&damage.code()), "{damage:?}");
        }
        assert_eq!(Damage::of(&run).len(), 14);
    }
}
