//! Reads the host calls, GPU events and annotations from the JSON text of any trace, so that they can be changed and
//! written again. Each event keeps its number in the original trace.
//!
//! When a trace is read, each span that ends after its parent is clipped, so all spans are nested. Changes to a
//! recording preserve the nesting. Flow arrows and counters are omitted.

mod event;
mod forest;
mod laminar;

pub use event::{Event, Kind, Lane};
pub use forest::Forest;

use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A trace that can be changed.
#[derive(Debug, Clone)]
pub struct Recording {
    header: Map<String, Value>,
    /// The events in file order.
    pub events: Vec<Event>,
}

impl Recording {
    /// Reads a trace from a JSON object with `traceEvents` or from a bare JSON array; returns `None` for any other JSON
    /// value.
    pub fn read(json: &[u8]) -> Option<Recording> {
        let (header, events) = split(serde_json::from_slice(json).ok()?)?;
        let origin = earliest(&events);
        let events = events.iter().filter_map(|event| Event::read(event, origin)).collect();
        let mut recording = Recording { header, events };
        for (number, event) in recording.events.iter_mut().enumerate() {
            event.origin = Some(number as u32);
        }
        laminar::clip(&mut recording.events);
        Some(recording)
    }

    /// The trace as JSON text. The uid of an event is its position in [`Recording::events`].
    pub fn write(&self) -> Vec<u8> {
        let mut text = String::from("{");
        for (key, value) in &self.header {
            text.push_str(&format!("{}:{value},", json!(key)));
        }
        text.push_str("\"traceEvents\":[");
        for (number, event) in self.events.iter().enumerate() {
            if number > 0 {
                text.push_str(",\n");
            }
            event.write(&mut text);
        }
        text.push_str("]}");
        text.into_bytes()
    }

    /// A copy of the recording without Python frames.
    #[must_use]
    pub fn without_python(&self) -> Recording {
        let mut stripped = self.clone();
        stripped.events.retain(|event| event.kind != Kind::Frame);
        stripped
    }

    /// Whether the recording contains Python frames.
    pub fn has_python(&self) -> bool {
        self.events.iter().any(|event| event.kind == Kind::Frame)
    }

    /// Whether the recording contains GPU events.
    pub fn has_gpu(&self) -> bool {
        self.events.iter().any(|event| event.kind == Kind::Gpu)
    }

    /// Removes the marked events.
    pub fn remove(&mut self, marked: &[bool]) {
        let mut marks = marked.iter();
        self.events.retain(|_| !marks.next().is_some_and(|&marked| marked));
    }

    /// Inserts each event before the event that currently has the given position.
    pub fn insert(&mut self, mut inserted: Vec<(usize, Event)>) {
        inserted.sort_by_key(|(position, _)| *position);
        let mut inserted = inserted.into_iter().peekable();
        let mut events = Vec::with_capacity(self.events.len() + inserted.len());
        for (position, event) in std::mem::take(&mut self.events).into_iter().enumerate() {
            while let Some((_, early)) = inserted.next_if(|(before, _)| *before <= position) {
                events.push(early);
            }
            events.push(event);
        }
        events.extend(inserted.map(|(_, event)| event));
        self.events = events;
    }

    /// Inserts time intervals (`rooms`) into the timeline. Events after an inserted interval move to a later time, and
    /// events that span it become longer.
    pub fn make_room(&mut self, rooms: &Rooms) {
        for event in self.events.iter_mut().filter(|event| event.kind != Kind::Other) {
            let start = event.start + rooms.until(event.start);
            event.end = start.max(event.end + rooms.before(event.end));
            event.start = start;
        }
    }

    /// A correlation id that is not used by any event.
    pub fn free_correlation(&self) -> i64 {
        self.events.iter().filter_map(|event| event.correlation).max().unwrap_or(0).max(0) + 1
    }
}

/// Time intervals ("rooms") to be inserted, in ns.
#[derive(Debug)]
pub struct Rooms {
    /// The times at which the rooms are inserted, in ascending order.
    at: Vec<i64>,
    /// For each room, the total length of all rooms before it. The list has one additional last entry: the total length
    /// of all rooms.
    sums: Vec<i64>,
}

impl Rooms {
    /// Creates rooms from pairs (time, length), which can be in any order.
    pub fn new(mut rooms: Vec<(i64, i64)>) -> Self {
        rooms.sort_unstable();
        let mut sums = vec![0];
        for &(_, length) in &rooms {
            sums.push(sums[sums.len() - 1] + length);
        }
        Rooms { at: rooms.into_iter().map(|(at, _)| at).collect(), sums }
    }

    /// How far, in ns, the start of an event at `time` is shifted.
    pub fn until(&self, time: i64) -> i64 {
        self.sums[self.at.partition_point(|&at| at <= time)]
    }

    /// How far, in ns, the end of an event at `time` is shifted. A room that is inserted at `time` starts this much
    /// later than `time`.
    pub fn before(&self, time: i64) -> i64 {
        self.sums[self.at.partition_point(|&at| at < time)]
    }
}

/// Splits a trace into its events and its other fields. The `metadata` block is omitted because it
/// may contain secrets.
fn split(trace: Value) -> Option<(Map<String, Value>, Vec<Value>)> {
    match trace {
        Value::Array(events) => Some((Map::new(), events)),
        Value::Object(mut fields) => {
            let events = fields.remove("traceEvents")?.as_array_mut().map(std::mem::take)?;
            fields.remove("metadata");
            Some((fields, events))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn earliest(events: &[Value]) -> i64 {
    let timed = events.iter().filter(|event| event.get("ph").is_some_and(|ph| ph == "X"));
    timed.filter_map(|event| event::nanos(event.get("ts"))).min().unwrap_or(0)
}

/// Arguments, shared by the copies of an event.
pub type Args = Arc<Map<String, Value>>;
