//! Checks the bill: its lines add up, the sides can be exchanged, one change has one price against any baseline, and known
//! changes of a simulated program have the price that an independent scheduler computes.

use crate::support::compared::{analyse_texts, compare_files};
use crate::support::splitmix::SplitMix;
use crate::support::traces::real;
use std::collections::BTreeMap;
use tracetree::analysis::Analysis;
use tracetree::analysis::bill::{Bill, BillKind};
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

fn bundled(name: &str) -> String {
    format!("examples/traces/{name}.pt.trace.json.gz")
}

const PAIRS: [(&str, &str); 16] = [
    ("h100/resnet_eager", "h100/resnet_tf32_off"),
    ("h100/resnet_eager", "h100/resnet_amp"),
    ("h100/resnet_eager", "h100/resnet_channels_last"),
    ("h100/resnet_eager", "h100/resnet_compiled"),
    ("h100/train_base", "h100/train_again"),
    ("h100/train_base", "h100/train_loader"),
    ("h100/train_base", "h100/train_item"),
    ("h100/train_base", "h100/train_layer_gone"),
    ("h100/train_base", "h100/train_five_steps"),
    ("h100/tfm_flash", "h100/tfm_math"),
    ("h100/decode_eager", "h100/decode_graph"),
    ("known/gpu_base", "known/gpu_sync"),
    ("known/host_base", "known/host_sleep"),
    ("cpu/cpu_base", "cpu/cpu_graph_break"),
    ("cpu/cpu_compiled", "cpu/cpu_dropout"),
    ("cpu/gpt_base", "cpu/gpt_plain_attention"),
];

fn bill(one: &str, two: &str) -> (Bill, Nanos) {
    let (one, two) = (bundled(one), bundled(two));
    compare_files(PerSide::new(one.as_str(), two.as_str()), |analysis| {
        (analysis.bill().clone(), analysis.changes().difference())
    })
}

fn sum(bill: &Bill) -> Nanos {
    bill.lines().iter().map(|line| line.price).sum()
}

#[test]
fn the_prices_add_up_and_change_their_sign_with_the_direction() {
    let mut with_rest = 0;
    for (one, two) in PAIRS {
        let (forward, difference) = bill(one, two);
        assert!(forward.is_priced(), "{one} -> {two}: {:?}", forward.unknown());
        assert_eq!(sum(&forward), difference, "{one} -> {two}");
        let (backward, _) = bill(two, one);
        for kind in BillKind::ALL {
            let (a, b) = (forward.sum(kind), backward.sum(kind));
            // Each price is rounded to whole nanoseconds.
            assert!((a + b).0.abs() <= 4, "{one} -> {two}: {} {a:?} {b:?}", kind.label());
        }
        with_rest += usize::from(10 * forward.rest().abs().0 > difference.abs().0);
    }
    assert_eq!(with_rest, 0, "nothing explains more than a tenth of a difference");
}

#[test]
fn a_recording_is_billed_nothing_against_itself() {
    for name in ["h100/train_base", "h100/resnet_amp", "known/gpu_sync", "cpu/cpu_checkpoint"] {
        let (bill, difference) = bill(name, name);
        assert_eq!((bill.lines().len(), difference), (0, Nanos::ZERO), "{name}");
    }
}

#[test]
fn one_change_has_one_price_against_three_baselines() {
    for (baselines, candidate) in [
        (["known/gpu_base", "known/gpu_again", "known/gpu_third"], "known/gpu_sync"),
        (["known/host_base", "known/host_again", "known/host_third"], "known/host_sync"),
    ] {
        let price = |baseline: &&str| bill(baseline, candidate).0.sum(BillKind::Change).as_micros();
        let prices: Vec<f64> = baselines.iter().map(price).collect();
        let (least, most) =
            prices.iter().fold((f64::MAX, f64::MIN), |(a, b), &price| (a.min(price), b.max(price)));
        assert!(least > 20.0 && most - least < 5.0, "{candidate}: {prices:?}");
    }
}

#[test]
fn a_wait_for_the_data_loader_is_a_line_of_its_own() {
    let files = ["certain/loader_20ms.json", "certain/loader_44ms.json"].map(real);
    let [Some(one), Some(two)] = files else { return };
    let bill = compare_files(PerSide::new(&one, &two), |analysis| analysis.bill().clone());
    let wait = &bill.lines()[0];
    assert_eq!((wait.kind, wait.price), (BillKind::Wait, Nanos(24_000_000)), "{bill:?}");
    assert_eq!(wait.sentence, "The step waits for the data loader: 20.00 → 44.00 ms");
    assert!(wait.advice.contains("num_workers"), "{}", wait.advice);
}

/// A part of a simulated step; times are in µs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Do {
    /// Code between ops.
    Gap,
    /// An op that launches a kernel.
    Op(&'static str, f64),
    /// A call that waits for the GPU.
    Sync,
    /// The data loader.
    Load(f64),
}

/// How the machine of a simulated recording behaves.
#[derive(Debug, Clone, Copy)]
struct Machine {
    /// Factor of all host times.
    host: f64,
    /// Factor of all kernel times.
    clock: f64,
    /// Each host time varies by this share, in a way that the seed determines.
    noise: f64,
    seed: u64,
}

/// Runs a program for three steps, one kernel after the other. Returns the trace and the mean step time in µs.
fn simulate(program: &[Do], machine: Machine) -> (String, f64) {
    let mut events: Vec<String> = Vec::new();
    let mut event = |category: &str, name: &str, tid: u32, start: f64, end: f64, args: &str| {
        events.push(format!(
            "{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":\"{name}\",\"pid\":1,\"tid\":{tid},\"ts\":{start:.3},\
             \"dur\":{:.3},\"args\":{{{args}}}}}",
            end - start
        ));
    };
    let (mut host, mut free, mut id) = (100.0_f64, 0.0_f64, 0);
    let mut last = 0.0;
    for step in 0..3 {
        // The n-th call of an op has the same noise in every program.
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        let mut by_name = |name: &'static str| {
            let name = name.trim_end_matches('!');
            let count = counts.entry(name).or_default();
            *count += 1;
            let seed = name.bytes().fold(machine.seed * 100 + step, |seed, byte| {
                seed.wrapping_mul(31) + u64::from(byte)
            });
            let share = SplitMix::new(seed.wrapping_mul(101) + *count).below(1_000) as f64;
            machine.host * (1.0 + machine.noise * (2.0 * share / 999.0 - 1.0))
        };
        let begin = host;
        for part in program {
            match *part {
                Do::Gap => host += 20.0 * by_name("gap"),
                Do::Op(name, kernel) => {
                    let factor = by_name(name);
                    let (start, launch) = (host, host + 2.0 * factor);
                    id += 1;
                    let kernel_start = (launch + 6.0).max(free + 1.0);
                    free = kernel_start + kernel * machine.clock;
                    let launched = launch + 5.0 * factor;
                    host = launched + 2.0 * factor;
                    let on = format!("\"correlation\":{id},\"device\":0,\"stream\":7");
                    let name = name.trim_end_matches('!');
                    event("cpu_op", name, 1, start, host, "");
                    let id = format!("\"correlation\":{id}");
                    event("cuda_runtime", "cudaLaunchKernel", 1, launch, launched, &id);
                    let kernel = if part_is_other(part) { "other" } else { "usual" };
                    event("kernel", &format!("{kernel}_{name}"), 7, kernel_start, free, &on);
                }
                Do::Sync => {
                    id += 1;
                    let start = host;
                    host = (free + 4.0).max(start + 3.0);
                    let id = format!("\"correlation\":{id}");
                    event("cuda_runtime", "cudaDeviceSynchronize", 1, start, host, &id);
                }
                Do::Load(time) => {
                    host += 5.0;
                    let name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
                    event("user_annotation", name, 1, host, host + time, "");
                    host += time;
                }
            }
        }
        host += 20.0;
        event("user_annotation", &format!("ProfilerStep#{step}"), 1, begin, host - 1.0, "");
        last = host.max(free);
    }
    (format!("{{\"traceEvents\":[{}]}}", events.join(",\n")), (last - 100.0) / 3.0)
}

/// Whether an op runs another kernel: its name ends with `!`.
fn part_is_other(part: &Do) -> bool {
    matches!(part, Do::Op(name, _) if name.ends_with('!'))
}

/// A step with a data loader and 24 ops.
fn base(kernel: f64) -> Vec<Do> {
    const NAMES: [&str; 6] =
        ["aten::mm", "aten::add", "aten::relu", "aten::mul", "aten::softmax", "aten::sum"];
    let ops = NAMES.iter().cycle().take(24).enumerate();
    let ops =
        ops.flat_map(|(at, name)| [Do::Gap, Do::Op(name, kernel * (1.0 + (at % 3) as f64 / 4.0))]);
    std::iter::once(Do::Load(500.0)).chain(ops).collect()
}

fn analyse(one: &str, two: &str) -> Analysis {
    let texts = PerSide::new(one.to_owned(), two.to_owned());
    analyse_texts(PerSide::new("baseline", "candidate"), &texts).expect("two traces")
}

/// A change of a program, and the kind of its line. The code between ops stays: it belongs to the host.
type Injection = (&'static str, fn(&mut Vec<Do>), BillKind);

const INJECTIONS: [Injection; 5] = [
    ("added op", |program| program.insert(17, Do::Op("aten::gelu", 30.0)), BillKind::Change),
    (
        "removed op",
        |program| {
            program.remove(14);
        },
        BillKind::Change,
    ),
    ("added synchronization", |program| program.insert(32, Do::Sync), BillKind::Change),
    ("other kernel", |program| program[10] = Do::Op("aten::softmax!", 130.0), BillKind::Change),
    ("slower loader", |program| program[0] = Do::Load(3_500.0), BillKind::Wait),
];

#[test]
fn known_changes_have_their_price_despite_noise_and_a_slower_host() {
    let (mut wrong, mut all) = (Vec::new(), 0);
    for (what, change, kind) in INJECTIONS {
        for kernel in [8.0, 60.0] {
            for (host, seed) in [(1.0, 1), (1.25, 2), (1.25, 3), (0.9, 4)] {
                let (before, mut after) = (base(kernel), base(kernel));
                change(&mut after);
                let quiet = Machine { host: 1.0, clock: 1.0, noise: 0.15, seed: 10 + seed };
                let other = Machine { host, clock: 1.0, noise: 0.15, seed };
                let ((one, _), (two, _)) = (simulate(&before, quiet), simulate(&after, other));
                // An added call is priced where it exists, in the candidate; a removed one in the baseline.
                let effect = |on: Machine| simulate(&after, on).1 - simulate(&before, on).1;
                let truth = match what {
                    "removed op" => effect(quiet),
                    "added op" | "added synchronization" => effect(other),
                    _ => (effect(quiet) + effect(other)) / 2.0,
                };
                let analysis = analyse(&one, &two);
                let bill = analysis.bill();
                assert_eq!(sum(bill), analysis.changes().difference(), "{what}");
                let price = (bill.sum(kind) + bill.sum(BillKind::Together)).as_micros();
                all += 1;
                if (price - truth).abs() > 20.0_f64.max(0.05 * truth.abs()) {
                    wrong.push(format!(
                        "{what}, kernels {kernel} µs, host {host}: {price:.1} instead of {truth:.1} {:?}",
                        bill.lines().iter().map(|line| (line.kind.label(), line.price.as_micros())).collect::<Vec<_>>()
                    ));
                }
            }
        }
    }
    assert!(
        20 * wrong.len() <= all,
        "{} of {all} prices are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_slower_host_and_a_slower_clock_are_billed_to_themselves() {
    let machine = Machine { host: 1.0, clock: 1.0, noise: 0.0, seed: 1 };
    for (kernel, host, clock, kind) in
        [(8.0, 1.25, 1.0, BillKind::Host), (60.0, 1.0, 1.1, BillKind::Clock)]
    {
        let program = base(kernel);
        let (one, before) = simulate(&program, machine);
        let (two, after) = simulate(&program, Machine { host, clock, ..machine });
        let analysis = analyse(&one, &two);
        let bill = analysis.bill();
        let price = bill.sum(kind).as_micros();
        let truth = after - before;
        assert!((price - truth).abs() < 0.03 * truth, "{kind:?}: {price} instead of {truth}");
        assert!(bill.rest().as_micros().abs() < 0.03 * truth, "{bill:?}");
        assert!(bill.lines().iter().all(|line| line.change.is_none()), "{bill:?}");
    }
}

#[test]
fn two_changes_at_once_are_priced_apart() {
    let machine = |host: f64, seed: u64| Machine { host, clock: 1.0, noise: 0.15, seed };
    let mut program = base(60.0);
    program[10] = Do::Op("aten::softmax!", 130.0);
    let only_kernel = program.clone();
    program.insert(32, Do::Sync);
    let (one, _) = simulate(&base(60.0), machine(1.0, 1));
    let (two, after) = simulate(&program, machine(1.1, 2));
    let analysis = analyse(&one, &two);
    let bill = analysis.bill();
    let changes: Vec<_> =
        bill.lines().iter().filter(|line| line.kind == BillKind::Change).collect();
    assert_eq!(changes.len(), 2, "{bill:?}");
    let sync = changes.iter().find(|line| line.sentence.contains("waits for the GPU"));
    let sync = sync.expect("the synchronization").price.as_micros();
    let truth = after - simulate(&only_kernel, machine(1.1, 2)).1;
    assert!((sync - truth).abs() < 20.0_f64.max(0.05 * truth), "{sync} instead of {truth}");
}

#[test]
fn without_a_replay_the_lines_are_attributed_times_that_add_up() {
    let files =
        ["old/resnet50_2021.num_workers_0.json.gz", "old/resnet50_2021.num_workers_4.json.gz"];
    let [Some(one), Some(two)] = files.map(real) else { return };
    compare_files(PerSide::new(&one, &two), |analysis| {
        let bill = analysis.bill();
        assert!(!bill.is_priced() && bill.price_of_change(0).is_none());
        assert_eq!(sum(bill), analysis.changes().difference());
        let steps = |side: Side| analysis.wall().totals(side).steps;
        assert!(Side::BOTH.into_iter().all(|side| steps(side) > 0));
    });
}

#[test]
fn another_kernel_is_priced_at_the_clock_of_each_side() {
    let machine = |clock: f64| Machine { host: 1.0, clock, noise: 0.0, seed: 1 };
    let (before, mut after) = (base(60.0), base(60.0));
    after[10] = Do::Op("aten::softmax!", 430.0);
    let ((one, _), (two, _)) = (simulate(&before, machine(1.0)), simulate(&after, machine(1.1)));
    let effect =
        |clock: f64| simulate(&after, machine(clock)).1 - simulate(&before, machine(clock)).1;
    let truth = (effect(1.0) + effect(1.1)) / 2.0;
    let analysis = analyse(&one, &two);
    let price = analysis.bill().sum(BillKind::Change).as_micros();
    assert!(
        (price - truth).abs() < 0.02 * truth,
        "{price} instead of {truth}: {:?}",
        analysis.bill()
    );
}
