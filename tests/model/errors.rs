//! Tests with inputs that `model-diff` rejects: each error must name the file, the position and the remedy.

use crate::support::root;
use tracetree::{Error, ErrorKind};
use tracetree_model::{
    ForwardPasses, ModelTrace, Outcome, Profile, Scenario, scenarios_from_bytes,
};

fn trace_error(text: &str) -> Error {
    ModelTrace::from_bytes(text.as_bytes(), "t.json").expect_err(text)
}

fn profile_error(text: &str) -> Error {
    Profile::from_bytes(text.as_bytes(), "p.csv").expect_err(text)
}

/// The text of an error. Checks that it is a single line that begins with the file name and ends with a remedy in
/// parentheses.
fn shown(error: &Error) -> String {
    let text = error.to_string();
    assert!(text.starts_with(&error.path().expect("a file").display().to_string()), "{text}");
    assert!(text.ends_with(')') && !text.contains('\n'), "{text}");
    text
}

#[test]
fn a_trace_without_a_predicting_process_lists_its_pids() {
    let text = r#"[
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "analytic (PID: 1)"}},
        {"ph": "X", "name": "a", "pid": 1, "dur": 1}, {"ph": "X", "name": "a", "pid": 2, "dur": 1}
    ]"#;
    let error = trace_error(text);
    assert_eq!(error.kind(), ErrorKind::NotATrace);
    assert!(
        shown(&error).contains("pids in the trace: 1 (analytic (PID: 1)), 2 (no name)"),
        "{error}"
    );
}

#[test]
fn a_long_list_of_pids_is_shortened() {
    let events: Vec<String> =
        (0..500).map(|pid| format!(r#"{{"ph": "X", "pid": {pid}, "dur": 1}}"#)).collect();
    let text = shown(&trace_error(&format!("[{}]", events.join(","))));
    assert!(text.contains("440 more") && text.len() < 2_000, "{text}");
}

#[test]
fn a_predicting_process_without_ops_is_not_replaced_by_another() {
    let text = r#"[
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "empirical"}},
        {"ph": "X", "name": "a", "pid": 2, "dur": 1}
    ]"#;
    assert!(shown(&trace_error(text)).contains("contains no ops"));
    assert!(shown(&trace_error("[]")).contains("contains no ops"));
}

#[test]
fn a_negative_or_unreadable_op_duration_names_its_event() {
    let error =
        trace_error(r#"[{"ph": "M"}, {"ph": "X", "name": "aten.mm", "pid": 0, "dur": -3}]"#);
    assert!(shown(&error).contains("event 1 (`aten.mm`): the duration is negative: -3.000 µs"));
    let error = trace_error(r#"[{"ph": "X", "name": "a", "pid": 0, "dur": "soon"}]"#);
    assert!(
        shown(&error).contains("event 0 (`a`): the duration `soon` is not a number"),
        "{error}"
    );
    let error = trace_error(
        r#"[{"ph": "X", "name": "a", "pid": 0, "dur": 3,
        "args": {"kernel_type": "K", "sub_kernel_durations": "[('K', -1.5)]"}}]"#,
    );
    assert!(shown(&error).contains("the duration of K is negative: -1.500 µs"), "{error}");
}

#[test]
fn the_error_for_a_malformed_trace_names_the_byte() {
    let error = trace_error("{\"traceEvents\": [\n{\"ph\": \"X\"},\n{\"ph\" \"X\"}]}");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.place().map(|place| place.offset), Some(37));
    assert!(shown(&error).starts_with("t.json: byte 37: "), "{error}");
    assert!(shown(&trace_error("{}")).contains("no `traceEvents`"));
    assert!(shown(&trace_error("")).contains("cannot be read: EOF"));
    assert!(shown(&trace_error("Type,Duration(us)\n")).contains("then the profile"));
    let deep = "[".repeat(100_000);
    assert!(shown(&trace_error(&deep)).contains("cannot be read"));
}

#[test]
fn missing_columns_are_named_along_with_those_found() {
    let error = profile_error("Op Name,Type,Task Duration(us)\nA,B,1\n");
    assert!(
        shown(&error).contains(
            "no column `Start Time(us)`, `Duration(us)`; columns found: Op Name, Type, Task Duration(us)"
        ),
        "{error}"
    );
    assert!(shown(&profile_error("")).contains("no column `Type`"));
}

#[test]
fn the_error_for_a_bad_cell_names_its_line_and_byte() {
    let header = "Type,Start Time(us),Duration(us)\n";
    let error = profile_error(&format!("{header}A,1.0,1\nA,2.0,-1.5\n"));
    assert_eq!(error.place().map(|place| place.offset), Some(41));
    assert!(shown(&error).contains("line 3: the duration is negative: -1.500 µs"), "{error}");
    let error = profile_error(&format!("{header}A,2.0,1 ms\n"));
    assert!(shown(&error).contains("line 2: `1 ms` in `Duration(us)` is not a number"), "{error}");
    let error = profile_error(&format!("{header}A,yesterday,1\n"));
    assert!(shown(&error).contains("line 2: `yesterday` in `Start Time(us)`"), "{error}");
    let error = profile_error(&format!("{header}A,2.0\n"));
    assert!(shown(&error).contains("line 2: the line ends after 2 cells, before `Duration(us)`"));
    assert!(shown(&profile_error(header)).contains("contains no kernels"));
}

#[test]
fn a_damaged_gzip_file_is_an_error() {
    use std::io::Write;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.json.gz");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&[b' '; 10_000]).expect("memory");
    let bytes = packed.finish().expect("memory");
    std::fs::write(&path, &bytes[..bytes.len() - 9]).expect("a file");
    let error = ModelTrace::read(&path).expect_err("a cut file");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(shown(&error).contains("truncated or damaged"), "{error}");
}

#[test]
fn a_missing_file_skips_a_scenario_and_a_bad_one_does_not() {
    let folder = root().join("tests/fixtures/model_smallest").display().to_string();
    let trace = format!("{folder}/model_trace.json");
    let missing = Scenario::new(&trace, format!("{folder}/none.csv"));
    assert_eq!(missing.compare().expect_err("no file").kind(), ErrorKind::Io);
    match missing.outcome().expect("an outcome") {
        Outcome::Skipped { scenario, reason } => {
            assert_eq!(scenario, "model_trace");
            assert!(reason.to_string().contains("none.csv: cannot open the kernel profile"));
        }
        Outcome::Compared(comparison) => panic!("compared {comparison:?}"),
    }
    assert!(Scenario::new(&trace, &trace).outcome().is_err());
    let mut mapped = Scenario::new(&trace, format!("{folder}/kernel_details.csv"));
    mapped.op_mapping = Some(format!("{folder}/none.yaml").into());
    assert!(matches!(mapped.outcome(), Ok(Outcome::Skipped { .. })));
}

#[test]
fn a_list_of_scenarios_is_checked_before_anything_is_read() {
    let refused =
        |text: &str| shown(&scenarios_from_bytes(text.as_bytes(), "runs/s.toml").expect_err(text));
    let one = "[[scenario]]\nname = \"a\"\nmodel_trace = \"t\"\nprofile = \"p\"\n";
    assert!(refused("").contains("lists no scenarios"));
    assert!(refused(&format!("{one}{one}")).contains("two scenarios are named `a`"));
    assert!(refused(&format!("{one}forward_passes = 0\n")).contains("forward_passes is 0"));
    assert!(refused(&format!("{one}passes = 2\n")).contains("unknown field `passes`"));
    let text = refused("[[scenario]]\nname = \"a\"\n");
    assert!(text.contains("missing field `model_trace`"), "{text}");
    assert!(refused("[[scenario]\n").starts_with("runs/s.toml: byte "));
    let scenarios = scenarios_from_bytes(one.as_bytes(), "runs/s.toml").expect("one");
    assert_eq!(scenarios[0].profile, std::path::Path::new("runs/p"));
    assert_eq!(scenarios[0].forward_passes, ForwardPasses::ONE);
}

#[test]
fn the_number_of_forward_passes_is_at_least_one() {
    assert_eq!(ForwardPasses::new(0), None);
    for text in ["0", "-1", "1.5", "", "many", "4294967296"] {
        assert!(text.parse::<ForwardPasses>().is_err(), "{text}");
    }
    assert_eq!("4".parse::<ForwardPasses>().ok(), ForwardPasses::new(4));
}
