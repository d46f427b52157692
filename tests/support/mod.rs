//! Code that tests and examples share: it creates small traces, and changes traces in known ways.
#![allow(dead_code, unreachable_pub, reason = "every test uses another part of it")]

pub mod bench;
pub mod captures;
pub mod changes;
pub mod compared;
pub mod damage;
pub mod files;
pub mod find;
pub mod fixtures;
pub mod laws;
pub mod phenomena;
pub mod planted;
pub mod random_trace;
pub mod ranks;
pub mod recording;
pub mod recount;
pub mod reports;
pub mod resnet;
pub mod score;
pub mod screen;
pub mod snapshot;
pub mod splitmix;
pub mod sqlite;
pub mod trace_builder;
pub mod traces;
pub mod transitive;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// The root of the repository.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_root = |folder: &&Path| folder.join("tests/support").is_dir();
    package.ancestors().find(is_root).expect("the package is in the repository")
}

/// Makes the root of the repository the current folder. Reports show paths as they were given, and the paths in
/// snapshots are relative to the root.
///
/// # Panics
/// Panics if the folder cannot be entered.
pub fn enter_root() {
    std::env::set_current_dir(root()).expect("the root of the repository");
}

/// Prints that this test was skipped, wholly or in part, and why; each reason once. The test harness hides what a test
/// prints with `eprintln!` unless the test fails, so the line is written directly to stderr.
pub fn skipped(reason: &str) {
    thread_local!(static REASONS: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) });
    if REASONS.with_borrow_mut(|reasons| reasons.insert(reason.to_owned())) {
        let test = std::thread::current();
        let line = format!("skipped: {}: {reason}\n", test.name().unwrap_or("a test"));
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// The `tracetree` command that belongs to this build. It runs in the root of the repository.
///
/// # Panics
/// Panics if it is called in a package other than `tracetree-cli`.
pub fn tracetree() -> Command {
    let Some(path) = option_env!("CARGO_BIN_EXE_tracetree") else {
        panic!("only tests of tracetree-cli run the command")
    };
    let mut command = Command::new(path);
    command.current_dir(root());
    command
}
