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
    /// Functions of Python, as `file: name`, or the names of built-in functions.
    #[serde(default)]
    functions: Vec<String>,
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

    /// The wait for something, such as `the data loader`; `None` if no known range waits for it.
    pub(super) fn wait_for(&self, what: &str) -> Option<&Wait> {
        self.wait.iter().find(|wait| wait.what == what)
    }

    /// The wait that a frame of a Python stack stands for, such as `torch/utils/data/dataloader.py(733): __next__`.
    pub(super) fn wait_in(&self, frame: &str) -> Option<&Wait> {
        let is_of = |function: &String| match (function.split_once(": "), frame.split_once('(')) {
            (Some((file, name)), Some((path, rest))) => {
                path.ends_with(file) && rest.ends_with(&format!(": {name}"))
            }
            (_, _) => frame == function,
        };
        self.wait.iter().find(|wait| wait.functions.iter().any(is_of))
    }
}

pub(super) static PYTORCH: LazyLock<Pytorch> =
    LazyLock::new(|| toml::from_str(include_str!("pytorch.toml")).expect("valid built-in rules"));

/// The name of a range without a number at its end, which counts calls: `load` of `load#3`.
pub(super) fn without_number(name: &str) -> &str {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches(['#', ' '])
}

#[cfg(test)]
mod tests {
    use super::PYTORCH;

    #[test]
    fn only_functions_of_the_file_of_the_data_loader_wait_for_it() {
        let wait = |frame: &str| PYTORCH.wait_in(frame).map(|wait| wait.what.as_str());
        let of = |file: &str, name: &str| wait(&format!("{file}(733): {name}"));
        let loader = "torch/utils/data/dataloader.py";
        assert_eq!(of(loader, "__next__"), Some("the data loader"));
        assert_eq!(of(loader, "__init__"), None);
        assert_eq!(of("app/stream.py", "__next__"), None);
    }
}
