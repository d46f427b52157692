//! How a command ends.

/// How a command ended, with its exit code. If a command returns an error instead, the exit code is 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    Done = 0,
    /// Differences were found, and an option requests exit code 1 for differences.
    Differences = 1,
    /// One of several input files is missing, and `--strict` was given.
    Missing = 2,
    /// The gate is inconclusive, a condition could not be checked, or `--strict-comparability` was given and the traces do
    /// not record the same work.
    NotComparable = 3,
}
