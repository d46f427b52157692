//! `tracetree info TRACE…`: describes each trace.

use super::captures::CaptureArgs;
use super::efficiency_args::EfficiencyArgs;
use super::examples;
use super::info_text;
use super::outcome::Outcome;
use super::output::Console;
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracetree::analysis::efficiency::{EfficiencyInfo, Models, Peaks, TraceEfficiency};
use tracetree::analysis::memory::MemorySummary;
use tracetree::program::{CaptureSource, HeadInfo, TraceInfo};
use tracetree::report::{DescribedTrace, one_line, write_info_json};
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::TreeOptions;
use tracetree::{CallTree, Result};

#[derive(Args)]
#[command(after_help = examples::INFO)]
pub(super) struct InfoArgs {
    /// The traces to describe.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    efficiency: EfficiencyArgs,
    #[command(flatten)]
    captures: CaptureArgs,
    /// Output format.
    #[arg(long, default_value = "text")]
    format: InfoFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InfoFormat {
    /// One line per trace; with -v, all details.
    Text,
    /// A list with one object per trace.
    Json,
}

/// Number of ops to list: the ops that are furthest from their roofline.
const FURTHEST: usize = 10;

/// Options for efficiency models, peak rates and graph captures.
struct Inputs {
    models: Models,
    peaks: Peaks,
    captures: CaptureSource,
}

impl Inputs {
    fn of(args: &InfoArgs) -> Result<Inputs> {
        Ok(Inputs {
            models: args.efficiency.models()?.unwrap_or_default(),
            peaks: args.efficiency.peaks()?.unwrap_or_default(),
            captures: args.captures.source(),
        })
    }
}

pub(super) fn run(args: &InfoArgs, console: &mut Console) -> Result<Outcome> {
    let inputs = Inputs::of(args)?;
    match (args.format, args.traces.as_slice()) {
        (InfoFormat::Text, [path]) => describe_one(path, &inputs, console)?,
        (InfoFormat::Text, _) => describe_all(&args.traces, &inputs, console)?,
        (InfoFormat::Json, _) => {
            let infos = read_all(&args.traces, &inputs, console)?;
            console.print(|out| write_info_json(&infos, out))?;
        }
    }
    Ok(Outcome::Done)
}

/// Describes a trace. If the trace is a file, its header is printed before the events are read, because reading the
/// events of a large file takes a long time. Standard input and pipes can be read only once, so their header is not
/// read separately.
fn describe_one(path: &Path, inputs: &Inputs, console: &mut Console) -> Result<()> {
    // Which names have to be replaced is known only after the whole trace has been read.
    let early = if path.is_file() && console.reading().anonymizer.is_none() {
        Some(HeadInfo::of(&Trace::read_header_with(path, console.reading())?))
    } else {
        None
    };
    let name = console.reading().shown(&path.display().to_string());
    if let Some(early) = &early {
        print_name(&name, console)?;
        print_head(early, console)?;
    }
    // A progress bar would erase the header that was just printed, so no bar is shown.
    let read = read(path, inputs, console.reading());
    if read.is_err() && early.is_some() && !console.is_verbose() {
        // The name and header of the trace were printed without a line break, so the error message needs a new line.
        console.print(|out| writeln!(out))?;
    }
    let DescribedTrace { info, efficiency, memory } = read?;
    if early.is_none() {
        print_name(&name, console)?;
    }
    // Some trace files list their devices after the events, so the header that was read before the events may lack the
    // devices.
    if early.as_ref() != Some(&info.head) {
        print_head(&info.head, console)?;
    }
    print_rest(&info, console)?;
    print_wrapped(|text| info_text::write_efficiency(&efficiency, text), console)?;
    print_memory(&memory, console)
}

fn print_memory(memory: &[MemorySummary], console: &mut Console) -> Result<()> {
    if console.is_verbose() {
        console.print(|out| info_text::write_memory(memory, out))
    } else {
        Ok(())
    }
}

fn describe_all(paths: &[PathBuf], inputs: &Inputs, console: &mut Console) -> Result<()> {
    for DescribedTrace { info, efficiency, memory } in read_all(paths, inputs, console)? {
        print_name(&info.path, console)?;
        print_head(&info.head, console)?;
        print_rest(&info, console)?;
        if console.is_verbose() {
            print_wrapped(|text| info_text::write_efficiency(&efficiency, text), console)?;
        }
        print_memory(&memory, console)?;
    }
    Ok(())
}

fn read_all(paths: &[PathBuf], inputs: &Inputs, console: &Console) -> Result<Vec<DescribedTrace>> {
    let files: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    console.progress().reading(&files, |options| {
        files.par_iter().zip(options).map(|(path, options)| read(path, inputs, options)).collect()
    })
}

fn read(path: &Path, inputs: &Inputs, options: &ReadOptions) -> Result<DescribedTrace> {
    let trace = Arc::new(Trace::open_with(path, options)?);
    let quietly = without_progress(options);
    let captures = inputs.captures.open(&trace, Some(path), &quietly)?;
    let tree = captures.complete(CallTree::build(trace), TreeOptions::default(), options)?;
    let size = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    let info = TraceInfo { file_bytes: size.map(|size| size.len()), ..TraceInfo::of_tree(&tree) };
    let memory = MemorySummary::of(&tree);
    let efficiency = TraceEfficiency::new(tree, &inputs.models, &inputs.peaks);
    Ok(DescribedTrace { info, efficiency: EfficiencyInfo::of(&efficiency, FURTHEST), memory })
}

/// A copy of the options without the progress callback. Captures are read with these options, so they do not move the
/// progress bar.
fn without_progress(options: &ReadOptions) -> ReadOptions {
    let mut quietly = options.clone();
    quietly.progress = None;
    quietly
}

fn print_name(name: &str, console: &mut Console) -> Result<()> {
    let end = if console.is_verbose() { "\n" } else { "" };
    console.print(|out| write!(out, "{}{end}", one_line(name)))
}

fn print_wrapped(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    console: &mut Console,
) -> Result<()> {
    let width = console.width();
    console.print(|out| info_text::wrapped(write, width, out))
}

fn print_head(head: &HeadInfo, console: &mut Console) -> Result<()> {
    if console.is_verbose() {
        print_wrapped(|text| info_text::write_head_fields(head, text), console)
    } else {
        console.print(|out| info_text::write_head(head, out))
    }
}

fn print_rest(info: &TraceInfo, console: &mut Console) -> Result<()> {
    if console.is_verbose() {
        return print_wrapped(|text| info_text::write_fields(info, text), console);
    }
    // The header was already printed, so only the rest of the description follows.
    let width = console.width();
    console.print(|out| info_text::continue_line(info, width, out))?;
    console.say_notes(&info.path, &info.notes);
    Ok(())
}
