//! Converts a call tree into columns of integers, which the alignment compares instead of strings.

use super::keys::{Key, Keys};
use super::precision;
use crate::side::PerSide;
use crate::trace::{Arguments, Category, EventId, TextId, Trace};
use crate::tree::{CallId, CallKind, CallTree, Counts};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Assigns consecutive ids, from 1, to the distinct argument records of both traces. The id 0 means that a call has no
/// arguments.
#[derive(Debug)]
pub(super) struct ArgumentIds {
    ids: FxHashMap<u64, u32>,
    /// Whether records that differ only in floating-point types have the same id.
    is_any_float: bool,
}

impl ArgumentIds {
    /// Prepares ids for the arguments of two traces. If the precision differs between the traces, floating-point types
    /// are ignored.
    pub(super) fn of(trees: PerSide<&CallTree>) -> ArgumentIds {
        let is_any_float = precision::differs(trees.map(|tree| &**tree.trace()));
        ArgumentIds { ids: FxHashMap::default(), is_any_float }
    }

    /// The id of each argument record in a trace. Strides are ignored, so converting an op's inputs to `channels_last`
    /// does not make it a different op.
    fn of_trace(&mut self, trace: &Trace) -> Vec<u32> {
        let id = |arguments: &Arguments| {
            let hash = precision::hash(trace, arguments, self.is_any_float);
            let next = self.ids.len() as u32 + 1;
            *self.ids.entry(hash).or_insert(next)
        };
        trace.all_arguments().iter().map(id).collect()
    }

    /// For each argument record in a trace, a hash of its strides. Strides are not evidence for a match; they only
    /// break ties.
    fn strides_of(trace: &Trace) -> Vec<u64> {
        let hash = |arguments: &Arguments| {
            let mut hasher = FxHasher::default();
            trace.text(arguments.strides).hash(&mut hasher);
            hasher.finish()
        };
        trace.all_arguments().iter().map(hash).collect()
    }
}

/// A token is something that two subtrees can have in common: a key, an argument record, or a kind of GPU event. Both
/// trees use the same numbers for the same tokens. Even numbers are keys and kinds of GPU events, odd numbers are
/// argument records.
pub(super) type Token = u32;

/// A call tree in preorder, with the columns of integers that the alignment compares.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    tree: &'a CallTree,
    pub(super) keys: Vec<Key>,
    /// For each category of GPU events, the key that represents all events of the category.
    kinds_of_gpu: GpuKinds,
    /// For each call, the id of its arguments; 0 if the call has no arguments.
    pub(super) arguments: Vec<u32>,
    /// For each call, a hash of its subtree: keys, arguments, strides, kernel names and grids, in call order. Queries
    /// are skipped. The grid of a kernel counts toward the hash of its launch, not toward the hash of the kernel
    /// itself, so a kernel stays the same kernel if only the batch size changes.
    pub(super) exact: Vec<u64>,
    /// For each call, a hash of the keys and arguments in its subtree, in call order. Queries are skipped, and GPU
    /// events contribute only their kind, not their name.
    pub(super) shape: Vec<u64>,
    /// Running count of evidence tokens: for each call, the number of tokens in all calls before it in preorder. One
    /// more entry at the end contains the total.
    weight_before: Counts,
    /// Whether each call is hidden from the alignment. A call is hidden if it cannot have a counterpart, for example
    /// because the opposite side recorded no calls of its kind. The outline skips hidden calls, and the children of a
    /// hidden call become children of its parent. Empty if no call is hidden.
    hidden: Vec<bool>,
    /// Running count of visible calls: for each call, the number of visible calls before it. One more entry at the end
    /// contains the total. Empty if no call is hidden.
    seen_before: Counts,
}

impl<'a> Outline<'a> {
    /// Computes the columns that describe single calls. [`Outline::summed_up`] then computes the columns that describe
    /// whole subtrees. Neither function needs the tree of the opposite side.
    pub(super) fn new(
        tree: &'a CallTree,
        keys: &mut Keys<'_>,
        arguments: &mut ArgumentIds,
    ) -> Outline<'a> {
        let ids = arguments.of_trace(tree.trace());
        let argument = |call| {
            let id = tree.event(call).and_then(|event| tree.trace().arguments_id(event));
            id.map_or(0, |id| ids[id.index()])
        };
        Outline {
            tree,
            keys: keys.of_tree(tree),
            kinds_of_gpu: GpuKinds::new(keys),
            arguments: tree.calls().map(argument).collect(),
            exact: Vec::new(),
            shape: Vec::new(),
            weight_before: Counts::default(),
            hidden: Vec::new(),
            seen_before: Counts::default(),
        }
    }

    /// Returns the same tree with the given calls hidden.
    #[must_use]
    pub(super) fn without(mut self, hidden: Vec<bool>) -> Outline<'a> {
        self.seen_before = Counts::of(hidden.iter().map(|&hidden| u8::from(!hidden)));
        self.hidden = hidden;
        self.summed_up()
    }

    /// Computes the columns that describe whole subtrees.
    #[must_use]
    pub(super) fn summed_up(mut self) -> Outline<'a> {
        self.hash_calls();
        self.hash_subtrees();
        self.weigh();
        self
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn kind(&self, call: u32) -> CallKind {
        self.tree.kind(CallId(call))
    }

    /// Whether the call is a GPU event or has a GPU event below it.
    pub(super) fn is_gpu_path(&self, call: u32) -> bool {
        self.tree.is_gpu_path(CallId(call))
    }

    /// The key of a call; for a GPU event, a key for its kind (kernel, memcpy or memset) instead of its name.
    #[inline]
    pub(super) fn place(&self, call: u32) -> Key {
        match self.tree.event(CallId(call)).filter(|_| self.is_gpu(call)) {
            Some(event) => self.kinds_of_gpu.of(self.tree.trace().category(event)),
            None => self.keys[call as usize],
        }
    }

    /// Whether the call is a query: a runtime call without GPU work below it. Queries have no tokens and are not part
    /// of the hashes of their callers, because their number varies from run to run.
    #[inline]
    pub(super) fn is_query(&self, call: u32) -> bool {
        self.kind(call) == CallKind::Runtime && !self.is_gpu_path(call)
    }

    /// Whether the call is a runtime call with GPU work below it.
    pub(super) fn is_launch(&self, call: u32) -> bool {
        self.kind(call) == CallKind::Runtime && self.is_gpu_path(call)
    }

    /// Whether the call is an op or a Python frame.
    pub(super) fn is_op_or_frame(&self, call: u32) -> bool {
        matches!(self.kind(call), CallKind::Op | CallKind::Frame)
    }

    pub(super) fn is_gpu(&self, call: u32) -> bool {
        self.kind(call) == CallKind::Gpu
    }

    pub(super) fn end(&self, call: u32) -> u32 {
        self.tree.end(CallId(call)).0
    }

    pub(super) fn is_hidden(&self, call: u32) -> bool {
        self.hidden.get(call as usize).copied().unwrap_or(false)
    }

    /// Number of visible calls before a call in preorder.
    pub(super) fn position(&self, call: u32) -> u32 {
        if self.hidden.is_empty() { call } else { self.seen_before.before(call as usize) }
    }

    /// Number of visible calls in the subtree.
    pub(super) fn size(&self, call: u32) -> u32 {
        self.position(self.end(call)) - self.position(call)
    }

    /// The visible calls of the subtree, in preorder.
    pub(super) fn subtree(&self, call: u32) -> impl Iterator<Item = u32> {
        (call..self.end(call)).filter(|&below| !self.is_hidden(below))
    }

    pub(super) fn has_children(&self, call: u32) -> bool {
        self.size(call) > 1
    }

    #[inline]
    pub(super) fn children(&self, call: u32) -> Vec<u32> {
        self.each_child(call).collect()
    }

    #[inline]
    pub(super) fn each_child(&self, call: u32) -> impl Iterator<Item = u32> {
        self.siblings(call + 1, self.end(call))
    }

    pub(super) fn roots(&self) -> Vec<u32> {
        self.siblings(0, self.len() as u32).collect()
    }

    /// Whether a call is a root: the root of a thread, or the root of the GPU events whose launch is not in the trace.
    pub(super) fn is_root(&self, call: u32) -> bool {
        matches!(self.kind(call), CallKind::Thread | CallKind::Unlinked)
    }

    fn siblings(&self, first: u32, end: u32) -> impl Iterator<Item = u32> {
        // If a call is hidden, the search continues with the next call in preorder, which is its first child. The
        // children of a hidden call therefore take its place among the siblings.
        let seen = move |from: u32| (from..end).find(|&call| !self.is_hidden(call));
        std::iter::successors(seen(first), move |&call| seen(self.end(call)))
    }

    /// Number of evidence tokens in the subtree.
    pub(super) fn weight(&self, call: u32) -> u32 {
        self.weight_before.within(call as usize..self.end(call) as usize)
    }

    /// Number of evidence tokens of the call itself, without the calls below it.
    pub(super) fn own_weight(&self, call: u32) -> u32 {
        self.weight_before.within(call as usize..call as usize + 1)
    }

    /// The evidence tokens of the call itself, without the calls below it. The first token is the call's key. The
    /// second token, if any, represents the call's arguments or, for a GPU event, its kind. Queries and hidden calls
    /// have no tokens.
    pub(super) fn tokens(&self, call: u32) -> [Option<Token>; 2] {
        let at = call as usize;
        if self.is_query(call) || self.is_hidden(call) {
            return [None, None];
        }
        let more = match (self.kind(call), self.arguments[at]) {
            (CallKind::Gpu, _) => Some(2 * self.place(call).0),
            (_, 0) => None,
            (_, arguments) => Some(2 * arguments + 1),
        };
        [Some(2 * self.keys[at].0), more]
    }

    /// Whether a token is an argument record.
    pub(super) fn is_of_arguments(token: Token) -> bool {
        token % 2 == 1
    }

    /// Whether two subtrees contain the same calls in the same order, including queries and the variable parts of
    /// names. Two things may differ: durations and, if the two roots are ops or frames, the variable parts of the names
    /// of the roots.
    pub(super) fn are_equal_throughout(&self, one: u32, two: u32) -> bool {
        let length = self.end(one) - one;
        length == self.end(two) - two
            && (0..length).all(|at| {
                let (i, j) = (one + at, two + at);
                let (x, y) = (i as usize, j as usize);
                self.exact[x] == self.exact[y]
                    && self.shape[x] == self.shape[y]
                    && self.keys[x] == self.keys[y]
                    && self.arguments[x] == self.arguments[y]
                    && self.end(i) - i == self.end(j) - j
                    && self.kind(i) == self.kind(j)
                    && self.own_weight(i) == self.own_weight(j)
                    && self.is_hidden(i) == self.is_hidden(j)
                    && self.is_gpu_path(i) == self.is_gpu_path(j)
                    && ((at == 0 && self.is_op_or_frame(i)) || self.name(i) == self.name(j))
            })
    }

    /// The interned, unmodified name of a call; `None` for a root.
    fn name(&self, call: u32) -> Option<TextId> {
        self.tree.event(CallId(call)).map(|event| self.tree.trace().name_id(event))
    }

    fn weigh(&mut self) {
        let own = |call| self.tokens(call).iter().flatten().count() as u8;
        self.weight_before = Counts::of((0..self.len() as u32).map(own));
    }

    /// Hashes each call without its subtree.
    fn hash_calls(&mut self) {
        let (tree, trace) = (self.tree, self.tree.trace());
        let strides = ArgumentIds::strides_of(trace);
        let of_call = |call: u32| {
            let at = call as usize;
            let (key, arguments) = (u64::from(self.keys[at].0), u64::from(self.arguments[at]));
            let record = tree.event(CallId(call)).and_then(|event| trace.arguments_id(event));
            let strides = record.map_or(0, |record| strides[record.index()]);
            let place = u64::from(self.place(call).0);
            (mix(mix(key, arguments), strides), mix(place, arguments))
        };
        (self.exact, self.shape) = (0..self.len() as u32).map(of_call).unzip();
    }

    /// Combines the hash of each call with the hashes of its children. Children come after their parents in preorder,
    /// so one reverse pass is enough.
    fn hash_subtrees(&mut self) {
        for call in (0..self.len() as u32).rev() {
            // The hashes of a hidden call's children are added to the hidden call's parent, so they
            // must not be added to the hidden call as well.
            let end = self.end(call);
            if end == call + 1 || self.is_hidden(call) {
                continue;
            }
            let (mut exact, mut shape) = (self.exact[call as usize], self.shape[call as usize]);
            for child in self.siblings(call + 1, end) {
                if self.is_query(child) {
                    continue;
                }
                exact = mix(exact, self.exact[child as usize]);
                shape = mix(shape, self.shape[child as usize]);
                let event = self.tree.event(CallId(child)).filter(|_| self.is_gpu(child));
                if let Some(event) = event {
                    exact = mix(exact, size_of(self.tree.trace(), event));
                }
            }
            (self.exact[call as usize], self.shape[call as usize]) = (exact, shape);
        }
    }
}

/// A hash of the amount of work in a GPU event: the grid of a kernel, or the number of bytes in a copy. If shapes were
/// not recorded, only the size of the work distinguishes calls with the same name.
fn size_of(trace: &Trace, event: EventId) -> u64 {
    let mut hasher = FxHasher::default();
    if let Some(grid) = trace.grids().get(event) {
        trace.text(grid.grid).hash(&mut hasher);
        trace.text(grid.block).hash(&mut hasher);
    }
    trace.gpu_bytes().get(event).hash(&mut hasher);
    hasher.finish()
}

/// Combines `value` with `hash`. The result depends on the order of the values.
fn mix(hash: u64, value: u64) -> u64 {
    let folded = (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    folded ^ (folded >> 29)
}

/// For each category of GPU events, the key that represents all events of the category, whatever their names are.
#[derive(Debug)]
struct GpuKinds {
    kernel: Key,
    memcpy: Key,
    memset: Key,
}

impl GpuKinds {
    fn new(keys: &mut Keys<'_>) -> GpuKinds {
        let mut key = |category: Category| keys.intern(CallKind::Unlinked, category.label());
        let [kernel, memcpy, memset] =
            [Category::Kernel, Category::Memcpy, Category::Memset].map(&mut key);
        GpuKinds { kernel, memcpy, memset }
    }

    fn of(&self, category: Category) -> Key {
        match category {
            Category::Memcpy => self.memcpy,
            Category::Memset => self.memset,
            Category::Kernel
            | Category::CpuOp
            | Category::PythonFunction
            | Category::Runtime
            | Category::UserAnnotation
            | Category::GpuUserAnnotation => self.kernel,
        }
    }
}
