//! Represents the steps of a trace as a dependency graph that can be replayed with modified durations. A replay shows
//! the effect of a change on the step time. Attributing the time cannot show this effect, because GPU time may
//! overlap with host time.
//!
//! ```text
//! trace ─▶ Recorded: host line, launches, works, waits ─┬─ Scenario ─────────────▶ step time, critical path
//! trace ─▶ Recorded ────────────────────────────────────┴─ Mix of both, by change ─▶ Effects
//! ```
//! The guide `docs/guides/what-if.md` describes the replay model and its limits.

mod effects;
mod ends;
mod gaps;
mod mix;
mod owners;
mod parts;
mod patch;
mod path;
mod play;
mod prices;
mod reason;
mod recorded;
mod rest;
mod scenario;
mod segments;
mod threads;
mod typical;
mod what_if;

pub use effects::{Bounds, Check, Effect, Effects, Limit, PathRange, Replays};
pub use parts::{Action, Behind, Item, Point, Replayed, Wait, Work, WorkKind};
pub use path::{CriticalPath, PathPart};
pub use prices::{HostPause, Prices, WaitPrice};
pub use reason::Reason;
pub use recorded::Recorded;
pub use scenario::Scenario;
pub use typical::Typical;
pub use what_if::{StepTimes, WhatIf, Without};
