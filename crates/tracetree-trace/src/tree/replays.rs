//! Describes which captured graph each graph launch of a trace replays.

use crate::trace::Uid;
use std::fmt;

/// A launch of a captured graph, and the graph that the launch replays.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct Replay {
    /// Position of the graph launch in `traceEvents`.
    pub launch: Uid,
    /// Number of GPU events that the launch started.
    pub kernels: usize,
    /// Number of GPU events that were attributed to the captured call that launched them.
    pub placed: usize,
    /// Number of GPU events that were attributed to a program part because the event itself names
    /// this part; 0 if a captured graph fits.
    pub named: usize,
    /// The captured graph that the launch replays; `None` if no captured graph fits.
    pub graph: Option<ReplayedGraph>,
    /// Number of other captured graphs that fit equally well. If this number is greater than 0, the
    /// graph was chosen by capture order.
    pub equals: usize,
    /// The most similar captured graph, and why it does not fit. `None` if a graph fits or if there
    /// are no captured graphs.
    pub misfit: Option<(ReplayedGraph, Misfit)>,
}

/// A captured graph and the file that contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct ReplayedGraph {
    /// The file that contains the capture.
    pub source: String,
    /// Index of the graph in the file, counted from 0.
    pub number: usize,
    /// Position in the capture's `traceEvents` of the call that began the graph's capture.
    pub begin: Uid,
    /// Number of captured launches.
    pub launches: usize,
    /// The batch size for which the graph was captured, if known.
    pub batch: Option<u64>,
}

impl fmt::Display for ReplayedGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph {} of {} (launches: {}", self.number, self.source, self.launches)?;
        match self.batch {
            Some(batch) => write!(f, ", batch size: {batch})"),
            None => f.write_str(")"),
        }
    }
}

/// Why a captured graph cannot be the graph that was replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub enum Misfit {
    /// The graph was captured for a different batch size; the value is the batch size of the
    /// replay.
    OtherBatch(u64),
    /// The graph could have launched only this many of the replay's GPU events.
    OtherKernels(usize),
    /// Enough launches match a kernel, but too few of the matched kernels do the work that the op's
    /// name indicates. The value is the fraction of the matched kernels that do this work.
    OtherWork(f64),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::OtherBatch(batch) => write!(f, "the replay has batch size {batch}"),
            Misfit::OtherKernels(placed) => write!(f, "too few launches match a kernel ({placed})"),
            Misfit::OtherWork(share) => {
                write!(
                    f,
                    "only {:.0}% of the kernels match the op above their launch",
                    100.0 * share
                )
            }
        }
    }
}
