//! Tests for the contents of report files, both tables and pages.

#[path = "../support/mod.rs"]
mod support;

mod columns;
mod emit;
mod flame;
mod folder;
mod html;
mod kernel_rows;
mod markdown;
mod perfetto;
mod recorded;
mod schemas;
mod xlsx;
