//! Runs the command line, which `tracetree_cli` defines.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(tracetree_cli::run(std::env::args_os()))
}
