//! Reads Nsight Systems reports that were exported with `nsys export --type sqlite`.
//!
//! ```text
//! NVTX_EVENTS ─┐ ranges on a thread                                       ┌ KERNEL, MEMCPY, MEMSET,
//! RUNTIME ─────┴ calls on a thread ── (process, correlationId) ───────────┴ GRAPH_TRACE on a stream
//! ```
//!
//! A row's uid is the row's position among all rows of `events::TABLES`, ordered by table and then by row
//! id. The next uids belong to the rows of two ignored tables (synchronizations and samples), and
//! the last uids to the module calls that are derived from FSDP's ranges.

mod copies;
mod events;
mod modules;
mod nvtx;
mod schema;
mod sqlite;

use super::super::options::ReadOptions;
use super::super::source::Source;
use super::source::TraceSource;
use crate::error::Result;
use crate::trace::columns::Trace;

/// The SQLite format that Nsight Systems exports.
pub(super) struct NsightSystems;

impl TraceSource for NsightSystems {
    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(sqlite::MAGIC)
    }

    fn needs_more(&self, head: &[u8]) -> bool {
        head.len() < sqlite::MAGIC.len() && sqlite::MAGIC.starts_with(head)
    }

    fn read(&self, mut source: Source<'_>, options: &ReadOptions) -> Result<Trace> {
        let file = source.positions()?;
        events::read(source.name(), file)?.finish(source, options)
    }
}
