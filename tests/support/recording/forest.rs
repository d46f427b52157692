//! Nests the events in a recording: host calls by time, GPU events by correlation id.

use super::event::{Event, Kind};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The parents and the children of all events in a recording. Events are given by their positions.
#[derive(Debug)]
pub struct Forest {
    /// The caller of each host call, and the launch of each GPU event.
    pub parents: Vec<Option<usize>>,
    /// The children of each event, in time order.
    pub children: Vec<Vec<usize>>,
    /// Host calls without a parent: one list per thread, in time order.
    pub threads: Vec<Vec<usize>>,
    /// Host calls and linked GPU events, ordered so that parents come before their children.
    pub preorder: Vec<usize>,
    /// Number of host calls in each event's subtree, including the event itself.
    pub sizes: Vec<u32>,
    /// Whether each event's subtree contains a GPU event.
    pub on_gpu_path: Vec<bool>,
}

impl Forest {
    /// Nests the events by time and links GPU events to their launches.
    pub fn of(events: &[Event]) -> Forest {
        let mut forest = Forest {
            parents: vec![None; events.len()],
            children: vec![Vec::new(); events.len()],
            threads: Vec::new(),
            preorder: Vec::new(),
            sizes: vec![0; events.len()],
            on_gpu_path: vec![false; events.len()],
        };
        forest.nest(events);
        forest.link(events);
        forest.walk();
        forest.sum_up(events);
        forest
    }

    /// All positions in the subtree of `root`, starting with `root`.
    pub fn subtree(&self, root: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut open = vec![root];
        while let Some(at) = open.pop() {
            found.push(at);
            open.extend(self.children[at].iter().rev());
        }
        found
    }

    /// All lists of siblings, each with its parent.
    pub fn sibling_lists(&self) -> impl Iterator<Item = (Option<usize>, &[usize])> {
        let tops = self.threads.iter().map(|roots| (None, roots.as_slice()));
        let below = self.children.iter().enumerate().map(|(at, list)| (Some(at), list.as_slice()));
        tops.chain(below)
    }

    fn nest(&mut self, events: &[Event]) {
        let mut stack: Vec<usize> = Vec::new();
        let mut lane = None;
        for at in by_lane_and_time(events, |event| event.kind.is_host()) {
            if lane != Some(&events[at].lane) {
                lane = Some(&events[at].lane);
                self.threads.push(Vec::new());
                stack.clear();
            }
            while stack.pop_if(|top| events[*top].end <= events[at].start).is_some() {}
            match stack.last() {
                Some(&parent) => self.adopt(parent, at),
                None => self.threads.last_mut().expect("pushed above").push(at),
            }
            stack.push(at);
        }
    }

    fn link(&mut self, events: &[Event]) {
        let mut launches = HashMap::new();
        for (at, event) in events.iter().enumerate() {
            if let (Kind::Runtime, Some(id)) = (event.kind, event.correlation) {
                launches.entry(id).or_insert(at);
            }
        }
        for at in by_lane_and_time(events, |event| event.kind == Kind::Gpu) {
            let launch = events[at].correlation.and_then(|id| launches.get(&id));
            if let Some(&launch) = launch {
                self.adopt(launch, at);
            }
        }
    }

    fn adopt(&mut self, parent: usize, child: usize) {
        self.parents[child] = Some(parent);
        self.children[parent].push(child);
    }

    fn walk(&mut self) {
        let mut open: Vec<usize> = self.threads.iter().flatten().rev().copied().collect();
        while let Some(at) = open.pop() {
            self.preorder.push(at);
            open.extend(self.children[at].iter().rev());
        }
    }

    fn sum_up(&mut self, events: &[Event]) {
        for &at in self.preorder.iter().rev() {
            self.on_gpu_path[at] |= events[at].kind == Kind::Gpu;
            self.sizes[at] += u32::from(events[at].kind.is_host());
            if let Some(parent) = self.parents[at] {
                self.sizes[parent] += self.sizes[at];
                self.on_gpu_path[parent] |= self.on_gpu_path[at];
            }
        }
    }
}

/// Positions of the selected events, sorted by thread, start, length (longer events first) and file order.
pub(super) fn by_lane_and_time(events: &[Event], wanted: impl Fn(&Event) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..events.len()).filter(|&at| wanted(&events[at])).collect();
    order.sort_by_cached_key(|&at| {
        let event = &events[at];
        (event.lane.clone(), event.start, Reverse(event.end), at)
    });
    order
}
