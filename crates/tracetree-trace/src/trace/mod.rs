//! Reads a trace file into a [`Trace`], which stores the events that comparisons use as columns.

mod anonymous;
mod by_name;
mod capture_files;
mod captured;
mod captured_call;
mod category;
mod columns;
mod communication;
mod compiled;
mod header;
mod ids;
mod memory;
mod near;
mod notes;
mod pattern;
mod reader;
mod select;
mod spans;
mod sparse;
mod texts;
mod time;
mod zstd;

pub use anonymous::Anonymizer;
#[doc(hidden)]
pub use by_name::ByName;
pub use capture_files::{CAPTURE_FOLDER, CaptureFile};
pub(crate) use captured::{Graft, GraftedCall};
pub use captured_call::{CapturedAs, CapturedCall};
#[doc(hidden)]
pub use category::CUT_MODULE;
pub use category::Category;
pub(crate) use columns::Stated;
pub use columns::{
    Argument, Arguments, FlowEnd, FlowPoint, Grid, Message, Overhead, Sequence, Stream, Thread,
    Trace,
};
#[doc(hidden)]
pub use communication::is_communication_kernel;
pub(crate) use communication::is_communication_op;
#[doc(hidden)]
pub use compiled::{CompiledProgram, ProgramInput};
pub use header::{Device, Distributed, Header, Recorder};
pub(crate) use header::{PROGRAMS, is_wait};
pub use ids::{ArgumentsId, EventId, ThreadId, Uid};
pub use memory::{MemoryDevice, MemoryEvent};
pub use notes::{Losses, Note, Notes};
pub use pattern::{LARGEST_PATTERN, Pattern};
pub use reader::{ReadOptions, ReadProgress};
#[doc(hidden)]
pub use reader::{Unpacked, nanos, unpack};
pub use spans::busy_time;
#[doc(hidden)]
pub use spans::newly_busy;
pub(crate) use spans::union;
pub use sparse::Sparse;
pub use texts::{TextId, Texts};
pub use time::Nanos;
#[doc(hidden)]
pub use time::{push_fixed, push_whole};
