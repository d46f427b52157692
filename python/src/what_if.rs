//! The Python class for the table `what_if`. The table can also be called with a scenario.

use crate::arguments::texts;
use crate::errors::raise;
use crate::origin::Origin;
use crate::table::Table;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use tracetree::analysis::replay::{StepTimes, WhatIf as Asked};
use tracetree::program::Query;
use tracetree::tables::TableKind;
use tracetree::{Comparison, Error, Side};

/// The table `what_if`. Call the table to replay both sides in a scenario, as `tracetree what-if` does.
///
/// >>> import tracetree
/// >>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
/// ...                    "examples/traces/resnet.cuda.json.gz")
/// >>> d.what_if(host=0.0)["baseline"]["scenario_us"] < d.what_if()["baseline"]["scenario_us"]
/// True
#[pyclass(frozen, extends = Table, module = "tracetree")]
pub(crate) struct WhatIf {
    comparison: Comparison,
}

impl WhatIf {
    pub(crate) fn create(
        py: Python<'_>,
        name: &'static str,
        comparison: &Comparison,
        origin: Origin,
    ) -> PyResult<Py<Table>> {
        let table = Table::new(name, TableKind::WhatIf.of(comparison.analysis()), origin);
        let this = WhatIf { comparison: comparison.clone() };
        let table = Bound::new(py, PyClassInitializer::from(table).add_subclass(this))?;
        Ok(table.into_super().unbind())
    }
}

#[pymethods]
impl WhatIf {
    /// The step time on each side: as recorded (`recorded_us`), replayed unchanged (`replayed_us`), and replayed in the
    /// scenario (`scenario_us`).
    ///
    /// `scale` maps path queries to factors: the duration of all GPU work at and below the calls that a query finds is
    /// multiplied by the query's factor. `host` is a factor for all host times. In the scenario, the host does not wait
    /// for the GPU at the calls that `without` selects: `"sync"` selects all calls that wait, and path queries select
    /// individual calls. Every query must find a call on both sides.
    ///
    /// Raises `UsageError` if a trace cannot be replayed, if a query is invalid or finds nothing, or if a factor is not
    /// between 0 and 1000000.
    #[pyo3(signature = (*, scale=None, host=None, without=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        scale: Option<BTreeMap<String, f64>>,
        host: Option<f64>,
        without: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let without = texts("without", without.as_ref())?;
        let times = py.detach(|| self.times(&scale.unwrap_or_default(), host, &without));
        let times = times.map_err(|error| raise(py, &error))?;
        let both = PyDict::new(py);
        for (side, times) in Side::BOTH.into_iter().zip(times) {
            let one = PyDict::new(py);
            one.set_item("recorded_us", times.recorded.as_micros())?;
            one.set_item("replayed_us", times.replayed.as_micros())?;
            one.set_item("scenario_us", times.scenario.as_micros())?;
            both.set_item(side.word(), one)?;
        }
        Ok(both)
    }
}

impl WhatIf {
    fn times(
        &self,
        scale: &BTreeMap<String, f64>,
        host: Option<f64>,
        without: &[String],
    ) -> Result<Vec<StepTimes>, Error> {
        let mut asked = Asked::default();
        for (query, by) in scale {
            asked = asked.scale(query.parse::<Query>()?, *by)?;
        }
        for calls in without {
            asked = asked.without(calls.parse()?);
        }
        if let Some(by) = host {
            asked = asked.host(by)?;
        }
        let analysis = self.comparison.analysis();
        let replays = analysis.replays()?;
        Side::BOTH.iter().map(|&side| asked.step_times(analysis.diff(), &replays, side)).collect()
    }
}
