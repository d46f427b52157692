//! Differences that are none: other spellings of one trace, other numbers of steps, other selections, a profiler
//! that records more.

use crate::support::compared::{compare_files, compare_texts, compare_with, steps_of, trace};
use crate::support::files::unpacked;
use crate::support::laws;
use crate::support::trace_builder::TraceBuilder;
use crate::support::traces;
use std::path::{Path, PathBuf};
use tracetree::analysis::{Analysis, AnalysisOptions, Reason, Work};
use tracetree::program::Selection;
use tracetree::trace::{Nanos, Trace};
use tracetree::tree::CallTree;
use tracetree::{PerSide, Side};

/// The same JSON in another spelling: no blanks but new lines, and escapes for all that is not ASCII.
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

/// Traces of several recorders: of 2021, with times in whole microseconds, on ROCm, of today.
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

/// How many call sites there are of each kind.
fn works(analysis: &Analysis) -> [usize; 3] {
    let of = |work| analysis.judged().sites.iter().filter(|site| site.work == work).count();
    [Work::Same, Work::Changed, Work::OneSided].map(of)
}

fn selected(trace: Trace, steps: &str) -> Trace {
    let steps = Some(steps.parse().expect("a range"));
    Selection { steps, phase: None }.cut(&CallTree::build(trace)).expect("some steps")
}

#[test]
fn a_trace_written_again_in_another_spelling_equals_itself() {
    for path in of_all_eras() {
        compare_texts(&spellings(&path), |analysis| {
            let name = path.display();
            assert_eq!(analysis.diff().differences(), [], "{name}");
            assert_eq!(works(analysis)[1..], [0, 0], "{name}");
            laws::no_cause(analysis);
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
fn another_spelling_changes_no_answer_about_other_steps() {
    let path = traces::h100("train_five_steps");
    let texts = spellings(&path);
    let compared = |candidate: &str| {
        let baseline = selected(trace("five", &texts.baseline), "0..2");
        let candidate = selected(trace("five", candidate), "2..5");
        compare_with(PerSide::new(baseline, candidate), AnalysisOptions::default(), |analysis| {
            let pairs = analysis.diff().uid_map();
            let uids = pairs.map(|pair| (pair.baseline, pair.candidate)).collect::<Vec<_>>();
            (works(analysis), uids)
        })
    };
    let (sites, uids) = compared(&texts.baseline);
    assert_eq!(sites[1..], [0, 0]);
    assert!((sites, uids) == compared(&texts.candidate));
}

#[test]
fn steps_without_a_counterpart_are_left_out_and_counted() {
    // The batch is half as large, which changes shapes and some kernels, but nothing is new or gone.
    let paths = PerSide::new("train_batch", "train_five_steps").map(traces::h100);
    for is_turned in [false, true] {
        let paths = if is_turned { paths.clone().swap() } else { paths.clone() };
        compare_files(paths, |analysis| {
            assert_eq!(analysis.causes().steps(), PerSide::new(2, 2));
            assert!(analysis.wall().is_exact() && analysis.causes().is_exact(analysis.wall()));
            assert!(
                Side::BOTH.iter().any(|&side| analysis.wall().totals(side).alone > Nanos::ZERO)
            );
            let whole_step = |place: &str| place.contains("whole_step");
            let found = analysis.causes().list().iter().find(|cause| whole_step(&cause.place));
            assert_eq!(found, None);
            let note = analysis.comparability().both.get("DIFFERENT_STEP_COUNT").expect("a note");
            assert!(note.message.contains("3 without a counterpart"), "{}", note.message);
        });
    }
}

#[test]
fn five_steps_of_equal_work_are_as_two_of_them() {
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
            assert_eq!(works(analysis)[1..], [0, 0], "{counts:?}");
            let of_work = |reason| !matches!(reason, Reason::Tail | Reason::BeforeWindow);
            let causes = analysis.causes().list().iter();
            let causes: Vec<_> = causes.filter(|cause| of_work(cause.reason)).collect();
            assert!(causes.is_empty(), "{counts:?}: {causes:#?}");
        });
    }
}

/// Steps that launch much faster than the device works.
fn gpu_bound(steps: u32) -> Trace {
    let text = steps_of(steps, |t| {
        for _ in 0..3 {
            t.op("aten::mm", |t| t.kernel("gemm", 500.0));
        }
    });
    trace("gpu bound", &text)
}

#[test]
fn a_device_that_runs_work_which_was_not_selected_is_not_idle() {
    let pair = PerSide::new("0..2", "3..5").map(|steps| selected(gpu_bound(6), steps));
    compare_with(pair, AnalysisOptions::default(), |analysis| {
        let totals = PerSide::from_fn(|side| analysis.wall().totals(side));
        assert!(analysis.wall().is_exact() && analysis.causes().is_exact(analysis.wall()));
        assert_eq!(totals.baseline.busy, totals.candidate.busy);
        // Before step 3 run the kernels of the steps before it.
        assert!(totals.candidate.before > Nanos(3_000_000), "{totals:?}");
        assert!((totals.candidate.idle - totals.baseline.idle).abs() < Nanos(50_000), "{totals:?}");
        for (side, rows) in Side::BOTH.map(|side| (side, analysis.step_rows())) {
            let idle: Nanos = rows.iter().map(|row| row.figures[side].idle).sum();
            assert!(idle < Nanos(100_000), "{idle:?}");
        }
    });
}

#[test]
fn exchanging_two_selections_exchanges_the_answers() {
    for name in ["train_five_steps", "decode_eager"] {
        let path = traces::h100(name);
        let cut = |steps: &str| selected(Trace::open(&path).expect("an example"), steps);
        for [one, two] in [["0..2", "3..5"], ["0..2", "2.."], ["1..", "0..2"]] {
            let options = AnalysisOptions::default;
            compare_with(PerSide::new(cut(one), cut(two)), options(), |analysis| {
                compare_with(PerSide::new(cut(two), cut(one)), options(), |turned| {
                    laws::mirror(analysis.diff(), turned.diff());
                    laws::wall_and_causes(analysis, turned);
                    assert_eq!(works(analysis), works(turned));
                });
            });
        }
    }
}

#[test]
fn frames_of_the_profiler_are_no_point_of_difference() {
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
    // Other frames are.
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
            assert_eq!(works(analysis)[1..], [0, 0]);
        });
    }
}
