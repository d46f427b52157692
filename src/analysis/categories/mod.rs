//! The account → what kind of work each of its events is: gemm, attention, convolution, …
//!
//! Kernel names alone do not tell: `Kernel2<cutlass_80_tensorop_…>` may be a convolution, and a copy
//! may be part of a matrix product. So the evidence is taken in this order, see `docs/categories.md`:
//!
//! 1. the kind of the GPU event: copies, memsets, communication
//! 2. the list of ops in the name of a pointwise or reducing kernel that a compiler made
//! 3. the nearest specific op above its launch, else the nearest op that serves others, else the
//!    nearest op that anything may be built of
//! 4. the nearest autograd node, or the innermost `nn.Module`
//! 5. what the same kernel is where calls above it tell, on either side
//! 6. the words of the kernel's name
//!
//! What is left as pointwise work, copies or the like in an optimizer's step is the optimizer's.
//!
//! The words stand in `categories.toml`, which a user's file can extend.

mod evidence;
pub(super) mod kernel_name;
mod names;
mod rules;
mod same_kernels;

pub(super) use evidence::CategoryTable;
pub(crate) use evidence::TraceCategories;

use crate::error::{Error, ErrorKind, Result};
use crate::side::Side;
use crate::tree::CallId;
use rules::{Rules, Strength};
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// The rules that the library brings along.
const BUILTIN: &str = include_str!("categories.toml");

/// A category of one rule set: dense, from 0, in the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CategoryId(u16);

impl CategoryId {
    /// No evidence matched any rule.
    pub const UNCLASSIFIED: CategoryId = CategoryId(u16::MAX);
}

/// What a category was decided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CategorySource {
    /// Kind of the GPU event, or the name that the GPU runtime or a communication library gave it.
    Event,
    /// An op above the launch.
    Op,
    /// An autograd node above the launch.
    Autograd,
    /// The innermost `nn.Module` above the launch.
    Module,
    /// The words of the kernel's name.
    KernelName,
    /// Calls above other launches of a kernel of this name, all of one kind.
    SameKernel,
    /// The call was made in an optimizer's step.
    Optimizer,
    /// Nothing matched.
    Nothing,
}

impl CategorySource {
    /// As tables write it: `event`, `op`, `autograd`, `module`, `kernel_name`, `same_kernel`,
    /// `optimizer`, `none`.
    pub fn label(self) -> &'static str {
        match self {
            CategorySource::Event => "event",
            CategorySource::Op => "op",
            CategorySource::Autograd => "autograd",
            CategorySource::Module => "module",
            CategorySource::KernelName => "kernel_name",
            CategorySource::SameKernel => "same_kernel",
            CategorySource::Optimizer => "optimizer",
            CategorySource::Nothing => "none",
        }
    }
}

/// The category of one event, and what it was decided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventCategory {
    /// The category.
    pub id: CategoryId,
    /// What it was decided by.
    pub source: CategorySource,
}

/// The rules that tell what kind of work an event is.
#[derive(Debug, Clone)]
pub struct Categories {
    /// The built-in ones alone where `None`.
    rules: Option<Arc<Rules>>,
}

/// Read when they are first needed, and once for all comparisons.
static BUILTIN_RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::parse(BUILTIN).expect("the built-in rules are tested"));

impl Default for Categories {
    fn default() -> Self {
        Categories::builtin()
    }
}

impl Categories {
    /// The rules that the library brings along.
    pub fn builtin() -> Categories {
        Categories { rules: None }
    }

    /// The built-in rules with those of a TOML file before them.
    ///
    /// # Errors
    /// If the file cannot be read, is no TOML, or holds something that is no rule.
    pub fn extended(path: impl AsRef<Path>) -> Result<Categories> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::io(path, "read the category rules", error))?;
        Categories::parse(&text, path)
    }

    /// The built-in rules with those of a TOML text before them; `path` stands for it in messages.
    ///
    /// # Errors
    /// If it is no TOML, or holds something that is no rule.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Categories> {
        let user = Rules::parse(text).map_err(|message| {
            Error::new(ErrorKind::Malformed, path, message).remedy(
                "write [[category]] tables with name, strength, ops, modules, kernels, fused",
            )
        })?;
        Ok(Categories { rules: Some(Arc::new(BUILTIN_RULES.clone().extended(user))) })
    }

    fn rules(&self) -> &Rules {
        self.rules.as_deref().unwrap_or(&BUILTIN_RULES)
    }

    /// Reads the rules, while nobody waits for them.
    pub(super) fn look_ahead(&self) {
        self.rules();
    }

    /// Name of a category; `unclassified` where nothing matched.
    pub fn name(&self, id: CategoryId) -> &str {
        self.rules().categories.get(usize::from(id.0)).map_or("unclassified", |rule| &rule.name)
    }

    /// All categories, in the order of precedence.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules().categories.iter().map(|rule| rule.name.as_str())
    }

    /// Whether all work below an op of this category is part of it.
    pub(super) fn is_specific(&self, id: CategoryId) -> bool {
        let rule = self.rules().categories.get(usize::from(id.0));
        rule.is_some_and(|rule| rule.strength == Strength::Specific)
    }

    /// Whether an op of this name does work, and whether that is work of its own that serves no other
    /// op; `None` for views, allocations and names that say nothing.
    pub(super) fn work_of(&self, op: &str) -> Option<bool> {
        if names::is_autograd_node(op) {
            return None;
        }
        let of_kernel = || names::find(self.rules(), names::Role::Generated, op);
        let category = names::find(self.rules(), names::Role::Op, op).or_else(of_kernel)?;
        let strength = self.rules().strength(category);
        (strength > Strength::Host).then_some(strength == Strength::Specific)
    }

    /// Names of the categories whose work one op of this category may do.
    pub(super) fn replaced_by(&self, id: CategoryId) -> Vec<&str> {
        self.rules()
            .categories
            .get(usize::from(id.0))
            .map_or_else(Vec::new, |rule| rule.replaces.iter().map(String::as_str).collect())
    }
}

impl super::Analysis {
    /// What kind of work an accounted event is; unclassified for calls that are not accounted.
    pub fn category(&self, side: Side, call: CallId) -> EventCategory {
        self.categories.of(side, self.slot(side, call))
    }

    /// Name of the category of an accounted event.
    pub fn category_name(&self, side: Side, call: CallId) -> &str {
        self.options.categories.name(self.category(side, call).id)
    }
}
