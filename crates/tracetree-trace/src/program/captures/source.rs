//! Reads the [`Captures`] for a trace.

use super::graphs::Capture;
use super::remarks;
use crate::error::{Error, ErrorKind, Result};
use crate::program::counted;
use crate::trace::{ByName, CAPTURE_FOLDER, CaptureFile, Category, Notes, ReadOptions, Trace};
use crate::tree::{CallTree, TreeOptions, names_graph_launch};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Traces that were recorded while graphs were captured.
///
/// ```no_run
/// use tracetree::program::Captures;
/// use tracetree::tree::TreeOptions;
/// use tracetree::{CallTree, Trace};
///
/// let captures = Captures::of([Trace::open("capture_traces/bs_32.json.gz")?]);
/// let tree = CallTree::build(Trace::open("decode.json.gz")?);
/// let tree = captures.add_to(&tree, TreeOptions::default());
/// for replay in tree.replays() {
///     println!("{} of {} kernels below their ops", replay.placed, replay.kernels);
/// }
/// # Ok::<(), tracetree::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Captures {
    pub(super) captures: Vec<Arc<Capture>>,
    /// Whether graph launches are left unchanged. If so, program parts that the replayed kernels
    /// name are not added either.
    leaves_graphs: bool,
    /// Notes about irregularities in the capture traces, and about the search for them.
    pub(super) notes: Notes,
}

/// Where the graph captures for a trace come from.
///
/// If a trace both captures and launches graphs, it is also used as its own capture trace, unless
/// the source is [`CaptureSource::Nowhere`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum CaptureSource {
    /// The folder `capture_traces` next to the trace, if there is one.
    #[default]
    Beside,
    /// Capture files, and folders that contain capture files.
    Files(Vec<PathBuf>),
    /// Traces that are already in memory.
    Traces(Vec<Arc<Trace>>),
    /// No captures. Graph launches are left unchanged even if the replayed kernels contain names of
    /// program parts.
    Nowhere,
}

/// Codes of the notes that report an unusable capture. With `--strict`, notes with these codes are
/// errors.
const USELESS: [&str; 6] = [
    "CAPTURE_UNREADABLE",
    "CAPTURE_WITHOUT_GRAPH",
    "CAPTURE_WITHOUT_LAUNCHES",
    "CAPTURE_CUT_OFF",
    "CAPTURE_MISFIT",
    "CAPTURE_UNUSED",
];

impl CaptureSource {
    /// Reads the captures for a trace. `path` is the file that the trace was read from, if known.
    /// If the trace contains no graph launch, no capture file is read.
    ///
    /// # Errors
    /// Fails if a file or folder given by the user cannot be read. If tracetree itself found the
    /// folder next to the trace, a read error only adds a note, unless [`ReadOptions::strict`] is
    /// set.
    pub fn open(
        &self,
        trace: &Arc<Trace>,
        path: Option<&Path>,
        options: &ReadOptions,
    ) -> Result<Captures> {
        let mut captures = Captures::default();
        let mut graphs = ByName::new(trace);
        let mut runtime_calls =
            trace.own_events().filter(|&event| trace.category(event) == Category::Runtime);
        let launches_graphs = runtime_calls.any(|event| {
            graphs.get(trace.name_id(event), || names_graph_launch(trace.name(event)))
        });
        match (self, path) {
            (CaptureSource::Nowhere, _) => {
                captures.leaves_graphs = true;
                return Ok(captures);
            }
            _ if !launches_graphs => {
                if matches!(self, CaptureSource::Files(_) | CaptureSource::Traces(_)) {
                    let message =
                        "captures were passed, but the trace launches no graph".to_owned();
                    captures.note("CAPTURE_UNUSED", "", message);
                }
                return Ok(captures);
            }
            (CaptureSource::Files(paths), _) => {
                for file in CaptureFile::of(paths)? {
                    captures.push(Trace::open_with(&file.path, options)?, file.batch);
                }
            }
            (CaptureSource::Traces(traces), _) => {
                traces.iter().for_each(|trace| captures.push(trace.clone(), None));
            }
            (CaptureSource::Beside, Some(path)) => captures.add_beside(path, options)?,
            (CaptureSource::Beside, None) => {}
        }
        if Capture::is_one(trace) {
            captures.push(trace.clone(), None);
        }
        Ok(captures)
    }
}

impl Captures {
    /// Finds the captured graphs in traces.
    pub fn of<T: Into<Arc<Trace>>>(traces: impl IntoIterator<Item = T>) -> Captures {
        let mut captures = Captures::default();
        for trace in traces {
            captures.push(trace, None);
        }
        captures
    }

    /// Adds a capture trace. `batch` is the batch size of the captured graphs, if a source outside
    /// the trace states it; an annotation in the trace takes precedence.
    #[doc(hidden)]
    pub fn push(&mut self, trace: impl Into<Arc<Trace>>, batch: Option<u64>) {
        let capture = Capture::of(trace, batch);
        remarks::reading(&capture, &mut self.notes);
        self.captures.push(Arc::new(capture));
    }

    /// Adds a note about the search for captures.
    fn note(&mut self, code: &'static str, hint: &'static str, message: String) {
        self.notes.add(code, 1, hint, || message);
    }

    fn add_beside(&mut self, path: &Path, options: &ReadOptions) -> Result<()> {
        let hint = "repair or remove the folder, or pass the capture files";
        let files = match CaptureFile::beside(path) {
            Ok(files) => files,
            Err(error) if options.strict => return Err(error),
            Err(error) => {
                self.note("CAPTURE_UNREADABLE", hint, error.to_string());
                return Ok(());
            }
        };
        if !files.is_empty() {
            let found = format!(
                "{} in {CAPTURE_FOLDER}/ next to the trace",
                counted(files.len() as u64, "trace")
            );
            self.note("CAPTURE_FOUND", "pass --no-captures to ignore them", found);
        }
        for file in files {
            match Trace::open_with(&file.path, options) {
                Ok(trace) => self.push(trace, file.batch),
                Err(error) if options.strict || error.kind() == ErrorKind::Cancelled => {
                    return Err(error);
                }
                Err(error) => self.note("CAPTURE_UNREADABLE", hint, error.to_string()),
            }
        }
        Ok(())
    }

    /// Adds the captured calls to the tree, and the program parts that replayed kernels name. If
    /// the source is [`CaptureSource::Nowhere`], the tree is unchanged.
    ///
    /// # Errors
    /// Fails if `reading` is strict and a capture could not be used.
    #[doc(hidden)]
    pub fn complete(
        &self,
        tree: CallTree,
        options: TreeOptions,
        reading: &ReadOptions,
    ) -> Result<CallTree> {
        let names_parts = !self.leaves_graphs && !tree.trace().regions().is_empty();
        if self.captures.is_empty() && self.notes.is_empty() && !names_parts {
            return Ok(tree);
        }
        let tree = self.add_to(&tree, options);
        if reading.strict {
            Captures::strictly(&tree)?;
        }
        Ok(tree)
    }

    /// Turns a note about an unusable capture into an error.
    ///
    /// # Errors
    /// Fails if the tree has a note about an unusable capture.
    fn strictly(tree: &CallTree) -> Result<()> {
        match USELESS.iter().find_map(|code| tree.notes().get(code)) {
            None => Ok(()),
            Some(note) => Err(Error::new(
                ErrorKind::Malformed,
                tree.trace().source(),
                format!("{}: {}", note.code, note.message),
            )
            .remedy("without --strict, the trace is read without this capture")),
        }
    }
}
