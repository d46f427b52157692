//! Chooses the call that a script repeats: the requested call, or the nearest call around it that can be repeated.
//!
//! ```text
//! aten::conv2d
//! └── aten::convolution
//!     └── aten::_convolution          the nearest call that runs on every device: the default
//!         └── aten::cudnn_convolution the requested call, which needs cuDNN: with --inner
//! ```

use crate::arguments::{self, Argument, Refused};
use crate::neighbor::ListType;
use tracetree::tree::{CallId, CallKind, CallTree};

/// Whether a script repeats calls that exist only in one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// If the call works only in one backend (`aten::cudnn_convolution`, `aten::_flash_attention_forward`), the script
    /// repeats the nearest public call around it, if there is one.
    #[default]
    Public,
    /// The script repeats the call itself, if its arguments are recorded.
    Inner,
}

/// Ops that only one backend implements begin like this, after their namespace.
const PRIVATE: [&str; 14] = [
    "cudnn_",
    "_cudnn_",
    "miopen_",
    "_miopen_",
    "mkldnn_",
    "_mkldnn_",
    "mps_",
    "_mps_",
    "_flash_attention_",
    "_efficient_attention_",
    "_scaled_dot_product_",
    "_fused_sdp_",
    "_use_cudnn_",
    "_nnpack_",
];

/// Whether only one backend implements the op.
pub(crate) fn is_private(name: &str) -> bool {
    let op = name.split_once("::").map_or(name, |(_, op)| op);
    PRIVATE.iter().any(|start| op.starts_with(start))
}

/// A call that a script can repeat.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) call: CallId,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) list_type: ListType,
}

impl Chosen {
    /// The call itself with its arguments.
    pub(crate) fn exactly(
        tree: &CallTree,
        call: CallId,
        given: Option<&'static str>,
    ) -> Result<Chosen, Refused> {
        let list_type = given.map_or_else(|| ListType::near(tree, call), ListType::Given);
        let arguments = arguments::of_call(tree, call, &list_type)?;
        Ok(Chosen { call, arguments, list_type })
    }

    /// The call, or the nearest call around it that can be repeated.
    ///
    /// # Errors
    /// Returns why the innermost op cannot be repeated, if this holds for all ops around it, too.
    pub(crate) fn near(
        tree: &CallTree,
        call: CallId,
        reach: Reach,
        given: Option<&'static str>,
    ) -> Result<Chosen, Refused> {
        let mut private = None;
        let mut reason = None;
        let around = std::iter::once(call).chain(tree.ancestors(call));
        for call in around.filter(|&call| tree.kind(call) == CallKind::Op) {
            match Chosen::exactly(tree, call, given) {
                Ok(chosen) if reach == Reach::Inner || !is_private(tree.name(call)) => {
                    return Ok(chosen);
                }
                Ok(chosen) => private = private.or(Some(chosen)),
                Err(refused) => reason = reason.or(Some(refused)),
            }
        }
        private.ok_or_else(|| {
            reason.unwrap_or(Refused {
                reason: "no PyTorch op is around it".to_owned(),
                remedy: "choose another call",
            })
        })
    }
}

impl Chosen {
    /// What the script prints about an argument that is not fully recorded.
    pub(crate) fn assumption(&self) -> Option<String> {
        let has_list =
            self.arguments.iter().any(|argument| matches!(argument, Argument::Tensors(_)));
        has_list.then(|| self.list_type.assumption()).flatten()
    }
}
