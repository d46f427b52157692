//! Runs the command line, which `tracetree::cli` defines.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tracetree::cli::run(std::env::args_os()))
}
