//! Finds the call sites in a recording that the scope of a rule selects, and computes their times and their launches.

use crate::recording::{Places, Range, Recording, TimedPlace, step_of};
use crate::rules::Scope;
use tracetree::program::{Program, Progress, Query, Segment, Word, nearest};
use tracetree::tree::{CallId, CallKind, CallTree};

/// Attributed time of the selected call sites in each run, in µs per step.
pub(super) fn time(side: &Recording, scope: &Scope) -> Vec<f64> {
    let mut sums = vec![0.0; side.runs.len()];
    let is_within = within(&side.places, scope.path.as_ref());
    for (place, _) in side.places.list.iter().zip(is_within).filter(|(_, is_within)| *is_within) {
        let is_wanted = scope.phase.as_ref().is_none_or(|phase| *phase == place.phase)
            && scope.category.as_ref().is_none_or(|category| *category == place.category);
        if is_wanted {
            sums.iter_mut().zip(&place.micros).for_each(|(sum, time)| *sum += time);
        }
    }
    sums
}

/// For each call site, whether the query selects the call site itself or a call site that encloses it.
fn within(places: &Places, query: Option<&Query>) -> Vec<bool> {
    let Some(query) = query else { return vec![true; places.list.len()] };
    let chains = places.chains();
    let mut known: Vec<(Progress, bool)> = Vec::with_capacity(places.list.len());
    for (place, chain) in places.list.iter().zip(&chains) {
        let (progress, is_below) =
            place.above.map_or((Progress::default(), false), |at| known[at as usize]);
        let chain = if place.word == Word::Module { chain.as_str() } else { "" };
        let segment = Segment { word: place.word, name: &place.name, chain };
        let (below, is_named) = query.step(progress, segment);
        known.push((below, is_below || is_named));
    }
    known.into_iter().map(|(_, is_within)| is_within).collect()
}

/// The number of launches per step within a scope, counted in the median run.
pub(super) fn launches(side: &Recording, scope: &Scope) -> Range {
    let program = Program::of(side.tree.clone());
    let tree: &CallTree = program.tree();
    let mut counts = vec![0; program.steps().len().max(1)];
    let found = scope.path.as_ref().map(|query| query.find(tree));
    let is_there = |call: CallId| {
        let mut path = std::iter::once(call).chain(tree.ancestors(call));
        found.as_ref().is_none_or(|found| path.any(|above| found.binary_search(&above).is_ok()))
    };
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Runtime) {
        let phase = program.phases().phase(call).label();
        let is_launch = tree.is_gpu_path(call) && !tree.is_captured(call);
        let is_wanted = is_launch && scope.phase.as_ref().is_none_or(|wanted| wanted == phase);
        if let Some(step) = step_of(&program, call).filter(|_| is_wanted && is_there(call)) {
            counts[step] += 1;
        }
    }
    Range::of(counts)
}

/// If the scope of a rule matches nothing on either side, a message that says why; otherwise `None`.
pub(super) fn selects_no_call(sides: [&Recording; 2], scope: &Scope) -> Option<String> {
    if let Some(query) = &scope.path
        && sides.iter().all(|side| query.find(&side.tree).is_empty())
    {
        let nearest = query.nearest(&sides[1].tree);
        return Some(format!("{query} matches nothing; {nearest}"));
    }
    let is_known = |of: fn(&TimedPlace) -> &str, wanted: &str| {
        sides.iter().any(|side| side.places.list.iter().any(|place| of(place) == wanted))
    };
    if let Some(phase) = &scope.phase
        && !is_known(|place| &place.phase, phase)
    {
        return Some(format!("no work belongs to phase {phase}"));
    }
    if let Some(category) = &scope.category
        && !is_known(|place| &place.category, category)
    {
        let all = sides.iter().flat_map(|side| &side.places.list);
        let mut known: Vec<&str> = all.map(|place| place.category.as_str()).collect();
        known.retain(|category| !category.is_empty());
        known.sort_unstable();
        known.dedup();
        return Some(match nearest(category, known) {
            Some(near) => {
                format!("no work has the category {category}; the nearest category is {near}")
            }
            None => format!("no work has the category {category}"),
        });
    }
    None
}
