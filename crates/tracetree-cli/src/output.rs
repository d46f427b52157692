//! Console output: results to stdout, progress and warnings to stderr. All text except progress
//! bars passes through this module and is escaped.

use super::escape::Escaping;
use super::mistakes::Mistake;
use super::progress::Progress;
use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use std::io::{self, IsTerminal, Write};
use tracetree::report::Unfinished;
use tracetree::report::Width;
use tracetree::trace::{Note, ReadOptions};
use tracetree::{Error, Result};

/// The output format of a result.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// The result for people; with -v, all details.
    Text,
    /// The result as `key: value` lines for scripts and coding agents, at most 2 kB.
    Brief,
    /// The content of summary.json.
    Json,
    /// A table of the differences by name.
    Csv,
    /// The report as Markdown.
    Md,
}

/// When output is colored.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// Standard output, standard error, and the options that control what is printed.
pub(super) struct Console {
    out: Escaping<AutoStream<io::Stdout>>,
    err: Escaping<AutoStream<io::Stderr>>,
    quiet: bool,
    verbose: bool,
    reading: ReadOptions,
    closed: bool,
    unfinished: Unfinished,
}

impl Console {
    pub(super) fn new(color: Color, quiet: bool, verbose: bool, reading: ReadOptions) -> Console {
        let choice = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        Console {
            out: Escaping::new(AutoStream::new(io::stdout(), choice)),
            err: Escaping::new(AutoStream::new(io::stderr(), choice)),
            quiet,
            verbose,
            reading,
            closed: false,
            unfinished: Unfinished::default(),
        }
    }

    /// Writes a result to stdout. If the reader closes the pipe early (`| head`), the program ends
    /// without an error message.
    pub(super) fn print(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let mut buffered = io::BufWriter::with_capacity(1 << 16, &mut self.out);
        let written = write(&mut buffered).and_then(|()| buffered.flush());
        written.map_err(|error| {
            self.closed = error.kind() == io::ErrorKind::BrokenPipe;
            Error::io("standard output", "write", error)
        })
    }

    /// Whether the reader of stdout has closed the pipe.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Prints a line to stderr unless `--quiet` is given. The program continues even if stderr is closed.
    pub(super) fn say(&mut self, line: &str) {
        if !self.quiet {
            self.tell(line);
        }
    }

    /// Prints a line to stderr only if `--quiet` is given: a short form of what is printed otherwise.
    pub(super) fn say_if_quiet(&mut self, line: &str) {
        if self.quiet {
            self.tell(line);
        }
    }

    /// Prints notes about a trace to stderr.
    pub(super) fn say_notes(&mut self, trace: &str, notes: &[Note]) {
        for note in notes {
            self.say(&format!("{trace}: {} {}", note.code, note.message));
        }
    }

    /// Like [`Console::print`], but does not escape workflow commands, which are lines that start with `::`.
    pub(super) fn print_commands(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        self.out.pass_commands();
        self.print(write)
    }

    /// Prints a line to stderr, even with `--quiet`.
    pub(super) fn tell(&mut self, line: &str) {
        // Line breaks in quoted text are escaped here, so that the message stays on one line. All other control
        // characters are escaped by the writer, except in the styles that this program prints.
        let line = line.replace('\n', "\\n").replace('\t', "\\t");
        let _ = writeln!(self.err, "tracetree: {line}").and_then(|()| self.err.flush());
    }

    /// Prints the error that stops the program.
    pub(super) fn error(&mut self, error: &Error) {
        let style = anstyle::AnsiColor::Red.on_default().bold();
        self.tell(&format!("{style}error{style:#}: {error}"));
    }

    /// Explains a common mistake, and prints the command to run instead.
    pub(super) fn mistake(&mut self, mistake: &Mistake) {
        let style = anstyle::AnsiColor::Red.on_default().bold();
        self.tell(&format!("{style}error{style:#}: {}", mistake.what));
        self.tell(&format!("try: {}", mistake.command));
    }

    /// The progress bars, which are shown on a terminal unless `--quiet` is given.
    pub(super) fn progress(&self) -> Progress {
        Progress::new(!self.quiet && io::stderr().is_terminal(), self.reading.clone())
    }

    /// The options for reading traces.
    pub(super) fn reading(&self) -> &ReadOptions {
        &self.reading
    }

    /// The report folders that are currently being written, so that unfinished files can be removed.
    pub(super) fn unfinished(&self) -> Unfinished {
        self.unfinished.clone()
    }

    pub(super) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// The line width for results: the width of the terminal or, if stdout is a pipe or a file, the value of COLUMNS.
    pub(super) fn width(&self) -> Width {
        match terminal_size::terminal_size_of(io::stdout()) {
            Some((width, _)) => Width::Screen(usize::from(width.0)),
            None => {
                let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
                Width::Pipe(columns.unwrap_or(100))
            }
        }
    }
}
