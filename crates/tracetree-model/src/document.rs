//! Parses the events of a model's trace, and keeps the relevant fields as strings.

use std::path::Path;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::input;
use tracetree_trace::error::{Error, ErrorKind, Result};

/// One entry of `traceEvents`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Event {
    pub(crate) name: Scalar,
    pub(crate) ph: Scalar,
    pub(crate) pid: Scalar,
    pub(crate) dur: Scalar,
    pub(crate) args: Option<Box<Args>>,
}

/// The arguments that are kept; all other arguments (`Inputs`, the times of the analytic model) are skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Args {
    pub(crate) name: Scalar,
    pub(crate) kernel_type: Scalar,
    pub(crate) sub_kernel_durations: Scalar,
    pub(crate) zero_cost: Scalar,
}

/// The value as a string, if it is a string, number or boolean; `None` for other types and for a missing key.
#[derive(Debug, Default)]
pub(crate) struct Scalar(Option<String>);

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "traceEvents")]
    trace_events: Option<Vec<Event>>,
}

impl Event {
    /// Whether the event is a complete event (`ph` is `X`).
    pub(crate) fn is_complete(&self) -> bool {
        self.ph.as_text() == Some("X")
    }

    /// The event's pid as a string; empty for events without a pid.
    pub(crate) fn pid(&self) -> &str {
        self.pid.as_text().unwrap_or_default()
    }

    /// The process name, if the event is the metadata event that contains it.
    pub(crate) fn process_name(&self) -> Option<&str> {
        let states_it =
            self.ph.as_text() == Some("M") && self.name.as_text() == Some("process_name");
        self.args.as_ref().filter(|_| states_it)?.name.as_text()
    }
}

impl Scalar {
    pub(crate) fn as_text(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Ok(Scalar(match Value::deserialize(deserializer)? {
            Value::Null | Value::Array(_) | Value::Object(_) => None,
            Value::Bool(truth) => Some(truth.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::String(text) => Some(text),
        }))
    }
}

/// Parses the events of a JSON document: an object with `traceEvents`, or a bare array.
///
/// # Errors
/// Fails if the bytes are not JSON or contain no list of events.
pub(crate) fn events(bytes: &[u8], path: &Path) -> Result<Vec<Event>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii_start().starts_with(b"[") {
        return serde_json::from_slice(bytes).map_err(|e| not_json(&e, bytes, path));
    }
    let document: Document =
        serde_json::from_slice(bytes).map_err(|e| not_json(&e, bytes, path))?;
    document.trace_events.ok_or_else(|| {
        Error::new(ErrorKind::NotATrace, path, "no `traceEvents` in the model's trace")
            .remedy("pass the model's Chrome trace first, then the profile")
    })
}

fn not_json(error: &serde_json::Error, bytes: &[u8], path: &Path) -> Error {
    let at = input::place(bytes, error.line(), error.column());
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    Error::new(ErrorKind::Malformed, path, format!("the model's trace cannot be read: {reason}"))
        .at(at)
        .remedy("pass the model's Chrome trace first, then the profile")
}
