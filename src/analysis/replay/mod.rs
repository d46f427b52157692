//! The steps of a trace as a graph of dependencies, replayed with other durations.

mod effects;
mod mix;
mod owners;
mod play;
mod recorded;
mod threads;
mod typical;

pub use play::{Replayed, Scale};
pub use recorded::{Action, Behind, Item, Point, Recorded, Wait, Work};

pub use effects::{Effect, Effects};

use play::Program;

/// Why a trace cannot be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// GPU events without a stream.
    Streams,
    /// Several devices run work.
    Devices,
    /// Several threads launch work at the same time.
    Threads,
    /// Work starts before it is launched.
    Clocks,
}

impl Recorded {
    /// Replays the recorded program at other speeds.
    pub fn replay(&self, scale: Scale) -> Replayed {
        Program::of(self, scale).play()
    }
}

impl Recorded {
    /// debug
    pub fn starts(&self) -> Vec<(i64, i64)> {
        let mut v = Vec::new();
        Program::of(self, Scale::NONE).play_with(&mut |s| if let play::Seen::Work{start,end,..} = s { v.push((start,end)) });
        v
    }
}
