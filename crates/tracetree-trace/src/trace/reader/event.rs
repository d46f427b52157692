//! Reads the fields of an event at a cursor, as slices of the text.

use super::cursor::{Cursor, Stop, Value};
use super::decode;
use super::numbers;
use crate::trace::time::Nanos;

/// The fields that a trace stores for an event. If a key occurs several times, its last value is
/// used.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) phase: Value<'a>,
    pub(super) category: Value<'a>,
    pub(super) name: Value<'a>,
    pub(super) pid: Value<'a>,
    pub(super) tid: Value<'a>,
    /// `ts` and `dur` of the event, if they are numbers.
    pub(super) start: Option<Nanos>,
    pub(super) duration: Option<Nanos>,
    pub(super) id: Value<'a>,
    pub(super) args: Args<'a>,
    pub(super) is_empty: bool,
    /// Whether the arguments of Python frames are read.
    pub(super) keeps_frame_args: bool,
    pub(super) extra_commas: u32,
    pub(super) wrong_types: u32,
}

/// The arguments that a trace stores for an event.
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
    pub(super) graph: Option<u64>,
    pub(super) kernel: Value<'a>,
    pub(super) grid: Value<'a>,
    pub(super) block: Value<'a>,
    pub(super) dims: Value<'a>,
    pub(super) types: Value<'a>,
    pub(super) strides: Value<'a>,
    pub(super) concrete: Value<'a>,
    pub(super) call_stack: Value<'a>,
    pub(super) collective: Value<'a>,
    pub(super) process_group: Value<'a>,
    pub(super) collective_sequence: Option<i64>,
    pub(super) sent_elements: Option<u64>,
    pub(super) received_elements: Option<u64>,
    pub(super) group_size: Option<u64>,
    pub(super) message_type: Value<'a>,
    pub(super) name: Value<'a>,
    pub(super) memory: MemoryArgs,
}

impl Args<'_> {
    /// `Python id` of a Python frame. A frame has neither an external id nor a correlation, so its
    /// ids are in their fields: larger arguments would make reading slower.
    pub(super) fn frame(&self) -> Option<i64> {
        self.external_id
    }

    /// `Python parent id` of a Python frame.
    pub(super) fn parent_frame(&self) -> Option<i64> {
        self.correlation
    }

    /// `size` of a copy, which is in the field of the bytes of an allocation.
    pub(super) fn size(&self) -> Option<u64> {
        self.memory.bytes.and_then(|size| u64::try_from(size).ok())
    }
}

/// The arguments of a `[memory]` instant event; an argument is `None` if it is absent or not a
/// whole number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemoryArgs {
    pub(super) bytes: Option<i64>,
    pub(super) address: Option<i64>,
    pub(super) device_type: Option<i64>,
    pub(super) device_id: Option<i64>,
    pub(super) allocated: Option<i64>,
    pub(super) reserved: Option<i64>,
    pub(super) order: Option<i64>,
}

/// The meaning of a key in an event or in its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// A key whose value a trace does not store.
    Other,
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Start,
    Duration,
    Id,
    Args,
    Correlation,
    ExternalId,
    Sequence,
    ForwardThread,
    Device,
    Stream,
    Bytes,
    Size,
    GraphNode,
    Graph,
    Kernel,
    Grid,
    Block,
    Dims,
    Types,
    Strides,
    Concrete,
    CallStack,
    Collective,
    ProcessGroup,
    CollectiveSequence,
    SentElements,
    ReceivedElements,
    GroupSize,
    MessageType,
    ArgName,
    BlockBytes,
    Address,
    DeviceType,
    DeviceId,
    TotalAllocated,
    TotalReserved,
    EventIndex,
    PythonId,
    PythonParentId,
}

impl Slot {
    /// The slot for a key of an event.
    #[inline]
    pub(super) fn of_field(key: &[u8]) -> Slot {
        match key {
            b"ph" => Slot::Phase,
            b"cat" => Slot::Category,
            b"name" => Slot::Name,
            b"pid" => Slot::Pid,
            b"tid" => Slot::Tid,
            b"ts" => Slot::Start,
            b"dur" => Slot::Duration,
            b"id" => Slot::Id,
            b"args" => Slot::Args,
            _ if key.contains(&b'\\') => Slot::of_escaped(key, Slot::of_field),
            _ => Slot::Other,
        }
    }

    #[inline]
    pub(super) fn is_argument(self) -> bool {
        self as u8 >= Slot::Correlation as u8
    }

    /// The slot for a key of `args`.
    #[inline]
    pub(super) fn of_argument(key: &[u8]) -> Slot {
        match key {
            b"correlation" | b"connection_id" => Slot::Correlation,
            b"External id" | b"external id" => Slot::ExternalId,
            b"Sequence number" => Slot::Sequence,
            b"Fwd thread id" => Slot::ForwardThread,
            b"device" | b"dev-id" => Slot::Device,
            b"stream" | b"stream-id" | b"Stream Id" | b"sycl queue" => Slot::Stream,
            b"bytes" => Slot::Bytes,
            b"size" => Slot::Size,
            b"graph node id" => Slot::GraphNode,
            b"graph id" => Slot::Graph,
            b"kernel" => Slot::Kernel,
            b"grid" => Slot::Grid,
            b"block" => Slot::Block,
            b"Input Dims" | b"Input dims" => Slot::Dims,
            b"Input type" => Slot::Types,
            b"Input Strides" => Slot::Strides,
            b"Concrete Inputs" => Slot::Concrete,
            b"Call stack" => Slot::CallStack,
            b"Collective name" => Slot::Collective,
            b"Process Group Name" => Slot::ProcessGroup,
            b"Seq" | b"seq" => Slot::CollectiveSequence,
            b"In msg nelems" => Slot::SentElements,
            b"Out msg nelems" => Slot::ReceivedElements,
            b"Group size" => Slot::GroupSize,
            b"dtype" => Slot::MessageType,
            b"name" | b"module_fqn" => Slot::ArgName,
            b"Bytes" => Slot::BlockBytes,
            b"Addr" => Slot::Address,
            b"Device Type" => Slot::DeviceType,
            b"Device Id" => Slot::DeviceId,
            b"Total Allocated" => Slot::TotalAllocated,
            b"Total Reserved" => Slot::TotalReserved,
            b"Ev Idx" => Slot::EventIndex,
            b"Python id" => Slot::PythonId,
            b"Python parent id" => Slot::PythonParentId,
            _ if key.contains(&b'\\') => Slot::of_escaped(key, Slot::of_argument),
            _ => Slot::Other,
        }
    }

    /// The slot for a key that is written with escapes (`"n\u0061me"`).
    #[cold]
    fn of_escaped(key: &[u8], of: fn(&[u8]) -> Slot) -> Slot {
        match decode::text(key).0 {
            key if key.contains('\\') => Slot::Other,
            key => of(key.as_bytes()),
        }
    }
}

impl<'a> Fields<'a> {
    /// Stores the value of a key. If the value has the wrong type, it is only counted.
    // This function is always inlined, for the same reason as `Cursor::value`.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: Slot, value: Value<'a>) {
        let args = &mut self.args;
        let is_right = match slot {
            Slot::Other | Slot::Args => true,
            Slot::Phase => keep(value, &mut self.phase),
            Slot::Category => keep(value, &mut self.category),
            Slot::Name => keep(value, &mut self.name),
            Slot::Pid => keep(value, &mut self.pid),
            Slot::Tid => keep(value, &mut self.tid),
            Slot::Start => time(value, &mut self.start),
            Slot::Duration => time(value, &mut self.duration),
            Slot::Id => keep(value, &mut self.id),
            Slot::Correlation => number(value, numbers::integer, &mut args.correlation),
            Slot::ExternalId => number(value, numbers::integer, &mut args.external_id),
            Slot::Sequence => number(value, numbers::integer, &mut args.sequence),
            Slot::ForwardThread => number(value, numbers::integer, &mut args.forward_thread),
            Slot::Device => number(value, numbers::integer, &mut args.device),
            Slot::Stream => number(value, numbers::id, &mut args.stream),
            Slot::Bytes => number(value, numbers::unsigned, &mut args.bytes),
            Slot::Size => whole(value, &mut args.memory.bytes),
            Slot::GraphNode => number(value, numbers::unsigned, &mut args.graph_node),
            Slot::Graph => number(value, numbers::unsigned, &mut args.graph),
            Slot::Kernel => keep(value, &mut args.kernel),
            Slot::Grid => keep(value, &mut args.grid),
            Slot::Block => keep(value, &mut args.block),
            Slot::Dims => list(value, &mut args.dims),
            Slot::Types => list(value, &mut args.types),
            Slot::Strides => list(value, &mut args.strides),
            Slot::Concrete => list(value, &mut args.concrete),
            Slot::CallStack => text(value, &mut args.call_stack),
            Slot::Collective => text(value, &mut args.collective),
            Slot::ProcessGroup => text(value, &mut args.process_group),
            Slot::CollectiveSequence => {
                number(value, numbers::integer, &mut args.collective_sequence)
            }
            Slot::SentElements => number(value, numbers::unsigned, &mut args.sent_elements),
            Slot::ReceivedElements => number(value, numbers::unsigned, &mut args.received_elements),
            Slot::GroupSize => number(value, numbers::unsigned, &mut args.group_size),
            Slot::MessageType => text(value, &mut args.message_type),
            Slot::ArgName => text(value, &mut args.name),
            Slot::BlockBytes => whole(value, &mut args.memory.bytes),
            Slot::Address => whole(value, &mut args.memory.address),
            Slot::DeviceType => whole(value, &mut args.memory.device_type),
            Slot::DeviceId => whole(value, &mut args.memory.device_id),
            Slot::TotalAllocated => whole(value, &mut args.memory.allocated),
            Slot::TotalReserved => whole(value, &mut args.memory.reserved),
            Slot::EventIndex => whole(value, &mut args.memory.order),
            Slot::PythonId => whole(value, &mut args.external_id),
            Slot::PythonParentId => whole(value, &mut args.correlation),
        };
        self.wrong_types += u32::from(!is_right);
    }

    /// Whether to skip the event's arguments. The arguments of Python frames say where a frame is
    /// in the call tree, which the times show unless they are coarse.
    #[inline]
    pub(super) fn skips_args(&self) -> bool {
        !self.keeps_frame_args && self.category == Value::Text(b"python_function")
    }
}

/// Reads the event that starts with the next `{` into `fields`, which must be empty.
///
/// # Errors
/// Returns [`Stop`] if the text ends, or is not JSON, before the event ends.
#[inline]
pub(super) fn read<'a>(cursor: &mut Cursor<'a>, fields: &mut Fields<'a>) -> Result<(), Stop> {
    cursor.bump();
    if cursor.eat(b'}')? {
        fields.is_empty = true;
        return Ok(());
    }
    loop {
        let slot = Slot::of_field(cursor.key()?);
        if slot == Slot::Args {
            read_args(cursor, fields)?;
        } else {
            fields.set(slot, cursor.value()?);
        }
        if cursor.members_end(&mut fields.extra_commas)? {
            return Ok(());
        }
    }
}

fn read_args<'a>(cursor: &mut Cursor<'a>, fields: &mut Fields<'a>) -> Result<(), Stop> {
    if cursor.peek()? != b'{' || fields.skips_args() {
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
        let slot = Slot::of_argument(cursor.key()?);
        fields.set(slot, cursor.value()?);
        if cursor.members_end(&mut fields.extra_commas)? {
            return Ok(());
        }
    }
}

#[inline]
fn keep<'a>(value: Value<'a>, field: &mut Value<'a>) -> bool {
    *field = value;
    true
}

fn time(value: Value<'_>, field: &mut Option<Nanos>) -> bool {
    *field = value.bytes().and_then(numbers::nanos);
    true
}

/// Stores a whole number, which may be written in quotes. A value of the wrong type is not counted
/// here, because other programs use the same keys for values of other types. The wrong type is
/// counted later if the event needs this number.
#[inline]
fn whole(value: Value<'_>, field: &mut Option<i64>) -> bool {
    *field = value.bytes().and_then(numbers::id);
    true
}

/// Stores a number, which may be written in quotes; ignores `null` and an empty string.
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
    use super::super::index::find_tokens;
    use super::*;

    fn with_fields<T>(text: &str, check: impl FnOnce(Result<Fields<'_>, Stop>) -> T) -> T {
        let mut index = Vec::new();
        find_tokens(text.as_bytes(), &mut index);
        let mut fields = Fields::default();
        let read = read(&mut Cursor::new(text.as_bytes(), &index), &mut fields);
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
            assert_eq!(fields.start, Some(Nanos(1_500)));
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
    fn a_key_with_escapes_is_the_key_that_is_meant() {
        let text = r#"{"n\u0061me": "a", "a\\b": 1, "args": {"External\u0020id": 7}}"#;
        with_fields(text, |fields| {
            let fields = fields.expect("an event");
            assert_eq!((fields.name, fields.args.external_id), (Value::Text(b"a"), Some(7)));
        });
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
