//! Computes typical latencies and gaps of a trace from the recorded times of launches, GPU events and waits.

use super::parts::{Behind, CLOCK, Draft, Item, Waiting, Work, WorkKind};
use super::reason::Reason;
use std::collections::BTreeMap;

/// Typical latencies and gaps of a trace, in ns.
#[derive(Debug, Clone, Default, PartialEq)]
#[doc(hidden)]
pub struct Typical {
    /// For each launching API: the median time from the start of the launch until an idle device starts the
    /// GPU event.
    latencies: BTreeMap<u32, i64>,
    latency: i64,
    /// For each API: the median time from the end of the awaited events until the waiting call
    /// returns.
    returns: BTreeMap<u32, i64>,
    /// Mean gap between two consecutive events on a stream, for each combination of their kinds. A gap is
    /// included only if the second event was launched early enough to start before the first event ended.
    gaps: [[i64; WorkKind::COUNT]; WorkKind::COUNT],
    /// Mean time from the end of an event to the start of an event on a different stream that waited for it.
    /// The first entry is for waiting events outside of graphs, the second for waiting events in graphs.
    crossings: [i64; 2],
}

/// A launch counts as early if the launched event could have started at least this many ns before the end of
/// the previous event on the stream.
const EARLY: i64 = 1_000;
/// Maximum gap in ns between two events. A longer gap is assumed to be a wait for something that the trace
/// does not show.
const LONG_GAP: i64 = 50_000;
/// Maximum time in ns from a launch until an idle device starts the event. A longer one is assumed to be a wait for
/// something that the trace does not show, such as the first use of the device.
const LONG_LATENCY: i64 = 2_000_000;
/// Maximum time in ns from the end of an event to the start of an event on a different stream that waited for
/// it.
const SOON: i64 = 20_000;
/// Assumed gap between kernels, in ns, if a trace shows no gap.
const USUAL_GAP: i64 = 1_000;
/// Assumed launch latency, in ns, if a trace shows no latency.
const USUAL_LATENCY: i64 = 5_000;

fn median(mut times: Vec<i64>) -> Option<i64> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

impl Typical {
    /// Typical gap between two events of the given kinds.
    pub(super) fn gap(&self, before: WorkKind, after: WorkKind) -> i64 {
        self.gaps[before.0 as usize][after.0 as usize]
    }

    /// Typical time from the end of an event to the start of an event on a different stream that waited for
    /// it.
    pub(super) fn crossing(&self, kind: WorkKind) -> i64 {
        self.crossings[usize::from(kind.is_in_graph())]
    }

    /// The longest gap between two events.
    pub(super) fn longest(&self) -> i64 {
        self.gaps.iter().flatten().chain(&self.crossings).copied().max().unwrap_or(0).max(0)
    }

    fn latency(&self, api: u32) -> i64 {
        self.latencies.get(&api).copied().unwrap_or(self.latency)
    }

    pub(super) fn return_latency(&self, api: u32) -> i64 {
        self.returns.get(&api).copied().unwrap_or(0)
    }

    /// Computes the typical latencies and gaps of a trace. If an item waited for the GPU, also subtracts the
    /// waiting time from the item's host time.
    pub(super) fn of(
        drafts: &[Draft],
        busy_before: i64,
        waiting: &[Waiting],
        items: &mut [Item],
    ) -> Result<(Typical, Vec<Work>), Reason> {
        let mut typical = Typical::default();
        let befores = befores(drafts);
        let mut of_api: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        let (mut skewed, mut launched) = (0, 0);
        let mut by_start: Vec<(i64, usize)> =
            drafts.iter().enumerate().map(|(at, draft)| (draft.start, at)).collect();
        by_start.sort_unstable();
        let mut busy_until = busy_before;
        for &(_, at) in &by_start {
            let draft = &drafts[at];
            if let Some((launch, api)) = draft.launch {
                launched += 1;
                skewed += usize::from(draft.start < launch - 1_000);
                if busy_until <= launch && draft.start - launch < LONG_LATENCY {
                    of_api.entry(api).or_default().push(draft.start - launch);
                }
            }
            busy_until = busy_until.max(draft.end);
        }
        if skewed * 100 > launched {
            return Err(Reason::Clocks);
        }
        let all: Vec<i64> = of_api.values().flatten().copied().collect();
        typical.latency = median(all).unwrap_or(USUAL_LATENCY);
        typical.latencies =
            of_api.into_iter().filter_map(|(api, times)| Some((api, median(times)?))).collect();
        typical.find_returns(waiting, items);
        let crossings = typical.find_crossings(drafts, &befores);
        typical.gaps = typical.mean_gaps(drafts, &befores, &crossings);
        let works = |(draft, wait): (&Draft, &Option<Behind>)| Work {
            call: draft.call,
            time: draft.end - draft.start,
            stream: draft.stream,
            kind: draft.kind,
            latency: draft.launch.map(|(_, api)| typical.latency(api)),
            waits: *wait,
        };
        let works = drafts.iter().zip(&crossings).map(works).collect();
        Ok((typical, works))
    }

    fn ready(&self, draft: &Draft) -> i64 {
        draft.launch.map_or(i64::MIN, |(launch, api)| launch + self.latency(api))
    }

    /// Infers from the recorded times which events waited for events on other streams, and computes the mean
    /// latency of these waits.
    fn find_crossings(
        &mut self,
        drafts: &[Draft],
        befores: &[Option<usize>],
    ) -> Vec<Option<Behind>> {
        if drafts.iter().all(|draft| draft.stream == 0) {
            return vec![None; drafts.len()];
        }
        let mut by_end: Vec<(i64, usize)> =
            drafts.iter().enumerate().map(|(at, draft)| (draft.end, at)).collect();
        by_end.sort_unstable();
        let mut sums = [(0, 0); 2];
        let mut find = |(at, draft): (usize, &Draft)| {
            let free = befores[at].map_or(i64::MIN, |before| drafts[before].end);
            let before = befores[at].filter(|&before| drafts[before].launch == draft.launch);
            let is_first = draft.kind.is_in_graph() && before.is_none();
            let expected = if is_first { free } else { self.ready(draft).max(free) };
            let (end, wait) = other_streams(drafts, &by_end, at, expected, is_first)?;
            if is_first && draft.start - end > SOON {
                return Some(wait);
            }
            let sum = &mut sums[usize::from(draft.kind.is_in_graph())];
            *sum = (sum.0 + draft.start - end, sum.1 + 1);
            Some(wait)
        };
        let waits = drafts.iter().enumerate().map(&mut find).collect();
        self.crossings = sums.map(|(sum, count)| if count == 0 { USUAL_GAP } else { sum / count });
        waits
    }

    /// Mean gap for each combination of the two events' kinds.
    fn mean_gaps(
        &self,
        drafts: &[Draft],
        befores: &[Option<usize>],
        crossings: &[Option<Behind>],
    ) -> [[i64; WorkKind::COUNT]; WorkKind::COUNT] {
        let mut sums = [[(0_i64, 0_i64); WorkKind::COUNT]; WorkKind::COUNT];
        let mut all = (0, 0);
        for (at, draft) in drafts.iter().enumerate().filter(|(at, _)| crossings[*at].is_none()) {
            let Some(before) = befores[at].map(|at| &drafts[at]) else { continue };
            let gap = draft.start - before.end;
            if self.ready(draft) + EARLY <= before.end && gap < LONG_GAP {
                let sum = &mut sums[before.kind.0 as usize][draft.kind.0 as usize];
                *sum = (sum.0 + gap, sum.1 + 1);
                all = (all.0 + gap, all.1 + 1);
            }
        }
        let mean = |(sum, count): (i64, i64)| if count == 0 { None } else { Some(sum / count) };
        let usual = mean(all).unwrap_or(USUAL_GAP);
        sums.map(|sums| sums.map(|sum| mean(sum).unwrap_or(usual)))
    }

    fn find_returns(&mut self, waiting: &[Waiting], items: &mut [Item]) {
        let mut returns: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        let mut own: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        let is_blocked = |wait: &Waiting| wait.done.is_some_and(|done| done > wait.start);
        for wait in waiting {
            match wait.done.filter(|_| is_blocked(wait)) {
                Some(done) => returns.entry(wait.name).or_default().push(wait.end - done),
                None => own.entry(wait.name).or_default().push(wait.end - wait.start),
            }
        }
        let medians = |times: BTreeMap<u32, Vec<i64>>| -> BTreeMap<u32, i64> {
            times.into_iter().filter_map(|(api, times)| Some((api, median(times)?))).collect()
        };
        self.returns = medians(returns);
        let own = medians(own);
        for wait in waiting.iter().filter(|wait| is_blocked(wait)) {
            let item = &mut items[wait.item];
            let shortest = own.get(&wait.name).copied().unwrap_or(CLOCK);
            let waited = (wait.end - wait.start) - shortest;
            item.time = (item.time - waited.max(0)).max(0);
        }
    }
}

/// For each event, the previous event on the same stream.
fn befores(drafts: &[Draft]) -> Vec<Option<usize>> {
    let streams = drafts.iter().map(|draft| draft.stream as usize + 1).max().unwrap_or(0);
    let mut last: Vec<Option<usize>> = vec![None; streams];
    let of = |(at, draft): (usize, &Draft)| last[draft.stream as usize].replace(at);
    drafts.iter().enumerate().map(of).collect()
}

/// Finds the event on a different stream that a given event apparently waited for. The given event could have
/// started earlier, but started right after the other event ended. If the given event is the first event of a
/// graph on its stream, the other event may have ended long before.
fn other_streams(
    drafts: &[Draft],
    by_end: &[(i64, usize)],
    at: usize,
    expected: i64,
    is_first: bool,
) -> Option<(i64, Behind)> {
    let draft = &drafts[at];
    let before = by_end.partition_point(|&(end, _)| end <= draft.start);
    let &(end, other) = by_end[..before]
        .iter()
        .rev()
        .take_while(|&&(end, _)| end > expected && (is_first || draft.start - end < SOON))
        .find(|&&(_, other)| other < at && drafts[other].stream != draft.stream)?;
    let stream = drafts[other].stream;
    let later = drafts[other + 1..at].iter().filter(|work| work.stream == stream).count();
    Some((end, Behind { stream, back: later as u32 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::CallId;

    #[test]
    fn a_long_wait_for_the_device_does_not_count_as_latency() {
        let draft = |(at, api, latency): (i64, u32, i64)| Draft {
            call: CallId(at as u32),
            start: 1_000_000_000 * at + latency,
            end: 1_000_000_000 * at + latency + 10,
            stream: 0,
            kind: WorkKind(0),
            launch: Some((1_000_000_000 * at, api)),
            step: 0,
        };
        let drafts = [(0, 1, 150_000_000), (1, 2, 4_000), (2, 2, 6_000), (3, 2, 5_000)].map(draft);
        let found = Typical::of(&drafts, 0, &[], &mut []);
        let (typical, _) = found.map_err(|_| "no latencies").expect("latencies");
        assert_eq!([typical.latency(1), typical.latency(2)], [5_000; 2]);
    }
}
