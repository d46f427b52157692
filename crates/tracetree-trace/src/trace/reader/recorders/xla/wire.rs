//! Reads the fields of a protobuf message without a schema and without copying.

/// The bytes of a message, and their offset in the file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Message<'a> {
    bytes: &'a [u8],
    offset: u64,
}

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Number(u64),
    /// Four or eight bytes, as in a float or a double. The reader uses no field of this type.
    Fixed,
    Message(Message<'a>),
}

/// A message that ends within a field, or has a field of an unknown type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) offset: u64,
    pub(super) what: &'static str,
}

pub(super) type Read<T> = Result<T, Broken>;

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Message { bytes, offset: 0 }
    }

    /// The bytes as a string if the bytes are UTF-8; otherwise an empty string.
    pub(super) fn text(self) -> &'a str {
        std::str::from_utf8(self.bytes).unwrap_or_default()
    }

    /// The numbers and the values of the fields, in order. Nothing can be read behind a field that is broken.
    pub(super) fn fields(self) -> impl Iterator<Item = Read<(u64, Value<'a>)>> {
        let mut at = 0;
        std::iter::from_fn(move || (at < self.bytes.len()).then(|| self.field(&mut at)))
    }

    fn field(self, at: &mut usize) -> Read<(u64, Value<'a>)> {
        let start = *at;
        let key = self.varint(at)?;
        let value = match key & 7 {
            0 => Value::Number(self.varint(at)?),
            1 => self.take(at, 8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.varint(at)?;
                Value::Message(self.take(at, length)?)
            }
            5 => self.take(at, 4).map(|_| Value::Fixed)?,
            _ => return Err(self.broken(start, "a field has a type that protobuf does not define")),
        };
        Ok((key >> 3, value))
    }

    fn take(self, at: &mut usize, length: u64) -> Read<Message<'a>> {
        let rest = self.bytes.len() - *at;
        let length = usize::try_from(length).ok().filter(|length| *length <= rest);
        let length =
            length.ok_or_else(|| self.broken(*at, "a field is longer than its message"))?;
        let (from, offset) = (*at, self.offset + *at as u64);
        *at += length;
        Ok(Message { bytes: &self.bytes[from..*at], offset })
    }

    fn varint(self, at: &mut usize) -> Read<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte =
                *self.bytes.get(*at).ok_or_else(|| self.broken(*at, "a number is truncated"))?;
            *at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.broken(*at, "a number has more than ten bytes"))
    }

    fn broken(self, at: usize, what: &'static str) -> Broken {
        Broken { offset: self.offset + at as u64, what }
    }
}

impl<'a> Value<'a> {
    /// The message, or an empty message if the field has a different type.
    pub(super) fn message(self) -> Message<'a> {
        match self {
            Value::Message(message) => message,
            Value::Number(_) | Value::Fixed => Message::default(),
        }
    }

    /// The number, or 0 if the field has a different type.
    pub(super) fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Message(_) | Value::Fixed => 0,
        }
    }

    /// Adds the numbers in a repeated field, packed or not, to `list`.
    pub(super) fn add_numbers(self, list: &mut Vec<u64>) -> Read<()> {
        match self {
            Value::Number(number) => list.push(number),
            Value::Message(packed) => {
                let mut at = 0;
                while at < packed.bytes.len() {
                    list.push(packed.varint(&mut at)?);
                }
            }
            Value::Fixed => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Read<Vec<(u64, u64)>> {
        let shown = |(number, value): (u64, Value<'_>)| {
            (number, value.number() + value.message().bytes.len() as u64)
        };
        Message::new(bytes).fields().map(|field| field.map(shown)).collect()
    }

    #[test]
    fn fields_are_read_by_their_kinds() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 0, 0, 0, 0];
        assert_eq!(fields(&bytes), Ok(vec![(1, 150), (2, 2), (3, 0)]));
    }

    #[test]
    fn broken_messages_are_refused() {
        for (bytes, offset) in
            [(&[0x08][..], 1), (&[0x12, 0x05, b'h'], 2), (&[0x0b], 0), (&[0xff; 11], 10)]
        {
            assert_eq!(fields(bytes).expect_err("broken").offset, offset, "{bytes:?}");
        }
        let huge = [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert!(fields(&huge).is_err());
    }
}
