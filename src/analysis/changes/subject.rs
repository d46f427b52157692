//! What a change is about, which distinguishes it from other changes of the same kind.

use super::place::Position;
use crate::side::Side;
use std::fmt;

/// What distinguishes a draft from other drafts of the same kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// There is at most one change of the kind, or the change is the one without a more special subject.
    Whole,
    /// Ops or Python code at a place.
    At(Position),
    /// Ops at a place that only convert the type or format of a tensor. If no other change explains the conversions,
    /// the change is merged into the op change at the same place.
    Casts(Position),
    /// Ops at a place that only one side compiles.
    Compiled(Position),
    /// Hooks of the backward pass at a place.
    Hooks(Position),
    /// Kernels at a place that are launched outside of ops.
    Launched(Position),
    /// Ops at a place that contain another op with the same name, as is common under `autocast`.
    Repeated(Position),
    /// Blocking Python code at a place, such as a sleep. It is never folded into a change of another kind.
    Blocking(Position),
    /// Calls of `torch.no_grad`, `torch.inference_mode` and similar functions at a place.
    GradientMode(Position),
    /// Calls of a learning rate schedule at a place.
    Schedule(Position),
    /// Modules of a class.
    Class(String),
    /// Kernels of a family of ops.
    Family(OpFamily),
    /// The math mode of a family of ops, on each side.
    Mode(OpFamily, &'static str, &'static str),
    /// An argument or a setting with this name.
    Argument(String),
    /// The element types of the two sides, in alphabetical order.
    Types([String; 2]),
    /// The sentence about the change.
    Sentence(String),
    /// The sentence about live memory that grows from step to step, and where and how fast it does, such as `on gpu 0 grows
    /// by 275.6 MB per step`.
    Leak { sentence: String, grows: String },
    /// Compiled code that the sides divide into different numbers of functions. The first of the changes of compiled code
    /// gets the consequences of all, so this one comes before those of a side.
    Divided,
    /// Compiled code of a side.
    Side(Side),
    /// `torch.autograd.set_detect_anomaly`.
    Anomaly,
    /// Calls of `torch.autocast`.
    Autocast,
    /// Copies from other host memory.
    Copies,
    /// Code that is compiled during the compared steps.
    Compiling,
    /// Recordings that contain different layers.
    Layers,
    /// Versions of libraries.
    Libraries,
    /// Frames that one recording nests differently.
    Nesting,
    /// Tensors of the optimizer.
    Optimizer,
    /// The order of calls.
    Order,
    /// Tensors with other dimensions and the same number of elements.
    Reshaped,
    /// Tensors that only one side passes.
    Tensors,
    /// Gradients that are set to zero.
    Zeroing,
}

/// A family of ops whose kernels a library selects together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OpFamily {
    /// Attention.
    Attention,
    /// Convolutions.
    Convolutions,
    /// Matrix products.
    MatrixProducts,
    /// The op with this name.
    Op(String),
}

impl fmt::Display for OpFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OpFamily::Attention => "Attention",
            OpFamily::Convolutions => "Convolutions",
            OpFamily::MatrixProducts => "Matrix products",
            OpFamily::Op(name) => name,
        })
    }
}

impl Subject {
    /// The class of the modules that the change is about; empty for other changes.
    pub(super) fn class(&self) -> &str {
        if let Subject::Class(class) = self { class } else { "" }
    }

    /// The sentence that says what changed; empty if the sentence is made from other data.
    pub(super) fn sentence(&self) -> &str {
        if let Subject::Sentence(sentence) | Subject::Leak { sentence, .. } = self {
            sentence
        } else {
            ""
        }
    }

    /// The family of ops whose kernels or math mode changed.
    pub(super) fn family(&self) -> Option<&OpFamily> {
        if let Subject::Family(family) | Subject::Mode(family, ..) = self {
            Some(family)
        } else {
            None
        }
    }

    /// Element types, regardless of which side has which.
    pub(super) fn types(one: &str, two: &str) -> Subject {
        let mut types = [one, two].map(str::to_owned);
        types.sort_unstable();
        Subject::Types(types)
    }
}
