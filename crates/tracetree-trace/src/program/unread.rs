//! Counts the complete events that were not read because their category is unknown.

use crate::trace::Trace;

/// Known categories of complete events that comparisons ignore.
const IGNORED: [&str; 16] = [
    "(no category) Overlap Analysis",
    "Overhead",
    "Trace",
    "collective_comm",
    "cuda_event",
    "cuda_profiler_range",
    "cuda_sync",
    "dequeue",
    "enqueue",
    "external_correlation",
    "mtia_ccp_events",
    "mtia_counters",
    "mtia_insight",
    "overhead",
    "xpu_scope_profiler",
    "xpu_sync",
];

/// The complete events of a trace that were not read, because the meaning of an unknown category
/// cannot be guessed. Whatever they recorded is missing from every result, so two traces with such
/// events cannot be called identical.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct Unread {
    categories: Vec<(String, u64)>,
}

impl Unread {
    /// Counts the unread events of a trace.
    pub fn of(trace: &Trace) -> Unread {
        let unread = |(label, count): &(String, u64)| {
            let category = label.strip_prefix("X ")?;
            (!IGNORED.contains(&category)).then(|| (category.to_owned(), *count))
        };
        Unread { categories: trace.left_out().iter().filter_map(unread).collect() }
    }

    /// The number of unread events in each category, sorted by category. The text comes from the
    /// trace and must be escaped.
    pub fn by_category(&self) -> &[(String, u64)] {
        &self.categories
    }

    /// Number of unread events.
    pub fn count(&self) -> u64 {
        self.categories.iter().map(|(_, count)| count).sum()
    }

    /// Whether all complete events were read, or belong to a category that is ignored on purpose.
    pub fn is_empty(&self) -> bool {
        self.categories.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::ReadOptions;

    #[test]
    fn only_events_of_unknown_categories_are_unread() {
        let event = |category: &str, pid: u32| {
            format!(
                r#"{{"ph": "X", {category} "name": "a", "pid": {pid}, "tid": 0, "ts": 1, "dur": 1}}"#
            )
        };
        let process = r#"{"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "Overlap Analysis"}}"#;
        let events = [
            process.to_owned(),
            event(r#""cat": "xpu_sync","#, 1),
            event(r#""cat": "new_device","#, 1),
            event(r#""cat": "new_device","#, 1),
            event(r#""cat": "cpu_op","#, 1),
            event("", 7),
            event("", 8),
            r#"{"ph": "C", "cat": "new_counter", "name": "c", "pid": 1, "ts": 1}"#.to_owned(),
        ];
        assert!(IGNORED.is_sorted());
        let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
        let trace = Trace::from_reader("t", text.as_bytes(), &ReadOptions::default());
        let unread = Unread::of(&trace.expect("a trace"));
        let expected = [("(no category)".to_owned(), 1), ("new_device".to_owned(), 2)];
        assert_eq!((unread.by_category(), unread.count()), (&expected[..], 3));
    }
}
