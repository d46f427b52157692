//! Tests properties that hold for every pair of traces. The tests use the traces in this repository and, if
//! `TRACETREE_TRACES` is set, real traces.

use crate::support::{laws, traces};
use tracetree::analysis::Analysis;
use tracetree::diff::{MergedNode, TraceDiff};
use tracetree::report::ReportOptions;
use tracetree::trace::{Nanos, ReadOptions, Trace};
use tracetree::tree::CallTree;
use tracetree::{Comparison, ComparisonOptions, PerSide, Side};

fn check(paths: PerSide<&std::path::Path>) {
    let traces = paths.map(|path| Trace::open(path).expect("a readable trace"));
    let trees = traces.map(CallTree::build);
    for side in Side::BOTH {
        identity(&trees[side]);
    }
    let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate.clone());
    let mirrored = TraceDiff::new(trees.candidate.clone(), trees.baseline);
    laws::mirror(&diff, &mirrored);
    laws::once_in_the_map(&diff);
    laws::pairs_hang_below_pairs(&diff);
    merged_tree_holds_every_call_once(&diff);
    conservation(&diff, &mirrored);
}

/// A trace compared with itself has no differences.
fn identity(tree: &CallTree) {
    let diff = TraceDiff::new(tree.clone(), tree.clone());
    let source = tree.trace().source();
    assert_eq!(diff.differences(), vec![], "{source} differs from itself");
    for call in tree.calls() {
        assert_eq!(
            diff.counterpart(Side::Baseline, call),
            Some(call),
            "{source}: {}",
            tree.name(call)
        );
    }
    let analysis = Analysis::new(diff);
    assert!(analysis.rows().iter().all(|row| row.difference().0 == 0), "{source}");
    laws::no_bill(&analysis);
}

fn merged_tree_holds_every_call_once(diff: &TraceDiff) {
    let merged = diff.merged();
    let mut calls = PerSide::new(0, 0);
    for (id, node) in merged.nodes() {
        for side in Side::BOTH {
            if let Some(call) = node.call(side) {
                calls[side] += 1;
                assert_eq!(merged.of(side, call), id);
            }
        }
        if let MergedNode::Both(a, b) = node {
            assert_eq!(diff.counterpart(Side::Baseline, a), Some(b));
        }
    }
    assert_eq!(calls, PerSide::from_fn(|side| diff.tree(side).len()));
}

/// Checks that the times of all rows add up exactly to the total time, even if the sides are swapped.
fn conservation(diff: &TraceDiff, mirrored: &TraceDiff) {
    let (analysis, turned) = (Analysis::new(diff.clone()), Analysis::new(mirrored.clone()));
    assert!(analysis.account().is_exact() && turned.account().is_exact());
    laws::wall_and_bill(&analysis, &turned);
    assert_eq!(analysis.account().difference(), -turned.account().difference());
    for side in Side::BOTH {
        assert_eq!(
            analysis.account().totals[side].time,
            turned.account().totals[side.other()].time
        );
        let in_rows: u64 = analysis.rows().iter().map(|row| row.events[side].len() as u64).sum();
        assert_eq!(in_rows, analysis.account().totals[side].events);
    }
    let figures = |analysis: &Analysis, turn: bool| {
        let mut rows: Vec<_> = analysis
            .rows()
            .iter()
            .map(|row| {
                let row = (row.kind, row.time, row.calls);
                if turn { (row.0, row.1.swap(), row.2.swap()) } else { row }
            })
            .collect();
        rows.sort_by_key(|row| {
            (row.0, row.1.baseline, row.1.candidate, row.2.baseline, row.2.candidate)
        });
        rows
    };
    assert_eq!(figures(&analysis, false), figures(&turned, true));
}

fn report_bytes(paths: PerSide<&std::path::Path>, threads: usize) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("report");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| {
        let options = ComparisonOptions::default();
        let comparison = Comparison::open(paths.baseline, paths.candidate, &options);
        let report = comparison.expect("two traces").report(ReportOptions::default());
        report.write(&target).expect("a writable folder");
    });
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(&target)
        .expect("a report folder")
        .map(|entry| {
            let entry = entry.expect("a folder entry");
            (
                entry.file_name().to_string_lossy().into_owned(),
                std::fs::read(entry.path()).expect("a file"),
            )
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_laws_hold_on_the_example_traces() {
    for pair in traces::example_pairs() {
        check(pair.as_ref().map(|path| path.as_path()));
    }
}

#[test]
fn the_laws_hold_on_real_traces() {
    for pair in traces::real_pairs() {
        check(pair.as_ref().map(|path| path.as_path()));
    }
}

#[test]
fn the_report_has_the_same_bytes_on_one_and_on_four_threads() {
    for pair in traces::example_pairs() {
        let paths = pair.as_ref().map(|path| path.as_path());
        assert!(report_bytes(paths, 1) == report_bytes(paths, 4), "{}", paths.baseline.display());
    }
}

/// A trace of `levels` nested ops, which are more levels than a tree may have. Each op has a launch and a kernel.
/// `of_level` returns the name of the op at a nesting level.
fn comb(levels: usize, of_level: impl Fn(usize) -> String) -> String {
    let event = |category: &str, name: &str, place: (u32, usize, usize), correlation: usize| {
        let (thread, start, length) = place;
        format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":{thread},"ts":{start},"dur":{length},"args":{{"correlation":{correlation}}}}}"#
        )
    };
    let level = |at: usize| {
        let start = 10 * at;
        [
            event("cpu_op", &of_level(at), (1, start, 20 * (levels - at)), 0),
            event("cuda_runtime", "cudaLaunchKernel", (1, start + 1, 2), at + 1),
            event("kernel", &format!("k{}", at % 7), (7, 40 * levels + start, 9), at + 1),
        ]
        .join(",")
    };
    format!("[{}]", (0..levels).map(level).collect::<Vec<String>>().join(","))
}

#[test]
fn calls_nested_too_deep_keep_all_laws() {
    let plain = comb(700, |at| format!("op{}", at % 3));
    let renamed = comb(700, |at| format!("op{}", at % 4));
    let shorter = comb(520, |at| format!("op{}", at % 3));
    for candidate in [&plain, &renamed, &shorter] {
        laws::hold_for_comparing(format!("{plain}\n====\n{candidate}").as_bytes());
    }
}

#[test]
fn host_time_of_calls_nested_too_deep_adds_up_in_a_trace_without_gpu_events() {
    let event = |category: &str, start: usize, length: usize| {
        format!(
            r#"{{"ph":"X","cat":"{category}","name":"f","pid":1,"tid":1,"ts":{start},"dur":{length}}}"#
        )
    };
    let ops = vec![event("cpu_op", 100, 50); 700];
    // In this trace, the deepest call within the depth limit is a Python frame.
    let mut in_frames = vec![event("cpu_op", 100, 50)];
    in_frames.extend(vec![event("python_function", 101, 40); 600]);
    in_frames.extend(vec![event("cpu_op", 102, 30); 100]);
    for events in [ops, in_frames] {
        let text = format!("[{}]", events.join(","));
        laws::hold_for_comparing(format!("{text}\n====\n{text}").as_bytes());
        let trace = Trace::from_reader("t", text.as_bytes(), &ReadOptions::default());
        let tree = CallTree::build(trace.expect("a trace"));
        assert!(tree.notes().get("TOO_DEEP").is_some());
        let analysis = Analysis::new(TraceDiff::new(tree.clone(), tree));
        assert_eq!(analysis.account().totals.baseline.time, Nanos(50_000));
    }
}
