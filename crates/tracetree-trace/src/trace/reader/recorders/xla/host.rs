//! Classifies the events on host threads.

use super::super::rows;
use super::space::{Kind, Plane, Stat};
use super::wire::Read;
use crate::trace::category::Category;
use crate::trace::header::is_wait;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The event statistics that the reader uses.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) correlation: Option<i64>,
    pub(super) program: Option<i64>,
    pub(super) module: &'a str,
    pub(super) op: &'a str,
    pub(super) run: i64,
    pub(super) step: Option<i64>,
    pub(super) kernel: &'a str,
    pub(super) copy: &'a str,
    pub(super) is_set: bool,
    pub(super) graph_node: Option<i64>,
}

/// Maximum length of a string statistic; longer strings are ignored. The length is limited because
/// many events may share one long string.
const LONGEST: usize = 4096;

impl<'a> Facts<'a> {
    /// Returns `self`, updated with the facts in `stats`.
    pub(super) fn with(self, stats: &[(&'a str, Stat<'a>)]) -> Facts<'a> {
        let mut facts = self;
        for (name, stat) in stats {
            match (*name, *stat) {
                (_, Stat::Text(text)) if text.len() > LONGEST => {}
                ("correlation_id", stat) => facts.correlation = stat.number(),
                ("program_id", stat) => facts.program = stat.number(),
                ("run_id", stat) => facts.run = stat.number().unwrap_or(0),
                ("step_num", stat) => facts.step = stat.number(),
                ("cuda_graph_node_id", stat) => facts.graph_node = stat.number(),
                ("hlo_module", Stat::Text(text)) => facts.module = text,
                ("hlo_op", Stat::Text(text)) => facts.op = text,
                ("kernel_details", Stat::Text(text)) => facts.kernel = text,
                ("memcpy_details", Stat::Text(text)) => facts.copy = text,
                ("memset_details", _) => facts.is_set = true,
                _ => {}
            }
        }
        facts
    }
}

/// For each kind of event, its name and its statistics as [`Facts`].
pub(super) type Kinds<'a> = FxHashMap<u64, (&'a str, Facts<'a>)>;

/// Reads the event kinds in a plane only once, because many events share a kind.
pub(super) fn kinds<'a>(plane: &Plane<'a>) -> Read<Kinds<'a>> {
    let facts = |(id, kind): (&u64, &Kind<'a>)| {
        let facts = Facts::default().with(&plane.named(&kind.stats)?);
        Ok((*id, (rows::beginning(kind.name), facts)))
    };
    plane.kinds.iter().map(facts).collect()
}

/// The category and the name of a host event; `Err` with the kind of event if comparisons ignore
/// the event.
pub(super) fn event<'n>(
    name: &'n str,
    facts: &Facts<'_>,
) -> Result<(Category, Cow<'n, str>), &'static str> {
    if facts.correlation.is_some_and(|id| id > 0) {
        // `cuGraphLaunch (CudaGraph:8)` becomes the call name without the graph number.
        let call = name.split_once(" (").map_or(name, |(call, _)| call);
        return Ok((Category::Runtime, Cow::Borrowed(call)));
    }
    if name.starts_with("end: ") {
        return Err("end of an op");
    }
    // The number of `ThunkExecutor::Execute` events depends on how the ops are distributed over the
    // threads of a pool, so these events are ignored.
    if name == "ThunkExecutor::Execute" {
        return Err("executor of CPU ops");
    }
    if name.starts_with("ThreadpoolListener::") {
        return Err("thread pool event");
    }
    if let Some(number) = facts.step.filter(|number| *number >= 0) {
        return Ok((Category::UserAnnotation, Cow::Owned(format!("ProfilerStep#{number}"))));
    }
    if let Some(frame) = name.strip_prefix('$') {
        return Ok((Category::PythonFunction, frame_name(frame)));
    }
    // A wait is a function that the host calls, and not work.
    let category = if is_wait(name) { Category::PythonFunction } else { Category::CpuOp };
    Ok((category, Cow::Borrowed(name)))
}

/// `profiler.py:307 trace` → `profiler.py(307): trace`, as Kineto writes it.
fn frame_name(name: &str) -> Cow<'_, str> {
    let parts = name.split_once(' ').and_then(|(place, function)| {
        let (file, line) = place.rsplit_once(':')?;
        line.bytes().all(|byte| byte.is_ascii_digit()).then_some((file, line, function))
    });
    match parts {
        Some((file, line, function)) => Cow::Owned(format!("{file}({line}): {function}")),
        None => Cow::Borrowed(name),
    }
}

/// The three numbers after `grid:` or `block:` in the kernel details.
pub(super) fn dimensions(details: &str, key: &str) -> Option<[i64; 3]> {
    let mut numbers = after(details, key)?.split(',').map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

/// The word after a key in kernel or copy details such as `kind:Unknown size:655360 dest:2`.
pub(super) fn after<'d>(details: &'d str, key: &str) -> Option<&'d str> {
    details.split_ascii_whitespace().find_map(|word| word.strip_prefix(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_events_are_classified() {
        let facts = Facts::default();
        let shown =
            |name| event(name, &facts).map(|(category, name)| (category, name.into_owned()));
        let frame = (Category::PythonFunction, "profiler.py(307): trace".to_owned());
        assert_eq!(shown("$profiler.py:307 trace"), Ok(frame));
        assert_eq!(shown("end: dot.3"), Err("end of an op"));
        assert_eq!(shown("ThunkExecutor::Execute"), Err("executor of CPU ops"));
        let wait = "ThunkExecutor::Execute (wait for completion)";
        assert_eq!(shown(wait), Ok((Category::PythonFunction, wait.to_owned())));
        assert_eq!(shown("Handle inputs"), Ok((Category::CpuOp, "Handle inputs".to_owned())));
        let launch = Facts { correlation: Some(1), ..facts };
        let call = event("cuGraphLaunch (CudaGraph:8)", &launch).expect("a call");
        assert_eq!(call, (Category::Runtime, "cuGraphLaunch".into()));
        assert_eq!(dimensions("regs:7 grid:16,1,1 block:512,1,1", "grid:"), Some([16, 1, 1]));
    }
}
