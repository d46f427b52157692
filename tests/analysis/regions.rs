//! Tests for annotated regions: regions in generated traces are checked against known times, and regions in real traces
//! are checked against a second count.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::trace_builder::TraceBuilder;
use crate::support::traces::{example, real};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tracetree::analysis::Analysis;
use tracetree::analysis::annotated::{AnnotatedFigures, AnnotatedRow};
use tracetree::trace::{Category, Nanos};
use tracetree::tree::CallKind;
use tracetree::{PerSide, Side};

fn rows(text: String) -> BTreeMap<String, AnnotatedFigures> {
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let row = |row: &AnnotatedRow| {
            assert_eq!(row.figures.baseline, row.figures.candidate);
            (row.path.join(" / "), row.figures.baseline.expect("figures"))
        };
        analysis.annotated().iter().map(row).collect()
    })
}

#[test]
fn a_kernel_belongs_to_the_innermost_region_and_those_around_it() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.annotation("decode_4", |t| {
                t.op("aten::mm", |t| t.kernel("gemm", 10.0));
                t.annotation("attention", |t| t.op("aten::bmm", |t| t.kernel("bmm", 30.0)));
            });
            t.annotation("decode_5", |t| t.op("aten::mm", |t| t.kernel("gemm", 20.0)));
            t.op("aten::add", |t| t.kernel("add", 5.0));
        })
        .json();
    let rows = rows(text);
    let of = |path: &str| {
        let own = rows[path];
        (own.count, own.gpu_events, own.inferred, own.gpu_time.0)
    };
    assert_eq!(of("decode_N"), (2, 3, 0, 60_000));
    assert_eq!(of("decode_N / attention"), (1, 1, 0, 30_000));
    assert_eq!(of(""), (0, 1, 0, 5_000));
    assert_eq!(rows.len(), 3);
    let (outer, inner) = (rows["decode_N"], rows["decode_N / attention"]);
    assert_eq!(outer.host_self, outer.wall - inner.wall);
    assert_eq!(inner.host_self, inner.wall);
}

/// A call or kernel on thread `tid`; `start` and `length` are in µs.
fn call(
    name: &str,
    cat: &str,
    tid: u32,
    start: u32,
    length: u32,
    args: &serde_json::Value,
) -> serde_json::Value {
    json!({
        "ph": "X", "cat": cat, "name": name, "pid": if cat == "kernel" { 0 } else { 1 }, "tid": tid, "ts": start,
        "dur": length, "args": args,
    })
}

fn launched(
    tid: u32,
    at: u32,
    correlation: u32,
    (start, length): (u32, u32),
) -> [serde_json::Value; 2] {
    let args = json!({"correlation": correlation, "stream": 7, "device": 0});
    [
        call("cudaLaunchKernel", "cuda_runtime", tid, at, 2, &json!({"correlation": correlation})),
        call("gemm", "kernel", 7, start, length, &args),
    ]
}

#[test]
fn work_of_another_thread_is_inferred_and_idle_time_is_known() {
    let none = json!({});
    let mut events = vec![
        call("outer", "user_annotation", 1, 0, 100, &none),
        call("inner", "user_annotation", 1, 20, 40, &none),
    ];
    // A second thread launches one kernel while `inner` is open, and the first thread launches another kernel after
    // `inner` ends.
    events.extend(launched(2, 30, 1, (40, 10)));
    events.extend(launched(1, 70, 2, (80, 40)));
    let rows = rows(json!({ "traceEvents": events }).to_string());
    let (outer, inner) = (rows["outer"], rows["outer / inner"]);
    assert_eq!((inner.gpu_events, inner.inferred), (1, 1));
    assert_eq!((outer.gpu_events, outer.inferred), (2, 1));
    assert_eq!((outer.gpu_busy, outer.gpu_idle), (Nanos(50_000), Some(Nanos(70_000))));
    assert_eq!((inner.gpu_idle, inner.host_self), (Some(Nanos(30_000)), Nanos(40_000)));
    assert_eq!(outer.host_self, Nanos(60_000));
}

#[test]
fn regions_that_overlap_without_nesting_are_part_of_the_first() {
    let none = json!({});
    let mut events = vec![
        call("one", "user_annotation", 1, 0, 50, &none),
        call("two", "user_annotation", 1, 30, 50, &none),
    ];
    events.extend(launched(1, 60, 1, (62, 10)));
    events.extend(launched(1, 90, 2, (92, 10)));
    let rows = rows(json!({ "traceEvents": events }).to_string());
    assert_eq!(rows.keys().map(String::as_str).collect::<Vec<_>>(), ["", "one", "one / two"]);
    assert_eq!(
        (rows["one / two"].gpu_events, rows["one"].gpu_events, rows[""].gpu_events),
        (1, 1, 1)
    );
    assert_eq!(rows["one"].host_self, Nanos(30_000));
}

#[test]
fn traces_without_annotations_have_no_regions() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| t.op("aten::mm", |t| t.kernel("gemm", 10.0)))
        .json();
    assert!(rows(text).is_empty());
}

fn files() -> Vec<PathBuf> {
    let mut files = vec![
        example("memory/memory_base.pt.trace.json.gz"),
        example("serving/serving_base.pt.trace.json.gz"),
    ];
    let names = ["mi300_h100/bert.h100", "mi300_h100/timesformer.mi300", "torch215/one_cnn_mem"];
    files.extend(names.iter().filter_map(|name| real(&format!("{name}.json.gz"))));
    files
}

/// Checks the region of each launch against the innermost region that a search through all annotations finds.
#[test]
fn a_search_through_all_annotations_finds_the_same_work() {
    for path in files() {
        let name = path.display().to_string();
        compare_files(PerSide::new(path.clone(), path), |analysis| {
            let tree = analysis.tree(Side::Baseline);
            let trace = tree.trace();
            let regions: Vec<_> = trace
                .events()
                .filter(|&event| trace.category(event) == Category::UserAnnotation)
                .map(|event| (trace.thread_of(event), trace.start(event), trace.end(event)))
                .collect();
            let (mut own, mut inferred, mut outside) = (0u64, 0u64, 0u64);
            let mut all = Nanos::ZERO;
            for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
                all += tree.duration(call);
                let launch = tree.running_launch(call).and_then(|launch| tree.event(launch));
                let is_open = |any_thread: bool| {
                    launch.is_some_and(|launch| {
                        let at = trace.start(launch);
                        regions.iter().any(|&(thread, start, end)| {
                            (any_thread || thread == trace.thread_of(launch))
                                && start <= at
                                && at < end
                        })
                    })
                };
                match (is_open(false), is_open(true)) {
                    (true, _) => own += 1,
                    (false, true) => inferred += 1,
                    (false, false) => outside += 1,
                }
            }
            let rows = analysis.annotated();
            let sum = |of: fn(&AnnotatedFigures) -> u64, is_it: fn(&AnnotatedRow) -> bool| -> u64 {
                let rows = rows.iter().filter(|row| is_it(row));
                rows.filter_map(|row| row.figures.baseline.as_ref().map(of)).sum()
            };
            let is_outermost = |row: &AnnotatedRow| row.path.len() == 1;
            assert_eq!(sum(|f| f.inferred, is_outermost), inferred, "{name}");
            assert_eq!(sum(|f| f.gpu_events - f.inferred, is_outermost), own, "{name}");
            assert_eq!(sum(|f| f.gpu_events, |row| row.path.is_empty()), outside, "{name}");
            let time = rows.iter().filter(|row| row.path.len() <= 1);
            let time = time.filter_map(|row| row.figures.baseline.map(|f| f.gpu_time));
            assert_eq!(time.sum::<Nanos>(), all, "{name}");
            for row in rows {
                let f = row.figures.baseline.expect("figures");
                assert!(f.gpu_busy <= f.gpu_time && f.host_self <= f.wall, "{name} {:?}", row.path);
                let is_part = f.gpu_idle.is_none_or(|idle| Nanos::ZERO <= idle && idle <= f.wall);
                assert!(is_part && f.host_self >= Nanos::ZERO, "{name} {:?}", row.path);
            }
        });
    }
}

#[test]
fn regions_are_matched_by_name_and_nesting() {
    let text = |name: &str| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                t.annotation("step 1", |t| {
                    t.annotation(name, |t| t.op("aten::mm", |t| t.kernel("gemm", 10.0)));
                });
            })
            .json()
    };
    compare_texts(&PerSide::new(text("old"), text("new")), |analysis: &Analysis| {
        let rows = analysis.annotated();
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.path.join(" / "), row.figures.map(|figures| figures.is_some())))
            .collect();
        let row = |path: &str, one, two| (path.to_owned(), PerSide::new(one, two));
        let expected = [
            row("step N", true, true),
            row("step N / new", false, true),
            row("step N / old", true, false),
        ];
        assert_eq!(shown, expected);
    });
}

/// The expected numbers were counted in Python from the raw JSON. For each region, they are the number of its GPU
/// events, and how many of these events were launched on another thread, so that their region is inferred.
#[test]
fn the_backward_pass_is_inferred_to_belong_to_the_region_of_the_main_thread() {
    // Of the 9,450 events, 3,348 were launched on a thread that has regions, and 9,444 belong to a step or to a
    // collective.
    let Some(path) = real("training/eager.a100.json.gz") else { return };
    compare_files(PerSide::new(&path, &path), |analysis| {
        let rows = analysis.annotated();
        let of = |path: &[&str]| {
            let row = rows.iter().find(|row| row.path == path).expect("a row");
            let figures = row.figures.baseline.expect("figures");
            (figures.gpu_events, figures.inferred)
        };
        let step = "ProfilerStep#N";
        assert_eq!(of(&[step, "## backward ##"]), (6114, 6102));
        assert_eq!(of(&[step]), (9426, 6102));
        assert_eq!(of(&["nccl:all_reduce"]), (18, 0));
        let outermost = rows.iter().filter(|row| row.path.len() == 1);
        let all: u64 = outermost.filter_map(|row| row.figures.baseline.map(|f| f.gpu_events)).sum();
        assert_eq!((all, all - 6102), (9450, 3348));
    });
    let Some(path) = real("training/resnet50_ddp.a100.json.gz") else { return };
    compare_files(PerSide::new(&path, &path), |analysis| {
        let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for row in analysis.annotated() {
            let figures = row.figures.baseline.expect("figures");
            if let Some(name) = row.path.last().filter(|name| name.starts_with("## ")) {
                let own = found.entry(name.clone()).or_default();
                own.0 += figures.gpu_events - figures.inferred;
                own.1 += figures.inferred;
            }
        }
        let expected = [
            ("## backward ##", (18, 2358)),
            ("## forward ##", (1356, 0)),
            ("## optimizer ##", (27, 0)),
        ];
        assert_eq!(found, expected.map(|(name, counts)| (name.to_owned(), counts)).into());
    });
}

#[test]
fn keys_of_compiled_graphs_do_not_separate_regions() {
    let text = |key: &str| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                t.annotation(&format!("## Call CompiledFxGraph {key} ##"), |t| {
                    t.op("aten::mm", |t| t.kernel("gemm", 10.0));
                });
            })
            .json()
    };
    let keys = PerSide::new(
        "fb3en3pmdtsn2pziyq6jiyhnewghozxvyb5vy5kk6ejlfff7gc3n",
        "fvcpdjt7fpy65y53bzhu7umzbrdxec2rio6rm7avetcryhrync25",
    );
    compare_texts(&keys.map(text), |analysis| {
        let rows = analysis.annotated();
        let both = rows.iter().map(|row| row.figures.map(|figures| figures.is_some()));
        assert_eq!(both.collect::<Vec<_>>(), [PerSide::new(true, true)]);
    });
}
