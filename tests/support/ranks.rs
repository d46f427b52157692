//! Generates the traces of a training job's ranks before and after a change: two folders, with faults planted in the
//! second folder.
//!
//! The ranks are divided equally among four roles (pipeline stages). In each step, a rank computes two blocks and one
//! op that only ranks in its role have. Then it reduces over the ranks in its role, and then over all ranks. A
//! collective ends at the same time on all ranks. A rank with a longer computation therefore spends less time in the
//! collective.

use super::trace_builder::{HostThread, Op, TraceBuilder};
use serde_json::json;
use std::fs;
use std::io::Result;
use std::path::Path;

/// Number of recorded steps.
const STEPS: u32 = 3;

/// Kernel times in µs.
const GEMM: f64 = 100.0;
const SLOW_GEMM: f64 = 200.0;
const RELU: f64 = 20.0;
const OWN: f64 = 100.0;
const SLOW_OWN: f64 = 150.0;
const REDUCE: f64 = 30.0;

/// For each role, the op that occurs only in this role.
const OWN_OPS: [&str; 4] = ["aten::embedding", "aten::softmax", "aten::bmm", "aten::nll_loss"];

/// Creates a fleet. The number of ranks must be a multiple of four, and there must be at least 16 ranks.
#[derive(Debug, Clone, Copy)]
pub struct Ranks(pub usize);

impl Ranks {
    /// The rank whose matrix products take twice as long after the change. The other ranks in the same role wait for
    /// this rank.
    pub fn straggler(self) -> usize {
        self.0 / 4 + 3
    }

    /// The role (0 to 3) in which the special op takes 50% longer on all ranks after the change.
    pub fn slow_role(self) -> usize {
        2
    }

    /// The rank that has no trace after the change.
    pub fn missing(self) -> usize {
        1
    }

    /// The rank whose trace after the change is truncated.
    pub fn truncated(self) -> usize {
        3 * self.0 / 4 + 2
    }

    /// The rank that, in its trace after the change, skips the reduction over its role in the second step.
    pub fn without_collective(self) -> usize {
        2
    }

    /// The role of the given rank.
    pub fn role(self, rank: usize) -> usize {
        4 * rank / self.0
    }

    /// The numbers of the ranks in a role, as printed in tables.
    pub fn of_role(self, role: usize) -> String {
        format!("{}-{}", role * self.0 / 4, (role + 1) * self.0 / 4 - 1)
    }

    /// The ranks whose programs were compared and are identical before and after the change, as printed in findings.
    pub fn unchanged(self) -> String {
        // The list excludes rank 1, which has no trace, rank 2, which skips a collective, and the rank whose trace is
        // truncated.
        let truncated = self.truncated();
        format!("0 3-{} {}-{}", truncated - 1, truncated + 1, self.0 - 1)
    }

    /// Writes the folders `before` and `after` below `folder`.
    pub fn write(self, folder: &Path) -> Result<()> {
        for (name, is_after) in [("before", false), ("after", true)] {
            fs::create_dir_all(folder.join(name))?;
            for rank in (0..self.0).filter(|&rank| !is_after || rank != self.missing()) {
                let text = self.trace(rank, is_after);
                let end = if is_after && rank == self.truncated() {
                    text.len() * 2 / 3
                } else {
                    text.len()
                };
                fs::write(folder.join(name).join(format!("rank_{rank}.json")), &text[..end])?;
            }
        }
        Ok(())
    }

    /// The trace of one rank.
    pub fn trace(self, rank: usize, is_after: bool) -> String {
        let world = json!({"backend": "nccl", "rank": rank, "world_size": self.0});
        TraceBuilder::cuda()
            .header("distributedInfo", world)
            .thread("main", |t| (0..STEPS).for_each(|at| self.step(t, rank, at, is_after)))
            .json()
    }

    fn step(self, t: &mut HostThread<'_>, rank: usize, step: u32, is_after: bool) {
        let role = self.role(rank);
        let compute = |rank: usize| self.compute(rank, step, is_after);
        let slowest = |role: usize| {
            let ranks = (0..self.0).filter(|&other| self.role(other) == role);
            ranks.map(compute).fold(0.0, f64::max)
        };
        let slowest_role = (0..4).map(slowest).fold(0.0, f64::max);
        let lacks = is_after && rank == self.without_collective() && step == 1;
        t.step(step, |t| {
            for block in 0..2 {
                t.module(&format!("Block_{block}"), |t| {
                    let gemm = self.gemm(rank, step, is_after);
                    t.op(Op::new("aten::mm").dims(&[&[64, 64], &[64, 64]]), |t| {
                        t.kernel("gemm", gemm)
                    });
                    t.op("aten::relu", |t| t.kernel("relu", RELU));
                });
            }
            let own = self.own(rank, is_after);
            t.op(OWN_OPS[role], |t| t.kernel("own_kernel", own));
            if !lacks {
                let wait = slowest(role) - compute(rank);
                reduce(t, &format!("role_{role}"), step, REDUCE + wait);
            }
            reduce(t, "world", step, REDUCE + slowest_role - slowest(role));
        });
    }

    fn compute(self, rank: usize, step: u32, is_after: bool) -> f64 {
        2.0 * (self.gemm(rank, step, is_after) + RELU) + self.own(rank, is_after)
    }

    fn gemm(self, rank: usize, step: u32, is_after: bool) -> f64 {
        // Durations vary slightly, so that ranks and steps do not all take exactly the same time.
        let scatter = 0.1 * ((7 * rank + 3 * step as usize + usize::from(is_after)) % 5) as f64;
        let is_slow = is_after && rank == self.straggler();
        scatter + if is_slow { SLOW_GEMM } else { GEMM }
    }

    fn own(self, rank: usize, is_after: bool) -> f64 {
        let is_slow = is_after && self.role(rank) == self.slow_role();
        if is_slow { SLOW_OWN } else { OWN }
    }
}

fn reduce(t: &mut HostThread<'_>, group: &str, step: u32, micros: f64) {
    let op = Op::new("c10d::allreduce_")
        .arg("Process Group Name", json!(group))
        .arg("Seq", json!(step + 1));
    t.op(op, |t| t.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", micros));
}
