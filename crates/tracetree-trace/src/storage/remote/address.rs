//! Resolves each address into a store and a key in that store.
//!
//! In `s3://BUCKET/KEY`, `gs://BUCKET/KEY` and `az://CONTAINER/KEY`, the key is used literally;
//! `https://HOST/PATH` is parsed as a URL. Each store client is created once. Credentials come only
//! from the environment. They are looked up before the first request, so that missing credentials
//! are reported as such and not as a failed request.

use super::failure::{self, Service};
use super::patience::{Connector, hasty, patient};
use super::waiting;
use crate::error::{Error, ErrorKind, Result};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{ClientOptions, CredentialProvider, ObjectStore};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// The key of an object, and the store that contains the object.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) service: Service,
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) key: Key,
}

/// Whether a path is an address on a web server, whose versions cannot be requested.
pub(super) fn is_web(path: &Path) -> bool {
    let parts = path.to_str().and_then(parts);
    parts.is_some_and(|parts| parts.service == Service::Web)
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts<'a> {
    service: Service,
    /// Scheme and host, such as `s3://bucket` or `https://host`.
    root: &'a str,
    /// The bucket, container or host.
    bucket: &'a str,
    key: &'a str,
}

/// The store clients created so far, by root address.
static STORES: LazyLock<Mutex<BTreeMap<String, Arc<dyn ObjectStore>>>> = LazyLock::new(|| {
    // This call fails if the host program has already installed a cryptography provider, which is
    // fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Mutex::default()
});

impl Address {
    /// Resolves a path that is an address.
    ///
    /// # Errors
    /// Fails if the path is not an address, or if there are no credentials for the address.
    pub(super) fn of(path: &Path) -> Result<Address> {
        let wrong = |why: String| {
            Error::new(ErrorKind::Usage, path, why).remedy("use the form s3://BUCKET/FOLDER/FILE")
        };
        let text = path.to_str().unwrap_or_default();
        let parts = parts(text).ok_or_else(|| wrong("is not a valid address".to_owned()))?;
        let key = match parts.service {
            Service::Web => Key::from_url_path(parts.key),
            Service::S3 | Service::Google | Service::Azure => Key::parse(parts.key),
        };
        let key = key.map_err(|error| wrong(format!("is not a valid address: {error}")))?;
        Ok(Address { service: parts.service, store: store(path, &parts)?, key })
    }
}

fn parts(text: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = text.split_once("://")?;
    let service = match scheme {
        "s3" => Service::S3,
        "gs" => Service::Google,
        "az" | "abfs" | "abfss" => Service::Azure,
        "https" | "http" => Service::Web,
        _ => return None,
    };
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    let root = &text[..scheme.len() + "://".len() + bucket.len()];
    (!bucket.is_empty()).then_some(Parts { service, root, bucket, key })
}

fn store(path: &Path, parts: &Parts<'_>) -> Result<Arc<dyn ObjectStore>> {
    // If a thread panicked while it held the lock, the map of stores is still consistent.
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = stores.get(parts.root) {
        return Ok(known.clone());
    }
    let made = match parts.service {
        Service::S3 => amazon(path, parts.bucket),
        Service::Google => google(path, parts.bucket),
        Service::Azure => azure(path, parts.root),
        Service::Web => web(path, parts.root),
    }?;
    stores.insert(parts.root.to_owned(), made.clone());
    Ok(made)
}

fn amazon(path: &Path, bucket: &str) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(hasty());
    let said = |key| builder.get_config_value(&key).unwrap_or_default();
    let endpoints = [said(AmazonS3ConfigKey::S3Endpoint), said(AmazonS3ConfigKey::Endpoint)];
    let is_public = said(AmazonS3ConfigKey::SkipSignature) == "true";
    // Plain HTTP is allowed only if the user explicitly configured a plain-HTTP endpoint.
    if endpoints.iter().any(|endpoint| endpoint.starts_with("http://")) {
        builder = builder.with_allow_http(true);
    }
    let made =
        |builder: AmazonS3Builder| builder.build().map_err(failure::setup(path, Service::S3));
    if !is_public {
        let credentials = made(builder.clone())?.credentials().clone();
        builder = builder.with_credentials(checked(path, Service::S3, credentials)?);
    }
    Ok(Arc::new(made(builder.with_retry(patient()).with_http_connector(Connector))?))
}

fn google(path: &Path, bucket: &str) -> Result<Arc<dyn ObjectStore>> {
    let mut builder =
        GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(hasty());
    let is_public = builder
        .get_config_value(&GoogleConfigKey::SkipSignature)
        .is_some_and(|text| text == "true");
    let made = |builder: GoogleCloudStorageBuilder| {
        builder.build().map_err(failure::setup(path, Service::Google))
    };
    if !is_public {
        let credentials = made(builder.clone())?.credentials().clone();
        builder = builder.with_credentials(checked(path, Service::Google, credentials)?);
    }
    Ok(Arc::new(made(builder.with_retry(patient()).with_http_connector(Connector))?))
}

fn azure(path: &Path, root: &str) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::from_env().with_url(root).with_retry(hasty());
    let is_public =
        builder.get_config_value(&AzureConfigKey::SkipSignature).is_some_and(|text| text == "true");
    let made = |builder: MicrosoftAzureBuilder| {
        builder.build().map_err(failure::setup(path, Service::Azure))
    };
    if !is_public {
        let credentials = made(builder.clone())?.credentials().clone();
        builder = builder.with_credentials(checked(path, Service::Azure, credentials)?);
    }
    Ok(Arc::new(made(builder.with_retry(patient()).with_http_connector(Connector))?))
}

/// Creates the store for a web server. Its client has no overall timeout: a download may take any
/// amount of time as long as data keeps arriving.
fn web(path: &Path, root: &str) -> Result<Arc<dyn ObjectStore>> {
    let options = ClientOptions::new()
        .with_allow_http(root.starts_with("http://"))
        .with_timeout_disabled()
        .with_read_timeout(Duration::from_secs(30));
    let builder = HttpBuilder::new().with_url(root).with_client_options(options);
    let made = builder.with_retry(patient()).with_http_connector(Connector).build();
    Ok(Arc::new(made.map_err(failure::setup(path, Service::Web))?))
}

/// Fetches credentials once to verify that they exist, and returns the credentials.
fn checked<C: Send + Sync + 'static>(
    path: &Path,
    service: Service,
    credentials: Arc<dyn CredentialProvider<Credential = C>>,
) -> Result<Arc<dyn CredentialProvider<Credential = C>>> {
    let asked = credentials.clone();
    let shown = waiting::done(async move { asked.get_credential().await.map(drop) })
        .map_err(failure::waiting(path, "find credentials"))?;
    shown.map_err(|error| {
        let why = failure::reason(&error);
        let error = std::io::Error::new(std::io::ErrorKind::PermissionDenied, why);
        Error::io(path, "find credentials", error).remedy(service.credentials())
    })?;
    Ok(credentials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Stored;

    #[test]
    fn an_address_has_a_service_a_bucket_and_a_key() {
        let of =
            |text| parts(text).map(|parts| (parts.service, parts.root, parts.bucket, parts.key));
        assert_eq!(of("s3://b/a/r 1.json"), Some((Service::S3, "s3://b", "b", "a/r 1.json")));
        assert_eq!(of("gs://b"), Some((Service::Google, "gs://b", "b", "")));
        assert_eq!(of("az://c/x"), Some((Service::Azure, "az://c", "c", "x")));
        let web = Some((Service::Web, "https://h:8", "h:8", "x%20y"));
        assert_eq!(of("https://h:8/x%20y"), web);
        assert_eq!((of("s3:///x"), of("ftp://h/x"), of("/x")), (None, None, None));
    }

    #[test]
    fn versions_on_a_web_server_cannot_be_requested() {
        let is_pinned = |path: &str, version: &str| {
            let stored = Stored { path: path.into(), size: 1, version: version.to_owned() };
            super::super::is_pinned(&stored)
        };
        assert!(is_pinned("s3://bucket/x", "5d41402a"));
        assert!(!is_pinned("https://host/x", "5d41402a"));
        assert!(!is_pinned("s3://bucket/x", "2026-01-01T00:00:00Z"));
    }
}
