//! `tracetree info TRACE…`: what is in each trace.

use super::Outcome;
use super::output::Console;
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use tracetree::Result;
use tracetree::program::{HeadInfo, TraceInfo};
use tracetree::report::{
    write_info_fields, write_info_head, write_info_head_fields, write_info_json, write_info_line,
};
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::CallTree;

#[derive(Args)]
pub(super) struct InfoArgs {
    /// The traces.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// How they are described.
    #[arg(long, default_value = "text")]
    format: InfoFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InfoFormat {
    /// A line for each trace; with -v all that is known.
    Text,
    /// A list with an object for each trace.
    Json,
}

pub(super) fn run(args: &InfoArgs, console: &mut Console) -> Result<Outcome> {
    match (args.format, args.traces.as_slice()) {
        (InfoFormat::Text, [path]) => describe_one(path, console)?,
        (InfoFormat::Text, _) => describe_all(&args.traces, console)?,
        (InfoFormat::Json, _) => {
            let infos = read_all(&args.traces, console)?;
            console.print(|out| write_info_json(&infos, out))?;
        }
    }
    Ok(Outcome::Done)
}

/// The head of a large file shows at once, long before its events are read. Standard input and pipes
/// can be read only once.
fn describe_one(path: &Path, console: &mut Console) -> Result<()> {
    let early = match path.is_file() {
        true => Some(HeadInfo::of(&Trace::read_header_with(path, console.reading())?)),
        false => None,
    };
    let name = path.display().to_string();
    if let Some(early) = &early {
        print_name(&name, console)?;
        print_head(early, console)?;
    }
    // No bar: it would wipe the head off its line.
    let read = read(path, console.reading());
    if read.is_err() && early.is_some() && !console.is_verbose() {
        // What stands on the line already is whole without the rest.
        console.print(|out| writeln!(out))?;
    }
    let info = read?;
    if early.is_none() {
        print_name(&name, console)?;
    }
    // Some files tell of their devices only behind the events.
    if early.as_ref() != Some(&info.head) {
        print_head(&info.head, console)?;
    }
    print_rest(&info, console)
}

fn describe_all(paths: &[PathBuf], console: &mut Console) -> Result<()> {
    for info in read_all(paths, console)? {
        print_name(&info.path, console)?;
        print_head(&info.head, console)?;
        print_rest(&info, console)?;
    }
    Ok(())
}

fn read_all(paths: &[PathBuf], console: &Console) -> Result<Vec<TraceInfo>> {
    let files: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    console.progress().reading(&files, |options| {
        files.par_iter().zip(options).map(|(path, options)| read(path, options)).collect()
    })
}

fn read(path: &Path, options: &ReadOptions) -> Result<TraceInfo> {
    let tree = CallTree::build(Trace::open_with(path, options)?);
    let size = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    Ok(TraceInfo { file_bytes: size.map(|size| size.len()), ..TraceInfo::of_tree(&tree) })
}

fn print_name(name: &str, console: &mut Console) -> Result<()> {
    let end = if console.is_verbose() { "\n" } else { "" };
    console.print(|out| write!(out, "{name}{end}"))
}

fn print_head(head: &HeadInfo, console: &mut Console) -> Result<()> {
    match console.is_verbose() {
        true => console.print(|out| write_info_head_fields(head, out)),
        false => console.print(|out| write_info_head(head, out)),
    }
}

fn print_rest(info: &TraceInfo, console: &mut Console) -> Result<()> {
    match console.is_verbose() {
        true => console.print(|out| write_info_fields(info, out)),
        false => {
            console.print(|out| write_info_line(info, out))?;
            console.say_notes(&info.path, &info.notes);
            Ok(())
        }
    }
}
