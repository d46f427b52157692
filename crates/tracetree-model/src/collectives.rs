//! Merges the profile's rows for collectives, so that each launch is counted once.
//!
//! The profiler lists a collective twice: once without a stream, as the communication library sees it, and once on
//! the hardware stream. The two rows have the same type and duration, but their starts differ by up to a
//! microsecond:
//! ```text
//! stream N/A  ├──── 249.058 µs ────┤        start …735.500
//! stream 35    ├──── 249.058 µs ────┤       start …736.000     one launch, two rows
//! ```
//! Rows of one type whose starts are at most a microsecond apart form a group. One stream cannot start two collectives
//! at once, so every row on the same stream is a separate launch. The stream with the most rows in a group therefore
//! determines the number of launches. Within a group, the longest row of each stream belongs to the first launch, the
//! second longest row of each stream to the second launch, and so on. Comparing starts rounded to whole microseconds
//! would not work: two rows of one launch that round to different values would be counted twice.

use std::collections::BTreeMap;
use tracetree_trace::order::Order as _;

use super::kernel_type::KernelType;
use tracetree_trace::trace::Nanos;

/// Maximum time between the starts of two rows that belong to the same launch.
const SAME_START: Nanos = Nanos(1_000);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CollectiveRow {
    pub(crate) kernel_type: KernelType,
    pub(crate) start: Nanos,
    pub(crate) duration: Nanos,
    pub(crate) stream: Stream,
}

/// The stream on which a row was recorded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stream {
    /// The profile has no stream column, so any two rows may belong to the same launch.
    NotRecorded,
    /// The stream is `N/A`, because the row comes from the communication library.
    None,
    /// A hardware stream.
    On(String),
}

/// Returns every launch once, with the longest duration among its rows, sorted by type and start.
pub(crate) fn launches(mut rows: Vec<CollectiveRow>) -> Vec<(KernelType, Nanos)> {
    // The sort is stable: rows with equal starts remain in the order of the file.
    rows.order_by(|a, b| (&a.kernel_type, a.start).cmp(&(&b.kernel_type, b.start)));
    rows.chunk_by(start_together).flat_map(launches_of_group).collect()
}

fn start_together(earlier: &CollectiveRow, later: &CollectiveRow) -> bool {
    earlier.kernel_type == later.kernel_type && later.start - earlier.start <= SAME_START
}

fn launches_of_group(group: &[CollectiveRow]) -> Vec<(KernelType, Nanos)> {
    let mut streams: BTreeMap<&Stream, Vec<Nanos>> = BTreeMap::new();
    let mut not_recorded = Vec::new();
    for row in group {
        match &row.stream {
            Stream::NotRecorded => not_recorded.push(row.duration),
            stream @ (Stream::None | Stream::On(_)) => {
                streams.entry(stream).or_default().push(row.duration);
            }
        }
    }
    let mut durations: Vec<Nanos> = not_recorded.into_iter().max().into_iter().collect();
    for mut on_stream in streams.into_values() {
        on_stream.order_by(|a, b| b.cmp(a));
        merge_longest(&mut durations, &on_stream);
    }
    durations.into_iter().map(|duration| (group[0].kernel_type.clone(), duration)).collect()
}

/// Merges two lists of durations. The k-th longest durations in the two lists belong to the same launch; the longer one
/// becomes the launch's duration.
fn merge_longest(durations: &mut Vec<Nanos>, on_stream: &[Nanos]) {
    for (at, &duration) in on_stream.iter().enumerate() {
        match durations.get_mut(at) {
            Some(known) => *known = duration.max(*known),
            None => durations.push(duration),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stream: &str, start: i64, duration: i64) -> CollectiveRow {
        CollectiveRow {
            kernel_type: KernelType::all_reduce(),
            start: Nanos(start),
            duration: Nanos(duration),
            stream: match stream {
                "N/A" => Stream::None,
                "" => Stream::NotRecorded,
                name => Stream::On(name.to_owned()),
            },
        }
    }

    fn durations(rows: Vec<CollectiveRow>) -> Vec<i64> {
        launches(rows).iter().map(|(_, duration)| duration.0).collect()
    }

    #[test]
    fn two_times_around_a_full_microsecond_are_one_launch() {
        assert_eq!(durations(vec![row("N/A", 735_500, 249), row("35", 736_000, 249)]), [249]);
        assert_eq!(durations(vec![row("35", 736_500, 249), row("N/A", 735_500, 250)]), [250]);
    }

    #[test]
    fn more_than_a_microsecond_apart_are_two_launches() {
        assert_eq!(durations(vec![row("N/A", 0, 5), row("35", 1_001, 5)]), [5, 5]);
    }

    #[test]
    fn two_collectives_on_one_stream_are_two_launches() {
        assert_eq!(durations(vec![row("N/A", 0, 5), row("N/A", 400, 7)]), [7, 5]);
    }

    #[test]
    fn two_communicators_at_once_are_two_launches() {
        let rows = vec![row("N/A", 0, 9), row("N/A", 100, 4), row("35", 500, 9), row("35", 600, 4)];
        assert_eq!(durations(rows), [9, 4]);
        let rows = vec![row("N/A", 0, 9), row("35", 500, 9), row("36", 600, 9)];
        assert_eq!(durations(rows), [9]);
    }

    #[test]
    fn without_a_stream_column_the_start_decides() {
        assert_eq!(durations(vec![row("", 0, 5), row("", 900, 6), row("", 9_000, 6)]), [6, 6]);
    }

    #[test]
    fn other_types_are_never_copies() {
        let mut gather = row("35", 0, 5);
        gather.kernel_type = KernelType::new("hcom_allGather_").expect("a name");
        assert_eq!(durations(vec![row("N/A", 0, 5), gather]).len(), 2);
    }
}
