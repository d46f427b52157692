//! Computes the predicted time and count of each kernel type from the model's ops and the op mapping.
//!
//! An op is a **hit** if the model's database had a measurement of the op's kernels, and a **miss** if the time was
//! computed. For a hit, the trace names the kernels. For a miss, the op mapping names the kernel type; if the mapping
//! has no entry for the op, the op's name is used as the kernel type.

use std::collections::BTreeMap;

use super::kernel_type::KernelType;
use super::mapping::{Lowering, OpMapping, short_name};
use super::status::Status;
use super::trace::{ModelOp, ModelTrace, Source};
use tracetree_trace::trace::{Nanos, Notes};

/// Maximum number of op names kept per kernel type; a few names are enough to find the kernel type in the model.
const OPS_NAMED: usize = 3;

/// The prediction of a model, by kernel type.
#[derive(Debug, Clone, Default)]
pub struct Prediction {
    /// Time and count of every kernel type that the model predicts.
    pub kernels: BTreeMap<KernelType, PredictedKernel>,
    /// Number of compared ops.
    pub ops: u64,
    /// Number of ops ignored because they cost nothing.
    pub zero_cost_ops: u64,
    /// Notes about irregularities in the ops and the mapping. Notes about the trace are stored in [`ModelTrace`].
    pub notes: Notes,
}

/// The prediction for one kernel type.
#[derive(Debug, Clone, Default)]
pub struct PredictedKernel {
    /// Number of kernels in ops whose time was looked up.
    pub hits: u64,
    /// Number of kernels in ops whose time was computed.
    pub misses: u64,
    /// The first three ops that run this kernel type, in trace order.
    pub ops: Vec<String>,
    whole: Nanos,
    /// The total time of the ops for which the trace lists no separate time for each kernel, keyed by the number of
    /// kernels in an op. Each total is divided by this number only at the end: dividing the time of each op would lose
    /// up to a nanosecond per op, and a trace has ten thousand ops.
    shared: BTreeMap<usize, Nanos>,
}

impl Prediction {
    /// Predicts the kernels of a trace, using the mapping from ops to kernels.
    pub fn new(trace: &ModelTrace, mapping: &OpMapping) -> Prediction {
        let mut prediction = Prediction::default();
        for op in &trace.ops {
            prediction.add(op, mapping);
        }
        prediction
    }

    fn add(&mut self, op: &ModelOp, mapping: &OpMapping) {
        let lowering = mapping.lowering(&op.name);
        if lowering == Some(&Lowering::ZeroCost) || op.source == Source::ZeroCost {
            self.zero_cost_ops += 1;
            return;
        }
        self.ops += 1;
        match &op.source {
            // Ops that cost nothing were already counted above.
            Source::ZeroCost => {}
            Source::Miss => self.add_miss(op, lowering),
            Source::Measured(kernels) => {
                for (kernel_type, duration) in kernels {
                    self.hit(kernel_type, op).whole += *duration;
                }
                self.add_all_reduce(op, kernels.iter().map(|(kernel_type, _)| kernel_type));
            }
            Source::Shared(kernels) => {
                for kernel_type in kernels {
                    let share = self.hit(kernel_type, op).shared.entry(kernels.len());
                    *share.or_default() += op.duration;
                }
                self.add_all_reduce(op, kernels.iter());
            }
        }
    }

    fn add_miss(&mut self, op: &ModelOp, lowering: Option<&Lowering>) {
        let kernel_type = match lowering {
            Some(Lowering::Kernel(kernel_type)) => kernel_type.clone(),
            Some(Lowering::ZeroCost | Lowering::Unnamed) | None => self.unmapped(op),
        };
        let kernel = self.kernel(&kernel_type, op);
        kernel.misses += 1;
        kernel.whole += op.duration;
    }

    /// The kernel type of an op, if neither the model nor the mapping names a kernel for the op.
    fn unmapped(&mut self, op: &ModelOp) -> KernelType {
        let hint = "pass --op-mapping, or add the op to the mapping";
        self.notes.add("OP_WITHOUT_KERNEL", 1, hint, || {
            format!(
                "ops without a kernel type are compared under their own names; first: {}",
                op.name
            )
        });
        KernelType::new(short_name(&op.name)).unwrap_or_else(KernelType::unnamed)
    }

    /// Counts the all-reduce kernel of a fused op if the trace does not list the kernel, as in older traces. The kernel
    /// adds no time.
    fn add_all_reduce<'a>(
        &mut self,
        op: &ModelOp,
        mut kernels: impl Iterator<Item = &'a KernelType>,
    ) {
        let reduces = op.name.to_lowercase().contains("all_reduce");
        if reduces && !kernels.any(KernelType::is_all_reduce) {
            self.hit(&KernelType::all_reduce(), op);
        }
    }

    fn hit(&mut self, kernel_type: &KernelType, op: &ModelOp) -> &mut PredictedKernel {
        let kernel = self.kernel(kernel_type, op);
        kernel.hits += 1;
        kernel
    }

    fn kernel(&mut self, kernel_type: &KernelType, op: &ModelOp) -> &mut PredictedKernel {
        let kernel = self.kernels.entry(kernel_type.clone()).or_default();
        let name = short_name(&op.name);
        if kernel.ops.len() < OPS_NAMED && kernel.ops.iter().all(|known| known != name) {
            kernel.ops.push(name.to_owned());
        }
        kernel
    }
}

impl PredictedKernel {
    /// Predicted time. The time that several kernels share is divided and rounded to a nanosecond only here, so
    /// rounding errors do not accumulate.
    pub fn total(&self) -> Nanos {
        let shares = self.shared.iter().map(|(kernels, time)| divided(*time, *kernels));
        self.whole + shares.sum()
    }

    /// Predicted number of kernels.
    pub fn count(&self) -> u64 {
        self.hits + self.misses
    }

    /// Whether the times of all, some or none of the kernels were looked up.
    pub fn status(&self) -> Status {
        match (self.hits, self.misses) {
            (_, 0) => Status::Hit,
            (0, _) => Status::Miss,
            (_, _) => Status::Partial,
        }
    }
}

/// Divides a nonnegative time by `parts` and rounds to the nearest nanosecond.
pub(crate) fn divided(time: Nanos, parts: usize) -> Nanos {
    let parts = i64::try_from(parts).unwrap_or(i64::MAX);
    let remainder = time.0 % parts;
    Nanos(time.0 / parts + i64::from(remainder >= parts - remainder))
}
