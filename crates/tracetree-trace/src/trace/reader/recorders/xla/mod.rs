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
use super::rows::Rows;
use super::source::TraceSource;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::trace::columns::Trace;
use events::{Occurred, Reading, Track};
use hlo::Program;
use host::Kinds;
use space::{Event, Line, Plane, Stat};
use wire::{Broken, Message, Read};

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
        let rows = read(source.name(), &source.whole()?)?;
        rows.finish(source, options)
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
        let mut rows = json::read(source.name(), &mut source.whole()?)?;
        rows.trace().notes.add("JSON_PROFILE", 1, "pass the .xplane.pb in the same folder", || {
            "the JSON form of a profile has no compiled programs, so ops have no name stacks and no shapes"
                .to_owned()
        });
        rows.finish(source, options)
    }
}

/// Reads all planes of an XSpace.
///
/// # Errors
/// Fails if the bytes are damaged or are not a profile.
fn read(name: &str, bytes: &[u8]) -> Result<Rows> {
    let broken = |broken: Broken| {
        let message = format!("the profile is truncated or damaged: {}", broken.what);
        Error::new(ErrorKind::Malformed, name, message)
            .at(Place { offset: broken.offset, event: None })
            .remedy("copy the file again, or record it again with jax.profiler.trace")
    };
    let planes = Plane::all(Message::new(bytes)).map_err(broken)?;
    let names: Vec<&str> = planes.iter().map(|plane| plane.name).collect();
    let mut reading = Reading::of(name, &names)?;
    for plane in &planes {
        read_metadata(&mut reading, plane).map_err(broken)?;
    }
    for plane in &planes {
        let kinds = host::kinds(plane).map_err(broken)?;
        for line in &plane.lines {
            let line = Line::read(*line).map_err(broken)?;
            let track = Track { plane: plane.name, id: line.id, line: line.name };
            let events = line.events.iter();
            let events = events.map(|event| occurred((plane, &kinds), &line, *event));
            reading.read_line(track, events.map(|event| event.map_err(broken)))?;
        }
    }
    reading.finish()
}

fn read_metadata<'a>(reading: &mut Reading<'a, '_>, plane: &Plane<'a>) -> Read<()> {
    reading.add_device(plane.name, &plane.stats()?);
    if plane.name != "/host:metadata" {
        return Ok(());
    }
    reading.rows.header().versions.extend(space::versions(&plane.stats()?));
    reading.rows.header().versions.sort();
    for kind in plane.kinds.values() {
        let id = kind.name.rsplit_once('(').and_then(|(_, id)| id.strip_suffix(')'));
        let Some(id) = id.and_then(|id| id.parse().ok()) else { continue };
        for (key, stat) in plane.named(&kind.stats)? {
            if let ("Hlo Proto", Stat::Bytes(proto)) = (key, stat) {
                reading.programs.insert(id, Program::read(proto)?);
            }
        }
    }
    Ok(())
}

fn occurred<'a>(
    (plane, kinds): (&Plane<'a>, &Kinds<'a>),
    line: &Line<'a>,
    message: Message<'a>,
) -> Read<Occurred<'a>> {
    let event = Event::read(message)?;
    let (name, facts) = kinds.get(&event.kind).copied().unwrap_or_default();
    let stats = plane.named(&event.stats)?;
    let (start, end) = events::times(line.start_ns, event.offset_ps, event.duration_ps);
    Ok(Occurred { uid: None, name, facts: facts.with(&stats), start, end, stats })
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
