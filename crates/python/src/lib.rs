//! The Python module `duetime._core`: a thin shell around the simulator, nothing else.
//!
//! Only text (scenarios, JSON), bytes (columns) and errors cross the border. The Python package `duetime` makes files,
//! tables and a command line of it.

mod controller;
mod errors;
mod foreseen;
mod measured;
mod network;
mod run;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;

/// The core of duetime.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::controller::{Window, register};
    #[pymodule_export]
    use super::errors::{InternalError, PluginError, ScenarioError};
    #[pymodule_export]
    use super::foreseen::foreseen;
    #[pymodule_export]
    use super::measured::measured;
    #[pymodule_export]
    use super::network::Network;
    #[pymodule_export]
    use super::run::{Run, run};
    #[pymodule_export]
    use super::{_panic, bound, catalog, check, cost, explain, profiled, schema, sweep, version};

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::errors::keep_panics_quiet();
        plugin::install();
        Ok(())
    }
}

/// Reads a scenario without running it: the resolved scenario as JSON, notes, and the paths that were read.
#[pyfunction]
#[pyo3(signature = (text, name, folder=None, set=Vec::new(), seed=None, transport=None, files=BTreeMap::new()))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
fn check(
    py: Python<'_>,
    text: &str,
    name: &str,
    folder: Option<PathBuf>,
    set: Vec<String>,
    seed: Option<u64>,
    transport: Option<String>,
    files: BTreeMap<String, Vec<u8>>,
) -> PyResult<(String, Vec<String>, Vec<String>)> {
    let source = scenario::Source { name, text, folder: folder.as_deref() };
    let read = read(py, &source, &scenario::Options { set, seed, transport, files })?;
    Ok((read.resolved.to_string(), read.notes, read.files))
}

/// Describes a scenario before it is run, as JSON: its traffic, the load of each port, the random inputs.
#[pyfunction]
#[pyo3(signature = (text, name, folder=None, set=Vec::new(), seed=None))]
fn explain(
    py: Python<'_>,
    text: &str,
    name: &str,
    folder: Option<PathBuf>,
    set: Vec<String>,
    seed: Option<u64>,
) -> PyResult<String> {
    let source = scenario::Source { name, text, folder: folder.as_deref() };
    let options = scenario::Options { set, seed, ..scenario::Options::default() };
    let explained = errors::guarded(py, || scenario::explain(&source, &options))?;
    Ok(explained.map_err(|error| errors::scenario_error(py, &error))?.to_string())
}

/// Estimates what a run costs, as JSON: messages, packets, packet-hops, rows and memory.
#[pyfunction]
#[pyo3(signature = (text, name, folder=None, set=Vec::new(), seed=None, transport=None))]
fn cost(
    py: Python<'_>,
    text: &str,
    name: &str,
    folder: Option<PathBuf>,
    set: Vec<String>,
    seed: Option<u64>,
    transport: Option<String>,
) -> PyResult<String> {
    let source = scenario::Source { name, text, folder: folder.as_deref() };
    let options = scenario::Options { set, seed, transport, ..scenario::Options::default() };
    let found = errors::guarded(py, || scenario::cost(&source, &options))?;
    Ok(found.map_err(|error| errors::scenario_error(py, &error))?.to_string())
}

/// Returns the fewest deadlines that any schedule of a scenario's messages misses, as JSON (null without deadlines),
/// and notes.
#[pyfunction]
#[pyo3(signature = (text, name, folder=None, set=Vec::new(), seed=None, transport=None))]
fn bound(
    py: Python<'_>,
    text: &str,
    name: &str,
    folder: Option<PathBuf>,
    set: Vec<String>,
    seed: Option<u64>,
    transport: Option<String>,
) -> PyResult<(String, Vec<String>)> {
    let source = scenario::Source { name, text, folder: folder.as_deref() };
    let read = read(py, &source, &scenario::Options { set, seed, transport, ..scenario::Options::default() })?;
    let json = errors::guarded(py, || results::Foresight::of(read.scenario).to_json())?;
    Ok((json, read.notes))
}

/// Reads a scenario; its mistakes become `ScenarioError`.
fn read(py: Python<'_>, source: &scenario::Source, options: &scenario::Options) -> PyResult<scenario::Read> {
    errors::guarded(py, || scenario::read(source, options))?.map_err(|error| errors::scenario_error(py, &error))
}

/// Reads a sweep: its points as JSON.
#[pyfunction]
#[pyo3(signature = (text, name, folder=None))]
fn sweep(py: Python<'_>, text: &str, name: &str, folder: Option<PathBuf>) -> PyResult<String> {
    let source = scenario::Source { name, text, folder: folder.as_deref() };
    let sweep = errors::guarded(py, || scenario::read_sweep(&source))?;
    Ok(sweep.map_err(|error| errors::scenario_error(py, &error))?.to_json().to_string())
}

/// The JSON Schema of the scenario language.
#[pyfunction]
fn schema(py: Python<'_>) -> PyResult<String> {
    errors::guarded(py, || scenario::schema().to_string())
}

/// Transports, topologies, patterns and their keys, as JSON.
#[pyfunction]
fn catalog(py: Python<'_>) -> PyResult<String> {
    errors::guarded(py, || scenario::catalog().to_string())
}

/// Panics with `message`, so that a test can see the resulting error.
#[pyfunction]
fn _panic(py: Python<'_>, message: &str) -> PyResult<()> {
    errors::guarded(py, || panic!("{message}"))
}

/// Returns whether this was compiled with a profile of runs (PGO), for the record of a benchmark.
#[pyfunction]
fn profiled() -> bool {
    env!("DUETIME_PROFILED") == "true"
}

/// The version of duetime.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
