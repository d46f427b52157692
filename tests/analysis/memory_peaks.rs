//! Tests for the blocks that are live at memory peaks (live sets), and for reported changes in the peak, in workspaces
//! and in reserved memory.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::traces::{example, real};
use serde_json::{Value, json};
use std::path::PathBuf;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;
use tracetree::analysis::memory::{
    LiveSet, MemoryPlace, MemorySource, live_sets, live_sets_of_steps, memory_timeline,
};
use tracetree::{PerSide, Side};

const GPU: MemoryPlace = MemoryPlace::Gpu(Some(0));

fn recorded(name: &str) -> PathBuf {
    example(&format!("memory/memory_{name}.pt.trace.json.gz"))
}

fn pair(baseline: &str, candidate: &str) -> PerSide<PathBuf> {
    PerSide::new(recorded(baseline), recorded(candidate))
}

/// The kind and the sentence of each reported change in memory use.
fn printed(analysis: &Analysis) -> Vec<(ChangeKind, String)> {
    let kinds =
        [ChangeKind::Leak, ChangeKind::Memory, ChangeKind::Workspace, ChangeKind::Allocator];
    let changes = analysis.changes().list().iter();
    let of_memory = changes.filter(|change| kinds.contains(&change.kind));
    of_memory.map(|change| (change.kind, change.sentence.clone())).collect()
}

fn of_files(baseline: &str, candidate: &str) -> Vec<(ChangeKind, String)> {
    compare_files(pair(baseline, candidate), printed)
}

fn sum(set: &LiveSet, side: Side) -> Option<i64> {
    set.rows.iter().map(|row| row.bytes[side]).sum()
}

#[test]
fn the_parts_of_a_live_set_add_up_to_what_is_allocated_then() {
    let real_pair = |name: &str| {
        let side = |vendor: &str| real(&format!("mi300_h100/{name}.{vendor}.json.gz"));
        Some(PerSide::new(side("mi300")?, side("h100")?))
    };
    let mut pairs: Vec<PerSide<PathBuf>> =
        ["again", "checkpoint", "batch", "leak"].map(|name| pair("base", name)).into();
    pairs.extend(["timesformer", "vit", "bert"].into_iter().filter_map(real_pair));
    for paths in pairs {
        let name = paths.candidate.display().to_string();
        compare_files(paths, |analysis| {
            let sets = live_sets(analysis.diff());
            assert!(sets.iter().any(|set| set.place == GPU), "{name}");
            for set in &sets {
                for side in Side::BOTH {
                    assert_eq!(sum(set, side), set.bytes[side], "{name}");
                }
                let usage =
                    analysis.diff().memory(set.peak_of).device(set.place).expect("a device");
                assert_eq!(set.bytes[set.peak_of], Some(usage.peak()), "{name}");
                let other = set.peak_of.other();
                let most =
                    analysis.diff().memory(other).device(set.place).map(|usage| usage.peak());
                assert!(set.bytes[other] <= most, "{name}");
            }
        });
    }
}

#[test]
fn at_the_matched_call_checkpointing_keeps_no_activations() {
    compare_files(pair("base", "checkpoint"), |analysis| {
        let sets = live_sets(analysis.diff());
        let of_baseline = |set: &&LiveSet| set.place == GPU && set.peak_of == Side::Baseline;
        let set = sets.iter().find(of_baseline).expect("the peak of the baseline");
        assert_eq!(set.call, "aten::_log_softmax_backward_data");
        let gelu = set.rows.iter().filter(|row| row.source.name() == "aten::gelu");
        let bytes: Vec<_> = gelu.map(|row| row.bytes).collect();
        assert_eq!(bytes, [PerSide::new(Some(50_331_648), Some(0))]);
    });
}

#[test]
fn each_matched_step_has_the_live_set_of_its_peak() {
    compare_files(pair("base", "leak"), |analysis| {
        let timeline = memory_timeline(analysis.diff(), analysis.compared());
        let sets: Vec<LiveSet> = live_sets_of_steps(analysis.diff(), analysis.compared()).collect();
        let of_gpu: Vec<&LiveSet> = sets.iter().filter(|set| set.place == GPU).collect();
        assert_eq!(of_gpu.len(), 6, "three steps with two peaks each");
        let mut peaks = Vec::new();
        for set in &sets {
            for side in Side::BOTH {
                assert_eq!(sum(set, side), set.bytes[side]);
            }
            let step = set.step.map(|step| PerSide::new(Some(step.baseline), Some(step.candidate)));
            let row = timeline.iter().find(|row| row.place == set.place && row.step == step);
            let span = row.and_then(|row| row.spans[set.peak_of].as_ref()).expect("the step");
            assert_eq!(set.bytes[set.peak_of], Some(span.peak));
            peaks.extend((set.place == GPU).then_some((set.peak_of, span.peak)));
        }
        // In the baseline, every step has the same peak, to the byte; in the trace with the leak, the peak grows from
        // step to step.
        let of = |side| -> Vec<i64> {
            peaks.iter().filter(|(own, _)| *own == side).map(|(_, peak)| *peak).collect()
        };
        assert_eq!(of(Side::Baseline), [758_096_896; 3]);
        assert!(of(Side::Candidate).is_sorted_by(|one, two| one < two), "{peaks:?}");
    });
}

#[test]
fn exchanged_sides_exchange_the_live_sets() {
    let sets = |paths| compare_files(paths, |analysis: &Analysis| live_sets(analysis.diff()));
    let key = |set: &LiveSet, swaps: bool| {
        let (peak_of, bytes) =
            if swaps { (set.peak_of.other(), set.bytes.swap()) } else { (set.peak_of, set.bytes) };
        format!("{} {peak_of:?} {} {bytes:?} {}", set.place, set.call, set.rows.len())
    };
    let mut one: Vec<String> =
        sets(pair("base", "checkpoint")).iter().map(|set| key(set, false)).collect();
    let mut two: Vec<String> =
        sets(pair("checkpoint", "base")).iter().map(|set| key(set, true)).collect();
    one.sort();
    two.sort();
    assert_eq!(one, two);
}

#[test]
fn a_peak_that_moves_is_a_change_with_its_ops() {
    let sentence = "Peak memory on gpu 0 is 569.2 MB instead of 758.1 MB: −88.1 MB in aten::addmm, −50.3 MB in \
                    aten::gelu, −38.4 MB in aten::empty";
    assert_eq!(of_files("base", "checkpoint"), [(ChangeKind::Memory, sentence.to_owned())]);
    let fragments =
        "Peak memory on gpu 0 is 1.2 GB instead of 758.1 MB: +483.0 MB live before the recording";
    assert_eq!(of_files("base", "fragments"), [(ChangeKind::Memory, fragments.to_owned())]);
    assert_eq!(of_files("base", "again"), []);
}

#[test]
fn what_follows_from_a_leak_is_part_of_it() {
    let kinds = |baseline, candidate| -> Vec<ChangeKind> {
        of_files(baseline, candidate).into_iter().map(|(kind, _)| kind).collect()
    };
    assert_eq!(kinds("base", "leak"), [ChangeKind::Leak]);
    assert_eq!(kinds("leak", "base"), [ChangeKind::Leak]);
    assert_eq!(kinds("base", "empty_cache"), [ChangeKind::Allocator]);
}

/// The TimeSformer traces come from different devices, so memory changes must not be reported. The allocated totals
/// differ by 10 GB, but the memory live at the peak differs by only 9,216 bytes.
#[test]
fn churn_is_not_called_need() {
    let [Some(one), Some(two)] =
        ["mi300", "h100"].map(|vendor| real(&format!("mi300_h100/timesformer.{vendor}.json.gz")))
    else {
        return;
    };
    compare_files(PerSide::new(one, two), |analysis| {
        assert_eq!(printed(analysis), []);
        let usage = |side| analysis.diff().memory(side).device(GPU).expect("a GPU");
        let churn = PerSide::from_fn(|side| {
            usage(side).blocks().iter().map(|block| block.bytes).sum::<i64>()
        });
        let live = PerSide::from_fn(|side| {
            let at = usage(side).peak_event();
            let blocks = usage(side).blocks().iter().filter(|block| block.is_live(at));
            blocks.map(|block| block.bytes).sum::<i64>()
        });
        assert!(churn.baseline.abs_diff(churn.candidate) > 10_000_000_000, "{churn:?}");
        assert_eq!(live.baseline.abs_diff(live.candidate), 9_216, "{live:?}");
    });
}

/// On the MI300X, the peak is in a linear layer that allocates a workspace of 76 MiB; on the H100, this layer allocates
/// 1 MiB. On the H100, the peak is in a later GELU, so the live sets at the two peaks are not comparable.
#[test]
fn peaks_at_different_calls_are_compared_at_the_matched_call() {
    let side = |vendor: &str| real(&format!("mi300_h100/vit.{vendor}.json.gz"));
    let Some((one, two)) = side("mi300").zip(side("h100")) else { return };
    compare_files(PerSide::new(one, two), |analysis| {
        let sets = live_sets(analysis.diff());
        let of_gpu: Vec<&LiveSet> = sets.iter().filter(|set| set.place == GPU).collect();
        let shown: Vec<_> = of_gpu.iter().map(|set| (set.call.as_str(), set.bytes)).collect();
        let expected = [
            ("aten::empty", PerSide::new(Some(272_628_736), Some(227_539_968))),
            ("aten::gelu", PerSide::new(Some(197_778_432), Some(231_332_864))),
        ];
        assert_eq!(shown, expected);
        let workspace = of_gpu[0].rows.iter().find(|row| row.source.name() == "aten::empty");
        let bytes = workspace.map(|row| row.bytes);
        assert_eq!(bytes, Some(PerSide::new(Some(76 << 20), Some(1 << 20))));
        let before = of_gpu[0].rows.iter().find(|row| row.source == MemorySource::Before);
        let before = before.map(|row| row.bytes);
        assert_eq!(before, Some(PerSide::new(Some(181_322_752), Some(214_877_184))));
    });
}

/// A trace of two steps in which `aten::mm` runs a kernel and allocates a workspace of `workspace` bytes. The allocator
/// has reserved `reserved` bytes.
fn made(workspace: i64, reserved: i64, device: i64) -> String {
    let mut all: Vec<Value> = Vec::new();
    let mut order = 0;
    for step in 0..2 {
        let start = 1000 * step;
        let mut call = |name: &str, cat: &str, at: i64, length: i64, args: Value| {
            all.push(json!({
                "ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": start + at, "dur": length,
                "args": args,
            }));
        };
        call(&format!("ProfilerStep#{step}"), "user_annotation", 0, 1000, json!({}));
        call("aten::mm", "cpu_op", 100, 200, json!({"Input Dims": [[8, 8], [8, 8]]}));
        let mut total = 50_000_000;
        for (at, address, bytes) in
            [(110, 1, 90_000_000), (120, 2, workspace), (290, 2, -workspace), (500, 1, -90_000_000)]
        {
            total += bytes;
            order += 1;
            if bytes != 0 {
                all.push(json!({
                    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1,
                    "ts": start + at,
                    "args": {
                        "Device Type": device, "Device Id": 0, "Addr": address, "Bytes": bytes,
                        "Total Allocated": total, "Total Reserved": reserved, "Ev Idx": order,
                    },
                }));
            }
        }
    }
    json!({ "traceEvents": all }).to_string()
}

#[test]
fn a_planted_workspace_is_found_with_its_op() {
    let texts = PerSide::new(made(0, 400_000_000, 1), made(40_000_000, 400_000_000, 1));
    compare_texts(&texts, |analysis| {
        let found = printed(analysis);
        let peak = "Peak memory on gpu 0 is 180.0 MB instead of 140.0 MB: +40.0 MB in aten::mm";
        let workspace = "aten::mm allocates 40.0 MB in 1 temporary block instead of no temporary blocks per step on gpu \
                         0 for the same tensors";
        let expected =
            [(ChangeKind::Memory, peak.to_owned()), (ChangeKind::Workspace, workspace.to_owned())];
        assert_eq!(found, expected);
        assert_eq!(analysis.changes().difference(), tracetree::trace::Nanos::ZERO);
    });
}

#[test]
fn reserved_memory_is_compared_at_one_peak_and_on_one_kind_of_device() {
    let found = |baseline: String, candidate: String| {
        compare_texts(&PerSide::new(baseline, candidate), printed)
    };
    let sentence = "The allocator reserves 500.0 MB instead of 400.0 MB on gpu 0 for the same peak of 140.0 MB";
    let changed = found(made(0, 400_000_000, 1), made(0, 500_000_000, 1));
    assert_eq!(changed, [(ChangeKind::Allocator, sentence.to_owned())]);
    assert_eq!(found(made(0, 400_000_000, 1), made(0, 410_000_000, 1)), []);
    // If the two sides ran on different kinds of GPUs, no change is reported, because such GPUs use different block
    // sizes.
    assert_eq!(found(made(0, 400_000_000, 1), made(40_000_000, 500_000_000, 6)), []);
}

/// A trace with three steps. In the step with index N, `aten::mm` calls `cudaMalloc` `calls[N]` times and runs a
/// kernel.
fn allocating(calls: [i64; 3]) -> String {
    let mut all: Vec<Value> = Vec::new();
    for (step, count) in calls.into_iter().enumerate() {
        let start = 1000 * step as i64;
        let mut call = |name: &str, cat: &str, at: i64, length: i64, args: Value| {
            let tid = if cat == "kernel" { 7 } else { 1 };
            all.push(json!({
                "ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": start + at, "dur": length,
                "args": args,
            }));
        };
        call(&format!("ProfilerStep#{step}"), "user_annotation", 0, 1000, json!({}));
        call("aten::mm", "cpu_op", 100, 200, json!({}));
        for at in 0..count {
            call("cudaMalloc", "cuda_runtime", 110 + 10 * at, 5, json!({}));
        }
        let launch = json!({"correlation": step + 1});
        call("cudaLaunchKernel", "cuda_runtime", 280, 5, launch);
        let args = json!({"correlation": step + 1, "stream": 7, "device": 0});
        call("gemm", "kernel", 300, 50, args);
    }
    json!({ "traceEvents": all }).to_string()
}

#[test]
fn driver_allocations_in_each_step_are_compared() {
    let found = |baseline, candidate| {
        compare_texts(&PerSide::new(allocating(baseline), allocating(candidate)), printed)
    };
    let of = |sentence: &str| [(ChangeKind::Allocator, sentence.to_owned())];
    let only = "Only the candidate calls the driver to allocate or free device memory: 2 cudaMallocs per step";
    assert_eq!(found([0, 0, 0], [2, 2, 2]), of(only));
    let more = "The candidate calls the driver more often to allocate or free device memory: at least 3 times per \
                step instead of at most 2";
    assert_eq!(found([1, 2, 1], [3, 4, 3]), of(more));
    let more = more.replace("candidate", "baseline");
    assert_eq!(found([3, 4, 3], [1, 2, 1]), of(&more));
    // A difference in the number of calls is not reported if only some steps make the call, or if the ranges of these
    // numbers on the two sides overlap.
    assert_eq!(found([0, 0, 0], [2, 0, 0]), []);
    assert_eq!(found([1, 2, 1], [2, 4, 3]), []);
}
