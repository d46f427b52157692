//! The graph launches of a trace → the captured graph that each one replays, or why there is none.

use crate::trace::Uid;
use std::fmt;

/// One launch of a captured graph, and the captured graph that it was matched to.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The graph launch: a position in `traceEvents`.
    pub launch: Uid,
    /// Number of its GPU events.
    pub kernels: usize,
    /// Number of its GPU events that are below the captured call that launched them.
    pub placed: usize,
    /// Number of its GPU events that are below the part of the program that they name; 0 if a
    /// captured graph fits.
    pub named: usize,
    /// The captured graph that it replays; `None` if none fits.
    pub graph: Option<ReplayedGraph>,
    /// Number of other captured graphs that fit as well, in which case their order decided.
    pub equals: usize,
    /// The best of the captured graphs that do not fit, and why it does not; `None` if one fits,
    /// and if there are no captured graphs.
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
    /// Number of captured launches.
    pub launches: usize,
    /// The batch size that it was captured for, if it is known.
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

/// Why a captured graph is not the one that was replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Misfit {
    /// It was captured for another batch size; the value is that of the replay.
    OtherBatch(u64),
    /// It could have launched only this many of the GPU events.
    OtherKernels(usize),
    /// The numbers of launches and kernels agree, but the op above the launch does the work of the
    /// kernel for only this share of the kernels.
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
