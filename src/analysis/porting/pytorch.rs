//! What the comparison of two platforms knows about PyTorch: `pytorch.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pytorch {
    pub(super) dispatchers: Vec<String>,
    pub(super) hints: BTreeMap<String, String>,
}

pub(super) static PYTORCH: LazyLock<Pytorch> =
    LazyLock::new(|| toml::from_str(include_str!("pytorch.toml")).expect("valid built-in rules"));
