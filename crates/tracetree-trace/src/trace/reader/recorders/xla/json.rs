//! Converts a `.trace.json.gz` file, which the profiler writes next to each profile, back to a
//! profile.
//!
//! ```text
//! process_name of a pid   plane        "X"    event of the kind with its name
//! thread_name of a tid    line         args   statistics, as text
//! ```
//! The JSON file contains the events with their statistics, but no compiled programs.

use super::super::source::begins;
use super::encode::{Field, Names};
use crate::error::{Error, ErrorKind, Place, Result};
use simd_json::prelude::*;
use simd_json::tape::{Object, Value};
use std::collections::BTreeMap;

/// The beginning of an XLA JSON file, without white space.
const HEAD: &[u8] = br#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true}"#;

/// Whether a file that begins with these bytes is an XLA JSON file.
pub(super) fn recognises(head: &[u8]) -> bool {
    begins(head, HEAD) == Some(true)
}

/// Whether these bytes may be the beginning of an XLA JSON file, but are too few to decide.
pub(super) fn may_follow(head: &[u8]) -> bool {
    begins(head, HEAD).is_none()
}

/// A profile that was read from JSON.
pub(super) struct Converted {
    /// The profile in protobuf format.
    pub(super) profile: Vec<u8>,
    /// For each event in profile order, its position in `traceEvents`.
    pub(super) uids: Vec<u32>,
    /// Length of `traceEvents`.
    pub(super) total: u64,
}

/// Converts an XLA JSON file to a profile. Overwrites the bytes, because strings are unescaped in place.
///
/// # Errors
/// Fails if the bytes are not JSON in this format.
pub(super) fn convert(name: &str, bytes: &mut [u8]) -> Result<Converted> {
    let malformed = |offset: usize, message: String| {
        Error::new(ErrorKind::Malformed, name, message)
            .at(Place { offset: offset as u64, event: None })
            .remedy("pass the .xplane.pb in the same folder, or record the profile again")
    };
    let tape = simd_json::to_tape(bytes).map_err(|error| {
        let message = format!("the profile is truncated or damaged: {error}");
        malformed(error.index(), message)
    })?;
    let events = tape.as_value().get_array("traceEvents");
    let events = events.ok_or_else(|| malformed(0, "the list `traceEvents` is missing".into()))?;
    let mut planes = Planes::default();
    for event in &events {
        planes.add(&event);
    }
    Ok(planes.finish())
}

#[derive(Default)]
struct Planes {
    planes: BTreeMap<i64, Plane>,
    total: u64,
}

#[derive(Default)]
struct Plane {
    name: String,
    lines: BTreeMap<u64, Line>,
    kinds: Names,
    stats: Names,
}

#[derive(Default)]
struct Line {
    name: String,
    /// The events of the line, encoded as protobuf fields.
    events: Vec<u8>,
    uids: Vec<u32>,
}

impl Planes {
    /// Adds an element of `traceEvents`. Metadata elements name planes and lines. An element that is neither metadata
    /// nor a complete event (`ph: X` with `pid`, `tid` and `ts`) is only counted.
    fn add(&mut self, event: &Value<'_, '_>) {
        let uid = u32::try_from(self.total).unwrap_or(u32::MAX);
        self.total += 1;
        // Thread ids have 64 bits, and some versions write thread ids as signed numbers.
        let tid = event.get_u64("tid").or_else(|| event.get_i64("tid").map(|id| id as u64));
        let arguments = event.get_object("args");
        let argument = |key| arguments.as_ref().and_then(|all| all.get(key)?.into_string());
        let name = event.get_str("name").unwrap_or_default();
        match (event.get_str("ph"), event.get_i64("pid"), tid) {
            (Some("M"), Some(pid), tid) => {
                let plane = self.planes.entry(pid).or_default();
                let given = argument("name").unwrap_or_default();
                match (name, tid) {
                    ("process_name", _) => given.clone_into(&mut plane.name),
                    ("thread_name", Some(tid)) => {
                        given.clone_into(&mut plane.lines.entry(tid).or_default().name);
                    }
                    _ => {}
                }
            }
            (Some("X"), Some(pid), Some(tid)) => {
                let Some(start) = number(event, "ts") else { return };
                let plane = self.planes.entry(pid).or_default();
                // If the name of an event is shortened, `long_name` contains the full name from the
                // profile.
                let full = argument("long_name").filter(|name| !name.starts_with('%'));
                let mut encoded = Vec::new();
                Field(&mut encoded).number(1, plane.kinds.id(full.unwrap_or(name)));
                Field(&mut encoded).number(2, picoseconds(start));
                Field(&mut encoded).number(3, picoseconds(number(event, "dur").unwrap_or(0.0)));
                plane.encode_arguments(arguments.as_ref(), &mut encoded);
                let line = plane.lines.entry(tid).or_default();
                Field(&mut line.events).bytes(4, &encoded);
                line.uids.push(uid);
            }
            // Ignores counters, arrows, and the `{}` that ends the list.
            _ => {}
        }
    }

    fn finish(self) -> Converted {
        let (mut profile, mut uids) = (Vec::new(), Vec::new());
        for plane in self.planes.into_values() {
            let mut encoded = Vec::new();
            Field(&mut encoded).bytes(2, plane.name.as_bytes());
            for (id, line) in plane.lines {
                let mut own = Vec::new();
                Field(&mut own).number(1, id);
                Field(&mut own).bytes(2, line.name.as_bytes());
                own.extend_from_slice(&line.events);
                Field(&mut encoded).bytes(3, &own);
                uids.extend(line.uids);
            }
            plane.kinds.encode(4, &mut encoded);
            plane.stats.encode(5, &mut encoded);
            Field(&mut profile).bytes(1, &encoded);
        }
        Converted { profile, uids, total: self.total }
    }
}

impl Plane {
    /// Encodes the arguments of an event as statistics, sorted by name. The argument that contains the full name of the
    /// event is omitted.
    fn encode_arguments(&mut self, arguments: Option<&Object<'_, '_>>, encoded: &mut Vec<u8>) {
        let all: BTreeMap<&str, Value<'_, '_>> = arguments.into_iter().flatten().collect();
        for (key, value) in all {
            let text = (value.as_bool().map(|flag| flag.to_string()))
                .or_else(|| value.as_i128().map(|whole| whole.to_string()))
                .or_else(|| value.as_f64().map(|number| format!("{number:?}")))
                .or_else(|| value.into_string().map(str::to_owned));
            let is_name = |text: &String| key == "long_name" && !text.starts_with('%');
            let Some(text) = text.filter(|text| !is_name(text)) else { continue };
            let mut stat = Vec::new();
            Field(&mut stat).number(1, self.stats.id(key));
            Field(&mut stat).bytes(5, text.as_bytes());
            Field(encoded).bytes(4, &stat);
        }
    }
}

fn number(event: &Value<'_, '_>, key: &str) -> Option<f64> {
    event.get(key)?.cast_f64()
}

/// Converts microseconds to picoseconds, as the bits of an `i64`. A time that does not fit
/// saturates.
fn picoseconds(us: f64) -> u64 {
    (us * 1e6).round() as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_recognized_by_the_first_bytes() {
        let head = br#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":["#;
        assert!(recognises(head));
        assert!(recognises(br#"{ "displayTimeUnit": "ns", "metadata": {"highres-ticks": true} }"#));
        assert!(!recognises(br#"{"displayTimeUnit":"ms","metadata":{"highres-ticks":true}"#));
        assert!(!recognises(&head[..40]) && !recognises(b""));
        assert!(may_follow(b"") && may_follow(&head[..40]) && !may_follow(head));
        assert!(!may_follow(b"{\"schemaVersion\"") && !may_follow(b"[]"));
    }

    #[test]
    fn damage_has_a_position_and_a_remedy() {
        let mut text = b"{\"traceEvents\": [\n {\"ph\": \"X\", ]}".to_vec();
        let error = convert("t", &mut text).err().expect("damaged").to_string();
        assert!(error.starts_with("t: byte 31: ") && error.contains(".xplane.pb"), "{error}");
    }
}
