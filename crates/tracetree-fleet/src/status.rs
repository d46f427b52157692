//! Defines the outcome of a pair: compared, or failed with a code that says why.

use serde::{Deserialize, Serialize};
use std::error::Error as _;
use std::io;
use tracetree::error::{Error, ErrorKind};

/// The code of a pair if data is missing in one of its traces.
pub(super) const DAMAGED: &str = "DAMAGED";

/// The code of a pair whose shard exists but could not be read.
pub(super) const SHARD_UNREADABLE: &str = "SHARD_UNREADABLE";

/// The code of a pair that was compared, but whose shard could not be written.
pub(super) const SHARD_NOT_WRITTEN: &str = "SHARD_NOT_WRITTEN";

/// The code of a pair that was compared, but whose report could not be written.
pub(super) const REPORT_NOT_WRITTEN: &str = "REPORT_NOT_WRITTEN";

/// The code of a pair without a shard.
pub(super) const NO_SHARD: &str = "NO_SHARD";

/// The code of a pair whose shard is not in the folder, although an engine reports the pair as compared.
pub(super) const SHARD_NOT_VISIBLE: &str = "SHARD_NOT_VISIBLE";

/// The outcome of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The pair was compared.
    Compared,
    /// The pair was not compared, or its times are not usable because a trace is incomplete.
    Failed {
        /// A code in capital letters: `TRUNCATED`, `DAMAGED`, `NOT_A_TRACE`, `MALFORMED`, `LIMIT_EXCEEDED`,
        /// `NOTHING_CHOSEN`, `NOT_FOUND`, `NO_PERMISSION`, `UNREADABLE`, `CHANGED`, `CANCELLED`, `SHARD_NOT_WRITTEN`,
        /// `REPORT_NOT_WRITTEN`, `SHARD_UNREADABLE`, `NO_SHARD`, `BROKEN_SHARD`, `OTHER_VERSION`, `FAULT`, or a code
        /// that the engine defines, such as `WORKER_LOST`.
        code: String,
        /// The explanation of the code, with file, position and remedy.
        message: String,
    },
}

impl Status {
    pub(super) fn failed(code: &str, message: impl Into<String>) -> Status {
        Status::Failed { code: code.to_owned(), message: message.into() }
    }

    /// Whether the pair failed because a result could not be written. This is a problem with the folder, not with the
    /// pair.
    pub fn is_write_failure(&self) -> bool {
        [SHARD_NOT_WRITTEN, REPORT_NOT_WRITTEN].contains(&self.code())
    }

    /// `ok`, `damaged` or `failed`.
    pub fn label(&self) -> &'static str {
        match self {
            Status::Compared => "ok",
            Status::Failed { code, .. } if code == DAMAGED => "damaged",
            Status::Failed { .. } => "failed",
        }
    }

    /// The code of the failure; empty if the pair was compared.
    pub fn code(&self) -> &str {
        match self {
            Status::Compared => "",
            Status::Failed { code, .. } => code,
        }
    }

    /// Why the pair failed; empty if the pair was compared.
    pub fn message(&self) -> &str {
        match self {
            Status::Compared => "",
            Status::Failed { message, .. } => message,
        }
    }
}

/// The code for an error about a trace.
pub(super) fn code_of(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Io => match system_kind(error) {
            Some(io::ErrorKind::NotFound) => "NOT_FOUND",
            Some(io::ErrorKind::PermissionDenied) => "NO_PERMISSION",
            // The file was overwritten after it was opened.
            Some(io::ErrorKind::StaleNetworkFileHandle) => "CHANGED",
            Some(_) | None => "UNREADABLE",
        },
        ErrorKind::Malformed => "MALFORMED",
        ErrorKind::NotATrace => "NOT_A_TRACE",
        ErrorKind::LimitExceeded => "LIMIT_EXCEEDED",
        ErrorKind::Cancelled => "CANCELLED",
        ErrorKind::Usage | ErrorKind::NoEvent | ErrorKind::NoTraces => "NOTHING_CHOSEN",
        _ => "UNREADABLE",
    }
}

/// Whether the error is caused by the content of the trace, so that a second attempt would fail in the same way.
pub(super) fn is_lasting(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Malformed | ErrorKind::NotATrace | ErrorKind::LimitExceeded | ErrorKind::Usage
    )
}

fn system_kind(error: &Error) -> Option<io::ErrorKind> {
    error.source()?.downcast_ref::<io::Error>().map(io::Error::kind)
}
