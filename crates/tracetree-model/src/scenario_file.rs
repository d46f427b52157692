//! Reads the scenarios listed in a TOML file.
//!
//! ```toml
//! op_mapping = "op_mapping.yaml"      # default for scenarios without their own
//!
//! [[scenario]]
//! name = "Qwen3 prefill"
//! model_trace = "qwen3_pf.json.gz"
//! profile = "qwen3_pf.csv.gz"
//! forward_passes = 4                  # default: 1
//! ```
//! Paths in the file are relative to the TOML file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::forward_passes::ForwardPasses;
use super::input;
use super::scenario::Scenario;
use tracetree_trace::error::{Error, ErrorKind, Place, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    op_mapping: Option<PathBuf>,
    #[serde(default)]
    scenario: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    model_trace: PathBuf,
    profile: PathBuf,
    op_mapping: Option<PathBuf>,
    forward_passes: Option<u32>,
}

/// Reads the scenarios listed in the TOML file at `path`, in file order. Does not open the files that the
/// scenarios name.
///
/// # Errors
/// Fails if the file cannot be read, is not TOML, lists no scenario, lists two scenarios with the same name, or sets
/// `forward_passes` to 0.
pub fn read_scenarios(path: impl AsRef<Path>) -> Result<Vec<Scenario>> {
    let path = path.as_ref();
    scenarios_from_bytes(&input::read(path, "list of scenarios")?, path)
}

/// Parses the scenarios in a TOML document. Paths in the scenarios are relative to the folder of `path`. Error
/// messages name `path`.
///
/// # Errors
/// Fails for the same reasons as [`read_scenarios`].
pub fn scenarios_from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Vec<Scenario>> {
    let path = path.as_ref();
    let file: File = toml::from_slice(bytes).map_err(|e| not_toml(&e, path))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut names = BTreeSet::new();
    for entry in &file.scenario {
        if !names.insert(&entry.name) {
            return Err(twice(&entry.name, path));
        }
    }
    if file.scenario.is_empty() {
        return Err(empty(path));
    }
    file.scenario.iter().map(|entry| entry.scenario(&file, folder, path)).collect()
}

impl Entry {
    fn scenario(&self, file: &File, folder: &Path, path: &Path) -> Result<Scenario> {
        let passes = self.forward_passes.unwrap_or(1);
        let mapping = self.op_mapping.as_ref().or(file.op_mapping.as_ref());
        Ok(Scenario {
            name: self.name.clone(),
            model_trace: folder.join(&self.model_trace),
            profile: folder.join(&self.profile),
            op_mapping: mapping.map(|mapping| folder.join(mapping)),
            forward_passes: ForwardPasses::new(passes).ok_or_else(|| no_pass(&self.name, path))?,
        })
    }
}

fn not_toml(error: &toml::de::Error, path: &Path) -> Error {
    let reason = error.message().replace(['\n', '\r'], " ");
    let built =
        Error::new(ErrorKind::Malformed, path, format!("not a list of scenarios: {reason}"))
            .remedy("give each `[[scenario]]` a name, a model_trace and a profile");
    match error.span() {
        Some(span) => built.at(Place { offset: span.start as u64, event: None }),
        None => built,
    }
}

fn empty(path: &Path) -> Error {
    Error::new(ErrorKind::Malformed, path, "lists no scenarios")
        .remedy("add `[[scenario]]` with a name, a model_trace and a profile")
}

fn twice(name: &str, path: &Path) -> Error {
    let message = format!("two scenarios are named {}", input::quoted(name));
    Error::new(ErrorKind::Malformed, path, message).remedy("give each scenario its own name")
}

fn no_pass(name: &str, path: &Path) -> Error {
    let message = format!("scenario {}: forward_passes is 0", input::quoted(name));
    Error::new(ErrorKind::Malformed, path, message)
        .remedy("set `forward_passes` to the number of forward passes in the profile, at least 1")
}
