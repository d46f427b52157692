//! Explains common mistakes in two lines: what is wrong, and the command to run instead.
//!
//! Error messages of the library already name the file and the remedy. The messages of this module are more specific,
//! because this module also knows the arguments of the command and the names of other files in the folder.

use std::ffi::OsString;
use std::path::Path;
use tracetree::escape::shell_word;
use tracetree::program::{counted, is_near, nearest};
use tracetree::report::one_line;
use tracetree::{Error, ErrorKind};

/// Maximum number of suggestions for a misspelled file name.
const SUGGESTED: usize = 3;
/// Files with these extensions are treated as traces.
const TRACES: [&str; 7] =
    [".json", ".json.gz", ".json.zst", ".gz", ".ttb", ".sqlite", ".xplane.pb"];

/// A mistake: what is wrong, and the command to run instead.
pub(super) struct Mistake {
    pub(super) what: String,
    pub(super) command: String,
}

/// The common mistake that probably caused an error; `None` if the error does not look like a common mistake.
pub(super) fn behind(error: &Error, arguments: &[OsString]) -> Option<Mistake> {
    let path = error.path()?;
    let typed = Typed(arguments);
    if error.kind() == ErrorKind::NoEvent && !path.exists() {
        return event_without_report(path, &typed);
    }
    if let Some(mistake) = of_another_tool(path, &typed).filter(|_| !is_of_request(error.kind())) {
        return Some(mistake);
    }
    if path.is_dir() {
        let is_readable = std::fs::read_dir(path).is_ok();
        return of_folder(error, path, &typed).filter(|_| is_readable && typed.is_input(path));
    }
    if error.kind() == ErrorKind::Io && !path.exists() {
        of_missing_file(error, path, &typed)
    } else {
        None
    }
}

/// Whether the request is at fault rather than a file.
fn is_of_request(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Usage | ErrorKind::NoEvent | ErrorKind::NoTraces)
}

/// Detects `tracetree A B`: a file where a command is expected.
pub(super) fn forgotten_command(arguments: &[OsString]) -> Option<Mistake> {
    let first = arguments.get(1)?.to_str()?;
    let is_file = Path::new(first).exists() || TRACES.iter().any(|end| first.ends_with(end));
    let command = if arguments.len() == 2 { "info" } else { "diff" };
    is_file.then(|| Mistake {
        what: format!(
            "`{}` is a file, not a command; did you forget `{command}`?",
            one_line(first)
        ),
        command: Typed(arguments).with_command(command),
    })
}

/// Detects the same file on both sides of a comparison.
pub(super) fn same_file(baseline: &Path, candidate: &Path) -> Option<Mistake> {
    let whole = |path: &Path| std::fs::canonicalize(path).ok().filter(|path| path.is_file());
    (whole(baseline)? == whole(candidate)?).then(|| Mistake {
        what: format!(
            "baseline and candidate are the same file: {}",
            one_line(&baseline.display().to_string())
        ),
        command: format!(
            "tracetree diff {} CANDIDATE",
            shell_word(&baseline.display().to_string())
        ),
    })
}

/// The arguments as typed by the user.
struct Typed<'a>(&'a [OsString]);

impl Typed<'_> {
    /// The name of the subcommand.
    fn command(&self) -> &str {
        self.0.get(1).and_then(|word| word.to_str()).unwrap_or_default()
    }

    /// Whether a path is one of the command's arguments, not counting the output path.
    fn is_input(&self, path: &Path) -> bool {
        let is_output = |before: &OsString| before == "-o" || before == "--output";
        let with_the_one_before = self.0.iter().skip(1).zip(self.0.iter());
        with_the_one_before
            .into_iter()
            .any(|(word, before)| Path::new(word) == path && !is_output(before))
    }

    /// The command line with one argument replaced.
    fn with(&self, old: &Path, new: &str) -> String {
        let word = |argument: &OsString| {
            if Path::new(argument) == old {
                new.to_owned()
            } else {
                shell_word(&argument.to_string_lossy())
            }
        };
        let words: Vec<String> = self.0.iter().skip(1).map(word).collect();
        format!("tracetree {}", words.join(" "))
    }

    fn with_command(&self, command: &str) -> String {
        let words = self.0.iter().skip(1).map(|argument| shell_word(&argument.to_string_lossy()));
        format!("tracetree {command} {}", words.collect::<Vec<_>>().join(" "))
    }
}

fn event_without_report(path: &Path, typed: &Typed<'_>) -> Option<Mistake> {
    let number = path.to_str().filter(|text| text.parse::<u64>().is_ok())?;
    Some(Mistake {
        what: format!("{number} is an event number, but no report folder was given"),
        command: format!("tracetree {} tracetree_report {number}", typed.command()),
    })
}

/// Recognizes files written by other tools, and suggests how to obtain a trace from them.
fn of_another_tool(path: &Path, typed: &Typed<'_>) -> Option<Mistake> {
    let name = path.file_name()?.to_str()?;
    let shown = one_line(name);
    let mistake =
        |what: &str, command: String| Some(Mistake { what: format!("{shown} is {what}"), command });
    if !path.is_file() {
        return None;
    }
    let file = shell_word(&path.display().to_string());
    if name.ends_with(".nsys-rep") || name.ends_with(".qdrep") {
        let export = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let export =
            shell_word(&path.with_file_name(format!("{export}.sqlite")).display().to_string());
        return mistake(
            "an Nsight Systems report; export it and pass the export",
            format!("nsys export --type sqlite -o {export} {file}"),
        );
    }
    if [".pftrace", ".perfetto-trace", ".perfetto"].iter().any(|end| name.ends_with(end)) {
        return mistake(
            "a Perfetto trace; convert it to JSON",
            format!("traceconv json {file} trace.json"),
        );
    }
    if is_snapshot(name) && typed.command() != "memory" {
        let others = typed.0.iter().skip(2).filter_map(|word| word.to_str());
        let mut snapshots: Vec<String> =
            others.filter(|word| is_snapshot(word)).map(shell_word).collect();
        if snapshots.len() < 2 {
            snapshots = vec![file, "OTHER.pickle".to_owned()];
        }
        return mistake(
            "a memory snapshot, not a trace; compare it with another snapshot",
            format!("tracetree memory {}", snapshots.join(" ")),
        );
    }
    None
}

/// Whether a file name has a pickle extension; in practice such files are memory snapshots.
fn is_snapshot(name: &str) -> bool {
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    stem.ends_with(".pickle") || stem.ends_with(".pkl")
}

fn of_folder(error: &Error, path: &Path, typed: &Typed<'_>) -> Option<Mistake> {
    let traces = files(path, |name| TRACES.iter().any(|end| name.ends_with(end)));
    let is_one_trace = error.kind() == ErrorKind::Io;
    let shown = one_line(&path.display().to_string()).into_owned();
    match (traces.first(), is_one_trace) {
        (None, _) if !is_one_trace && error.kind() != ErrorKind::NoTraces => None,
        (None, _) => {
            let all = files(path, |_| true);
            let what = match all.first() {
                None => format!("{shown} is an empty folder"),
                Some(first) => {
                    format!("{shown} contains no trace; it contains {}", one_line(first))
                }
            };
            Some(Mistake { what, command: typed.with(path, "TRACE.json.gz") })
        }
        (Some(first), true) => {
            let count = counted(traces.len() as u64, "trace");
            let one = shell_word(&path.join(first).display().to_string());
            Some(Mistake {
                what: format!("{shown} is a folder with {count}"),
                command: typed.with(path, &one),
            })
        }
        (Some(_), false) => None,
    }
}

fn of_missing_file(error: &Error, path: &Path, typed: &Typed<'_>) -> Option<Mistake> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let shown = one_line(&path.display().to_string()).into_owned();
    if !folder.is_dir() {
        return None;
    }
    let mut names = files(folder, |found| is_near(name, found));
    let mut near: Vec<String> = Vec::new();
    while near.len() < SUGGESTED
        && let Some(found) = nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
    {
        names.retain(|known| *known != found);
        near.push(found);
    }
    let first = near.first()?;
    let place = path.with_file_name(first).display().to_string();
    let list: Vec<String> = near.iter().map(|name| one_line(name).into_owned()).collect();
    Some(Mistake {
        what: format!(
            "{shown}: {}; the nearest names are {}",
            one_line(error.message()),
            list.join(", ")
        ),
        command: typed.with(path, &shell_word(&place)),
    })
}

/// The sorted names of the files in a folder. Only names that `is_wanted` accepts are included.
fn files(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_wanted(name))
        .collect();
    names.sort();
    names
}
