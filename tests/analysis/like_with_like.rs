//! Tests with variations that must not be reported as differences: rewritten JSON, different numbers of steps,
//! different selections, and a profiler that records more.

use crate::support::compared::{compare_files, compare_texts, compare_with, steps_of, trace};
use crate::support::files::unpacked;
use crate::support::laws;
use crate::support::trace_builder::TraceBuilder;
use crate::support::traces;
use std::path::{Path, PathBuf};
use tracetree::analysis::AnalysisOptions;
use tracetree::program::Selection;
use tracetree::trace::{Nanos, Trace};
use tracetree::tree::CallTree;
use tracetree::{PerSide, Side};

/// Rewrites the JSON text in a different style: newlines are the only white space, and all non-ASCII characters are
/// escaped.
fn respelled(json: &str) -> String {
    let (mut out, mut in_string, mut is_escaped) = (String::new(), false, false);
    for character in json.chars() {
        match character {
            _ if !in_string && character.is_ascii_whitespace() => continue,
            ',' if !in_string => out.push_str(",\n"),
            _ if character.is_ascii() => out.push(character),
            _ => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    out += &format!("\\u{unit:04x}");
                }
            }
        }
        in_string ^= character == '"' && !is_escaped;
        is_escaped = in_string && character == '\\' && !is_escaped;
    }
    out
}

/// Traces from several recorders: a trace from 2021 with whole-microsecond times, a trace from ROCm, and recent
/// traces.
fn of_all_eras() -> Vec<PathBuf> {
    let own =
        ["h100/train_five_steps.pt.trace.json.gz", "resnet.rocm.json.gz"].map(traces::example);
    let real = [
        "old/resnet50_2021.num_workers_0.json.gz",
        "training/eager.a100.json.gz",
        "inference/vllm_eager.b200.json.gz",
        "torch215/cnn_base_1.json.gz",
    ];
    own.into_iter().chain(real.into_iter().filter_map(traces::real)).collect()
}

fn spellings(path: &Path) -> PerSide<String> {
    let text = String::from_utf8(unpacked(path).expect("a trace")).expect("sound text");
    let again = respelled(&text);
    assert_ne!(text, again);
    PerSide::new(text, again)
}

fn selected(trace: Trace, steps: &str) -> Trace {
    let steps = Some(steps.parse().expect("a range"));
    Selection { steps, phase: None }.cut(&CallTree::build(trace)).expect("some steps")
}

#[test]
fn a_trace_rewritten_as_different_json_equals_the_original() {
    for path in of_all_eras() {
        compare_texts(&spellings(&path), |analysis| {
            let name = path.display();
            assert_eq!(analysis.diff().differences(), [], "{name}");
            assert!(analysis.changes().is_identical(), "{name}");
            laws::no_bill(analysis);
            let shapes = |side: Side| {
                let trace = analysis.tree(side).trace();
                let grids = trace.grids().iter().map(|(_, grid)| trace.text(grid.grid).to_owned());
                grids.collect::<Vec<String>>()
            };
            assert_eq!(shapes(Side::Baseline), shapes(Side::Candidate), "{name}");
        });
    }
}

#[test]
fn rewriting_the_json_does_not_change_the_matching() {
    let path = traces::h100("train_five_steps");
    let texts = spellings(&path);
    let compared = |candidate: &str| {
        let baseline = selected(trace("five", &texts.baseline), "0..2");
        let candidate = selected(trace("five", candidate), "2..5");
        compare_with(PerSide::new(baseline, candidate), AnalysisOptions::default(), |analysis| {
            let pairs = analysis.diff().uid_map();
            let uids = pairs.map(|pair| (pair.baseline, pair.candidate)).collect::<Vec<_>>();
            (analysis.changes().list().len(), uids)
        })
    };
    let (changes, uids) = compared(&texts.baseline);
    assert_eq!(changes, 0);
    assert!((changes, uids) == compared(&texts.candidate));
}

#[test]
fn steps_without_a_counterpart_are_left_out_and_counted() {
    // Halving the batch changes shapes and some kernels, but it neither adds nor removes calls.
    let paths = PerSide::new("train_batch", "train_five_steps").map(traces::h100);
    for is_turned in [false, true] {
        let paths = if is_turned { paths.clone().swap() } else { paths.clone() };
        compare_files(paths, |analysis| {
            assert_eq!(analysis.compared().count(), Some(2));
            assert!(analysis.wall().is_exact() && analysis.changes().is_exact(analysis.wall()));
            assert!(
                Side::BOTH.iter().any(|&side| analysis.wall().totals(side).alone > Nanos::ZERO)
            );
            let note = analysis.comparability().both.get("DIFFERENT_STEP_COUNT").expect("a note");
            assert!(note.message.contains("3 steps without a counterpart"), "{}", note.message);
        });
    }
}

#[test]
fn five_steps_of_equal_work_compare_like_two_of_them() {
    let text = |count| {
        steps_of(count, |t| {
            t.frame("train.py(1): step", |t| {
                t.op("aten::linear", |t| t.op("aten::addmm", |t| t.kernel("gemm", 40.0)));
            });
        })
    };
    for counts in [(2, 5), (5, 2)] {
        compare_texts(&PerSide::new(text(counts.0), text(counts.1)), |analysis| {
            assert_eq!(analysis.diff().differences(), [], "{counts:?}");
            assert!(analysis.changes().is_identical(), "{counts:?}");
        });
    }
}

/// A trace in which the host launches the work of each step much faster than the GPU runs it.
fn gpu_bound(steps: u32) -> Trace {
    let text = steps_of(steps, |t| {
        for _ in 0..3 {
            t.op("aten::mm", |t| t.kernel("gemm", 500.0));
        }
    });
    trace("gpu bound", &text)
}

#[test]
fn a_gpu_that_runs_unselected_work_is_not_idle() {
    let pair = PerSide::new("0..2", "3..5").map(|steps| selected(gpu_bound(6), steps));
    compare_with(pair, AnalysisOptions::default(), |analysis| {
        let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
        assert!(analysis.wall().is_exact() && analysis.changes().is_exact(analysis.wall()));
        assert_eq!(totals.baseline.busy, totals.candidate.busy);
        // The kernels of the earlier steps, which are not selected, still run for more than 3 ms after step 3 has
        // begun.
        assert!(totals.candidate.before > Nanos(3_000_000), "{totals:?}");
        assert!((totals.candidate.idle - totals.baseline.idle).abs() < Nanos(50_000), "{totals:?}");
        for (side, rows) in Side::BOTH.map(|side| (side, analysis.step_rows())) {
            let idle: Nanos = rows.iter().map(|row| row.figures[side].idle).sum();
            assert!(idle < Nanos(100_000), "{idle:?}");
        }
    });
}

#[test]
fn excluded_steps_take_no_time_from_the_compared_steps() {
    let path = traces::h100("train_five_steps");
    for steps in ["0..2", "1..3", "2..4", "3..5", "4"] {
        let whole = Trace::open(&path).expect("an example");
        let part = selected(Trace::open(&path).expect("an example"), steps);
        compare_with(PerSide::new(part, whole), AnalysisOptions::default(), |analysis| {
            let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
            assert_eq!(totals.baseline.own(), totals.candidate.own(), "{steps}");
            assert_eq!(totals.baseline.busy, totals.candidate.busy, "{steps}");
            assert_eq!(analysis.bill().difference(), Nanos::ZERO, "{steps}");
            assert!(analysis.wall().is_exact() && analysis.changes().is_exact(analysis.wall()));
        });
    }
}

#[test]
fn swapping_two_selections_mirrors_the_results() {
    let path = traces::h100("train_five_steps");
    let cut = |steps: &str| selected(Trace::open(&path).expect("an example"), steps);
    for [one, two] in [["0..2", "3..5"], ["0..2", "2.."], ["1..", "0..2"], ["..", "4"]] {
        let options = AnalysisOptions::default;
        compare_with(PerSide::new(cut(one), cut(two)), options(), |analysis| {
            compare_with(PerSide::new(cut(two), cut(one)), options(), |turned| {
                laws::mirror(analysis.diff(), turned.diff());
                laws::wall_and_bill(analysis, turned);
            });
        });
    }
}

#[test]
fn steps_that_make_the_same_calls_are_matched_whatever_their_numbers() {
    // The steps have 100 or 101 ops. They are so similar that the correct steps are matched only because identical
    // steps are preferred.
    let text = |steps: &[(u32, bool)]| {
        let built = TraceBuilder::cuda().thread("main", |t| {
            for &(number, clips) in steps {
                t.step(number, |t| {
                    (0..100).for_each(|_| t.op("aten::mm", |t| t.kernel("gemm", 40.0)));
                    if clips {
                        t.op("aten::clip", |t| t.kernel("clip", 4.0));
                    }
                });
            }
        });
        built.json()
    };
    let short = text(&[(3, false), (4, true)]);
    let long = text(&[(3, false), (4, false), (5, true)]);
    for texts in [PerSide::new(&short, &long), PerSide::new(&long, &short)] {
        compare_texts(&texts.map(Clone::clone), |analysis| {
            assert_eq!(analysis.diff().differences(), []);
        });
    }
}

#[test]
fn frames_of_the_profiler_are_not_points_of_difference() {
    let text = |with_memory: bool| {
        let built = TraceBuilder::cuda().thread("main", |t| {
            t.frame("train.py(3): main", |t| {
                if with_memory {
                    t.frame("torch/profiler/profiler.py(352): add_metadata_json", |t| {
                        t.frame("<built-in method _add_metadata_json>", |_| {});
                    });
                }
                t.frame("loader.py(7): load", |_| {});
                t.op("aten::mm", |t| t.kernel("gemm", 40.0));
            });
        });
        built.json()
    };
    compare_texts(&PerSide::new(text(false), text(true)), |analysis| {
        assert_eq!(analysis.diff().differences(), []);
    });
    // Frames from the profiler's own files are ignored, but a frame from any other file is a point of difference.
    let without = text(true).replace("torch/profiler/profiler.py", "trainer.py");
    compare_texts(&PerSide::new(text(false), without), |analysis| {
        assert_eq!(analysis.diff().differences().len(), 1);
    });
}

#[test]
fn recording_memory_changes_no_call_site() {
    for (one, two) in [
        ("cpu/cnn.pt.trace.json.gz", "cpu/cnn_mem.pt.trace.json.gz"),
        ("torch215/one_cnn_a.json.gz", "torch215/one_cnn_mem.json.gz"),
    ] {
        let [Some(one), Some(two)] = [one, two].map(traces::real) else { return };
        compare_files(PerSide::new(one, two), |analysis| {
            assert_eq!(analysis.diff().differences(), []);
            assert!(analysis.changes().is_identical());
        });
    }
}
