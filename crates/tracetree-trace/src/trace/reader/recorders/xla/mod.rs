//! Reads `*.xplane.pb` files from the XLA profiler, which JAX uses.
//!
//! ```text
//! /host:metadata  compiled programs ──────────────── name stacks, inputs of ops
//! /host:CPU       threads: launches, ops of the CPU ┐
//! /device:GPU:0   streams: kernels ─────────────────┴ correlation_id
//! ```
//!
//! The uid of an event is its position among the events in all lines of all planes, in file order.
//! The reader adds calls for programs, for scopes, and for ops that enclose launches. The uids of
//! these calls follow the uid of the last event. In `*.trace.json.gz`, the uid of an event is its
//! position in `traceEvents`.

mod device;
mod encode;
mod events;
mod hlo;
mod host;
mod json;
mod memory;
mod scopes;
mod space;
mod wire;

use super::super::options::ReadOptions;
use super::super::source::Source;
use super::source::{TraceSource, whole};
use crate::error::Result;
use crate::trace::columns::Trace;
use events::Numbering;

/// An XSpace.
pub(super) struct Xla;

/// The JSON file that the profiler writes next to an XSpace.
pub(super) struct XlaJson;

/// Number of bytes at the beginning of a file that are enough to find the name of the first plane.
const HEAD: usize = 128;

impl TraceSource for Xla {
    /// Whether the bytes begin with a plane that has a name.
    fn recognises(&self, head: &[u8]) -> bool {
        let Some(rest) = head.strip_prefix(&[0x0a]) else { return false };
        let number = rest.iter().take(10).position(|byte| *byte < 0x80).map(|last| last + 1);
        let Some(mut plane) = number.and_then(|used| rest.get(used..)) else { return false };
        if let Some(id) = plane.strip_prefix(&[0x08]) {
            let used = id.iter().take(10).position(|byte| *byte < 0x80).map(|last| last + 1);
            plane = used.and_then(|used| id.get(used..)).unwrap_or_default();
        }
        match plane {
            [0x12, length, name @ ..] => {
                let name = &name[..name.len().min(usize::from(*length))];
                !name.is_empty() && name.iter().all(|byte| matches!(byte, b' '..=b'~'))
            }
            _ => false,
        }
    }

    fn needs_more(&self, head: &[u8]) -> bool {
        head.len() < HEAD && head.first().is_none_or(|first| *first == 0x0a)
    }

    fn read(&self, mut source: Source<'_>, options: &ReadOptions) -> Result<Trace> {
        let bytes = whole(&mut source)?;
        let rows = events::read(source.name(), &bytes, Numbering::default())?;
        rows.finish(source, options, bytes.len() as u64)
    }
}

impl TraceSource for XlaJson {
    fn recognises(&self, head: &[u8]) -> bool {
        json::recognises(head)
    }

    fn needs_more(&self, head: &[u8]) -> bool {
        json::may_follow(head)
    }

    fn read(&self, mut source: Source<'_>, options: &ReadOptions) -> Result<Trace> {
        let mut bytes = whole(&mut source)?;
        let unpacked = bytes.len() as u64;
        let json = json::convert(source.name(), &mut bytes)?;
        drop(bytes);
        let numbering = Numbering { uids: &json.uids, total: json.total };
        let mut rows = events::read(source.name(), &json.profile, numbering)?;
        let other = json.total - json.uids.len() as u64;
        rows.leave_out_many("metadata, counter or event without a time", other);
        rows.trace().notes.add("JSON_PROFILE", 1, "pass the .xplane.pb in the same folder", || {
            "the JSON form of a profile has no compiled programs, so ops have no name stacks and no shapes"
                .to_owned()
        });
        rows.finish(source, options, unpacked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_recognized_by_its_first_plane() {
        assert!(Xla.recognises(b"\x0a\x80\x01\x12\x0e/host:metadata\x22"));
        assert!(Xla.recognises(b"\x0a\x7b\x08\x01\x12\x0d/device:GPU:0"));
        assert!(
            !Xla.recognises(b"\n{\"a\": 1}") && !Xla.recognises(b"\n\n[") && !Xla.recognises(b"")
        );
    }
}
