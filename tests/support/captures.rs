//! Measures how many kernels in a graph replay are attributed to the right captured launch.
//!
//! Any trace with launches can be turned into a capture by removing the GPU events, and into a replay by removing the
//! calls. If a capture and a replay come from the same trace, the true launch of each kernel is known.

use super::recording::{Event, Kind, Recording};
use super::splitmix::SplitMix;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use std::sync::Arc;
use tracetree::program::{Captures, LaunchKind};
use tracetree::trace::{EventId, ReadOptions, Trace, Uid};
use tracetree::tree::{CallTree, TreeOptions};

/// A capture and a replay of the same graphs.
#[derive(Debug, Clone)]
pub struct Graphs {
    pub capture: Recording,
    pub replay: Recording,
    /// The true launch of each GPU event in the replay. The launch and the event are given by their `origin`.
    pub truth: FxHashMap<u32, u32>,
}

/// A change to a capture or a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureChange {
    /// Nothing is changed.
    None,
    /// One launch in twenty is missing from the capture.
    DropLaunches,
    /// The launches do not contain the names of their kernels, as on CUDA.
    ForgetNames,
    /// The kernels run concurrently on two streams.
    TwoStreams,
}

/// Times in ns. `LATENCY` is the time between a launch and its kernel, and `AHEAD` is the maximum time by which a
/// kernel on the second stream starts earlier.
const LATENCY: i64 = 10_000;
const AHEAD: i64 = 20_000;

impl Graphs {
    /// Converts the thread that has the most launches to one graph; `None` if the trace has no launches.
    pub fn of_eager(eager: &Recording) -> Option<Graphs> {
        let launches: FxHashMap<i64, &Event> = eager
            .events
            .iter()
            .filter(|event| event.kind == Kind::Runtime && LaunchKind::of(&event.name).is_some())
            .filter_map(|event| Some((event.correlation?, event)))
            .collect();
        let mut lanes: FxHashMap<_, usize> = FxHashMap::default();
        launches.values().for_each(|launch| *lanes.entry(&launch.lane).or_default() += 1);
        let lane = lanes.into_iter().max_by_key(|&(lane, count)| (count, lane.clone()))?.0.clone();
        // Keeps only one GPU event for each launch, and only one launch for each GPU event.
        let mut used: FxHashSet<i64> = FxHashSet::default();
        let launch_of = |event: &Event| {
            let launch = launches.get(&event.correlation.filter(|_| event.kind == Kind::Gpu)?)?;
            (launch.lane == lane).then_some(*launch)
        };
        let mut kernels: Vec<(&Event, &Event)> =
            eager.events.iter().filter_map(|event| Some((event, launch_of(event)?))).collect();
        kernels.retain(|(kernel, _)| used.insert(kernel.correlation.unwrap_or(0)));
        // In a replay, kernels run in the order in which they were launched.
        kernels.sort_by_key(|(_, launch)| (launch.start, launch.origin));
        let names: FxHashMap<u32, Value> = kernels
            .iter()
            .map(|(kernel, launch)| (launch.origin.unwrap_or(0), json!(&*kernel.name)))
            .collect();
        let truth =
            kernels.iter().filter_map(|(kernel, launch)| Some((kernel.origin?, launch.origin?)));
        Some(Graphs {
            truth: truth.collect(),
            capture: captured(eager, &lane, &names),
            replay: replayed(eager, &lane, &kernels),
        })
    }

    /// A recorded capture and a recorded replay of one graph. The launches in the capture must correspond to the
    /// kernels in the replay one to one, in the same order.
    pub fn recorded(capture: Recording, replay: Recording) -> Graphs {
        let mark = |name: &str| capture.events.iter().find(|event| event.name.contains(name));
        let mark = |name: &str| mark(name).expect("one graph is captured");
        let (begin, end) = (mark("StreamBeginCapture"), mark("StreamEndCapture"));
        let inside = |event: &&Event| event.start > begin.start && event.start < end.start;
        let is_launch =
            |event: &&Event| event.kind == Kind::Runtime && LaunchKind::of(&event.name).is_some();
        let mut launches: Vec<&Event> =
            capture.events.iter().filter(is_launch).filter(inside).collect();
        launches.sort_by_key(|event| (event.start, event.origin));
        let graph = replay.events.iter().find(|event| event.name.contains("GraphLaunch"));
        let graph = graph.and_then(|event| event.correlation);
        let mut kernels: Vec<&Event> = replay
            .events
            .iter()
            .filter(|event| event.kind == Kind::Gpu && event.correlation == graph)
            .collect();
        kernels.sort_by_key(|event| (event.start, event.origin));
        assert_eq!(launches.len(), kernels.len());
        let truth = kernels.iter().zip(&launches).filter_map(|(k, l)| Some((k.origin?, l.origin?)));
        let truth: FxHashMap<u32, u32> = truth.collect();
        let mut replay = replay;
        let is_replayed = |event: &Event| event.kind != Kind::Gpu || event.correlation == graph;
        replay.events.retain(is_replayed);
        Graphs { capture, replay, truth }
    }

    /// A copy of the capture and the replay, with the given change.
    #[must_use]
    pub fn changed(&self, change: CaptureChange, random: &mut SplitMix) -> Graphs {
        let mut changed = self.clone();
        match change {
            CaptureChange::None => {}
            CaptureChange::DropLaunches => changed.drop_launches(random),
            CaptureChange::ForgetNames => changed.forget_names(),
            CaptureChange::TwoStreams => changed.spread(random),
        }
        changed
    }

    fn drop_launches(&mut self, random: &mut SplitMix) {
        let launches: FxHashSet<u32> = self.truth.values().copied().collect();
        let is_launch = |event: &Event| event.origin.is_some_and(|at| launches.contains(&at));
        let at: Vec<usize> = (0..self.capture.events.len())
            .filter(|&at| is_launch(&self.capture.events[at]))
            .collect();
        let dropped: FxHashSet<usize> = random.sample(&at, at.len() / 20).into_iter().collect();
        let gone: FxHashSet<Option<u32>> =
            dropped.iter().map(|&at| self.capture.events[at].origin).collect();
        let marked: Vec<bool> =
            (0..self.capture.events.len()).map(|at| dropped.contains(&at)).collect();
        self.capture.remove(&marked);
        self.truth.retain(|_, launch| !gone.contains(&Some(*launch)));
    }

    fn forget_names(&mut self) {
        for event in &mut self.capture.events {
            if event.args.contains_key("kernel") {
                Arc::make_mut(&mut event.args).remove("kernel");
            }
        }
    }

    /// Moves groups of one to six consecutive kernels to a second stream, where they start earlier.
    fn spread(&mut self, random: &mut SplitMix) {
        let mut at: Vec<usize> = (0..self.replay.events.len())
            .filter(|&at| self.replay.events[at].kind == Kind::Gpu)
            .collect();
        at.sort_by_key(|&at| (self.replay.events[at].start, at));
        let (mut left, mut is_second, mut last) = (0, false, [0_i64; 2]);
        for at in at {
            if left == 0 {
                left = 1 + random.below(6);
                is_second = !is_second && random.below(2) == 0;
            }
            left -= 1;
            let event = &mut self.replay.events[at];
            let early = if is_second { 1 + random.below(AHEAD as usize) as i64 } else { 0 };
            let start = (event.start - early).max(last[usize::from(is_second)] + 1);
            event.end += start - event.start;
            event.start = start;
            last[usize::from(is_second)] = start;
            if is_second {
                Arc::make_mut(&mut event.args).insert("stream".to_owned(), json!(77));
                event.lane.1 = "77".into();
            }
        }
    }

    /// The tree of the replay, with the captured calls added. The recordings in `more` are passed as additional
    /// captures.
    pub fn tree(&self, more: &[&Recording]) -> CallTree {
        let read = |name: &str, recording: &Recording| {
            let bytes = recording.write();
            Trace::from_reader(name, bytes.as_slice(), &ReadOptions::default()).expect("a trace")
        };
        let mut captures = Captures::default();
        for (at, other) in more.iter().enumerate() {
            captures.push(read(&format!("other{at}"), other), None);
        }
        captures.push(read("capture", &self.capture), None);
        let tree = CallTree::build(read("replay", &self.replay));
        captures.add_to(&tree, TreeOptions::default())
    }

    /// The number of GPU events in graph replays that are attributed correctly, and the number of all GPU events in
    /// graph replays. An event is attributed correctly if it is below its own launch. If the capture lacks that launch,
    /// the event must be directly below the graph launch.
    pub fn right(&self, tree: &CallTree) -> (usize, usize) {
        let trace = tree.trace();
        let is_gpu = |at: &usize| self.replay.events[*at].kind == Kind::Gpu;
        let kernels: Vec<usize> = (0..self.replay.events.len()).filter(is_gpu).collect();
        let sort =
            |at: usize| (&self.replay.events[at].name, self.replay.events[at].args.get("grid"));
        // If a launch in a sequence of identical kernels is missing, it is unknown which one, so the order within such
        // a sequence does not matter.
        let rows = kernels.chunk_by(|&one, &two| sort(one) == sort(two));
        let right = rows.map(|row| {
            let mut expected: Vec<Option<u32>> = row
                .iter()
                .map(|&at| {
                    self.replay.events[at].origin.and_then(|at| self.truth.get(&at).copied())
                })
                .collect();
            let found = row.iter().map(|&at| {
                let kernel = trace.event_at(Uid(at as u32)).expect("an event of the replay");
                launch_of(trace, kernel).and_then(|at| self.capture.events[at].origin)
            });
            let mut take = |found: &Option<u32>| {
                let place = expected.iter().position(|expected| expected == found);
                place.map(|place| expected.swap_remove(place)).is_some()
            };
            found.filter(|found| take(found)).count()
        });
        (right.sum(), kernels.len())
    }
}

/// Position in the capture of the captured launch that a kernel is attributed to.
fn launch_of(trace: &Trace, kernel: EventId) -> Option<usize> {
    let launch = trace.event_at(*trace.captured_launches().get(kernel)?)?;
    Some(trace.captured(launch)?.uid.0 as usize)
}

fn captured(
    eager: &Recording,
    lane: &(Arc<str>, Arc<str>),
    names: &FxHashMap<u32, Value>,
) -> Recording {
    let mut capture = eager.clone();
    capture.events.retain(|event| {
        let is_captured = event.origin.is_some_and(|at| names.contains_key(&at));
        let is_launch = event.kind == Kind::Runtime && LaunchKind::of(&event.name).is_some();
        event.kind != Kind::Gpu && event.lane == *lane && (is_captured || !is_launch)
    });
    for event in &mut capture.events {
        if let Some(name) = event.origin.and_then(|at| names.get(&at)) {
            Arc::make_mut(&mut event.args).insert("kernel".to_owned(), name.clone());
        }
    }
    let first = capture.events.iter().map(|event| event.start).min().unwrap_or(0);
    let last = capture.events.iter().map(|event| event.end).max().unwrap_or(0);
    // All events are shifted to make room for the begin call, which must not start before zero.
    for event in &mut capture.events {
        event.start += 10_000 - first;
        event.end += 10_000 - first;
    }
    let call = |name: &str, start: i64| {
        Event::new(Kind::Runtime, "cuda_runtime", name, lane, (start, start + 1_000))
    };
    capture.events.push(call("hipStreamBeginCapture", 2_000));
    capture.events.push(call("hipStreamEndCapture", last - first + 20_000));
    capture
}

fn replayed(
    eager: &Recording,
    lane: &(Arc<str>, Arc<str>),
    kernels: &[(&Event, &Event)],
) -> Recording {
    let mut replay = eager.clone();
    let id = eager.free_correlation();
    let launch = Event::new(Kind::Runtime, "cuda_runtime", "hipGraphLaunch", lane, (0, LATENCY));
    replay.events = vec![launch.correlated(id)];
    let mut start = 2 * LATENCY;
    for (kernel, _) in kernels {
        let mut event = (*kernel).clone().correlated(id);
        let time = event.end - event.start;
        (event.start, event.end) = (start, start + time);
        start += time + 1_000;
        Arc::make_mut(&mut event.args).insert("stream".to_owned(), json!(7));
        event.lane.1 = "7".into();
        replay.events.push(event);
    }
    replay
}
