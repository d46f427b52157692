//! Converts a JSON event to and from an [`Event`] with times in ns.

use super::Args;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// The kind of an event. [`super::Recording`] distinguishes only these kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `cpu_op`.
    Op,
    /// `python_function`.
    Frame,
    /// A host call into the GPU runtime or driver.
    Runtime,
    /// A kernel, memcpy or memset.
    Gpu,
    /// A user annotation, on the host or on the GPU.
    Annotation,
    /// A metadata event, which has no time and is never changed.
    Other,
}

impl Kind {
    /// Whether events of this kind are calls on a host thread.
    pub fn is_host(self) -> bool {
        matches!(self, Kind::Op | Kind::Frame | Kind::Runtime)
    }

    /// The kind of a complete event, derived from its category. Both old and new category names are recognized.
    fn of(category: &str) -> Option<Kind> {
        match category {
            "cpu_op" | "Operator" => Some(Kind::Op),
            "python_function" => Some(Kind::Frame),
            "cuda_runtime" | "cuda_driver" | "hip_runtime" | "hip_driver" | "Runtime" => {
                Some(Kind::Runtime)
            }
            "kernel" | "Kernel" | "gpu_memcpy" | "Memcpy" | "gpu_memset" | "Memset" => {
                Some(Kind::Gpu)
            }
            "user_annotation" | "gpu_user_annotation" => Some(Kind::Annotation),
            _ => None,
        }
    }
}

/// A pair (pid, tid) as JSON text.
pub type Lane = (Arc<str>, Arc<str>);

/// An event in a [`super::Recording`].
#[derive(Debug, Clone)]
pub struct Event {
    /// The event's number in the original recording; `None` for an added event.
    pub origin: Option<u32>,
    /// The kind of the event.
    pub kind: Kind,
    /// `cat`.
    pub category: Arc<str>,
    /// `name`.
    pub name: Arc<str>,
    /// `pid` and `tid`.
    pub lane: Lane,
    /// Start time, in ns after the earliest event.
    pub start: i64,
    /// End time (exclusive), in ns after the earliest event.
    pub end: i64,
    /// The value of `args.correlation`, unless it is a placeholder (0, -1).
    pub correlation: Option<i64>,
    /// `args`.
    pub args: Args,
    /// If the event is a compiled region or a multi-tensor op, the origins of the GPU events that it replaced;
    /// otherwise empty.
    pub replaces: Vec<u32>,
}

impl Event {
    /// Reads an event; `None` if the event is not needed for comparisons.
    pub(super) fn read(event: &Value, earliest: i64) -> Option<Event> {
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = match text("ph") {
            "X" => Kind::of(text("cat"))?,
            "M" => Kind::Other,
            _ => return None,
        };
        let args = event.get("args").and_then(Value::as_object).cloned().unwrap_or_default();
        let start = nanos(event.get("ts")).unwrap_or(earliest) - earliest;
        Some(Event {
            origin: None,
            kind,
            category: text("cat").into(),
            name: text("name").into(),
            lane: (field(event, "pid"), field(event, "tid")),
            start,
            end: start + nanos(event.get("dur")).unwrap_or(0).max(0),
            correlation: whole(args.get("correlation")).filter(|&id| id > 0),
            args: Arc::new(args),
            replaces: Vec::new(),
        })
    }

    /// A new event, without arguments.
    pub fn new(kind: Kind, category: &str, name: &str, lane: &Lane, span: (i64, i64)) -> Event {
        Event {
            origin: None,
            kind,
            category: category.into(),
            name: name.into(),
            lane: lane.clone(),
            start: span.0,
            end: span.1,
            correlation: None,
            args: Arc::new(Map::new()),
            replaces: Vec::new(),
        }
    }

    /// Sets the event's correlation id.
    #[must_use]
    pub fn correlated(mut self, id: i64) -> Event {
        self.correlation = Some(id);
        Arc::make_mut(&mut self.args).insert("correlation".to_owned(), json!(id));
        self
    }

    /// Moves the event in time by a number of ns.
    #[must_use]
    pub fn moved(mut self, by: i64) -> Event {
        self.start += by;
        self.end += by;
        self
    }

    pub(super) fn write(&self, text: &mut String) {
        let phase = if self.kind == Kind::Other { "M" } else { "X" };
        let (pid, tid) = &self.lane;
        write!(
            text,
            r#"{{"ph":"{phase}","cat":{},"name":{},"pid":{pid},"tid":{tid},"ts":{},"dur":{},"args":{}}}"#,
            json!(&*self.category),
            json!(&*self.name),
            Micros(self.start),
            Micros(self.end - self.start),
            serde_json::to_string(&*self.args).expect("a map of JSON values is JSON"),
        )
        .expect("writing to a string does not fail");
    }
}

/// A time in ns, displayed as µs with three decimals.
struct Micros(i64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0.div_euclid(1000), self.0.rem_euclid(1000))
    }
}

/// Reads a field that contains a time in µs, as a number or as a string, and returns the time in ns. Integers are
/// converted exactly, even if a double could not represent the time in ns.
pub(super) fn nanos(value: Option<&Value>) -> Option<i64> {
    if let Some(micros) = whole(value) {
        return micros.checked_mul(1000);
    }
    let value = value?;
    let micros = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Some((micros * 1000.0).round() as i64)
}

fn whole(value: Option<&Value>) -> Option<i64> {
    let value = value?;
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn field(event: &Value, key: &str) -> Arc<str> {
    event.get(key).map_or_else(|| "null".into(), |value| value.to_string().into())
}
