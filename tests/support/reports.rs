//! Creates small traces and writes reports about them, for tests of report contents.

use super::compared::analyse_texts;
use super::trace_builder::{HostThread, Op, TraceBuilder};
use std::path::Path;
use std::sync::Arc;
use tracetree::analysis::Analysis;
use tracetree::report::{Emit, Report, ReportOptions, TableSet};
use tracetree::{PerSide, Result};

/// Names that would corrupt a page, a drawing, a table, a workbook or a terminal if they were not escaped.
pub const HOSTILE: [&str; 8] = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror=\"window.hacked = 2\">'\"&amp;<b>",
    "=cmd|' /C calc'!A0",
    "a | b `code` ``` <details> [link](javascript:alert(1)) @someone #1",
    "\u{202e}txet desrever\u{202c} שלום 🚀",
    "\u{1b}[31mred\u{1b}[0m\u{7}",
    "two\nlines\tand;semicolons;0 0",
    "]]><svg onload='window.hacked = 3'>",
];

/// Two traces of a small model, with two steps each. One op is renamed, and some kernels occur on only one side.
pub fn model_pair() -> PerSide<String> {
    let baseline = TraceBuilder::rocm()
        .thread("python3", |t| {
            for step in 0..2 {
                t.step(10 + step, |t| model(t, 1.0, "aten::miopen_convolution"));
            }
        })
        .unlinked_kernel("warm_up_kernel", 7.0);
    let candidate = TraceBuilder::cuda().thread("python3", |t| {
        for step in 0..2 {
            t.step(3 + step, |t| model(t, 1.5, "aten::cudnn_convolution"));
        }
    });
    PerSide::new(baseline.json(), candidate.json())
}

fn model(t: &mut HostThread<'_>, factor: f64, convolution: &str) {
    t.frame("train.py(3): step", |t| {
        t.module("Net_0", |t| {
            t.module("Conv2d_0", |t| {
                t.op(Op::new("aten::_convolution").dims(&[&[8, 3, 32, 32], &[16, 3, 3, 3]]), |t| {
                    t.op(convolution, |t| {
                        t.kernel(&format!("{convolution}_kernel"), 40.0 * factor)
                    });
                    t.op("aten::add_", |t| t.kernel("add_kernel", 4.0));
                });
            });
            for layer in 0..3 {
                t.module(&format!("Linear_{layer}"), |t| {
                    t.op(Op::new("aten::addmm").dims(&[&[16], &[8, 16]]), |t| {
                        t.kernel("gemm_kernel", 20.0 / factor + f64::from(layer));
                    });
                });
            }
            if factor > 1.0 {
                t.op("aten::gelu", |t| t.kernel("gelu_kernel", 3.0));
            }
        });
    });
}

/// Two traces whose ops, kernels, modules and threads have [`HOSTILE`] names, including a very long
/// name.
pub fn hostile_pair() -> PerSide<String> {
    let build = |factor: f64| {
        TraceBuilder::cuda()
            .thread(HOSTILE[1], |t| {
                for (at, name) in HOSTILE.into_iter().enumerate() {
                    t.module(name, |t| {
                        t.op(Op::new(name).dims(&[&[at as i64]]).concrete(&[name]), |t| {
                            t.kernel(name, 10.0 * factor + at as f64);
                        });
                    });
                }
                let long = "void kernel<long, ".repeat(300);
                t.op(&*long, |t| t.kernel(&long, 5.0 * factor));
            })
            .json()
    };
    PerSide::new(build(1.0), build(2.0))
}

/// Writes a report in the given formats from the JSON texts of two traces.
///
/// # Errors
/// Fails if a text is not a trace or the folder cannot be written.
pub fn write(pair: &PerSide<String>, folder: &Path, emits: &[Emit]) -> Result<()> {
    let table_set = TableSet::All;
    let options = ReportOptions { emits: emits.to_vec(), table_set, ..ReportOptions::default() };
    with_analysis(pair, |analysis| {
        Report::with_options(analysis.clone(), options.clone()).write(folder).map(drop)
    })
}

/// Analyzes two traces, given as JSON texts, and passes the analysis to `use_it`.
///
/// # Errors
/// Fails if a text is not a trace. An error returned by `use_it` is passed on unchanged.
pub fn with_analysis<T>(
    pair: &PerSide<String>,
    use_it: impl FnOnce(&Arc<Analysis>) -> Result<T>,
) -> Result<T> {
    let names = PerSide::new("baseline.json", "candidate.json");
    use_it(&Arc::new(analyse_texts(names, pair)?))
}
