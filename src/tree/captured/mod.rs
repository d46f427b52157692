//! Captured graphs: what was recorded while a graph was captured, and which kernel of a replay each
//! captured launch has become.
//!
//! ```text
//! capture   BeginCapture … mm(launch a) relu(launch b) … EndCapture     nothing runs
//! replay    GraphLaunch  │ kernel A │ kernel B │                       all kernels, no call
//! both      GraphLaunch → mm → launch a → kernel A
//!                       → relu → launch b → kernel B
//! ```

mod align;
mod evidence;
mod graphs;
mod replays;
mod sequences;

pub(crate) use align::{Alignment, align};
pub use graphs::{Capture, CapturedGraph, LaunchKind};
pub use replays::{Misfit, Replay, ReplayedGraph};
pub(crate) use sequences::{Alphabet, Launched, Ran};
