//! Two digests, one of which may show what its graphs run → both as far as they show the same.
//!
//! A capture puts ops between the launch of a graph and its kernels. Against a side without one these
//! would be new ops, though nothing changed. So kernels are held against each other at the launches then;
//! and against a side without any graph the captured calls are those that took the place of eager ones.

use super::flat::{as_called, at_launches};
use crate::gate::digest::{Captured, Digest};
use std::borrow::Cow;

/// How graphs are looked at, so that both sides show the same of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gate) enum Graphs {
    /// As the digests have them.
    AsTheyAre,
    /// Their kernels at the launch: a side, or a part of its launches, has no captures.
    AtTheirLaunches,
    /// As what was captured: the other side launches no graph.
    AsTheirCalls,
}

impl Graphs {
    /// How the graphs of two sides are to be looked at.
    pub(in crate::gate) fn of(baseline: &Digest, candidate: &Digest) -> Graphs {
        let sides = [baseline, candidate];
        let captured = sides.map(|side| side.setup.captured);
        let launches = |side: &Digest| side.counts.get("graph_launches").map_or(0, |all| all.most);
        match captured {
            [Captured::No, Captured::No] | [Captured::Wholly, Captured::Wholly] => {
                Graphs::AsTheyAre
            }
            [Captured::Wholly, Captured::No] if launches(candidate) == 0 => Graphs::AsTheirCalls,
            [Captured::No, Captured::Wholly] if launches(baseline) == 0 => Graphs::AsTheirCalls,
            _ => Graphs::AtTheirLaunches,
        }
    }

    /// A digest as it is looked at.
    pub(in crate::gate) fn show(self, digest: &Digest) -> Cow<'_, Digest> {
        match (self, digest.setup.captured) {
            (Graphs::AsTheyAre, _) | (_, Captured::No) => Cow::Borrowed(digest),
            (Graphs::AtTheirLaunches, _) => Cow::Owned(at_launches(digest)),
            (Graphs::AsTheirCalls, _) => Cow::Owned(as_called(digest)),
        }
    }

    /// What a reader should know of it; `None` where nothing is left out.
    pub(in crate::gate) fn note(self, baseline: &Digest, candidate: &Digest) -> Option<String> {
        let words = |side: &Digest| match side.setup.captured {
            Captured::No => "without captures",
            Captured::Partly => "with captures of some launches",
            Captured::Wholly => "with captures",
        };
        let sides = format!("graphs {} | {}", words(baseline), words(candidate));
        match self {
            Graphs::AsTheyAre => None,
            Graphs::AtTheirLaunches => Some(format!("{sides}: compared at the graph launches")),
            Graphs::AsTheirCalls => Some(
                "one side launches graphs, with captures, and the other none: the captured calls are \
                 compared with those of the other side"
                    .to_owned(),
            ),
        }
    }
}
