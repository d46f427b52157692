//! The command line: arguments in, exit code out. Only this module prints.

mod captures;
mod columns;
mod compare;
mod diff;
mod diff_args;
mod emit;
mod escape;
mod explain;
mod fail_on;
mod fleet;
mod fleet_summary;
mod format;
mod info;
mod limit;
mod load;
mod model_diff;
mod output;
mod pages;
mod progress;
mod reading;
mod selection;
mod side_names;
mod signals;
mod summary;
mod tree;
mod uid;
mod yardstick;

use clap::{Parser, Subcommand, ValueEnum};
use output::Console;
use std::process::ExitCode;
use tracetree::Result;

/// What a command found; errors are exit code 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Done.
    Done = 0,
    /// The differences that the user asked to be told of by exit code.
    Differences = 1,
    /// An input of several is missing, under `--strict`.
    Missing = 2,
    /// The traces are not of the same work, under `--strict-comparability`.
    NotComparable = 3,
}

/// Compare two PyTorch profiler (Kineto) traces by the structure of their call stacks.
#[derive(Parser)]
#[command(name = "tracetree", version, about, long_about = None, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// When to use colour; NO_COLOR is respected.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    color: Color,
    /// Print less: no progress, no warnings.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Print more.
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(flatten)]
    reading: reading::ReadingArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
enum Command {
    /// Compare two traces and write a report folder.
    Diff(Box<diff_args::DiffArgs>),
    /// Tell what is in each trace.
    Info(info::InfoArgs),
    /// Print the call tree of one trace.
    Tree(tree::TreeArgs),
    /// Find the event of the other trace that corresponds to one.
    Uid(uid::UidArgs),
    /// Tell why an event has the partner that it has.
    Explain(explain::ExplainArgs),
    /// Compare a performance model's predicted trace with a measured kernel profile.
    ModelDiff(model_diff::ModelDiffArgs),
    /// Print a script that completes commands and options in a shell.
    Completions(pages::CompletionsArgs),
    /// Print the manual page.
    Man,
}

/// Runs the command line.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(answer) => return pages::answer(&answer),
    };
    share_work();
    let mut console = Console::new(cli.color, cli.quiet, cli.verbose, cli.reading.options());
    signals::watch(console.unfinished());
    match cli.command.run(&mut console) {
        Ok(outcome) => ExitCode::from(outcome as u8),
        Err(error) if console.is_closed() => {
            drop(error);
            ExitCode::SUCCESS
        }
        Err(error) => {
            console.error(&error);
            ExitCode::from(2)
        }
    }
}

/// Makes this thread one of those that share work: it would wait for them otherwise, and each
/// thread keeps memory of its own.
fn share_work() {
    // Fails only where the threads run already, and then all works as well.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
}

impl Command {
    fn run(&self, console: &mut Console) -> Result<Outcome> {
        match self {
            Command::Diff(args) => diff::run(args, console),
            Command::Info(args) => info::run(args, console),
            Command::Tree(args) => tree::run(args, console),
            Command::Uid(args) => uid::run(args, console),
            Command::Explain(args) => explain::run(args, console),
            Command::ModelDiff(args) => model_diff::run(args, console),
            Command::Completions(args) => pages::completions(args, console),
            Command::Man => pages::man(console),
        }
    }
}
