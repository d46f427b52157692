//! Collects the call sites in all runs of a side, and the time of each call site in each run.
//!
//! A call site is a path of modules and ops down to a measured call. Threads and Python frames are not part of the
//! path, so renaming a Python function does not change the path. On a path, a backward op is treated as if the module of
//! its forward op had called it.

use super::step_of;
use rustc_hash::FxHashMap;
use tracetree::analysis::categories::TraceCategories;
use tracetree::diff::plain_name;
use tracetree::program::{Measure, Program, Word, extend_chain};
use tracetree::tree::{CallId, CallKind, CallTree, ModuleName};

/// A call site with its time in each run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimedPlace {
    /// Index of the enclosing call site, which precedes this call site in the list.
    pub(crate) above: Option<u32>,
    pub(crate) word: Word,
    /// The name of the call, without details that vary between runs. For a module, this is the name of the instance.
    pub(crate) name: String,
    /// The phase and the category of the GPU work that is measured at this call site; empty if no work is measured
    /// here.
    pub(crate) phase: String,
    pub(crate) category: String,
    /// For each run, the time per step that is measured at this call site itself, in µs; empty if no work is measured
    /// here.
    pub(crate) micros: Vec<f64>,
}

/// The call sites of a side. Each call site comes after the call sites that enclose it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Places {
    pub(crate) list: Vec<TimedPlace>,
}

impl Places {
    /// For each call site, the names of the module instances on its path, outermost first, joined by dots.
    pub(crate) fn chains(&self) -> Vec<String> {
        let mut chains: Vec<String> = Vec::with_capacity(self.list.len());
        for place in &self.list {
            let mut chain = place.above.map_or_else(String::new, |at| chains[at as usize].clone());
            if place.word == Word::Module {
                extend_chain(&mut chain, &place.name);
            }
            chains.push(chain);
        }
        chains
    }
}

/// Collects call sites, one run at a time.
#[derive(Debug, Default)]
pub(super) struct Collector {
    places: Places,
    known: FxHashMap<(Option<u32>, Word, String), u32>,
}

impl Collector {
    /// Adds the run with the given number.
    pub(super) fn add(
        &mut self,
        program: &Program,
        measure: Measure,
        categories: &TraceCategories<'_>,
        number: usize,
    ) {
        let tree: &CallTree = program.tree();
        let upward = Upward::of(tree);
        let steps = program.steps().len().max(1) as f64;
        // Caches the call site of every call that was already looked up.
        let mut of_calls: Vec<Option<Option<u32>>> = vec![None; tree.len()];
        for call in measure.calls(tree) {
            if step_of(program, call).is_none() {
                continue;
            }
            let Some(at) = self.place(tree, &upward, call, &mut of_calls) else { continue };
            let place = &mut self.places.list[at as usize];
            if place.micros.is_empty() {
                program.phases().phase(call).label().clone_into(&mut place.phase);
                categories.name(tree, call).clone_into(&mut place.category);
            }
            place.micros.resize(place.micros.len().max(number + 1), 0.0);
            place.micros[number] += measure.time(tree, call).as_micros() / steps;
        }
    }

    /// The call site of a call, or the nearest enclosing call site if the call is not a call site itself.
    fn place(
        &mut self,
        tree: &CallTree,
        upward: &Upward<'_>,
        call: CallId,
        of_calls: &mut [Option<Option<u32>>],
    ) -> Option<u32> {
        let is_unknown = |call: &CallId| of_calls[call.index()].is_none();
        let path: Vec<CallId> = upward.path(call).take_while(is_unknown).collect();
        let outermost = path.last().map_or(Some(call), |&last| upward.above(last));
        let mut place = outermost.and_then(|above| of_calls[above.index()].flatten());
        for &call in path.iter().rev() {
            if let Some((word, name)) = segment(tree, call) {
                place = Some(self.below(place, word, name));
            }
            of_calls[call.index()] = Some(place);
        }
        place
    }

    fn below(&mut self, above: Option<u32>, word: Word, name: String) -> u32 {
        let next = self.places.list.len() as u32;
        let at = *self.known.entry((above, word, name.clone())).or_insert(next);
        if at == next {
            let (phase, category, micros) = (String::new(), String::new(), Vec::new());
            self.places.list.push(TimedPlace { above, word, name, phase, category, micros });
        }
        at
    }

    pub(super) fn finish(mut self, runs: usize) -> Places {
        for place in self.places.list.iter_mut().filter(|place| !place.micros.is_empty()) {
            place.micros.resize(runs, 0.0);
        }
        self.places
    }
}

/// Finds the enclosing call of each call in a tree.
#[derive(Debug)]
pub(crate) struct Upward<'t> {
    tree: &'t CallTree,
    forward: FxHashMap<CallId, CallId>,
}

impl<'t> Upward<'t> {
    pub(crate) fn of(tree: &'t CallTree) -> Upward<'t> {
        let links = tree.backward_links().iter();
        Upward { tree, forward: links.map(|&(forward, backward)| (backward, forward)).collect() }
    }

    pub(crate) fn above(&self, call: CallId) -> Option<CallId> {
        match self.forward.get(&call) {
            Some(&forward) => self.tree.module(forward),
            None => self.tree.parent(call),
        }
    }

    /// The call and all calls above it, innermost first.
    pub(crate) fn path(&self, call: CallId) -> impl Iterator<Item = CallId> + '_ {
        std::iter::successors(Some(call), |&call| self.above(call))
    }

    /// The call that the user's code made: for a call in a backward op, the forward op; otherwise the call itself.
    pub(crate) fn called(&self, call: CallId) -> CallId {
        let mut above = std::iter::once(call).chain(self.tree.ancestors(call));
        above.find_map(|above| self.forward.get(&above).copied()).unwrap_or(call)
    }
}

/// The path segment for a call: its kind and its name. `None` for frames, threads and runtime calls, which are not part
/// of a path.
pub(crate) fn segment(tree: &CallTree, call: CallId) -> Option<(Word, String)> {
    let plain = || plain_name(tree.kind(call), tree.name(call)).into_owned();
    match tree.kind(call) {
        CallKind::Frame if tree.is_module(call) => {
            Some((Word::Module, ModuleName::instance_or_name(tree.name(call)).to_owned()))
        }
        // In traces from 2021, each step is also recorded as an operator. This operator is not part of a path.
        CallKind::Op if tree.name(call).starts_with("ProfilerStep#") => None,
        CallKind::Op => Some((Word::Op, plain())),
        CallKind::Gpu => Some((Word::Kernel, plain())),
        CallKind::Thread | CallKind::Unlinked | CallKind::Frame | CallKind::Runtime => None,
    }
}
