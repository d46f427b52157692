//! One place of a digest: what is called there, and how often in a step.

use crate::program::Word;
use crate::tree::ModuleName;

/// What stands at a place of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// All of a step.
    Step,
    /// An `nn.Module`; its name is the instance.
    Module,
    /// A cpu_op.
    Op,
    /// A call of the GPU runtime that waits for the GPU.
    Wait,
    /// A launch of a captured graph.
    GraphLaunch,
    /// A kernel.
    Kernel,
    /// A copy that a GPU event shows.
    Copy,
    /// A memset.
    Memset,
}

impl NodeKind {
    /// All kinds, the root left out.
    pub const ALL: [NodeKind; 8] = [
        NodeKind::Step,
        NodeKind::Module,
        NodeKind::Op,
        NodeKind::Wait,
        NodeKind::GraphLaunch,
        NodeKind::Kernel,
        NodeKind::Copy,
        NodeKind::Memset,
    ];

    /// As baseline files write it.
    pub fn label(self) -> &'static str {
        match self {
            NodeKind::Step => "step",
            NodeKind::Module => "module",
            NodeKind::Op => "op",
            NodeKind::Wait => "wait",
            NodeKind::GraphLaunch => "graph",
            NodeKind::Kernel => "kernel",
            NodeKind::Copy => "copy",
            NodeKind::Memset => "memset",
        }
    }

    /// The word that queries have for it; `None` for the step.
    pub fn word(self) -> Option<Word> {
        match self {
            NodeKind::Step => None,
            NodeKind::Module => Some(Word::Module),
            NodeKind::Op => Some(Word::Op),
            NodeKind::Wait | NodeKind::GraphLaunch => Some(Word::Call),
            NodeKind::Kernel | NodeKind::Copy | NodeKind::Memset => Some(Word::Kernel),
        }
    }

    /// Whether it ran on the GPU.
    pub fn is_gpu(self) -> bool {
        match self {
            NodeKind::Kernel | NodeKind::Copy | NodeKind::Memset => true,
            NodeKind::Step
            | NodeKind::Module
            | NodeKind::Op
            | NodeKind::Wait
            | NodeKind::GraphLaunch => false,
        }
    }
}

/// A count over the steps of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Range {
    /// In the step with the fewest.
    pub least: u64,
    /// The middle one.
    pub usual: u64,
    /// In the step with the most.
    pub most: u64,
}

impl Range {
    /// The range of the counts of all steps.
    pub fn of(mut counts: Vec<u64>) -> Range {
        counts.sort_unstable();
        match (counts.first(), counts.last()) {
            (Some(&least), Some(&most)) => {
                Range { least, usual: counts[(counts.len() - 1) / 2], most }
            }
            (_, _) => Range::default(),
        }
    }

    /// The same count in every step.
    pub fn always(count: u64) -> Range {
        Range { least: count, usual: count, most: count }
    }

    /// Whether the steps differ.
    pub fn is_variable(self) -> bool {
        self.least != self.most
    }

    /// Whether every step has more than every step of `other`, by more than either varies: of many places
    /// that vary a few lie apart by chance.
    pub fn is_above(self, other: Range) -> bool {
        let varies = (self.most - self.least).max(other.most - other.least);
        self.least > other.most.saturating_add(varies)
    }

    /// Two counts of the same steps added up; the ends are bounds where both vary.
    #[must_use]
    pub fn plus(self, other: Range) -> Range {
        Range {
            least: self.least + other.least,
            usual: self.usual + other.usual,
            most: self.most + other.most,
        }
    }
}

impl std::fmt::Display for Range {
    /// `3`, or `3 (2 to 5)` where it varies.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.usual)?;
        match self.is_variable() {
            true => write!(f, " ({} to {})", self.least, self.most),
            false => Ok(()),
        }
    }
}

/// Calls with arguments of the same shapes and types.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variant {
    /// `Input Dims`.
    pub dims: String,
    /// `Input type`.
    pub types: String,
    /// How many in a step.
    pub calls: Range,
}

/// Equal calls at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Its name without what varies between runs; of a module its instance.
    pub name: String,
    /// Calls in a step.
    pub calls: Range,
    /// Launches in a step that calls of this place made themselves.
    pub launches: Range,
    /// Bytes in a step: of a copy what it copied, of a collective what it sent.
    pub bytes: Range,
    /// Whether it communicates with other ranks.
    pub is_collective: bool,
    /// What the program does there.
    pub phase: String,
    /// What kind of work it is, for what is accounted; else empty.
    pub category: String,
    /// Its arguments, where they were recorded.
    pub variants: Vec<Variant>,
    /// Who calls: the Python functions around it that are the user's, with calls in a step. Only for
    /// ops with no op around them.
    pub sites: Vec<(String, Range)>,
    /// For each run, its own accounted time in a step, in µs, the mean over the steps.
    pub micros: Vec<f64>,
}

impl Node {
    pub(in crate::gate) fn new(kind: NodeKind, name: String) -> Node {
        Node {
            kind,
            name,
            calls: Range::default(),
            launches: Range::default(),
            bytes: Range::default(),
            is_collective: false,
            phase: String::new(),
            category: String::new(),
            variants: Vec::new(),
            sites: Vec::new(),
            micros: Vec::new(),
        }
    }

    /// The class of a module; the name of anything else.
    pub fn class(&self) -> &str {
        match self.kind {
            NodeKind::Module => ModuleName::of_instance(&self.name).class,
            NodeKind::Step
            | NodeKind::Op
            | NodeKind::Wait
            | NodeKind::GraphLaunch
            | NodeKind::Kernel
            | NodeKind::Copy
            | NodeKind::Memset => &self.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_middle_count() {
        let range = Range::of(vec![3, 1, 9, 3]);
        assert_eq!((range.least, range.usual, range.most), (1, 3, 9));
        assert_eq!(range.to_string(), "3 (1 to 9)");
        assert!(!range.is_above(Range::always(1)) && !Range::always(10).is_above(range));
        assert!(Range::always(18).is_above(range) && Range::always(2).is_above(Range::always(1)));
        assert_eq!(Range::of(Vec::new()), Range::default());
    }
}
