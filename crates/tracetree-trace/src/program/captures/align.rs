//! Aligns captured launches with the GPU events of a replay to find the event that each launch
//! produced.
//!
//! The launches have a single order, which is the capture order. The GPU events have a separate
//! order for each stream. A search state therefore records how many launches, and how many events
//! of each stream, have been used so far. Each move of the search uses one launch, one event, or a
//! matching pair:
//!
//! ```text
//! launches  a b c d e          state (2; 1, 1): a and b are used, and one event of each stream
//! stream 1  A   C   E          moves: c has no event; C has no launch, D has none; c ~ C; c ~ D
//! stream 2    B   D
//! ```
//!
//! All launches of an op go to one stream. If two successive launches of an op are matched with
//! events on different streams, the match therefore has an extra cost. To apply this cost, a state
//! inside an op records the stream of the last matched event.
//!
//! Among the states with the same total number of used launches and events, only the 256 best are
//! kept. States whose score is far below the best score are dropped. With a single stream, the
//! remaining states form a band around the best path, so the search takes linear time.

use super::evidence::{Alignment, Evidence, Score};
use super::sequences::{Launched, Ran};
use crate::trace::{TextId, Texts};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of streams to align separately. If a replay has more streams, the smallest
/// streams are merged into one, ordered by start.
const STREAMS: usize = 6;
/// Maximum number of states to keep among those with the same total number of used launches and
/// events.
const BEAM: usize = 256;
/// States whose score is more than this below the best score are dropped.
const MARGIN: Score = 2_000;
/// Cost of a launch that matches no event, or an event that matches no launch.
const GAP: Score = 12;
/// Cost of using an event that started before the last used event of a different stream.
const OUT_OF_ORDER: Score = 2;
/// Cost of changing the stream within one op.
const OP_ON_TWO_STREAMS: Score = 2;
/// Maximum number of times that the alignment is repeated; each repetition uses evidence from the
/// previous alignment.
const LESSONS: usize = 4;

/// Aligns captured launches with the GPU events of a replay.
pub(super) fn align(launched: &[Launched], ran: &[Ran], texts: &Texts) -> Alignment {
    let launched = &comparable(launched, ran, texts);
    let mut evidence = Evidence::new(texts);
    let orders = orders(ran);
    let mut best: Option<(Score, Alignment)> = None;
    for order in &orders {
        let found = learned(launched, ran, order, &mut evidence);
        if best.as_ref().is_none_or(|(score, _)| found.0 > *score) {
            best = Some(found);
        }
    }
    let (_, mut alignment) = best.expect("at least one order of the streams was tried");
    alignment.agreement = evidence.agreement(launched, ran, &alignment);
    alignment
}

/// Returns the launches, but removes each mangled kernel name that no event in the replay has. The
/// replay may have recorded the same name in demangled form, so a mangled name that no event has is
/// not evidence against a match.
fn comparable(launched: &[Launched], ran: &[Ran], texts: &Texts) -> Vec<Launched> {
    let names: FxHashSet<TextId> = ran.iter().map(|event| event.name).collect();
    let is_mangled = |name: TextId| texts.get(name).starts_with("_Z");
    let comparable = |launch: &Launched| Launched {
        name: launch.name.filter(|name| names.contains(name) || !is_mangled(*name)),
        ..*launch
    };
    launched.iter().map(comparable).collect()
}

/// The event orders to try. If graph nodes are numbered, the first order is a single list of all
/// events sorted by node, because a graph numbers its nodes in capture order. The last order has a
/// separate list for each stream.
fn orders(ran: &[Ran]) -> Vec<Vec<Vec<u32>>> {
    let mut streams: FxHashMap<_, Vec<u32>> = FxHashMap::default();
    for (at, event) in (0..).zip(ran) {
        streams.entry(event.stream).or_default().push(at);
    }
    let mut streams: Vec<Vec<u32>> = streams.into_values().collect();
    streams.sort_by_key(|stream| (std::cmp::Reverse(stream.len()), stream[0]));
    if streams.len() > STREAMS {
        let mut rest: Vec<u32> = streams.drain(STREAMS - 1..).flatten().collect();
        rest.sort_by_key(|&at| (ran[at as usize].start, at));
        streams.push(rest);
    }
    let mut orders = Vec::new();
    let nodes: Option<Vec<u64>> = ran.iter().map(|event| event.node).collect();
    if let Some(nodes) = nodes.filter(|_| streams.len() > 1) {
        let mut by_node: Vec<u32> = (0..ran.len() as u32).collect();
        by_node.sort_by_key(|&at| (nodes[at as usize], at));
        orders.push(vec![by_node]);
    }
    orders.push(streams);
    orders
}

/// Aligns the launches with the events. `streams` gives the order of the events. The alignment is
/// repeated. Each repetition also uses which kernels the previous alignment matched with launches
/// of the same context.
fn learned(
    launched: &[Launched],
    ran: &[Ran],
    streams: &[Vec<u32>],
    evidence: &mut Evidence<'_>,
) -> (Score, Alignment) {
    let mut found = Search { launched, ran, streams, evidence }.run();
    for _ in 0..LESSONS {
        evidence.learn(launched, ran, &found.1);
        let next = Search { launched, ran, streams, evidence }.run();
        let is_same = next.1 == found.1;
        found = next;
        if is_same {
            break;
        }
    }
    found
}

/// A search state: the number of launches used so far, the number of events used so far in each
/// stream and, within an op, the stream of the last matched event.
type Used = (u32, [u32; STREAMS], Option<u8>);

/// A state that the search reached, and the move that led to the state.
#[derive(Debug, Clone, Copy)]
struct Reached {
    score: Score,
    /// The previous state; the first state refers to itself.
    before: u32,
    /// The pair that the last move matched, if any.
    pair: Option<(u32, u32)>,
}

struct Search<'s, 'a> {
    launched: &'s [Launched],
    ran: &'s [Ran],
    streams: &'s [Vec<u32>],
    evidence: &'s mut Evidence<'a>,
}

/// The states with the same total number of used launches and events.
type Front = FxHashMap<Used, Reached>;

impl Search<'_, '_> {
    fn run(&mut self) -> (Score, Alignment) {
        let all = self.launched.len() + self.ran.len();
        let mut reached: Vec<Reached> = Vec::new();
        let mut fronts = [Front::default(), Front::default(), Front::default()];
        let first = Reached { score: 0, before: 0, pair: None };
        fronts[0].insert((0, [0; STREAMS], None), first);
        for used in 0..=all {
            let front = std::mem::take(&mut fronts[used % 3]);
            for (state, how) in self.fittest(front) {
                reached.push(how);
                let at = reached.len() as u32 - 1;
                self.moves(state, how.score, at, &mut fronts, used);
            }
        }
        let last = reached.len() - 1;
        (reached[last].score, self.trace_back(&reached))
    }

    /// The best states of a front, best first. All other states of the front are dropped.
    fn fittest(&self, front: Front) -> Vec<(Used, Reached)> {
        let mut states: Vec<(Used, Reached)> = front.into_iter().collect();
        states.sort_unstable_by_key(|&(used, how)| (std::cmp::Reverse(how.score), used));
        let best = states.first().map_or(0, |(_, how)| how.score);
        let near = states.partition_point(|(_, how)| how.score + MARGIN >= best);
        states.truncate(near.min(BEAM));
        states
    }

    fn moves(
        &mut self,
        (launches, events, last): Used,
        score: Score,
        before: u32,
        fronts: &mut [Front; 3],
        used: usize,
    ) {
        let launch = self.launched.get(launches as usize);
        if launch.is_some() {
            let reached = Reached { score: score - GAP, before, pair: None };
            let last = last.filter(|_| self.continues(launches));
            offer(&mut fronts[(used + 1) % 3], (launches + 1, events, last), reached);
        }
        for stream in 0..self.streams.len() {
            let Some(&event) = self.streams[stream].get(events[stream] as usize) else { continue };
            let mut next = events;
            next[stream] += 1;
            let reached = Reached { score: score - GAP, before, pair: None };
            offer(&mut fronts[(used + 1) % 3], (launches, next, last), reached);
            let Some(launch) = launch else { continue };
            let Some(gain) = self.evidence.score(launch, &self.ran[event as usize]) else {
                continue;
            };
            let gain = gain - self.out_of_order(event, stream, &events);
            let is_other = last.is_some_and(|last| usize::from(last) != stream);
            let gain = gain - if is_other { OP_ON_TWO_STREAMS } else { 0 };
            let here = u8::try_from(stream).ok().filter(|_| self.continues(launches));
            let pair = Some((launches, event));
            let reached = Reached { score: score + gain, before, pair };
            offer(&mut fronts[(used + 2) % 3], (launches + 1, next, here), reached);
        }
    }

    /// Whether the op of a launch also makes the next launch. Always false if the replay has a
    /// single stream.
    fn continues(&self, launch: u32) -> bool {
        let next = self.launched.get(launch as usize + 1);
        self.streams.len() > 1 && next.is_some_and(|next| next.follows)
    }

    /// The cost of using an event that started before the last used event of a different stream.
    fn out_of_order(&self, event: u32, stream: usize, events: &[u32; STREAMS]) -> Score {
        let start = self.ran[event as usize].start;
        let is_later = |other: usize| {
            let last = (events[other] as usize).checked_sub(1);
            last.is_some_and(|last| self.ran[self.streams[other][last] as usize].start > start)
        };
        let later = (0..self.streams.len()).any(|other| other != stream && is_later(other));
        if later { OUT_OF_ORDER } else { 0 }
    }

    fn trace_back(&self, reached: &[Reached]) -> Alignment {
        let mut launches = vec![None; self.ran.len()];
        let mut at = reached.len() - 1;
        loop {
            if let Some((launch, event)) = reached[at].pair {
                launches[event as usize] = Some(launch);
            }
            if at == 0 {
                break;
            }
            at = reached[at].before as usize;
        }
        Alignment { launches, agreement: 1.0 }
    }
}

/// Keeps the better of two ways to reach a state; on a tie, keeps the way whose previous state was
/// reached first.
fn offer(front: &mut Front, state: Used, how: Reached) {
    front
        .entry(state)
        .and_modify(|held| {
            let key = |how: &Reached| (std::cmp::Reverse(how.score), how.before);
            if key(&how) < key(held) {
                *held = how;
            }
        })
        .or_insert(how);
}
