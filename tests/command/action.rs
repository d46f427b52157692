//! Tests for `action.yml`: what the action installs and runs on a CI runner.
#![cfg(all(feature = "model", unix))]

use crate::support::root;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

#[derive(Deserialize)]
struct Action {
    runs: Runs,
}

#[derive(Deserialize)]
struct Runs {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    run: String,
    #[serde(default)]
    uses: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

fn action() -> Action {
    let path = root().join("action.yml");
    serde_saphyr::from_str(&fs::read_to_string(path).expect("the action")).expect("YAML")
}

/// Writes an executable program into a folder.
fn program(bin: &Path, name: &str, text: &str) {
    let path = bin.join(name);
    fs::write(&path, format!("#!/bin/bash\n{text}\n")).expect("a writable folder");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// A simulated CI runner. The simulated runner's `cargo` logs its arguments and installs the command under test. The
/// PATH of the simulated runner also contains a decoy `tracetree`, which must not be run.
struct Runner {
    folder: tempfile::TempDir,
}

impl Runner {
    fn new() -> Runner {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bin = folder.path().join("bin");
        fs::create_dir_all(&bin).expect("a folder");
        program(&bin, "tracetree", r#"echo "$*" >> "$RUNNER_TEMP/strange"; exit 0"#);
        program(
            &bin,
            "cargo",
            &format!(
                r#"echo "$*" >> "$RUNNER_TEMP/cargo"
                while [ $# -gt 0 ]; do [ "$1" = --root ] && root=$2; shift; done
                mkdir -p "$root/bin" && ln -sf '{}' "$root/bin/tracetree""#,
                env!("CARGO_BIN_EXE_tracetree")
            ),
        );
        Runner { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// Runs a step of the action as a CI runner does: inputs are passed only through the environment.
    fn run(&self, step: &Step, inputs: &[(&str, &str)]) -> Output {
        let input = |text: &str| {
            let name = text.trim_start_matches("${{ inputs.").trim_end_matches(" }}");
            inputs
                .iter()
                .find(|(known, _)| *known == name)
                .map_or("", |(_, value)| *value)
                .to_owned()
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.run])
            .current_dir(self.path())
            .env("PATH", format!("{}:{path}", self.path().join("bin").display()))
            .env("RUNNER_TEMP", self.path())
            .env("GITHUB_ACTION_PATH", root())
            .env("GITHUB_OUTPUT", self.path().join("output"))
            .env("GITHUB_STEP_SUMMARY", self.path().join("summary"));
        for (name, value) in &step.env {
            command.env(name, input(value));
        }
        command.output().expect("bash")
    }
}

#[test]
fn the_action_installs_its_own_checkout_and_runs_what_it_installed() {
    let (action, runner) = (action(), Runner::new());
    let traces = root().join("examples/traces");
    let of = |name: &str| traces.join(name).display().to_string();
    let (base, runs) = (of("cnn_eager.pt.trace.json.gz"), of("cnn_eager.pt.trace.json.gz"));
    let inputs = [("base", &*base), ("runs", &*runs), ("inconclusive", "pass")];
    for step in &action.runs.steps {
        let output = runner.run(step, &inputs);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let asked = runner.read("cargo");
    let package = root().join("crates/tracetree-cli").display().to_string();
    assert!(asked.starts_with("install ") && asked.contains(" --locked "), "{asked}");
    assert!(asked.contains(&format!(" --path {package} ")), "{asked}");
    assert!(runner.read("output").starts_with("outcome="), "{}", runner.read("output"));
    assert!(!runner.read("summary").is_empty());
    assert_eq!(runner.read("strange"), "", "a `tracetree` of PATH was run");
}

#[test]
fn the_action_installs_nothing_from_a_registry() {
    for step in action().runs.steps {
        assert_eq!(step.uses, "", "steps of others need a pinned commit");
        for line in step.run.lines().filter(|line| line.contains("cargo ")) {
            assert!(line.contains("--path") && line.contains("--locked"), "{line}");
            assert!(!line.contains('@'), "{line}");
        }
        // The action downloads a single file, and checks it against a hash that the caller
        // specifies.
        let downloads = step.run.matches("curl ").count();
        assert!(downloads <= 1, "{}", step.run);
        assert_eq!(downloads, step.run.matches("!= \"$SHA256\"").count(), "{}", step.run);
        for word in ["wget", "pip ", "npm ", "--git", "command -v tracetree"] {
            assert!(!step.run.contains(word), "{word} in {}", step.run);
        }
    }
}

#[test]
fn inputs_of_the_action_are_not_part_of_its_scripts() {
    let action = action();
    for step in &action.runs.steps {
        assert!(!step.run.contains("${{"), "{}", step.run);
        for name in step.env.keys() {
            for (at, variable) in step.run.match_indices(&format!("${name}")) {
                let rest = &step.run[at + variable.len()..];
                let is_another =
                    rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
                let is_quoted = step.run[..at].ends_with('"') && rest.starts_with('"');
                assert!(is_another || is_quoted, "{variable} is unquoted");
            }
        }
    }
    let runner = Runner::new();
    let check = action.runs.steps.last().expect("a step");
    runner.run(&action.runs.steps[0], &[]);
    let evil = "x\"; touch \"$RUNNER_TEMP/strange\"; $(touch strange) `touch strange` ' #";
    runner.run(check, &[("base", evil), ("runs", evil), ("rules", evil), ("inconclusive", "pass")]);
    assert!(!runner.path().join("strange").exists(), "an input was run");
}

/// Returns a runner whose `curl` writes an archive with the command under test. Also returns the SHA-256 of this
/// archive.
fn runner_with_release() -> (Runner, String) {
    let runner = Runner::new();
    let packed = Command::new("bash")
        .current_dir(runner.path())
        .args([
            "-ec",
            "target=$(uname -sm | sed 's/Linux \\(.*\\)/\\1-unknown-linux-musl/')
             mkdir \"tracetree-$target\"
             printf '#!/bin/sh\\nexec \"%s\" \"$@\"\\n' \"$0\" > \"tracetree-$target/tracetree\"
             chmod +x \"tracetree-$target/tracetree\"
             tar czf release.tar.gz \"tracetree-$target\"
             sha256sum release.tar.gz",
            env!("CARGO_BIN_EXE_tracetree"),
        ])
        .output()
        .expect("bash");
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    program(
        &runner.path().join("bin"),
        "curl",
        r#"for url; do true; done
        echo "$url" >> "$RUNNER_TEMP/urls"
        while [ "$1" != --output ]; do shift; done
        cp "$RUNNER_TEMP/release.tar.gz" "$2""#,
    );
    let hash = String::from_utf8_lossy(&packed.stdout);
    let hash = hash.split(' ').next().expect("a hash").to_owned();
    (runner, hash)
}

#[test]
#[cfg(target_os = "linux")]
fn the_action_installs_a_release_only_if_its_hash_is_the_one_that_the_caller_names() {
    let action = action();
    let install = &action.runs.steps[0];
    let (runner, hash) = runner_with_release();
    let program = runner.path().join("tracetree-action/bin/tracetree");
    let wrong = hash.replace(|digit: char| digit.is_ascii_digit(), "a");
    for sha256 in ["", &wrong] {
        let output = runner.run(install, &[("version", "0.1.0"), ("sha256", sha256)]);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("sha256"));
        assert!(!program.exists(), "installed with the hash {sha256:?}");
    }
    let output = runner.run(install, &[("version", "0.1.0"), ("sha256", &hash)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(program.exists());
    assert!(runner.read("urls").contains("/releases/download/v0.1.0/tracetree-"));
    assert_eq!(runner.read("cargo"), "", "nothing is built");
}
