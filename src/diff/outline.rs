//! A call tree → columns of integers that the alignment compares instead of text.

use super::keys::{Key, Keys};
use crate::trace::{Arguments, Category, EventId, TextId, Trace};
use crate::tree::{CallId, CallKind, CallTree, Counts};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Argument records of both traces with dense ids; 0 stands for no arguments.
#[derive(Debug, Default)]
pub(super) struct ArgumentIds {
    ids: FxHashMap<u64, u32>,
}

impl ArgumentIds {
    /// Ids of all argument records of a trace. Strides are left out: `channels_last` keeps the op.
    fn of_trace(&mut self, trace: &Trace) -> Vec<u32> {
        trace.all_arguments().iter().map(|arguments| self.id(trace, arguments)).collect()
    }

    /// Hashes of the strides of all argument records of a trace; they break ties.
    fn strides_of(trace: &Trace) -> Vec<u64> {
        let hash = |arguments: &Arguments| {
            let mut hasher = FxHasher::default();
            trace.text(arguments.strides).hash(&mut hasher);
            hasher.finish()
        };
        trace.all_arguments().iter().map(hash).collect()
    }

    fn id(&mut self, trace: &Trace, arguments: &Arguments) -> u32 {
        let mut hasher = FxHasher::default();
        for text in [arguments.dims, arguments.types, arguments.concrete] {
            trace.text(text).hash(&mut hasher);
        }
        let next = self.ids.len() as u32 + 1;
        *self.ids.entry(hasher.finish()).or_insert(next)
    }
}

/// What two subtrees can have in common: a key, an argument record, a kind of GPU event. Dense over
/// both trees: keys are even, argument records odd.
pub(super) type Token = u32;

/// One tree in preorder, as the alignment sees it.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    tree: &'a CallTree,
    pub(super) keys: Vec<Key>,
    /// What stands for the key of a GPU event of each category, whatever its name.
    kinds_of_gpu: GpuKinds,
    /// Argument id of each call, 0 for none.
    pub(super) arguments: Vec<u32>,
    /// Hash of keys, arguments, strides, kernel names and grids of the subtree, in order; queries left
    /// out. That of a GPU event is its name alone: below one launch, the same kernel of another batch
    /// is the same kernel.
    pub(super) exact: Vec<u64>,
    /// Hash of places and arguments of the subtree, in order; queries left out.
    pub(super) shape: Vec<u64>,
    /// Evidence tokens before each call in preorder; one entry more than calls.
    weight_before: Counts,
    /// Calls that the other side cannot have, because it did not record any of their kind; empty
    /// where there are none. They are no one's child here, and what they hold stands in their place.
    hidden: Vec<bool>,
    /// Calls before each one that are not hidden, one entry more than calls; empty where all are.
    seen_before: Counts,
}

impl<'a> Outline<'a> {
    /// What is known of each call; subtrees are still to be [summed up](Outline::summed_up), which needs nothing
    /// of the other side.
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

    /// The same tree with these calls hidden.
    #[must_use]
    pub(super) fn without(mut self, hidden: Vec<bool>) -> Outline<'a> {
        self.seen_before = Counts::of(hidden.iter().map(|&hidden| u8::from(!hidden)));
        self.hidden = hidden;
        self.sum_up();
        self
    }

    /// Finds out what is known of each subtree.
    #[must_use]
    pub(super) fn summed_up(mut self) -> Outline<'a> {
        self.sum_up();
        self
    }

    fn sum_up(&mut self) {
        self.hash_calls();
        self.hash_subtrees();
        self.weigh();
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn kind(&self, call: u32) -> CallKind {
        self.tree.kind(CallId(call))
    }

    /// Whether a GPU event is at or below the call.
    pub(super) fn is_gpu_path(&self, call: u32) -> bool {
        self.tree.is_gpu_path(CallId(call))
    }

    /// The key without the name of a GPU event: kernel, memcpy or memset.
    pub(super) fn place(&self, call: u32) -> Key {
        match self.tree.event(CallId(call)).filter(|_| self.is_gpu(call)) {
            Some(event) => self.kinds_of_gpu.of(self.tree.trace().category(event)),
            None => self.keys[call as usize],
        }
    }

    /// A runtime call without GPU work below: no structure, two runs differ in them at will.
    pub(super) fn is_query(&self, call: u32) -> bool {
        self.kind(call) == CallKind::Runtime && !self.is_gpu_path(call)
    }

    /// A runtime call with GPU work below.
    pub(super) fn is_launch(&self, call: u32) -> bool {
        self.kind(call) == CallKind::Runtime && self.is_gpu_path(call)
    }

    /// An op or a Python frame.
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

    /// How many calls stand before a call, hidden ones left out.
    pub(super) fn position(&self, call: u32) -> u32 {
        if self.hidden.is_empty() { call } else { self.seen_before.before(call as usize) }
    }

    /// Number of calls in the subtree, hidden ones left out.
    pub(super) fn size(&self, call: u32) -> u32 {
        self.position(self.end(call)) - self.position(call)
    }

    /// The calls of the subtree in preorder, hidden ones left out.
    pub(super) fn subtree(&self, call: u32) -> impl Iterator<Item = u32> {
        (call..self.end(call)).filter(|&below| !self.is_hidden(below))
    }

    pub(super) fn has_children(&self, call: u32) -> bool {
        self.size(call) > 1
    }

    pub(super) fn children(&self, call: u32) -> Vec<u32> {
        self.each_child(call).collect()
    }

    pub(super) fn each_child(&self, call: u32) -> impl Iterator<Item = u32> {
        self.siblings(call + 1, self.end(call))
    }

    pub(super) fn roots(&self) -> Vec<u32> {
        self.siblings(0, self.len() as u32).collect()
    }

    fn siblings(&self, first: u32, end: u32) -> impl Iterator<Item = u32> {
        // Going on with the next call in preorder steps into a hidden call, so that its children take
        // its place among the siblings.
        let seen = move |from: u32| (from..end).find(|&call| !self.is_hidden(call));
        std::iter::successors(seen(first), move |&call| seen(self.end(call)))
    }

    /// Number of evidence tokens in the subtree.
    pub(super) fn weight(&self, call: u32) -> u32 {
        self.weight_before.within(call as usize..self.end(call) as usize)
    }

    /// Number of evidence tokens of the call itself.
    pub(super) fn own_weight(&self, call: u32) -> u32 {
        self.weight_before.within(call as usize..call as usize + 1)
    }

    /// Evidence tokens of the call itself: its key and what else is known of it.
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

    /// Whether two calls and all that they hold are equal to the letter, call by call: queries and what is noise in names included,
    /// but for the noise in the names of the two themselves where they are ops or frames. Times may differ.
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

    /// The name of a call to the letter, interned; `None` of a root.
    fn name(&self, call: u32) -> Option<TextId> {
        self.tree.event(CallId(call)).map(|event| self.tree.trace().name_id(event))
    }

    fn weigh(&mut self) {
        let own = |call| self.tokens(call).iter().flatten().count() as u8;
        self.weight_before = Counts::of((0..self.len() as u32).map(own));
    }

    /// Hashes what is known of each call itself.
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

    /// Adds to the hash of each call those of its children. They stand behind it in preorder, so one pass from the
    /// end sees them first.
    fn hash_subtrees(&mut self) {
        for call in (0..self.len() as u32).rev() {
            // The children of a hidden call count for the call above it, so not for itself as well.
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

/// A hash of how much a GPU event works on: the grid of a kernel, the bytes of a copy. Where shapes
/// were not recorded, it alone tells calls of one name apart.
fn size_of(trace: &Trace, event: EventId) -> u64 {
    let mut hasher = FxHasher::default();
    if let Some(grid) = trace.grids().get(event) {
        trace.text(grid.grid).hash(&mut hasher);
        trace.text(grid.block).hash(&mut hasher);
    }
    trace.gpu_bytes().get(event).hash(&mut hasher);
    hasher.finish()
}

/// Folds `value` into `hash`; the order of the values matters.
fn mix(hash: u64, value: u64) -> u64 {
    let folded = (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    folded ^ (folded >> 29)
}

/// What stands for the names of GPU events.
#[derive(Debug)]
struct GpuKinds {
    kernel: Key,
    memcpy: Key,
    memset: Key,
}

impl GpuKinds {
    fn new(keys: &mut Keys<'_>) -> GpuKinds {
        let mut key = |category: Category| keys.of_kind(CallKind::Unlinked, category.label());
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
