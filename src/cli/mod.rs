//! Arguments → an exit code: the commands of `tracetree`.

mod model_diff;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    ModelDiff(model_diff::ModelDiffArgs),
}

/// Runs the command that the process was started with.
pub(crate) fn main() -> ExitCode {
    let Command::ModelDiff(args) = Cli::parse().command;
    match model_diff::run(&args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Nothing is left to tell where the error stream is closed too.
            let _ = writeln!(std::io::stderr(), "tracetree: error: {error}");
            ExitCode::from(2)
        }
    }
}
