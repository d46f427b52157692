//! Reads the values in a pickle that contains only plain values. Nothing is executed: opcodes that name or call
//! Python objects are rejected.

use rustc_hash::FxHashMap;
use std::io::{self, BufRead, Read as _};

/// A value, identified by its position in [`Values`]. A value that the pickle references several times has
/// only one position.
pub(super) type ValueId = u32;

/// A plain value.
#[derive(Debug)]
pub(super) enum Value {
    /// A value that the snapshot reader does not use: `None`, a boolean, a float, or an integer that does
    /// not fit in 64 bits.
    Other,
    Int(i64),
    Text(Box<str>),
    /// A list or a tuple.
    List(Vec<ValueId>),
    Dict(Vec<(ValueId, ValueId)>),
}

/// All values in a pickle.
#[derive(Debug)]
pub(super) struct Values {
    all: Vec<Value>,
    top: ValueId,
    /// Number of bytes that were read.
    pub(super) length: u64,
}

/// Why a pickle was rejected.
#[derive(Debug)]
pub(super) enum Refused {
    /// The bytes are not a pickle of plain values.
    Malformed { offset: u64, message: String },
    /// The values need more than [`MEMORY`] bytes.
    TooLarge { offset: u64 },
    /// The bytes could not be read or unpacked.
    Unread(io::Error),
}

type Result<T> = std::result::Result<T, Refused>;

/// At most this many keys of a dictionary are searched; the dictionaries in snapshots have about ten keys.
const KEYS: usize = 64;

/// Maximum memory for the values in a pickle, in bytes: enough for three million recorded events. One byte of a hostile
/// pickle can require 40 bytes of memory.
pub(super) const MEMORY: usize = 1 << 30;

/// Estimated memory for a value and its allocation, in bytes, without items and text.
const PER_VALUE: usize = 48;
/// Estimated memory for an entry of the memo, in bytes.
const PER_MEMO: usize = 16;

impl Values {
    /// Reads a pickle with protocol 2 to 5.
    pub(super) fn read(input: impl BufRead) -> Result<Values> {
        Machine {
            input,
            at: 0,
            start: 0,
            text: Vec::new(),
            all: Vec::new(),
            spent: 0,
            stack: Vec::new(),
            memo: FxHashMap::default(),
        }
        .run()
    }

    pub(super) fn top(&self) -> ValueId {
        self.top
    }

    pub(super) fn value(&self, id: ValueId) -> &Value {
        &self.all[id as usize]
    }

    /// The value of a key in a dictionary; `None` if `dict` is not a dictionary or lacks the key.
    pub(super) fn get(&self, dict: ValueId, key: &str) -> Option<ValueId> {
        let Value::Dict(pairs) = self.value(dict) else { return None };
        let is_it = |(name, _): &&(ValueId, ValueId)| self.text(*name) == Some(key);
        pairs.iter().take(KEYS).find(is_it).map(|(_, value)| *value)
    }

    pub(super) fn text(&self, id: ValueId) -> Option<&str> {
        match self.value(id) {
            Value::Text(text) => Some(text),
            Value::Other | Value::Int(_) | Value::List(_) | Value::Dict(_) => None,
        }
    }

    pub(super) fn int(&self, id: ValueId) -> Option<i64> {
        match self.value(id) {
            Value::Int(number) => Some(*number),
            Value::Other | Value::Text(_) | Value::List(_) | Value::Dict(_) => None,
        }
    }

    pub(super) fn list(&self, id: ValueId) -> Option<&[ValueId]> {
        match self.value(id) {
            Value::List(items) => Some(items),
            Value::Other | Value::Int(_) | Value::Text(_) | Value::Dict(_) => None,
        }
    }
}

/// An item on the stack of the pickle machine.
#[derive(Clone, Copy)]
enum Item {
    Mark,
    Value(ValueId),
}

/// A pickle machine that supports only the opcodes for plain values.
struct Machine<R> {
    input: R,
    /// Number of bytes that were read.
    at: u64,
    /// Position of the current opcode.
    start: u64,
    /// The argument of the current opcode, if its length is variable.
    text: Vec<u8>,
    all: Vec<Value>,
    /// Estimated memory for the values, in bytes.
    spent: usize,
    stack: Vec<Item>,
    memo: FxHashMap<u32, ValueId>,
}

impl<R: BufRead> Machine<R> {
    fn run(mut self) -> Result<Values> {
        if self.input.fill_buf().map_err(Refused::Unread)?.first() != Some(&0x80) {
            return Err(self.refused("is not a pickle with protocol 2 or later"));
        }
        loop {
            self.start = self.at;
            let [code] = self.take()?;
            if code == b'.' {
                let top = self.pop()?;
                return Ok(Values { all: self.all, top, length: self.at });
            }
            self.step(code)?;
            self.spend(0)?;
        }
    }

    /// Counts memory that values need.
    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.spent = self.spent.saturating_add(bytes);
        let more = self.stack.len() * size_of::<Item>() + self.memo.len() * PER_MEMO;
        match self.spent.saturating_add(more) {
            ..=MEMORY => Ok(()),
            _ => Err(Refused::TooLarge { offset: self.start }),
        }
    }

    fn step(&mut self, code: u8) -> Result<()> {
        match code {
            // PROTO
            0x80 => {
                let [version] = self.take()?;
                match version {
                    2..=5 => Ok(()),
                    _ => {
                        Err(self
                            .refused(&format!("uses the unsupported pickle protocol {version}")))
                    }
                }
            }
            // FRAME: contains only the size of the following data.
            0x95 => self.take::<8>().map(|_| ()),
            b'(' => {
                self.stack.push(Item::Mark);
                Ok(())
            }
            b'}' => self.push(Value::Dict(Vec::new())),
            b']' | b')' => self.push(Value::List(Vec::new())),
            // NONE, NEWTRUE, NEWFALSE
            b'N' | 0x88 | 0x89 => self.push(Value::Other),
            b'K' => {
                let [number] = self.take()?;
                self.push(Value::Int(number.into()))
            }
            b'M' => {
                let number = u16::from_le_bytes(self.take()?);
                self.push(Value::Int(number.into()))
            }
            b'J' => {
                let number = i32::from_le_bytes(self.take()?);
                self.push(Value::Int(number.into()))
            }
            // LONG1
            0x8a => {
                let [length] = self.take()?;
                self.read_text(length.into())?;
                let value = long(&self.text).map_or(Value::Other, Value::Int);
                self.push(value)
            }
            // BINFLOAT
            b'G' => {
                self.take::<8>()?;
                self.push(Value::Other)
            }
            // SHORT_BINUNICODE, BINUNICODE
            0x8c => {
                let [length] = self.take()?;
                self.push_text(length.into())
            }
            b'X' => {
                let length = u32::from_le_bytes(self.take()?);
                self.push_text(length as usize)
            }
            b't' => {
                let items = self.marked()?;
                self.push(Value::List(items))
            }
            0x85..=0x87 => {
                let count = usize::from(code - 0x84);
                let mut items = Vec::with_capacity(count);
                for _ in 0..count {
                    items.push(self.pop()?);
                }
                items.reverse();
                self.push(Value::List(items))
            }
            b'a' => {
                let item = self.pop()?;
                self.list()?.push(item);
                self.spend(size_of::<ValueId>())
            }
            b'e' => {
                let items = self.marked()?;
                let bytes = size_of_val(&*items);
                self.list()?.extend(items);
                self.spend(bytes)
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.dict()?.push((key, value));
                self.spend(2 * size_of::<ValueId>())
            }
            b'u' => {
                let items = self.marked()?;
                if !items.len().is_multiple_of(2) {
                    return Err(self.refused("contains a key without a value"));
                }
                let pairs = items.chunks_exact(2).map(|pair| (pair[0], pair[1]));
                self.dict()?.extend(pairs);
                self.spend(size_of_val(&*items))
            }
            // MEMOIZE, BINPUT, LONG_BINPUT
            0x94 => self.remember(self.memo.len() as u32),
            b'q' => {
                let [slot] = self.take()?;
                self.remember(slot.into())
            }
            b'r' => {
                let slot = u32::from_le_bytes(self.take()?);
                self.remember(slot)
            }
            b'h' => {
                let [slot] = self.take()?;
                self.recall(slot.into())
            }
            b'j' => {
                let slot = u32::from_le_bytes(self.take()?);
                self.recall(slot)
            }
            b'c' | 0x93 | b'R' | b'i' | b'o' | b'b' | 0x81 | 0x92 | 0x82..=0x84 | b'P' | b'Q' => {
                Err(self.refused(
                    "names or calls Python objects, which does not occur in memory snapshots",
                ))
            }
            _ => Err(self.refused(&format!(
                "contains the opcode 0x{code:02x}, which does not occur in memory snapshots"
            ))),
        }
    }

    fn refused(&self, message: &str) -> Refused {
        Refused::Malformed { offset: self.start, message: message.to_owned() }
    }

    /// Reads an argument with a variable length into `text`.
    fn read_text(&mut self, length: usize) -> Result<()> {
        self.text.clear();
        let input = &mut self.input;
        let read = input.take(length as u64).read_to_end(&mut self.text);
        self.at += read.map_err(Refused::Unread)? as u64;
        if self.text.len() == length { Ok(()) } else { Err(self.cut()) }
    }

    fn cut(&self) -> Refused {
        self.refused("ends before the pickle is complete")
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut taken = [0; N];
        match self.input.read_exact(&mut taken) {
            Ok(()) => {
                self.at += N as u64;
                Ok(taken)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.cut()),
            Err(error) => Err(Refused::Unread(error)),
        }
    }

    fn push(&mut self, value: Value) -> Result<()> {
        let id = self.all.len() as ValueId;
        self.spend(PER_VALUE)?;
        self.all.push(value);
        self.stack.push(Item::Value(id));
        Ok(())
    }

    fn push_text(&mut self, length: usize) -> Result<()> {
        self.spend(length)?;
        self.read_text(length)?;
        let text = String::from_utf8_lossy(&self.text).into_owned();
        self.push(Value::Text(text.into_boxed_str()))
    }

    fn pop(&mut self) -> Result<ValueId> {
        let id = self.topmost()?;
        self.stack.pop();
        Ok(id)
    }

    /// Removes the last mark from the stack and returns the values above it.
    fn marked(&mut self) -> Result<Vec<ValueId>> {
        let mark = self.stack.iter().rposition(|item| matches!(item, Item::Mark));
        let Some(mark) = mark else { return Err(self.refused("uses a mark that does not exist")) };
        let values = self.stack.drain(mark..).filter_map(|item| match item {
            Item::Mark => None,
            Item::Value(id) => Some(id),
        });
        Ok(values.collect())
    }

    fn topmost(&self) -> Result<ValueId> {
        match self.stack.last() {
            Some(Item::Value(id)) => Ok(*id),
            Some(Item::Mark) | None => Err(self.refused("uses a value that does not exist")),
        }
    }

    fn list(&mut self) -> Result<&mut Vec<ValueId>> {
        let start = self.start;
        let id = self.topmost()?;
        match &mut self.all[id as usize] {
            Value::List(items) => Ok(items),
            Value::Other | Value::Int(_) | Value::Text(_) | Value::Dict(_) => {
                Err(Refused::Malformed {
                    offset: start,
                    message: "appends to a value that is not a list".to_owned(),
                })
            }
        }
    }

    fn dict(&mut self) -> Result<&mut Vec<(ValueId, ValueId)>> {
        let start = self.start;
        let id = self.topmost()?;
        match &mut self.all[id as usize] {
            Value::Dict(pairs) => Ok(pairs),
            Value::Other | Value::Int(_) | Value::Text(_) | Value::List(_) => {
                Err(Refused::Malformed {
                    offset: start,
                    message: "sets a key of a value that is not a dictionary".to_owned(),
                })
            }
        }
    }

    fn remember(&mut self, slot: u32) -> Result<()> {
        let id = self.topmost()?;
        self.memo.insert(slot, id);
        Ok(())
    }

    fn recall(&mut self, slot: u32) -> Result<()> {
        let id = self.memo.get(&slot).copied();
        let id = id.ok_or_else(|| self.refused("refers to a value that does not exist"))?;
        self.stack.push(Item::Value(id));
        Ok(())
    }
}

/// Reads a little-endian two's complement integer; `None` if it does not fit in 64 bits.
fn long(bytes: &[u8]) -> Option<i64> {
    const WIDTH: usize = 16;
    if bytes.len() > WIDTH {
        return None;
    }
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if is_negative { 0xff } else { 0 }; WIDTH];
    wide[..bytes.len()].copy_from_slice(bytes);
    // Addresses are unsigned. If an address exceeds `i64::MAX`, keep its bit pattern.
    let number = i128::from_le_bytes(wide);
    i64::try_from(number).ok().or_else(|| u64::try_from(number).ok().map(u64::cast_signed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Values> {
        Values::read(bytes)
    }

    /// The offset and the message of the error for a malformed pickle.
    fn refusal(bytes: &[u8]) -> (u64, String) {
        match read(bytes) {
            Err(Refused::Malformed { offset, message }) => (offset, message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_memory_for_values_is_limited() {
        // Lists, references, memo entries, and a text that claims to be long.
        for repeated in [&b"]"[..], b"h\x00", b"\x94", b"X\xff\xff\xff\x0f"] {
            let bytes = io::Cursor::new(b"\x80\x04]q\x00").chain(Endless(repeated, 0));
            let error = Values::read(io::BufReader::new(bytes)).expect_err("too large");
            assert!(matches!(error, Refused::TooLarge { .. }), "{repeated:?}: {error:?}");
        }
    }

    /// Repeats bytes without end.
    struct Endless(&'static [u8], usize);

    impl io::Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            for byte in &mut *out {
                *byte = self.0[self.1 % self.0.len()];
                self.1 += 1;
            }
            Ok(out.len())
        }
    }

    #[test]
    fn plain_values_are_read_and_shared_ones_stay_shared() {
        // {"a": [1, -2, 2**40], "b": <the same list>}
        let bytes = b"\x80\x04}\x94(\x8c\x01a]\x94(K\x01J\xfe\xff\xff\xff\x8a\x06\0\0\0\0\0\x01e\x8c\x01bh\x01u.";
        let values = read(bytes).expect("plain values");
        let (a, b) = (values.get(values.top(), "a"), values.get(values.top(), "b"));
        assert!(a.is_some() && a == b);
        let numbers = values.list(a.expect("a list")).expect("a list");
        let numbers: Vec<_> = numbers.iter().map(|&id| values.int(id)).collect();
        assert_eq!(numbers, [Some(1), Some(-2), Some(1 << 40)]);
        assert_eq!(values.get(values.top(), "c"), None);
    }

    #[test]
    fn a_list_that_contains_itself_is_read() {
        let values = read(b"\x80\x04]\x94h\x00a.").expect("a list");
        assert_eq!(values.list(values.top()), Some(&[values.top()][..]));
    }

    #[test]
    fn code_is_refused_with_its_position() {
        let (offset, message) = refusal(b"\x80\x04cos\nsystem\n(X\x02\0\0\0lstR.");
        assert_eq!(offset, 2);
        assert!(message.contains("calls Python objects"), "{message}");
    }

    #[test]
    fn broken_pickles_are_refused() {
        for (bytes, message) in [
            (&b"{}"[..], "not a pickle"),
            (b"\x80\x09.", "protocol 9"),
            (b"\x80\x04", "ends before the pickle is complete"),
            (b"\x80\x04X\xff\xff\x00\x00a.", "ends before the pickle is complete"),
            (b"\x80\x04.", "does not exist"),
            (b"\x80\x04e.", "a mark that does not exist"),
            (b"\x80\x04K\x01K\x02a.", "not a list"),
            (b"\x80\x04K\x01(K\x02u.", "key without a value"),
            (b"\x80\x04h\x07.", "does not exist"),
            (b"\x80\x04\x8e.", "opcode 0x8e"),
        ] {
            let (_, found) = refusal(bytes);
            assert!(found.contains(message), "{found} instead of {message}");
        }
    }

    #[test]
    fn integers_have_two_complements() {
        assert_eq!(long(&[]), Some(0));
        assert_eq!(long(&[0xff]), Some(-1));
        assert_eq!(long(&[0, 0, 0, 0, 0, 0, 0, 0x80, 0]), Some(i64::MIN));
        assert_eq!(long(&[1; 17]), None);
    }
}
