//! Reads the messages in a profile: planes, lines, events and their statistics, and the devices and versions that the
//! statistics of planes describe.

use super::wire::{Message, Read, Value};
use crate::trace::header::Device;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The events of a device or of the host.
#[derive(Debug, Default)]
pub(super) struct Plane<'a> {
    pub(super) name: &'a str,
    pub(super) lines: Vec<Message<'a>>,
    pub(super) kinds: BTreeMap<u64, Kind<'a>>,
    stat_names: FxHashMap<u64, &'a str>,
    stats: Vec<Message<'a>>,
}

/// The name and the statistics that all events of one kind share.
#[derive(Debug, Default, Clone)]
pub(super) struct Kind<'a> {
    pub(super) name: &'a str,
    pub(super) stats: Vec<Message<'a>>,
}

/// The events on a thread or a stream.
#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    pub(super) id: u64,
    pub(super) name: &'a str,
    pub(super) start_ns: i64,
    pub(super) events: Vec<Message<'a>>,
}

/// An event.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) kind: u64,
    pub(super) offset_ps: i64,
    pub(super) duration_ps: i64,
    pub(super) stats: Vec<Message<'a>>,
}

/// The value of a statistic.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stat<'a> {
    Number(i64),
    Text(&'a str),
    Bytes(Message<'a>),
}

impl Stat<'_> {
    /// The value as a number; some versions write the number as a string.
    pub(super) fn number(self) -> Option<i64> {
        match self {
            Stat::Number(number) => Some(number),
            Stat::Text(text) => text.parse().ok(),
            Stat::Bytes(_) => None,
        }
    }
}

impl<'a> Plane<'a> {
    /// The planes of an XSpace.
    pub(super) fn all(space: Message<'a>) -> Read<Vec<Plane<'a>>> {
        let mut planes = Vec::new();
        for field in space.fields() {
            if let (1, plane) = field? {
                planes.push(Plane::read(plane.message())?);
            }
        }
        Ok(planes)
    }

    fn read(message: Message<'a>) -> Read<Plane<'a>> {
        let mut plane = Plane::default();
        for field in message.fields() {
            let (number, value) = field?;
            let value = value.message();
            match number {
                2 => plane.name = value.text(),
                3 => plane.lines.push(value),
                4 => {
                    let (id, kind) = read_kind(value)?;
                    plane.kinds.insert(id, kind);
                }
                5 => {
                    let (id, name) = read_entry(value)?;
                    let mut text = "";
                    for field in name.fields() {
                        if let (2, value) = field? {
                            text = value.message().text();
                        }
                    }
                    plane.stat_names.insert(id, text);
                }
                6 => plane.stats.push(value),
                _ => {}
            }
        }
        Ok(plane)
    }

    /// The statistics of the plane itself.
    pub(super) fn stats(&self) -> Read<Vec<(&'a str, Stat<'a>)>> {
        self.named(&self.stats)
    }

    /// The given statistics, each with its name.
    pub(super) fn named(&self, stats: &[Message<'a>]) -> Read<Vec<(&'a str, Stat<'a>)>> {
        let mut named = Vec::with_capacity(stats.len());
        for stat in stats {
            let (mut name, mut found) = ("", None);
            for field in stat.fields() {
                match field? {
                    (1, id) => name = self.stat_names.get(&id.number()).copied().unwrap_or(""),
                    (3 | 4, Value::Number(number)) => found = Some(Stat::Number(number as i64)),
                    (5, text) => found = Some(Stat::Text(text.message().text())),
                    (6, bytes) => found = Some(Stat::Bytes(bytes.message())),
                    (7, Value::Number(id)) => {
                        found = self.stat_names.get(&id).map(|text| Stat::Text(text));
                    }
                    _ => {}
                }
            }
            named.extend(found.map(|found| (name, found)));
        }
        Ok(named)
    }
}

impl<'a> Line<'a> {
    pub(super) fn read(message: Message<'a>) -> Read<Line<'a>> {
        let (mut line, mut display) = (Line::default(), "");
        for field in message.fields() {
            match field? {
                (1, value) => line.id = value.number(),
                (2, value) => line.name = value.message().text(),
                (3, value) => line.start_ns = value.number() as i64,
                (4, value) => line.events.push(value.message()),
                (11, value) => display = value.message().text(),
                _ => {}
            }
        }
        if line.name.is_empty() {
            line.name = display;
        }
        Ok(line)
    }
}

impl<'a> Event<'a> {
    pub(super) fn read(message: Message<'a>) -> Read<Event<'a>> {
        let mut event = Event::default();
        for field in message.fields() {
            match field? {
                (1, value) => event.kind = value.number(),
                (2, value) => event.offset_ps = value.number() as i64,
                (3, value) => event.duration_ps = value.number() as i64,
                (4, value) => event.stats.push(value.message()),
                _ => {}
            }
        }
        Ok(event)
    }
}

/// The number and the value of a map entry.
fn read_entry(message: Message<'_>) -> Read<(u64, Message<'_>)> {
    let (mut id, mut content) = (0, Message::default());
    for field in message.fields() {
        match field? {
            (1, value) => id = value.number(),
            (2, value) => content = value.message(),
            _ => {}
        }
    }
    Ok((id, content))
}

fn read_kind(message: Message<'_>) -> Read<(u64, Kind<'_>)> {
    let (id, content) = read_entry(message)?;
    let (mut kind, mut display) = (Kind::default(), "");
    for field in content.fields() {
        match field? {
            (2, value) => kind.name = value.message().text(),
            (4, value) => display = value.message().text(),
            (5, value) => kind.stats.push(value.message()),
            _ => {}
        }
    }
    // On a TPU, the name of an op is the op's HLO text: `%fusion.3 = f32[8]{0} fusion(...)`.
    if kind.name.is_empty() || (kind.name.starts_with('%') && !display.is_empty()) {
        kind.name = display;
    }
    Ok((id, kind))
}

/// Keys of the versions that are read from the metadata.
const VERSIONS: [&str; 5] = [
    "cuda_driver_version",
    "cuda_runtime_version",
    "jax_version",
    "jaxlib_version",
    "rocm_version",
];

/// Maximum length of a version string.
const LONGEST_VERSION: usize = 40;

/// The versions in the metadata statistics.
pub(super) fn versions(stats: &[(&str, Stat<'_>)]) -> Vec<(String, String)> {
    let version = |(key, stat): &(&str, Stat<'_>)| match *stat {
        Stat::Text(text)
            if VERSIONS.contains(key)
                && text.len() <= LONGEST_VERSION
                && text.starts_with(|first: char| first.is_ascii_digit()) =>
        {
            Some(((*key).to_owned(), text.to_owned()))
        }
        Stat::Text(_) | Stat::Number(_) | Stat::Bytes(_) => None,
    };
    stats.iter().filter_map(version).collect()
}

/// The GPU that the plane with this number describes.
pub(super) fn device(number: &str, stats: &[(&str, Stat<'_>)]) -> Device {
    let find = |key: &str| stats.iter().find(|(name, _)| *name == key).map(|(_, stat)| *stat);
    let number_of = |key: &str| find(key)?.number();
    let text = |key: &str| match find(key) {
        Some(Stat::Text(text)) => text,
        Some(Stat::Number(_) | Stat::Bytes(_)) | None => "",
    };
    let (name, vendor) = (text("gpu_device_name"), text("device_vendor"));
    Device {
        id: number.parse().unwrap_or(0),
        name: if name.is_empty() && !vendor.is_empty() {
            format!("{vendor} GPU")
        } else {
            name.to_owned()
        },
        capability: number_of("compute_cap_major").zip(number_of("compute_cap_minor")),
        memory_bytes: number_of("memory_size").and_then(|bytes| u64::try_from(bytes).ok()),
        multiprocessors: number_of("core_count"),
        warp_size: None,
    }
}
