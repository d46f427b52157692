//! Where the command line prints: results to stdout, progress and warnings to stderr. All text but that of the
//! bars passes through here, and is escaped.

use super::Color;
use super::escape::Escaping;
use super::progress::Progress;
use super::wrap::Width;
use anstream::{AutoStream, ColorChoice};
use std::io::{self, IsTerminal, Write};
use tracetree::report::Unfinished;
use tracetree::trace::{Note, ReadOptions};
use tracetree::{Error, Result};

/// Both streams of the terminal, with what the user wants to see on them.
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

    /// Writes a result to stdout. A reader that closes the pipe early (`| head`) ends the program
    /// without an error.
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

    /// Whether nobody reads stdout any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// A line to stderr that `--quiet` drops. A closed stderr is no reason to stop.
    pub(super) fn say(&mut self, line: &str) {
        if !self.quiet {
            self.tell(line);
        }
    }

    /// What was odd about a trace, to stderr.
    pub(super) fn say_notes(&mut self, trace: &str, notes: &[Note]) {
        for note in notes {
            self.say(&format!("{trace}: {} {}", note.code, note.message));
        }
    }

    /// Like [`Console::print`], for commands of a workflow: lines that begin with `::`.
    pub(super) fn print_commands(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        self.out.pass_commands();
        self.print(write)
    }

    /// A line to stderr whatever the user wants to see.
    pub(super) fn tell(&mut self, line: &str) {
        // One line, whatever is quoted in it; the writer escapes the rest and leaves our styles.
        let line = line.replace('\n', "\\n").replace('\t', "\\t");
        let _ = writeln!(self.err, "tracetree: {line}").and_then(|()| self.err.flush());
    }

    /// Why the program stops.
    pub(super) fn error(&mut self, error: &Error) {
        let style = anstyle::AnsiColor::Red.on_default().bold();
        self.tell(&format!("{style}error{style:#}: {error}"));
    }

    /// Bars for what takes long: on a terminal, unless the user wants it quiet.
    pub(super) fn progress(&self) -> Progress {
        Progress::new(!self.quiet && io::stderr().is_terminal(), self.reading.clone())
    }

    /// How traces are read.
    pub(super) fn reading(&self) -> &ReadOptions {
        &self.reading
    }

    /// The folders that are being written.
    pub(super) fn unfinished(&self) -> Unfinished {
        self.unfinished.clone()
    }

    pub(super) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// How wide results are: the terminal, or what COLUMNS says of the lines of a pipe or a file.
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
