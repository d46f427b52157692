//! Tests for the error messages for common mistakes; each message has two lines: the problem, and the command to run
//! instead.

use crate::support::enter_root;
use crate::support::tracetree;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const TRACE: &str = "examples/traces/cnn.pt.trace.json.gz";

/// Runs a command in `folder` that must fail with exit code 2, and returns its two lines on stderr.
fn refused(folder: &Path, arguments: &[&str]) -> [String; 2] {
    let mut command = tracetree();
    let output = command.args(arguments).current_dir(folder).output().expect("the program runs");
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.try_into().unwrap_or_else(|lines| panic!("two lines: {lines:?}"))
}

/// A folder that contains a trace, files from other tools and an empty folder.
fn place() -> TempDir {
    enter_root();
    let place = TempDir::new().expect("a temporary folder");
    let write = |name: &str, bytes: &[u8]| fs::write(place.path().join(name), bytes);
    write("run_base.pt.trace.json.gz", &fs::read(TRACE).expect("a trace")).expect("a file");
    write("a.nsys-rep", b"NSYSREP").expect("a file");
    write("a.pftrace", b"\x0a\x10abc").expect("a file");
    write("memory.pickle", b"\x80\x04abc").expect("a file");
    fs::create_dir(place.path().join("empty")).expect("a folder");
    place
}

#[test]
fn a_mistake_names_the_command_to_run() {
    let place = place();
    let base = "run_base.pt.trace.json.gz";
    for (arguments, what, command) in [
        (&["uid", "38"][..], "38 is an event", "tracetree uid tracetree_report 38"),
        (
            &[base, "run_new.json"],
            "did you forget `diff`?",
            "tracetree diff run_base.pt.trace.json.gz run_new.json",
        ),
        (
            &["info", "run_bsae.pt.trace.json.gz"],
            "the nearest names are run_base.pt.trace.json.gz",
            "tracetree info run_base.pt.trace.json.gz",
        ),
        (
            &["diff", "run_bsae.pt.trace.json.gz", base],
            "cannot open the trace: ",
            "tracetree diff run_base.pt.trace.json.gz run_base.pt.trace.json.gz",
        ),
        (
            &["info", "a.nsys-rep"],
            "an Nsight Systems report",
            "nsys export --type sqlite -o a.sqlite a.nsys-rep",
        ),
        (&["info", "a.pftrace"], "a Perfetto trace", "traceconv json a.pftrace trace.json"),
        (
            &["info", "memory.pickle"],
            "a memory snapshot",
            "tracetree memory memory.pickle OTHER.pickle",
        ),
        (&["info", "."], "a folder with 1 trace", "tracetree info ./run_base.pt.trace.json.gz"),
        (&["tree", "."], "a folder with 1 trace", "tracetree tree ./run_base.pt.trace.json.gz"),
        (&["info", "empty"], "is an empty folder", "tracetree info TRACE.json.gz"),
        (&["diff", "empty", "empty"], "is an empty folder", "tracetree diff "),
    ] {
        let [first, second] = refused(place.path(), arguments);
        assert!(first.starts_with("tracetree: error: ") && first.contains(what), "{first}");
        assert!(second.starts_with("tracetree: try: ") && second.contains(command), "{second}");
    }
}

#[test]
fn the_same_file_twice_is_compared_with_a_warning() {
    let mut command = tracetree();
    let output = command.args(["diff", TRACE, TRACE, "--no-report"]).output();
    let output = output.expect("the program runs");
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{text}");
    assert!(text.contains("baseline and candidate are the same file"), "{text}");
    assert!(text.contains(&format!("tracetree diff {TRACE} CANDIDATE")), "{text}");
}

#[test]
fn an_unknown_command_is_not_treated_as_a_file() {
    let output = tracetree().arg("dif").output();
    let text = String::from_utf8(output.expect("the program runs").stderr).expect("UTF-8");
    assert!(text.contains("unrecognized subcommand 'dif'"), "{text}");
}
