//! Path queries select calls in a tree. Rules, `tree --find` and searches use the same query
//! grammar.
//!
//! ```text
//! query = part { "/" part }            outermost first; other calls may be between two parts
//! part  = word "(" pattern ")"
//! word  = "module" | "frame" | "op" | "call" | "kernel"
//! pattern = a text in "…"; `*` matches any characters, `?` matches one, `|` separates alternatives
//! ```
//! `module("Block_1") / op("aten::conv2d") / kernel("*gemm*")` selects the kernels that have gemm
//! in their names and are launched by a convolution in the module Block_1. A module can be selected
//! by its instance (`Block_1`), its class (`Block`), or its dotted path from any enclosing instance
//! (`Sequential_0.Block_1`). The profiler records module classes and instance numbers, not
//! attribute names. A frame can be selected with or without its line number (`train.py(31): loss`,
//! `train.py: loss`).

mod parse;
mod pattern;

pub use pattern::{Glob, is_near, nearest};

use crate::error::{Error, ErrorKind, Result};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use std::borrow::Cow;
use std::fmt;

/// The kind of call that one part of a path query selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    /// An `nn.Module` call.
    Module,
    /// A Python frame.
    Frame,
    /// An operator (`cpu_op`).
    Op,
    /// A call into the GPU runtime.
    Call,
    /// A kernel, copy or memset.
    Kernel,
}

impl Word {
    /// All words.
    pub const ALL: [Word; 5] = [Word::Module, Word::Frame, Word::Op, Word::Call, Word::Kernel];

    /// The kind of call as written in queries.
    #[doc(hidden)]
    pub fn label(self) -> &'static str {
        match self {
            Word::Module => "module",
            Word::Frame => "frame",
            Word::Op => "op",
            Word::Call => "call",
            Word::Kernel => "kernel",
        }
    }
}

/// One part of a path query: a kind of call and a pattern for the call's name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Part {
    word: Word,
    glob: Glob,
}

/// A query for a path in the call tree, as written by the user.
///
/// ```
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("a folder");
/// use tracetree::program::Query;
/// use tracetree::{CallTree, Trace};
///
/// let tree = CallTree::build(Trace::open("examples/traces/resnet.cuda.json.gz")?);
/// let query: Query = r#"op("aten::conv2d") / kernel("*bias*")"#.parse()?;
/// assert!(query.find(&tree).iter().all(|&call| tree.name(call).contains("bias")));
///
/// let error = r#"modul("Block")"#.parse::<Query>().expect_err("no such word");
/// assert!(error.to_string().contains("did you mean `module`?"));
/// # Ok::<(), tracetree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    text: String,
    parts: Vec<Part>,
}

/// The properties that a query checks for each call on a path from the root.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Segment<'a> {
    /// The kind of the call.
    pub word: Word,
    /// The name of the call; for a module, the instance name.
    pub name: &'a str,
    /// The dotted path of a module: the instances that enclose it, followed by its own instance.
    /// Empty for all other calls.
    pub chain: &'a str,
}

/// How many parts of a query, counted from the first part, the ancestors of a call have matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct Progress(usize);

impl Query {
    /// The query string.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The kind of calls that the query selects, as named in the last part of the query.
    #[doc(hidden)]
    pub fn finds(&self) -> Word {
        self.parts.last().expect("a query has at least one part").word
    }

    /// For each part of the query, the kind of call that the part selects.
    pub fn words(&self) -> impl Iterator<Item = Word> + '_ {
        self.parts.iter().map(|part| part.word)
    }

    /// Descends into a call. Returns the progress for the calls below this call, and whether the
    /// query selects this call.
    pub fn step(&self, above: Progress, place: Segment<'_>) -> (Progress, bool) {
        let last = self.parts.len() - 1;
        let is_named = above.0 == last && self.parts[last].matches(place);
        if above.0 < last && self.parts[above.0].matches(place) {
            (Progress(above.0 + 1), false)
        } else {
            (above, is_named)
        }
    }

    /// The calls in a tree that the query selects, in preorder.
    pub fn find(&self, tree: &CallTree) -> Vec<CallId> {
        let mut found = Vec::new();
        // The ancestors of the current call. Each has the query's progress for the calls below it,
        // and the length of its module path.
        let mut above: Vec<(CallId, Progress, usize)> = Vec::new();
        let mut chain = String::new();
        for call in tree.calls() {
            while above.last().is_some_and(|&(open, ..)| !tree.is_below(call, open)) {
                above.pop();
            }
            let (progress, length) =
                above.last().map_or((Progress::default(), 0), |&(_, p, length)| (p, length));
            chain.truncate(length);
            let Some(word) = word_of(tree, call) else {
                above.push((call, progress, length));
                continue;
            };
            let name = ModuleName::instance_or_name(tree.name(call));
            if word == Word::Module {
                extend_chain(&mut chain, name);
            }
            let place = Segment { word, name, chain: &chain };
            let (below, is_named) = self.step(progress, place);
            if is_named {
                found.push(call);
            }
            above.push((call, below, chain.len()));
        }
        found
    }

    /// The calls in a tree that the query selects, or an error if there are none.
    ///
    /// # Errors
    /// Fails if the query selects no calls. The error names the most similar call in the tree.
    #[doc(hidden)]
    pub fn find_some(&self, tree: &CallTree) -> Result<Vec<CallId>> {
        let found = self.find(tree);
        if !found.is_empty() {
            return Ok(found);
        }
        let message = format!("no call matches {}", self.text);
        Err(Error::new(ErrorKind::Usage, tree.trace().source(), message).remedy(self.nearest(tree)))
    }

    /// Finds the first part of the query that matches nothing, and describes the name in the tree
    /// that is most similar to it.
    #[doc(hidden)]
    pub fn nearest(&self, tree: &CallTree) -> String {
        let names = |word: Word| {
            let mut names: Vec<&str> = tree
                .calls()
                .filter(|&call| word_of(tree, call) == Some(word))
                .map(|call| ModuleName::instance_or_name(tree.name(call)))
                .collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let part = self.parts.iter().find(|part| {
            let known = names(part.word);
            !known.iter().any(|name| part.matches(Segment { word: part.word, name, chain: name }))
        });
        let part =
            part.unwrap_or_else(|| self.parts.last().expect("a query has at least one part"));
        let known = names(part.word);
        let word = part.word.label();
        match nearest(part.glob.text(), known.iter().copied()) {
            Some(name) => format!("the nearest {word} is `{name}`"),
            None => format!("there is no {word}"),
        }
    }
}

/// Appends a module instance to the dotted path of the instances that enclose it.
pub fn extend_chain(chain: &mut String, instance: &str) {
    if !chain.is_empty() {
        chain.push('.');
    }
    chain.push_str(instance);
}

fn word_of(tree: &CallTree, call: CallId) -> Option<Word> {
    match tree.kind(call) {
        CallKind::Thread | CallKind::Unlinked => None,
        CallKind::Frame if tree.is_module(call) => Some(Word::Module),
        CallKind::Frame => Some(Word::Frame),
        CallKind::Op => Some(Word::Op),
        CallKind::Runtime => Some(Word::Call),
        CallKind::Gpu => Some(Word::Kernel),
    }
}

impl Part {
    fn matches(&self, place: Segment<'_>) -> bool {
        self.word == place.word
            && match place.word {
                Word::Module => self.matches_module(place),
                Word::Frame => {
                    self.glob.matches(place.name) || self.glob.matches(&without_line(place.name))
                }
                Word::Op | Word::Call | Word::Kernel => self.glob.matches(place.name),
            }
    }

    fn matches_module(&self, place: Segment<'_>) -> bool {
        let class = ModuleName::of_instance(place.name).class;
        self.glob.matches(place.name)
            || self.glob.matches(class)
            || suffixes(place.chain).any(|chain| self.glob.matches(chain))
    }
}

/// `A.B.C`, `B.C`, `C`.
fn suffixes(chain: &str) -> impl Iterator<Item = &str> {
    let dots = chain.match_indices('.').map(|(at, _)| &chain[at + 1..]);
    std::iter::once(chain).chain(dots)
}

/// `train.py(31): loss` → `train.py: loss`.
fn without_line(name: &str) -> Cow<'_, str> {
    let Some((place, function)) = name.split_once("): ") else { return Cow::Borrowed(name) };
    match place.rsplit_once('(') {
        Some((file, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => {
            Cow::Owned(format!("{file}: {function}"))
        }
        Some(_) | None => Cow::Borrowed(name),
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a query selects the last call of a path.
    fn names(query: &str, path: &[(Word, &str)]) -> bool {
        let query: Query = query.parse().expect("a query");
        let (mut progress, mut chain, mut named) = (Progress::default(), String::new(), false);
        for &(word, name) in path {
            if word == Word::Module {
                extend_chain(&mut chain, name);
            }
            (progress, named) = query.step(progress, Segment { word, name, chain: &chain });
        }
        named
    }

    const PATH: [(Word, &str); 5] = [
        (Word::Module, "Net_0"),
        (Word::Module, "Block_12"),
        (Word::Op, "aten::linear"),
        (Word::Op, "aten::addmm"),
        (Word::Kernel, "sm90_gemm_tn"),
    ];

    #[test]
    fn parts_may_have_others_between_them_but_not_below_the_last() {
        assert!(names(r#"module("Net_0") / kernel("*gemm*")"#, &PATH));
        assert!(names(r#"op("aten::linear")/op("aten::addmm")"#, &PATH[..4]));
        assert!(!names(r#"op("aten::linear")"#, &PATH[..4]));
        assert!(!names(r#"op("aten::addmm") / op("aten::linear")"#, &PATH[..4]));
        assert!(!names(r#"op("aten::addmm") / op("aten::addmm")"#, &PATH[..4]));
    }

    #[test]
    fn a_module_is_known_by_instance_class_and_those_around_it() {
        for query in ["Block_12", "Block", "Block_*", "Net_0.Block_12", "Net_0.*", "*"] {
            assert!(names(&format!("module(\"{query}\")"), &PATH[..2]), "{query}");
        }
        for query in ["Block_1", "Bloc", "Net", "et_0.Block_12", "lock_12"] {
            assert!(!names(&format!("module(\"{query}\")"), &PATH[..2]), "{query}");
        }
    }

    #[test]
    fn a_frame_is_known_with_and_without_its_line() {
        let path = [(Word::Frame, "train.py(31): loss")];
        assert!(names(r#"frame("train.py: loss")"#, &path));
        assert!(names(r#"frame("train.py(31): *")"#, &path));
        assert!(!names(r#"frame("train.py(3): loss")"#, &path));
    }
}
