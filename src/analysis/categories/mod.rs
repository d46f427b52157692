//! Assigns a category to each measured event: gemm, attention, convolution, …
//!
//! Kernel names alone do not determine the category: `Kernel2<cutlass_80_tensorop_…>` may be a convolution,
//! and a copy may be part of a matrix product. The kinds of evidence are tried in this order (see
//! `docs/reference/kernels.md`):
//!
//! 1. the kind of the GPU event: copies, memsets, communication
//! 2. the list of ops in the name of a compiler-generated pointwise or reduction kernel
//! 3. the nearest specific op above the launch; if there is none, the nearest generic op; if there is none, the nearest
//!    weak op
//! 4. the nearest autograd node, or the innermost `nn.Module`
//! 5. the category of the ops above other launches of the same kernel, on either side
//! 6. the words in the kernel name
//!
//! In an optimizer step, pointwise work, reductions and copies made by ops are assigned to the category `optimizer`
//! instead of their own category.
//!
//! The rules are in `categories.toml`; a user's rule file can extend them.

mod evidence;
mod names;
mod rules;
mod same_kernels;

pub use evidence::CategoryTable;
pub(super) use evidence::OPTIMIZER_FRAME;
pub use evidence::TraceCategories;

use crate::error::{Error, ErrorKind, Result};
use rules::{Rules, Strength};
use std::path::Path;
use std::sync::{Arc, LazyLock};

const BUILTIN: &str = include_str!("categories.toml");

/// Id of a category in a rule set. Ids are consecutive and start at 0. Built-in categories come first, in the order of
/// the file, followed by categories that only the user's file defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CategoryId(u16);

impl CategoryId {
    /// The category of events for which no rule matches.
    pub const UNCLASSIFIED: CategoryId = CategoryId(u16::MAX);
}

/// The evidence that determined a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum CategorySource {
    /// The category comes from the kind of the GPU event, or from the name that the GPU runtime or a
    /// communication library gave the event.
    Event,
    /// The category comes from an op above the launch.
    Op,
    /// The category comes from an autograd node above the launch.
    Autograd,
    /// The category comes from the innermost `nn.Module` above the launch.
    Module,
    /// The category comes from the words in the kernel name.
    KernelName,
    /// The category comes from other launches of the same kernel: the ops above these launches all
    /// have this category.
    SameKernel,
    /// The category comes from the optimizer step that contains the call.
    Optimizer,
    /// No evidence matched.
    Nothing,
}

impl CategorySource {
    /// The name of the evidence in tables: `event`, `op`, `autograd`, `module`, `kernel_name`, `same_kernel`,
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

/// The category of an event, and the evidence that determined it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub struct EventCategory {
    /// The category.
    pub id: CategoryId,
    /// The evidence that determined the category.
    pub source: CategorySource,
}

/// The rules that assign a category to each event.
#[derive(Debug, Clone)]
pub struct Categories {
    /// Built-in and user rules; `None` if only the built-in rules apply.
    rules: Option<Arc<Rules>>,
}

/// The built-in rules, parsed on first use and shared by all comparisons.
static BUILTIN_RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::parse(BUILTIN).expect("the built-in rules are valid"));

impl Default for Categories {
    fn default() -> Self {
        Categories::builtin()
    }
}

impl Categories {
    /// Only the built-in rules.
    #[doc(hidden)]
    pub fn builtin() -> Categories {
        Categories { rules: None }
    }

    /// The built-in rules and the rules in a TOML file. The rules in the file take precedence.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not valid TOML, or contains an invalid rule.
    #[doc(hidden)]
    pub fn extended(path: impl AsRef<Path>) -> Result<Categories> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::io(path, "read the category rules", error))?;
        Categories::parse(&text, path)
    }

    /// The built-in rules and the rules in a TOML string. The rules in the string take precedence. Error messages use
    /// `path` as the file name.
    ///
    /// # Errors
    /// Returns an error if the string is not valid TOML or contains an invalid rule.
    #[doc(hidden)]
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

    /// Name of a category; `unclassified` for [`CategoryId::UNCLASSIFIED`].
    pub fn name(&self, id: CategoryId) -> &str {
        self.rules().categories.get(usize::from(id.0)).map_or("unclassified", |rule| &rule.name)
    }

    /// The names of all categories in the rule set, in the order of their ids.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules().categories.iter().map(|rule| rule.name.as_str())
    }

    /// Whether a category is specific. A specific category applies to all work below its ops.
    pub(super) fn is_specific(&self, id: CategoryId) -> bool {
        let rule = self.rules().categories.get(usize::from(id.0));
        rule.is_some_and(|rule| rule.strength == Strength::Specific)
    }

    /// Whether ops with this name do work of their own (true), or auxiliary work for other ops (false). Returns `None`
    /// for views, allocations and unknown names.
    pub(super) fn work_of(&self, op: &str) -> Option<bool> {
        if names::is_autograd_node(op) {
            return None;
        }
        let of_kernel = || names::find(self.rules(), names::Role::Generated, op);
        let category = names::find(self.rules(), names::Role::Op, op).or_else(of_kernel)?;
        let strength = self.rules().strength(category);
        (strength > Strength::Host).then_some(strength == Strength::Specific)
    }

    /// Names of the categories that this category can replace. One fused op of this category can do the work of several
    /// ops of the replaced categories.
    pub(super) fn replaced_by(&self, id: CategoryId) -> Vec<&str> {
        self.rules()
            .categories
            .get(usize::from(id.0))
            .map_or_else(Vec::new, |rule| rule.replaces.iter().map(String::as_str).collect())
    }
}
