//! Defines the crate's one opaque [`Error`] type, which reports the file, the position in the file, and a remedy.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result type of all functions in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error with its subject (a file or a request), the position in the file, and a remedy for the user.
///
/// An error is displayed on one line: `file: what happened (remedy)`.
#[derive(Debug)]
pub struct Error(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: ErrorKind,
    subject: Subject,
    place: Option<Place>,
    message: String,
    remedy: Option<String>,
    source: Option<std::io::Error>,
}

/// The file or request that an error is about.
#[derive(Debug)]
enum Subject {
    /// A file or folder.
    File(PathBuf),
    /// A request by the user: a string to parse, or the name of a command or item.
    Text(String),
}

/// The kind of an error, for programs that handle different kinds of errors differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or folder could not be opened, read or written.
    Io,
    /// The file is malformed (not JSON, not gzip, truncated under `--strict`).
    Malformed,
    /// The file is well formed, but it is not a trace, or it contains no event that can be
    /// compared.
    NotATrace,
    /// A documented limit was exceeded (uncompressed size, nesting depth, name length).
    LimitExceeded,
    /// The work was canceled (see [`Cancel`](crate::Cancel)).
    Cancelled,
    /// The request cannot be fulfilled (for example, because a uid is not in the trace or an output already exists).
    Usage,
    /// The request names no event.
    NoEvent,
    /// A folder contains no trace.
    NoTraces,
}

/// A position in an input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Byte offset in the uncompressed file, from 0.
    pub offset: u64,
    /// Position in `traceEvents` (or the line of a table), from 0, if known.
    pub event: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}", self.offset)?;
        match self.event {
            Some(event) => write!(f, ", event {event}"),
            None => Ok(()),
        }
    }
}

impl Error {
    /// An error about `path`. The message must start with a lowercase letter and must not end with a period.
    #[doc(hidden)]
    pub fn new(kind: ErrorKind, path: impl AsRef<Path>, message: impl Into<String>) -> Self {
        Error::about(kind, Subject::File(path.as_ref().to_path_buf()), message.into())
    }

    /// Creates an error about a request that cannot be fulfilled. `asked` is the invalid string (`9..3`) or the name of
    /// the command (`gate`). The message must start with a lowercase letter and must not end with a period.
    #[doc(hidden)]
    pub fn usage(asked: impl Into<String>, message: impl Into<String>) -> Self {
        Error::about(ErrorKind::Usage, Subject::Text(asked.into()), message.into())
    }

    /// An error about a format or command that needs a disabled cargo feature.
    #[doc(hidden)]
    pub fn left_out(asked: &str) -> Self {
        let remedy = "cargo install --path crates/tracetree-cli --features full";
        Error::usage(asked, "is not part of this build of tracetree").remedy(remedy)
    }

    fn about(kind: ErrorKind, subject: Subject, message: String) -> Self {
        Error(Box::new(Parts { kind, subject, place: None, message, remedy: None, source: None }))
    }

    /// An error from reading or writing `path`; `doing` completes the phrase "cannot …" (`open the trace`). If
    /// `source` contains an error of this type, that error is returned.
    #[doc(hidden)]
    pub fn io(path: impl AsRef<Path>, doing: &str, source: std::io::Error) -> Self {
        let source = match source.downcast::<Error>() {
            Ok(own) => return own,
            Err(source) => source,
        };
        let mut error = Error::new(ErrorKind::Io, path, format!("cannot {doing}: {source}"));
        error.0.source = Some(source);
        error
    }

    /// Adds the position in the file to the error.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.0.place = Some(place);
        self
    }

    /// Adds a remedy: what the user can do about the error.
    #[must_use]
    #[doc(hidden)]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file or folder that the error is about; `None` if the error is about a request.
    pub fn path(&self) -> Option<&Path> {
        match &self.0.subject {
            Subject::File(path) => Some(path),
            Subject::Text(_) => None,
        }
    }

    /// The message of the error, without file, position and remedy.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The position of the error in the file, if known.
    pub fn place(&self) -> Option<Place> {
        self.0.place
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &*self.0;
        match &parts.subject {
            Subject::File(path) => write!(f, "{}: ", path.display())?,
            Subject::Text(text) => write!(f, "{text}: ")?,
        }
        if let Some(place) = parts.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&parts.message)?;
        match &parts.remedy {
            Some(remedy) => write!(f, " ({remedy})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_file_place_message_remedy() {
        let error = Error::new(ErrorKind::Malformed, "a.json", "expected a string")
            .at(Place { offset: 17, event: Some(2) })
            .remedy("profile again");
        assert_eq!(
            error.to_string(),
            "a.json: byte 17, event 2: expected a string (profile again)"
        );
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert_eq!(error.path(), Some(Path::new("a.json")));
    }

    #[test]
    fn an_error_about_a_text_has_no_path() {
        let error = Error::usage("9..3", "contains no step").remedy("write 3..9");
        assert_eq!(error.to_string(), "9..3: contains no step (write 3..9)");
        assert_eq!((error.kind(), error.path()), (ErrorKind::Usage, None));
    }
}
