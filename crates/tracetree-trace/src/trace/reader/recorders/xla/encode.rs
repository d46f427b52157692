//! Writes the few kinds of protobuf fields that profiles use.

use rustc_hash::FxHashMap;

/// Appends fields to a message.
pub(super) struct Field<'m>(pub(super) &'m mut Vec<u8>);

impl Field<'_> {
    /// A number.
    pub(super) fn number(self, field: u8, number: u64) {
        self.0.push(field << 3);
        varint(self.0, number);
    }

    /// A string or a message.
    pub(super) fn bytes(self, field: u8, bytes: &[u8]) {
        self.0.push(field << 3 | 2);
        varint(self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

fn varint(message: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        message.push(number as u8 | 0x80);
        number >>= 7;
    }
    message.push(number as u8);
}

/// Names that events refer to by number.
#[derive(Default)]
pub(super) struct Names {
    names: Vec<String>,
    ids: FxHashMap<String, u64>,
}

impl Names {
    /// The number of a name; numbers start at 1.
    pub(super) fn id(&mut self, name: &str) -> u64 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        self.names.push(name.to_owned());
        let id = self.names.len() as u64;
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// Writes the names to a field of a plane, as a map from number to name.
    pub(super) fn encode(&self, field: u8, plane: &mut Vec<u8>) {
        for (id, name) in (1..).zip(&self.names) {
            let (mut named, mut entry) = (Vec::new(), Vec::new());
            Field(&mut named).bytes(2, name.as_bytes());
            Field(&mut entry).number(1, id);
            Field(&mut entry).bytes(2, &named);
            Field(plane).bytes(field, &entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_form_of_protobuf() {
        let mut message = Vec::new();
        Field(&mut message).number(1, 150);
        Field(&mut message).bytes(2, b"hi");
        assert_eq!(message, [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i']);
    }

    #[test]
    fn equal_names_share_a_number() {
        let mut names = Names::default();
        assert_eq!([names.id("a"), names.id("b"), names.id("a")], [1, 2, 1]);
        let mut plane = Vec::new();
        names.encode(4, &mut plane);
        assert_eq!(plane, *b"\x22\x07\x08\x01\x12\x03\x12\x01a\x22\x07\x08\x02\x12\x03\x12\x01b");
    }
}
