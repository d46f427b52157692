//! What the analysis knows about PyTorch: `pytorch.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pytorch {
    pub(super) dispatchers: Vec<String>,
    pub(super) hints: BTreeMap<String, String>,
    wait: Vec<Wait>,
}

/// Ranges in which the host waits for something else than the GPU.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// What the host waits for.
    pub(super) what: String,
    starts: Vec<String>,
    /// What to try.
    pub(super) advice: String,
}

impl Pytorch {
    /// The wait that a range stands for; `None` if the name of the range is not known.
    pub(super) fn wait(&self, range: &str) -> Option<&Wait> {
        let is_of =
            |wait: &&Wait| wait.starts.iter().any(|start| range.starts_with(start.as_str()));
        self.wait.iter().find(is_of)
    }
}

pub(super) static PYTORCH: LazyLock<Pytorch> =
    LazyLock::new(|| toml::from_str(include_str!("pytorch.toml")).expect("valid built-in rules"));
