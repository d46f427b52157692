//! Tests with recordings in which one side lacks Python stacks, shapes, or GPU events: the answer may become weaker, but
//! never wrong.

use crate::pairs::{KNOWN, SAME, file};
use crate::parts::{Part, without};
use crate::shown;
use crate::support::compared::compare_texts;
use serde_json::Value;
use tracetree::PerSide;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;
use tracetree::report::Narrative;

/// Compares two files without a part of one side, and then without this part of the other side.
fn stripped(one: &str, two: &str, part: Part, mut look: impl FnMut(&Analysis, &str)) {
    let (Some(a), Some(b)) = (file(one), file(two)) else { return };
    if [&a, &b].iter().any(|path| !path.to_string_lossy().contains(".json")) {
        return;
    }
    for parts in [PerSide::new(part, Part::Nothing), PerSide::new(Part::Nothing, part)] {
        let texts = PerSide::new(without(&a, parts.baseline), without(&b, parts.candidate));
        compare_texts(&texts, |analysis| look(analysis, &format!("{one} → {two}: {parts:?}")));
    }
}

/// Whether a kind of change is visible without Python stacks.
fn is_of_ops(kind: ChangeKind) -> bool {
    !matches!(kind, ChangeKind::Python | ChangeKind::Recording)
}

/// The recordings with stacks, except for large ones.
fn singles() -> impl Iterator<Item = (&'static str, &'static str, ChangeKind)> {
    let list = KNOWN.iter().map(|pair| (pair.baseline, pair.candidate, pair.kind));
    list.filter(|(one, ..)| {
        ["train_", "examples/cpu/cpu_", "examples/known/"]
            .iter()
            .any(|start| one.starts_with(start))
    })
}

#[test]
fn a_change_is_never_called_identical_if_one_side_lacks_stacks() {
    let mut wrong = Vec::new();
    for (one, two, kind) in singles().filter(|(.., kind)| is_of_ops(*kind)) {
        stripped(one, two, Part::Stacks, |analysis, name| {
            if analysis.changes().is_identical() {
                wrong.push(format!("{name} ({})", kind.label()));
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_same_program_is_identical_as_far_as_recorded_without_a_part_of_one_side() {
    for part in [Part::Stacks, Part::Shapes] {
        for (one, two) in [
            ("train_base", "train_again"),
            ("examples/cpu/cpu_base.pt.trace", "examples/cpu/cpu_again.pt.trace"),
        ] {
            stripped(one, two, part, |analysis, name| {
                assert!(analysis.changes().is_identical(), "{name}: {:?}", shown(analysis));
                let state = Narrative::of(analysis).state.expect("a state");
                assert!(
                    state.starts_with("The programs are identical as far as recorded"),
                    "{state}"
                );
            });
        }
    }
}

#[test]
fn without_stacks_on_one_side_a_change_is_not_given_another_reason() {
    stripped("train_base", "train_layer_gone", Part::Stacks, |analysis, name| {
        let shown = shown(analysis);
        assert!(!shown.iter().any(|line| line.contains("a gradient")), "{name}: {shown:#?}");
        assert!(
            shown.iter().any(|line| line.contains("2 instead of 3 Block")),
            "{name}: {shown:#?}"
        );
    });
    stripped("train_base", "train_item", Part::Stacks, |analysis, name| {
        let kinds: Vec<ChangeKind> =
            analysis.changes().list().iter().map(|change| change.kind).collect();
        assert!(kinds.contains(&ChangeKind::HostRead), "{name}: {:#?}", shown(analysis));
        assert!(!kinds.contains(&ChangeKind::KernelSelection), "{name}: {:#?}", shown(analysis));
    });
}

#[test]
fn without_gpu_events_on_one_side_nothing_is_identical() {
    for (one, two) in [("train_base", "train_again"), ("train_base", "train_item")] {
        stripped(one, two, Part::Kernels, |analysis, name| {
            assert!(!analysis.changes().is_identical(), "{name}: {:?}", shown(analysis));
        });
    }
}

#[test]
fn launches_without_any_gpu_event_mean_that_the_gpu_was_not_recorded() {
    const MISSING: &str = "GPU activity was not recorded";
    let shown = |analysis: &Analysis| {
        analysis.comparability().obstacles().map(|note| note.message.clone()).collect::<String>()
    };
    stripped("train_base", "train_again", Part::Kernels, |analysis, name| {
        assert!(shown(analysis).contains(MISSING), "{name}: {}", shown(analysis));
    });
    stripped("train_base", "train_again", Part::Nothing, |analysis, name| {
        assert!(!shown(analysis).contains(MISSING), "{name}: {}", shown(analysis));
    });
}

#[test]
fn events_that_were_not_read_prevent_the_word_identical() {
    let text = without(&file("examples/cpu/cpu_base.pt.trace").expect("bundled"), Part::Nothing);
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let unknown = serde_json::json!({
        "ph": "X", "cat": "new_device", "name": "work", "pid": 1, "tid": 1, "ts": 1, "dur": 1
    });
    document["traceEvents"].as_array_mut().expect("events").push(unknown);
    let texts = PerSide::new(text, document.to_string());
    for texts in [PerSide::new(texts.baseline.clone(), texts.candidate.clone()), texts.swap()] {
        compare_texts(&texts, |analysis| {
            assert!(!analysis.changes().is_identical());
            let state = Narrative::of(analysis).state.expect("a state");
            assert!(state.contains("1 event of unknown categories"), "{state}");
        });
    }
}

/// Changes the arguments of an event, and returns false if it has no such argument.
type Edit = fn(&mut serde_json::Map<String, Value>) -> bool;

#[test]
fn other_launch_sizes_copies_or_scalars_are_not_identical() {
    let text = without(&file("train_base").expect("bundled"), Part::Nothing);
    let edits: [(Edit, &str); 3] = [
        (
            |arguments| {
                let grid = arguments.get_mut("grid").and_then(Value::as_array_mut);
                grid.is_some_and(|grid| {
                    grid[0] = Value::from(grid[0].as_i64().unwrap_or(0) + 1);
                    true
                })
            },
            "another launch size",
        ),
        (
            |arguments| {
                let bytes = arguments.get("bytes").and_then(Value::as_i64);
                bytes.is_some_and(|bytes| {
                    arguments.insert("bytes".to_owned(), Value::from(bytes + 4));
                    true
                })
            },
            "number of bytes",
        ),
        (
            |arguments| {
                let values = arguments.get_mut("Concrete Inputs").and_then(Value::as_array_mut);
                let mut numbers = values.into_iter().flatten();
                let number = numbers
                    .find(|value| value.as_str().is_some_and(|text| text.parse::<f64>().is_ok()));
                number.is_some_and(|number| {
                    *number = Value::from("31337");
                    true
                })
            },
            "other arguments",
        ),
    ];
    for (edit, words) in edits {
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        let events = document["traceEvents"].as_array_mut().expect("events");
        // Events outside of the steps are not compared, so an event in the middle is changed.
        let middle = events.len() / 2;
        let order = (middle..events.len()).chain(0..middle);
        let is_edited = { order }.any(|at| events[at]["args"].as_object_mut().is_some_and(edit));
        assert!(is_edited, "{words}");
        let texts = PerSide::new(text.clone(), document.to_string());
        compare_texts(&texts, |analysis| {
            assert!(!analysis.changes().is_identical(), "{words}");
            let state = Narrative::of(analysis).state.unwrap_or_default();
            assert!(state.contains(words) || !shown(analysis).is_empty(), "{words}: {state}");
        });
    }
}

#[test]
fn thousands_of_renamed_ops_are_another_program() {
    use crate::support::compared::steps_of;
    let of = |letter: &str| {
        steps_of(2, |t| {
            for number in 0..25_000 {
                t.op(format!("op_{letter}_{number}").as_str(), |_| {});
            }
        })
    };
    compare_texts(&PerSide::new(of("a"), of("b")), |analysis| {
        assert!(!analysis.changes().is_identical(), "{:?}", shown(analysis).len());
    });
}

#[test]
fn every_pair_of_runs_of_one_program_is_identical_in_both_directions() {
    for (one, two) in SAME {
        for (one, two) in [(one, two), (two, one)] {
            crate::pairs::compare(one, two, |analysis| {
                let remainder = analysis.changes().remainder();
                assert!(analysis.changes().is_identical(), "{one} → {two}: {remainder:?}");
            });
        }
    }
}
