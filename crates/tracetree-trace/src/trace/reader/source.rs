//! Decompresses a file, standard input or any reader. The first bytes show whether the data is
//! uncompressed, gzip or zstd.

use super::gzip::Gzip;
use super::oddity::Oddities;
use super::options::ReadOptions;
use super::packed::Packed;
use crate::cancel::Cancel;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::storage;
use crate::trace::zstd::{self, Zstd};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Maximum number of decompressed bytes that are examined to recognize the file format.
const HEAD: usize = 512;

/// Number of bytes that are unpacked at a time, if a file is unpacked as a whole.
const STEP: usize = 1 << 20;

/// The source of the decompressed bytes of a trace.
pub(super) struct Source<'a> {
    name: &'a str,
    max_unpacked: Option<u64>,
    cancel: &'a Cancel,
    packing: Packing<'a>,
    unpacked: u64,
    damage: Option<String>,
    comes_at_once: bool,
    /// Decompressed bytes that were examined but not read yet.
    head: Vec<u8>,
    /// The local file that the source reads, if there is one.
    file: Option<PathBuf>,
}

/// Bytes that can be read at any position.
pub(super) trait Positions: Read + Seek {}

impl<T: Read + Seek> Positions for T {}

enum Packing<'a> {
    Plain(Packed<'a>),
    Gzip(Box<Gzip<'a>>),
    Zstd(Box<Zstd<Packed<'a>>>),
}

impl<'a> Source<'a> {
    /// Creates a source for the bytes of `input`; error messages refer to the source as `name`.
    ///
    /// # Errors
    /// Fails if nothing can be read.
    pub(super) fn new(
        name: &'a str,
        input: impl Read + Send + 'a,
        options: &'a ReadOptions,
    ) -> Result<Self> {
        let cannot = |error| zstd::error(name, error);
        let mut packed = Packed::new(input, options.progress.clone());
        let packing = match packed.first_bytes().map_err(cannot)? {
            [0x1f, 0x8b, ..] => Packing::Gzip(Box::new(Gzip::new(packed))),
            start if start.starts_with(&zstd::MAGIC) => {
                Packing::Zstd(Box::new(Zstd::with_buffer(packed).map_err(cannot)?))
            }
            _ => Packing::Plain(packed),
        };
        let (max_unpacked, cancel) = (options.max_unpacked, &options.cancel);
        let comes_at_once = true;
        let (unpacked, damage, head) = (0, None, Vec::new());
        let file = None;
        Ok(Source {
            name,
            max_unpacked,
            cancel,
            packing,
            unpacked,
            damage,
            comes_at_once,
            head,
            file,
        })
    }

    /// Names the local file that the source reads, for formats that read a file at any position.
    pub(super) fn of_file(self, path: &Path) -> Self {
        Source { file: Some(path.to_path_buf()), ..self }
    }

    /// Marks the source as a pipe, whose bytes arrive only when the other end writes. A pipe must
    /// not be read further than necessary.
    pub(super) fn piped(self) -> Self {
        Source { comes_at_once: false, ..self }
    }

    /// Whether all bytes of the file are available at once.
    pub(super) fn comes_at_once(&self) -> bool {
        self.comes_at_once
    }

    pub(super) fn is_packed(&self) -> bool {
        !matches!(self.packing, Packing::Plain(_))
    }

    /// The name of the trace in error messages.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// The first decompressed bytes: as many as `needs_more` asks for, and at most [`HEAD`]. Later
    /// reads still return these bytes first.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Source::read`].
    pub(super) fn head(&mut self, needs_more: impl Fn(&[u8]) -> bool) -> Result<&[u8]> {
        let mut head = vec![0; HEAD];
        let mut count = 0;
        while count < HEAD && needs_more(&head[..count]) {
            match self.read(&mut head[count..])? {
                0 => break,
                more => count += more,
            }
        }
        head.truncate(count);
        self.head = head;
        Ok(&self.head)
    }

    /// Fills the beginning of `out` with the next bytes. Returns 0 at the end of the file. The
    /// result is also 0 if compressed data is truncated or damaged, which [`Source::damage`] then
    /// reports.
    ///
    /// # Errors
    /// Fails if reading fails or is cancelled, or if the text exceeds the size limit.
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        self.cancel.check(self.name)?;
        if !self.head.is_empty() {
            let count = out.len().min(self.head.len());
            out[..count].copy_from_slice(&self.head[..count]);
            self.head.drain(..count);
            return Ok(count);
        }
        if self.damage.is_some() {
            return Ok(0);
        }
        let result = match &mut self.packing {
            Packing::Plain(packed) => packed.read(out),
            Packing::Gzip(gzip) => gzip.read(out),
            Packing::Zstd(zstd) => zstd.read(out),
        };
        let count = match result {
            Ok(count) => count,
            Err(error) if self.is_damage(&error) => {
                self.damage = Some(error.to_string());
                0
            }
            Err(error) => return Err(Error::io(self.name, "read the trace", error)),
        };
        self.unpacked += count as u64;
        self.check_bound()?;
        Ok(count)
    }

    /// Whether an error means that the data is damaged rather than that reading failed.
    fn is_damage(&self, error: &io::Error) -> bool {
        match &self.packing {
            Packing::Plain(_) => false,
            Packing::Gzip(gzip) => !gzip.packed().has_failed(),
            Packing::Zstd(zstd) => {
                !zstd.get_ref().has_failed() && error.kind() != io::ErrorKind::OutOfMemory
            }
        }
    }

    fn check_bound(&self) -> Result<()> {
        let packed = self.packed().total();
        let bound = self.max_unpacked.unwrap_or_else(|| ReadOptions::default_max_unpacked(packed));
        if self.unpacked <= bound { Ok(()) } else { Err(self.exceeded(bound)) }
    }

    fn exceeded(&self, bound: u64) -> Error {
        let message = format!("unpacks to more than {bound} bytes");
        Error::new(ErrorKind::LimitExceeded, self.name, message)
            .at(Place { offset: bound, event: None })
            .remedy("raise the limit with --max-unpacked")
    }

    /// The whole unpacked file, for reading at any position, and its size in bytes. A local file is
    /// read where it is. Compressed data and data from a pipe are copied to a temporary file, which
    /// has no name and disappears when it is closed.
    ///
    /// # Errors
    /// Fails if reading fails, if the file exceeds the size limit, if compressed data is truncated
    /// or damaged, or if there is no space for the temporary file.
    pub(super) fn positions(&mut self) -> Result<(Box<dyn Positions>, u64)> {
        let (name, bound) = (self.name, self.max_unpacked);
        let failed = |error| Error::io(name, "read the trace", error);
        if let Some(path) = self.file.as_ref().filter(|_| !self.is_packed()) {
            let mut file = storage::open_file(path)?;
            let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
            if let Some(bound) = bound.filter(|&bound| bound < size) {
                return Err(self.exceeded(bound));
            }
            file.rewind().map_err(failed)?;
            self.unpacked = size;
            return Ok((Box::new(file), size));
        }
        let mut copy = storage::scratch();
        self.for_each_step(|step| {
            copy.write_all(step).map_err(|error| {
                Error::io(name, "unpack the trace to a temporary file", error)
                    .remedy("free some space, or set TMPDIR to a folder with more space")
            })
        })?;
        copy.rewind().map_err(failed)?;
        Ok((Box::new(copy), self.unpacked))
    }

    /// All unpacked bytes, for a format that cannot be read block by block.
    ///
    /// # Errors
    /// Fails if reading fails, if the bytes exceed the limit, or if compressed data is truncated or
    /// damaged.
    pub(super) fn whole(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.for_each_step(|step| {
            bytes.extend_from_slice(step);
            Ok(())
        })?;
        Ok(bytes)
    }

    fn for_each_step(&mut self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut step = vec![0; STEP];
        loop {
            match self.read(&mut step)? {
                0 => return self.refuse_damage(),
                count => each(&step[..count])?,
            }
        }
    }

    /// Fails if compressed data is truncated or damaged, for formats that are read as a whole.
    pub(super) fn refuse_damage(&self) -> Result<()> {
        match self.damage() {
            Some(damage) => Err(Error::new(ErrorKind::Malformed, self.name, damage)
                .remedy("copy the file again: this format cannot be read in part")),
            None => Ok(()),
        }
    }

    fn packed(&self) -> &Packed<'a> {
        match &self.packing {
            Packing::Plain(packed) => packed,
            Packing::Gzip(gzip) => gzip.packed(),
            Packing::Zstd(zstd) => zstd.get_ref(),
        }
    }

    /// Number of bytes decompressed so far.
    pub(super) fn unpacked(&self) -> u64 {
        self.unpacked
    }

    /// Why the rest of the compressed data cannot be read; `None` if no damage was found so far.
    pub(super) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// The percentage of the file that was read; bytes after damaged data do not count as read.
    ///
    /// # Errors
    /// Fails if the rest of the file cannot be read to determine its size.
    pub(super) fn share_read(&mut self) -> Result<f64> {
        let name = self.name;
        let packed = self.packed_mut();
        let used = packed.used();
        let total =
            packed.count_rest().map_err(|error| Error::io(name, "read the trace", error))?;
        Ok(if total == 0 { 100.0 } else { 100.0 * used as f64 / total as f64 })
    }

    /// XXH3 hash (128 bits) of the file as stored, compressed or not, including anything after the
    /// document.
    ///
    /// # Errors
    /// Fails if the rest of the file cannot be read.
    pub(super) fn hash(&mut self) -> Result<u128> {
        let name = self.name;
        self.packed_mut().hash().map_err(|error| Error::io(name, "read the trace", error))
    }

    fn packed_mut(&mut self) -> &mut Packed<'a> {
        match &mut self.packing {
            Packing::Plain(packed) => packed,
            Packing::Gzip(gzip) => gzip.packed_mut(),
            Packing::Zstd(zstd) => zstd.get_mut(),
        }
    }

    /// Moves the irregularities that were found in gzip data to `odd`.
    pub(super) fn take_oddities(&mut self, odd: &mut Oddities) {
        if let Packing::Gzip(gzip) = &mut self.packing {
            for (oddity, offset) in gzip.take_oddities() {
                odd.add(oddity, 1, Place { offset, event: None });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(bytes: &[u8], options: &ReadOptions) -> Result<(Vec<u8>, Option<String>)> {
        let mut source = Source::new("t", bytes, options)?;
        let mut out = Vec::new();
        let mut buffer = [0; 7];
        loop {
            match source.read(&mut buffer)? {
                0 => return Ok((out, source.damage().map(str::to_owned))),
                count => out.extend_from_slice(&buffer[..count]),
            }
        }
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn zstd_is_recognized_by_its_first_bytes_and_kept_if_truncated() {
        let text = b"[1, 2, 3]".repeat(1000);
        let packed = ::zstd::encode_all(&text[..], 1).expect("packed");
        let options = ReadOptions::default();
        assert_eq!(unpacked(&packed, &options).expect("unpacked"), (text, None));
        let (_, damage) = unpacked(&packed[..packed.len() - 3], &options).expect("unpacked");
        assert!(damage.is_some());
    }

    #[test]
    fn the_bound_stops_a_bomb() {
        let options = ReadOptions::default().max_unpacked(100);
        let error = unpacked(&[b' '; 101], &options).expect_err("too large");
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(unpacked(&[b' '; 100], &options).is_ok());
    }
}
