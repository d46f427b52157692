//! Tests with small inputs that each have one kind of damage, and with inputs that would exhaust memory.

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
fn an_event_that_cannot_be_repaired_is_lost_alone_and_keeps_its_uid() {
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
        let lost = note(&trace, "LOST_EVENTS");
        let is_reported = lost.starts_with("1 × event that cannot be read")
            || repairs(&trace).contains("is not an event");
        assert!(is_reported, "{lost}");
        assert_eq!(trace.total_events(), 4, "{broken}");
    }
}

#[test]
fn an_unbalanced_quote_costs_no_event() {
    let quoted =
        r#"{"ph": "X", "cat": "cpu_op", "name": "say "hi", "pid": 1, "tid": 1, "ts": 2, "dur": 1}"#;
    let many: Vec<String> = (3..2000).map(|ts| op("n", ts)).collect();
    let trace = events(&format!("{},{quoted},{}", op("a", 1), many.join(",")));
    assert_eq!(trace.len(), 1999);
    assert_eq!(names(&trace)[1], r#"say "hi"#);
    assert_eq!(repairs(&trace), "1 × event with unescaped quotes (first: byte 146, event 1)");
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
fn damage_in_the_last_event_does_not_affect_the_rest_of_the_document() {
    let broken = r#"{"ph": "X" "cat": "cpu_op"}"#;
    let trace =
        trace(&format!(r#"{{"traceEvents": [{}, {broken}], "schemaVersion": 7}}"#, op("a", 1)));
    assert_eq!(names(&trace), ["a"]);
    assert_eq!(trace.header().schema_version, Some(7));
}

#[test]
fn damage_before_the_events_costs_no_event() {
    let text = format!(
        r#"{{"metadata": {{"note": "say "hi""}}, "schemaVersion": 1, "traceEvents": [{}]}}"#,
        op("a", 1)
    );
    let trace = trace(&text);
    assert_eq!(names(&trace), ["a"]);
    assert!(repairs(&trace).contains("damage outside the events"));
}

#[test]
fn truncation_is_reported_whatever_else_is_damaged() {
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
fn truncation_after_a_repair_keeps_all_whole_events() {
    // After a repair, the reader processes the text in small windows at first. The input is longer than two small
    // windows.
    let broken = r#"{"ph": "X", "cat": "cpu_op", "name": "say "hi"", "ts": 1, "dur": 1}"#;
    for count in [100, 150, 200, 250] {
        let events: Vec<String> = (0..count).map(|ts| op("a", ts)).collect();
        let text = format!("[{broken}, {}, {{\"ph\": \"X", events.join(", "));
        assert_eq!(names(&trace(&text)).len(), count as usize + 1);
    }
}

#[test]
fn compressed_data_may_be_truncated_after_the_end_of_the_trace() {
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
        assert!(repairs(&trace).contains("truncated after the end"), "{}", repairs(&trace));
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
fn text_after_the_end_is_reported_but_whitespace_is_not() {
    assert!(trace(&format!("[{}]\n \t\r\n", op("a", 1))).notes().is_empty());
    for after in ["\0\0", "x", "]", "// done"] {
        let text = format!("[{}]\n{after}", op("a", 1));
        assert_eq!(names(&trace(&text)), ["a"]);
        assert!(repairs(&trace(&text)).starts_with("1 × text after the end"), "{after}");
        assert!(strict(text.as_bytes()).is_err());
    }
}

#[test]
fn words_that_are_not_json_are_counted_with_their_position() {
    let odd = r#"{"metadata": [NaN, {"a": inf}], "traceEvents": [{"ph": "M"}], "otherData": N/A}"#;
    assert_eq!(repairs(&trace(odd)), "3 × value that is not JSON (NaN, inf, N/A) (first: byte 14)");
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
fn impossible_durations_become_zero_and_are_kept_separately() {
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
fn long_kernels_are_not_an_anomaly_for_communication_or_without_overlap() {
    let trace = events(
        r#"{"ph": "X", "cat": "kernel", "name": "ncclDevKernel", "pid": 0, "tid": 7, "ts": 0, "dur": 900000},
           {"ph": "X", "cat": "kernel", "name": "small", "pid": 0, "tid": 7, "ts": 10, "dur": 5},
           {"ph": "X", "cat": "kernel", "name": "long", "pid": 0, "tid": 9, "ts": 0, "dur": 900000},
           {"ph": "X", "cat": "kernel", "name": "next", "pid": 0, "tid": 9, "ts": 900000, "dur": 5}"#,
    );
    assert!(trace.notes().is_empty(), "{:?}", trace.notes());
}

#[test]
fn begin_and_end_events_without_their_counterpart_are_reported() {
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
fn a_gpu_event_without_a_stream_takes_it_from_its_thread() {
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
fn flows_that_are_not_kept_are_still_counted_and_checked() {
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
fn assert_limit(input: impl Read + Send, options: &ReadOptions) -> String {
    let error =
        Trace::from_reader("t", input, options).map(|trace| trace.len()).expect_err("a bound");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.place().is_some());
    error.to_string()
}

#[test]
fn a_gigabyte_of_brackets_is_rejected_at_once() {
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
fn a_name_of_a_hundred_megabytes_is_rejected() {
    let name = br#"[{"ph": "X", "name": ""#.chain(std::io::repeat(b'x').take(100 << 20));
    let message = assert_limit(name.chain(&br#"", "ts": 1}]"#[..]), &ReadOptions::default());
    assert!(message.contains("longer than 16 MiB"), "{message}");
    assert_limit(std::io::repeat(b' ').take(100 << 20), &ReadOptions::default());
}

#[test]
fn a_gzip_bomb_is_rejected() {
    let bomb = || br#"{"traceEvents": [{}"#.chain(std::io::repeat(b' ').take(200 << 20));
    let mut packed = flate2::read::GzEncoder::new(bomb(), flate2::Compression::fast());
    let mut bytes = Vec::new();
    packed.read_to_end(&mut bytes).expect("packed");
    let options = ReadOptions::default().max_unpacked(100 << 20);
    let message = assert_limit(&bytes[..], &options);
    assert!(message.contains("--max-unpacked"), "{message}");
}

#[test]
fn strict_rejects_damage_and_reads_sound_text() {
    let options = ReadOptions::default().strict();
    let sound = format!("[{}]", op("a", 1));
    assert!(Trace::from_reader("t", sound.as_bytes(), &options).is_ok());
    let damaged = format!("[{},]", op("a", 1));
    let error = Trace::from_reader("t", damaged.as_bytes(), &options)
        .map(|t| t.len())
        .expect_err("a comma");
    assert_eq!(
        error.to_string(),
        "t: byte 110, event 1: extra comma (without --strict, the damage is repaired or skipped, and counted)"
    );
    let cut = Trace::from_reader("t", &sound.as_bytes()[..50], &options);
    assert_eq!(cut.map(|t| t.len()).expect_err("cut").kind(), ErrorKind::Malformed);
}

fn note(trace: &Trace, code: &str) -> String {
    trace.notes().get(code).map_or(String::new(), |note| note.message.clone())
}

fn strict(text: &[u8]) -> Result<usize, String> {
    Trace::from_reader("t", text, &ReadOptions::default().strict())
        .map(|trace| trace.len())
        .map_err(|error| error.to_string())
}

/// An undamaged trace with `count` ops.
fn many(count: u32) -> String {
    let ops: Vec<String> = (1..=count).map(|ts| op("n", ts)).collect();
    format!(r#"{{"schemaVersion": 1, "traceEvents": [{}], "traceName": "t"}}"#, ops.join(",\n"))
}

#[test]
fn a_hole_that_starts_in_one_string_and_ends_in_another_is_a_loss() {
    let text = many(40);
    let from = text.match_indices("cpu_op").nth(9).expect("an op").0 + 2;
    let to = text.match_indices("cpu_op").nth(29).expect("an op").0 + 2;
    let mut bytes = text.into_bytes();
    bytes[from..to].fill(0);
    let trace = Trace::from_reader("t", &bytes[..], &ReadOptions::default()).expect("a trace");
    assert_eq!(trace.len(), 19);
    let lost = note(&trace, "LOST_EVENTS");
    assert!(lost.starts_with("1 × event damaged by a hole of zero bytes"), "{lost}");
    let hint = trace.notes().get("LOST_EVENTS").map_or("", |note| note.hint);
    assert!(hint.contains("the uids after them may be shifted"), "{hint}");
    assert!(strict(&bytes).is_err_and(|error| error.contains("hole")));
}

#[test]
fn control_bytes_are_reported_even_in_ignored_strings() {
    for place in [r#""cat": "cpu_op"#, r#""ph": "X"#, r#"External id"#, r#"traceName": "t"#] {
        let text = many(30);
        let at = text.rfind(place).expect("the place") + place.len();
        let text = format!("{}\u{1}{}", &text[..at], &text[at..]);
        let repairs = repairs(&trace(&text));
        assert!(repairs.starts_with("1 × text with raw control characters"), "{place}: {repairs}");
        assert!(strict(text.as_bytes()).is_err(), "{place}");
    }
    let unknown = r#"{"ph": "i", "cat": "x", "name": "n", "zzz": "a	b"}"#;
    assert!(repairs(&events(unknown)).starts_with("1 × text with raw control characters"));
}

#[test]
fn bad_bytes_and_escapes_are_reported_in_events_that_resemble_earlier_ones() {
    for damaged in [&b"\xff"[..], b"\\x", b"\\u12", b"\x1f"] {
        let text = many(30).replace(r#""args": {"#, r#""args": {"extra": "some text", "#);
        let at = text.rfind("some text").expect("the place") + 4;
        let text = [&text.as_bytes()[..at], damaged, &text.as_bytes()[at..]].concat();
        let trace = Trace::from_reader("t", &text[..], &ReadOptions::default()).expect("a trace");
        assert_eq!((trace.len(), trace.notes().iter().map(|note| note.count).sum()), (30, 1));
        assert!(strict(&text).is_err());
    }
}

#[test]
fn bad_numbers_and_brackets_are_reported_even_in_ignored_values() {
    for value in ["{1]", "020", "20.", "20x", "0x14", "[1,]", "[1 2]", "{\"a\":}", "1.2.3", "-"] {
        let text = many(30).replace(r#""args": {"#, r#""args": {"extra": 7, "#);
        let at = text.rfind("\"extra\": 7").expect("the place") + 9;
        let text = format!("{}{value}{}", &text[..at], &text[at + 1..]);
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_err(), "{value}");
        assert!(strict(text.as_bytes()).is_err(), "{value}");
        assert!(!trace(&text).notes().is_empty(), "{value}");
        let header = many(3).replace(r#""traceName": "t""#, &format!(r#""x": {{"y": {value}}}"#));
        assert!(strict(header.as_bytes()).is_err(), "{value} outside of events");
    }
}

#[test]
fn an_unclosed_event_costs_only_itself() {
    for (whole, cut) in [
        (r#""args": {"External id": 17}}"#, r#""args": {"External id": 17"#),
        (r#""args": {"External id": 17}}"#, r#""args": {"Input Dims": [[1, 2], [3]"#),
        (r#""args": {"External id": 17}}"#, r#""args": {"Input Dims": [[[[[[[["#),
    ] {
        let text = many(400);
        assert_eq!(text.matches(whole).count(), 1);
        let trace = trace(&text.replace(whole, cut));
        assert_eq!((trace.len(), trace.total_events()), (399, 400), "{cut}");
        assert!(trace.notes().get("TRUNCATED").is_none(), "{cut}");
        let lost = note(&trace, "LOST_EVENTS");
        assert!(lost.starts_with("1 × event that cannot be read, skipped,"), "{lost}");
    }
}

#[test]
fn a_stray_bracket_between_events_costs_no_event() {
    for stray in ["]", "],", "[", "]}", "{", "}", "]]", "[["] {
        let text = many(200);
        let at = text.match_indices("{\"ph\"").nth(99).expect("an event").0;
        let text = format!("{}{stray}{}", &text[..at], &text[at..]);
        let trace = trace(&text);
        assert_eq!(trace.len(), 200, "{stray}");
        assert!(!trace.notes().is_empty(), "{stray}");
        assert!(strict(text.as_bytes()).is_err(), "{stray}");
        assert_eq!(trace.header().schema_version, Some(1));
    }
}

#[test]
fn a_missing_bracket_after_the_events_is_reported_but_not_as_truncation() {
    let trace = trace(&many(20).replace("], \"traceName\"", ", \"traceName\""));
    assert_eq!(trace.len(), 20);
    assert!(repairs(&trace).contains("missing bracket"), "{}", repairs(&trace));
    assert!(trace.notes().get("TRUNCATED").is_none());
}

#[test]
fn another_trace_after_the_end_is_reported_as_lost() {
    let one = many(20);
    for (count, text) in [
        (20, format!("{one}{one}")),
        (20, format!("{one}\n{one}")),
        (1, format!("[{}][{}]", op("a", 1), op("b", 2))),
    ] {
        let trace = trace(&text);
        let lost = note(&trace, "LOST_EVENTS");
        let shown = format!("{count} × event from another trace after the end of this trace");
        assert!(lost.starts_with(&shown), "{lost}");
        assert!(lost.contains("% of the text"), "{lost}");
        assert!(strict(text.as_bytes()).is_err());
    }
    let other = note(&trace(&format!("{one}{{\"a\": 1}}")), "LOST_EVENTS");
    assert!(other.starts_with("1 × second document after the end"), "{other}");
}

#[test]
fn one_event_per_line_is_read_with_and_without_a_list_before() {
    let lines: Vec<String> = (2..50).map(|ts| op("n", ts)).collect();
    let whole = trace(&lines.join("\n"));
    assert_eq!(whole.len(), 48);
    assert_eq!(
        repairs(&whole),
        "1 × list of events without brackets, one event per line (first: byte 0)"
    );
    let behind = trace(&format!("[{}],\n{}", op("a", 1), lines.join(",\n")));
    assert_eq!(behind.len(), 49);
    assert!(behind.notes().get("TRUNCATED").is_none(), "{:?}", behind.notes());
    let cut = lines.join("\n");
    let cut = trace(&cut[..cut.len() - 20]);
    assert_eq!((cut.len(), cut.notes().get("TRUNCATED").is_some()), (47, true));
}

#[test]
fn a_lost_stretch_counts_the_events_in_it() {
    let text = many(100);
    let start = text.match_indices("{\"ph\"").nth(50).expect("an event").0;
    // The brackets between two events are missing, and so is a colon after a key in the first event.
    let broken = text[start..].replacen("}},\n{", "", 1).replacen("\"cat\":", "\"cat\"", 1);
    let trace = trace(&format!("{}{broken}", &text[..start]));
    assert_eq!((trace.len(), trace.total_events()), (98, 100));
    let lost = note(&trace, "LOST_EVENTS");
    assert!(lost.starts_with("2 × event that cannot be read, skipped, 2"), "{lost}");
    assert_eq!(trace.events().last().map(|event| trace.uid(event)), Some(Uid(99)));
}

#[test]
fn the_note_on_a_truncated_file_says_what_is_known_about_its_size() {
    let text = many(100);
    let plain = trace(&text[..text.len() / 2]);
    let cut = note(&plain, "TRUNCATED");
    assert!(cut.contains("how much is missing is unknown"), "{cut}");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(text.as_bytes()).expect("written");
    let mut packed = encoder.finish().expect("packed");
    let body = packed.len() / 2;
    // The second half of the compressed data is replaced by different bytes.
    packed.truncate(body);
    packed.extend_from_slice(&[0xff; 4000]);
    let damaged = Trace::from_reader("t", &packed[..], &ReadOptions::default()).expect("a trace");
    assert!(!damaged.notes().is_empty());
}

#[test]
fn impossible_times_are_reported() {
    let zeros = events(
        &(0..40)
            .map(|at| op("n", if at % 2 == 0 { 0 } else { 3_000_000_000 + at }))
            .collect::<Vec<_>>()
            .join(","),
    );
    let anomaly = note(&zeros, "CLOCK_ANOMALY");
    assert!(anomaly.starts_with("20 × event at time 0, long before all other events"), "{anomaly}");
    let from_zero = events(&(0..40).map(|at| op("n", at)).collect::<Vec<_>>().join(","));
    assert!(from_zero.notes().is_empty());
    for absurd in ["1e300", "1234567890123456789012345678901234567890", "-1e300"] {
        let event = op("n", 1).replace("\"ts\": 1", &format!("\"ts\": {absurd}"));
        let anomaly = note(&events(&event), "CLOCK_ANOMALY");
        assert!(anomaly.starts_with("1 × ts out of range"), "{absurd}: {anomaly}");
    }
}

#[test]
fn an_event_of_five_megabytes_is_read_and_is_not_damage() {
    let long = op("n", 2).replace("External id", &"x".repeat(5 << 20));
    let text = format!("[{},{long},{}]", op("a", 1), op("b", 3));
    assert_eq!(strict(text.as_bytes()), Ok(3));
}

#[test]
fn an_argument_nested_too_deep_costs_only_its_event() {
    let deep = format!("{}{}", "[".repeat(600), "]".repeat(600));
    let deep = op("n", 2).replace("\"External id\": 2", &format!("\"deep\": {deep}"));
    let trace = events(&[op("a", 1), deep, op("b", 3)].join(","));
    assert_eq!((names(&trace), trace.total_events()), (vec!["a", "b"], 3));
    assert!(note(&trace, "LOST_EVENTS").contains("nested deeper than 512"));
}

#[test]
fn a_key_may_be_written_with_escapes() {
    let event = op("a", 1).replace("\"name\"", "\"n\\u0061me\"");
    let trace = trace(&format!(r#"{{"trace\u0045vents": [{event}]}}"#));
    assert_eq!((names(&trace), trace.notes().is_empty()), (vec!["a"], true));
}

#[test]
fn a_timeline_written_by_tracetree_is_rejected_with_a_hint() {
    let text = format!(r#"{{"tracetree":{{"verdict":"x"}},"traceEvents":[{}]}}"#, op("a", 1));
    let error = read(&text).map(|trace| trace.len()).expect_err("no trace");
    assert_eq!(error.kind(), ErrorKind::NotATrace);
    assert!(error.to_string().contains("written by tracetree"), "{error}");
}

#[test]
fn errors_name_the_encoding_of_the_file() {
    let wide: Vec<u8> = "[{\"ph\": 1}]".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let error = Trace::from_reader("t", &wide[..], &ReadOptions::default()).map(|t| t.len());
    assert!(error.is_err_and(|error| error.to_string().contains("UTF-32")));
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("written");
        encoder.finish().expect("packed")
    };
    let twice = pack(&pack(many(3).as_bytes()));
    let error = Trace::from_reader("t", &twice[..], &ReadOptions::default()).map(|t| t.len());
    assert!(error.is_err_and(|error| error.to_string().contains("packed twice")));
}

#[test]
fn events_that_damage_moved_into_a_member_are_reported_as_lost() {
    let list = [op("a", 1), op("b", 2)].join(", ");
    let text = format!(r#"{{"scratch": [{list}], "x" 1, "traceEvents": [{}]}}"#, op("c", 3));
    let found = trace(&text);
    assert_eq!(names(&found), ["c"]);
    assert!(note(&found, "LOST_EVENTS").starts_with("2 × event that cannot be read"));
    let member = format!(
        r#"{{"traceEvents": [, "record_shapes": {}, {}, {}]}}"#,
        op("a", 1),
        op("b", 2),
        op("c", 3)
    );
    let found = trace(&member);
    assert_eq!(names(&found), ["b", "c"]);
    assert!(note(&found, "LOST_EVENTS").starts_with("1 × event that cannot be read"));
}

#[test]
fn in_damaged_text_an_event_with_an_unclosed_list_does_not_swallow_others() {
    let swallows = r#"{"ph": "X", "cat": "cpu_op", "name": "s", "ts": 2, "deviceProperties": ["#;
    let text = format!(
        r#"{{"traceEvents": [{}], }} ] {}, {swallows} {}, {}], "traceName": "t"}}"#,
        op("a", 1),
        op("b", 2),
        op("c", 3),
        op("d", 4)
    );
    assert_eq!(names(&trace(&text)), ["a", "b", "c", "d"]);
}

#[test]
fn the_start_of_the_list_does_not_depend_on_the_block_size() {
    let long = format!(r#"{{"name": "{}", "ph": "X", "ts": 1}}"#, "n".repeat(700));
    let text = format!(r#"{{"x" 1, {long}, "traceEvents": [{}]}}"#, op("a", 2));
    let read = |block: usize| {
        let options = ReadOptions::default().block_bytes(block);
        let trace = Trace::from_reader("t", text.as_bytes(), &options).expect("a trace");
        (trace.total_events(), trace.notes().iter().map(|note| note.count).collect::<Vec<_>>())
    };
    assert_eq!(read(600), read(1 << 16));
}

#[test]
fn events_after_a_truncated_object_are_found_up_to_the_end() {
    let cut = r#"], "x" {"id": 0, "name": [ "#;
    let text = format!(r#"{{"traceEvents": [{}{cut} {}, {}"#, op("a", 1), op("b", 2), op("c", 3));
    assert_eq!(names(&trace(&text)), ["a", "b", "c"]);
}

#[test]
fn a_document_may_begin_like_an_event() {
    let events = [op("a", 1), op("b", 2)].join(", ");
    let text = format!(r#"{{"ph": "X", "name": "odd", "traceEvents": [{events}]}}"#);
    let found = Trace::from_reader("t", text.as_bytes(), &ReadOptions::default().strict());
    assert_eq!(names(&found.expect("it is JSON")), ["a", "b"]);
}

#[test]
fn in_damaged_text_events_in_a_member_after_the_list_are_reported_as_lost() {
    let text = format!(
        r#"{{"x" 1, "traceEvents": [{}], "distributedInfo": {{"a": [{}]}}, "y": [{}]}}"#,
        op("a", 1),
        op("b", 2),
        op("c", 3)
    );
    let found = trace(&text);
    assert_eq!(names(&found), ["a"]);
    assert!(note(&found, "LOST_EVENTS").starts_with("2 × event that cannot be read"));
}

#[test]
fn a_key_split_between_two_blocks_is_read_as_a_whole() {
    // The events in the damaged list `y` are found no matter where the first block ends.
    let text = |blanks: usize| {
        let blanks = " ".repeat(blanks);
        format!(r#"{{"traceEvents": [], "y": [{{1], {blanks}{}, {}]}}"#, op("a", 1), op("b", 2))
    };
    for blanks in 540..580 {
        let options = ReadOptions::default().block_bytes(600);
        let found = Trace::from_reader("t", text(blanks).as_bytes(), &options).expect("a trace");
        assert_eq!(names(&found), ["a", "b"], "{blanks}");
    }
}
