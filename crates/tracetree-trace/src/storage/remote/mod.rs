//! Lists, reads and writes remote objects through the object_store crate.
//!
//! Writes are atomic: a small object is written in one request, and a large object is uploaded in
//! parts that become visible only after the last part has arrived.

mod address;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the error enums of other crates may gain variants"
)]
mod failure;
mod patience;
mod reader;
mod waiting;

use super::Stored;
use crate::error::{Error, Result};
use address::Address;
use bytes::Bytes;
use failure::Service;
use object_store::path::Path as Key;
use object_store::{
    MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};
use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use waiting::Pending;

/// Size of each part of a large upload. S3 requires parts of at least 5 MiB and allows at most
/// 10,000 parts.
const PART: usize = 16 * 1024 * 1024;

type Answer<T> = object_store::Result<T>;

pub(super) fn list(folder: &Path) -> Result<Vec<Stored>> {
    let Address { service, store, key } = Address::of(folder)?;
    if service == Service::Web {
        let error =
            io::Error::new(io::ErrorKind::Unsupported, "a web server has no folder listings");
        return Err(
            Error::io(folder, "list the folder", error).remedy("use a bucket or a local folder")
        );
    }
    // The store returns up to 1000 names per request, so requests are repeated until the listing is
    // complete.
    let listed = asked((folder, service, "list the folder"), async move {
        store.list_with_delimiter(Some(&key)).await
    })?;
    let root = folder.to_str().unwrap_or_default().trim_end_matches('/');
    let place = |meta: &ObjectMeta| Some(format!("{root}/{}", meta.location.filename()?));
    let objects = listed.objects.iter();
    let mut found: Vec<Stored> =
        objects.filter_map(|meta| Some(stored(PathBuf::from(place(meta)?), meta))).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

pub(super) fn stat(path: &Path) -> Result<Stored> {
    let Address { service, store, key } = Address::of(path)?;
    let meta = asked((path, service, "open the file"), async move { store.head(&key).await })?;
    Ok(stored(path.to_path_buf(), &meta))
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let address = Address::of(path)?;
    failure::explained((path, address.service, "open the trace"), reader::open(&address))
}

/// An object that is being opened. Its first bytes may already have been requested.
pub struct Opening {
    path: PathBuf,
    begun: Result<(Service, io::Result<reader::Begun>)>,
}

impl Opening {
    pub(super) fn ahead(&self) -> u64 {
        match &self.begun {
            Ok((_, Ok(begun))) => begun.ahead(),
            Ok((_, Err(_))) | Err(_) => 0,
        }
    }

    pub(super) fn open(self) -> Result<Box<dyn Read + Send>> {
        let (service, begun) = self.begun?;
        let opened = begun.and_then(reader::Begun::open);
        failure::explained((&self.path, service, "open the trace"), opened)
    }
}

pub(super) fn begin(stored: &Stored) -> Opening {
    let begun =
        Address::of(&stored.path).map(|address| (address.service, reader::begin(&address, stored)));
    Opening { path: stored.path.clone(), begun }
}

/// Whether a request can require an object's version. The version must be an ETag rather than a date,
/// and the object must not be on a web server.
pub(super) fn is_pinned(stored: &Stored) -> bool {
    !stored.version.contains([':', '"']) && !address::is_web(&stored.path)
}

pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let Address { service, store, key } = Address::of(path)?;
    asked((path, service, "read the file"), async move {
        match failure::unless_absent(store.get(&key).await)? {
            Some(answer) => answer.bytes().await.map(|bytes| Some(bytes.to_vec())),
            None => Ok(None),
        }
    })
}

/// An object that is being written.
pub struct Creating {
    path: PathBuf,
    begun: Result<(Service, io::Result<Pending<Answer<()>>>)>,
}

impl Creating {
    pub(super) fn wait(self) -> Result<()> {
        let (service, pending) = self.begun?;
        let answer = pending.and_then(|pending| pending.wait());
        failure::explained((&self.path, service, "write the file"), answer)
    }
}

pub(super) fn begin_create(path: &Path, bytes: &[u8]) -> Creating {
    let begun = Address::of(path).map(|Address { service, store, key }| {
        let bytes = Bytes::copy_from_slice(bytes);
        (service, waiting::begin(async move { create(&*store, &key, bytes).await }))
    });
    Creating { path: path.to_path_buf(), begun }
}

/// Writes an object of up to 5 GB in one request, because multipart uploads do not support preconditions.
async fn create(store: &dyn ObjectStore, key: &Key, bytes: Bytes) -> Answer<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match store.put_opts(key, PutPayload::from_bytes(bytes.clone()), options).await {
            Ok(_) => return Ok(()),
            Err(error @ object_store::Error::AlreadyExists { .. }) => {
                // A store also returns `AlreadyExists` while another process is uploading the object, although that
                // upload may fail.
                match failure::unless_absent(store.head(key).await)? {
                    Some(_) => return Ok(()),
                    None if tries < TRIES => {}
                    None => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Maximum number of attempts in [`create`]. An attempt fails if another process has started to upload the object but
/// has not finished.
const TRIES: u32 = 5;

pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut input = bytes;
    write(path, bytes.len() as u64, &mut input)
}

pub(super) fn upload(file: &Path, path: &Path) -> Result<()> {
    let failed = |error| Error::io(file, "read the file", error);
    let mut input = File::open(file).map_err(failed)?;
    let size = input.metadata().map_err(failed)?.len();
    write(path, size, &mut input)
}

fn write(path: &Path, size: u64, input: &mut dyn Read) -> Result<()> {
    let Address { service, store, key } = Address::of(path)?;
    let doing = (path, service, "write the file");
    if size <= PART as u64 {
        let bytes = part(path, input)?;
        let put = async move { store.put(&key, bytes.into()).await.map(drop) };
        return asked(doing, put);
    }
    let mut upload = asked(doing, async move { store.put_multipart(&key).await })?;
    let written = write_parts(doing, &mut upload, input);
    match written {
        Ok(()) => asked(doing, async move { upload.complete().await.map(drop) }),
        Err(error) => {
            // The parts of an unfinished upload are billed until they are deleted.
            let _ = waiting::done(async move { upload.abort().await });
            Err(error)
        }
    }
}

/// Uploads one part at a time, so that only one part is in memory.
fn write_parts(
    doing: (&Path, Service, &str),
    upload: &mut Box<dyn MultipartUpload>,
    input: &mut dyn Read,
) -> Result<()> {
    loop {
        let bytes = part(doing.0, input)?;
        if bytes.is_empty() {
            return Ok(());
        }
        asked(doing, upload.put_part(bytes.into()))?;
    }
}

fn part(path: &Path, input: &mut dyn Read) -> Result<Bytes> {
    let mut bytes = Vec::new();
    let read = input.take(PART as u64).read_to_end(&mut bytes);
    read.map_err(|error| Error::io(path, "read the data to write", error))?;
    Ok(bytes.into())
}

fn stored(path: PathBuf, meta: &ObjectMeta) -> Stored {
    // Some responses put the ETag in quotes, and others do not.
    let tag = meta.e_tag.as_deref().map(|tag| tag.trim_matches('"').to_owned());
    let version = tag.unwrap_or_else(|| meta.last_modified.to_rfc3339());
    Stored { path, size: meta.size, version }
}

/// Sends a request and waits for the response.
fn asked<T: Send + 'static>(
    doing: (&Path, Service, &str),
    request: impl Future<Output = Answer<T>> + Send + 'static,
) -> Result<T> {
    failure::explained(doing, waiting::done(request))
}
