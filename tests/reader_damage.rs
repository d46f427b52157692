//! Small texts with one kind of damage each, and inputs that would fill the memory.

use std::io::{Read, Write};
use tracetree::trace::{Category, Nanos, ReadOptions, Stream, Trace, Uid};
use tracetree::{Error, ErrorKind};

fn read(text: &str) -> Result<Trace, Error> {
    Trace::from_reader("t.json", text.as_bytes(), &ReadOptions::default())
}

fn trace(text: &str) -> Trace {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn events(events: &str) -> Trace {
    trace(&format!(r#"{{"schemaVersion": 1, "traceEvents": [{events}], "traceName": "t"}}"#))
}

fn op(name: &str, ts: u32) -> String {
    format!(
        r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {ts}, "dur": 1, "args": {{"External id": {ts}}}}}"#
    )
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.events().map(|event| trace.name(event)).collect()
}

fn repairs(trace: &Trace) -> String {
    trace.notes().get("REPAIRED_JSON").map_or(String::new(), |note| note.message.clone())
}

#[test]
fn an_event_that_cannot_be_mended_is_lost_alone_and_keeps_its_place() {
    for broken in [
        r#"{"ph": "X" "cat": "cpu_op", "name": "x", "ts": 2}"#,
        r#"{"ph": "X", "name: "x", "ts": 2}"#,
        r#"{"ph": "X", 'name': 'x', "ts": 2}"#,
        r#"{"ph": "X", "args": {"a": [1, 2}, "ts": 2}"#,
        r#"garbage"#,
    ] {
        let trace = events(&[op("a", 1), broken.to_owned(), op("c", 3), op("d", 4)].join(",\n"));
        assert_eq!(names(&trace), ["a", "c", "d"], "{broken}");
        assert_eq!(trace.uid(trace.events().nth(1).expect("c")), Uid(2), "{broken}");
        let repairs = repairs(&trace);
        let is_told =
            repairs.starts_with("1 × event that cannot be read") || repairs.contains("is no event");
        assert!(is_told, "{repairs}");
        assert_eq!(trace.total_events(), 4, "{broken}");
    }
}

#[test]
fn quotes_that_flip_the_rest_of_the_file_cost_nothing_but_a_note() {
    let quoted =
        r#"{"ph": "X", "cat": "cpu_op", "name": "say "hi", "pid": 1, "tid": 1, "ts": 2, "dur": 1}"#;
    let many: Vec<String> = (3..2000).map(|ts| op("n", ts)).collect();
    let trace = events(&format!("{},{quoted},{}", op("a", 1), many.join(",")));
    assert_eq!(trace.len(), 1999);
    assert_eq!(names(&trace)[1], r#"say "hi"#);
    assert_eq!(
        repairs(&trace),
        "1 × event with quotes that are not escaped (first: byte 146, event 1)"
    );
}

#[test]
fn raw_source_text_as_a_name_is_kept() {
    let source = "x = \"a\"\n\tif y: \"b\"";
    let event = format!(
        r#"{{"ph": "X", "cat": "python_function", "name": "{source}", "pid": 1, "tid": 1, "ts": 1, "dur": 1}}"#
    );
    let trace = events(&format!("{event}, {}", op("b", 2)));
    assert_eq!(names(&trace), [source, "b"]);
}

#[test]
fn damage_in_the_last_event_does_not_take_the_rest_of_the_document() {
    let broken = r#"{"ph": "X" "cat": "cpu_op"}"#;
    let trace =
        trace(&format!(r#"{{"traceEvents": [{}, {broken}], "schemaVersion": 7}}"#, op("a", 1)));
    assert_eq!(names(&trace), ["a"]);
    assert_eq!(trace.header().schema_version, Some(7));
}

#[test]
fn damage_before_the_events_costs_only_what_stands_there() {
    let text = format!(
        r#"{{"metadata": {{"note": "say "hi""}}, "schemaVersion": 1, "traceEvents": [{}]}}"#,
        op("a", 1)
    );
    let trace = trace(&text);
    assert_eq!(names(&trace), ["a"]);
    assert!(repairs(&trace).contains("damage outside the events"));
}

#[test]
fn a_cut_is_told_whatever_else_is_damaged() {
    let text = format!(
        r#"{{"metadata": {{"note": "say "hi""}}, "traceEvents": [{}, {{"ph": "#,
        op("a", 1)
    );
    let trace = trace(&text);
    assert_eq!(names(&trace), ["a"]);
    assert!(trace.notes().get("TRUNCATED").is_some());
    assert!(repairs(&trace).contains("damage outside the events"));
}

#[test]
fn a_cut_after_a_repair_keeps_all_whole_events() {
    // What follows a repair is read in small windows at first: more than two of them here.
    let broken = r#"{"ph": "X", "cat": "cpu_op", "name": "say "hi"", "ts": 1, "dur": 1}"#;
    for count in [100, 150, 200, 250] {
        let events: Vec<String> = (0..count).map(|ts| op("a", ts)).collect();
        let text = format!("[{broken}, {}, {{\"ph\": \"X", events.join(", "));
        assert_eq!(names(&trace(&text)).len(), count as usize + 1);
    }
}

#[test]
fn packed_data_may_be_cut_behind_the_end_of_the_trace() {
    let text = format!("[{}]", op("a", 1));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(text.as_bytes()).expect("written");
    encoder.flush().expect("flushed");
    encoder.write_all(b"   ").expect("written");
    let packed = encoder.finish().expect("packed");
    for cut in [9, 12] {
        let cut = &packed[..packed.len() - cut];
        let trace = Trace::from_reader("t", cut, &ReadOptions::default()).expect("a trace");
        assert_eq!(names(&trace), ["a"]);
        assert!(repairs(&trace).contains("cut off behind the end"), "{}", repairs(&trace));
    }
}

#[test]
fn missing_and_extra_commas_are_counted() {
    let text = format!("[,{} {},,{},]", op("a", 1), op("b", 2), op("c", 3));
    let trace = trace(&text);
    assert_eq!(names(&trace), ["a", "b", "c"]);
    assert!(repairs(&trace).contains("3 × extra comma"), "{}", repairs(&trace));
    assert!(repairs(&trace).contains("1 × missing comma"), "{}", repairs(&trace));
}

#[test]
fn text_after_the_end_is_told_and_blanks_are_not() {
    assert!(repairs(&trace(&format!("[{}]\n\0\0", op("a", 1)))).is_empty());
    let two = trace(&format!("[{}][{}]", op("a", 1), op("b", 2)));
    assert_eq!(names(&two), ["a"]);
    assert!(repairs(&two).contains("text after the end"));
}

#[test]
fn words_that_json_does_not_know_are_counted_where_they_stand() {
    let odd = r#"{"metadata": [NaN, {"a": inf}], "traceEvents": [{"ph": "M"}], "otherData": N/A}"#;
    assert_eq!(repairs(&trace(odd)), "3 × value that is no JSON (NaN, inf, N/A) (first: byte 14)");
}

#[test]
fn secrets_are_never_kept() {
    let text = format!(
        r#"{{"metadata": {{"HF_TOKEN": "hf_secret"}}, "env": ["hf_secret"], "traceEvents": [{}]}}"#,
        op("a", 1)
    );
    assert!(!format!("{:?}", trace(&text)).contains("hf_secret"));
}

#[test]
fn impossible_durations_are_zero_and_kept_aside() {
    let trace = events(
        r#"{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 10, "dur": -5},
           {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 20, "dur": 18446744073709551},
           {"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 7, "ts": 30}"#,
    );
    let durations: Vec<Nanos> = trace.events().map(|event| trace.duration(event)).collect();
    assert_eq!(durations, [Nanos::ZERO; 3]);
    assert_eq!(trace.notes().get("CLOCK_ANOMALY").map(|note| note.count), Some(2));
    assert_eq!(trace.notes().get("MISSING_TIME").map(|note| note.count), Some(1));
    let recorded: Vec<Nanos> = trace.recorded_durations().iter().map(|(_, value)| *value).collect();
    assert_eq!(recorded[0], Nanos(-5_000));
}

#[test]
fn long_kernels_beside_communication_or_on_their_own_are_no_anomaly() {
    let trace = events(
        r#"{"ph": "X", "cat": "kernel", "name": "ncclDevKernel", "pid": 0, "tid": 7, "ts": 0, "dur": 900000},
           {"ph": "X", "cat": "kernel", "name": "small", "pid": 0, "tid": 7, "ts": 10, "dur": 5},
           {"ph": "X", "cat": "kernel", "name": "long", "pid": 0, "tid": 9, "ts": 0, "dur": 900000},
           {"ph": "X", "cat": "kernel", "name": "next", "pid": 0, "tid": 9, "ts": 900000, "dur": 5}"#,
    );
    assert!(trace.notes().is_empty(), "{:?}", trace.notes());
}

#[test]
fn begins_without_ends_and_ends_without_begins_are_told() {
    let trace = events(
        r#"{"ph": "B", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1},
           {"ph": "B", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 2},
           {"ph": "E", "pid": 1, "tid": 1, "ts": 5},
           {"ph": "E", "pid": 1, "tid": 2, "ts": 5}"#,
    );
    let durations: Vec<Nanos> = trace.events().map(|event| trace.duration(event)).collect();
    assert_eq!(durations, [Nanos::ZERO, Nanos(3_000)]);
    assert_eq!(trace.notes().get("UNPAIRED_EVENTS").map(|note| note.count), Some(2));
}

#[test]
fn a_gpu_event_without_details_takes_them_from_its_thread() {
    let trace = events(
        r#"{"ph": "X", "cat": "Kernel", "name": "k", "pid": 3, "tid": "stream 7", "ts": 1, "dur": 1,
            "args": {"bytes": 12, "graph node id": 5, "Collective name": "allreduce"}}"#,
    );
    let kernel = trace.events().next().expect("the kernel");
    assert_eq!(trace.stream(kernel), Some(Stream { device: 3, number: 7 }));
    assert_eq!(trace.gpu_bytes().get(kernel), Some(&12));
    assert_eq!(trace.graph_nodes().get(kernel), Some(&5));
    let collective = trace.collectives().get(kernel).expect("a collective");
    assert_eq!(trace.text(*collective), "allreduce");
    assert_eq!(trace.category(kernel), Category::Kernel);
}

#[test]
fn flows_that_are_not_kept_are_counted_and_checked_all_the_same() {
    let text = r#"{"traceEvents": [
        {"ph": "s", "id": 1, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": 1},
        {"ph": "f", "id": "no number", "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 2}
    ]}"#;
    let read = |options: &ReadOptions| {
        Trace::from_reader("a.json", text.as_bytes(), options).expect("a trace")
    };
    let (with, without) =
        (read(&ReadOptions::default()), read(&ReadOptions::default().without_flows()));
    assert_eq!((with.flows().len(), without.flows().len()), (1, 0));
    assert_eq!(with.left_out(), without.left_out());
    assert_eq!(with.notes(), without.notes());
    assert_eq!(without.notes().iter().map(|note| note.code).collect::<Vec<_>>(), ["WRONG_TYPE"]);
}

#[track_caller]
fn assert_limit(input: impl Read, options: &ReadOptions) -> String {
    let error =
        Trace::from_reader("t", input, options).map(|trace| trace.len()).expect_err("a bound");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.place().is_some());
    error.to_string()
}

#[test]
fn a_gigabyte_of_brackets_is_refused_at_once() {
    let brackets = std::io::repeat(b'[').take(1 << 30);
    let message = assert_limit(brackets, &ReadOptions::default());
    assert!(message.contains("nested too deep"), "{message}");
    let member = br#"{"otherData": "#.chain(std::io::repeat(b'[').take(1 << 30));
    assert_limit(member, &ReadOptions::default());
    let argument = br#"[{"args": {"a": "#.chain(std::io::repeat(b'{').take(1 << 30));
    let error = Trace::from_reader("t", argument, &ReadOptions::default());
    assert!(error.is_err());
}

#[test]
fn a_name_of_a_hundred_megabytes_is_refused() {
    let name = br#"[{"ph": "X", "name": ""#.chain(std::io::repeat(b'x').take(100 << 20));
    let message = assert_limit(name.chain(&br#"", "ts": 1}]"#[..]), &ReadOptions::default());
    assert!(message.contains("longer than 16 MiB"), "{message}");
    assert_limit(std::io::repeat(b' ').take(100 << 20), &ReadOptions::default());
}

#[test]
fn a_bomb_is_refused() {
    let bomb = || br#"{"traceEvents": [{}"#.chain(std::io::repeat(b' ').take(200 << 20));
    let mut packed = flate2::read::GzEncoder::new(bomb(), flate2::Compression::fast());
    let mut bytes = Vec::new();
    packed.read_to_end(&mut bytes).expect("packed");
    let options = ReadOptions::default().max_unpacked(100 << 20);
    let message = assert_limit(&bytes[..], &options);
    assert!(message.contains("--max-unpacked"), "{message}");
}

#[test]
fn strict_refuses_damage_and_reads_what_is_sound() {
    let options = ReadOptions::default().strict();
    let sound = format!("[{}]", op("a", 1));
    assert!(Trace::from_reader("t", sound.as_bytes(), &options).is_ok());
    let damaged = format!("[{},]", op("a", 1));
    let error = Trace::from_reader("t", damaged.as_bytes(), &options)
        .map(|t| t.len())
        .expect_err("a comma");
    assert_eq!(
        error.to_string(),
        "t: byte 110, event 1: extra comma (without --strict it is repaired and counted)"
    );
    let cut = Trace::from_reader("t", &sound.as_bytes()[..50], &options);
    assert_eq!(cut.map(|t| t.len()).expect_err("cut").kind(), ErrorKind::Malformed);
}
