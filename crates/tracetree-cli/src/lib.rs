//! The command line: parses the arguments, runs a command, and returns the exit code. This is the only crate that
//! prints to the terminal.
//!
//! The command line is a library crate, so that the binary `tracetree` and the Python package run the same code.

// Only `tracetree::storage` writes files.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(
    not(all(feature = "fleet", feature = "model")),
    allow(
        dead_code,
        reason = "a build without fleet or model-diff does not use all of the shared modules"
    )
)]

mod captures;
mod columns;
mod compare;
mod diff;
mod diff_args;
mod efficiency_args;
mod emit;
mod escape;
mod examples;
mod explain;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "fleet")]
mod fleet_command;
#[cfg(feature = "fleet")]
mod fleet_summary;
mod gate;
mod headings;
mod history;
mod info;
mod info_text;
mod limit;
mod load;
mod memory;
mod mistakes;
#[cfg(feature = "model")]
mod model_diff;
mod only;
mod outcome;
mod output;
mod pages;
mod progress;
mod reading;
mod repro;
mod selection;
mod summary;
mod tree;
mod tree_times;
mod uid;
mod what_if;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use outcome::Outcome;
use output::{Color, Console};
use std::ffi::OsString;
use std::io::{self, Write};
use tracetree::diff::Explanation;
use tracetree::report::{ReportOptions, Unfinished, Width, one_line};
use tracetree::trace::ReadOptions;
use tracetree::{Comparison, Result};

/// Compare two PyTorch profiler (Kineto) traces by their call-stack structure.
#[derive(Parser)]
#[command(name = "tracetree", version, about, long_about = None, max_term_width = 100)]
#[command(after_help = examples::PROGRAM)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// When to use color. NO_COLOR is respected.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, help_heading = headings::GLOBAL)]
    color: Color,
    /// Print no progress and no warnings.
    #[arg(short, long, global = true, help_heading = headings::GLOBAL)]
    quiet: bool,
    /// Print more details.
    #[arg(short, long, global = true, help_heading = headings::GLOBAL)]
    verbose: bool,
    #[command(flatten)]
    reading: reading::ReadingArgs,
}

/// Accepts any arguments of a command that this build does not include.
#[cfg(not(all(feature = "fleet", feature = "model")))]
#[derive(clap::Args)]
struct AnyArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

#[derive(Subcommand)]
enum Command {
    /// Compare two traces and write a report folder.
    Diff(Box<diff_args::DiffArgs>),
    /// Describe the contents of each trace.
    Info(info::InfoArgs),
    /// Print the call tree of one trace.
    Tree(tree::TreeArgs),
    /// Find an event's counterpart in the other trace.
    Uid(uid::UidArgs),
    /// Explain how an event was matched.
    Explain(explain::ExplainArgs),
    /// Print a script that repeats one recorded call and compares its time with both recordings.
    Repro(Box<repro::ReproArgs>),
    /// Replay steps: print the effect of each change on the step time, and the limits of the step
    /// time.
    WhatIf(what_if::WhatIfArgs),
    /// Check runs against a baseline: exit 0 pass, 1 fail, 3 inconclusive.
    Gate(gate::GateArgs),
    /// Record, show or update a gate's baseline.
    Baseline(gate::BaselineArgs),
    /// Compare the ranks of a job, on one machine or on many.
    #[cfg(feature = "fleet")]
    Fleet(fleet_command::FleetArgs),
    /// Compare the ranks of a job (not in this build; build with `--features full`).
    #[cfg(not(feature = "fleet"))]
    Fleet(AnyArgs),
    /// Compare two memory snapshots (torch.cuda.memory._dump_snapshot) by Python stack.
    Memory(memory::MemoryArgs),
    /// Find the points in time at which a series of baselines changed.
    History(history::HistoryArgs),
    /// Compare a performance model's predicted trace with a measured kernel profile.
    #[cfg(feature = "model")]
    ModelDiff(model_diff::ModelDiffArgs),
    /// Compare a performance model with a profile (not in this build; build with `--features full`).
    #[cfg(not(feature = "model"))]
    ModelDiff(AnyArgs),
    /// Print a shell completion script.
    Completions(pages::CompletionsArgs),
    /// Print the manual page.
    #[command(after_help = examples::MAN)]
    Man,
}

/// Runs the command line. The first argument is the program name. Returns the exit code: 0 if the command succeeded, 1
/// if it found differences that an option turns into exit code 1, 2 for unreadable input or bad usage, and 3 if the
/// traces are not comparable or the result is inconclusive.
///
/// Writes to standard output and standard error, and handles the signals that would end the process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(answer) => {
            let is_of_command = answer.kind() == ErrorKind::InvalidSubcommand;
            match mistakes::forgotten_command(&arguments).filter(|_| is_of_command) {
                Some(mistake) => {
                    plain_console().mistake(&mistake);
                    return 2;
                }
                None => return pages::answer(&quoting(&arguments).unwrap_or(answer)),
            }
        }
    };
    share_work();
    let mut console = Console::new(cli.color, cli.quiet, cli.verbose, cli.reading.options());
    watch_signals(console.unfinished());
    match cli.command.run(&mut console) {
        Ok(outcome) => outcome as u8,
        Err(error) if console.is_closed() => {
            drop(error);
            Outcome::Done as u8
        }
        Err(error) => {
            match mistakes::behind(&error, &arguments) {
                Some(mistake) => console.mistake(&mistake),
                None => console.error(&error),
            }
            2
        }
    }
}

/// The console with default settings, which is used until the options are parsed.
fn plain_console() -> Console {
    Console::new(Color::Auto, false, false, ReadOptions::default())
}

/// Returns the usage error, in which all quoted arguments are escaped. Arguments may be file names that the shell
/// inserted for a pattern such as `*.json`. If they were not escaped, their characters could control the terminal or
/// start a new line.
fn quoting(arguments: &[OsString]) -> Option<clap::Error> {
    Cli::try_parse_from(
        arguments.iter().map(|argument| one_line(&argument.to_string_lossy()).into_owned()),
    )
    .err()
}

/// The output of `tracetree diff` for a comparison, laid out for a screen of `width` columns, without colors.
pub fn answer_text(comparison: &Comparison, width: usize) -> String {
    let report = comparison.report(ReportOptions::default());
    plain(|out| summary::answer(&report, Width::Screen(width), out))
}

/// The output of `tracetree diff --verbose` for a comparison, with the `top` largest differences, laid out for a
/// screen of `width` columns, without colors.
pub fn summary_text(comparison: &Comparison, top: usize, width: usize) -> String {
    let analysis = comparison.analysis();
    let width = Width::Screen(width);
    let report = comparison.report(ReportOptions::default());
    plain(|out| summary::text(analysis, &report, top, width, out))
}

/// The output of `tracetree explain`, which shows how a call was matched.
pub fn explanation_text(comparison: &Comparison, explanation: &Explanation) -> String {
    plain(|out| explain::print(comparison.analysis(), explanation, out))
}

/// The text written by `write`, without colors and other terminal sequences.
fn plain(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut text = Vec::new();
    write(&mut text).expect("writing to memory cannot fail");
    anstream::adapter::strip_str(&String::from_utf8_lossy(&text)).to_string()
}

/// Makes the current thread one of the worker threads. Otherwise there would be one more thread, which would use memory
/// but only wait for the workers.
fn share_work() {
    // This fails only if the worker threads are already running, which is harmless.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
}

/// Removes unfinished files when the process is interrupted (Ctrl-C), terminated, or loses its
/// terminal.
#[cfg(unix)]
fn watch_signals(unfinished: Unfinished) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::{iterator::Signals, low_level::emulate_default_handler};

    // A signal that was ignored at startup, for example because of nohup, stays ignored.
    let ignored = ignored_signals();
    let wanted =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| ignored >> (signal - 1) & 1 == 0);
    // If no handler can be installed, a signal ends the process immediately, and the next run removes the unfinished
    // files.
    let Ok(mut signals) = Signals::new(wanted) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            unfinished.remove();
            let _ = emulate_default_handler(signal);
        }
    });
}

/// Bit mask of the signals that were ignored when this process started; 0 if the system does not report the mask.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Does nothing on systems without signals, where unfinished files are removed by the next run.
#[cfg(not(unix))]
fn watch_signals(_: Unfinished) {}

impl Command {
    fn run(&self, console: &mut Console) -> Result<Outcome> {
        match self {
            Command::Diff(args) => diff::run(args, console),
            Command::Info(args) => info::run(args, console),
            Command::Tree(args) => tree::run(args, console),
            Command::Uid(args) => uid::run(args, console),
            Command::Explain(args) => explain::run(args, console),
            Command::Repro(args) => repro::run(args, console),
            Command::WhatIf(args) => what_if::run(args, console),
            Command::Gate(args) => gate::run(args, console),
            Command::Baseline(args) => gate::run_baseline(args, console),
            #[cfg(feature = "fleet")]
            Command::Fleet(args) => fleet_command::run(args, console),
            #[cfg(not(feature = "fleet"))]
            Command::Fleet(_) => Err(tracetree::Error::left_out("fleet")),
            Command::Memory(args) => memory::run(args, console),
            Command::History(args) => history::run(args, console),
            #[cfg(feature = "model")]
            Command::ModelDiff(args) => model_diff::run(args, console),
            #[cfg(not(feature = "model"))]
            Command::ModelDiff(_) => Err(tracetree::Error::left_out("model-diff")),
            Command::Completions(args) => pages::completions(args, console),
            Command::Man => pages::man(console),
        }
    }
}
