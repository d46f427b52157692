//! Tests for the streams, files and exit codes of `tracetree diff`, `tree` and `uid`.

use crate::support::enter_root;
use crate::support::tracetree;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const ROCM: &str = "examples/traces/resnet.rocm.json.gz";
const CUDA: &str = "examples/traces/resnet.cuda.json.gz";
const CNN: &str = "examples/traces/cnn.pt.trace.json.gz";
const CNN_RERUN: &str = "examples/traces/cnn_rerun.pt.trace.json.gz";

/// A recording of a small ResNet on an H100, before TF32 was switched off.
const EAGER: &str = "examples/traces/h100/resnet_eager.pt.trace.json.gz";
const TF32_OFF: &str = "examples/traces/h100/resnet_tf32_off.pt.trace.json.gz";

/// A temporary folder for one test, removed when the value is dropped.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(TempDir::new().expect("a temporary folder"))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.at(name), bytes).expect("a writable folder");
        self.at(name).display().to_string()
    }

    /// The command `tracetree diff`, run in the project root, with the report written to `folder`.
    fn diff(&self, arguments: &[&str]) -> Command {
        let mut command = program(&["diff"]);
        command.args(arguments).arg("-o").arg(self.at("report"));
        command
    }
}

fn program(arguments: &[&str]) -> Command {
    let mut command = tracetree();
    command.args(arguments).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// Runs a command that must exit with `code`, and returns its stdout and stderr.
fn ends(code: i32, mut command: Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(stdout), text(stderr));
    assert_eq!(status.code(), Some(code), "{command:?}\n{out}\n{err}");
    (out, err)
}

/// Runs a command that must fail with exit code 2, print one error line to stderr and write no report. Returns the
/// error.
fn fails(place: &Place, arguments: &[&str]) -> String {
    let (out, err) = ends(2, place.diff(arguments));
    assert_eq!(out, "");
    // For a common mistake, stderr has a second line, which shows the command to run instead.
    let mut others = err.lines().skip(1);
    assert!(others.next().is_none_or(|line| line.starts_with("tracetree: try: ")), "{err}");
    assert_eq!(others.next(), None, "{err}");
    assert!(err.starts_with("tracetree: error: "), "{err}");
    assert!(!place.at("report").exists(), "a failed run leaves no report");
    err
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn only_prints_the_ops_of_one_side() {
    let only = |which: &str, more: &[&str]| {
        let mut command = program(&["diff", ROCM, CUDA, "--no-report", "--only", which]);
        command.args(more);
        ends(0, command).0
    };
    let (added, removed) = (only("added", &[]), only("removed", &[]));
    assert!(added.contains("only in the candidate") && added.contains("aten::cudnn_convolution"));
    assert!(
        removed.contains("only in the baseline") && removed.contains("aten::miopen_convolution")
    );
    assert!(!added.contains("miopen") && !removed.contains("cudnn"), "{added}{removed}");
    let table = only("added", &["--format", "csv"]);
    let (head, rows) = table.split_once('\n').expect("rows");
    assert!(head.starts_with("name,presence,calls_trace1"), "{head}");
    assert!(rows.lines().all(|row| row.contains(",trace2_only,")), "{rows}");
    assert_eq!(rows.lines().count(), added.lines().count() - 2);
    let (_, err) = ends(2, {
        program(&["diff", ROCM, CUDA, "--no-report", "--only", "added", "--format", "json"])
    });
    assert!(err.contains("use --format csv"), "{err}");
}

#[test]
fn only_says_whether_the_programs_are_identical_if_no_op_is_new() {
    let only =
        |two: &str| ends(0, program(&["diff", CNN, two, "--no-report", "--only", "added"])).0;
    assert!(only(CNN_RERUN).contains("The programs are identical"), "{}", only(CNN_RERUN));
    let other = "examples/traces/cnn_extra_op.pt.trace.json.gz";
    assert!(!only(other).contains("identical"), "{}", only(other));
}

#[test]
fn diff_prints_totals_and_the_largest_differences_and_writes_a_report() {
    let place = Place::new();
    let (out, err) = ends(0, place.diff(&[ROCM, CUDA, "-v"]));
    for part in
        ["GPU time", "exactly", "aten::convolution_backward", "MI300X ms", "points of difference"]
    {
        assert!(out.contains(part), "{part}\n{out}");
    }
    assert!(err.contains("LAUNCH_NOT_CAPTURED") && err.contains("report in "), "{err}");
    assert!(names(&place.at("report")).contains(&"diff_stats.csv".to_owned()));
}

/// The times that are printed on one line of the totals, converted to ns.
fn account_of(line: &str) -> Vec<i64> {
    let figures = line.split(|c: char| !c.is_ascii_digit() && c != '.');
    let figures = figures.filter(|part| part.contains('.') && part.len() > 4);
    figures.map(|part| part.replace('.', "").parse().expect("a figure")).collect()
}

#[test]
fn the_printed_totals_of_each_side_add_up_to_the_last_digit() {
    let unlinked = "tests/fixtures/unlinked_gpu_events";
    let fixture = ["baseline", "candidate"].map(|side| format!("{unlinked}/{side}.json"));
    for pair in [[ROCM, CUDA], [CNN, CNN_RERUN], [&fixture[0], &fixture[1]]] {
        let (out, _) = ends(0, Place::new().diff(&[&pair[..], &["-v"]].concat()));
        let lines: Vec<&str> = out.lines().filter(|line| line.contains(" = ")).collect();
        assert_eq!(lines.len(), 2, "{out}");
        for line in lines {
            let [paired, only, unlinked, total] = account_of(line)[..] else {
                panic!("four figures: {line}");
            };
            assert!(total > 0 && paired + only + unlinked == total, "{line}");
        }
    }
}

#[test]
fn the_screen_has_ten_differences_each_once_and_fits_its_width() {
    let out = screen(ROCM, CUDA, 100);
    let (_, table) = out.split_once("largest differences").expect("the table");
    let rows: Vec<&str> = table
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with("  └") && !line.starts_with("… and"))
        .collect();
    assert_eq!(rows.len(), 10, "{out}");
    let names: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row.split("  ").next().unwrap_or_default()).collect();
    assert_eq!(names.len(), 10, "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    assert!(out.contains("└ aten::miopen_convolution | aten::cudnn_convolution ×45"), "{out}");
    let (few, _) = ends(0, Place::new().diff(&[ROCM, CUDA, "-v", "--top", "2"]));
    assert!(few.contains("… and 21 more"), "{few}");
}

#[test]
fn the_sides_have_the_names_that_the_user_gives() {
    let place = Place::new();
    let names = ["-v", "--base-name", "main", "--new-name", "branch"];
    let (out, err) = ends(0, place.diff(&[&[ROCM, CUDA], &names[..]].concat()));
    for part in ["main    examples", "branch takes 0.85x the GPU time of main", "main ms"] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    assert!(!out.contains("trace1") && err.contains("LAUNCH_NOT_CAPTURED: main: "), "{err}");
    let read = |file: &str| fs::read_to_string(place.at("report").join(file)).expect(file);
    let summary: Value = serde_json::from_str(&read("summary.json")).expect("JSON");
    assert_eq!([&summary["trace1"]["name"], &summary["trace2"]["name"]], ["main", "branch"]);
    assert!(read("report.html").contains("<th scope=\"col\">main</th>"));
    assert!(read("report.md").contains("| main ms | branch ms |"));
    assert!(read("diff_stats.csv").contains("kernel_time_trace1"), "columns keep their names");
    for (bad, part) in [
        (["--base-name", "same", "--new-name", "same"], "both traces have this name"),
        (["--base-name", "trace2", "--top", "3"], "reserved for the other side"),
        (["--base-name", "", "--top", "3"], "the name is empty"),
    ] {
        let (_, err) = ends(2, place.diff(&[&[ROCM, CUDA], &bad[..]].concat()));
        assert!(err.contains(part), "{err}");
    }
}

const VENDORS: &[u8] =
    b"[[alias]]\npattern = '^aten::(miopen|cudnn)_(.*)$'\nname = 'aten::vendor_$2'\n";

#[test]
fn aliases_from_a_file_are_one_op_in_diff_uid_and_explain() {
    let place = Place::new();
    let file = place.file("vendors.toml", VENDORS);
    let (out, _) = ends(0, place.diff(&[ROCM, CUDA, "-v", "--alias", &file]));
    assert!(out.contains("aten::miopen_batch_norm | aten::cudnn_batch_norm"), "{out}");
    assert!(!out.contains("└ aten::miopen"), "no point of difference: {out}");
    let tree = fs::read_to_string(place.at("report/merged_tree_output.txt")).expect("the tree");
    assert!(tree.contains("aliased: aten::miopen_convolution | aten::cudnn_convolution"));
    let (a, b) =
        ("tests/fixtures/bias_add/baseline.json", "tests/fixtures/bias_add/candidate.json");
    let call = uid(a, "aten::miopen_convolution");
    for (command, word) in [("uid", "relation\t"), ("explain", "relation   ")] {
        let (plain, _) = ends(0, program(&[command, a, b, "--baseline", &call]));
        assert!(plain.contains(&format!("{word}renamed")), "{plain}");
        let (aliased, _) =
            ends(0, program(&[command, a, b, "--baseline", &call, "--alias", &file]));
        assert!(aliased.contains(&format!("{word}same")), "{aliased}");
    }
}

#[test]
fn a_bad_alias_file_is_reported_with_the_position_of_the_error() {
    let place = Place::new();
    let regex = place.file("regex.toml", b"\n[[alias]]\npattern = 'a(b'\nname = 'c'");
    assert!(fails(&place, &[ROCM, CUDA, "--alias", &regex]).contains("regex.toml: line 3: "));
    let group = place.file("group.toml", b"[[alias]]\npattern = 'a'\nname = '$2'");
    assert!(fails(&place, &[ROCM, CUDA, "--alias", &group]).contains("group.toml: line 3: "));
    let toml = place.file("toml.toml", b"[[alias]\n");
    assert!(fails(&place, &[ROCM, CUDA, "--alias", &toml]).contains("toml.toml: line 1: "));
    let missing = place.at("missing.toml").display().to_string();
    assert!(fails(&place, &[ROCM, CUDA, "--alias", &missing]).contains("read the aliases"));
}

#[test]
fn python_frames_can_be_left_out() {
    let place = Place::new();
    let tree = |arguments: &[&str]| {
        ends(0, place.diff(arguments));
        fs::read_to_string(place.at("report/merged_tree_output.txt")).expect("the tree")
    };
    let with = tree(&[ROCM, CUDA, "--python"]);
    assert_eq!(with, tree(&[ROCM, CUDA]));
    assert!(with.contains("nn.Module: "), "frames are in by default");
    let without = tree(&[ROCM, CUDA, "--no-python"]);
    assert!(!without.contains("nn.Module: ") && without.contains("aten::_convolution"));
    assert_eq!(with, tree(&[ROCM, CUDA, "--no-python", "--python"]), "the last one wins");
    let (a, b) =
        ("tests/fixtures/bias_add/baseline.json", "tests/fixtures/bias_add/candidate.json");
    let frame = uid(a, "nn.Module: Conv2d_0");
    ends(0, program(&["uid", a, b, "--baseline", &frame]));
    for command in ["uid", "explain"] {
        let (_, err) = ends(2, program(&[command, a, b, "--baseline", &frame, "--no-python"]));
        assert!(err.contains("is a Python frame, which --no-python ignores"), "{err}");
    }
    let report = place.at("report").display().to_string();
    let (_, err) = ends(2, program(&["uid", &report, "--baseline", "3", "--no-python"]));
    assert!(err.contains("need two traces"), "{err}");
}

#[test]
fn only_results_and_remarks_are_printed_if_stderr_is_not_a_terminal() {
    let (_, err) = ends(0, Place::new().diff(&[ROCM, CUDA]));
    assert!(err.lines().all(|line| line.starts_with("tracetree: ")), "no bar: {err}");
}

/// The output of `tracetree diff` on a terminal of `width` columns.
fn screen(baseline: &str, candidate: &str, width: usize) -> String {
    enter_root();
    let options = tracetree::ComparisonOptions::default();
    let comparison = tracetree::Comparison::open(baseline, candidate, &options);
    tracetree_cli::summary_text(&comparison.expect("two traces"), 10, width)
}

/// The first text block in the README equals the terminal output of the first command in the README.
#[test]
fn the_picture_in_the_readme_is_what_the_command_prints() {
    enter_root();
    let readme = fs::read_to_string("README.md").expect("the README");
    let (head, rest) = readme.split_once("```text\n").expect("a picture");
    let (picture, rest) = rest.split_once("```").expect("its end");
    let options = tracetree::ComparisonOptions::default();
    let comparison = tracetree::Comparison::open(EAGER, TF32_OFF, &options).expect("two traces");
    let printed: String = tracetree_cli::answer_text(&comparison, 100)
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let updated = format!("{head}```text\n{printed}```{rest}");
        return fs::write("README.md", updated).expect("a writable README");
    }
    assert_eq!(
        picture, printed,
        "UPDATE_DOCS=1 cargo test --all-features --test command picture writes it anew"
    );
}

#[test]
fn identical_traces_have_no_difference_and_exit_0() {
    let place = Place::new();
    let mut command = place.diff(&[CNN, CNN]);
    command.args(["--exit-code", "--fail-on", "0%", "--format", "json"]);
    let (out, _) = ends(0, command);
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(summary["points_of_difference"], 0);
    assert_eq!(summary["difference_us"], 0.0);
    assert_eq!(summary["largest_differences"], Value::Array(Vec::new()));
}

#[test]
fn exit_code_1_must_be_requested() {
    let place = Place::new();
    ends(0, place.diff(&[ROCM, CUDA]));
    ends(1, place.diff(&[ROCM, CUDA, "--exit-code"]));
    ends(0, place.diff(&[CNN, CNN_RERUN, "--exit-code"]));
}

#[test]
fn a_quiet_run_still_says_in_one_line_why_it_does_not_succeed() {
    let place = Place::new();
    let cases =
        [(1, ROCM, "--exit-code"), (3, CNN, "--strict-comparability"), (3, CUDA, "--fail-on=1%")];
    for (code, baseline, option) in cases {
        let candidate = if baseline == ROCM { CUDA } else { ROCM };
        let (_, printed) = ends(code, place.diff(&[baseline, candidate, "-q", option]));
        let name = option.split('=').next().expect("a name");
        assert!(printed.lines().count() == 1 && printed.contains(name), "{option}: {printed}");
    }
    assert_eq!(ends(0, place.diff(&[ROCM, CUDA, "-q"])).1, "");
}

#[test]
fn every_format_goes_to_stdout_only() {
    let place = Place::new();
    let run = |format: &str| ends(0, place.diff(&[ROCM, CUDA, "--format", format])).0;
    let csv = run("csv");
    assert!(csv.starts_with("name,row_count,kernel_time_trace1_sum_ms,"), "{csv}");
    let json: Value = serde_json::from_str(&run("json")).expect("JSON");
    assert_eq!(json["account_is_exact"], true);
    let markdown = run("md");
    assert!(markdown.lines().any(|line| line.starts_with("|---|")), "{markdown}");
    assert!(markdown.contains("`aten::_convolution`"), "{markdown}");
}

#[test]
fn the_names_printed_as_csv_are_those_of_the_report() {
    let place = Place::new();
    let (out, _) = ends(0, place.diff(&[ROCM, CUDA, "--format", "csv"]));
    let file = place.at("report/diff_stats_names_summary.csv");
    assert_eq!(out, fs::read_to_string(file).expect("a file of the report"));
}

#[test]
fn colour_is_used_on_terminals_or_on_request() {
    let place = Place::new();
    let escape = '\u{1b}';
    assert!(!ends(0, place.diff(&[ROCM, CUDA])).0.contains(escape));
    assert!(ends(0, place.diff(&[ROCM, CUDA, "--color", "always"])).0.contains(escape));
    let mut without = place.diff(&[ROCM, CUDA]);
    without.env("NO_COLOR", "1");
    let (out, err) = ends(0, without);
    assert!(!out.contains(escape) && !err.contains(escape));
}

#[test]
fn quiet_leaves_stderr_empty() {
    let place = Place::new();
    assert_eq!(ends(0, place.diff(&[ROCM, CUDA, "-q"])).1, "");
}

#[test]
fn a_file_that_is_not_a_trace_gives_exit_code_2() {
    let place = Place::new();
    let inputs = [
        (place.file("text.json", b"hello"), "text.json"),
        (place.file("empty.json", b""), "empty"),
        (place.file("object.json", b"{\"answer\": 42}"), "no traceEvents"),
        (place.file("nothing.json", b"{\"traceEvents\": []}"), "nothing to compare"),
        (place.at("missing.json").display().to_string(), "missing.json"),
        (place.0.path().display().to_string(), "is a folder"),
    ];
    for (input, part) in &inputs {
        for arguments in [[input.as_str(), CNN], [CNN, input.as_str()]] {
            let err = fails(&place, &arguments);
            assert!(err.contains(part), "{part}: {err}");
        }
    }
}

#[test]
fn a_truncated_gzip_gives_its_readable_events_and_a_warning() {
    enter_root();
    let place = Place::new();
    let whole = fs::read(CNN).expect("an example trace");
    let cut = place.file("cut.json.gz", &whole[..whole.len() / 2]);
    let (out, err) = ends(0, place.diff(&[&cut, CNN, "-v"]));
    assert!(err.contains("TRUNCATED"), "{err}");
    assert!(out.contains("exact"), "{out}");
    assert!(
        fails(&Place::new(), &[&place.file("stub.json.gz", &whole[..12]), CNN]).contains("stub")
    );
}

#[test]
fn a_file_in_the_way_of_the_report_is_kept() {
    let place = Place::new();
    let taken = place.file("report", b"mine");
    let (_, err) = ends(2, place.diff(&[CNN, CNN]));
    assert!(err.contains("is not a folder") && err.contains("-o"), "{err}");
    assert_eq!(fs::read(taken).expect("the file"), b"mine");
    assert_eq!(names(place.0.path()), ["report"]);
}

#[test]
fn a_report_folder_keeps_files_that_tracetree_did_not_write() {
    let place = Place::new();
    fs::create_dir(place.at("report")).expect("a folder");
    place.file("report/notes.txt", b"mine");
    ends(0, place.diff(&[CNN, CNN_RERUN]));
    let found = names(&place.at("report"));
    assert!(found.contains(&"notes.txt".to_owned()) && found.contains(&"summary.json".to_owned()));
    assert_eq!(fs::read(place.at("report/notes.txt")).expect("the file"), b"mine");
}

#[test]
fn standard_input_can_be_one_of_the_traces_only() {
    for arguments in
        [&["-", "-"][..], &["--base", "-", CNN, "--new", "-"], &["--base", "-", "-", "--new", CNN]]
    {
        assert!(
            fails(&Place::new(), arguments)
                .contains("only one trace can be read from standard input"),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_reader_that_closes_the_pipe_is_not_an_error() {
    let mut command = program(&["tree", ROCM]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
    let mut start = [0; 64];
    let mut out = child.stdout.take().expect("a pipe");
    out.read_exact(&mut start).expect("some output");
    drop(out);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"");
}

#[test]
fn tree_shows_the_call_stack_with_uids() {
    let (out, _) = ends(0, program(&["tree", "tests/fixtures/bias_add/candidate.json"]));
    let lines: Vec<&str> = out.lines().map(str::trim_start).collect();
    assert!(lines[0].starts_with("thread 5617 (main)"), "{out}");
    assert!(lines.iter().any(|line| line.starts_with("aten::add_  [")), "{out}");
    assert!(!out.contains("aten::reshape"), "it launches nothing\n{out}");
    let (all, _) = ends(0, program(&["tree", "tests/fixtures/bias_add/candidate.json", "--all"]));
    assert!(all.contains("aten::reshape"), "{all}");
    let (short, _) = ends(0, program(&["tree", ROCM, "--depth", "2"]));
    assert!(short.lines().all(|line| !line.starts_with("    ")), "{short}");
}

/// The names in a printed tree, including their indentation.
fn tree_names(arguments: &[&str]) -> (Vec<String>, String) {
    let (out, err) = ends(0, program(&[&["tree"], arguments].concat()));
    let name = |line: &str| line.split("  [").next().unwrap_or_default().to_owned();
    let names = out.lines().map(|line| {
        let indent = line.len() - line.trim_start().len();
        format!("{}{}", " ".repeat(indent), name(line.trim_start()))
    });
    (names.collect(), err)
}

#[test]
fn tree_shows_one_call_with_its_path_from_the_thread() {
    let file = "tests/fixtures/bias_add/baseline.json";
    let call = uid(file, "aten::add_");
    let (names, _) = tree_names(&[file, "--uid", &call]);
    let path = ["thread", "nn.Module", "aten::conv2d", "aten::convolution", "aten::_convolution"];
    for (line, part) in names.iter().zip(path) {
        assert!(line.contains(part), "{part}: {names:?}");
    }
    assert_eq!(names[6].trim_start(), "aten::add_");
    assert_eq!(names.len(), 9, "its launch and its kernel, and no neighbour: {names:?}");
    assert!(!names.iter().any(|name| name.contains("hipExtModuleLaunchKernel")), "{names:?}");
    let (shallow, _) = tree_names(&[file, "--uid", &call, "--depth", "1"]);
    assert_eq!(shallow, names[..7]);
    let (_, err) = ends(2, program(&["tree", file, "--uid", "999999"]));
    assert!(err.contains("event 999999") && err.contains(file), "{err}");
}

#[test]
fn tree_shows_calls_whose_name_matches_with_their_callers() {
    let file = "tests/fixtures/bias_add/baseline.json";
    let (names, _) = tree_names(&[file, "--include", "^aten::add_$"]);
    let trimmed: Vec<&str> = names.iter().map(|name| name.trim_start()).collect();
    assert!(trimmed[0].starts_with("thread"), "{trimmed:?}");
    assert!(trimmed.contains(&"aten::convolution") && trimmed.contains(&"hipLaunchKernel"));
    assert!(!trimmed.contains(&"hipExtModuleLaunchKernel"), "{trimmed:?}");
    let (none, err) = tree_names(&[file, "--include", "no_such_op"]);
    assert!(none.is_empty() && err.contains("no call on the GPU path matches"), "{err}");
    let (_, err) = ends(2, program(&["tree", file, "--include", "a(b"]));
    assert!(err.contains("unclosed group"), "{err}");
}

#[test]
fn tree_shows_all_of_a_trace_without_gpu_work_and_says_so() {
    let (out, err) = ends(0, program(&["tree", CNN]));
    assert!(out.contains("aten::conv2d"), "{out}");
    assert!(err.contains("no GPU work in the trace; all calls are shown"), "{err}");
    assert_eq!(ends(0, program(&["tree", CNN, "--all"])), (out, String::new()));
}

#[test]
fn completions_and_the_manual_page_know_all_commands() {
    let commands = ["diff", "info", "tree", "uid", "explain", "model-diff", "completions", "man"];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (script, err) = ends(0, program(&["completions", shell]));
        assert!(commands.iter().all(|command| script.contains(command)), "{shell}");
        assert!(script.contains("no-python") && err.is_empty(), "{shell}");
    }
    let (page, _) = ends(0, program(&["man"]));
    assert!(page.contains(".TH tracetree 1"), "{page}");
    for command in commands {
        let heading = format!("TRACETREE {}", command.to_uppercase().replace('-', "\\-"));
        assert!(page.contains(&heading), "{heading}");
    }
    assert!(page.contains("\\-\\-no\\-python"), "options of a command: {page}");
    let (_, err) = ends(2, program(&["completions", "tcsh"]));
    assert!(err.contains("possible values"), "{err}");
}

#[test]
fn tree_exports_the_links_as_a_graph() {
    let (out, _) = ends(0, program(&["tree", "tests/fixtures/bias_add/candidate.json", "--dot"]));
    assert!(out.starts_with("digraph {") && out.contains("label=\"launch\""), "{out}");
}

/// The uid of the only event with this name in a fixture.
fn uid(file: &str, name: &str) -> String {
    enter_root();
    let trace: Value =
        serde_json::from_str(&fs::read_to_string(file).expect("a fixture")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    events.iter().position(|event| event["name"] == name).expect("the event").to_string()
}

#[test]
fn uid_answers_from_traces_and_from_a_report_folder() {
    let (a, b) =
        ("tests/fixtures/bias_add/baseline.json", "tests/fixtures/bias_add/candidate.json");
    let (add1, add2) = (uid(a, "aten::add_"), uid(b, "aten::add_"));
    let place = Place::new();
    ends(0, place.diff(&[a, b]));
    let (named, _) = ends(0, program(&["uid", a, b, "--baseline", &add1]));
    assert_eq!(
        named,
        format!("trace1\t{add1}\taten::add_\ntrace2\t{add2}\taten::add_\nrelation\tsame\n")
    );
    let report = place.at("report").display().to_string();
    let (bare, _) = ends(0, program(&["uid", &report, "--candidate", &add2]));
    assert_eq!(bare, format!("trace1\t{add1}\ntrace2\t{add2}\nrelation\tsame\n"));
    let alone = uid(b, "aten::reshape");
    let (out, _) = ends(0, program(&["uid", a, b, "--candidate", &alone]));
    assert!(out.starts_with("trace1\t-1\n") && out.ends_with("relation\ttrace2_only\n"), "{out}");
}

#[test]
fn a_uid_that_is_not_a_call_is_bad_usage() {
    let (a, b) = ("tests/fixtures/rename/baseline.json", "tests/fixtures/rename/candidate.json");
    let (_, err) = ends(2, program(&["uid", a, b, "--baseline", "100000"]));
    assert!(
        err.contains("event 100000 of the baseline") && err.contains("diff_stats.csv"),
        "{err}"
    );
    let (_, err) = ends(2, program(&["uid", a, b]));
    assert!(err.contains("no event was given") && err.contains("--baseline"), "{err}");
    let (_, err) = ends(2, program(&["uid", a, b, "1", "--candidate", "2"]));
    assert!(err.contains("cannot be used with"), "{err}");
}

#[test]
fn a_report_and_a_number_are_the_events_of_its_baseline() {
    let (a, b) =
        ("tests/fixtures/bias_add/baseline.json", "tests/fixtures/bias_add/candidate.json");
    let (add1, add2) = (uid(a, "aten::add_"), uid(b, "aten::add_"));
    let place = Place::new();
    ends(0, place.diff(&[a, b]));
    let report = place.at("report").display().to_string();
    let (bare, _) = ends(0, program(&["uid", &report, &add1]));
    assert_eq!(bare, format!("trace1\t{add1}\ntrace2\t{add2}\nrelation\tsame\n"));
    let from_report = ends(0, program(&["explain", &report, &add1]));
    assert_eq!(from_report, ends(0, program(&["explain", a, b, "--baseline", &add1])));
    assert_eq!(from_report, ends(0, program(&["explain", a, b, &add1])));
    let missing = place.at("nowhere").display().to_string();
    let (_, err) = ends(2, program(&["explain", &missing, "3"]));
    assert!(err.contains("nowhere"), "{err}");
}

#[test]
fn explain_says_if_a_report_was_made_with_different_options() {
    let (a, b) =
        ("tests/fixtures/bias_add/baseline.json", "tests/fixtures/bias_add/candidate.json");
    let alias = b"[[alias]]\npattern = '^aten::(miopen|cudnn)_(.*)$'\nname = 'aten::vendor_$2'\n";
    let place = Place::new();
    let file = place.file("alias.toml", alias);
    ends(0, place.diff(&[a, b, "--alias", &file]));
    let report = place.at("report").display().to_string();
    let renamed = uid(a, "aten::miopen_convolution");
    ends(0, program(&["explain", &report, &renamed, "--alias", &file]));
    let (_, err) = ends(2, program(&["explain", &report, &renamed]));
    assert!(err.contains("different match for this event") && err.contains("--alias"), "{err}");
}

#[test]
fn no_report_writes_nothing() {
    enter_root();
    let folder = TempDir::new().expect("a temporary folder");
    let here = |path: &str| fs::canonicalize(path).expect("a trace").display().to_string();
    let mut command = program(&["diff", &here(CNN), &here(CNN_RERUN), "--no-report", "-v"]);
    command.current_dir(folder.path());
    let (out, err) = ends(0, command);
    assert!(out.contains("host self time") && !err.contains("report in"), "{err}");
    assert_eq!(names(folder.path()), Vec::<String>::new());
    let (_, err) = ends(2, program(&["diff", CNN, CNN_RERUN, "--no-report", "-o", "x"]));
    assert!(err.contains("cannot be used with"), "{err}");
}

#[test]
fn a_chosen_step_keeps_its_number() {
    let place = Place::new();
    ends(0, place.diff(&[ROCM, CUDA, "--steps", "2", "--emit", "html"]));
    let steps = fs::read_to_string(place.at("report").join("steps.csv")).expect("a table");
    let numbers: Vec<&str> =
        steps.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(numbers, ["2"], "{steps}");
    let page = fs::read_to_string(place.at("report").join("report.html")).expect("the page");
    assert!(!page.contains("\"step\",\"value\":[0]"), "the page tells it as 2, too");
}

#[test]
fn all_thresholds_share_one_grammar() {
    let same = |arguments: &[&str]| {
        let place = Place::new();
        ends(0, place.diff(&[&[ROCM, CUDA, "--emit", "none"], arguments].concat()));
        let text = fs::read_to_string(place.at("report").join("summary.json")).expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        summary["verdict"]["total"].as_str().expect("a verdict").to_owned()
    };
    assert_eq!(same(&[]), "not_tested");
    for close in [
        ["--rel-threshold", "90%"],
        ["--rel-threshold", "0.9"],
        ["--abs-threshold", "1000ms"],
        ["--abs-threshold-us", "1000000"],
    ] {
        assert_eq!(same(&close), "similar", "{close:?}");
    }
}

/// The names of all commands, including subcommands such as `fleet plan`.
const COMMANDS: [&str; 18] = [
    "diff",
    "info",
    "tree",
    "uid",
    "explain",
    "gate",
    "baseline",
    "baseline record",
    "baseline show",
    "baseline accept",
    "fleet",
    "fleet plan",
    "fleet map",
    "fleet reduce",
    "fleet run",
    "history",
    "model-diff",
    "completions",
];

fn help(command: &str) -> String {
    let words = command.split(' ').chain(["--help"]);
    ends(0, program(&words.collect::<Vec<_>>())).0
}

#[test]
fn help_is_grouped_and_ends_with_three_examples() {
    for command in COMMANDS {
        let help = help(command);
        let (_, examples) = help.split_once("Examples:\n").expect(command);
        let lines = examples.lines().filter(|line| line.starts_with("  tracetree "));
        assert_eq!(lines.count(), 3, "{command}\n{examples}");
        assert!(help.contains("Every command:"), "{command}");
    }
    let groups = [
        (
            "diff",
            &["Report", "What is compared", "Thresholds and exit codes", "Names and models"][..],
        ),
        (
            "fleet run",
            &["Report", "What is compared", "Thresholds and exit codes", "Names and models"],
        ),
        ("fleet plan", &["Report", "What is compared", "Names and models"]),
        ("fleet map", &["Report"]),
        ("fleet reduce", &["Report", "Thresholds and exit codes"]),
    ];
    for (command, groups) in groups {
        let help = help(command);
        for group in groups {
            assert!(help.contains(&format!("\n{group}:\n")), "{command}: {group}\n{help}");
        }
    }
}

/// The help text of one option of a command, with the heading of its group.
fn help_of_option(command: &str, option: &str) -> Option<String> {
    let help = help(command);
    let mut group = "";
    let mut lines = help.lines().skip_while(|line| {
        if line.ends_with(':') && !line.starts_with(' ') {
            group = line;
        }
        !line.trim_start().trim_start_matches("-o, ").starts_with(&format!("{option} "))
            && line.trim() != option
    });
    let said: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    (!said.is_empty()).then(|| format!("{group}\n{}", said.join("\n")))
}

#[test]
fn a_fleet_and_a_pair_have_the_same_options_in_the_same_groups_and_words() {
    let options = [
        "--python",
        "--no-python",
        "--alias",
        "--no-repeats",
        "--phase",
        "--steps",
        "--base-steps",
        "--new-steps",
        "--categories",
    ];
    for option in options {
        let one = help_of_option("diff", option).expect(option);
        assert_eq!(help_of_option("fleet plan", option).as_ref(), Some(&one), "{option}");
        assert_eq!(help_of_option("fleet run", option).as_ref(), Some(&one), "{option}");
    }
}

#[test]
fn the_manual_page_has_every_command_with_its_examples() {
    let (page, _) = ends(0, program(&["man"]));
    let sections: Vec<&str> = page.split("\n.SH ").collect();
    for command in COMMANDS {
        let title = format!("\"TRACETREE {}\"\n", command.to_uppercase().replace('-', "\\-"));
        let section = sections.iter().find(|section| section.starts_with(&title));
        let section = section.unwrap_or_else(|| panic!("{title} is not in the page"));
        assert_eq!(section.matches("\n\\&  tracetree ").count(), 3, "{command}\n{section}");
    }
    // The manual page describes global options once, and all other options in the section for their command.
    assert_eq!(page.matches("\n\\fB\\-\\-max\\-unpacked\\fR").count(), 1, "{page}");
    let titles: Vec<&str> = sections.iter().filter_map(|section| section.lines().next()).collect();
    assert!(!titles.contains(&"REPORT") && page.contains("\n.SS REPORT\n"), "{titles:?}");
    assert!(page.contains("tracetree uid report 38"), "{page}");
}

#[test]
fn a_coverage_is_written_like_other_thresholds_and_is_at_most_100_percent() {
    for wrong in ["101%", "1.5", "all", "-1%"] {
        let (_, printed) =
            ends(2, program(&["fleet", "reduce", "plan.json", &format!("--min-coverage={wrong}")]));
        assert!(printed.contains("--min-coverage"), "{printed}");
    }
}

#[test]
fn tree_shows_gpu_time_and_sorts_by_it() {
    let file = "tests/fixtures/bias_add/baseline.json";
    let (out, _) = ends(0, program(&["tree", file, "--sort", "total"]));
    // A thread's total GPU time is the sum of the self times that are printed for the thread and all calls below it.
    let figure = |line: &str, what: &str| -> f64 {
        let rest = line.split(&format!(", {what} ")).nth(1);
        let text = rest.and_then(|rest| rest.split(" µs").next());
        text.map_or(0.0, |text| text.parse().expect("a figure"))
    };
    let thread = out.lines().next().expect("a thread");
    let own: f64 = out.lines().map(|line| figure(line, "self")).sum();
    assert!(figure(thread, "GPU") > 0.0, "{out}");
    assert!((figure(thread, "GPU") - own).abs() < 1e-6, "{out}");
    let (rocm, _) = ends(0, program(&["tree", ROCM, "--sort", "total"]));
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut above: Vec<(usize, f64)> = Vec::new();
    for line in rocm.lines().filter(|line| line.contains(", GPU ")) {
        above.truncate(above.iter().take_while(|(at, _)| *at <= depth(line)).count());
        match above.last_mut() {
            Some((at, time)) if *at == depth(line) => {
                assert!(*time >= figure(line, "GPU"), "siblings by time: {line}");
                *time = figure(line, "GPU");
            }
            Some(_) | None => above.push((depth(line), figure(line, "GPU"))),
        }
    }
}

#[test]
fn the_order_of_the_runs_changes_no_byte_of_the_screen_or_of_the_report() {
    let place = Place::new();
    let h100 = |name: &str| format!("examples/traces/h100/{name}.pt.trace.json.gz");
    let written = |folder: &str, base: [&str; 3], new: [&str; 2]| {
        let mut command = program(&["diff", "--base"]);
        command.args(base.map(h100)).arg("--new").args(new.map(h100));
        command.arg("-o").arg(place.at(folder));
        let (screen, _) = ends(0, command);
        let files = fs::read_dir(place.at(folder)).expect("a report");
        let read = |path: PathBuf| (path.clone(), fs::read(path).expect("a file"));
        let files = files.map(|file| read(file.expect("a file").path()));
        let named = files.map(|(path, bytes)| (path.file_name().map(ToOwned::to_owned), bytes));
        (screen.replace(folder, ""), named.collect::<std::collections::BTreeMap<_, _>>())
    };
    let runs = ["resnet_eager", "resnet_eager_again", "resnet_eager_third"];
    let slower = ["resnet_tf32_off", "resnet_tf32_off_again"];
    let (screen, report) = written("first_order", runs, slower);
    assert!(screen.contains("medians of 3 and 2 runs, spread "), "{screen}");
    assert!(report.len() > 10, "{:?}", report.keys());
    let [one, two, three] = runs;
    for (at, order) in [[three, one, two], [two, three, one]].into_iter().enumerate() {
        let other = written(&format!("order_{at}"), order, [slower[1], slower[0]]);
        assert_eq!(screen, other.0);
        for (name, bytes) in &report {
            assert!(other.1.get(name) == Some(bytes), "{order:?}: {name:?} differs");
        }
    }
}
