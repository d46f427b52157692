//! What an op must do at least, against what its time allowed: operations, bytes, the roofline.
//!
//! ```text
//! name, shapes, types ──models──▶ demand: operations, bytes
//! events of the op    ──────────▶ time                        ─▶ TFLOP/s, TB/s
//! name of the device  ──peaks───▶ what it can do at most      ─▶ bound, time at the roofline, share
//! ```
//! See `docs/efficiency.md` for the formulas and what they leave out.

mod brief;
mod clause;
mod collectives;
mod dtype;
mod formulas;
mod inputs;
mod jobs;
mod lengths;
mod peaks;
mod roofline;
mod rules;
mod table;
mod trace;

pub use dtype::Precision;
pub use formulas::{Demand, Lengths, Unit};
pub use brief::{EfficiencyInfo, FurthestOp};
pub use clause::{WorkChange, clause, work_change};
pub use peaks::{DevicePeaks, Peaks};
pub use roofline::{Bound, Efficiency};
pub use rules::Models;
pub use table::EfficiencyRow;
pub use trace::{OpEfficiency, TraceEfficiency};

use crate::trace::{Arguments, Trace};
use dtype::Dtype;
use formulas::Op;
use inputs::Inputs;

impl Models {
    /// What an op of this name must do at least with these arguments of a trace; `None` where no
    /// model knows it, or its arguments do not tell. The `lengths` of the requests matter for
    /// attention over a cache of pages alone.
    pub fn demand(
        &self,
        name: &str,
        trace: &Trace,
        arguments: &Arguments,
        lengths: Option<Lengths>,
    ) -> Option<Demand> {
        self.demand_with(name, trace, arguments, None, lengths)
    }

    fn demand_with(
        &self,
        name: &str,
        trace: &Trace,
        arguments: &Arguments,
        list_dtype: Option<Dtype>,
        lengths: Option<Lengths>,
    ) -> Option<Demand> {
        let formula = self.formula(name)?;
        let text = |id| trace.text(id);
        let inputs = Inputs::parse(
            text(arguments.dims),
            text(arguments.types),
            text(arguments.strides),
            text(arguments.concrete),
        )?;
        formula.demand(&Op { name, inputs: &inputs, list_dtype, lengths })
    }
}
