//! Converts a storage error to an [`Error`] with the address, a one-line reason and a remedy.

use super::patience::deadline;
use crate::error::{Error, ErrorKind, Result};
use object_store::Error as StoreError;
use std::error::Error as StdError;
use std::io;
use std::path::Path;

/// Maximum length of a server message that is shown to the user, in characters.
const LONGEST: usize = 200;

/// The error for a failed request; `doing` completes the phrase "cannot …".
pub(super) fn request(path: &Path, service: Service, doing: &str, error: &StoreError) -> Error {
    let failed = system(error);
    let remedy = match failed.kind() {
        io::ErrorKind::NotFound if code(error).as_deref() == Some("NoSuchBucket") => {
            service.place()
        }
        io::ErrorKind::NotFound => "check the address",
        io::ErrorKind::PermissionDenied if is_unauthenticated(error) => service.credentials(),
        io::ErrorKind::PermissionDenied => "request access, or use other credentials",
        io::ErrorKind::StaleNetworkFileHandle => {
            "retry when no other program is writing to this address"
        }
        io::ErrorKind::Unsupported => "use a bucket or a local folder",
        io::ErrorKind::ResourceBusy => SLOWER,
        io::ErrorKind::HostUnreachable => {
            "try again later; results that are already written are kept"
        }
        _ => service.place(),
    };
    Error::io(path, doing, failed).remedy(remedy)
}

/// Hint for a store that throttles requests.
const SLOWER: &str =
    "run fewer comparisons at once, or try again later; results that are already written are kept";

/// The error if settings for a store are missing from the environment.
pub(super) fn setup(path: &Path, service: Service) -> impl Fn(StoreError) -> Error {
    move |error| {
        let message = format!("cannot be reached: {}", reason(&error));
        Error::new(ErrorKind::Usage, path, message).remedy(service.credentials())
    }
}

/// The error for a request that ended without a result.
pub(super) fn waiting(path: &Path, doing: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::io(path, doing, error)
}

/// Turns the error for a missing object into `None`. A missing bucket remains an error.
pub(super) fn unless_absent<T>(
    result: object_store::Result<T>,
) -> std::result::Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error @ StoreError::NotFound { .. }) => match code(&error).as_deref() {
            Some("NoSuchBucket") => Err(error),
            _ => Ok(None),
        },
        Err(error) => Err(error),
    }
}

/// Converts a storage error to an [`io::Error`], which the rest of the program handles.
pub(super) fn system(error: &StoreError) -> io::Error {
    let kind = kind(error);
    let words = match kind {
        io::ErrorKind::NotFound => "nothing found at this address",
        io::ErrorKind::PermissionDenied => "no permission",
        io::ErrorKind::StaleNetworkFileHandle => "the object changed while it was being read",
        io::ErrorKind::ResourceBusy => "the store throttles requests",
        io::ErrorKind::HostUnreachable => "the server fails",
        _ => return io::Error::new(kind, reason(error)),
    };
    let text = match code(error).or_else(|| status(&innermost(error)).map(str::to_owned)) {
        Some(code) if code == "NoSuchBucket" => "the bucket does not exist".to_owned(),
        Some(code) => format!("{words} ({code})"),
        None => words.to_owned(),
    };
    let is_repeated = matches!(kind, io::ErrorKind::ResourceBusy | io::ErrorKind::HostUnreachable);
    let how_long = if is_repeated {
        format!(", even after {} s of retries", deadline().as_secs())
    } else {
        String::new()
    };
    io::Error::new(kind, text + &how_long)
}

/// Searches the whole error chain, because each retry nests the server's response one level deeper.
fn kind(error: &StoreError) -> io::ErrorKind {
    let of = |error: &StoreError| match error {
        StoreError::NotFound { .. } => Some(io::ErrorKind::NotFound),
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            Some(io::ErrorKind::PermissionDenied)
        }
        StoreError::Precondition { .. } => Some(io::ErrorKind::StaleNetworkFileHandle),
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            Some(io::ErrorKind::Unsupported)
        }
        _ => None,
    };
    let known = chain(error).find_map(|error| of(error.downcast_ref()?));
    if known.is_none() && code(error).is_some_and(|code| THROTTLED.contains(&code.as_str())) {
        return io::ErrorKind::ResourceBusy;
    }
    known.or_else(|| by_status(&innermost(error))).unwrap_or(io::ErrorKind::Other)
}

/// Error codes that S3 and Azure return when they throttle requests.
const THROTTLED: [&str; 5] =
    ["SlowDown", "RequestLimitExceeded", "TooManyRequests", "ServerBusy", "ThrottlingException"];

/// The error kind for an HTTP status. If a listing or a multipart upload fails, the error contains
/// no information that is more specific than the status.
fn by_status(text: &str) -> Option<io::ErrorKind> {
    match status(text)? {
        "404" => Some(io::ErrorKind::NotFound),
        "401" | "403" => Some(io::ErrorKind::PermissionDenied),
        "412" => Some(io::ErrorKind::StaleNetworkFileHandle),
        "429" | "503" => Some(io::ErrorKind::ResourceBusy),
        status if status.starts_with('5') => Some(io::ErrorKind::HostUnreachable),
        _ => None,
    }
}

/// The three digits of the HTTP status in an error message.
fn status(text: &str) -> Option<&str> {
    text.split_once("status code: ")?.1.get(..3)
}

/// The message of the innermost error.
fn innermost(error: &StoreError) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn is_unauthenticated(error: &StoreError) -> bool {
    let refused = ["InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"];
    matches!(error, StoreError::Unauthenticated { .. })
        || code(error).is_some_and(|code| refused.contains(&code.as_str()))
}

fn chain<'e>(error: &'e StoreError) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    let first: &'e (dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |&error| error.source())
}

/// The error code in the XML response of a store: `NoSuchBucket`, `AccessDenied`.
fn code(error: &StoreError) -> Option<String> {
    let text = innermost(error);
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    Some(code.chars().filter(char::is_ascii_alphanumeric).take(LONGEST).collect())
}

/// The message of the innermost error, on one line.
pub(super) fn reason(error: &StoreError) -> String {
    let text = innermost(error);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The result of a finished request, with any error converted to the program's own error type.
pub(super) fn explained<T>(
    (path, service, doing): (&Path, Service, &str),
    answer: io::Result<std::result::Result<T, StoreError>>,
) -> Result<T> {
    let answer = answer.map_err(waiting(path, doing))?;
    answer.map_err(|error| request(path, service, doing, &error))
}

/// The service that hosts an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Google,
    Azure,
    /// A plain web server, which is read-only.
    Web,
}

impl Service {
    /// A hint that explains how to provide credentials.
    pub(super) fn credentials(self) -> &'static str {
        match self {
            Service::S3 => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket"
            }
            Service::Google => {
                "set GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for a public bucket"
            }
            Service::Azure => {
                "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_SKIP_SIGNATURE=true for a public container"
            }
            Service::Web => {
                "the server requires authentication, which is not supported: download the file first"
            }
        }
    }

    /// A hint that lists what to check if the address cannot be reached.
    pub(super) fn place(self) -> &'static str {
        match self {
            Service::S3 => {
                "check the address, the network, AWS_REGION, and AWS_ENDPOINT_URL if the store is not Amazon S3"
            }
            Service::Google | Service::Web => "check the address and the network",
            Service::Azure => "check the address, the network and AZURE_STORAGE_ACCOUNT_NAME",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_found(body: &str) -> StoreError {
        StoreError::NotFound { path: "k".to_owned(), source: body.to_owned().into() }
    }

    #[test]
    fn a_missing_bucket_is_not_a_missing_object() {
        let bucket = not_found("404: <Error><Code>NoSuchBucket</Code></Error>");
        assert!(unless_absent::<()>(Err(bucket)).is_err());
        let object = not_found("404: <Error><Code>NoSuchKey</Code></Error>");
        assert!(matches!(unless_absent::<()>(Err(object)), Ok(None)));
    }

    #[test]
    fn the_cause_of_a_failed_retry_is_found() {
        let changed = StoreError::Precondition { path: "k".to_owned(), source: "412".into() };
        let retried = StoreError::Generic { store: "S3", source: Box::new(changed) };
        assert_eq!(system(&retried).kind(), io::ErrorKind::StaleNetworkFileHandle);
    }

    #[test]
    fn a_response_without_an_error_code_is_classified_by_its_status() {
        let kind_of = |status: &str| {
            let text = format!("Server returned non-2xx status code: {status}: <Code>X</Code>");
            kind(&StoreError::Generic { store: "S3", source: text.into() })
        };
        assert_eq!(kind_of("404 Not Found"), io::ErrorKind::NotFound);
        assert_eq!(kind_of("403 Forbidden"), io::ErrorKind::PermissionDenied);
        assert_eq!(kind_of("500 Internal Server Error"), io::ErrorKind::HostUnreachable);
        assert_eq!(kind_of("503 Service Unavailable"), io::ErrorKind::ResourceBusy);
        assert_eq!(kind_of("302 Found"), io::ErrorKind::Other);
    }

    #[test]
    fn throttling_has_its_own_hint_without_markup() {
        let body = "Server returned error response: <?xml?><Error><Code>SlowDown</Code></Error>";
        let slow = StoreError::Generic { store: "S3", source: body.into() };
        let printed =
            request(Path::new("s3://b/k"), Service::S3, "write the file", &slow).to_string();
        assert!(printed.contains("the store throttles requests (SlowDown)"), "{printed}");
        assert!(printed.contains("fewer comparisons at once"), "{printed}");
        assert!(!printed.contains('<') && !printed.contains("AWS_REGION"), "{printed}");
    }

    #[test]
    fn a_long_response_is_shortened_to_a_line() {
        let long = format!("a\n {}", "ä ".repeat(500));
        let error = StoreError::Generic { store: "S3", source: long.into() };
        let reason = reason(&error);
        assert!(reason.starts_with("a ä ä") && reason.ends_with('…'));
        assert_eq!(reason.chars().count(), LONGEST + 1);
    }
}
