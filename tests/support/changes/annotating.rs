//! Adds `record_function` ranges around random sequences of calls, at several levels of nesting.
//!
//! ```text
//! a b c d e   →   ## attn ##          d   my_region
//!                 ├── a                   └── e …
//!                 └── my_region
//!                     ├── b
//!                     └── c
//! ```

use super::{Forest, Kind, Recording, SplitMix, ops_of};
use crate::support::recording::Event;
use std::collections::BTreeMap;

/// One range is added for every `OPS_PER_RANGE` ops in the recording.
const OPS_PER_RANGE: usize = 5;
/// Minimum and maximum number of siblings in a range.
const RUN: (usize, usize) = (2, 12);
/// Number of random candidates for each range. Candidates that partly overlap an existing range are
/// discarded.
const DRAWS: usize = 10;
/// The names of the added ranges. Names repeat, as in a training script.
const NAMES: [&str; 6] =
    ["## forward ##", "## attn ##", "## inner ##", "my_region", "## loss ##", "prepare_inputs"];

/// Wraps random sequences of siblings in ranges. Each range contains at least one op. Two ranges in the same list of
/// siblings are disjoint or nested. Ranges are ops without arguments, as the profiler records them.
pub(super) fn ranges(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let ops = ops_of(recording, &forest);
    let category = events[*ops.first()?].category.clone();
    let lists: Vec<(Option<usize>, &[usize])> = forest.sibling_lists().collect();
    let starts = starts(events, &forest, &lists);
    let wanted = (ops.len() / OPS_PER_RANGE).max(1);
    let mut runs = Runs::default();
    for _ in 0..wanted * DRAWS {
        let Some(&(list, first)) = random.pick(&starts).filter(|_| runs.count < wanted) else {
            break;
        };
        let length = RUN.0 + random.below(RUN.1 - RUN.0 + 1);
        let rest = lists[list].1[first..].iter().take(length);
        let run = rest.take_while(|&&at| has_time(&events[at])).count();
        if run >= RUN.0 {
            runs.add(list, (first, first + run - 1));
        }
    }
    let spans =
        runs.by_list.iter().flat_map(|(&list, runs)| runs.iter().map(move |&run| (list, run)));
    let ranges = spans.map(|(list, (first, last))| {
        let (parent, list) = lists[list];
        let (first, last) = (list[first], list[last]);
        let span = (events[first].start, events[last].end);
        let name = NAMES[random.below(NAMES.len())];
        // If two events have the same span, the event that comes first in the file is the outer event.
        let fills = parent.filter(|&at| (events[at].start, events[at].end) == span);
        let range = Event::new(Kind::Op, &category, name, &events[first].lane, span);
        (fills.map_or(first, |parent| parent + 1), range)
    });
    let ranges: Vec<(usize, Event)> = ranges.collect();
    let mut changed = recording.clone();
    let any = !ranges.is_empty();
    changed.insert(ranges);
    any.then_some(changed)
}

/// The calls at which a range can start: ops, and frames that contain an op. Each call is given by two numbers: the
/// index of its list of siblings, and its position in this list.
fn starts(
    events: &[Event],
    forest: &Forest,
    lists: &[(Option<usize>, &[usize])],
) -> Vec<(usize, usize)> {
    let mut contains_op = vec![false; events.len()];
    for &at in forest.preorder.iter().rev() {
        contains_op[at] |= events[at].kind == Kind::Op;
        if let Some(parent) = forest.parents[at] {
            contains_op[parent] |= contains_op[at];
        }
    }
    let mut starts = Vec::new();
    for (number, (_, list)) in lists.iter().enumerate() {
        let open = |at: usize| contains_op[at] && has_time(&events[at]);
        starts.extend((0..list.len()).filter(|&at| open(list[at])).map(|at| (number, at)));
    }
    starts
}

fn has_time(event: &Event) -> bool {
    event.kind.is_host() && event.end > event.start
}

/// The chosen runs (sequences of consecutive siblings) in each list of siblings. A run is given by its first and last
/// position in the list.
#[derive(Debug, Default)]
struct Runs {
    by_list: BTreeMap<usize, Vec<(usize, usize)>>,
    count: usize,
}

impl Runs {
    /// Adds a run unless it equals or partly overlaps an existing run.
    fn add(&mut self, list: usize, run: (usize, usize)) {
        let runs = self.by_list.entry(list).or_default();
        let within = |one: (usize, usize), two: (usize, usize)| two.0 <= one.0 && one.1 <= two.1;
        let fits = |&other: &(usize, usize)| {
            let apart = run.1 < other.0 || other.1 < run.0;
            run != other && (apart || within(run, other) || within(other, run))
        };
        if runs.iter().all(fits) {
            runs.push(run);
            self.count += 1;
        }
    }
}
