//! Reads a `.trace.json.gz` file, which the profiler writes next to each profile.
//!
//! ```text
//! process_name of a pid   plane        "X"    event of the kind with its name
//! thread_name of a tid    line         args   statistics, as text
//! ```
//! The JSON file contains the events with their statistics, but no compiled programs.

use super::super::rows::{self, Rows};
use super::super::source::begins;
use super::events::{Occurred, Reading, Track, times};
use super::host::Facts;
use super::space::Stat;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::trace::ids::Uid;
use simd_json::prelude::*;
use simd_json::tape::Value;
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

/// Reads an XLA JSON file. Overwrites the bytes, because strings are unescaped in place.
///
/// # Errors
/// Fails if the bytes are not JSON in this format.
pub(super) fn read(name: &str, bytes: &mut [u8]) -> Result<Rows> {
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
        planes.add(event);
    }
    planes.read(name)
}

#[derive(Default)]
struct Planes<'t, 'a> {
    planes: BTreeMap<i64, Plane<'t, 'a>>,
    total: u64,
}

#[derive(Default)]
struct Plane<'t, 'a> {
    name: &'a str,
    lines: BTreeMap<u64, Line<'t, 'a>>,
}

#[derive(Default)]
struct Line<'t, 'a> {
    name: &'a str,
    /// The events of the line, each with its uid.
    events: Vec<(Uid, Value<'t, 'a>)>,
}

impl<'t, 'a> Planes<'t, 'a> {
    /// Adds an element of `traceEvents`. Metadata elements name planes and lines. An element that is neither metadata
    /// nor a complete event (`ph: X` with `pid`, `tid` and `ts`) is only counted.
    fn add(&mut self, event: Value<'t, 'a>) {
        let uid = Uid(u32::try_from(self.total).unwrap_or(u32::MAX));
        self.total += 1;
        // Thread ids have 64 bits, and some versions write thread ids as signed numbers.
        let tid = event.get_u64("tid").or_else(|| event.get_i64("tid").map(|id| id as u64));
        match (event.get_str("ph"), event.get_i64("pid"), tid) {
            (Some("M"), Some(pid), tid) => {
                let plane = self.planes.entry(pid).or_default();
                let given = argument(event, "name").unwrap_or_default();
                match (event.get_str("name"), tid) {
                    (Some("process_name"), _) => plane.name = given,
                    (Some("thread_name"), Some(tid)) => {
                        plane.lines.entry(tid).or_default().name = given;
                    }
                    _ => {}
                }
            }
            (Some("X"), Some(pid), Some(tid)) if picoseconds(event, "ts").is_some() => {
                let plane = self.planes.entry(pid).or_default();
                plane.lines.entry(tid).or_default().events.push((uid, event));
            }
            // Ignores counters, arrows, and the `{}` that ends the list.
            _ => {}
        }
    }

    fn read(self, name: &str) -> Result<Rows> {
        let names: Vec<&str> = self.planes.values().map(|plane| plane.name).collect();
        let mut reading = Reading::of(name, &names)?;
        let mut other = self.total;
        for plane in self.planes.into_values() {
            reading.add_device(plane.name, &[]);
            for (id, line) in plane.lines {
                other -= line.events.len() as u64;
                let track = Track { plane: plane.name, id, line: line.name };
                reading.read_line(track, line.events.into_iter().map(|one| Ok(occurred(one))))?;
            }
        }
        reading.rows.leave_out_many("metadata, counter or event without a time", other);
        reading.rows.count_all(self.total);
        reading.finish()
    }
}

fn occurred<'a>((uid, event): (Uid, Value<'_, 'a>)) -> Occurred<'a> {
    let stat = |(key, value): (&'a str, Value<'_, 'a>)| {
        let number = || value.as_i64().map(Stat::Number);
        Some((key, value.into_string().map(Stat::Text).or_else(number)?))
    };
    let arguments = event.get_object("args");
    let stats: Vec<_> = arguments.iter().flatten().filter_map(stat).collect();
    // If the name of an event is shortened, `long_name` contains the full name from the profile.
    let full = argument(event, "long_name").filter(|name| !name.starts_with('%'));
    let name = full.or_else(|| event.get("name")?.into_string()).unwrap_or_default();
    let time = |key| picoseconds(event, key).unwrap_or(0);
    let (start, end) = times(0, time("ts"), time("dur"));
    let (name, facts) = (rows::beginning(name), Facts::default().with(&stats));
    Occurred { uid: Some(uid), name, facts, start, end, stats }
}

fn argument<'a>(event: Value<'_, 'a>, key: &str) -> Option<&'a str> {
    event.get_object("args")?.get(key)?.into_string()
}

/// A time in microseconds as picoseconds. A time that does not fit saturates.
fn picoseconds(event: Value<'_, '_>, key: &str) -> Option<i64> {
    Some((event.get(key)?.cast_f64()? * 1e6).round() as i64)
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
        let error = read("t", &mut text).err().expect("damaged").to_string();
        assert!(error.starts_with("t: byte 31: ") && error.contains(".xplane.pb"), "{error}");
    }
}
