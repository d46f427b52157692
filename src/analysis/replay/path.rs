//! Finds the critical path of a replay: the chain of host time and GPU events that determines when the
//! window ends.

use super::play::{Bound, Program, Seen};

/// The kinds of time on a critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum PathPart {
    /// Host time outside of runtime calls.
    Host,
    /// Time in runtime calls, excluding waits for the GPU.
    Calls,
    /// Time from a launch until an idle device starts the launched event.
    Launch,
    /// Time in kernels, copies and memsets.
    Work,
    /// The gap before an event: the time since the end of the previous event on its stream, or since the end of
    /// the event on a different stream that it waited for.
    Gap,
    /// Time from the end of the awaited events until a waiting host call returns.
    Sync,
    /// Time of GPU work that was launched before the window.
    Before,
}

impl PathPart {
    /// All parts of a critical path.
    pub const ALL: [PathPart; 7] = [
        PathPart::Host,
        PathPart::Calls,
        PathPart::Launch,
        PathPart::Work,
        PathPart::Gap,
        PathPart::Sync,
        PathPart::Before,
    ];

    /// The name of the part in tables.
    pub fn label(self) -> &'static str {
        match self {
            PathPart::Host => "host",
            PathPart::Calls => "calls",
            PathPart::Launch => "launch",
            PathPart::Work => "kernel",
            PathPart::Gap => "gap",
            PathPart::Sync => "sync",
            PathPart::Before => "before",
        }
    }
}

/// Time of each part on a critical path, in ns, in the order of [`PathPart::ALL`]. The times add up to the length
/// of the replayed window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct CriticalPath(pub [i64; PathPart::ALL.len()]);

impl CriticalPath {
    /// Time of one part of the critical path, in ns.
    pub fn time(&self, part: PathPart) -> i64 {
        self.0[part as usize]
    }

    fn add(&mut self, part: PathPart, time: i64) {
        self.0[part as usize] += time;
    }

    /// Computes the critical path of a program.
    pub(super) fn of(program: &Program<'_>) -> CriticalPath {
        let mut seen = Vec::new();
        let mut works = vec![(0, 0, Bound::Stream { after: None }, 0); program.works.len()];
        let end = program
            .play_with(&mut |part| {
                if let Seen::Work { at, start, end, bound } = part {
                    works[at as usize] = (start, end, bound, seen.len());
                }
                seen.push(part);
            })
            .end;
        let mut path = CriticalPath::default();
        let last = (0..works.len()).max_by_key(|&at| (works[at].1, at));
        let mut work = last.filter(|&at| works[at].1 == end);
        let mut host = seen.len();
        loop {
            // Follow the chain of GPU events back to an event that started as soon as its launch allowed.
            while let Some(at) = work {
                let (start, end, bound, launched) = works[at];
                path.add(PathPart::Work, end - start);
                let after = match bound {
                    Bound::Launch { latency } => {
                        path.add(PathPart::Launch, latency);
                        host = launched;
                        None
                    }
                    Bound::Stream { after: None } => {
                        path.add(PathPart::Before, start);
                        return path;
                    }
                    Bound::Stream { after: Some(after) } | Bound::Crossing { after } => {
                        path.add(PathPart::Gap, start - works[after as usize].1);
                        Some(after as usize)
                    }
                };
                work = after;
            }
            // Follow the host's timeline back to the last wait.
            loop {
                let Some(before) = host.checked_sub(1) else { return path };
                host = before;
                match seen[host] {
                    Seen::Host { time, in_call: false } => path.add(PathPart::Host, time),
                    Seen::Host { time, in_call: true } => path.add(PathPart::Calls, time),
                    Seen::Work { .. } | Seen::Step(_) => {}
                    Seen::Waited { work: by, latency } => {
                        path.add(PathPart::Sync, latency);
                        work = Some(by as usize);
                        break;
                    }
                }
            }
        }
    }
}
