//! Divides a time span into the busy and idle time of groups of events.
//!
//! ```text
//! begin        ├─ a ──┤   ├─ b ─────┤                end
//!                 ├─ c ────┤
//! └─ idle: a ─┘└busy a┘└ busy c ┘└ b ┘└─ idle: b ───┘
//! ```
//! Each moment between begin and end is attributed to exactly one group. If several events run at the same
//! moment, the moment is attributed to the group of the event that started first. A gap is attributed to the
//! group of the event that ends the gap, which is the event that the device waited for. The time after the
//! last event is attributed to the group of that event. The wall times of all groups therefore add up to the
//! whole span.

use crate::order::Order as _;
use crate::trace::Nanos;

/// The kind of an event on the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Computation.
    Compute,
    /// The event is a copy or memset.
    Copy,
    /// The event communicates with other ranks.
    Communication,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Occupied {
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    /// The group that contains the event.
    pub(super) group: usize,
    pub(super) activity: Activity,
}

/// The part of the timeline that is attributed to one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Share {
    pub(super) busy: Nanos,
    pub(super) idle: Nanos,
    /// Time during which communication runs, but no computation does.
    pub(super) exposed: Nanos,
}

/// Divides the time from `begin` to `end` among `groups` groups. All events must be within this time.
pub(super) fn divide(
    begin: Nanos,
    end: Nanos,
    mut events: Vec<Occupied>,
    groups: usize,
) -> Vec<Share> {
    events.order_by_key(|event| (event.start, event.end, event.group));
    let mut shares = vec![Share::default(); groups];
    let mut reached = begin;
    for event in &events {
        let share = &mut shares[event.group];
        share.idle += (event.start - reached).max(Nanos::ZERO);
        share.busy += (event.end - event.start.max(reached)).max(Nanos::ZERO);
        reached = reached.max(event.end);
    }
    if let Some(last) = events.last() {
        shares[last.group].idle += (end - reached).max(Nanos::ZERO);
    }
    expose(&events, &mut shares);
    shares
}

/// Adds the communication time during which no computation runs.
fn expose(events: &[Occupied], shares: &mut [Share]) {
    let computing = union(events.iter().filter(|event| event.activity == Activity::Compute));
    let mut reached = Nanos(i64::MIN / 2);
    for event in events.iter().filter(|event| event.activity == Activity::Communication) {
        let (start, end) = (event.start.max(reached), event.end);
        if start < end {
            shares[event.group].exposed += end - start - covered(&computing, start, end);
        }
        reached = reached.max(end);
    }
}

/// Merges spans, sorted by start, into disjoint spans.
fn union<'a>(events: impl Iterator<Item = &'a Occupied>) -> Vec<(Nanos, Nanos)> {
    let mut spans: Vec<(Nanos, Nanos)> = Vec::new();
    for event in events {
        match spans.last_mut().filter(|last| event.start <= last.1) {
            Some(last) => last.1 = last.1.max(event.end),
            None => spans.push((event.start, event.end)),
        }
    }
    spans
}

/// How much of the time from `start` to `end` is covered by the disjoint spans.
fn covered(spans: &[(Nanos, Nanos)], start: Nanos, end: Nanos) -> Nanos {
    let first = spans.partition_point(|span| span.1 <= start);
    spans[first..]
        .iter()
        .take_while(|span| span.0 < end)
        .map(|span| span.1.min(end) - span.0.max(start))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Activity::{Communication, Compute};

    fn event(start: i64, end: i64, group: usize, activity: Activity) -> Occupied {
        Occupied { start: Nanos(start), end: Nanos(end), group, activity }
    }

    #[test]
    fn every_moment_goes_to_one_group() {
        let events =
            vec![event(10, 20, 0, Compute), event(15, 30, 1, Compute), event(40, 50, 0, Compute)];
        let shares = divide(Nanos(0), Nanos(60), events, 2);
        assert_eq!((shares[0].busy, shares[0].idle), (Nanos(20), Nanos(30)));
        assert_eq!((shares[1].busy, shares[1].idle), (Nanos(10), Nanos(0)));
    }

    #[test]
    fn an_event_inside_another_one_does_not_end_its_busy_time() {
        let events =
            vec![event(0, 20, 0, Compute), event(5, 8, 1, Compute), event(12, 25, 1, Compute)];
        let shares = divide(Nanos(0), Nanos(25), events, 2);
        assert_eq!((shares[0].busy, shares[1].busy), (Nanos(20), Nanos(5)));
        assert_eq!((shares[0].idle, shares[1].idle), (Nanos(0), Nanos(0)));
    }

    #[test]
    fn contained_communication_is_exposed_once() {
        let events = vec![
            event(0, 20, 0, Communication),
            event(5, 8, 1, Communication),
            event(12, 25, 1, Communication),
        ];
        let shares = divide(Nanos(0), Nanos(25), events, 2);
        assert_eq!((shares[0].exposed, shares[1].exposed), (Nanos(20), Nanos(5)));
    }

    #[test]
    fn communication_is_exposed_while_nothing_computes() {
        let events = vec![
            event(0, 30, 0, Communication),
            event(10, 15, 1, Compute),
            event(20, 40, 1, Communication),
            event(38, 50, 1, Compute),
        ];
        let shares = divide(Nanos(0), Nanos(50), events, 2);
        assert_eq!(shares[0].exposed, Nanos(25));
        assert_eq!(shares[1].exposed, Nanos(8));
    }
}
