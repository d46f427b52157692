//! The command line: see `tracetree::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tracetree::cli::run(std::env::args_os()))
}
