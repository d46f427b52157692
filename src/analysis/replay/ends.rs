//! When the GPU events of a replay end, by stream.

use super::parts::Behind;

/// The end and the position of each event of a replay, for each stream in the order of the launches.
pub(super) type Lists = Vec<Vec<(i64, u32)>>;

/// The ends of the events that were launched so far. A replay that continues another one also sees the events of that
/// replay.
#[derive(Debug, Clone)]
pub(super) struct Ends<'e> {
    own: Lists,
    before: Option<Before<'e>>,
}

/// The events that another replay launched up to a point.
#[derive(Debug, Clone)]
struct Before<'e> {
    lists: &'e Lists,
    /// The number of events launched so far, for each stream.
    counts: &'e [u32],
    /// How much later the events end than in the other replay, in ns.
    shift: i64,
}

impl<'e> Ends<'e> {
    /// No events on the given number of streams.
    pub(super) fn new(streams: usize) -> Ends<'static> {
        Ends { own: vec![Vec::new(); streams], before: None }
    }

    /// The events of another replay up to a point, all of them `shift` ns later.
    pub(super) fn after(lists: &'e Lists, counts: &'e [u32], shift: i64) -> Ends<'e> {
        let before = Some(Before { lists, counts, shift });
        Ends { own: vec![Vec::new(); counts.len()], before }
    }

    pub(super) fn push(&mut self, stream: u32, end: (i64, u32)) {
        self.own[stream as usize].push(end);
    }

    /// The number of events of each stream.
    pub(super) fn counts(&self) -> impl Iterator<Item = u32> {
        self.own.iter().map(|ends| ends.len() as u32)
    }

    /// All events that this replay launched.
    pub(super) fn into_lists(self) -> Lists {
        self.own
    }

    /// The end and the position of an event, if it was launched.
    pub(super) fn back(&self, event: Behind) -> Option<(i64, u32)> {
        let stream = event.stream as usize;
        let own = self.own.get(stream)?;
        let back = event.back as usize;
        if let Some(at) = own.len().checked_sub(1 + back) {
            return Some(own[at]);
        }
        let Before { lists, counts, shift } = self.before.as_ref()?;
        let at = (*counts.get(stream)? as usize).checked_sub(1 + back - own.len())?;
        let (end, work) = lists[stream][at];
        Some((end + shift, work))
    }
}
