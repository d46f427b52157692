//! Tests that every file in `malformed/` and `odd/` gives the expected result: a trace with notes,
//! or a clear error.
//!
//! The tests need `TRACETREE_TRACES`, the folder that contains `malformed/` and `odd/`.

use crate::support::files::real_traces;
use tracetree::trace::{Category, Nanos, ReadOptions, Stream, Trace, Uid};
use tracetree::{Error, ErrorKind};

fn read(name: &str) -> Option<Result<Trace, Error>> {
    Some(Trace::open(real_traces()?.join(name)))
}

fn trace(name: &str) -> Option<Trace> {
    Some(read(name)?.unwrap_or_else(|error| panic!("{error}")))
}

fn note(trace: &Trace, code: &str) -> (u64, String) {
    trace.notes().get(code).map_or((0, String::new()), |note| (note.count, note.message.clone()))
}

/// Checks a repaired trace: the number of its elements, the number of kept events, the number of repairs, and the text
/// of the note about the repairs.
#[track_caller]
fn assert_repaired(name: &str, elements: u64, kept: usize, repairs: u64, message: &str) {
    let Some(trace) = trace(name) else { return };
    assert_eq!((trace.total_events(), trace.len()), (elements, kept), "{name}");
    let (count, text) = note(&trace, "REPAIRED_JSON");
    assert_eq!(count, repairs, "{name}: {text}");
    assert!(text.contains(message), "{name}: {text}");
    assert_eq!(trace.len() as u64 + left_out(&trace), trace.total_events(), "{name}");
    assert_strict_refuses(name, repairs > 0);
}

fn left_out(trace: &Trace) -> u64 {
    trace.left_out().iter().map(|(_, count)| count).sum()
}

#[track_caller]
fn assert_strict_refuses(name: &str, refuses: bool) {
    let Some(folder) = real_traces() else { return };
    let strict = Trace::open_with(folder.join(name), &ReadOptions::default().strict());
    match strict {
        Err(error) if refuses => {
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            assert!(error.place().is_some(), "{error}");
        }
        Ok(_) if !refuses => {}
        other => panic!("{name}: strict gave {:?}", other.map(|trace| trace.len())),
    }
}

/// The name of the first event in a file. In most files in `malformed/`, the damaged event precedes all undamaged
/// events.
#[track_caller]
fn first_name(name: &str) -> Option<String> {
    let trace = trace(name)?;
    let first = trace.events().next().expect("an event");
    Some(trace.name(first).to_owned())
}

#[track_caller]
fn assert_first_name(name: &str, expected: &str) {
    if let Some(first) = first_name(name) {
        assert_eq!(first, expected, "{name}");
    }
}

#[track_caller]
fn assert_refused(name: &str, kind: ErrorKind, message: &str) {
    let Some(result) = read(name) else { return };
    let error = result.map(|trace| trace.len()).expect_err(name);
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.place().is_some(), "{error}");
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn good_files_need_no_repair() {
    for name in [
        "00_good.json",
        "18_toplevel_array.json",
        "21_crlf.json",
        "30_plain_named_gz.json.gz",
        "31_gz_named_json.json",
    ] {
        assert_repaired(&format!("malformed/{name}"), 404, 400, 0, "");
    }
}

#[test]
fn backslashes_of_windows_paths_are_kept() {
    let name = "malformed/01_windows_backslash_pr_c_i_.json";
    assert_repaired(
        name,
        405,
        401,
        1,
        "1 × text with unescaped backslashes (first: byte 372, event 0)",
    );
    assert_first_name(name, r"torch\cuda\__init__.py(219): _lazy_init");
    let name = "malformed/02_windows_backslash_valid_escapes.json";
    assert_repaired(name, 405, 401, 1, "backslashes");
    assert_first_name(name, r"C:\new\temp\bench.py(7): train");
}

#[test]
fn unescaped_quotes_are_kept_in_the_name() {
    let name = "malformed/04_unescaped_quotes_in_name.json";
    assert_repaired(
        name,
        405,
        401,
        1,
        "1 × event with unescaped quotes (first: byte 372, event 0)",
    );
    assert_first_name(name, r#"{"device": "cpu", "dtype": "float32"}(12): run"#);
}

#[test]
fn odd_bytes_in_names_are_kept_or_replaced() {
    for (file, name) in [
        ("malformed/06_raw_control_char.json", "<frozen importlib>\u{1}\u{1b}[0m(1): f"),
        ("malformed/07_raw_newline_tab_in_name.json", "line1\n\tline2(3): f"),
        ("malformed/09_nul_byte_in_name.json", "kern\0el"),
    ] {
        assert_repaired(file, 405, 401, 1, "raw control characters");
        assert_first_name(file, name);
    }
    let name = "malformed/08_invalid_utf8.json";
    assert_repaired(name, 405, 401, 1, "not UTF-8");
    assert_first_name(name, "vgg\u{fffd}\u{fffd}\u{fffd}\u{fffd}");
}

#[test]
fn words_that_are_not_json_are_missing_values() {
    assert_repaired("malformed/10_bare_inf_bandwidth.json", 405, 401, 1, "NaN, inf, N/A");
    assert_repaired("malformed/11_bare_nan_infinity.json", 405, 401, 2, "NaN, inf, N/A");
    if let Some(trace) = trace("malformed/11_bare_nan_infinity.json") {
        assert_eq!(note(&trace, "MISSING_TIME").0, 1);
    }
}

#[test]
fn all_whole_events_of_a_truncated_file_are_kept() {
    for (name, kept, share) in [
        ("malformed/13_truncated_mid_event.json", 236, "up to byte 137521"),
        ("malformed/14_truncated_after_event_no_close.json", 276, "up to byte 159980"),
        ("malformed/15_truncated_after_comma.json", 276, "up to byte 159981"),
        ("malformed/27_truncated.json.gz", 239, "the gzip data is cut off"),
    ] {
        let Some(trace) = trace(name) else { return };
        assert_eq!(trace.total_events(), kept, "{name}");
        let (count, message) = note(&trace, "TRUNCATED");
        assert_eq!(count, 1, "{name}");
        assert!(message.contains(share) && message.contains("how much is missing"), "{message}");
        assert_strict_refuses(name, true);
    }
}

#[test]
fn extra_commas_and_empty_events_are_skipped() {
    assert_repaired("malformed/16_trailing_comma.json", 404, 400, 1, "1 × extra comma");
    assert_repaired(
        "malformed/17_empty_event_tail.json",
        405,
        400,
        1,
        "1 × empty event (first: byte 229293, event 404)",
    );
    assert_repaired("malformed/20_bom.json", 404, 400, 1, "1 × byte order mark (first: byte 0)");
}

#[test]
fn damage_of_the_gzip_data_is_reported() {
    assert_repaired(
        "malformed/29_trailing_garbage.json.gz",
        404,
        400,
        1,
        "unexpected data after the gzip data",
    );
    assert_repaired("malformed/32_bad_crc.json.gz", 404, 400, 1, "checksum");
}

#[test]
fn errors_for_files_without_events_say_what_the_files_are() {
    assert_refused("malformed/23_empty.json", ErrorKind::Malformed, "the file is empty");
    assert_refused("malformed/25_null_events.json", ErrorKind::NotATrace, "traceEvents is null");
    assert_refused(
        "malformed/26_no_traceEvents.json",
        ErrorKind::NotATrace,
        "its keys are: schemaVersion",
    );
    assert_refused("malformed/49_html_error_page.json", ErrorKind::Malformed, "HTML");
    assert_refused("model/qwen3_pf.expected.json", ErrorKind::NotATrace, "events");
    let Some(empty) = trace("malformed/24_zero_events.json") else {
        return;
    };
    assert!(empty.is_empty());
    assert_eq!(note(&empty, "NO_EVENTS").0, 1);
}

#[test]
fn integers_beyond_i64_keep_their_bits() {
    assert_repaired("malformed/33_int_gt_i64.json", 405, 401, 0, "");
    let Some(trace) = trace("odd/u64_comms_id.json.gz") else {
        return;
    };
    assert_eq!((trace.len(), trace.notes().is_empty()), (2, true));
}

#[test]
fn times_of_zero_are_kept() {
    let Some(dropped) = trace("malformed/34_ts0_dur0_kernels.json") else {
        return;
    };
    let kernel = dropped.event_at(Uid(0)).expect("a kernel");
    assert_eq!(dropped.category(kernel), Category::Kernel);
    assert_eq!((dropped.start(kernel), dropped.duration(kernel)), (Nanos::ZERO, Nanos::ZERO));
    let zero = trace("malformed/35_second_half_ts_zero.json").expect("the folder is there");
    let anomaly = note(&zero, "CLOCK_ANOMALY");
    assert!(
        anomaly.1.starts_with("202 × event at time 0, long before all other events"),
        "{anomaly:?}"
    );
    assert_eq!(zero.events().filter(|&event| zero.start(event) == Nanos::ZERO).count(), 202);
}

#[test]
fn numbers_in_quotes_are_numbers() {
    let Some(good) = trace("malformed/00_good.json") else {
        return;
    };
    for name in ["malformed/37_numeric_strings_rocprof.json", "malformed/38_ts_string_ascend.json"]
    {
        assert_repaired(name, 404, 400, 0, "");
        let quoted = trace(name).expect("the folder is there");
        let times =
            |t: &Trace| -> Vec<_> { t.events().map(|e| (t.start(e), t.duration(e))).collect() };
        assert_eq!(times(&good), times(&quoted), "{name}");
    }
}

#[test]
fn correlations_that_link_nothing_are_kept() {
    for (name, count, correlation) in [
        ("malformed/39_corr_zero_comm_kernels.json", 6, 0),
        ("malformed/40_corr_minus1.json", 1, -1),
    ] {
        let Some(trace) = trace(name) else { return };
        let kernels = trace.correlations().iter().filter(|(_, value)| **value == correlation);
        assert_eq!(kernels.count(), count, "{name}");
        assert!(trace.notes().is_empty(), "{name}");
    }
}

#[test]
fn a_duration_that_extends_over_later_kernels_is_dropped() {
    let Some(trace) = trace("malformed/41_dur_overflow_next_slice.json") else {
        return;
    };
    let (count, message) = note(&trace, "CLOCK_ANOMALY");
    assert_eq!(count, 1);
    assert!(message.contains("event 2"), "{message}");
    let event = trace.event_at(Uid(2)).expect("the kernel");
    assert_eq!(trace.duration(event), Nanos::ZERO);
    assert_eq!(trace.recorded_durations().get(event), Some(&Nanos(1_600_000_000)));
    let gpu: Nanos =
        trace.events().filter(|&e| trace.category(e).is_gpu()).map(|e| trace.duration(e)).sum();
    assert_eq!(gpu, Nanos(7 * 15_000));
}

#[test]
fn the_last_of_duplicate_keys_wins() {
    assert_repaired("malformed/42_partial_overlap_item.json", 407, 403, 0, "");
    assert_repaired("malformed/43_duplicate_keys.json", 405, 401, 0, "");
    let Some(trace) = trace("malformed/43_duplicate_keys.json") else {
        return;
    };
    let event = trace.event_at(Uid(0)).expect("the op");
    assert_eq!((trace.name(event), trace.external_ids().get(event)), ("aten::mul", Some(&2)));
}

#[test]
fn wrong_types_are_ignored_and_counted() {
    assert_repaired(
        "malformed/44_args_wrong_types.json",
        410,
        400,
        4,
        "3 × element that is not an event",
    );
    let Some(trace) = trace("malformed/44_args_wrong_types.json") else {
        return;
    };
    assert!(note(&trace, "WRONG_TYPE").0 >= 2);
}

#[test]
fn begin_and_end_events_are_joined() {
    assert_repaired("malformed/46_begin_end_events.json", 120, 60, 0, "");
    let Some(trace) = trace("malformed/46_begin_end_events.json") else {
        return;
    };
    let step = trace.event_at(Uid(0)).expect("the step");
    assert_eq!(trace.name(step), "ProfilerStep#2");
    assert_eq!(trace.duration(step), Nanos(28_745_936));
    assert!(trace.events().all(|event| trace.duration(event) > Nanos::ZERO));
}

#[test]
fn traces_of_the_profiler_without_kineto_have_ops() {
    let Some(trace) = trace("malformed/48_kineto_disabled_legacy_array.json") else {
        return;
    };
    assert_eq!(trace.len(), 9);
    assert!(trace.events().all(|event| trace.category(event) == Category::CpuOp));
}

fn count(trace: &Trace, category: Category) -> usize {
    trace.events().filter(|&event| trace.category(event) == category).count()
}

#[test]
fn ascend_and_rocprof_events_are_classified_by_their_processes() {
    let Some(ascend) = trace("odd/ascend_trace_view.json.gz") else {
        return;
    };
    assert_eq!(ascend.total_events(), 3670);
    let counts = [Category::CpuOp, Category::Runtime, Category::Kernel].map(|c| count(&ascend, c));
    assert_eq!(counts, [711, 382, 276]);
    let first = ascend.events().next().expect("an op");
    assert_eq!(ascend.start(first), Nanos(1_704_161_511_420_306_491));

    let rocprof = trace("odd/rocprof_strings.json.gz").expect("the folder is there");
    let counts =
        [Category::Runtime, Category::Memcpy, Category::Kernel].map(|c| count(&rocprof, c));
    assert_eq!(counts, [135, 6, 1]);
    assert_eq!(note(&rocprof, "REPAIRED_JSON").0, 1);
    let kernel =
        rocprof.events().find(|&e| rocprof.category(e) == Category::Kernel).expect("a kernel");
    assert_eq!(rocprof.stream(kernel), Some(Stream { device: 2, number: 1 }));
}

#[test]
fn small_rocm_traces_are_read_without_notes() {
    for (name, elements, kept) in
        [("odd/gpu_only.mi210.json.gz", 2443, 1193), ("odd/minitoy.mi250.json.gz", 220, 112)]
    {
        let Some(trace) = trace(name) else { return };
        assert_eq!((trace.total_events(), trace.len()), (elements, kept), "{name}");
        assert!(trace.notes().is_empty(), "{name}: {:?}", trace.notes());
    }
}

#[test]
fn every_element_of_every_trace_is_kept_or_counted() {
    let Some(folder) = real_traces() else { return };
    for part in ["cpu", "inference", "mi300_h100", "old", "training"] {
        for entry in std::fs::read_dir(folder.join(part)).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                continue;
            }
            let trace = Trace::open(&path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(trace.len() as u64 + left_out(&trace), trace.total_events(), "{path:?}");
            assert!(trace.notes().is_empty(), "{path:?}: {:?}", trace.notes());
            assert!(!trace.is_empty(), "{path:?}");
        }
    }
}

#[test]
fn the_header_is_read_without_the_events() {
    let Some(folder) = real_traces() else { return };
    let header_of = |path: &std::path::Path| Trace::read_header_with(path, &ReadOptions::default());
    let early = folder.join("training/resnet_act_checkpoint.mi300.json.gz");
    let header = header_of(&early).expect("a header");
    assert_eq!(header.devices.len(), 8);
    assert_eq!(
        (header.devices[0].name.as_str(), header.devices[0].warp_size),
        ("AMD Instinct MI300X", Some(64))
    );
    assert!(header.versions.iter().any(|(name, _)| name == "hip_runtime_version"));
    assert_eq!(header.options, ["record_shapes", "with_stack"]);
    let late = folder.join("mi300_h100/timesformer.h100.json.gz");
    assert!(header_of(&late).expect("a header").devices.is_empty());
    assert!(!Trace::open(&late).expect("a trace").header().devices.is_empty());
}
