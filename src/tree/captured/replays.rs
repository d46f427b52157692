//! What became of each graph launch of a trace: the captured graph that it replays, or why none.

use crate::trace::Uid;
use std::fmt;

/// One launch of a captured graph, and the capture that its calls are of.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The graph launch: a position in `traceEvents`.
    pub launch: Uid,
    /// Number of its GPU events.
    pub kernels: usize,
    /// Number of its GPU events that stand below the captured call that launched them.
    pub placed: usize,
    /// Number of its GPU events that stand below the part of the program that they name; 0 where a captured graph
    /// fits.
    pub named: usize,
    /// The captured graph that it replays; `None` where none fits.
    pub graph: Option<ReplayedGraph>,
    /// How many other captured graphs fit as well, so that the order decided.
    pub equals: usize,
    /// Of the captured graphs that do not fit the best one, and why not; `None` where one fits, and
    /// where there is none at all.
    pub misfit: Option<(ReplayedGraph, Misfit)>,
}

/// A graph of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedGraph {
    /// The file of the capture.
    pub source: String,
    /// Its number among the graphs of the file, from 0.
    pub number: usize,
    /// The call that began its capture: a position in the capture's `traceEvents`.
    pub begin: Uid,
    /// Number of launches that were captured.
    pub launches: usize,
    /// The batch that it was captured for, where that is known.
    pub batch: Option<u64>,
}

impl fmt::Display for ReplayedGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph {} of {} ({} launches", self.number, self.source, self.launches)?;
        match self.batch {
            Some(batch) => write!(f, ", captured for a batch of {batch})"),
            None => f.write_str(")"),
        }
    }
}

/// Why a captured graph is not the one that is replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Misfit {
    /// It was captured for another batch than was replayed.
    OtherBatch(u64),
    /// Only so many of the GPU events could have been launched by it.
    OtherKernels(usize),
    /// The numbers agree, but for only this share of the kernels the op above the launch does the
    /// work of the kernel.
    OtherWork(f64),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::OtherBatch(batch) => write!(f, "the replay has a batch of {batch}"),
            Misfit::OtherKernels(placed) => write!(f, "only {placed} launches fit a kernel"),
            Misfit::OtherWork(share) => {
                write!(f, "only {:.0} % of the kernels do the work of their op", 100.0 * share)
            }
        }
    }
}
