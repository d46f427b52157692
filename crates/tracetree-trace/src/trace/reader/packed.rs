//! Reads the bytes of a file, compressed or not, from any reader. Buffers, counts and hashes these
//! bytes, and reports progress.

use super::options::ReadProgress;
use std::io::{self, BufRead, Read};
use twox_hash::xxhash3_128::Hasher;

const BUFFER: usize = 64 * 1024;

/// The bytes of the file as stored on disk.
pub(super) struct Packed<'a> {
    input: Box<dyn Read + Send + 'a>,
    progress: Option<ReadProgress>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    total: u64,
    has_failed: bool,
    /// The hasher for the file, boxed because the hasher is large.
    hasher: Box<Hasher>,
}

impl<'a> Packed<'a> {
    pub(super) fn new(input: impl Read + Send + 'a, progress: Option<ReadProgress>) -> Self {
        let buffer = vec![0; BUFFER];
        let input = Box::new(input);
        let hasher = Box::new(Hasher::new());
        Packed { input, progress, buffer, start: 0, end: 0, total: 0, has_failed: false, hasher }
    }

    /// The first bytes of the file: as many as one read returns, but at least 4 if the file is that
    /// long.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub(super) fn first_bytes(&mut self) -> io::Result<&[u8]> {
        while self.end < 4 {
            match self.read_input(self.end)? {
                0 => break,
                count => self.end += count,
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// The next byte of the file; `None` at the end of the file.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub(super) fn next_byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.fill_buf()?.first().copied();
        self.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    /// Number of bytes read from the file so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Number of bytes consumed so far, without the bytes that are still in the buffer.
    pub(super) fn used(&self) -> u64 {
        self.total - (self.end - self.start) as u64
    }

    /// Whether the underlying reader has returned an error.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Reads to the end of the file and returns the total size of the file.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub(super) fn count_rest(&mut self) -> io::Result<u64> {
        while self.read_input(0)? != 0 {}
        (self.start, self.end) = (0, 0);
        Ok(self.total)
    }

    /// Reads into the buffer, starting at position `at` of the buffer.
    fn read_input(&mut self, at: usize) -> io::Result<usize> {
        let result = read_once(&mut self.input, &mut self.buffer[at..]);
        if let Ok(count) = result {
            self.hasher.write(&self.buffer[at..at + count]);
        }
        self.counted(result)
    }

    /// Reads the rest of the file, and returns the XXH3 hash (128 bits) of the whole file.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub(super) fn hash(&mut self) -> io::Result<u128> {
        self.count_rest()?;
        Ok(self.hasher.finish_128())
    }

    fn counted(&mut self, result: io::Result<usize>) -> io::Result<usize> {
        match result {
            Ok(count) => {
                self.total += count as u64;
                if let Some(progress) = &self.progress {
                    progress.tell(self.total);
                }
                Ok(count)
            }
            Err(error) => {
                self.has_failed = true;
                Err(error)
            }
        }
    }
}

/// Reads once; repeats the read if a signal interrupts it.
fn read_once(input: &mut dyn Read, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(out) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl Read for Packed<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            let result = read_once(&mut self.input, out);
            if let Ok(count) = result {
                self.hasher.write(&out[..count]);
            }
            return self.counted(result);
        }
        let count = out.len().min(self.end - self.start);
        out[..count].copy_from_slice(&self.buffer[self.start..self.start + count]);
        self.start += count;
        Ok(count)
    }
}

impl BufRead for Packed<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.end = 0;
            self.start = 0;
            self.end = self.read_input(0)?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn progress_counts_the_bytes_of_the_file() {
        let shown = Arc::new(AtomicU64::new(0));
        let tell = shown.clone();
        let progress = ReadProgress::new(move |bytes| tell.store(bytes, Ordering::Relaxed));
        let mut packed = Packed::new(&b"abcdefgh"[..], Some(progress));
        assert_eq!(packed.first_bytes().expect("bytes"), b"abcdefgh");
        assert_eq!(packed.next_byte().expect("a byte"), Some(b'a'));
        assert_eq!((packed.used(), packed.count_rest().expect("the rest")), (1, 8));
        assert_eq!(shown.load(Ordering::Relaxed), 8);
    }
}
