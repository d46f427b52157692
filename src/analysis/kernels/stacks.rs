//! Collects the distinct Python stacks from which measured events were launched.
//!
//! The stack of an event is the Python stack of the launching thread at the time of the *launch*. It contains the
//! frames that enclose the launch in the call tree, and not the frames that run later, while the GPU runs the kernel.
//! Traces from 2021 have no frames. Instead, each op has a string that lists its frames, innermost first.
//!
//! Stacks that differ only in object addresses and module instance numbers are treated as the same stack.

use crate::analysis::account::Ledger;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::Measure;
use crate::side::PerSide;
use crate::trace::{ByName, TextId};
use crate::tree::{CallId, CallKind, CallTree, Descent, ModuleName};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::cmp::Reverse;

/// A distinct Python stack, and the number of events that were launched from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PythonStack {
    /// Number of events.
    pub count: u64,
    /// The frames of the stack, outermost first.
    pub frames: Vec<String>,
}

/// The distinct Python stacks of the given events on each side, most frequent first. At most
/// `AnalysisOptions::stacks` stacks are returned for each side. Events without frames above them are not counted.
pub fn stacks(
    diff: &TraceDiff,
    ledger: &Ledger,
    stacks: &PerSide<Stacks>,
    limit: usize,
    events: &PerSide<Vec<CallId>>,
) -> PerSide<Vec<PythonStack>> {
    PerSide::from_fn(|side| {
        let slot = |&event: &CallId| ledger.measure().slot(diff.tree(side), event);
        stacks[side].most_frequent(events[side].iter().filter_map(slot), limit)
    })
}

/// The distinct Python stacks of a trace, and the stack of each measured event.
///
/// Stacks share their outer frames: a stack is stored as the id of the stack without its innermost frame, and the
/// innermost frame.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    /// For each stack, the id of the stack without its innermost frame, and the number of the innermost frame's name.
    frames: Vec<(u32, u32)>,
    names: Vec<String>,
    /// Id of each measured event's stack, indexed by the event's slot; [`NO_STACK`] for events without frames.
    of_slot: Vec<u32>,
}

/// The stacks of both traces.
pub(in crate::analysis) fn stacks_of_sides(diff: &TraceDiff, ledger: &Ledger) -> PerSide<Stacks> {
    PerSide::from_fn(|side| Stacks::of(diff.tree(side), ledger.measure()))
}

/// Stack id of events without frames.
const NO_STACK: u32 = u32::MAX;

impl Stacks {
    fn of(tree: &CallTree, measure: Measure) -> Stacks {
        let trace = tree.trace();
        let mut stacks = Stacks::default();
        let mut known = Known::default();
        let mut of_names: ByName<u32> = ByName::new(trace);
        let mut of_texts: FxHashMap<TextId, u32> = FxHashMap::default();
        let mut of_slot = vec![NO_STACK; measure.slots(tree)];
        let mut descent: Descent<u32> = Descent::default();
        for call in measure.calls(tree) {
            let Some(parent) = tree.parent(call) else { continue };
            let enter = |above: Option<&u32>, call: CallId| {
                let outside = above.copied().unwrap_or(NO_STACK);
                if tree.kind(call) != CallKind::Frame {
                    return outside;
                }
                let name = trace.name_id(tree.event(call).expect("every frame has an event"));
                let number = || stacks.name(&mut known, lasting_name(trace.text(name)));
                let name = of_names.get(name, number);
                stacks.inside(&mut known, outside, name)
            };
            let mut stack = *descent.visit(tree, parent, enter, |_, _, _| {});
            let text = if stack == NO_STACK { recorded_text(tree, call) } else { None };
            if let Some(text) = text {
                stack = *of_texts.entry(text).or_insert_with(|| {
                    recorded_frames(trace.text(text)).rev().fold(NO_STACK, |outside, frame| {
                        let name = stacks.name(&mut known, frame);
                        stacks.inside(&mut known, outside, name)
                    })
                });
            }
            of_slot[measure.slot(tree, call).expect("every attributed call has a slot")] = stack;
        }
        Stacks { of_slot, ..stacks }
    }

    fn name(&mut self, known: &mut Known, name: &str) -> u32 {
        if let Some(&number) = known.names.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        known.names.insert(name.to_owned(), number);
        number
    }

    /// The id of the stack that consists of the stack `outside` and the additional innermost frame `name`.
    fn inside(&mut self, known: &mut Known, outside: u32, name: u32) -> u32 {
        *known.stacks.entry((outside, name)).or_insert_with(|| {
            self.frames.push((outside, name));
            self.frames.len() as u32 - 1
        })
    }

    /// The stacks of the events in the given slots, at most `limit`.
    fn most_frequent(&self, slots: impl Iterator<Item = usize>, limit: usize) -> Vec<PythonStack> {
        if limit == 0 {
            return Vec::new();
        }
        let mut counts: FxHashMap<u32, u64> = FxHashMap::default();
        for slot in slots {
            *counts.entry(self.of_slot[slot]).or_default() += 1;
        }
        counts.remove(&NO_STACK);
        let mut stacks: Vec<(Vec<&str>, u64)> =
            counts.into_iter().map(|(stack, count)| (self.frames_of(stack), count)).collect();
        stacks.order_by(|(a, many), (b, more)| (Reverse(many), a).cmp(&(Reverse(more), b)));
        stacks.truncate(limit);
        let owned = |frames: Vec<&str>| frames.into_iter().map(str::to_owned).collect();
        let stacks = stacks.into_iter();
        stacks.map(|(frames, count)| PythonStack { count, frames: owned(frames) }).collect()
    }

    /// The frames of a stack, outermost first.
    fn frames_of(&self, stack: u32) -> Vec<&str> {
        let frame = |&stack: &u32| self.frames.get(stack as usize);
        let outside = |stack: &u32| frame(stack).map(|(outside, _)| *outside);
        let stacks = std::iter::successors(Some(stack), outside);
        let frames = stacks.filter_map(|stack| frame(&stack));
        let mut names: Vec<&str> =
            frames.map(|(_, name)| self.names[*name as usize].as_str()).collect();
        names.reverse();
        names
    }
}

/// The numbers of the names, and the ids of the stacks, that were already added.
#[derive(Debug, Default)]
struct Known {
    names: FxHashMap<String, u32>,
    stacks: FxHashMap<(u32, u32), u32>,
}

/// A frame name without its module instance number or object address, because stacks that differ only in these details
/// are treated as the same stack. Line numbers are kept because they identify the call site.
fn lasting_name(name: &str) -> &str {
    if let Some(number) = ModuleName::of(name).and_then(|module| module.number) {
        return &name[..name.len() - number.len() - "_".len()];
    }
    name.split_once(" at 0x").map_or(name, |(what, _)| what)
}

/// The stack string that was recorded for the nearest call at or above the given call.
fn recorded_text(tree: &CallTree, call: CallId) -> Option<TextId> {
    let stacks = tree.trace().call_stacks();
    std::iter::once(call)
        .chain(tree.ancestors(call))
        .filter_map(|above| tree.event(above))
        .find_map(|event| stacks.get(event).copied())
}

/// The frames in a recorded stack string such as `a.py(1): f;b.py(2): main`, innermost first.
fn recorded_frames(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(['\n', ';']).map(str::trim).filter(|frame| !frame.is_empty())
}
