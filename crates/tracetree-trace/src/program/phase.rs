//! The phase of a program: which part of inference or training is running.

/// A phase of inference or of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Inference that processes the tokens of new prompts.
    Prefill,
    /// Inference that generates one token per request.
    Decode,
    /// Prefill and decode in one batch.
    Mixed,
    /// An inference step without requests.
    Idle,
    /// The forward pass of training.
    TrainForward,
    /// The backward pass of training.
    TrainBackward,
    /// The optimizer step of training.
    TrainOptimizer,
    /// The trace contains no evidence of a phase.
    Unknown,
}

impl Phase {
    /// All phases, in table order.
    pub const ALL: [Phase; 8] = [
        Phase::Prefill,
        Phase::Decode,
        Phase::Mixed,
        Phase::Idle,
        Phase::TrainForward,
        Phase::TrainBackward,
        Phase::TrainOptimizer,
        Phase::Unknown,
    ];

    /// The phase as tables print it: `prefill`, …, `train.forward`, …, `unknown`.
    pub fn label(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
            Phase::Mixed => "mixed",
            Phase::Idle => "idle",
            Phase::TrainForward => "train.forward",
            Phase::TrainBackward => "train.backward",
            Phase::TrainOptimizer => "train.optimizer",
            Phase::Unknown => "unknown",
        }
    }

    /// Finds the phase that has a given label.
    #[doc(hidden)]
    pub fn from_label(label: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.label() == label)
    }
}
