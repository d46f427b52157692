//! Describes call sites: the enclosing modules and ops, and the function in the user's Python code that makes the call.

use tracetree::program::Word;

/// A call site in the form shown to people.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// The kind and name of each enclosing call, from the outermost module down.
    pub path: Vec<(Word, String)>,
    /// The phase of the program in which the calls are made; empty for a whole step.
    pub phase: String,
}

impl Place {
    /// A readable name for the call site, such as `Net_0.Block_1 / aten::conv2d`; `step` for a whole step.
    pub fn words(&self) -> String {
        let modules: Vec<&str> = self.names(|word| word == Word::Module).collect();
        let others = self.names(|word| word != Word::Module);
        let parts: Vec<String> = std::iter::once(modules.join("."))
            .chain(others.map(str::to_owned))
            .filter(|part| !part.is_empty())
            .collect();
        if parts.is_empty() { "step".to_owned() } else { parts.join(" / ") }
    }

    /// A path query that finds the call site; empty for a whole step.
    pub fn query(&self) -> String {
        let modules: Vec<&(Word, String)> =
            self.path.iter().filter(|(word, _)| *word == Word::Module).collect();
        let last_module = modules.last().map(|part| &part.1);
        let module = last_module.map(|name| format!("module(\"{name}\")"));
        let others = self.path.iter().filter(|(word, _)| *word != Word::Module);
        let others = others.map(|(word, name)| format!("{}(\"{name}\")", word.label()));
        module.into_iter().chain(others).collect::<Vec<_>>().join(" / ")
    }

    fn names(&self, is_wanted: fn(Word) -> bool) -> impl Iterator<Item = &str> {
        self.path.iter().filter(move |(word, _)| is_wanted(*word)).map(|(_, name)| name.as_str())
    }
}

/// A function in the user's Python code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The file name as recorded in the trace.
    pub file: String,
    /// The first line of the function.
    pub line: u64,
    /// The name of the function.
    pub function: String,
}

impl Site {
    /// Parses a frame such as `model.py(31): forward`; returns `None` if the frame does not name a file.
    pub fn of(frame: &str) -> Option<Site> {
        let (place, function) = frame.split_once("): ")?;
        let (file, line) = place.rsplit_once('(')?;
        Some(Site {
            file: file.to_owned(),
            line: line.parse().ok()?,
            function: function.to_owned(),
        })
    }
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{} {}", self.file, self.line, self.function)
    }
}

/// A file whose path contains one of these strings belongs to Python or to a library, not to the user.
const FOREIGN: [&str; 6] =
    ["site-packages", "dist-packages", "/lib/python", "torch/", "<frozen", "contextlib.py"];

/// Whether a frame such as `file.py(12): function` is in one of the user's files.
pub(super) fn is_users(name: &str) -> bool {
    let Some((place, _)) = name.split_once("): ") else { return false };
    let Some((file, line)) = place.rsplit_once('(') else { return false };
    line.bytes().all(|byte| byte.is_ascii_digit())
        && !file.starts_with('<')
        && !FOREIGN.iter().any(|part| file.contains(part))
        && !["threading.py", "runpy.py"].contains(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_of_the_users_files_are_sites() {
        assert!(is_users("train.py(31): loss") && is_users("/srv/net/model.py(3): forward"));
        for name in [
            "nn.Module: Linear_3",
            "torch/nn/modules/module.py(1501): _call_impl",
            "/opt/lib/python3.11/site-packages/timm/mlp.py(4): forward",
            "<built-in method conv2d of type object at 0x7f6e2a04c9a0>",
            "<string>(2): __init__",
            "threading.py(973): _bootstrap",
        ] {
            assert!(!is_users(name), "{name}");
        }
    }
}
