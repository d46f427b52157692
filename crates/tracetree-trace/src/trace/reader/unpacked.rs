//! Unpacks files that are not traces, with the limits that traces have.

use super::options::ReadOptions;
use super::recorders;
use super::source::Source;
use crate::error::Result;
use std::io::{self, Read};

/// The unpacked bytes of a file, which may be compressed with gzip or zstd. An error that reading
/// returns contains an [`Error`](crate::Error), which [`Error::io`](crate::Error::io) returns
/// unchanged.
#[doc(hidden)]
pub struct Unpacked<'a>(Source<'a>);

impl<'a> Unpacked<'a> {
    /// Unpacks `input` while it is read; error messages refer to it as `name`.
    ///
    /// # Errors
    /// Fails if nothing can be read.
    pub fn new(
        name: &'a str,
        input: impl Read + Send + 'a,
        options: &'a ReadOptions,
    ) -> Result<Unpacked<'a>> {
        Source::new(name, input, options).map(Unpacked)
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(out).map_err(io::Error::other)?;
        if count == 0 {
            self.0.refuse_damage().map_err(io::Error::other)?;
        }
        Ok(count)
    }
}

/// All unpacked bytes of `input`; error messages refer to it as `name`.
///
/// # Errors
/// Fails if reading fails, if compressed data is truncated or damaged, or if the bytes exceed
/// [`ReadOptions::max_unpacked`].
#[doc(hidden)]
pub fn unpack(name: &str, input: impl Read + Send, options: &ReadOptions) -> Result<Vec<u8>> {
    recorders::whole(&mut Source::new(name, input, options)?)
}
