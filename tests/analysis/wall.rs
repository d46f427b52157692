//! Tests for the attribution of wall time, in edge cases and on real traces.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::recount::{Recount, recount};
use crate::support::traces;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tracetree::analysis::Analysis;
use tracetree::analysis::steps::WallBasis;
use tracetree::analysis::wall::{IdleKind, Part, idle_owner_name};
use tracetree::{PerSide, Side};
use tracetree_gate::Recorder;

/// A trace built from events, with times in µs.
#[derive(Default)]
struct Events(Vec<Value>);

impl Events {
    fn host(mut self, category: &str, name: &str, tid: i64, span: (f64, f64)) -> Self {
        self.0.push(json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid,
            "ts": span.0, "dur": span.1 - span.0, "args": {}}));
        self
    }

    fn op(self, name: &str, span: (f64, f64)) -> Self {
        self.host("cpu_op", name, 1, span)
    }

    fn step(self, number: u32, span: (f64, f64)) -> Self {
        self.host("user_annotation", &format!("ProfilerStep#{number}"), 1, span)
    }

    fn launch(mut self, id: i64, span: (f64, f64)) -> Self {
        self = self.host("cuda_runtime", "cudaLaunchKernel", 1, span);
        self.0.last_mut().expect("an event")["args"]["correlation"] = json!(id);
        self
    }

    fn kernel(self, id: i64, span: (f64, f64)) -> Self {
        self.kernel_on(id, (0, 7), span)
    }

    /// Adds a kernel on a given device and stream.
    fn kernel_on(mut self, id: i64, place: (i64, i64), span: (f64, f64)) -> Self {
        self.0.push(json!({"ph": "X", "cat": "kernel", "name": format!("kernel_{id}"),
            "pid": place.0, "tid": place.1, "ts": span.0, "dur": span.1 - span.0,
            "args": {"correlation": id, "device": place.0, "stream": place.1}}));
        self
    }

    fn json(self) -> String {
        json!({ "traceEvents": self.0 }).to_string()
    }
}

/// Idle time in the baseline in ns, grouped by kind and by the call that the idle time is attributed to.
fn idle(analysis: &Analysis) -> BTreeMap<(&'static str, String), i64> {
    let mut sums = BTreeMap::new();
    for row in analysis.wall().idle().iter().filter(|row| row.part == Part::Window) {
        let time = row.time.baseline.0;
        if time != 0 {
            *sums
                .entry((row.kind.label(), idle_owner_name(analysis.diff(), row).into_owned()))
                .or_default() += time;
        }
    }
    sums
}

fn owners(expected: &[(&'static str, &str, i64)]) -> BTreeMap<(&'static str, String), i64> {
    expected.iter().map(|&(kind, name, time)| ((kind, name.to_owned()), time)).collect()
}

/// Compares a trace with itself and passes the analysis to `look`.
fn alone(events: Events, look: impl FnOnce(&Analysis)) {
    let text = events.json();
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        assert!(analysis.wall().is_exact());
        assert_eq!(analysis.wall().totals(Side::Baseline), analysis.wall().totals(Side::Candidate));
        look(analysis);
    });
}

#[test]
fn a_gap_belongs_to_the_calls_before_the_launch_and_then_to_its_latency() {
    let events = Events::default()
        .step(0, (0.0, 100.0))
        .op("load", (10.0, 40.0))
        .op("decode", (15.0, 25.0))
        .op("aten::mm", (50.0, 70.0))
        .launch(1, (60.0, 65.0))
        .kernel(1, (68.0, 90.0));
    alone(events, |analysis| {
        let expected = owners(&[
            ("host", "(between calls)", 20_000),
            ("host", "load", 20_000),
            ("host", "decode", 10_000),
            ("host", "aten::mm", 10_000),
            ("latency", "cudaLaunchKernel", 8_000),
            ("tail", "(between calls)", 10_000),
        ]);
        assert_eq!(idle(analysis), expected);
        let totals = analysis.wall().totals(Side::Baseline);
        assert_eq!((totals.wall.0, totals.busy.0, totals.steps), (100_000, 22_000, 1));
    });
}

#[test]
fn waiting_for_an_idle_gpu_is_sync() {
    let events = Events::default()
        .step(0, (0.0, 50.0))
        .launch(1, (0.0, 5.0))
        .kernel(1, (5.0, 20.0))
        .host("cuda_runtime", "cudaStreamSynchronize", 1, (6.0, 26.0))
        .launch(2, (30.0, 35.0))
        .kernel(2, (40.0, 50.0));
    alone(events, |analysis| {
        let found = idle(analysis);
        assert_eq!(found[&("sync", "cudaStreamSynchronize".to_owned())], 6_000);
        let sync = analysis.wall().idle().iter().find(|row| row.kind == IdleKind::Sync);
        let waited = sync.and_then(|row| row.waited_for.baseline).expect("something waited for");
        assert_eq!(analysis.tree(Side::Baseline).name(waited), "kernel_1");
    });
}

#[test]
fn idle_time_despite_queued_work_is_queue() {
    let events = Events::default()
        .step(0, (0.0, 60.0))
        .launch(1, (0.0, 1.0))
        .launch(2, (1.0, 2.0))
        .kernel(1, (3.0, 20.0))
        .kernel(2, (25.0, 60.0));
    alone(events, |analysis| {
        let queue = analysis.wall().idle_of_kind(Side::Baseline, IdleKind::Queue);
        assert_eq!(queue.0, 5_000);
    });
}

#[test]
fn a_kernel_that_starts_before_its_launch_has_no_latency() {
    let events =
        Events::default().step(0, (0.0, 50.0)).launch(1, (30.0, 35.0)).kernel(1, (20.0, 50.0));
    alone(events, |analysis| {
        assert_eq!(idle(analysis), owners(&[("host", "(between calls)", 20_000)]));
        let note = analysis.wall().notes().get("GPU_BEFORE_LAUNCH").expect("a note");
        assert_eq!(note.count, 2, "one on each side");
    });
}

#[test]
fn a_moment_in_which_two_streams_or_devices_run_counts_once() {
    let events = Events::default()
        .step(0, (0.0, 50.0))
        .launch(1, (0.0, 1.0))
        .launch(2, (1.0, 2.0))
        .launch(3, (2.0, 3.0))
        .kernel_on(1, (0, 7), (10.0, 30.0))
        .kernel_on(2, (0, 8), (20.0, 40.0))
        .kernel_on(3, (1, 7), (35.0, 50.0));
    alone(events, |analysis| {
        let totals = analysis.wall().totals(Side::Baseline);
        assert_eq!((totals.busy.0, totals.idle.0), (40_000, 10_000));
        let busy: Vec<i64> = analysis.wall().busy().iter().map(|time| time.baseline.0).collect();
        assert_eq!(busy, [20_000, 10_000, 10_000]);
    });
}

#[test]
fn work_that_runs_after_the_last_step_belongs_to_it() {
    let events =
        Events::default().step(0, (0.0, 20.0)).launch(1, (5.0, 6.0)).kernel(1, (10.0, 70.0));
    alone(events, |analysis| {
        assert_eq!(analysis.wall().totals(Side::Baseline).wall.0, 70_000);
    });
}

#[test]
fn work_launched_before_the_window_is_listed_separately() {
    // The trace does not contain the launches of kernel_9 and kernel_8, and kernel_1 was launched before the step. The
    // step launches kernel_2. Only kernel_8 runs later than kernel_2.
    let events = Events::default()
        .launch(1, (-20.0, -10.0))
        .step(0, (0.0, 100.0))
        .launch(2, (5.0, 6.0))
        .kernel(9, (0.0, 10.0))
        .kernel(1, (12.0, 30.0))
        .kernel(2, (30.0, 60.0))
        .kernel(8, (70.0, 100.0));
    alone(events, |analysis| {
        let totals = analysis.wall().totals(Side::Baseline);
        assert_eq!((totals.wall.0, totals.before.0), (100_000, 30_000));
        assert_eq!((totals.busy.0, totals.idle.0), (60_000, 10_000));
        assert_eq!(idle(analysis), owners(&[("unknown", "(launch not in trace)", 10_000)]));
    });
}

#[test]
fn a_trace_without_host_calls_has_busy_and_unknown_time() {
    let events = Events::default().kernel(1, (0.0, 10.0)).kernel(2, (15.0, 20.0));
    alone(events, |analysis| {
        assert_eq!(analysis.compared().basis(), WallBasis::Events);
        let totals = analysis.wall().totals(Side::Baseline);
        assert_eq!((totals.wall.0, totals.busy.0, totals.before.0), (20_000, 15_000, 0));
        assert_eq!(idle(analysis), owners(&[("unknown", "(launch not in trace)", 5_000)]));
    });
}

#[test]
fn without_gpu_events_the_wall_time_is_that_of_the_host() {
    let events = Events::default()
        .step(0, (0.0, 100.0))
        .host("python_function", "train.py(1): step", 1, (0.0, 80.0))
        .op("aten::linear", (10.0, 50.0))
        .op("aten::addmm", (20.0, 40.0))
        .host("cpu_op", "backward", 2, (45.0, 70.0));
    alone(events, |analysis| {
        let totals = analysis.wall().totals(Side::Baseline);
        assert_eq!((totals.wall.0, totals.busy.0, totals.idle.0), (100_000, 60_000, 40_000));
        let expected =
            owners(&[("host", "train.py(1): step", 10_000), ("tail", "(between calls)", 30_000)]);
        assert_eq!(idle(analysis), expected);
    });
}

#[test]
fn sides_with_different_step_counts_are_compared_per_step() {
    let steps = |count: u32| {
        let mut events = Events::default();
        for step in 0..count {
            let at = f64::from(step) * 100.0;
            let id = i64::from(step) + 1;
            events = events
                .step(step, (at, at + 100.0))
                .launch(id, (at + 10.0, at + 20.0))
                .kernel(id, (at + 30.0, at + 60.0));
        }
        events.json()
    };
    compare_texts(&PerSide::new(steps(2), steps(3)), |analysis| {
        let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
        assert_eq!((totals.baseline.steps, totals.candidate.steps), (2, 2));
        assert_eq!((totals.baseline.alone.0, totals.candidate.alone.0), (0, 100_000));
        // The gap that precedes the third step's kernel begins in the second step, so its time is attributed to the
        // second step.
        assert_eq!(totals.map(|side| side.own().0), PerSide::new(200_000, 200_000));
        let idle = |side: Side, kind| analysis.wall().idle_of_kind(side, kind).0;
        for kind in IdleKind::ALL {
            assert_eq!(idle(Side::Baseline, kind), idle(Side::Candidate, kind), "{kind:?}");
        }
        assert!(analysis.wall().is_exact());
    });
}

#[test]
fn if_one_side_has_no_steps_the_whole_traces_are_compared() {
    let events = |first: Events| first.launch(1, (0.0, 5.0)).kernel(1, (10.0, 30.0)).json();
    let texts =
        PerSide::new(events(Events::default().step(0, (0.0, 50.0))), events(Events::default()));
    compare_texts(&texts, |analysis| {
        assert_eq!(analysis.compared().basis(), WallBasis::Events);
        for side in Side::BOTH {
            assert_eq!(analysis.wall().totals(side).wall.0, 20_000);
        }
    });
}

/// The wall-time values that the library computes, in the form of a [`Recount`].
fn counted(analysis: &Analysis, side: Side) -> Recount {
    let totals = analysis.wall().totals(side);
    let mut sums = Recount {
        steps: totals.steps as i64,
        wall: totals.wall.0,
        busy: totals.busy.0,
        ..Recount::default()
    };
    for row in analysis.wall().idle() {
        let time = row.time[side].0;
        let kind = match row.kind {
            IdleKind::Host | IdleKind::Sync => "host",
            IdleKind::Latency => "latency",
            IdleKind::Queue => "queue",
            IdleKind::Tail => "tail",
            IdleKind::Unknown => "unknown",
        };
        if time == 0 {
            continue;
        }
        *sums.idle.entry(kind).or_default() += time;
        if kind == "host" {
            let node = row.owner.map(|owner| analysis.diff().merged().node(owner));
            let call = node.and_then(|node| node.call(side)).expect("a call of this side");
            let tree = analysis.tree(side);
            let name = tree.event(call).map_or("(between calls)", |_| tree.name(call));
            *sums.host.entry(name.to_owned()).or_default() += time;
        }
    }
    sums.idle.entry("tail").or_default();
    sums
}

/// Checks a pair of real traces against a recount of their raw JSON, and passes both recounts to `look`.
fn recounted(baseline: &str, candidate: &str, look: impl FnOnce(PerSide<Recount>)) {
    let (Some(a), Some(b)) = (traces::real(baseline), traces::real(candidate)) else { return };
    let paths = PerSide::new(a, b);
    let expected = paths.as_ref().map(|path| recount(path));
    compare_files(paths, |analysis| {
        for side in Side::BOTH {
            assert_eq!(counted(analysis, side), expected[side]);
        }
    });
    look(expected);
}

fn per_step_ms(sums: &Recount, nanos: i64) -> f64 {
    nanos as f64 / sums.steps as f64 / 1e6
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 0.051, "{value} is not {expected}");
}

#[test]
fn data_loading_in_four_workers_takes_a_fifth_off_the_step() {
    let (one, four) =
        ("old/resnet50_2021.num_workers_0.json.gz", "old/resnet50_2021.num_workers_4.json.gz");
    recounted(one, four, |sums| {
        let ms = |side: Side, nanos: i64| per_step_ms(&sums[side], nanos);
        let (a, b) = (Side::Baseline, Side::Candidate);
        near(ms(a, sums[a].wall), 177.6);
        near(ms(b, sums[b].wall), 141.1);
        near(ms(a, sums[a].idle["host"]), 72.0);
        near(ms(b, sums[b].idle["host"]), 26.3);
        near(ms(a, sums[a].idle["latency"]), 3.3);
        near(ms(b, sums[b].idle["latency"]), 10.4);
        let loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
        near(ms(a, sums[a].host[loader]), 37.8);
        assert_eq!(sums[b].host.get(loader), None);
        let share = |side: Side| 1.0 - sums[side].busy as f64 / sums[side].wall as f64;
        assert!((share(a) - 0.43).abs() < 0.005 && (share(b) - 0.27).abs() < 0.005);
    });
}

#[test]
fn one_model_on_two_platforms_has_the_wall_time_of_its_raw_events() {
    for (model, change) in [("vit", 5.9), ("bert", 10.5), ("timesformer", -2.1)] {
        let file = |device: &str| format!("mi300_h100/{model}.{device}.json.gz");
        recounted(&file("mi300"), &file("h100"), |sums| {
            let change_found =
                100.0 * (sums.candidate.wall as f64 / sums.baseline.wall as f64 - 1.0);
            near(change_found, change);
        });
    }
}

/// The step times that `diff` and `gate` report for two traces, in µs.
fn step_times(paths: PerSide<&std::path::Path>) -> PerSide<[f64; 2]> {
    let mut times = PerSide::new([0.0; 2], [0.0; 2]);
    compare_files(paths, |analysis| {
        for side in Side::BOTH {
            let mut recorder = Recorder::default();
            recorder.add(analysis.tree(side).clone()).expect("a run");
            times[side] = [
                analysis.wall().totals(side).step_ms() * 1e3,
                recorder.finish().expect("a run").times["step_wall"][0],
            ];
        }
    });
    times
}

#[test]
fn diff_and_gate_report_the_same_step_time_for_the_same_trace() {
    let mut pairs = traces::example_pairs();
    let h100 = |a: &str, b: &str| PerSide::new(traces::h100(a), traces::h100(b));
    pairs.push(h100("train_five_steps", "train_five_steps"));
    pairs.push(h100("resnet_eager", "resnet_tf32_off"));
    pairs.push(h100("decode_eager", "decode_graph"));
    if let Some(folder) = traces::real("torch215") {
        let path = |name: &str| folder.join(format!("cnn_{name}.json.gz"));
        pairs.push(PerSide::new(path("base_1"), path("sleep_1")));
    }
    pairs.extend(traces::real_pairs());
    for pair in &pairs {
        let times = step_times(pair.as_ref().map(std::path::PathBuf::as_path));
        for side in Side::BOTH {
            let [diff, gate] = times[side];
            assert!((diff - gate).abs() < 1e-6, "{}: {diff} {gate}", pair[side].display());
        }
    }
}
