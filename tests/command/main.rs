//! Tests for the command line: streams, files and exit codes.

#[path = "../support/mod.rs"]
mod support;

mod action;
mod anonymous;
mod cli;
mod documents;
mod errors;
mod explain;
mod fail_on;
mod hostile;
mod interrupted;
mod killed;
mod mistakes;
mod options;
mod repro;
mod terminal;
