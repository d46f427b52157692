//! Tests for `tracetree gate`, `baseline` and `history` as a user runs them: exit codes, formats and several runs.

use crate::support::traces;
use crate::support::tracetree;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

fn example(name: &str) -> String {
    traces::example(name).display().to_string()
}

fn cnn() -> String {
    example("cnn.pt.trace.json.gz")
}

fn rerun() -> String {
    example("cnn_rerun.pt.trace.json.gz")
}

fn extra_op() -> String {
    example("cnn_extra_op.pt.trace.json.gz")
}

/// Runs tracetree in `folder`.
fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = tracetree();
    command.current_dir(folder).args(arguments).output().expect("the program runs")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn gate(new: &str, more: &[&str]) -> Output {
    let base = cnn();
    let mut arguments = vec!["gate", "--base", &base, "--new", new];
    arguments.extend(more);
    run(&folder(), &arguments)
}

#[test]
fn a_gate_passes_fails_or_is_inconclusive_by_exit_code_and_says_why() {
    let same = gate(&rerun(), &[]);
    assert_eq!(code(&same), 0, "{}", text(&same));
    assert!(text(&same).starts_with("PASS"));
    let changed = gate(&extra_op(), &[]);
    assert_eq!(code(&changed), 1);
    for part in [
        "failed: Added in Block (gen.py: forward): aten::add, aten::mul, aten::pow, aten::sin",
        "  rule        new_op",
        "  example     CNN_0.Sequential_0.Block_1",
        "called in   gen.py:8 forward",
        "added aten::sin",
        "--find 'module(\"Block_1\")'",
    ] {
        assert!(text(&changed).contains(part), "{part}: {}", text(&changed));
    }
    let other = gate(&example("resnet.cuda.json.gz"), &[]);
    assert_eq!(code(&other), 3);
    assert!(text(&other).contains("GPU events"), "{}", text(&other));
    assert_eq!(code(&gate(&example("resnet.cuda.json.gz"), &["--inconclusive", "pass"])), 0);
}

#[test]
fn only_an_inconclusive_result_lists_reasons() {
    let lists = |output: &Output| text(output).contains("inconclusive because:");
    assert!(!lists(&gate(&rerun(), &[])));
    let other = gate(&example("resnet.cuda.json.gz"), &[]);
    assert!(lists(&other), "{}", text(&other));
}

#[test]
fn copies_of_one_run_are_reported() {
    let folder = folder();
    let copy = folder.path().join("copy.json.gz").display().to_string();
    std::fs::copy(rerun(), &copy).expect("a copy");
    let gate = |new: [&str; 2]| {
        text(&run(&folder, &["gate", "--base", &cnn(), &rerun(), "--new", new[0], new[1]]))
    };
    let printed = "has the same content as";
    assert!(
        gate([&rerun(), &copy]).contains(printed) && !gate([&rerun(), &cnn()]).contains(printed)
    );
    let diff =
        ["diff", "--no-report", "--base", &cnn(), "--new", &rerun(), &copy, "--fail-on", "1%"];
    let output = run(&folder, &diff);
    assert!(errors(&output).contains(printed), "{}", errors(&output));
    let record = run(&folder, &["baseline", "record", &rerun(), &copy]);
    assert!(errors(&record).contains(printed), "{}", errors(&record));
}

#[test]
fn cycles_and_both_sides_are_not_the_runs_of_one_side() {
    let folder = folder();
    for name in [
        "cycles/rank0.step5.json.gz",
        "cycles/rank0.step10.json.gz",
        "both/before.run0.json.gz",
        "both/after.run0.json.gz",
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::copy(cnn(), path).expect("a copy");
    }
    for (side, reason) in
        [("cycles", "cycles of one recording"), ("both", "recordings of both sides")]
    {
        for command in ["gate", "diff"] {
            let output = run(&folder, &[command, "--base", side, "--new", &rerun()]);
            assert_eq!(code(&output), 2, "{}", errors(&output));
            assert!(errors(&output).contains(reason), "{}", errors(&output));
        }
    }
}

#[test]
fn the_command_that_a_finding_prints_shows_its_calls() {
    let shown = run(
        &folder(),
        &["tree", &extra_op(), "--all", "--find", r#"module("Block_1") / op("aten::sin")"#],
    );
    assert_eq!(code(&shown), 0, "{}", errors(&shown));
    let lines = text(&shown);
    assert!(lines.contains("nn.Module: Block_1") && lines.contains("aten::sin"), "{lines}");
    assert!(!lines.contains("aten::pow") && !lines.contains("Block_2"), "{lines}");
    let unknown = run(&folder(), &["tree", &extra_op(), "--all", "--find", r#"module("Blok_1")"#]);
    assert_eq!(code(&unknown), 2);
    assert!(errors(&unknown).contains("the nearest module is `Block_"), "{}", errors(&unknown));
    let misspelt = run(&folder(), &["tree", &extra_op(), "--find", r#"modul("Block_1")"#]);
    assert!(errors(&misspelt).contains("did you mean `module`?"), "{}", errors(&misspelt));
}

#[test]
fn a_baseline_is_recorded_shown_checked_and_accepted() {
    let folder = folder();
    let recorded = run(&folder, &["baseline", "record", &cnn(), "-o", "base.ttb"]);
    assert_eq!(code(&recorded), 0, "{}", errors(&recorded));
    let shown = run(&folder, &["baseline", "show", "base.ttb"]);
    assert!(text(&shown).contains("1 run, 3 steps, on cpu"), "{}", text(&shown));
    assert_eq!(code(&run(&folder, &["gate", "--baseline", "base.ttb", &rerun()])), 0);
    assert_eq!(code(&run(&folder, &["gate", "--baseline", "base.ttb", &extra_op()])), 1);
    let accepted = run(&folder, &["baseline", "accept", "base.ttb", &extra_op()]);
    assert_eq!(code(&accepted), 0);
    assert!(text(&accepted).contains("failed: Added in Block (gen.py: forward)"));
    assert_eq!(code(&run(&folder, &["gate", "--baseline", "base.ttb", &extra_op()])), 0);
    assert_eq!(code(&run(&folder, &["gate", "--baseline", "base.ttb", &cnn()])), 1);
}

#[test]
fn a_file_that_is_not_a_baseline_is_refused_with_the_reason() {
    let folder = folder();
    let refused = |bytes: &[u8], reason: &str| {
        std::fs::write(folder.path().join("base.ttb"), bytes).expect("a file");
        let output = run(&folder, &["gate", "--baseline", "base.ttb", &cnn()]);
        assert_eq!(code(&output), 2, "{reason}");
        let line = errors(&output);
        assert!(line.contains("base.ttb") && line.contains(reason), "{reason}: {line}");
    };
    refused(b"", "is empty");
    refused(b"{\"traceEvents\": []}", "is not a tracetree baseline");
    refused(b"{\"format\": \"tracetree baseline\", \"schema\": 99}", "schema 99");
    refused(
        b"{\"format\": \"tracetree baseline\", \"schema\": 3}",
        "schema 3, which has no hash of the content; this version reads schema 5 (record the baseline again: tracetree \
         baseline record TRACE… -o base.ttb)",
    );
    refused(b"{\"format\": \"tracetree baseline\", \"schema\": 5}", "was changed or damaged");
    refused(b"not JSON", "is damaged or not a baseline");
    run(&folder, &["baseline", "record", &cnn(), "-o", "good.ttb"]);
    let good = std::fs::read(folder.path().join("good.ttb")).expect("a baseline");
    refused(&good[..good.len() / 2], "");
    let missing = run(&folder, &["gate", "--baseline", "none.ttb", &cnn()]);
    assert_eq!(code(&missing), 2);
}

#[test]
fn rules_are_read_from_a_file_and_a_misspelt_one_is_bad_input() {
    let folder = folder();
    let with = |rules: &str| {
        std::fs::write(folder.path().join("tracetree.toml"), rules).expect("a file");
        let output = run(&folder, &["gate", "--base", &cnn(), "--new", &extra_op()]);
        (code(&output), text(&output), errors(&output))
    };
    assert_eq!(with("[[rule]]\nrule = \"new_op\"\nseverity = \"warning\"").0, 0);
    assert_eq!(with("[[rule]]\nrule = \"new_op\"\nseverity = \"off\"").0, 0);
    assert_eq!(with("[[rule]]\nrule = \"new_op\"\nallowed = 9").0, 0);
    assert_eq!(with("[[rule]]\nrule = \"new_op\"\nallowed = 1").0, 1);
    assert_eq!(with("[[rule]]\nrule = \"ops\"\nseverity = \"warning\"").0, 0);
    assert_eq!(with("[[rule]]\nrule = \"layers\"\nseverity = \"off\"").0, 1);
    assert_eq!(
        with("[[rule]]\nrule = \"ops\"\nseverity = \"off\"\npath = 'frame(\"gen.py: forward\")'").0,
        0
    );
    assert_eq!(with("allow = [{ rule = \"ops\", reason = \"RFC 12\" }]").0, 0);
    let scoped = "[[rule]]\nrule = \"new_op\"\nseverity = \"off\"\n[[rule]]\nrule = \"new_op\"\npath = 'module(\"Block_1\")'";
    assert_eq!(with(scoped).0, 1);
    assert_eq!(with(&scoped.replace("Block_1", "Block_2")).0, 0);
    let (code, _, errors) = with("[[rule]]\nrule = \"new_ops\"");
    assert_eq!(code, 2);
    assert!(errors.contains("did you mean `new_op`?"), "{errors}");
    assert_eq!(
        with("budgets = ['launches <= 3']\n[[rule]]\nrule = \"new_op\"\nseverity = \"off\"").0,
        0
    );
    let over =
        with("budgets = ['host_time < 1 us']\n[[rule]]\nrule = \"new_op\"\nseverity = \"off\"");
    assert_eq!(over.0, 1, "{}", over.1);
    assert!(over.1.contains("host_time < 1 us"), "{}", over.1);
}

#[test]
fn a_configured_time_rule_is_inconclusive_with_one_run_unless_it_is_hard() {
    let folder = folder();
    let with = |rule: &str| {
        std::fs::write(folder.path().join("rules.toml"), rule).expect("a file");
        // The candidate exceeds every limit.
        run(
            &folder,
            &["gate", "--base", &cnn(), "--new", &slower(&folder, 3), "--rules", "rules.toml"],
        )
    };
    let asked = with("[[rule]]\nrule = \"host_time\"\nlimit = \"50%\"");
    assert_eq!(code(&asked), 3, "{}", text(&asked));
    assert!(text(&asked).contains("with 1 run per side; record 3 runs"), "{}", text(&asked));
    let hard = with("[[rule]]\nrule = \"host_time\"\nlimit = \"50%\"\nhard = true");
    assert_eq!(code(&hard), 1, "{}", text(&hard));
    let wide = with(
        "[[rule]]\nrule = \"host_time\"\nlimit = \"900%\"\n[[rule]]\nrule = \"step_wall\"\nlimit = \"900%\"",
    );
    assert_eq!(code(&wide), 0, "{}", text(&wide));
}

/// The second recording of the program, with all start times and durations multiplied by `factor`.
fn slower(folder: &TempDir, factor: u32) -> String {
    let trace = scaled(&rerun(), f64::from(factor));
    write(folder, &format!("slower_{factor}.json"), &trace)
}

fn scaled(path: &str, factor: f64) -> Value {
    use std::io::Read;
    let file = std::fs::File::open(path).expect("a file");
    let mut json = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut json).expect("gzip");
    let mut trace: Value = serde_json::from_str(&json).expect("JSON");
    for event in trace["traceEvents"].as_array_mut().expect("events") {
        for field in ["ts", "dur"] {
            if let Some(time) = event[field].as_f64() {
                event[field] = Value::from(time * factor);
            }
        }
    }
    trace
}

fn write(folder: &TempDir, name: &str, trace: &Value) -> String {
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, trace.to_string()).expect("a file");
    path.display().to_string()
}

/// For each factor, writes a copy of the second recording of the program with all times multiplied by this factor. Each
/// copy represents a run.
fn runs(folder: &TempDir, name: &str, factors: &[f64]) -> Vec<String> {
    let one = |(at, factor): (usize, &f64)| {
        write(folder, &format!("{name}_{at}.json"), &scaled(&rerun(), *factor))
    };
    factors.iter().enumerate().map(one).collect()
}

#[test]
fn with_several_runs_a_time_beyond_noise_fails_and_a_time_within_the_limit_passes() {
    let folder = folder();
    let base = runs(&folder, "base", &[1.0, 1.01, 0.99]);
    let slow = runs(&folder, "slow", &[1.3, 1.31, 1.29]);
    let noisy = runs(&folder, "noisy", &[1.0, 1.35, 0.98]);
    let gate = |new: &[String]| {
        let mut arguments = vec!["gate", "--base"];
        arguments.extend(base.iter().map(String::as_str));
        arguments.push("--new");
        arguments.extend(new.iter().map(String::as_str));
        run(&folder, &arguments)
    };
    let slower = gate(&slow);
    assert_eq!(code(&slower), 1, "{}", text(&slower));
    assert!(text(&slower).contains("failed: host_time increased"), "{}", text(&slower));
    assert!(text(&slower).contains("3 runs per side, all apart"), "{}", text(&slower));
    assert!(text(&slower).contains("run-to-run noise: step_wall"), "{}", text(&slower));
    for new in [&noisy, &base] {
        let output = gate(new);
        assert_eq!(code(&output), 0, "{}", text(&output));
    }
}

#[test]
fn a_diff_of_several_runs_tests_by_runs_and_shows_their_noise() {
    let folder = folder();
    let base = runs(&folder, "base", &[1.0, 1.01, 0.99]);
    let slow = runs(&folder, "slow", &[1.3, 1.31, 1.29]);
    let mut arguments = vec!["diff", "--base"];
    arguments.extend(base.iter().map(String::as_str));
    arguments.push("--new");
    arguments.extend(slow.iter().map(String::as_str));
    arguments.extend(["--fail-on", "10%", "-o", "report"]);
    let output = run(&folder, &arguments);
    assert_eq!(code(&output), 1, "{}", errors(&output));
    assert!(text(&output).contains("medians of 3 runs each"), "{}", text(&output));
    let summary =
        std::fs::read_to_string(folder.path().join("report/summary.json")).expect("a file");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["verdict"]["basis"], "runs");
    assert_eq!(summary["verdict"]["total"], "slower");
    assert!(summary["verdict"]["words"].as_str().is_some_and(|words| words.contains("3 runs")));
    // If the runs on one side are compared with themselves, no change is reported.
    let mut arguments = vec!["diff", "--base"];
    arguments.extend(base.iter().map(String::as_str));
    arguments.push("--new");
    arguments.extend(base.iter().rev().map(String::as_str));
    arguments.extend(["--fail-on", "1%", "-o", "same"]);
    let same = run(&folder, &arguments);
    assert_eq!(code(&same), 0, "{}", errors(&same));
}

#[test]
fn runs_of_two_programs_on_one_side_are_bad_input() {
    let output = run(
        &folder(),
        &["gate", "--base", &cnn(), &example("resnet.cuda.json.gz"), "--new", &cnn()],
    );
    assert_eq!(code(&output), 2);
    assert!(errors(&output).contains("is a run of a different program"), "{}", errors(&output));
}

#[test]
fn patterns_and_folders_expand_to_their_runs() {
    let folder = folder();
    runs(&folder, "run", &[1.0, 1.01]);
    let pattern = folder.path().join("run_*.json").display().to_string();
    let here = folder.path().display().to_string();
    for runs in [&pattern, &here] {
        let output = run(&folder, &["gate", "--base", runs, "--new", runs]);
        assert!(text(&output).contains("runs 2 | 2"), "{}{}", text(&output), errors(&output));
    }
    let none = run(&folder, &["gate", "--base", &cnn(), "--new", &here, "none_*.json"]);
    assert_eq!(code(&none), 2);
    assert!(errors(&none).contains("matches no trace"), "{}", errors(&none));
}

#[test]
fn json_matches_the_published_schema() {
    let schema: Value =
        serde_json::from_str(include_str!("../../docs/reference/schemas/gate.schema.json"))
            .expect("JSON");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("gate.json", schema).expect("a schema");
    let id = compiler.compile("gate.json", &mut schemas).expect("a schema");
    for new in [rerun(), extra_op(), example("resnet.cuda.json.gz")] {
        let output = gate(&new, &["--format", "json"]);
        let json: Value = serde_json::from_str(&text(&output)).expect("JSON");
        if let Err(error) = schemas.validate(&json, id) {
            panic!("{new}: {error:#}");
        }
        assert_eq!(json["exit_code"], code(&output));
        // The schema must also reject an invalid document.
        let mut wrong = json.clone();
        wrong["outcome"] = Value::from("maybe");
        assert!(schemas.validate(&wrong, id).is_err());
    }
}

#[test]
fn junit_has_a_case_for_each_rule() {
    let failed = gate(&extra_op(), &["--format", "junit"]);
    let xml = text(&failed);
    assert_eq!(code(&failed), 1);
    assert_eq!(xml.matches("<testcase ").count(), 25, "{xml}");
    assert_eq!(xml.matches("<failure").count(), 1, "{xml}");
    assert!(xml.contains("name=\"new_op\"") && xml.contains("added aten::sin"), "{xml}");
    let other = text(&gate(&example("resnet.cuda.json.gz"), &["--format", "junit"]));
    assert!(other.contains("<error message=\"inconclusive\""), "{other}");
}

#[test]
fn github_annotates_the_line_that_calls_and_markdown_lists_all() {
    let lines = text(&gate(&extra_op(), &["--format", "github"]));
    assert!(
        lines.starts_with("::error file=gen.py,line=8,title=new_op::Added in Block"),
        "{lines}"
    );
    let markdown = text(&gate(&extra_op(), &["--format", "md"]));
    assert!(markdown.starts_with("## tracetree gate: fail\n"), "{markdown}");
    assert!(markdown.contains("| failed | `new_op` |"), "{markdown}");
    let unknown = gate(&extra_op(), &["--format", "jsno"]);
    assert_eq!(code(&unknown), 2);
    assert!(errors(&unknown).contains("did you mean json?"), "{}", errors(&unknown));
}

#[test]
fn a_history_shows_where_baselines_changed() {
    let folder = folder();
    for at in 0..12 {
        let factor = if at < 6 { 1.0 } else { 1.4 } + f64::from(at % 3) * 0.004;
        let trace = write(&folder, "run.json", &scaled(&rerun(), factor));
        let name = format!("base_{at:02}.ttb");
        run(&folder, &["baseline", "record", &trace, "-o", &name]);
    }
    let output = run(&folder, &["history", "."]);
    let lines = text(&output);
    assert!(lines.starts_with("12 baselines"), "{lines}{}", errors(&output));
    assert!(lines.contains("step_wall at base_06"), "{lines}");
    assert!(lines.contains("place:CNN_0 at base_06"), "{lines}");
    assert!(!lines.contains("base_05") && !lines.contains("base_07"), "{lines}");
    let json: Value =
        serde_json::from_str(&text(&run(&folder, &["history", ".", "--format", "json"])))
            .expect("JSON");
    assert_eq!(json["baselines"].as_array().map(Vec::len), Some(12));
    let page = text(&run(&folder, &["history", ".", "--format", "html"]));
    assert!(page.contains("<svg") && page.contains("step_wall"), "{page}");
}

#[test]
fn a_baseline_of_several_ranks_gets_a_warning() {
    let folder = folder();
    let ranks = [0, 1].map(|rank| folder.path().join(format!("job_rank_{rank}.json.gz")));
    for (from, rank) in [cnn(), rerun()].into_iter().zip(&ranks) {
        std::fs::copy(from, rank).expect("a copy");
    }
    let [one, two] = ranks.each_ref().map(|rank| rank.to_str().expect("UTF-8"));
    let record = run(&folder, &["baseline", "record", one, two]);
    assert_eq!(code(&record), 0, "{}", errors(&record));
    let warning = "warning: the runs of the baseline are ranks 0, 1 of one job, not repeats";
    assert!(errors(&record).contains(warning), "{}", errors(&record));
    let single = run(&folder, &["baseline", "record", one, "-o", "one.ttb"]);
    assert!(!errors(&single).contains("warning"), "{}", errors(&single));
}

fn h100(name: &str) -> String {
    example(&format!("h100/{name}.pt.trace.json.gz"))
}

#[test]
fn captures_are_passed_or_found_next_to_the_trace_and_recorded_in_a_baseline() {
    let (replay, capture) = (h100("decode_graph"), h100("decode_graph.capture"));
    let eager = h100("decode_eager");
    let place = folder();
    let record = run(&place, &["baseline", "record", &replay, "--capture", &capture]);
    assert_eq!(code(&record), 0, "{}", errors(&record));
    assert!(text(&record).contains("captures for all graph launches"), "{}", text(&record));
    assert!(errors(&record).contains("CAPTURE_READ"), "{}", errors(&record));

    // The capture is in the usual folder next to the trace.
    let beside = place.path().join("run/capture_traces");
    std::fs::create_dir_all(&beside).expect("a folder");
    std::fs::copy(&capture, beside.join("graph.json.gz")).expect("a copy");
    let trace = place.path().join("run/decode.json.gz").display().to_string();
    std::fs::copy(&replay, &trace).expect("a copy");
    let found = run(&place, &["gate", "--baseline", "base.ttb", &trace]);
    assert_eq!(code(&found), 0, "{}", text(&found));
    assert!(text(&found).contains("CAPTURE_FOUND"), "{}", text(&found));
    let without = run(&place, &["gate", "--baseline", "base.ttb", &trace, "--no-captures"]);
    assert_eq!(code(&without), 0, "{}", text(&without));
    assert!(text(&without).contains("compared at the graph launches"), "{}", text(&without));

    // The eager trace has the same ops as the capture. If the capture is missing, the gate asks for it.
    let bare = run(&place, &["gate", "--base", &eager, "--new", &replay]);
    assert_eq!(code(&bare), 1, "{}", text(&bare));
    assert!(text(&bare).contains("--new-capture"), "{}", text(&bare));
    let arguments = ["gate", "--base", &eager, "--new", &replay, "--new-capture", &capture];
    let printed = run(&place, &arguments);
    assert_eq!(code(&printed), 1, "{}", text(&printed));
    assert!(text(&printed).contains("FAIL: 1 finding"), "{}", text(&printed));
    assert!(text(&printed).contains("failed: Captured graphs are launched"), "{}", text(&printed));

    // Captures cannot be added to a baseline file that was already recorded.
    let arguments = ["gate", "--baseline", "base.ttb", &trace, "--base-capture", &capture];
    let refused = run(&place, &arguments);
    assert_eq!(code(&refused), 2);
    assert!(errors(&refused).contains("when it was recorded"), "{}", errors(&refused));
}

#[test]
fn a_finding_names_its_first_call_sites_and_counts_the_others() {
    let base = h100("resnet_eager");
    let new = h100("resnet_channels_last");
    let arguments = ["gate", "--base", &base, "--new", &new];
    let changed = run(&folder(), &arguments);
    let printed = text(&changed);
    assert_eq!(
        printed.matches("\nfailed: Tensors are channels_last instead of").count(),
        1,
        "{printed}"
    );
    let finding =
        printed.split("\n\n").find(|part| part.contains("channels_last")).unwrap_or_default();
    assert_eq!(finding.matches("\n  example ").count(), 1, "{printed}");
    assert!(finding.contains("--verbose lists 62 call sites"), "{printed}");
    let all = run(&folder(), &[&arguments[..], &["--verbose"]].concat());
    assert_eq!(text(&all).matches("\n  at ").count(), 62, "{}", text(&all));
    // The first line lists the times that exceed a limit but could not be tested.
    let loader = [h100("train_base"), h100("train_loader")];
    let late = run(&folder(), &["gate", "--base", &loader[0], "--new", &loader[1]]);
    assert_eq!(code(&late), 3);
    let first = text(&late).lines().next().unwrap_or_default().to_owned();
    assert!(first.contains("INCONCLUSIVE (structure passed): step_wall 10.524 ms"), "{first}");
}

fn files(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries.map(|entry| name(entry).display().to_string()).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn recording_a_baseline_follows_no_link() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("precious"), "mine").expect("written");
    for planted in ["base.ttb.part", "base.ttb.partial", ".base.ttb.part"] {
        std::os::unix::fs::symlink(at("precious"), at(planted)).expect("a link");
    }
    let record = run(&folder, &["baseline", "record", &cnn(), "-o", "base.ttb"]);
    assert_eq!(code(&record), 0, "{}", errors(&record));
    assert!(at("base.ttb").is_file() && !at("base.ttb").is_symlink());
    std::os::unix::fs::symlink(at("precious"), at("linked.ttb")).expect("a link");
    let refused = run(&folder, &["baseline", "record", &cnn(), "-o", "linked.ttb"]);
    assert_eq!(code(&refused), 2, "{}", errors(&refused));
    assert!(errors(&refused).contains("is a symbolic link (write to "), "{}", errors(&refused));
    assert_eq!(std::fs::read_to_string(at("precious")).expect("the file"), "mine");
    assert_eq!(files(&folder).len(), 6, "{:?}", files(&folder));
}

#[test]
fn parallel_recordings_into_one_baseline_file_all_succeed_and_leave_it_complete() {
    let folder = folder();
    let runs = [cnn(), extra_op()];
    let record = |at: usize| run(&folder, &["baseline", "record", &runs[at % 2], "-o", "base.ttb"]);
    let (record, alone) =
        (&record, run(&folder, &["baseline", "record", &runs[0], "-o", "one.ttb"]));
    assert_eq!(code(&alone), 0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..96).map(|at| scope.spawn(move || record(at))).collect();
        for thread in threads {
            let output = thread.join().expect("no panic");
            assert_eq!(code(&output), 0, "{}", errors(&output));
        }
    });
    assert_eq!(files(&folder), ["base.ttb", "one.ttb"]);
    let shown = run(&folder, &["baseline", "show", "base.ttb"]);
    assert_eq!(code(&shown), 0, "{}", errors(&shown));
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_older_result_unchanged() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for (name, arguments) in [
        (
            "result.json",
            vec!["gate", "--base", &cnn(), "--new", &extra_op(), "--format", "json", "-o"],
        ),
        ("base.ttb", vec!["baseline", "record", &cnn(), "-o"]),
    ] {
        std::fs::write(at(name), "older").expect("written");
        let mut command = Command::new("sh");
        // To the program, a file size limit of 1 KB looks like a full disk.
        command.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$@\"", "sh"]);
        command.arg(env!("CARGO_BIN_EXE_tracetree")).args(arguments).arg(name);
        let output = command.current_dir(&folder).output().expect("the program runs");
        assert_eq!(code(&output), 2, "{}", errors(&output));
        assert!(errors(&output).contains("free some space"), "{}", errors(&output));
        assert_eq!(std::fs::read_to_string(at(name)).expect("the file"), "older");
    }
    assert_eq!(files(&folder), ["base.ttb", "result.json"]);
}

#[cfg(unix)]
#[test]
fn a_result_can_go_to_a_device() {
    let output = gate(&rerun(), &["-o", "/dev/null"]);
    assert_eq!(code(&output), 0, "{}", errors(&output));
    assert!(!std::fs::metadata("/dev/null").expect("a device").is_file());
    let output = gate(&rerun(), &["-o", "/dev/stdout"]);
    assert!(text(&output).starts_with("PASS"), "{}", errors(&output));
}

#[test]
fn the_first_line_names_the_rule_file_and_quiet_gives_the_reason() {
    let folder = folder();
    std::fs::write(folder.path().join("tracetree.toml"), "[[rule]]\nrule = \"new_op\"\n")
        .expect("a file");
    let (base, new) = (cnn(), extra_op());
    let changed = run(&folder, &["gate", "--base", &base, "--new", &new, "-q"]);
    assert_eq!(code(&changed), 1);
    let first = text(&changed).lines().next().unwrap_or_default().to_owned();
    assert!(first.contains("rules tracetree.toml"), "{first}");
    let printed = errors(&changed);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert!(printed.contains("gate: FAIL"), "{printed}");
    let damaged = run(&folder, &["diff", &base, &new, "-q", "--no-report", "--fail-on", "gpu:1%"]);
    assert_eq!(code(&damaged), 3);
    assert_eq!(errors(&damaged).lines().count(), 1, "{}", errors(&damaged));
    assert!(errors(&damaged).contains("was not measured"), "{}", errors(&damaged));
}

#[test]
fn a_baseline_of_a_cut_off_trace_comes_with_a_warning() {
    let folder = folder();
    let whole = scaled(&cnn(), 1.0).to_string();
    std::fs::write(folder.path().join("cut.json"), &whole[..whole.len() * 3 / 4]).expect("a file");
    let recorded = run(&folder, &["baseline", "record", "cut.json", "-o", "base.ttb"]);
    assert_eq!(code(&recorded), 0, "{}", errors(&recorded));
    assert!(
        errors(&recorded).contains("warning: cut.json: the file is cut off"),
        "{}",
        errors(&recorded)
    );
}

#[test]
fn an_error_in_the_rules_is_one_line_with_its_position_and_no_far_fetched_suggestion() {
    let folder = folder();
    let refused = |rules: &str| {
        std::fs::write(folder.path().join("rules.toml"), rules).expect("a file");
        let output =
            run(&folder, &["gate", "--base", &cnn(), "--new", &cnn(), "--rules", "rules.toml"]);
        assert_eq!(code(&output), 2, "{rules}: {}", text(&output));
        errors(&output)
    };
    let printed = refused("[[rule]]\nrule = \"new_op\"\npth = 3\n");
    assert!(printed.contains("line 3, column 1: unknown field `pth`"), "{printed}");
    assert!(!printed.contains("\\n") && printed.lines().count() == 1, "{printed}");
    let printed = refused("tolerate = ['*']");
    assert!(printed.contains("unknown code `*`") && !printed.contains("did you mean"), "{printed}");
    let printed = refused(&"[[rule]]\nrule = \"new_op\"\nphase = \"decode\"\n".repeat(100_000));
    assert!(printed.contains("has 100000 rules; at most 1000"), "{printed}");
}
