//! The tree with mutants → the mutants that do not compile, then the test programs of the rest.

use crate::Places;
use crate::mutant::Mutant;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::{fs, io};

/// Tests that check the source text, which the mutants change.
const NO_TESTS: [&str; 2] = ["layering", "third_party"];

fn cargo(places: &Places, arguments: &[&str]) -> io::Result<Output> {
    Command::new("cargo")
        .current_dir(&places.tree)
        .env("CARGO_TARGET_DIR", &places.target)
        .args(arguments)
        .args(["--all-features", "--message-format", "json"])
        .output()
}

fn messages(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Mutants that the compiler rejects. Others may follow in the next round, after these are removed.
pub fn broken(
    places: &Places,
    mutants: &[Mutant],
    left_out: &BTreeSet<usize>,
) -> io::Result<BTreeSet<usize>> {
    let output = cargo(places, &["check", "--lib"])?;
    let is_new = |number: &usize| !left_out.contains(number);
    let mut sources = BTreeMap::new();
    let mut broken = BTreeSet::new();
    for message in messages(&output) {
        let message = &message["message"];
        if message["level"] != "error" || message["spans"].as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        let spans = message["spans"].as_array().expect("a list");
        let mut found = BTreeSet::new();
        for span in spans.iter().map(written) {
            let file = span["file_name"].as_str().unwrap_or_default().to_owned();
            let source = sources
                .entry(file.clone())
                .or_insert_with(|| fs::read_to_string(places.tree.join(&file)).unwrap_or_default());
            let at = span["byte_start"].as_u64().unwrap_or(0) as usize;
            found.extend(around(source, at).filter(is_new));
        }
        if found.is_empty() {
            let all = spans.iter().flat_map(|span| in_function(written(span), mutants));
            found.extend(all.filter(is_new));
        }
        assert!(!found.is_empty(), "this error belongs to no mutant: {}", message["rendered"]);
        broken.extend(found);
    }
    assert!(output.status.success() || !broken.is_empty(), "the tree does not build");
    Ok(broken)
}

/// The outermost macro call around a span of the compiler, or the span itself outside of macros.
fn written(mut span: &Value) -> &Value {
    while span["expansion"].is_object() {
        span = &span["expansion"]["span"];
    }
    span
}

/// The mutant whose text contains the byte at `at`.
fn around(source: &str, at: usize) -> Option<usize> {
    let before = source.get(..at)?;
    let start = before.rfind("/*<")?;
    let number = before[start + 3..].split('*').next()?.parse().ok()?;
    let is_closed = before[start..].contains(&format!("/*{number}>*/"));
    (!is_closed).then_some(number)
}

/// All mutants of the function around a span of the compiler: one of them changed a type there.
fn in_function(span: &Value, mutants: &[Mutant]) -> Vec<usize> {
    let (file, line) = (span["file_name"].as_str(), span["line_start"].as_u64());
    let is_in = |mutant: &Mutant| {
        let lines = mutant.function.as_ref().map_or(&mutant.span, |function| &function.span);
        Some(&*mutant.file) == file
            && line
                .is_some_and(|line| (lines.start.line..=lines.end.line).contains(&(line as usize)))
    };
    (0..mutants.len()).filter(|&at| is_in(&mutants[at])).collect()
}

/// Builds the tests and returns their programs by name.
pub fn test_programs(places: &Places) -> io::Result<BTreeMap<String, PathBuf>> {
    let output = cargo(places, &["test", "--no-run"])?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut programs = BTreeMap::new();
    for message in messages(&output).iter().filter(|message| message["profile"]["test"] == true) {
        let target = &message["target"];
        let name = format!("{} {}", target["kind"][0], target["name"]);
        let path = message["executable"].as_str().map(PathBuf::from);
        let is_left_out = NO_TESTS.iter().any(|no_tests| target["name"] == **no_tests);
        programs.extend(path.filter(|_| !is_left_out).map(|path| (name, path)));
    }
    Ok(programs)
}
