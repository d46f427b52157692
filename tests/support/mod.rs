//! Code shared by tests and examples: it creates small traces, and changes traces in known ways.
#![allow(dead_code, unreachable_pub, reason = "every test uses another part of it")]

pub mod bench;
pub mod captures;
pub mod changes;
pub mod compared;
pub mod damage;
pub mod files;
pub mod find;
pub mod fixtures;
pub mod gated;
pub mod laws;
pub mod phenomena;
pub mod planted;
pub mod random_trace;
pub mod ranks;
pub mod recording;
pub mod recount;
pub mod reports;
pub mod resnet;
pub mod score;
pub mod screen;
pub mod snapshot;
pub mod splitmix;
pub mod sqlite;
pub mod trace_builder;
pub mod traces;
