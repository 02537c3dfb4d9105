//! One run: read, simulate in slices, keep what came of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use results::Report;
use sim::{Outcome, Simulation};

use crate::errors::guarded;
use crate::table;

/// Between two slices Python sees signals and progress is told.
const SLICE: Duration = Duration::from_millis(100);

/// What came of a run.
#[pyclass(frozen, module = "duetime._core")]
pub struct Run {
    pub(crate) outcome: Outcome,
    /// The JSON contract, `wall_s` included.
    #[pyo3(get)]
    pub(crate) json: String,
    /// The scenario with everything that was left out filled in, as JSON.
    #[pyo3(get)]
    pub(crate) resolved: String,
    /// What the reader should know about the scenario: dropped keys and the like.
    #[pyo3(get)]
    pub(crate) notes: Vec<String>,
}

#[pymethods]
impl Run {
    /// One row per message.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table::to_python(py, guarded(py, || results::flows(&self.outcome))?)
    }
    /// One row per query.
    fn queries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table::to_python(py, guarded(py, || results::queries(&self.outcome))?)
    }
    /// One row per link direction.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table::to_python(py, guarded(py, || results::links(&self.outcome))?)
    }
    /// One row per sample.
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table::to_python(py, guarded(py, || results::trace(&self.outcome))?)
    }
}

/// Runs a scenario to its end.
///
/// `progress(now_s, duration_s, packets_delivered)` is called about ten times a second; what it raises
/// ends the run, as does Ctrl-C.
#[pyfunction]
#[pyo3(signature = (text, name, folder=None, set=Vec::new(), seed=None, transport=None, files=BTreeMap::new(), progress=None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub fn run(
    py: Python<'_>,
    text: &str,
    name: &str,
    folder: Option<PathBuf>,
    set: Vec<String>,
    seed: Option<u64>,
    transport: Option<String>,
    files: BTreeMap<String, String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Run> {
    let source = scenario::Source { name, text, folder: folder.as_deref() };
    let read = crate::read(py, &source, &scenario::Options { set, seed, transport, files })?;
    if read.resolved["run"]["engine"] != "packets" {
        return Err(PyValueError::new_err("this scenario asks for another engine than that of packets"));
    }
    let (resolved, mut notes) = (read.resolved.to_string(), read.notes);

    let (mut simulation, note) = guarded(py, || {
        let threads = read.scenario.run.threads;
        Simulation::new(read.scenario, threads)
    })?;
    notes.extend(note);
    let duration_s = simulation.duration().as_secs_f64();
    let mut wall = Duration::ZERO;
    let mut events = 10_000;
    loop {
        let (more, took) = guarded(py, || {
            let start = Instant::now();
            (simulation.advance(events), start.elapsed())
        })?;
        wall += took;
        events = next_slice(events, took);
        py.check_signals()?;
        if let Some(progress) = &progress {
            progress.call1(
                py,
                (
                    simulation.now().since_start().min(simulation.duration()).as_secs_f64(),
                    duration_s,
                    simulation.packets_delivered(),
                ),
            )?;
        }
        if !more {
            break;
        }
    }
    let (outcome, json) = guarded(py, || {
        let outcome = simulation.finish();
        let json = Report::new(&outcome, wall.as_secs_f64()).to_json();
        (outcome, json)
    })?;
    Ok(Run { outcome, json, resolved, notes })
}

/// So many events that the next slice takes about [`SLICE`], given what this one took.
fn next_slice(events: u64, took: Duration) -> u64 {
    let factor = SLICE.as_secs_f64() / took.as_secs_f64().max(1e-6);
    ((events as f64 * factor.clamp(0.25, 4.0)) as u64).clamp(1_000, 1_000_000_000)
}
