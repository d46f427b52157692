//! Matches pairs of calls that the user pins to each other, such as
//! `module("Block_1") = module("Block_2")`.
//!
//! The two queries of a pin must select the same number of calls, which are matched in order. Pinned calls
//! are matched before any other calls. The contents of pinned calls are then aligned as usual.

use crate::error::{Error, Result};
use crate::program::Query;
use crate::side::PerSide;
use crate::tree::{CallId, CallTree};
use std::fmt;
use std::str::FromStr;

/// A pin: two queries, one for each side. The calls that the two queries select are matched with each other in order.
///
/// ```
/// use tracetree::diff::Pin;
///
/// let pin: Pin = r#"module("Block_1") = module("Block_2")"#.parse()?;
/// assert_eq!(pin.to_string(), r#"module("Block_1") = module("Block_2")"#);
/// assert!(r#"module("Block_1")"#.parse::<Pin>().is_err());
/// # Ok::<(), tracetree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    queries: PerSide<Query>,
}

impl Pin {
    /// The pairs of calls that the pin matches, in baseline preorder.
    ///
    /// # Errors
    /// Fails if a query selects no call, or if the two queries select different numbers of calls.
    pub(super) fn calls(&self, trees: PerSide<&CallTree>) -> Result<Vec<(CallId, CallId)>> {
        let one = outermost(trees.baseline, self.queries.baseline.find_some(trees.baseline)?);
        let two = outermost(trees.candidate, self.queries.candidate.find_some(trees.candidate)?);
        if one.len() == two.len() {
            return Ok(one.into_iter().zip(two).collect());
        }
        let message = format!(
            "selects {} calls in the baseline and {} in the candidate",
            one.len(),
            two.len()
        );
        Err(Error::usage(self.to_string(), message)
            .remedy("select the same number of calls on both sides, or compare equally many steps"))
    }
}

/// Drops each call that is below another call in the list.
fn outermost(tree: &CallTree, calls: Vec<CallId>) -> Vec<CallId> {
    let mut kept: Vec<CallId> = Vec::new();
    for call in calls {
        if kept.last().is_none_or(|&last| !tree.is_below(call, last)) {
            kept.push(call);
        }
    }
    kept
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.queries.baseline.text(), self.queries.candidate.text())
    }
}

impl FromStr for Pin {
    type Err = Error;

    /// Parses `QUERY = QUERY`. An equals sign inside quotes is part of a query.
    fn from_str(text: &str) -> Result<Pin> {
        let mut is_quoted = false;
        let at = text.char_indices().find(|&(_, c)| {
            is_quoted ^= c == '"';
            c == '=' && !is_quoted
        });
        let Some((at, _)) = at else {
            return Err(Error::usage(text, "has no `=` between the two queries")
                .remedy(r#"for example: module("Block_1") = module("Block_2")"#));
        };
        Ok(Pin { queries: PerSide::new(text[..at].parse()?, text[at + 1..].parse()?) })
    }
}

/// The pairs of calls that the pins match. Fails if two pins match one call with two different calls.
pub(super) fn resolve(pins: &[Pin], trees: PerSide<&CallTree>) -> Result<Vec<(CallId, CallId)>> {
    let mut all: Vec<(CallId, CallId)> = Vec::new();
    for pin in pins {
        for pair in pin.calls(trees)? {
            if let Some(other) = all.iter().find(|other| other.0 == pair.0 || other.1 == pair.1) {
                if *other == pair {
                    continue;
                }
                let message = "selects a call that an earlier --match matches with a different \
                               call";
                return Err(Error::usage(pin.to_string(), message)
                    .remedy("remove one of these --match options"));
            }
            all.push(pair);
        }
    }
    Ok(all)
}
