//! What became of a pair: compared, or a code that says why not.

use crate::error::{Error, ErrorKind};
use std::error::Error as _;
use std::io;

/// The code of a pair in whose traces data is missing.
pub(super) const DAMAGED: &str = "DAMAGED";

/// What became of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It was compared.
    Compared,
    /// It was not, or the figures say nothing: a code in capitals, and words.
    Failed {
        /// `TRUNCATED`, `DAMAGED`, `NOT_A_TRACE`, `MALFORMED`, `LIMIT_EXCEEDED`, `NOTHING_CHOSEN`, `NOT_FOUND`,
        /// `NO_PERMISSION`, `UNREADABLE`, `CHANGED`, `NO_SHARD`, `BROKEN_SHARD`, `OTHER_VERSION`, `FAULT`,
        /// or what the engine says, such as `WORKER_LOST`.
        code: String,
        /// The same in words, with file, place and remedy.
        message: String,
    },
}

impl Status {
    pub(super) fn failed(code: &str, message: impl Into<String>) -> Status {
        Status::Failed { code: code.to_owned(), message: message.into() }
    }

    /// `ok`, `damaged` or `failed`.
    pub fn label(&self) -> &'static str {
        match self {
            Status::Compared => "ok",
            Status::Failed { code, .. } if code == DAMAGED => "damaged",
            Status::Failed { .. } => "failed",
        }
    }

    /// The code; empty where it was compared.
    pub fn code(&self) -> &str {
        match self {
            Status::Compared => "",
            Status::Failed { code, .. } => code,
        }
    }

    /// Why it failed; empty where it was compared.
    pub fn message(&self) -> &str {
        match self {
            Status::Compared => "",
            Status::Failed { message, .. } => message,
        }
    }
}

/// The code of an error about a trace.
pub(super) fn code_of(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Io => match system_kind(error) {
            Some(io::ErrorKind::NotFound) => "NOT_FOUND",
            Some(io::ErrorKind::PermissionDenied) => "NO_PERMISSION",
            // What is read does not fit what was opened: an object that was written meanwhile.
            Some(io::ErrorKind::StaleNetworkFileHandle) => "CHANGED",
            Some(_) | None => "UNREADABLE",
        },
        ErrorKind::Malformed => "MALFORMED",
        ErrorKind::NotATrace => "NOT_A_TRACE",
        ErrorKind::LimitExceeded => "LIMIT_EXCEEDED",
        ErrorKind::Cancelled => "CANCELLED",
        ErrorKind::Usage => "NOTHING_CHOSEN",
    }
}

/// Whether the trace is at fault, so that trying again gives the same.
pub(super) fn is_lasting(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Malformed
        | ErrorKind::NotATrace
        | ErrorKind::LimitExceeded
        | ErrorKind::Usage => true,
        ErrorKind::Io | ErrorKind::Cancelled => false,
    }
}

fn system_kind(error: &Error) -> Option<io::ErrorKind> {
    error.source()?.downcast_ref::<io::Error>().map(io::Error::kind)
}
