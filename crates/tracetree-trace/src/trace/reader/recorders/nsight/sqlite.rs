//! Reads the tables of an SQLite database page by page from the file, without an SQL engine.
//!
//! ```text
//! file = pages; table = B-tree of pages; leaf = cells; cell = row id + record; record = types, values
//!                                                        └── the end of a long record: overflow pages
//! ```
//!
//! Only the features that Nsight Systems exports use are supported: UTF-8, tables with row ids, and
//! no write-ahead log. All other databases are rejected. Each page may be used only once, so a
//! damaged or hostile file can neither cause an endless loop nor produce more data than its own
//! size.

use super::super::super::source::Positions;
use super::schema::{self, Table};
use crate::error::{Error, ErrorKind, Place, Result};
use std::borrow::Cow;
use std::io::{BufReader, Read};

/// The first bytes of every SQLite database.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

/// The definition of the table that lists all tables.
const MASTER: &str = "CREATE TABLE sqlite_master (type, name, tbl_name, rootpage, sql)";

/// Maximum depth of a B-tree. A valid B-tree cannot be deeper, because each inner page has at least
/// two children, and there are at most 2^32 pages.
const DEEPEST: usize = 32;

/// Number of bytes that are read from the file at a time. Most pages follow each other.
const WINDOW: usize = 1 << 16;

/// Maximum size of a record in bytes. The longest strings in exports are kernel names.
const LONGEST: usize = 64 << 20;

/// A database whose pages are read from a file.
pub(super) struct Database<'a> {
    name: &'a str,
    input: BufReader<Box<dyn Positions>>,
    /// Position of `input` in the file.
    at: u64,
    size: u64,
    page_size: usize,
    /// Number of bytes in a page, excluding the reserved space at the end of the page.
    usable: usize,
    is_used: Vec<bool>,
}

/// A page that was read.
struct Page {
    /// Offset of the page in the file.
    start: u64,
    /// Offset in the page at which the page's own header starts.
    head: usize,
    /// The usable bytes.
    bytes: Vec<u8>,
}

/// A value in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'r> {
    Null,
    Integer(i64),
    Text(&'r [u8]),
    /// A fraction or a blob. The reader uses no column of these types.
    Other,
}

/// A row, with the values of the requested columns in the requested order.
pub(super) struct Row<'r> {
    pub(super) table: &'r str,
    pub(super) id: i64,
    /// Offset of the row in the file.
    pub(super) offset: u64,
    pub(super) values: &'r [Value<'r>],
}

impl<'a> Database<'a> {
    /// Checks the header of a file with `size` bytes.
    ///
    /// # Errors
    /// Fails if the size of the file differs from the header, if the file uses an unsupported
    /// feature, or if reading fails.
    pub(super) fn open(
        name: &'a str,
        (input, size): (Box<dyn Positions>, u64),
    ) -> Result<Database<'a>> {
        let refuse = |offset, message: String, remedy: &str| {
            let place = Place { offset, event: None };
            Err(Error::new(ErrorKind::Malformed, name, message).at(place).remedy(remedy))
        };
        let mut input = BufReader::with_capacity(WINDOW, input);
        if size < 100 {
            return refuse(size, "the file ends inside the database header".to_owned(), AGAIN);
        }
        let mut bytes = [0; 100];
        input.read_exact(&mut bytes).map_err(|error| Error::io(name, "read the trace", error))?;
        let page_size = match big_endian(&bytes[16..18]) {
            1 => 65536,
            size @ 512..=32768 if size.is_power_of_two() => size as usize,
            size => return refuse(16, format!("{size} is not a valid page size"), AGAIN),
        };
        let usable = page_size - usize::from(bytes[20]);
        if usable < 480 {
            return refuse(20, format!("{usable} usable bytes per page are too few"), AGAIN);
        }
        if bytes[18] == 2 || bytes[19] == 2 {
            let message = "the database has a write-ahead log, which may contain more rows";
            let remedy =
                "run sqlite3 FILE 'PRAGMA journal_mode = DELETE', or export the report again";
            return refuse(18, message.to_owned(), remedy);
        }
        let encoding = big_endian(&bytes[56..60]);
        if !matches!(encoding, 0 | 1) {
            let message = format!("the text encoding {encoding} is not UTF-8");
            return refuse(56, message, "export the report again");
        }
        // The number of pages in the header is valid only if the program that last wrote the file
        // also updated this number.
        let pages = u64::from(big_endian(&bytes[28..32]));
        let is_valid = bytes[24..28] == bytes[92..96];
        let there = size / page_size as u64;
        if is_valid && there < pages {
            let message = format!("the file is cut off: {there} of {pages} pages are present");
            return refuse(size, message, AGAIN);
        }
        if is_valid && pages > 0 && there > pages {
            let message = format!("the file has {there} pages, but its header says {pages}");
            return refuse(pages * page_size as u64, message, AGAIN);
        }
        if there > u64::from(u32::MAX) {
            return refuse(size, format!("{there} pages are too many"), AGAIN);
        }
        let (at, is_used) = (100, vec![false; there as usize]);
        Ok(Database { name, input, at, size, page_size, usable, is_used })
    }

    /// The tables, in schema order.
    ///
    /// # Errors
    /// Fails if the schema is damaged.
    pub(super) fn tables(&mut self) -> Result<Vec<Table>> {
        let master = schema::table("sqlite_master".to_owned(), 1, MASTER);
        let mut tables = Vec::new();
        self.rows(&master, &["type", "name", "rootpage", "sql"], |row| {
            if let [
                Value::Text(b"table"),
                Value::Text(name),
                Value::Integer(root),
                Value::Text(sql),
            ] = *row.values
            {
                let root = u32::try_from(root).unwrap_or(0);
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                tables.push(schema::table(text(name), root, &text(sql)));
            }
            Ok(())
        })?;
        Ok(tables)
    }

    /// Passes every row of a table to `each`, in ascending order of row id. Columns that the table
    /// does not have are null.
    ///
    /// # Errors
    /// Fails if a page is damaged, or if `each` fails.
    pub(super) fn rows(
        &mut self,
        table: &Table,
        columns: &[&str],
        mut each: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(why) = table.unread {
            let message = format!("the table {} {why}, which is not supported", table.name);
            return Err(Error::new(ErrorKind::Malformed, self.name, message)
                .remedy("export the report again with nsys export --type sqlite"));
        }
        let at = columns.iter().map(|column| table.columns.iter().position(|own| own == column));
        let at: Vec<Option<usize>> = at.collect();
        let mut open = vec![(table.root, 0)];
        while let Some((page, depth)) = open.pop() {
            let page = self.take(page, &table.name)?;
            match page.bytes[page.head] {
                5 if depth < DEEPEST => {
                    let mut children = Vec::new();
                    for cell in self.cells(&page, 12, &table.name)? {
                        children.push(self.u32_at(&page, cell, &table.name)?);
                    }
                    children.push(self.u32_at(&page, page.head + 8, &table.name)?);
                    open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
                }
                13 => {
                    let mut total = 0;
                    for cell in self.cells(&page, 8, &table.name)? {
                        let (id, record, local) = self.leaf_cell(&page, cell, &table.name)?;
                        let offset = page.start + cell as u64;
                        total += local;
                        if total > self.page_size {
                            return Err(self.damaged(offset, &table.name, "rows overlap"));
                        }
                        let mut values = Vec::with_capacity(at.len());
                        let is_whole = decode(&record, &at, &mut values);
                        if !is_whole {
                            return Err(self.damaged(offset, &table.name, "a row is truncated"));
                        }
                        for (value, &column) in values.iter_mut().zip(&at) {
                            // SQLite stores null in the row id column of a record, so the row id
                            // replaces the null here.
                            if column.is_some() && column == table.row_id {
                                *value = Value::Integer(id);
                            }
                        }
                        each(&Row { table: &table.name, id, offset, values: &values })?;
                    }
                }
                kind => {
                    let what = format!("a page has type {kind} instead of 5 or 13");
                    let offset = page.start + page.head as u64;
                    return Err(self.damaged(offset, &table.name, &what));
                }
            }
        }
        Ok(())
    }

    /// Reads a page that was not used so far, and marks it as used.
    fn take(&mut self, page: u32, table: &str) -> Result<Page> {
        let index = (page as usize).wrapping_sub(1);
        let start = (index as u64).wrapping_mul(self.page_size as u64);
        match self.is_used.get_mut(index) {
            Some(is_used) if !*is_used => *is_used = true,
            Some(_) => {
                return Err(self.damaged(start, table, &format!("page {page} is used twice")));
            }
            None => {
                let pages = self.is_used.len();
                let what = format!(
                    "the table continues on page {page}, but the number of pages is {pages}"
                );
                return Err(self.damaged(self.size, table, &what));
            }
        }
        let mut bytes = vec![0; self.usable];
        let read = self.input.seek_relative(start.wrapping_sub(self.at).cast_signed());
        read.and_then(|()| self.input.read_exact(&mut bytes))
            .map_err(|error| Error::io(self.name, "read the trace", error))?;
        self.at = start + self.usable as u64;
        // The first page begins with the file header.
        Ok(Page { start, head: if page == 1 { 100 } else { 0 }, bytes })
    }

    /// Offsets in the page of its cells.
    fn cells(&self, page: &Page, size: usize, table: &str) -> Result<Vec<usize>> {
        let head = page.head;
        let count = big_endian(&page.bytes[head + 3..head + 5]) as usize;
        let first = head + size;
        let Some(offsets) = page.bytes.get(first..first + 2 * count) else {
            return Err(self.damaged(page.start + 3, table, "a page has too many rows"));
        };
        let cells = offsets.chunks_exact(2).map(|at| big_endian(at) as usize);
        let cells: Vec<usize> = cells.collect();
        match cells.iter().find(|&&cell| cell < first + 2 * count || cell >= self.usable) {
            Some(&cell) => {
                let offset = page.start + cell as u64;
                Err(self.damaged(offset, table, "a row is outside of its page"))
            }
            None => Ok(cells),
        }
    }

    fn u32_at(&self, page: &Page, at: usize, table: &str) -> Result<u32> {
        match page.bytes.get(at..at + 4) {
            Some(bytes) => Ok(big_endian(bytes)),
            None => Err(self.damaged(page.start + at as u64, table, "a page is truncated")),
        }
    }

    /// The row id and the record of a cell, and the number of record bytes that are in this page
    /// instead of overflow pages.
    fn leaf_cell<'p>(
        &mut self,
        page: &'p Page,
        at: usize,
        table: &str,
    ) -> Result<(i64, Cow<'p, [u8]>, usize)> {
        let offset = page.start + at as u64;
        let cut = |database: &Self| database.damaged(offset, table, "a row is truncated");
        let (size, used) = varint(&page.bytes[at..]).ok_or_else(|| cut(self))?;
        let (id, more) = varint(&page.bytes[at + used..]).ok_or_else(|| cut(self))?;
        let from = at + used + more;
        let size = u64::try_from(size).ok().filter(|&size| size <= self.size);
        let size =
            size.ok_or_else(|| self.damaged(offset, table, "a row is longer than the file"))?;
        let size = usize::try_from(size).ok().filter(|&size| size <= LONGEST);
        let size =
            size.ok_or_else(|| self.damaged(offset, table, "a row is longer than 64 MiB"))?;
        let most = self.usable - 35;
        if size <= most {
            let record = page.bytes.get(from..from + size).ok_or_else(|| cut(self))?;
            return Ok((id, Cow::Borrowed(record), size));
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let local = least + (size - least) % (self.usable - 4);
        let local = if local <= most { local } else { least };
        let mut record = page.bytes.get(from..from + local).ok_or_else(|| cut(self))?.to_vec();
        let mut next = self.u32_at(page, from + local, table)?;
        while record.len() < size {
            let page = self.take(next, table)?;
            next = big_endian(&page.bytes[..4]);
            let count = (size - record.len()).min(self.usable - 4);
            record.extend_from_slice(&page.bytes[4..4 + count]);
        }
        Ok((id, Cow::Owned(record), local))
    }

    fn damaged(&self, offset: u64, table: &str, what: &str) -> Error {
        let message = format!("the table {table} is damaged: {what}");
        Error::new(ErrorKind::Malformed, self.name, message)
            .at(Place { offset, event: None })
            .remedy(AGAIN)
    }
}

/// Remedy for a damaged file.
const AGAIN: &str = "copy the file again, or export it again with nsys export --type sqlite";

/// Reads the wanted values of a record; returns `false` if the record is truncated.
fn decode<'r>(record: &'r [u8], wanted: &[Option<usize>], values: &mut Vec<Value<'r>>) -> bool {
    let Some((size, used)) = varint(record) else { return false };
    let Some(types) = usize::try_from(size).ok().and_then(|size| record.get(used..size)) else {
        return false;
    };
    values.resize(wanted.len(), Value::Null);
    let last = wanted.iter().flatten().max().copied();
    let (mut types, mut at) = (types, used + types.len());
    for column in 0.. {
        if types.is_empty() || last.is_none_or(|last| column > last) {
            break;
        }
        let Some((kind, used)) = varint(types) else { return false };
        types = &types[used..];
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            12.. => ((kind - 12) / 2) as usize,
            _ => return false,
        };
        let Some(bytes) = at.checked_add(length).and_then(|end| record.get(at..end)) else {
            return false;
        };
        at += length;
        let value = match kind {
            0 => Value::Null,
            8 | 9 => Value::Integer(kind - 8),
            1..=6 => Value::Integer(signed(bytes)),
            12.. if kind % 2 == 1 => Value::Text(bytes),
            _ => Value::Other,
        };
        for (slot, _) in wanted.iter().enumerate().filter(|(_, at)| **at == Some(column)) {
            values[slot] = value;
        }
    }
    true
}

/// A variable-length SQLite integer, and its length in bytes. Each of the first eight bytes
/// contributes seven bits, and the ninth byte contributes eight bits.
fn varint(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut value = 0_u64;
    for at in 0..9 {
        let byte = u64::from(*bytes.get(at)?);
        if at == 8 {
            return Some(((value << 8 | byte) as i64, 9));
        }
        value = value << 7 | (byte & 0x7f);
        if byte < 0x80 {
            return Some((value as i64, at + 1));
        }
    }
    None
}

/// An unsigned integer of at most four bytes.
fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

/// A signed integer of one to eight bytes.
fn signed(bytes: &[u8]) -> i64 {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { -1 } else { 0 };
    bytes.iter().fold(sign, |value, &byte| value << 8 | i64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_up_to_nine_bytes() {
        assert_eq!(varint(&[0x7f]), Some((127, 1)));
        assert_eq!(varint(&[0x81, 0x00]), Some((128, 2)));
        assert_eq!(varint(&[0xff; 9]), Some((-1, 9)));
        assert_eq!(varint(&[0x80, 0x80]), None);
        assert_eq!((signed(&[0xff, 0xfe]), signed(&[0x01, 0x00])), (-2, 256));
    }

    #[test]
    fn a_record_is_types_and_values() {
        // The record has two type bytes: one for a string of 2 bytes, and one for the number 1,
        // which needs no further bytes.
        let record = [3, 17, 9, b'h', b'i'];
        let mut values = Vec::new();
        assert!(decode(&record, &[Some(1), Some(0), Some(7), None], &mut values));
        assert_eq!(values, [Value::Integer(1), Value::Text(b"hi"), Value::Null, Value::Null]);
        assert!(!decode(&record[..4], &[Some(0)], &mut values));
    }
}
