//! Reports the regions that a program marks with `record_function`. Regions of both sides are compared if they have the
//! same names and nesting.
//!
//! ```text
//! user annotations ─by thread─▶ nested regions ─▶ path of names ─▶ row of both sides
//! launches ─by thread and time─▶ innermost region ─▶ GPU events of it and of the regions around it
//! ```
//! A region is a time interval rather than a call, so individual regions are not matched. The profiler also records
//! GPU annotations. A GPU annotation spans the time from a region's first kernel to its last kernel, including idle
//! time, so it does not count as GPU time.

mod open;

use self::open::{PathId, Regions};
use crate::diff::TraceDiff;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallKind, CallTree};
use std::collections::BTreeMap;

/// All regions with the same path of region names, on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotatedRow {
    /// Region names, outermost first, with numbers replaced by `N`. The path is empty for GPU work that was launched
    /// outside of all regions.
    pub path: Vec<String>,
    /// Totals for the regions on each side; `None` if a side has no region with this path.
    pub figures: PerSide<Option<AnnotatedFigures>>,
}

/// Totals for the regions that share a path. All totals except `host_self` include nested regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnnotatedFigures {
    /// Number of regions.
    pub count: u64,
    /// Sum of the regions' durations on the host.
    pub wall: Nanos,
    /// The part of `wall` during which no nested region was open.
    pub host_self: Nanos,
    /// Number of GPU events that were launched inside the regions.
    pub gpu_events: u64,
    /// Number of GPU events that are assigned to a region on another thread, because no region was open on
    /// the thread that launched the events. These events are included in `gpu_events`.
    pub inferred: u64,
    /// Sum of the durations of the GPU events launched inside the regions.
    pub gpu_time: Nanos,
    /// Busy time of the GPU events launched inside the regions: the union of their intervals.
    pub gpu_busy: Nanos,
    /// The part of `wall` during which the GPU was idle. GPU events launched outside of the regions also count as work.
    /// `None` if the trace has no GPU events.
    pub gpu_idle: Option<Nanos>,
}

/// The regions that the programs marked with `record_function`, sorted by path. If GPU work was launched outside of
/// all regions, the last row contains this work. The list is empty if neither trace has regions.
pub fn annotated_rows(diff: &TraceDiff) -> Vec<AnnotatedRow> {
    let mut found: BTreeMap<Vec<String>, PerSide<Option<AnnotatedFigures>>> = BTreeMap::new();
    for side in Side::BOTH {
        for (path, figures) in figures_of(diff.tree(side)) {
            found.entry(path).or_default()[side] = Some(figures);
        }
    }
    let outside = found.remove(&Vec::new());
    if found.is_empty() {
        return Vec::new();
    }
    let rows = found.into_iter().chain(outside.map(|figures| (Vec::new(), figures)));
    rows.map(|(path, figures)| AnnotatedRow { path, figures }).collect()
}

/// Totals for each path in one trace. The empty path stands for GPU work outside of regions.
fn figures_of(tree: &CallTree) -> BTreeMap<Vec<String>, AnnotatedFigures> {
    let regions = Regions::of(tree);
    let mut figures = vec![AnnotatedFigures::default(); regions.paths.len()];
    let busy = Busy::of(tree);
    for region in &regions.all {
        let wall = region.end - region.start;
        let own = &mut figures[region.path];
        own.count += 1;
        own.wall += wall;
        own.host_self += wall;
        if !busy.events.is_empty() {
            let idle = wall - busy.within(region.start, region.end);
            own.gpu_idle = Some(own.gpu_idle.unwrap_or_default() + idle);
        }
        if let Some(parent) = region.parent {
            // If a nested region ends after its enclosing region, only their overlap is subtracted from the self time
            // of the enclosing region.
            let common = region.end.min(regions.all[parent].end) - region.start;
            figures[regions.all[parent].path].host_self -= common;
        }
    }
    let outside = add_gpu_events(tree, &regions, &busy, &mut figures);
    let mut found: BTreeMap<Vec<String>, AnnotatedFigures> =
        figures.into_iter().enumerate().map(|(path, own)| (regions.words(path), own)).collect();
    if outside.gpu_events > 0 {
        found.insert(Vec::new(), outside);
    }
    found
}

/// Adds each GPU event to the totals of the region in which it was launched, and of all enclosing regions.
/// Returns the totals for GPU events launched outside of all regions.
fn add_gpu_events(
    tree: &CallTree,
    regions: &Regions,
    busy: &Busy,
    figures: &mut [AnnotatedFigures],
) -> AnnotatedFigures {
    let trace = tree.trace();
    let mut outside = AnnotatedFigures::default();
    // For each path, the latest end time of the events added so far; the last entry is for GPU work outside of all
    // regions.
    let mut reached = vec![Nanos(i64::MIN / 2); regions.paths.len() + 1];
    for &(start, end, event) in &busy.events {
        let call = tree.call_of(event).expect("a GPU event of the tree");
        let launch = tree.running_launch(call).and_then(|launch| tree.event(launch));
        let region =
            launch.and_then(|event| regions.at(trace.thread_of(event), trace.start(event)));
        let add = |own: &mut AnnotatedFigures, reached: &mut Nanos, is_inferred: bool| {
            own.gpu_events += 1;
            own.inferred += u64::from(is_inferred);
            own.gpu_time += end - start;
            own.gpu_busy += (end - start.max(*reached)).max(Nanos::ZERO);
            *reached = end.max(*reached);
        };
        let Some((region, is_inferred)) = region else {
            add(&mut outside, &mut reached[regions.paths.len()], false);
            continue;
        };
        let mut path: Option<PathId> = Some(regions.all[region].path);
        while let Some(here) = path {
            add(&mut figures[here], &mut reached[here], is_inferred);
            path = regions.paths[here].0;
        }
    }
    outside
}

/// The GPU events in a trace, sorted by start time, and the time spans that these events cover.
struct Busy {
    events: Vec<(Nanos, Nanos, crate::trace::EventId)>,
    /// Disjoint time spans during which the GPU was busy. Each span has a start, an end, and the total busy time before
    /// the span.
    covered: Vec<(Nanos, Nanos, Nanos)>,
}

impl Busy {
    fn of(tree: &CallTree) -> Busy {
        let trace = tree.trace();
        let gpu = tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu);
        let mut events: Vec<_> = gpu
            .filter_map(|call| tree.event(call))
            .map(|event| (trace.start(event), trace.end(event), event))
            .collect();
        events.sort_unstable();
        let mut covered: Vec<(Nanos, Nanos, Nanos)> = Vec::new();
        for &(start, end, _) in &events {
            match covered.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                Some(&mut (from, until, before)) => {
                    covered.push((start, end, before + (until - from)))
                }
                None => covered.push((start, end, Nanos::ZERO)),
            }
        }
        Busy { events, covered }
    }

    /// Covered time before `time`.
    fn before(&self, time: Nanos) -> Nanos {
        let after = self.covered.partition_point(|&(start, ..)| start < time);
        after.checked_sub(1).map_or(Nanos::ZERO, |at| {
            let (start, end, before) = self.covered[at];
            before + (time.min(end) - start)
        })
    }

    fn within(&self, start: Nanos, end: Nanos) -> Nanos {
        self.before(end.max(start)) - self.before(start)
    }
}
