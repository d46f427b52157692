//! Tests for matching the calls in two traces, with generated, changed and real traces.

#[path = "../support/mod.rs"]
mod support;

mod equality;
mod evidence;
mod fixtures;
mod ground_truth;
mod hard_changes;
mod hard_structure;
mod phenomena;
mod pins;
mod places;
mod random_laws;
mod real_changes;
mod recorded;
mod recurring;
mod replaced;
mod sure;
mod vendors;
