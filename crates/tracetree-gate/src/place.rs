//! Describes call sites: the enclosing modules and ops, and the function in the user's Python code that makes the call.

use serde::Serialize;
use tracetree::analysis::changes::user_code;
use tracetree::program::Word;

/// A call site in the form shown to people.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(into = "PlaceJson")]
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

/// A call site in JSON, where it also has its readable name.
#[derive(Serialize)]
struct PlaceJson {
    place: String,
    path: Vec<PartJson>,
    phase: String,
}

#[derive(Serialize)]
struct PartJson {
    word: &'static str,
    name: String,
}

impl From<Place> for PlaceJson {
    fn from(place: Place) -> PlaceJson {
        let part = |(word, name): (Word, String)| PartJson { word: word.label(), name };
        let words = place.words();
        let path = place.path.into_iter().map(part).collect();
        PlaceJson { place: words, path, phase: place.phase }
    }
}

/// A function in the user's Python code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Site {
    /// The file name as recorded in the trace.
    pub file: String,
    /// The first line of the function.
    pub line: u64,
    /// The name of the function.
    pub function: String,
}

impl Site {
    /// Parses a frame such as `model.py(31): forward`; returns `None` for library code and built-in functions.
    pub(super) fn of(frame: &str) -> Option<Site> {
        let (file, line, function) = user_code(frame)?;
        Some(Site { file: file.to_owned(), line: line.into(), function: function.to_owned() })
    }
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{} {}", self.file, self.line, self.function)
    }
}
