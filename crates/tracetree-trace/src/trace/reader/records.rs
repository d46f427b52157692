//! Maps the four argument lists of an op, given as raw JSON, to an argument record.
//!
//! Many ops have the same arguments, so the raw form of an op's four lists is looked up first. The
//! lists are normalized and interned only if their raw form is new.

use super::cursor::Value;
use super::decode::Marks;
use super::event::Args;
use super::normal;
use super::strings::{self, Form, Strings};
use crate::trace::columns::Arguments;
use crate::trace::texts::TextId;
use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// The argument records of the trace that is being read.
#[derive(Debug, Default)]
pub(super) struct Records {
    list: Vec<Arguments>,
    by_content: FxHashMap<Arguments, u32>,
    by_raw: HashTable<Seen>,
}

/// The raw form of four lists that already have a record.
#[derive(Debug)]
struct Seen {
    hash: u64,
    shape: [u32; 4],
    /// The bytes of the four lists, one list after the other.
    raw: Box<[u8]>,
    record: u32,
    marks: Marks,
}

impl Records {
    /// The argument record of an event, and the damage in the arguments. The record is `u32::MAX`
    /// if the event has no arguments.
    pub(super) fn find_or_add(&mut self, args: &Args<'_>, strings: &mut Strings) -> (u32, Marks) {
        let lists = [args.dims, args.types, args.strides, args.concrete];
        if lists.iter().all(|list| *list == Value::Absent) {
            return (u32::MAX, Marks::default());
        }
        let shape = lists.map(shape);
        let raw = lists.map(|list| raw(&list));
        let hash = hash(&raw);
        let same = |seen: &Seen| seen.shape == shape && equals(&seen.raw, &raw);
        if let Some(seen) = self.by_raw.find(hash, same) {
            return (seen.record, seen.marks);
        }
        let (record, marks) = self.add(lists, strings);
        let seen = Seen { hash, shape, raw: raw.concat().into(), record, marks };
        self.by_raw.insert_unique(hash, seen, |seen| seen.hash);
        (record, marks)
    }

    /// All argument records, by id.
    pub(super) fn into_list(self) -> Vec<Arguments> {
        self.list
    }

    fn add(&mut self, lists: [Value<'_>; 4], strings: &mut Strings) -> (u32, Marks) {
        let mut marks = Marks::default();
        let [dims, types, strides, concrete] = lists.map(|list| intern(list, strings, &mut marks));
        let record = Arguments { dims, types, strides, concrete };
        if record == Arguments::default() {
            return (u32::MAX, marks);
        }
        let id = *self.by_content.entry(record).or_insert_with(|| {
            self.list.push(record);
            u32::try_from(self.list.len()).expect("fewer records than events") - 1
        });
        (id, marks)
    }
}

fn intern(list: Value<'_>, strings: &mut Strings, marks: &mut Marks) -> TextId {
    match list {
        Value::Composite(raw) => {
            let (text, found) = normal::normalised(raw);
            marks.merge(found);
            strings.add(&text)
        }
        Value::Text(raw) => {
            let (text, found) = strings.intern(raw, Form::Text);
            marks.merge(found);
            text
        }
        Value::Absent | Value::Scalar(_) | Value::Null => TextId::EMPTY,
    }
}

fn raw<'a>(list: &Value<'a>) -> &'a [u8] {
    match *list {
        Value::Composite(raw) | Value::Text(raw) => raw,
        Value::Absent | Value::Scalar(_) | Value::Null => &[],
    }
}

/// The length of a list, and whether the list is written as a string in quotes, combined into one
/// number.
fn shape(list: Value<'_>) -> u32 {
    let is_text = matches!(list, Value::Text(_));
    let length = u32::try_from(raw(&list).len()).expect("a window is below 2 GiB");
    length << 1 | u32::from(is_text)
}

fn hash(parts: &[&[u8]; 4]) -> u64 {
    let mut hasher = FxHasher::default();
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish()
}

/// Whether `bytes` consists of the four lists. The caller has already checked that the lengths are
/// equal.
fn equals(bytes: &[u8], parts: &[&[u8]; 4]) -> bool {
    let mut rest = bytes;
    parts.iter().all(|part| {
        let (first, after) = rest.split_at(part.len());
        rest = after;
        strings::equal(first, part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args<'a>(dims: &'a [u8], types: Value<'a>) -> Args<'a> {
        Args { dims: Value::Composite(dims), types, ..Args::default() }
    }

    #[test]
    fn raw_forms_of_one_list_share_a_record() {
        let (mut records, mut strings) = (Records::default(), Strings::default());
        let types = Value::Composite(br#"["float"]"#);
        let (a, _) = records.find_or_add(&args(b"[[1,2]]", types), &mut strings);
        let (b, _) = records.find_or_add(&args(b"[[1, 2]]", types), &mut strings);
        let (c, _) = records.find_or_add(&args(b"[[1, 3]]", types), &mut strings);
        let (again, _) = records.find_or_add(&args(b"[[1,2]]", types), &mut strings);
        assert_eq!((a, a), (b, again));
        assert_ne!(a, c);
        assert_eq!(strings.get(records.into_list()[a as usize].dims), "[[1, 2]]");
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let (mut records, mut strings) = (Records::default(), Strings::default());
        let (a, _) = records.find_or_add(&args(b"[1]", Value::Composite(b"[2]")), &mut strings);
        let (b, _) = records.find_or_add(&args(b"[1][2]", Value::Absent), &mut strings);
        let (c, _) = records.find_or_add(&args(b"[1]", Value::Text(b"[2]")), &mut strings);
        let (none, _) = records.find_or_add(&Args::default(), &mut strings);
        assert_ne!(a, b);
        assert_eq!(a, c);
        assert_eq!(none, u32::MAX);
    }
}
