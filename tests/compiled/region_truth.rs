//! Changes recordings by compiling or fusing known sequences of ops, and counts the regions and fusions that the
//! library finds.
//!
//! Generated traces are always tested; real traces are tested only if `TRACETREE_TRACES` names
//! their folder.

#![expect(clippy::print_stdout, reason = "which ones are missed is what the bench is kept for")]

use crate::support::files::{real_traces, unpacked};
use crate::support::planted::{Fuse, PlantedFusion, PlantedRegion, with_fusions, with_regions};
use crate::support::recording::Recording;
use crate::support::resnet::training;
use crate::support::splitmix::SplitMix;
use crate::support::trace_builder::Platform;
use std::collections::BTreeMap;
use tracetree::analysis::fusion::{FusionRow, KernelChange};
use tracetree::diff::TraceDiff;
use tracetree::trace::{ReadOptions, Trace, Uid};
use tracetree::tree::CallTree;
use tracetree::{Analysis, Side};

/// `REGIONS` is the minimum fraction of planted regions that must be matched with exactly the calls they replaced.
/// `CLAIMED` is the minimum fraction of planted fusions that must be reported.
const REGIONS: f64 = 0.99;
const CLAIMED: f64 = 0.95;
/// Minimum fraction of reported fusions that must be true.
const TRUE: f64 = 0.98;

const REAL: [&str; 10] = [
    "mi300_h100/vit.mi300.json.gz",
    "mi300_h100/vit.h100.json.gz",
    "mi300_h100/bert.h100.json.gz",
    "mi300_h100/bert.mi300.json.gz",
    "mi300_h100/timesformer.h100.json.gz",
    "mi300_h100/timesformer.mi300.json.gz",
    "training/resnet50_ddp.a100.json.gz",
    "training/resnet_act_checkpoint.mi300.json.gz",
    "training/eager.a100.json.gz",
    "inference/vllm_eager.b200.json.gz",
];

fn generated() -> Vec<(String, Recording)> {
    let recorded = |platform| {
        let json = training(platform, 3).json();
        Recording::read(json.as_bytes()).expect("a built trace is a trace")
    };
    vec![
        ("ROCm".to_owned(), recorded(Platform::Rocm)),
        ("CUDA".to_owned(), recorded(Platform::Cuda)),
    ]
}

fn real() -> Vec<(String, Recording)> {
    let Some(folder) = real_traces() else { return Vec::new() };
    let read = |name: &str| {
        let bytes = unpacked(&folder.join(name)).expect("a trace");
        Recording::read(&bytes).expect("a trace")
    };
    REAL.iter().map(|name| ((*name).to_owned(), read(name))).collect()
}

fn compared(baseline: &Recording, candidate: &Recording) -> TraceDiff {
    let tree = |recording: &Recording| {
        let bytes = recording.write();
        let trace = Trace::from_reader("t", &bytes[..], &ReadOptions::default());
        CallTree::build(trace.expect("a recording is a trace"))
    };
    TraceDiff::new(tree(baseline), tree(candidate))
}

/// All compiled regions on one side, each with its matched calls.
fn faced(diff: &TraceDiff, side: Side) -> Vec<PlantedRegion> {
    let uid = |side: Side, call| {
        let trace = diff.tree(side).trace();
        let Uid(uid) = trace.uid(diff.tree(side).event(call).expect("an event"));
        uid
    };
    let of_side = diff.regions().iter().filter(|region| region.side == side);
    let mut found: Vec<PlantedRegion> = of_side
        .map(|region| {
            let mut replaced: Vec<u32> =
                region.replaced.iter().map(|&call| uid(side.other(), call)).collect();
            replaced.sort_unstable();
            PlantedRegion { region: uid(side, region.call), replaced }
        })
        .collect();
    found.sort();
    found
}

/// The number of planted regions that are matched with exactly the calls they replaced, and the total number of
/// planted regions.
fn exact(recording: &Recording, seed: u64, lines: &mut Vec<String>) -> (usize, usize) {
    let Some((changed, planted)) = with_regions(recording, 20, &mut SplitMix::new(seed)) else {
        return (0, 0);
    };
    let diff = compared(recording, &changed);
    let found = faced(&diff, Side::Candidate);
    let turned = faced(&compared(&changed, recording), Side::Baseline);
    assert_eq!(found, turned, "the mirrored comparison must agree");
    let sorted = |region: &PlantedRegion| {
        let mut region = region.clone();
        region.replaced.sort_unstable();
        region
    };
    let is_found = |region: &&PlantedRegion| found.contains(&sorted(region));
    let names = |uids: &[u32]| -> Vec<&str> {
        uids.iter().map(|&uid| &*recording.events[uid as usize].name).collect()
    };
    for missed in planted.iter().filter(|region| !is_found(region)) {
        let instead = found.iter().find(|region| region.region == missed.region);
        let relation = |side: Side, uid: u32| {
            let trace = diff.tree(side).trace();
            let call = trace.event_at(Uid(uid)).and_then(|event| diff.tree(side).call_of(event));
            call.map(|call| {
                let counterpart = diff.counterpart(side, call);
                let other = diff.tree(side.other());
                (
                    diff.relation(side, call).label(),
                    counterpart.map(|call| other.name(call).to_owned()),
                )
            })
        };
        let of_members: Vec<_> =
            missed.replaced.iter().map(|&uid| relation(Side::Baseline, uid)).collect();
        lines.push(format!(
            "seed {seed}: region {:?}, members {of_members:?}: {:?} {:?} → {:?}",
            relation(Side::Candidate, missed.region),
            missed.replaced,
            names(&missed.replaced),
            instead.map(|region| (&region.replaced, names(&region.replaced))),
        ));
    }
    (planted.iter().filter(is_found).count(), planted.len())
}

fn regions_are_exact(traces: &[(String, Recording)]) {
    let (mut right, mut all) = (0, 0);
    let mut lines = Vec::new();
    for (name, recording) in traces {
        for seed in 1..3 {
            let (some, of) = exact(recording, seed, &mut lines);
            println!("{name}, seed {seed}: {some} of {of}");
            right += some;
            all += of;
        }
    }
    println!("{}", lines.join("\n"));
    println!("{right} of {all} regions face exactly what they replaced");
    let enough = right as f64 >= REGIONS * all as f64;
    assert!(enough, "{right} of {all}\n{}", lines.join("\n"));
}

#[test]
fn regions_of_generated_traces_are_matched_with_what_they_replaced() {
    regions_are_exact(&generated());
}

#[test]
fn regions_of_real_traces_are_matched_with_what_they_replaced() {
    regions_are_exact(&real());
}

/// Counts that show how many planted fusions are reported, and how many reported fusions are true.
#[derive(Debug, Default, Clone, Copy)]
struct Claims {
    planted: usize,
    /// Number of planted fusions that are reported.
    claimed: usize,
    claims: usize,
    /// Number of reported fusions that name the correct side and whose fused kernels are all planted.
    right: usize,
    /// Number of correct fusions that also report the correct number of replaced kernels.
    exact: usize,
}

fn claims(analysis: &Analysis, planted: &[PlantedFusion], fused: Side, how: Fuse) -> Claims {
    let of_name: BTreeMap<&str, usize> =
        planted.iter().map(|fusion| (fusion.kernel.as_str(), fusion.kernels)).collect();
    let rows = analysis.fusions();
    let claimed: Vec<&FusionRow> =
        rows.iter().filter(|row| matches!(row.change, KernelChange::FusedIn(..))).collect();
    let is_right = |row: &&FusionRow| {
        matches!(row.change, KernelChange::FusedIn(side, _) if side == fused)
            && row.kernels[fused].keys().all(|name| of_name.contains_key(name.as_str()))
    };
    let is_exact = |row: &&FusionRow| {
        let names = &row.kernels[fused];
        let stands_for: Option<Vec<usize>> = names
            .iter()
            .map(|(name, &count)| Some(of_name.get(name.as_str())? * count as usize))
            .collect();
        stands_for
            .is_some_and(|counts| counts.iter().sum::<usize>() == row.kernel_count[fused.other()])
    };
    let right: Vec<&&FusionRow> = claimed.iter().filter(|row| is_right(row)).collect();
    let is_claimed = |fusion: &&PlantedFusion| {
        right.iter().any(|row| row.kernels[fused].contains_key(&fusion.kernel))
    };
    for missed in planted.iter().filter(|fusion| !is_claimed(fusion)) {
        println!("{how:?}: not claimed: {missed:?}");
        for row in rows.iter().filter(|row| row.kernels[fused].contains_key(&missed.kernel)).take(3)
        {
            println!("    {:?} {:?} {:?}", row.change, row.kernel_count, row.ops);
        }
    }
    for row in claimed.iter().filter(|row| !is_right(row)) {
        println!("{how:?}: not true: {:?} {:?} {:?}", row.change, row.ops, row.kernels[fused]);
    }
    Claims {
        planted: planted.len(),
        claimed: planted.iter().filter(is_claimed).count(),
        claims: claimed.len(),
        right: right.len(),
        exact: right.iter().filter(|row| is_exact(row)).count(),
    }
}

fn fusions_are_found(traces: &[(String, Recording)]) {
    let mut all = Claims::default();
    for (name, recording) in traces {
        for how in [Fuse::Named, Fuse::Otherwise, Fuse::Attention, Fuse::Products] {
            let Some((changed, planted)) = with_fusions(recording, how, &mut SplitMix::new(1))
            else {
                continue;
            };
            let (before, after) = match how {
                Fuse::Products => (&changed, recording),
                Fuse::Named | Fuse::Otherwise | Fuse::Attention => (recording, &changed),
            };
            let forth =
                claims(&Analysis::new(compared(before, after)), &planted, Side::Candidate, how);
            let back =
                claims(&Analysis::new(compared(after, before)), &planted, Side::Baseline, how);
            println!("{name}, {how:?}: {forth:?}, exchanged {back:?}");
            for of in [forth, back] {
                all.planted += of.planted;
                all.claimed += of.claimed;
                all.claims += of.claims;
                all.right += of.right;
                all.exact += of.exact;
            }
        }
    }
    println!("{all:?}");
    assert!(all.claimed as f64 >= CLAIMED * all.planted as f64, "{all:?}");
    assert!(all.right as f64 >= TRUE * all.claims as f64, "{all:?}");
}

#[test]
fn fusions_of_generated_traces_are_found() {
    fusions_are_found(&generated());
}

#[test]
fn fusions_of_real_traces_are_found() {
    fusions_are_found(&real());
}
