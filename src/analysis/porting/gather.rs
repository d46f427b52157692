//! Collects the measured events of both sides by op, shapes, types and module class.

use crate::analysis::account::{Ledger, Row, RowKind};
use crate::analysis::categories::CategoryTable;
use crate::analysis::efficiency::{Efficiency, TraceEfficiency};
use crate::analysis::kernel_facts::{Generation, KernelFacts, Role};
use crate::analysis::precision::Precision;
use crate::analysis::pytorch::PYTORCH;
use crate::analysis::steps::StepPairs;
use crate::diff::TraceDiff;
use crate::side::{PerSide, Side};
use crate::trace::{Arguments, Nanos};
use crate::tree::{CallId, CallKind, ModuleName};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// The op, the shapes and types of its inputs on both sides, and the class of its module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) name: String,
    /// `Input Dims` and `Input type` of the baseline and of the candidate.
    pub(super) shapes: [[String; 2]; 2],
    pub(super) module: String,
    /// Whether the times belong to a change of the program.
    pub(super) is_changed: bool,
}

/// The measured events of a group on one side.
#[derive(Debug, Clone, Default)]
pub(super) struct Events<'a> {
    pub(super) calls: FxHashSet<CallId>,
    pub(super) time: Nanos,
    pub(super) efficiency: Efficiency,
    /// Number and time of the events by name. Their facts are read once for each group and name.
    pub(super) kernels: BTreeMap<&'a str, (u64, Nanos)>,
    /// The call with the most time, and this time.
    pub(super) largest: Option<(Nanos, CallId)>,
}

#[derive(Debug, Clone)]
pub(super) struct Group<'a> {
    pub(super) category: &'a str,
    pub(super) sides: PerSide<Events<'a>>,
    /// Positions of the attribution rows.
    pub(super) rows: Vec<usize>,
}

/// The groups, sorted by key.
pub(super) fn groups<'a>(
    diff: &'a TraceDiff,
    ledger: &'a Ledger,
    compared: &StepPairs,
    efficiency: &PerSide<TraceEfficiency>,
    categories: &'a CategoryTable,
    is_changed: &FxHashSet<usize>,
) -> Vec<(Key, Group<'a>)> {
    let mut groups: BTreeMap<Key, Group<'a>> = BTreeMap::new();
    for (at, row) in ledger.rows().iter().enumerate() {
        let events = PerSide::from_fn(|side| {
            let all = row.events[side].iter().copied();
            all.filter(|&event| compared.is_compared(diff, side, event)).collect::<Vec<_>>()
        });
        // The longest event determines the category, because an op may first set memory or copy its inputs.
        let all = Side::BOTH.into_iter().flat_map(|side| {
            events[side].iter().map(move |&event| (ledger.time_of(diff, side, event), side, event))
        });
        let Some((_, of, longest)) =
            all.max_by_key(|&(time, side, event)| (time, std::cmp::Reverse((side, event))))
        else {
            continue;
        };
        let ops = PerSide::from_fn(|side| row.calls[side].map(|call| dispatcher(diff, side, call)));
        let key = key(diff, row, &ops, is_changed.contains(&at));
        let empty = || Group {
            category: categories.name(diff, of, longest),
            sides: PerSide::default(),
            rows: Vec::new(),
        };
        let group = groups.entry(key).or_insert_with(empty);
        group.rows.push(at);
        for side in Side::BOTH {
            let here = &mut group.sides[side];
            let own = efficiency[side].of_events(&events[side]);
            here.efficiency.absorb(&own);
            here.time += own.time;
            if let Some(op) = ops[side].filter(|_| !events[side].is_empty()) {
                here.calls.insert(op);
                let larger = here.largest.is_none_or(|(time, _)| own.time > time);
                here.largest = if larger { Some((own.time, op)) } else { here.largest };
            }
            for &event in &events[side] {
                let kernel = here.kernels.entry(diff.tree(side).name(event)).or_default();
                *kernel = (kernel.0 + 1, kernel.1 + ledger.time_of(diff, side, event));
            }
        }
    }
    groups.into_iter().collect()
}

/// The op in `pytorch.toml` that chose the implementation to which a call belongs; if there is none, the call itself.
fn dispatcher(diff: &TraceDiff, side: Side, call: CallId) -> CallId {
    let tree = diff.tree(side);
    let ops = std::iter::once(call).chain(tree.ancestors(call));
    let mut ops = ops.take_while(|&op| op == call || tree.kind(op) == CallKind::Op);
    let is_dispatcher = |&op: &CallId| PYTORCH.dispatchers.iter().any(|name| name == tree.name(op));
    ops.find(is_dispatcher).unwrap_or(call)
}

fn key(diff: &TraceDiff, row: &Row, ops: &PerSide<Option<CallId>>, is_changed: bool) -> Key {
    let names = PerSide::from_fn(|side| ops[side].map(|op| diff.tree(side).name(op)));
    let name = match (names.baseline, names.candidate) {
        (Some(a), Some(b)) if a == b && *ops != row.calls => a.to_owned(),
        (Some(name), None) | (None, Some(name)) if *ops != row.calls => name.to_owned(),
        (_, _) => row.name(diff),
    };
    let has_arguments =
        !matches!(row.kind, RowKind::Launch | RowKind::Unlinked | RowKind::Replaced);
    let shapes = Side::BOTH.map(|side| {
        let tree = diff.tree(side);
        let arguments = ops[side].filter(|_| has_arguments).and_then(|op| tree.arguments(op));
        let Arguments { dims, types, .. } = arguments.copied().unwrap_or_default();
        [dims, types].map(|id| tree.trace().text(id).to_owned())
    });
    let module = Side::BOTH.into_iter().find_map(|side| {
        let tree = diff.tree(side);
        Some(ModuleName::class_or_name(tree.name(tree.module(ops[side]?)?)).to_owned())
    });
    Key { name, shapes, module: module.unwrap_or_default(), is_changed }
}

/// What the kernels of a group on one side are.
#[derive(Debug, Clone, Default, PartialEq)]
#[doc(hidden)]
pub struct Kernels {
    /// The libraries that contain them, the one with the most time first.
    pub libraries: String,
    /// The GPU generation that the longest kernel was written for.
    pub generation: Option<Generation>,
    /// The alignment that the longest kernel requires, in elements.
    pub alignment: Option<u32>,
    /// The precision in which the longest kernel multiplies.
    pub precision: Option<&'static str>,
    /// The variant of the longest kernel, such as `in registers`.
    pub variant: Option<&'static str>,
    /// The tile of the longest kernel; may be empty.
    pub tile: String,
    /// Number and time of the kernels in each role.
    pub roles: BTreeMap<Role, (u64, Nanos)>,
    /// The name of the longest kernel, shortened.
    pub main: String,
}

impl Events<'_> {
    /// Number of events, and of these, kernels: all events except copies and memsets.
    pub(super) fn counts(&self) -> (u64, u64) {
        let is_kernel = |name: &str| !name.starts_with("Memset") && !name.starts_with("Memcpy");
        let all = self.kernels.iter();
        all.fold((0, 0), |(events, kernels), (name, (count, _))| {
            (events + count, kernels + if is_kernel(name) { *count } else { 0 })
        })
    }

    /// Reads the names of the kernels, given the type of the op's inputs.
    pub(super) fn facts(&self, inputs: Option<Precision>) -> Kernels {
        /// A library is named if it takes at least this share of the time.
        const NAMED: f64 = 0.15;
        let mut found = Kernels::default();
        let mut libraries: BTreeMap<&str, Nanos> = BTreeMap::new();
        let mut main: Option<(Nanos, &str, KernelFacts<'_>)> = None;
        let read = |(&name, &kernel)| (name, kernel, KernelFacts::of(name, inputs));
        let mut all: Vec<(&str, (u64, Nanos), KernelFacts<'_>)> =
            self.kernels.iter().map(read).collect();
        // What prepares the work of another op is the work itself if there is no other: an addition, a copy.
        if all.iter().all(|(.., facts)| facts.role != Role::Work) {
            all.iter_mut().for_each(|(.., facts)| facts.role = Role::Work);
        }
        for (name, (count, time), facts) in all {
            let role = found.roles.entry(facts.role).or_default();
            *role = (role.0 + count, role.1 + time);
            if let Some(library) = facts.library {
                *libraries.entry(library).or_default() += time;
            }
            if facts.role == Role::Work && main.is_none_or(|(most, ..)| time > most) {
                main = Some((time, name, facts));
            }
        }
        let mut named: Vec<(&str, Nanos)> = libraries.into_iter().collect();
        named.sort_by_key(|&(name, time)| (std::cmp::Reverse(time), name));
        let least = NAMED * self.time.0 as f64;
        let named = named.iter().filter(|(_, time)| time.0 as f64 >= least).take(2);
        found.libraries = named.map(|(name, _)| *name).collect::<Vec<_>>().join(" + ");
        if let Some((_, name, facts)) = main {
            found.generation = facts.generation;
            found.alignment = facts.alignment;
            found.precision = facts.precision;
            found.variant = facts.variant;
            found.tile = facts.tile.unwrap_or_default().to_owned();
            found.main = crate::analysis::kernel_facts::short_name(name);
        }
        found
    }
}
