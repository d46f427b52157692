//! Prints information about the command line itself: shell completions and the manual page.

use super::Cli;
use super::escape::Escaping;
use super::examples;
use super::outcome::Outcome;
use super::output::Console;
use anstream::AutoStream;
use clap::{Args, Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use std::io::{self, Write};
use tracetree::Result;

#[derive(Args)]
#[command(after_help = examples::COMPLETIONS)]
pub(super) struct CompletionsArgs {
    /// The shell to print a script for. The shell's manual says where to put the script.
    shell: Shell,
}

pub(super) fn completions(args: &CompletionsArgs, console: &mut Console) -> Result<Outcome> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "tracetree", &mut script);
    console.print(|out| out.write_all(&script))?;
    Ok(Outcome::Done)
}

/// Prints clap's output: help, the version, or a usage error. A reader that closes the pipe early is not an error, but
/// a full disk is. Returns the exit code.
pub(super) fn answer(answer: &clap::Error) -> u8 {
    let code = u8::try_from(answer.exit_code()).unwrap_or(2);
    match print(answer) {
        Ok(()) => code,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
        Err(error) => {
            let _ =
                writeln!(io::stderr(), "tracetree: error: standard output: cannot write: {error}");
            2
        }
    }
}

/// Prints clap's output. The output is escaped because it quotes arguments.
fn print(answer: &clap::Error) -> io::Result<()> {
    let text = answer.render().ansi().to_string();
    let escape = |stream: &mut dyn Write| {
        let mut out = Escaping::new(stream);
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    };
    if answer.use_stderr() {
        escape(&mut AutoStream::auto(io::stderr()))
    } else {
        escape(&mut AutoStream::auto(io::stdout()))
    }
}

/// Prints a single manual page that describes all commands, so that `man tracetree` is complete.
pub(super) fn man(console: &mut Console) -> Result<Outcome> {
    console.print(write_man)?;
    Ok(Outcome::Done)
}

fn write_man(out: &mut dyn Write) -> io::Result<()> {
    let mut command = Cli::command();
    command.build();
    let page = Man::new(command.clone()).date("");
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    page.render_options_section(out)?;
    for sub in below(&command) {
        write_command(sub, out)?;
    }
    page.render_version_section(out)
}

/// Writes the manual of one command: a section named after the command, with a subsection for each group of options and
/// for the examples. Global options are listed only once, at the start of the page.
fn write_command(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let title = command.get_bin_name().unwrap_or(command.get_name());
    writeln!(out, ".SH \"{}\"", title.to_uppercase().replace('-', "\\-"))?;
    let own = command.clone().mut_args(|option| {
        let is_global = option.is_global_set();
        option.hide(is_global)
    });
    let (page, mut sections) = (Man::new(own), Vec::new());
    page.render_description_section(&mut sections)?;
    page.render_synopsis_section(&mut sections)?;
    page.render_options_section(&mut sections)?;
    for line in String::from_utf8_lossy(&sections).lines() {
        match line.strip_prefix(".SH ") {
            Some(title) => writeln!(out, ".SS {title}")?,
            None => writeln!(out, "{line}")?,
        }
    }
    match command.get_after_help() {
        Some(examples) => write_examples(&examples.to_string(), out),
        None => Ok(()),
    }
}

/// All direct and nested subcommands of a command, such as `fleet` and `fleet plan`. Each command comes before its
/// subcommands.
fn below(command: &Command) -> Vec<&Command> {
    let mut found = Vec::new();
    let mut open: Vec<&Command> = vec![command];
    while let Some(next) = open.pop() {
        let own = next.get_subcommands().filter(|sub| sub.get_name() != "help");
        let own: Vec<&Command> = own.collect();
        open.extend(own.into_iter().rev());
        found.push(next);
    }
    found.split_off(1)
}

/// Writes examples verbatim: `.nf` keeps line breaks, and `\&` prevents roff from reading a line as
/// a request.
fn write_examples(text: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, ".PP\n.nf")?;
    for line in text.lines() {
        writeln!(out, "\\&{}", line.replace('\\', "\\\\").replace('-', "\\-"))?;
    }
    writeln!(out, ".fi")
}
