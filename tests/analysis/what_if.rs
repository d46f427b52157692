//! Tests that a replay reproduces the step time of a recording, and that it predicts the known effects of changes that
//! are made to a trace.

use super::support::compared::{compare_files, compare_texts};
use crate::support::enter_root;
use tracetree::PerSide;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;
use tracetree::analysis::replay::{Effect, Limit, Reason, Recorded, Scenario, WhatIf};
use tracetree::program::Program;
use tracetree::trace::{Nanos, ReadOptions};
use tracetree::tree::CallTree;
use tracetree::{Side, Trace};

/// Time on the host between two launches, in µs.
const HOST: f64 = 20.0;
/// Time from the start of a launch call until an idle device starts the kernel, in µs.
const LATENCY: f64 = 6.0;
/// Duration of a launch call, in µs.
const CALL: f64 = 5.0;

/// Simulates a program with three steps and one kernel per op; the kernels run one after another.
#[derive(Clone)]
struct Made {
    events: Vec<String>,
    host: f64,
    free: f64,
    correlation: u32,
    device: u32,
}

impl Made {
    /// The trace of a program that runs `body` in each step.
    fn steps(body: impl Fn(&mut Made)) -> String {
        let mut made =
            Made { events: Vec::new(), host: 100.0, free: 0.0, correlation: 0, device: 0 };
        for number in 1..=3 {
            let start = made.host;
            body(&mut made);
            made.host += HOST;
            let duration = made.host - start - 1.0;
            made.event(
                "user_annotation",
                &format!("ProfilerStep#{number}"),
                1,
                start,
                duration,
                "",
            );
        }
        made.json()
    }

    fn json(&self) -> String {
        format!("{{\"traceEvents\": [{}]}}", self.events.join(",\n"))
    }

    fn event(&mut self, category: &str, name: &str, tid: u32, start: f64, time: f64, args: &str) {
        self.events.push(format!(
            "{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": 1, \"tid\": {tid}, \
             \"ts\": {start:.3}, \"dur\": {time:.3}, \"args\": {{{args}}}}}"
        ));
    }

    /// Adds an op that launches a kernel with the given duration.
    fn op(&mut self, name: &str, kernel: f64) {
        self.op_on(7, 1.0, name, kernel);
    }

    /// Adds an op that launches a kernel on a stream. The kernel starts `gap` µs after the previous one ends, unless its
    /// launch is later.
    fn op_on(&mut self, stream: u32, gap: f64, name: &str, kernel: f64) {
        self.host += HOST;
        let (start, launch) = (self.host, self.host + 2.0);
        self.correlation += 1;
        let id = format!("\"correlation\": {}", self.correlation);
        let begins = (launch + LATENCY).max(self.free + gap);
        self.free = begins + kernel;
        self.host = launch + CALL + 2.0;
        self.event("cpu_op", name, 1, start, self.host - start, "");
        self.event("cuda_runtime", "cudaLaunchKernel", 1, launch, CALL, &id);
        let on = format!("{id}, \"device\": {}, \"stream\": {stream}", self.device);
        self.event("kernel", &format!("{name}_kernel"), stream, begins, kernel, &on);
    }

    /// Adds a Python function that sleeps.
    fn sleep(&mut self, time: f64) {
        self.host += HOST;
        self.event("python_function", "<built-in function sleep>", 1, self.host, time, "");
        self.host += time;
    }

    /// Adds a Python function that encloses the events that `body` adds.
    fn frame(&mut self, name: &str, body: impl FnOnce(&mut Made)) {
        self.host += HOST;
        let start = self.host;
        body(self);
        self.host += HOST;
        self.event("python_function", name, 1, start, self.host - start, "");
    }

    /// Adds a call that waits for the GPU.
    fn synchronise(&mut self) {
        self.host += HOST;
        let start = self.host;
        self.correlation += 1;
        let id = format!("\"correlation\": {}", self.correlation);
        self.host = (self.free + 4.0).max(start + 3.0);
        self.event("cuda_runtime", "cudaDeviceSynchronize", 1, start, self.host - start, &id);
    }
}

fn ops(made: &mut Made, kernel: f64) {
    for name in ["aten::mm", "aten::add", "aten::relu", "aten::softmax"] {
        made.op(name, kernel);
    }
}

/// Adds the same ops as [`ops`], but with a different duration for the softmax kernel.
fn softmax(made: &mut Made, kernel: f64, softmax: f64) {
    for name in ["aten::mm", "aten::add", "aten::relu"] {
        made.op(name, kernel);
    }
    made.op("aten::softmax", softmax);
}

fn recorded(text: &str) -> Result<Recorded, Reason> {
    let trace = Trace::from_reader("made", text.as_bytes(), &ReadOptions::default());
    let program = Program::of(CallTree::build(trace.expect("a trace")));
    Recorded::of(program.tree(), program.steps())
}

/// The replayed step time in ns if every softmax kernel takes `factor` times as long as recorded.
fn scaled(text: &str, factor: f64) -> i64 {
    let trace = Trace::from_reader("made", text.as_bytes(), &ReadOptions::default());
    let program = Program::of(CallTree::build(trace.expect("a trace")));
    let recorded = Recorded::of(program.tree(), program.steps()).expect("a graph");
    recorded.check().expect("a replay that reproduces the recording");
    let is_softmax = |call| program.tree().name(call).contains("softmax");
    let work = |call| if is_softmax(call) { factor } else { 1.0 };
    recorded.replay(&Scenario { work: &work, ..Scenario::RECORDED }).end
}

fn assert_near(found: i64, truth: i64) {
    let allowed = truth.abs() / 20 + 2_000;
    assert!((found - truth).abs() <= allowed, "{found} ns instead of {truth} ns");
}

fn effects(baseline: &str, candidate: &str, look: impl FnOnce(&Analysis)) {
    compare_texts(&PerSide::new(baseline.to_owned(), candidate.to_owned()), look);
}

fn only(analysis: &Analysis) -> Effect {
    let effects = analysis.effects().expect("effects");
    let others = &analysis.changes().list()[1..];
    assert!(others.iter().all(|change| change.kind == ChangeKind::Recording), "{others:?}");
    effects.of_changes[0].expect("an effect")
}

#[test]
fn a_kernel_that_overlaps_with_host_time_has_no_effect() {
    let made = |kernel| Made::steps(|step| softmax(step, 10.0, kernel));
    let (found, truth) = (scaled(&made(10.0), 0.5), recorded(&made(5.0)).expect("a graph"));
    assert_near(found, truth.measured.end);
    assert_eq!(scaled(&made(10.0), 1.0), found);
}

#[test]
fn a_scaled_kernel_has_its_full_effect_if_the_host_runs_ahead() {
    let made = |kernel| Made::steps(|step| softmax(step, 100.0, kernel));
    for factor in [0.5, 2.0, 3.0] {
        let truth = recorded(&made(100.0 * factor)).expect("a graph").measured.end;
        assert_near(scaled(&made(100.0), factor), truth);
        let change = truth - recorded(&made(100.0)).expect("a graph").measured.end;
        assert_near(change, (3.0 * 100_000.0 * (factor - 1.0)) as i64);
    }
}

#[test]
fn a_sleep_costs_its_time_unless_the_gpu_has_a_backlog() {
    let made = |kernel: f64, sleep: f64| {
        Made::steps(|step| {
            // Both sides record Python frames; otherwise the sleep would only have been recorded on one side.
            step.frame("train.py(1): step", |step| ops(step, kernel));
            if sleep > 0.0 {
                step.sleep(sleep);
            }
        })
    };
    effects(&made(10.0, 0.0), &made(10.0, 400.0), |analysis| {
        let effect = only(analysis);
        assert_near(effect.alone.0, 420_000);
        assert_near(effect.last.0, 420_000);
    });
    // In each step, the kernels take 400 µs and therefore hide a sleep of 100 µs.
    effects(&made(100.0, 0.0), &made(100.0, 100.0), |analysis| {
        assert_near(only(analysis).alone.0, 0);
    });
}

#[test]
fn the_own_time_of_a_replaced_function_is_an_effect() {
    let made = |name: &str, between: f64| {
        Made::steps(|step| {
            step.op("aten::embedding", 10.0);
            step.frame(name, |step| {
                for _ in 0..2 {
                    ops(step, 10.0);
                    step.host += between;
                }
            });
        })
    };
    let (once, each) = (made("model.py(3): apply", 0.0), made("model.py(9): each", 150.0));
    effects(&once, &each, |analysis| {
        let Effect { alone, last } = only(analysis);
        assert_near(alone.0, 300_000);
        assert_near(last.0, 300_000);
    });
}

#[test]
fn kernels_of_two_streams_that_wait_for_each_other_keep_their_gap() {
    let text = Made::steps(|step| {
        for number in 0..10 {
            step.op_on(7 + number % 2, 8.0, "aten::mm", 100.0);
        }
        step.synchronise();
    });
    let recorded = recorded(&text).expect("a graph");
    let (replayed, measured) = (recorded.replay(&Scenario::RECORDED).end, recorded.measured.end);
    // Without the gaps, each step would take about 80 µs less.
    assert!((replayed - measured).abs() < 30_000, "{replayed} ns instead of {measured} ns");
}

#[test]
fn a_removed_synchronisation_lets_the_host_run_ahead() {
    let made = |waits: bool| {
        Made::steps(|step| {
            for _ in 0..3 {
                ops(step, 40.0);
                if waits {
                    step.synchronise();
                } else {
                    step.host += HOST + 3.0;
                }
            }
        })
    };
    let truth = recorded(&made(false)).expect("a graph").measured.end;
    let with = recorded(&made(true)).expect("a graph");
    with.check().expect("a replay that reproduces the recording");
    let without = with.replay(&Scenario { waits: &|_| false, ..Scenario::RECORDED }).end;
    assert!(with.measured.end > truth + 50_000, "the waits cost time");
    assert_near(without, truth);
}

#[test]
fn a_host_that_takes_no_time_leaves_the_kernels() {
    let text = Made::steps(|step| ops(step, 10.0));
    let recorded = recorded(&text).expect("a graph");
    let bound = recorded.replay(&Scenario { host: 0.0, ..Scenario::RECORDED }).end;
    // The bound consists of 12 kernels of 10 µs each, 11 gaps of 0 to 1 µs between them, and at most one launch
    // latency.
    assert!((120_000..=120_000 + 11_000 + 6_000).contains(&bound), "{bound} ns");
}

#[test]
fn a_scenario_gives_the_times_of_one_step() {
    let text = Made::steps(|step| ops(step, 10.0));
    let steps = recorded(&text).expect("a graph").measured;
    effects(&text, &text, |analysis| {
        let replays = analysis.replays().expect("graphs");
        let asked = WhatIf::default().host(0.0).expect("a factor");
        let times = asked.step_times(analysis.diff(), &replays, Side::Baseline).expect("times");
        assert_eq!(steps.steps.len(), 3);
        assert_eq!(times.recorded, Nanos(steps.end / 3));
        assert_near(times.replayed.0, times.recorded.0);
        assert!(times.scenario < times.replayed, "{times:?}");
    });
}

#[test]
fn a_trace_compared_with_itself_has_no_effect() {
    let text = Made::steps(|step| ops(step, 50.0));
    effects(&text, &text, |analysis| {
        let effects = analysis.effects().expect("effects");
        assert_eq!(effects.of_changes, []);
        let (none, bounds) = (Effect::default(), analysis.bounds().as_ref().expect("bounds"));
        assert_eq!((effects.joint, bounds.host, bounds.kernels), (none, none, none));
    });
}

#[test]
fn exchanged_sides_have_the_opposite_effect() {
    let made = |added: bool| {
        Made::steps(|step| {
            ops(step, 30.0);
            if added {
                step.op("aten::cumsum", 90.0);
            }
        })
    };
    let one = PerSide::new(made(false), made(true));
    let (mut there, mut back) = (Effect::default(), Effect::default());
    effects(&one.baseline, &one.candidate, |analysis| there = only(analysis));
    effects(&one.candidate, &one.baseline, |analysis| back = only(analysis));
    assert!(there.alone > Nanos(80_000), "{there:?}");
    assert_eq!(back, Effect { alone: -there.last, last: -there.alone });
}

#[test]
fn the_critical_path_adds_up_to_the_step() {
    let text = Made::steps(|step| {
        ops(step, 60.0);
        step.synchronise();
    });
    let recorded = recorded(&text).expect("a graph");
    let path = recorded.critical_path(&Scenario::RECORDED);
    assert_eq!(path.0.iter().sum::<i64>(), recorded.replay(&Scenario::RECORDED).end);
    assert!(path.0.iter().all(|&time| time >= 0), "{path:?}");
    assert!(path.time(tracetree::analysis::replay::PathPart::Work) >= 12 * 60_000 - 3_000);
}

#[test]
fn what_cannot_be_replayed_has_a_reason() {
    let two_devices = Made::steps(|step| {
        ops(step, 10.0);
        step.device = 1 - step.device;
    });
    assert_eq!(recorded(&two_devices).err(), Some(Reason::Devices));
    let skewed = Made::steps(|step| {
        step.free = step.host - 1_000.0;
        let event = step.events.len();
        ops(step, 10.0);
        for text in &mut step.events[event..] {
            // The start times of the kernels are negated, so the kernels start before their launches.
            if text.contains("\"kernel\"") {
                *text = text.replace("\"ts\": ", "\"ts\": -");
            }
        }
    });
    assert_eq!(recorded(&skewed).err(), Some(Reason::Clocks));
    let text = Made::steps(|step| ops(step, 10.0));
    let unlaunched = text.replace("cuda_runtime", "left_out");
    let graph = recorded(&unlaunched).expect("a graph");
    assert_eq!(graph.check(), Err(Reason::Launches));
    effects(&text, &unlaunched, |analysis| {
        let reason = analysis.effects().err();
        assert!(reason.is_some_and(|(_, reason)| !reason.to_string().is_empty()));
    });
}

/// The reason why the effects of changes are unknown in a comparison with the given candidate, and the side on which
/// this reason was found; `None` if the effects are known.
fn reason_of(candidate: &str) -> Option<(Option<Side>, Reason)> {
    let baseline = Made::steps(|step| ops(step, 10.0));
    let mut reason = None;
    effects(&baseline, candidate, |analysis| reason = analysis.effects().err());
    reason
}

#[test]
fn threads_that_launch_at_once_have_no_effect() {
    let two_threads = Made::steps(|step| {
        let first = step.events.len();
        ops(step, 10.0);
        // The second thread makes the same calls as the first thread at the same times, but launches work on its own
        // stream.
        let on_second = |text: &String| {
            text.replace("\"tid\": 1,", "\"tid\": 2,")
                .replace("\"tid\": 7,", "\"tid\": 8,")
                .replace("\"stream\": 7", "\"stream\": 8")
                .replace("\"correlation\": ", "\"correlation\": 1000")
        };
        let second: Vec<String> = step.events[first..].iter().map(on_second).collect();
        step.events.extend(second);
    });
    assert_eq!(reason_of(&two_threads), Some((Some(Side::Candidate), Reason::Threads)));
}

#[test]
fn a_cut_off_recording_has_no_effect() {
    let text = Made::steps(|step| ops(step, 10.0));
    let cut_off = &text[..text.len() * 3 / 4];
    assert_eq!(reason_of(cut_off), Some((Some(Side::Candidate), Reason::Damaged)));
}

#[test]
fn a_trace_without_steps_is_replayed_as_one_window() {
    let without_steps = |softmax_kernel: f64| {
        let text = Made::steps(|step| {
            softmax(step, 40.0, softmax_kernel);
            step.synchronise();
        });
        // Replaces the step annotations with metadata events.
        text.replace("\"ph\": \"X\", \"cat\": \"user_annotation\"", "\"ph\": \"M\", \"cat\": \"\"")
    };
    let (once, twice) = (without_steps(40.0), without_steps(80.0));
    let recorded = recorded(&twice).expect("a graph");
    assert_eq!(recorded.check(), Ok(()));
    assert_near(scaled(&once, 2.0), recorded.replay(&Scenario::RECORDED).end);
    assert!(scaled(&once, 2.0) > scaled(&once, 1.0) + 100_000);
}

#[test]
fn a_delay_that_the_graph_does_not_know_is_not_reproduced() {
    // The GPU starts each kernel in the last step 300 µs late, although the host does not wait.
    let text = Made::steps(|step| {
        let is_last = step.events.len() > 13;
        for name in ["aten::mm", "aten::add"] {
            step.free += if is_last { 300.0 } else { 0.0 };
            step.op(name, 10.0);
        }
    });
    let check = recorded(&text).expect("a graph").check();
    assert!(matches!(check, Err(Reason::NotReproduced(_))), "{check:?}");
}

fn h100(name: &str) -> String {
    format!("examples/traces/h100/{name}.pt.trace.json.gz")
}

fn compare_h100(baseline: &str, candidate: &str, look: impl FnOnce(&Analysis)) {
    compare_files(PerSide::new(h100(baseline), h100(candidate)), look);
}

#[test]
fn recorded_steps_are_reproduced() {
    enter_root();
    for name in ["resnet_eager", "resnet_amp", "tfm_math", "train_item", "decode_graph_streams"] {
        let program = Program::of(CallTree::build(Trace::open(h100(name)).expect("a trace")));
        let recorded = Recorded::of(program.tree(), program.steps()).expect("a graph");
        assert_eq!(recorded.check(), Ok(()), "{name}");
    }
}

/// The loader sleeps for 4 ms, but the recordings differ by 7.1 ms, of which 3 ms are noise.
#[test]
fn a_sleep_is_separated_from_noise() {
    compare_h100("train_base", "train_loader", |analysis| {
        let Effect { alone, last } = only(analysis);
        assert_near(alone.0, 4_000_000);
        assert_near(last.0, 4_000_000);
        let bounds = analysis.bounds().as_ref().expect("bounds");
        let checks = bounds.checks.map(|check| check.recorded);
        assert!(checks.candidate - checks.baseline > Nanos(7_000_000));
        assert!(bounds.host.alone > Nanos(2_500_000));
    });
}

/// Based on the durations in the files, `_single_tensor_adam` takes 6.14 ms longer per step than `_multi_tensor_adam`.
/// The candidate also saves 0.09 ms in an earlier part of each step. The recordings differ by 9.38 ms.
#[test]
fn an_optimizer_that_loops_over_tensors_costs_the_time_of_its_loop() {
    compare_h100("train_base", "train_foreach_off", |analysis| {
        let Effect { alone, last } = only(analysis);
        assert_near(alone.0, 6_050_000);
        assert_near(last.0, 6_050_000);
    });
}

/// Part of the additional convolution time has no effect, because it overlaps with host time.
#[test]
fn hidden_gpu_time_is_attributed_but_has_no_effect() {
    compare_h100("resnet_eager", "resnet_tf32_off", |analysis| {
        let effect = only(analysis);
        let cost = analysis.changes().list()[0].cost;
        assert!(effect.alone > Nanos(1_500_000) && effect.alone < cost - Nanos(1_000_000));
        assert!(effect.last > Nanos(1_500_000) && effect.last < cost - Nanos(1_000_000));
    });
}

#[test]
fn a_host_that_takes_no_time_predicts_the_captured_graph() {
    compare_h100("decode_eager", "decode_graph", |analysis| {
        let bounds = analysis.bounds().as_ref().expect("bounds");
        let at = Limit::ALL.iter().position(|&limit| limit == Limit::Host).expect("a limit");
        let bound = bounds.limits[at].baseline;
        let graph = bounds.checks.candidate.recorded;
        assert!(bound < graph && bound.0 * 10 > graph.0 * 8, "{bound} of {graph} µs");
    });
}

#[test]
fn runs_of_one_program_have_no_effect_but_noise() {
    compare_h100("resnet_eager", "resnet_eager_again", |analysis| {
        let effects = analysis.effects().expect("effects");
        assert_eq!(effects.joint, Effect::default());
        let bounds = analysis.bounds().as_ref().expect("bounds");
        let checks = bounds.checks.map(|check| check.recorded);
        let noise = bounds.host.alone + bounds.kernels.alone;
        let rest = (checks.candidate - checks.baseline - noise).abs();
        assert!(rest < Nanos(50_000), "{rest} µs");
        for side in Side::BOTH {
            let path: Nanos = bounds.paths[side].time.iter().copied().sum();
            assert!((path - bounds.checks[side].replayed).abs() < Nanos(10), "{path} µs");
        }
    });
}
