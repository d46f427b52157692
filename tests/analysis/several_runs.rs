//! Tests with several runs per side: tables show values for each run, and variation among the runs on one side is not
//! reported as a difference between the sides.

use crate::support::compared;
use crate::support::splitmix::SplitMix;
use crate::support::trace_builder::{Op, TraceBuilder};
use crate::support::traces;
use std::sync::Arc;
use tracetree::analysis::Analysis;
use tracetree::analysis::bill::BillLine;
use tracetree::analysis::runs::settled_differences;
use tracetree::report::{Narrative, evidence, summarise, write_csv, write_markdown, write_summary};
use tracetree::tables::TableKind;
use tracetree::{Comparison, ComparisonOptions, Input, PerSide, Side, Trace};

/// A trace with two steps. Each step has one op, which calls a matrix product that takes `gemm` µs and the ops in
/// `others`, which take 5 µs each.
fn run(gemm: f64, others: &[&str]) -> Trace {
    steps(2, gemm, others)
}

/// A trace with `count` steps. Each step has one op, which calls a matrix product that takes `gemm` µs and the ops in
/// `others`, which take 5 µs each.
fn steps(count: u32, gemm: f64, others: &[&str]) -> Trace {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        for number in 1..=count {
            t.step(number, |t| {
                t.op(Op::new("aten::linear"), |t| {
                    t.op(Op::new("aten::mm"), |t| t.kernel("gemm", gemm));
                    for name in others {
                        t.op(Op::new(name), |t| t.kernel("elementwise", 5.0));
                    }
                });
            });
        }
    });
    compared::trace("run", &trace.json())
}

fn compare(baseline: Vec<Trace>, candidate: Vec<Trace>) -> Comparison {
    let runs = PerSide::new(baseline, candidate);
    Comparison::of_runs(runs, &ComparisonOptions::default()).expect("a comparison")
}

fn column(analysis: &Arc<Analysis>, kind: TableKind, name: &str) -> Vec<String> {
    let mut text = Vec::new();
    write_csv(&kind.of(analysis), &mut text).expect("a table");
    let mut reader = csv::Reader::from_reader(text.as_slice());
    let at = reader.headers().expect("a head").iter().position(|head| head == name);
    let Some(at) = at else { panic!("{} has no column {name}", kind.name()) };
    reader.records().map(|record| record.expect("a row")[at].to_owned()).collect()
}

/// The sentence about the confidence, the remarks and the sentences about the runs in a narrative.
fn remarks(analysis: &Analysis) -> Vec<String> {
    let narrative = Narrative::of(analysis);
    let others = narrative.remarks.into_iter().chain(narrative.runs);
    std::iter::once(narrative.confidence).chain(others).collect()
}

#[test]
fn every_table_of_attributed_events_has_runs_median_and_spread() {
    let times = PerSide::new([100.0, 130.0, 104.0], [200.0, 190.0, 230.0]);
    let traces = times.map(|times| times.into_iter().map(|time| run(time, &[])).collect());
    let comparison = compare(traces.baseline, traces.candidate);
    for kind in [
        TableKind::Rows,
        TableKind::Names,
        TableKind::UniqueArgs,
        TableKind::Kernels,
        TableKind::SameKernels,
        TableKind::Categories,
        TableKind::Phases,
        TableKind::Steps,
    ] {
        let cells = |name: &str| column(comparison.analysis(), kind, name).remove(0);
        // A row in `diff_stats` represents an op in a single step. The run has two steps, so the row's time per step is
        // half of the op's duration.
        let share = if kind == TableKind::Rows { 0.5 } else { 1.0 };
        for (name, expected) in [
            ("runs_trace1", 3.0),
            ("run_median_us_trace1", 104.0 * share),
            ("run_spread_us_trace1", 30.0 * share),
            ("runs_trace2", 3.0),
            ("run_median_us_trace2", 200.0 * share),
            ("run_spread_us_trace2", 40.0 * share),
        ] {
            assert_eq!(cells(name).parse(), Ok(expected), "{} {name}", kind.name());
        }
    }
}

#[test]
fn steps_list_the_time_of_each_run_sorted_by_step_time() {
    let times = PerSide::new(vec![100.0, 130.0, 104.0], vec![200.0, 190.0]);
    let traces = times.map(|times| times.into_iter().map(|time| run(time, &[])).collect());
    let comparison = compare(traces.baseline, traces.candidate);
    let analysis = comparison.analysis();
    let shown = |name: &str| column(analysis, TableKind::Steps, name).remove(0);
    assert_eq!(shown("run_times_us_trace1"), "100.000; 104.000; 130.000");
    assert_eq!(shown("run_times_us_trace2"), "190.000; 200.000");
    assert_eq!([shown("runs_trace1"), shown("runs_trace2")], ["3", "2"]);
    // Each step begins before its first kernel, so the wall time of a step exceeds its GPU time. This difference
    // between wall time and GPU time is the same in every run.
    let walls = column(analysis, TableKind::Steps, "run_walls_us_trace1").remove(0);
    let walls: Vec<f64> = walls.split("; ").map(|wall| wall.parse().expect("a time")).collect();
    assert_eq!(walls.len(), 3);
    assert!(walls.iter().zip([100.0, 104.0, 130.0]).all(|(wall, time)| *wall >= time), "{walls:?}");
}

#[test]
fn runs_with_different_numbers_of_steps_have_the_same_time_per_step() {
    // Each side has two runs. Runs with two steps and runs with five steps are either on opposite sides or mixed on
    // each side.
    for counts in [[[2, 2], [5, 5]], [[5, 5], [2, 2]], [[2, 5], [2, 5]], [[5, 2], [2, 5]]] {
        let runs = |counts: [u32; 2], gemm: f64| {
            counts.map(|count| steps(count, gemm, &["aten::relu"])).to_vec()
        };
        let shown = |kind: TableKind, after: f64, name: &str| {
            let comparison = compare(runs(counts[0], 100.0), runs(counts[1], after));
            column(comparison.analysis(), kind, name)
        };
        for (after, expected) in [(100.0, "no"), (160.0, "yes")] {
            let names = shown(TableKind::Names, after, "name");
            let product = names.iter().position(|name| name == "aten::mm").expect("a product");
            let apart = &shown(TableKind::Names, after, "apart")[product];
            assert_eq!(apart, expected, "{counts:?} {after}");
        }
        // A row in `diff_stats` represents the op in a single step. If the median run on either side has two steps, two
        // steps are compared; otherwise, five steps are compared.
        let is_five = counts.iter().all(|side| side.contains(&5));
        for (kind, share) in [
            (TableKind::Rows, if is_five { 0.2 } else { 0.5 }),
            (TableKind::Names, 1.0),
            (TableKind::Kernels, 1.0),
        ] {
            let [before, after] = ["trace1", "trace2"]
                .map(|side| shown(kind, 160.0, &format!("run_median_us_{side}")));
            let expected = [100.0, 160.0].map(|time| format!("{:.3}", time * share));
            let mut rows = before.iter().zip(&after);
            let has = rows.any(|(a, b)| [a, b] == expected.each_ref());
            assert!(has, "{counts:?} {}: {before:?} {after:?}", kind.name());
        }
    }
}

#[test]
fn a_run_has_the_same_times_on_either_side() {
    let open = |name: &str| Trace::open(traces::h100(name)).expect("a trace");
    // On each side, there are two recordings of the same program: one with two steps, and one with five steps.
    let two_and_five = || vec![open("train_base"), open("train_five_steps")];
    let five_and_two = || vec![open("train_five_steps"), open("train_again")];
    let comparison = compare(two_and_five(), five_and_two());
    let analysis = comparison.analysis();
    let total = analysis.judged().total.expect("measured time");
    assert!(!total.verdict.is_change(), "one program on both sides: {}", total.words());
}

#[test]
fn idle_time_of_unmatched_steps_is_divided_by_their_number() {
    let runs = |count: u32| [300.0, 300.0].map(|micros| loading_steps(count, micros)).to_vec();
    let comparison = compare(runs(2), runs(5));
    let idle = |name: &str| column(comparison.analysis(), TableKind::Idle, name);
    let launched = idle("launched");
    let number = |cell: &String| cell.parse::<f64>().ok();
    let [whole, median] = [idle("idle_us_trace2"), idle("run_median_us_trace2")];
    let mut shown = 0;
    for (launched, (whole, median)) in launched.iter().zip(whole.iter().zip(&median)) {
        let steps = match &**launched {
            "window" => 2.0,
            "unpaired_step" => 3.0,
            _ => continue,
        };
        shown += 1;
        assert_eq!(number(median), number(whole).map(|whole| whole / steps), "{launched}");
    }
    assert!(shown >= 4, "{launched:?}");
    // Every baseline step has a counterpart, so the baseline has no idle time in unmatched steps.
    let of_others = |(at, _): (usize, &String)| launched[at] == "unpaired_step";
    let median = idle("run_median_us_trace1");
    assert!(median.iter().enumerate().filter(|&at| of_others(at)).all(|(_, cell)| cell.is_empty()));
}

#[test]
fn work_outside_of_steps_has_no_times_of_runs() {
    let traces = |time: f64| vec![run(time, &[]), run(time + 1.0, &[])];
    let comparison = compare(traces(100.0), traces(200.0));
    let steps = column(comparison.analysis(), TableKind::Steps, "step");
    let times = column(comparison.analysis(), TableKind::Steps, "run_times_us_trace1");
    for (step, times) in steps.iter().zip(times) {
        assert_eq!(!times.is_empty(), step.parse::<u32>().is_ok(), "{step}: {times}");
    }
}

/// A trace with one step in which a loader takes `micros` µs before the kernel is launched.
fn loading(micros: f64) -> Trace {
    loading_steps(1, micros)
}

/// A trace with `count` steps in which a loader takes `micros` µs before the kernel is launched.
fn loading_steps(count: u32, micros: f64) -> Trace {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        for number in 1..=count {
            t.step(number, |t| {
                t.op(Op::new("aten::mm"), |t| t.kernel("gemm", 10.0));
                t.frame("data.py(9): __next__", |t| t.idle(micros));
                t.op(Op::new("aten::mm"), |t| t.kernel("gemm", 10.0));
            });
        }
    });
    compared::trace("run", &trace.json())
}

#[test]
fn idle_time_has_the_time_of_each_run() {
    let times = PerSide::new([300.0, 330.0, 304.0], [100.0, 90.0, 120.0]);
    let traces = times.map(|times| times.into_iter().map(loading).collect());
    let comparison = compare(traces.baseline, traces.candidate);
    let analysis = comparison.analysis();
    let cell = |kind: TableKind, key: &str, value: &str, name: &str| {
        let rows = column(analysis, kind, key).into_iter().zip(column(analysis, kind, name));
        rows.filter(|(found, _)| found == value).map(|(_, cell)| cell).next().expect("a row")
    };
    let cell = |name: &str| cell(TableKind::Idle, "owner", "data.py(9): __next__", name);
    assert_eq!(cell("runs_trace1"), "3");
    // When the loader begins, the previous kernel is still running, so the first part of the loader's time is not idle
    // time.
    for side in ["trace1", "trace2"] {
        let shown =
            |name: &str| -> f64 { cell(&format!("{name}_{side}")).parse().expect("a time") };
        assert_eq!(shown("run_median_us"), shown("idle_us"), "{side}");
        assert_eq!(shown("run_spread_us"), 30.0, "{side}");
    }
}

#[test]
fn repeating_the_same_run_gives_the_same_times_everywhere() {
    for (baseline, candidate) in [
        ("resnet.rocm.json.gz", "resnet.cuda.json.gz"),
        ("h100/resnet_eager.pt.trace.json.gz", "h100/resnet_tf32_off.pt.trace.json.gz"),
    ] {
        let open = |name: &str| Trace::open(traces::example(name)).expect("a trace");
        let twice = |name: &str| vec![open(name), open(name)];
        let comparison = compare(twice(baseline), twice(candidate));
        for kind in [TableKind::Idle, TableKind::Efficiency] {
            for side in ["trace1", "trace2"] {
                let shown =
                    |name: &str| column(comparison.analysis(), kind, &format!("{name}_{side}"));
                let (runs, spreads) = (shown("runs"), shown("run_spread_us"));
                assert!(runs.iter().any(|runs| runs == "2"), "{} of {baseline}", kind.name());
                for spread in spreads.iter().filter(|spread| !spread.is_empty()) {
                    assert_eq!(spread.parse(), Ok(0.0), "{} of {baseline}", kind.name());
                }
            }
        }
    }
}

/// Every output of a comparison: its name and its bytes.
fn outputs(analysis: &Arc<Analysis>) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![("answer".to_owned(), Narrative::of(analysis).answer().into_bytes())];
    all.push(("remarks".to_owned(), remarks(analysis).join("\n").into_bytes()));
    let mut summary = Vec::new();
    write_summary(&summarise(analysis), &mut summary).expect("a summary");
    all.push(("summary.json".to_owned(), summary));
    let mut markdown = Vec::new();
    write_markdown(analysis, 10, &mut markdown).expect("a text");
    all.push(("report.md".to_owned(), markdown));
    for kind in TableKind::ALL {
        let mut table = Vec::new();
        write_csv(&kind.of(analysis), &mut table).expect("a table");
        all.push((kind.name().to_owned(), table));
    }
    all
}

/// Asserts that every output has the same bytes in both comparisons.
fn assert_same_outputs(one: &Comparison, other: &Comparison, what: &str) {
    let pairs = outputs(one.analysis()).into_iter().zip(outputs(other.analysis()));
    for ((name, a), (_, b)) in pairs {
        let [a, b] = [a, b].map(|bytes| String::from_utf8(bytes).expect("a text"));
        let line = a.lines().zip(b.lines()).find(|(a, b)| a != b);
        assert!(a == b, "{what}: {name} differs: {line:?}");
    }
}

#[test]
fn the_order_of_the_runs_changes_no_byte_of_any_output() {
    let times = PerSide::new([100.0, 130.0, 104.0, 117.0], [200.0, 190.0, 230.0, 200.0]);
    let others = [&["aten::relu"][..], &[], &["aten::relu", "aten::add"], &["aten::add"]];
    let compare_in = |order: [usize; 4]| {
        let runs = |side: Side| {
            order.map(|at| steps(2 + at as u32 % 2, times[side][at], others[at])).to_vec()
        };
        compare(runs(Side::Baseline), runs(Side::Candidate))
    };
    let sorted = compare_in([0, 1, 2, 3]);
    for order in [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1], [1, 2, 3, 0], [0, 3, 1, 2]] {
        assert_same_outputs(&sorted, &compare_in(order), &format!("{order:?}"));
    }
}

#[test]
fn the_order_of_real_runs_changes_no_byte_of_any_output() {
    let open = |name: &&str| Trace::open(traces::h100(name)).expect("a trace");
    let runs = |names: &[&str]| names.iter().map(open).collect::<Vec<Trace>>();
    let comparison = |a: [&str; 3], b: [&str; 2]| compare(runs(&a), runs(&b));
    let (eager, again, third) = ("resnet_eager", "resnet_eager_again", "resnet_eager_third");
    let (off, off_again) = ("resnet_tf32_off", "resnet_tf32_off_again");
    let named = comparison([eager, again, third], [off, off_again]);
    for a in [[third, eager, again], [again, third, eager]] {
        assert_same_outputs(&named, &comparison(a, [off_again, off]), &format!("{a:?}"));
    }
}

#[test]
fn runs_from_pipes_and_readers_are_compared_like_files() {
    let path = |name: &str| traces::h100(name);
    let names = PerSide::new(["resnet_eager", "resnet_eager_again"], ["resnet_tf32_off"; 2]);
    let files = names.map(|names| names.map(path).to_vec());
    let reader = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).expect("a file");
        Input::Reader(path.display().to_string(), Box::new(std::io::Cursor::new(bytes)))
    };
    let readers = files.as_ref().map(|paths| paths.iter().map(reader).collect::<Vec<Input>>());
    let options = ComparisonOptions::default();
    let named = Comparison::of_runs(files, &options).expect("runs");
    let read = Comparison::of_runs(readers, &options).expect("runs");
    assert_same_outputs(&named, &read, "readers");
}

#[test]
fn the_headline_shows_the_median_run_and_the_spread_of_each_side() {
    let runs = |times: &[f64]| times.iter().map(|&time| run(time, &[])).collect::<Vec<Trace>>();
    // Tests with three runs and with four runs. Of four runs, the median run is the run with the lower of the two
    // middle times.
    for (before, after) in [
        (&[130.0, 100.0, 104.0][..], &[230.0, 190.0, 200.0][..]),
        (&[130.0, 108.0, 100.0, 104.0], &[230.0, 190.0, 220.0, 200.0]),
    ] {
        let comparison = compare(runs(before), runs(after));
        let (analysis, summary) = (comparison.analysis(), summarise(comparison.analysis()));
        let single = compare(runs(&[104.0]), runs(&[200.0]));
        let headline = Narrative::of(single.analysis()).answer();
        let shown = Narrative::of(analysis).answer();
        assert!(shown.starts_with(&headline), "{shown} / {headline}");
        let spread = format!("medians of {} runs each, spread 30.00 µs and 40.00 µs", before.len());
        assert!(shown.contains(&spread), "{shown}");
        for side in [&summary.trace1, &summary.trace2]
            .into_iter()
            .zip([&summary.wall.trace1, &summary.wall.trace2])
        {
            let median = side.0.runs.as_ref().and_then(|runs| runs.step_wall_median_us);
            assert_eq!(median, Some(side.1.step_wall_us));
        }
    }
}

/// Repeatedly assigns the runs of one program to two sides at random, and counts how often a change is reported: in the
/// total and in the step time.
fn false_alarms(all: &[Arc<Trace>], runs: usize) -> [usize; 2] {
    let mut random = SplitMix::new(44);
    let mut alarms = [0; 2];
    for _ in 0..SPLITS {
        let mut left = all.to_vec();
        let mut take = || left.swap_remove(random.below(left.len()));
        let mut side = || (0..runs).map(|_| take()).collect::<Vec<Arc<Trace>>>();
        let sides = PerSide::new(side(), side());
        let comparison = Comparison::of_runs(sides, &ComparisonOptions::default()).expect("runs");
        let judged = comparison.analysis().judged();
        let found = [
            judged.total.is_some_and(|total| total.verdict.is_change()),
            judged.step.is_some_and(|step| step.verdict.is_change()),
        ];
        alarms.iter_mut().zip(found).for_each(|(count, found)| *count += usize::from(found));
    }
    alarms
}

const SPLITS: usize = 40;

#[test]
fn random_splits_of_the_runs_of_one_program_rarely_show_a_change() {
    let Some(folder) = traces::real("torch215") else { return };
    let open = |at: usize| Trace::open(folder.join(format!("cnn_base_{at}.json.gz")));
    let all: Vec<Arc<Trace>> = (1..=12).map(|at| Arc::new(open(at).expect("a trace"))).collect();
    for runs in [2, 3, 4] {
        let alarms = false_alarms(&all, runs);
        // The test is exact, so it reaches its rate of 5%: more than four of forty splits have a probability below 5%.
        assert!(alarms.iter().all(|alarms| 10 * alarms <= SPLITS), "{runs} runs: {alarms:?}");
    }
}

#[test]
fn with_one_run_per_side_no_output_says_that_anything_is_slower_by_a_test() {
    let slower = [100.0, 160.0].map(|gemm| vec![steps(5, gemm, &["aten::relu"])]);
    let [baseline, candidate] = slower;
    let comparison = compare(baseline, candidate);
    let (analysis, summary) = (comparison.analysis(), summarise(comparison.analysis()));
    assert_eq!((summary.verdict.basis, summary.verdict.total), ("none", "not_tested"));
    assert!(summary.verdict.p.is_none() && summary.verdict.step.is_none());
    assert_eq!(evidence(analysis, &summary.verdict), "");
    for (name, bytes) in outputs(analysis) {
        let text = String::from_utf8(bytes).expect("a text");
        for word in [",slower,", ",faster,", "q <", "p <"] {
            assert!(!text.contains(word), "{name} says {word}: {text}");
        }
    }
}

#[test]
fn with_one_run_per_side_there_are_no_run_columns_and_the_noise_is_unknown() {
    let comparison = compare(vec![run(100.0, &[])], vec![run(200.0, &[])]);
    for kind in TableKind::ALL {
        let table = kind.of(comparison.analysis());
        let has_runs = table.columns().iter().any(|column| column.name.starts_with("run_median"));
        assert!(!has_runs, "{}", kind.name());
    }
    let inputs = Narrative::of(comparison.analysis()).inputs;
    assert!(inputs.ends_with("one run per side: not tested"), "{inputs}");
    let several = compare(vec![run(100.0, &[]), run(101.0, &[])], vec![run(200.0, &[])]);
    let inputs = Narrative::of(several.analysis()).inputs;
    assert!(inputs.ends_with("2 → 1 run: not tested"), "{inputs}");
}

#[test]
fn the_remark_has_the_median_and_the_spread_of_the_runs() {
    let baseline = [100.0, 130.0, 104.0].map(|time| run(time, &[])).to_vec();
    let comparison = compare(baseline, vec![run(100.0, &[])]);
    let summary = summarise(comparison.analysis());
    let runs = summary.trace1.runs.expect("several runs");
    assert_eq!((runs.count, runs.step_time_median_us, runs.step_time_spread_us), (3, 104.0, 30.0));
    assert!(runs.step_wall_spread_us.is_some_and(|spread| spread > 0.0), "{runs:?}");
    assert!(summary.trace2.runs.is_none());
    let remarks = remarks(comparison.analysis());
    let shown = |what: &str| remarks.iter().any(|remark| remark.contains(what));
    assert!(
        shown("3 runs of baseline") && shown("GPU time 104.00 µs (spread 30.00 µs, 28.8%)"),
        "{remarks:?}"
    );
}

/// The number of points of difference between the sides, and the number of points that vary among the runs on one side.
fn points(baseline: &[&[&str]], candidate: &[&[&str]]) -> [u64; 2] {
    // The first run is the median run: it has the middle time of three runs, or the lower time of two runs.
    let traces = |runs: &[&[&str]]| {
        let times = [100.0, 200.0, 50.0].into_iter().zip(runs);
        times.map(|(time, others)| run(time, others)).collect()
    };
    let summary = summarise(compare(traces(baseline), traces(candidate)).analysis());
    [summary.points_of_difference, summary.varying_points]
}

#[test]
fn variation_among_the_runs_of_a_side_is_not_a_difference_between_the_sides() {
    const NONE: &[&str] = &[];
    const RELU: &[&str] = &["aten::relu"];
    const BOTH: &[&str] = &["aten::relu", "aten::add"];
    // Each op is a point of difference in each of the two steps.
    assert_eq!(points(&[RELU], &[NONE]), [2, 0]);
    assert_eq!(
        points(&[RELU, RELU], &[NONE, NONE]),
        [2, 0],
        "in all runs of a side, in none of the other"
    );
    assert_eq!(points(&[RELU, NONE], &[NONE]), [0, 2], "not in all runs of its own side");
    assert_eq!(points(&[RELU], &[NONE, RELU]), [0, 2], "in some run of the other side");
    assert_eq!(points(&[NONE], &[RELU, NONE]), [0, 2], "the sides exchanged");
    assert_eq!(points(&[BOTH, BOTH], &[NONE, RELU]), [2, 2], "one of two");
}

#[test]
fn a_group_of_calls_varies_together_with_its_enclosing_call() {
    let run = |has_group: bool, has_more: bool| {
        let trace = TraceBuilder::cuda().thread("main", |t| {
            t.op(Op::new("aten::linear"), |t| {
                let time = if has_more { 100.0 } else { 300.0 };
                t.op(Op::new("aten::mm"), |t| t.kernel("gemm", time));
                if has_group {
                    t.op(Op::new("aten::norm"), |t| {
                        t.op(Op::new("aten::mul"), |t| t.kernel("elementwise", 5.0));
                        if has_more {
                            t.op(Op::new("aten::add"), |t| t.kernel("elementwise", 5.0));
                        }
                    });
                }
            });
        });
        compared::trace("run", &trace.json())
    };
    let comparison =
        compare(vec![run(true, true), run(false, false)], vec![run(true, false), run(true, false)]);
    let (settled, varying) =
        settled_differences(comparison.analysis().diff(), comparison.analysis().runs());
    assert_eq!((settled.len(), varying), (0, 1));
    assert_eq!(comparison.diff().differences().len(), 1);
    assert!(comparison.tree(Side::Baseline).len() > comparison.tree(Side::Candidate).len());
}

#[test]
fn each_line_has_its_prices_over_all_runs_whatever_their_order() {
    let open = |names: &[&str]| -> Vec<Trace> {
        names.iter().map(|name| Trace::open(traces::h100(name)).expect("a trace")).collect()
    };
    let eager = ["resnet_eager", "resnet_eager_again", "resnet_eager_third"];
    let off = ["resnet_tf32_off", "resnet_tf32_off_again"];
    let there = compare(open(&eager), open(&off));
    let turned = |names: &[&str]| open(&names.iter().rev().copied().collect::<Vec<_>>());
    let again = compare(turned(&eager), turned(&off));
    assert_eq!(there.analysis().bill(), again.analysis().bill());
    let back = compare(open(&off), open(&eager));
    let lines = there.analysis().bill().lines();
    let first = lines[0].over_runs.expect("several runs");
    assert_eq!((lines[0].kind.label(), first.is_apart), ("change", Some(true)));
    for line in lines {
        let runs = line.over_runs.expect("several runs");
        assert!(runs.low <= runs.median && runs.median <= runs.high);
        assert!(runs.low <= line.price && line.price <= runs.high, "{line:?}");
        let mut others = back.analysis().bill().lines().iter();
        let is_it = |other: &&BillLine| other.kind == line.kind && other.price == -line.price;
        let other = others.find(is_it).expect("the mirrored line").over_runs;
        let other = other.expect("several runs");
        assert_eq!((other.low, other.high, other.is_apart), (-runs.high, -runs.low, runs.is_apart));
    }
    let single = compare(open(&eager[..1]), open(&off[..1]));
    assert!(single.analysis().bill().lines().iter().all(|line| line.over_runs.is_none()));
}
