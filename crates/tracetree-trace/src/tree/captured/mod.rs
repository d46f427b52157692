//! Finds captured graphs, the calls recorded during each capture, and the kernel that each captured
//! launch produced in a replay.
//!
//! ```text
//! capture   BeginCapture … mm(launch a) relu(launch b) … EndCapture     nothing runs
//! replay    GraphLaunch  │ kernel A │ kernel B │                       all kernels, no calls
//! both      GraphLaunch → mm → launch a → kernel A
//!                       → relu → launch b → kernel B
//! ```

mod align;
mod alignment;
mod evidence;
mod graphs;
mod replays;
mod sequences;

pub(crate) use align::align;
pub(crate) use alignment::Alignment;
pub use graphs::{Capture, CapturedGraph, LaunchKind};
pub use replays::{Misfit, Replay, ReplayedGraph};
pub(crate) use sequences::{Alphabet, Launched, Ran};
