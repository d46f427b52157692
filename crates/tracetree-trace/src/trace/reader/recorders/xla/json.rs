//! Converts a `.trace.json.gz` file, which the profiler writes next to each profile, back to a
//! profile.
//!
//! ```text
//! process_name of a pid   plane        "X"    event of the kind with its name
//! thread_name of a tid    line         args   statistics, as text
//! ```
//! The JSON file contains the events with their statistics, but no compiled programs.

use super::encode::{Field, Names};
use crate::error::{Error, ErrorKind, Place, Result};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The beginning of an XLA JSON file, without white space.
const HEAD: &[u8] = br#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true}"#;

/// Whether a file that begins with these bytes is an XLA JSON file.
pub(super) fn recognises(head: &[u8]) -> bool {
    let mut own = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    HEAD.iter().all(|byte| own.next() == Some(byte))
}

/// Whether these bytes, followed by more bytes, may be the beginning of an XLA JSON file.
pub(super) fn may_follow(head: &[u8]) -> bool {
    let own: Vec<u8> = head.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    own.len() < HEAD.len() && HEAD.starts_with(&own)
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

/// Converts an XLA JSON file to a profile.
///
/// # Errors
/// Fails if the bytes are not JSON in this format.
pub(super) fn convert(name: &str, bytes: &[u8]) -> Result<Converted> {
    let mut planes = Planes::default();
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = json.deserialize_map(File(&mut planes)).and_then(|()| json.end());
    read.map_err(|error| {
        let above = bytes.split_inclusive(|byte| *byte == b'\n').take(error.line().max(1) - 1);
        let offset = above.map(<[u8]>::len).sum::<usize>() + error.column().max(1) - 1;
        let message = format!("the profile is truncated or damaged: {error}");
        Error::new(ErrorKind::Malformed, name, message)
            .at(Place { offset: offset as u64, event: None })
            .remedy("pass the .xplane.pb in the same folder, or record the profile again")
    })?;
    Ok(planes.finish())
}

/// Reads the top-level object, which contains the events.
struct File<'p>(&'p mut Planes);

impl<'de> Visitor<'de> for File<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with traceEvents")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "traceEvents" => map.next_value_seed(Events(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Reads the events one by one, so that only their encoded form is kept.
struct Events<'p>(&'p mut Planes);

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> std::result::Result<(), A::Error> {
        while let Some(event) = events.next_element()? {
            self.0.add(event);
        }
        Ok(())
    }
}

/// An element of `traceEvents`. Numbers may have any JSON type; an event with an impossible number
/// is ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    ph: String,
    pid: Value,
    tid: Value,
    name: String,
    ts: Value,
    dur: Value,
    args: BTreeMap<String, Value>,
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
    /// The events, encoded as protobuf fields of the line.
    events: Vec<u8>,
    uids: Vec<u32>,
}

impl Planes {
    fn add(&mut self, mut event: Event) {
        let uid = u32::try_from(self.total).unwrap_or(u32::MAX);
        self.total += 1;
        // Thread ids have 64 bits, and some versions write thread ids as signed numbers.
        let tid = event.tid.as_u64().or_else(|| event.tid.as_i64().map(|id| id as u64));
        let given = event.args.get("name").and_then(Value::as_str).unwrap_or_default();
        match (event.ph.as_str(), event.pid.as_i64(), tid) {
            ("M", Some(pid), tid) => {
                let plane = self.planes.entry(pid).or_default();
                match (event.name.as_str(), tid) {
                    ("process_name", _) => given.clone_into(&mut plane.name),
                    ("thread_name", Some(tid)) => {
                        given.clone_into(&mut plane.lines.entry(tid).or_default().name);
                    }
                    _ => {}
                }
            }
            ("X", Some(pid), Some(tid)) if event.ts.is_number() => {
                let plane = self.planes.entry(pid).or_default();
                // In some events, the name is shortened; `long_name` then contains the full name
                // from the profile.
                if let Some(Value::String(name)) = event.args.remove("long_name")
                    && !name.starts_with('%')
                {
                    event.name = name;
                }
                let encoded = plane.encode(&event);
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
    fn encode(&mut self, event: &Event) -> Vec<u8> {
        let mut encoded = Vec::new();
        Field(&mut encoded).number(1, self.kinds.id(&event.name));
        Field(&mut encoded).number(2, picoseconds(&event.ts));
        Field(&mut encoded).number(3, picoseconds(&event.dur));
        for (key, value) in &event.args {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => continue,
            };
            let mut stat = Vec::new();
            Field(&mut stat).number(1, self.stats.id(key));
            Field(&mut stat).bytes(5, text.as_bytes());
            Field(&mut encoded).bytes(4, &stat);
        }
        encoded
    }
}

/// Converts microseconds to picoseconds, as the bits of an `i64`. An impossible time becomes 0.
fn picoseconds(us: &Value) -> u64 {
    (us.as_f64().unwrap_or(0.0) * 1e6).round() as i64 as u64
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
        let text = b"{\"traceEvents\": [\n {\"ph\": \"X\", ]}";
        let error = convert("t", text).err().expect("damaged").to_string();
        assert!(error.starts_with("t: byte 31: ") && error.contains(".xplane.pb"), "{error}");
    }
}
