//! What two sides were recorded on, and how whole the recordings are → why they cannot be held against each
//! other: the one list, for a gate, for baselines and for `diff --fail-on`.
//!
//! A rule that is checked in spite of an obstacle would pass because something was not recorded, or
//! fail because something else ran.

use super::{Measure, Platform, Program};
use crate::side::{PerSide, Side};
use crate::tree::{CallKind, CallTree};
use std::fmt;

/// By so much less of the GPU time may have its launch in the trace on the candidate's side.
pub const LOST_LAUNCHES: f64 = 0.05;

/// What one side was recorded on, and how whole it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Footing {
    /// `nvidia`, `amd`, …, `cpu`.
    pub vendor: String,
    /// Marketing names of the devices, each once.
    pub devices: Vec<String>,
    /// Number of processes; 1 where nothing says it.
    pub world_size: u64,
    /// Whether GPU events were recorded.
    pub has_gpu: bool,
    /// Whether anything was called of which the time counts.
    pub has_calls: bool,
    /// Number of runs.
    pub runs: usize,
    /// Those whose file is cut off.
    pub cut_off: usize,
    /// Share of the GPU time whose launch is in the trace, 0 to 1; 1 without GPU time. Of several runs
    /// the least.
    pub launched_share: f64,
}

impl Footing {
    /// Of one run.
    pub fn of(program: &Program) -> Footing {
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
        Footing {
            vendor: Platform::of(trace).vendor.label().to_owned(),
            devices,
            world_size: group.and_then(|size| u64::try_from(size).ok()).unwrap_or(1),
            has_gpu: measure == Measure::GpuTime,
            has_calls: measure.calls(tree).next().is_some(),
            runs: 1,
            cut_off: usize::from(trace.notes().get("TRUNCATED").is_some()),
            launched_share: launched_share(tree),
        }
    }
}

fn launched_share(tree: &CallTree) -> f64 {
    let (mut all, mut launched) = (0, 0);
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
        let time = tree.duration(call).0;
        all += time;
        launched += if tree.launch(call).is_some() { time } else { 0 };
    }
    if all > 0 { launched as f64 / all as f64 } else { 1.0 }
}

/// Why two sides cannot be held against each other.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Obstacle {
    /// Files of a side are cut off: so many of so many runs.
    CutOff(Side, usize, usize),
    /// A side has no call in its steps.
    NoCalls(Side),
    /// A side has no GPU events, and the other one has.
    NoGpuEvents(Side),
    /// The sides ran on two devices.
    OtherDevice(PerSide<String>),
    /// The sides are of so many ranks.
    OtherRanks(PerSide<u64>),
    /// Other work was done; how that is seen.
    OtherProgram(String),
    /// Of such shares of the GPU time the launch is in the trace.
    LaunchesMissing(PerSide<f64>),
}

impl Obstacle {
    /// What stands between two sides; `lost_launches` says by how much less of the GPU time may have its
    /// launch in the candidate's trace.
    pub fn between(sides: PerSide<&Footing>, lost_launches: f64) -> Vec<Obstacle> {
        let mut found = Vec::new();
        for side in Side::BOTH {
            let footing = sides[side];
            if footing.cut_off > 0 {
                found.push(Obstacle::CutOff(side, footing.cut_off, footing.runs));
            }
            if !footing.has_calls {
                found.push(Obstacle::NoCalls(side));
            }
        }
        let (one, two) = (sides.baseline, sides.candidate);
        match (one.has_gpu, two.has_gpu) {
            (true, false) => found.push(Obstacle::NoGpuEvents(Side::Candidate)),
            (false, true) => found.push(Obstacle::NoGpuEvents(Side::Baseline)),
            (true, true) | (false, false) => {}
        }
        if one.vendor != two.vendor && one.has_gpu && two.has_gpu {
            found.push(Obstacle::OtherDevice(sides.map(|side| side.vendor.clone())));
        } else if !one.devices.is_empty() && !two.devices.is_empty() && one.devices != two.devices {
            found.push(Obstacle::OtherDevice(sides.map(|side| side.devices.join(", "))));
        }
        if one.world_size != two.world_size {
            found.push(Obstacle::OtherRanks(sides.map(|side| side.world_size)));
        }
        if one.launched_share - two.launched_share > lost_launches {
            found.push(Obstacle::LaunchesMissing(sides.map(|side| side.launched_share)));
        }
        found
    }
}

fn words(side: Side) -> &'static str {
    match side {
        Side::Baseline => "baseline",
        Side::Candidate => "candidate",
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::CutOff(side, cut, runs) => write!(
                f,
                "a trace of the {} is cut off: what is missing takes no time ({cut} of {runs} runs)",
                words(*side)
            ),
            Obstacle::NoCalls(side) => write!(f, "the {} has no call in its steps", words(*side)),
            Obstacle::NoGpuEvents(side) => {
                let (side, other) = (words(*side), words(side.other()));
                write!(f, "the {side} has no GPU events; the {other} has")
            }
            Obstacle::OtherDevice(names) => {
                write!(f, "another device: {} | {}", names.baseline, names.candidate)
            }
            Obstacle::OtherRanks(ranks) => {
                write!(f, "another number of ranks: {} | {}", ranks.baseline, ranks.candidate)
            }
            Obstacle::OtherProgram(how) => f.write_str(how),
            Obstacle::LaunchesMissing(shares) => write!(
                f,
                "launches are missing: of {:.0} % of the GPU time the launch is in the trace, of {:.0} % in \
                 the baseline",
                100.0 * shares.candidate,
                100.0 * shares.baseline
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Footing {
        Footing {
            vendor: "nvidia".to_owned(),
            devices: vec!["NVIDIA H100".to_owned()],
            world_size: 1,
            has_gpu: true,
            has_calls: true,
            runs: 2,
            cut_off: 0,
            launched_share: 1.0,
        }
    }

    /// What stands between a whole side and a changed one, in both orders.
    fn told(change: impl Fn(&mut Footing)) -> [Vec<String>; 2] {
        let (one, mut two) = (whole(), whole());
        change(&mut two);
        let between = |sides: PerSide<&Footing>| -> Vec<String> {
            Obstacle::between(sides, LOST_LAUNCHES).iter().map(Obstacle::to_string).collect()
        };
        [between(PerSide::new(&one, &two)), between(PerSide::new(&two, &one))]
    }

    #[test]
    fn nothing_stands_between_two_whole_sides() {
        assert_eq!(told(|_| {}), [Vec::<String>::new(), Vec::new()]);
        // A little may be lost at the ends of a recording.
        assert_eq!(told(|side| side.launched_share = 0.96)[0], Vec::<String>::new());
    }

    #[test]
    fn each_obstacle_is_told_of_its_side() {
        let cut = "is cut off: what is missing takes no time (1 of 2 runs)";
        assert_eq!(
            told(|side| side.cut_off = 1),
            [
                vec![format!("a trace of the candidate {cut}")],
                vec![format!("a trace of the baseline {cut}")]
            ]
        );
        assert_eq!(
            told(|side| side.has_calls = false)[1],
            ["the baseline has no call in its steps"]
        );
        assert_eq!(
            told(|side| side.has_gpu = false),
            [
                ["the candidate has no GPU events; the baseline has"],
                ["the baseline has no GPU events; the candidate has"]
            ]
        );
        assert_eq!(
            told(|side| side.devices = vec!["NVIDIA A100".to_owned()])[0],
            ["another device: NVIDIA H100 | NVIDIA A100"]
        );
        assert_eq!(
            told(|side| side.vendor = "amd".to_owned())[0],
            ["another device: nvidia | amd"]
        );
        assert_eq!(told(|side| side.world_size = 8)[0], ["another number of ranks: 1 | 8"]);
        // More launches than before are no obstacle.
        let [fewer, more] = told(|side| side.launched_share = 0.5);
        assert_eq!((fewer.len(), more.len()), (1, 0));
        assert!(fewer[0].starts_with("launches are missing: of 50 %"), "{fewer:?}");
    }
}
