//! Reads the bytes of an object in order, in ranges. A limited number of ranges is prefetched.
//!
//! ```text
//! 256 KiB, enough for a head ─▶ 8 MiB ─▶ 8 MiB ─▶ …      prefetching starts with the second range
//! ```
//! The first response gives the size and the ETag, and every later range is requested with that
//! ETag as a precondition. If the object is overwritten during the read, the read fails instead of
//! mixing two versions. A web server may not support range requests, so an object on a web server
//! is streamed from a single response.

use super::super::Stored;
use super::address::Address;
use super::failure::{self, Service};
use super::waiting::{self, Pending};
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Size of the first range. The trace reader reads an uncompressed file in blocks of this size.
const FIRST: u64 = 256 * 1024;
/// Size of each range after the first one. For ranges of this size, the latency of a request (about
/// 50 ms) is a small part of the transfer time.
const RANGE: u64 = 8 * 1024 * 1024;
/// Maximum number of ranges that are requested before they are read.
const AHEAD: usize = 3;

type Answer<T> = object_store::Result<T>;

/// Opens an object for streaming.
///
/// # Errors
/// Fails if the object does not exist or cannot be read.
pub(super) fn open(address: &Address) -> io::Result<Answer<Box<dyn Read + Send>>> {
    match address.service {
        Service::Web => whole(address),
        Service::S3 | Service::Google | Service::Azure => ranges(address),
    }
}

/// An object whose first bytes may have been requested.
pub(super) enum Begun {
    /// The first ranges of the object have been requested.
    Ranges(Ranges),
    /// No range was requested, because the object is on a web server or its version is not an ETag.
    Unknown(Address),
}

/// Requests the first ranges of one version of an object, without waiting for the responses.
///
/// # Errors
/// Fails if the system cannot create threads.
pub(super) fn begin(address: &Address, stored: &Stored) -> io::Result<Begun> {
    if !super::is_pinned(stored) {
        return Ok(Begun::Unknown(address.clone()));
    }
    let (store, key) = (address.store.clone(), address.key.clone());
    let etag = Some(format!("\"{}\"", stored.version));
    let (pending, current) = (VecDeque::new(), Bytes::new());
    let mut ranges = Ranges { store, key, size: stored.size, etag, next: 0, pending, current };
    ranges.ask()?;
    Ok(Begun::Ranges(ranges))
}

impl Begun {
    pub(super) fn ahead(&self) -> u64 {
        match self {
            Begun::Ranges(ranges) => ranges.next,
            Begun::Unknown(_) => 0,
        }
    }

    /// Waits for the first range of the object; sends the first request if none was sent yet.
    ///
    /// # Errors
    /// Fails if the range cannot be read, or if the object has a different version.
    pub(super) fn open(self) -> io::Result<Answer<Box<dyn Read + Send>>> {
        let mut ranges = match self {
            Begun::Ranges(ranges) => ranges,
            Begun::Unknown(address) => return open(&address),
        };
        if let Some(pending) = ranges.pending.pop_front() {
            match pending.wait()? {
                Ok(bytes) => ranges.current = bytes,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(Box::new(ranges)))
    }
}

/// An object that is read range by range.
pub(super) struct Ranges {
    store: Arc<dyn ObjectStore>,
    key: Key,
    size: u64,
    etag: Option<String>,
    /// Start of the next range to request.
    next: u64,
    pending: VecDeque<Pending<Answer<Bytes>>>,
    current: Bytes,
}

fn ranges(address: &Address) -> io::Result<Answer<Box<dyn Read + Send>>> {
    let Address { store, key, .. } = address.clone();
    let first = waiting::done(async move {
        let answer = match first(&*store, &key).await {
            Ok(answer) => Ok(answer),
            // If the object is empty, every range request fails.
            Err(error) => match store.head(&key).await {
                Ok(meta) if meta.size == 0 => Ok((meta, Bytes::new())),
                _ => Err(error),
            },
        };
        answer.map(|(meta, bytes)| Ranges::new(store, key, meta, bytes))
    })?;
    Ok(first.map(|ranges| -> Box<dyn Read + Send> { Box::new(ranges) }))
}

async fn first(store: &dyn ObjectStore, key: &Key) -> Answer<(ObjectMeta, Bytes)> {
    let options = GetOptions { range: Some(GetRange::Bounded(0..FIRST)), ..GetOptions::default() };
    let answer = store.get_opts(key, options).await?;
    let meta = answer.meta.clone();
    Ok((meta, answer.bytes().await?))
}

impl Ranges {
    fn new(store: Arc<dyn ObjectStore>, key: Key, meta: ObjectMeta, current: Bytes) -> Ranges {
        let (size, next) = (meta.size, current.len() as u64);
        Ranges { store, key, size, etag: meta.e_tag, next, pending: VecDeque::new(), current }
    }

    /// Requests further ranges until [`AHEAD`] ranges are pending.
    fn ask(&mut self) -> io::Result<()> {
        while self.pending.len() < AHEAD && self.next < self.size {
            let range = self.next..self.size.min(self.next + RANGE);
            self.next = range.end;
            let (store, key, etag) = (self.store.clone(), self.key.clone(), self.etag.clone());
            let asked = async move { one(&*store, &key, etag, range).await };
            self.pending.push_back(waiting::begin(asked)?);
        }
        Ok(())
    }
}

async fn one(
    store: &dyn ObjectStore,
    key: &Key,
    if_match: Option<String>,
    range: Range<u64>,
) -> Answer<Bytes> {
    let options =
        GetOptions { range: Some(GetRange::Bounded(range)), if_match, ..GetOptions::default() };
    let same = options.if_match.clone();
    let answer = store.get_opts(key, options).await?;
    // Some servers ignore the precondition, so the ETag in the response is checked as well.
    let plain = |tag: &Option<String>| tag.as_deref().map(|tag| tag.trim_matches('"').to_owned());
    if same.is_some() && plain(&answer.meta.e_tag) != plain(&same) {
        let source = "another ETag".into();
        return Err(object_store::Error::Precondition { path: key.to_string(), source });
    }
    answer.bytes().await
}

impl Read for Ranges {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            self.ask()?;
            let Some(pending) = self.pending.pop_front() else { return Ok(0) };
            self.current = pending.wait()?.map_err(|error| failure::system(&error))?;
        }
        let count = out.len().min(self.current.len());
        self.current.copy_to_slice(&mut out[..count]);
        Ok(count)
    }
}

/// A response whose body is streamed.
struct Pieces {
    /// The stream of bytes; `None` after its end.
    stream: Option<BoxStream<'static, Answer<Bytes>>>,
    current: Bytes,
}

fn whole(address: &Address) -> io::Result<Answer<Box<dyn Read + Send>>> {
    let Address { store, key, .. } = address.clone();
    let opened = waiting::done(async move { store.get(&key).await })?;
    Ok(opened.map(|answer| -> Box<dyn Read + Send> {
        Box::new(Pieces { stream: Some(answer.into_stream()), current: Bytes::new() })
    }))
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            let Some(mut stream) = self.stream.take() else { return Ok(0) };
            let asked = async move { (stream.next().await, stream) };
            let (piece, stream) = waiting::done(asked)?;
            if let Some(piece) = piece {
                self.current = piece.map_err(|error| failure::system(&error))?;
                self.stream = Some(stream);
            }
        }
        let count = out.len().min(self.current.len());
        self.current.copy_to_slice(&mut out[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    const SIZE: usize = (FIRST + 2 * RANGE + 5) as usize;

    fn bytes(seed: usize) -> Vec<u8> {
        (0..SIZE).map(|at| ((at * 31 + at / 251 + seed) % 256) as u8).collect()
    }

    fn address(service: Service, content: Vec<u8>) -> Address {
        let (store, key) = (Arc::new(InMemory::new()), Key::from("a/b"));
        put(store.clone(), content);
        Address { service, store, key }
    }

    fn put(store: Arc<dyn ObjectStore>, content: Vec<u8>) {
        let put = async move { store.put(&Key::from("a/b"), content.into()).await };
        waiting::done(put).expect("a runtime").expect("written");
    }

    fn opened(address: &Address) -> Box<dyn Read + Send> {
        open(address).expect("a runtime").expect("opened")
    }

    #[test]
    fn all_bytes_come_in_their_order() {
        for service in [Service::S3, Service::Web] {
            let address = address(service, bytes(0));
            let mut read = Vec::new();
            opened(&address).read_to_end(&mut read).expect("read");
            assert!(read == bytes(0), "{service:?}");
        }
    }

    #[test]
    fn an_object_that_is_written_meanwhile_is_an_error() {
        let address = address(Service::S3, bytes(0));
        let mut reader = opened(&address);
        reader.read_exact(&mut [0; 1000]).expect("the first bytes");
        put(address.store.clone(), bytes(1));
        let error = reader.read_to_end(&mut Vec::new()).expect_err("changed");
        assert_eq!(error.kind(), io::ErrorKind::StaleNetworkFileHandle);
    }

    #[test]
    fn an_empty_object_has_no_bytes() {
        let mut read = Vec::new();
        opened(&address(Service::S3, Vec::new())).read_to_end(&mut read).expect("read");
        assert!(read.is_empty());
    }

    #[test]
    fn the_head_of_an_object_takes_one_small_range_request() {
        let mut ranges = {
            let Address { store, key, .. } = address(Service::S3, bytes(0));
            let (meta, current) = waiting::done({
                let (store, key) = (store.clone(), key.clone());
                async move { first(&*store, &key).await }
            })
            .expect("a runtime")
            .expect("read");
            Ranges::new(store, key, meta, current)
        };
        ranges.read_exact(&mut [0; FIRST as usize]).expect("the head");
        assert_eq!((ranges.next, ranges.pending.len()), (FIRST, 0));
        ranges.read_exact(&mut [0; 1]).expect("one more");
        assert!(ranges.pending.len() < AHEAD && ranges.next == SIZE as u64);
    }
}
