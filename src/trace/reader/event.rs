//! A cursor at an event → its fields, as slices of the text.

use super::cursor::{Cursor, Stop, Value};
use super::numbers;

/// The fields of one event that a trace keeps. Of duplicate keys the last one counts.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) phase: Value<'a>,
    pub(super) category: Value<'a>,
    pub(super) name: Value<'a>,
    pub(super) pid: Value<'a>,
    pub(super) tid: Value<'a>,
    pub(super) start: Value<'a>,
    pub(super) duration: Value<'a>,
    pub(super) id: Value<'a>,
    pub(super) args: Args<'a>,
    /// Whether the event is `{}`.
    pub(super) is_empty: bool,
    pub(super) extra_commas: u32,
    pub(super) wrong_types: u32,
}

/// The arguments of one event that a trace keeps.
#[derive(Debug, Default)]
pub(super) struct Args<'a> {
    pub(super) correlation: Option<i64>,
    pub(super) external_id: Option<i64>,
    pub(super) sequence: Option<i64>,
    pub(super) forward_thread: Option<i64>,
    pub(super) device: Option<i64>,
    pub(super) stream: Option<i64>,
    pub(super) bytes: Option<u64>,
    pub(super) graph_node: Option<u64>,
    pub(super) dims: Value<'a>,
    pub(super) types: Value<'a>,
    pub(super) strides: Value<'a>,
    pub(super) concrete: Value<'a>,
    pub(super) call_stack: Value<'a>,
    pub(super) collective: Value<'a>,
    pub(super) name: Value<'a>,
}

/// Reads the event whose `{` is next into `fields`, which is empty before.
///
/// # Errors
/// [`Stop`] where the text ends, or is no JSON, before the event does.
#[inline]
pub(super) fn read<'a>(cursor: &mut Cursor<'a>, fields: &mut Fields<'a>) -> Result<(), Stop> {
    cursor.bump();
    if cursor.eat(b'}')? {
        fields.is_empty = true;
        return Ok(());
    }
    loop {
        read_field(cursor, fields)?;
        if cursor.members_end(&mut fields.extra_commas)? {
            return Ok(());
        }
    }
}

#[inline]
fn read_field<'a>(cursor: &mut Cursor<'a>, fields: &mut Fields<'a>) -> Result<(), Stop> {
    let key = cursor.key()?;
    if key == b"args" {
        return read_args(cursor, fields);
    }
    let value = cursor.value()?;
    match key {
        b"ph" => fields.phase = value,
        b"cat" => fields.category = value,
        b"name" => fields.name = value,
        b"pid" => fields.pid = value,
        b"tid" => fields.tid = value,
        b"ts" => fields.start = value,
        b"dur" => fields.duration = value,
        b"id" => fields.id = value,
        _ => {}
    }
    Ok(())
}

/// Reads the value of `args`. Python frames have nothing there that a trace keeps.
fn read_args<'a>(cursor: &mut Cursor<'a>, fields: &mut Fields<'a>) -> Result<(), Stop> {
    if cursor.peek()? != b'{' || fields.category == Value::Text(b"python_function") {
        let value = cursor.value()?;
        let is_right = matches!(value, Value::Null | Value::Composite([b'{', ..]));
        fields.wrong_types += u32::from(!is_right);
        return Ok(());
    }
    cursor.bump();
    if cursor.eat(b'}')? {
        return Ok(());
    }
    loop {
        fields.wrong_types += u32::from(!read_arg(cursor, &mut fields.args)?);
        if cursor.members_end(&mut fields.extra_commas)? {
            return Ok(());
        }
    }
}

/// Reads one argument; whether its type was right.
#[inline]
fn read_arg<'a>(cursor: &mut Cursor<'a>, args: &mut Args<'a>) -> Result<bool, Stop> {
    let key = cursor.key()?;
    let value = cursor.value()?;
    Ok(match key {
        b"correlation" | b"connection_id" => number(value, numbers::integer, &mut args.correlation),
        b"External id" | b"external id" => number(value, numbers::integer, &mut args.external_id),
        b"Sequence number" => number(value, numbers::integer, &mut args.sequence),
        b"Fwd thread id" => number(value, numbers::integer, &mut args.forward_thread),
        b"device" | b"dev-id" => number(value, numbers::integer, &mut args.device),
        b"stream" | b"stream-id" | b"Stream Id" => number(value, numbers::id, &mut args.stream),
        b"bytes" => number(value, numbers::unsigned, &mut args.bytes),
        b"graph node id" => number(value, numbers::unsigned, &mut args.graph_node),
        b"Input Dims" | b"Input dims" => list(value, &mut args.dims),
        b"Input type" => list(value, &mut args.types),
        b"Input Strides" => list(value, &mut args.strides),
        b"Concrete Inputs" => list(value, &mut args.concrete),
        b"Call stack" => text(value, &mut args.call_stack),
        b"Collective name" => text(value, &mut args.collective),
        b"name" => text(value, &mut args.name),
        _ => true,
    })
}

/// Keeps a number, plain or in quotes; `null` and an empty text are none.
#[inline]
fn number<T>(value: Value<'_>, parse: impl Fn(&[u8]) -> Option<T>, field: &mut Option<T>) -> bool {
    match value {
        Value::Null | Value::Text(b"") => true,
        Value::Absent | Value::Text(_) | Value::Scalar(_) | Value::Composite(_) => {
            let parsed = value.bytes().and_then(parse);
            let is_number = parsed.is_some();
            *field = parsed.or(field.take());
            is_number
        }
    }
}

fn list<'a>(value: Value<'a>, field: &mut Value<'a>) -> bool {
    match value {
        Value::Composite(_) | Value::Text(_) => *field = value,
        Value::Null => {}
        Value::Absent | Value::Scalar(_) => return false,
    }
    true
}

fn text<'a>(value: Value<'a>, field: &mut Value<'a>) -> bool {
    match value {
        Value::Text(_) => *field = value,
        Value::Null => {}
        Value::Absent | Value::Scalar(_) | Value::Composite(_) => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::index::index_scalar;
    use super::*;

    fn with_fields<T>(text: &str, check: impl FnOnce(Result<Fields<'_>, Stop>) -> T) -> T {
        let mut index = Vec::new();
        index_scalar(text.as_bytes(), &mut index);
        let mut fields = Fields::default();
        let read = read(&mut Cursor::new(text.as_bytes(), &index, 0), &mut fields);
        check(read.map(|()| fields))
    }

    #[test]
    fn an_event_gives_its_fields() {
        let text = r#"{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1.5, "dur": 2,
            "args": {"correlation": "12", "stream": 7, "bytes": 64, "grid": [1, 1, 1], "Collective name": "allreduce"}}"#;
        with_fields(text, |fields| {
            let fields = fields.expect("an event");
            assert_eq!(fields.phase, Value::Text(b"X"));
            assert_eq!(fields.tid, Value::Text(b"stream 7"));
            assert_eq!(fields.start, Value::Scalar(b"1.5"));
            assert_eq!(
                (fields.args.correlation, fields.args.stream, fields.args.bytes),
                (Some(12), Some(7), Some(64))
            );
            assert_eq!(fields.args.collective, Value::Text(b"allreduce"));
            assert_eq!((fields.wrong_types, fields.extra_commas), (0, 0));
        });
    }

    #[test]
    fn wrong_types_are_counted_and_ignored() {
        let text = r#"{"args": {"correlation": [], "External id": "x", "Input Dims": 5, "Call stack": null, "bytes": -1}}"#;
        with_fields(text, |fields| {
            let fields = fields.expect("an event");
            assert_eq!(fields.wrong_types, 4);
            assert_eq!(fields.args.correlation, None);
        });
        assert_eq!(with_fields(r#"{"args": "x"}"#, |f| f.expect("an event").wrong_types), 1);
    }

    #[test]
    fn the_last_of_duplicate_keys_counts() {
        with_fields(
            r#"{"name": "a", "name": "b", "args": {"External id": 1, "External id": 2}}"#,
            |fields| {
                let fields = fields.expect("an event");
                assert_eq!((fields.name, fields.args.external_id), (Value::Text(b"b"), Some(2)));
            },
        );
    }

    #[test]
    fn extra_commas_are_passed_over() {
        with_fields(r#"{"name": "a",, "args": {"External id": 1,},}"#, |fields| {
            assert_eq!(fields.expect("an event").extra_commas, 3);
        });
        assert!(with_fields("{}", |fields| fields.expect("an event").is_empty));
        assert_eq!(with_fields(r#"{"name": "a" "ph": "X"}"#, |f| f.err()), Some(Stop::Broken));
        assert_eq!(with_fields(r#"{"name": "a", "#, |f| f.err()), Some(Stop::Incomplete));
    }
}
