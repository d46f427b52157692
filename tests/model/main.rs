//! A predicted trace against a measured profile.

mod command;
mod errors;
mod fail_on;
mod formats;
mod laws;
mod real;
mod rules;
