//! Accounted events → the distinct Python stacks that launched them.
//!
//! A stack is taken at *launch* time on the launching thread: the frames above the launch in the call
//! tree. What Python does while the GPU runs the kernel is something else. Traces of 2021 have no
//! frames, but a text at the op, innermost frame first.
//!
//! Two stacks are one if they differ in addresses of objects and numbers of module instances only.

use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// One distinct Python stack, and how many events were launched below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonStack {
    /// Number of events.
    pub count: u64,
    /// The frames, outermost first.
    pub frames: Vec<String>,
}

impl Analysis {
    /// Up to `AnalysisOptions::stacks` distinct Python stacks of these events, most events first, on
    /// each side. Events launched below no frame have none and are not counted.
    pub fn stacks(&self, events: &PerSide<Vec<CallId>>) -> PerSide<Vec<PythonStack>> {
        PerSide::from_fn(|side| self.stacks_of_side(side, &events[side]))
    }

    fn stacks_of_side(&self, side: Side, events: &[CallId]) -> Vec<PythonStack> {
        if self.options().stacks == 0 {
            return Vec::new();
        }
        let tree = self.tree(side);
        let mut counts: FxHashMap<Vec<&str>, u64> = FxHashMap::default();
        for &event in events {
            let frames = frames(tree, event);
            if !frames.is_empty() {
                *counts.entry(frames).or_default() += 1;
            }
        }
        let mut stacks: Vec<(Vec<&str>, u64)> = counts.into_iter().collect();
        stacks.sort_by(|(a, many), (b, more)| (Reverse(many), a).cmp(&(Reverse(more), b)));
        stacks.truncate(self.options().stacks);
        stacks
            .into_iter()
            .map(|(frames, count)| PythonStack {
                count,
                frames: frames.into_iter().map(str::to_owned).collect(),
            })
            .collect()
    }
}

/// The frames above a call, outermost first; else those of the nearest recorded `Call stack`.
fn frames(tree: &CallTree, call: CallId) -> Vec<&str> {
    let mut frames: Vec<&str> = tree
        .ancestors(call)
        .filter(|&above| tree.kind(above) == CallKind::Frame)
        .map(|above| lasting_name(tree.name(above)))
        .collect();
    if frames.is_empty() {
        frames = recorded_frames(tree, call).unwrap_or_default();
    }
    frames.reverse();
    frames
}

/// A frame's name without the number of the module instance and the address of an object: stacks
/// that differ in nothing else are one. Line numbers stay: they are another place.
fn lasting_name(name: &str) -> &str {
    if let Some(number) = ModuleName::of(name).and_then(|module| module.number) {
        return &name[..name.len() - number.len() - "_".len()];
    }
    name.split_once(" at 0x").map_or(name, |(what, _)| what)
}

/// `a.py(1): f;b.py(2): main` of the nearest op that has one.
fn recorded_frames(tree: &CallTree, call: CallId) -> Option<Vec<&str>> {
    let trace = tree.trace();
    let text = std::iter::once(call)
        .chain(tree.ancestors(call))
        .filter_map(|above| tree.event(above))
        .find_map(|event| trace.call_stacks().get(event))?;
    Some(
        trace
            .text(*text)
            .split(['\n', ';'])
            .map(str::trim)
            .filter(|frame| !frame.is_empty())
            .collect(),
    )
}
