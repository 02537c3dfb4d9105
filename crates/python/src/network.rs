//! A run that advances step by step, and is told its messages on the way.

use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sim::{Completed, Oracle, Transfer};
use units::{Bytes, HostId, Instant, Span};

use crate::errors::{Plugins, guarded};

/// A run that is told its messages on the way. Times are in ps.
#[pyclass(frozen, module = "duetime._core")]
pub struct Network {
    oracle: Mutex<Oracle>,
    plugins: Plugins,
    /// The number of hosts.
    #[pyo3(get)]
    hosts: u32,
    /// The end of the run.
    #[pyo3(get)]
    end: u64,
    /// The names of the classes whose messages are handed over.
    #[pyo3(get)]
    classes: Vec<String>,
}

#[pymethods]
impl Network {
    /// Begins the run of a scenario.
    #[new]
    #[pyo3(signature = (text, name, folder=None, set=Vec::new(), seed=None, transport=None))]
    fn new(
        py: Python<'_>,
        text: &str,
        name: &str,
        folder: Option<PathBuf>,
        set: Vec<String>,
        seed: Option<u64>,
        transport: Option<String>,
    ) -> PyResult<Network> {
        let source = scenario::Source { name, text, folder: folder.as_deref() };
        let options = scenario::Options { set, seed, transport, ..scenario::Options::default() };
        let scenario = crate::read(py, &source, &options)?.scenario;
        let plugins = Plugins::of(&scenario);
        let (hosts, end) = (scenario.network.graph.hosts, scenario.run.duration.0);
        let oracle = guarded(py, || Oracle::new(scenario))?.ok_or_else(|| {
            PyValueError::new_err(
                "no class takes transfers: write [[traffic]] with name = \"transfers\" and pattern = \"program\"",
            )
        })?;
        let classes = oracle.classes().iter().map(|(name, _)| name.clone()).collect();
        Ok(Network { oracle: Mutex::new(oracle), plugins, hosts, end, classes })
    }

    /// Hands over a message; returns its number.
    #[pyo3(signature = (of_class, at, src, dst, bytes, deadline=None))]
    fn transfer(
        &self,
        of_class: usize,
        at: u64,
        src: u32,
        dst: u32,
        bytes: u64,
        deadline: Option<u64>,
    ) -> PyResult<u64> {
        let mut oracle = self.lock()?;
        let (_, class) = oracle.classes()[of_class];
        let transfer = Transfer {
            at: Instant(at),
            from: HostId(src),
            to: HostId(dst),
            bytes: Bytes(bytes),
            deadline: deadline.map(Span),
        };
        Ok(oracle.transfer(class, transfer))
    }

    /// Advances until a time, or to the first completion before it if `stops`. Returns number, time and whether it was
    /// aborted of each transfer that is over.
    #[pyo3(signature = (until, stops))]
    fn advance(&self, py: Python<'_>, until: u64, stops: bool) -> PyResult<Vec<(u64, u64, bool)>> {
        let advanced = || Some(self.oracle.lock().ok()?.advance(Instant(until), stops));
        let completed = guarded(py, advanced)?.ok_or_else(broken)?;
        self.plugins.check()?;
        Ok(completed.into_iter().map(|Completed { number, at, aborted }| (number, at.0, aborted)).collect())
    }

    /// The time that the run has reached.
    #[getter]
    fn now(&self) -> PyResult<u64> {
        Ok(self.lock()?.world().now().0)
    }
}

impl Network {
    fn lock(&self) -> PyResult<std::sync::MutexGuard<'_, Oracle>> {
        self.oracle.lock().map_err(|_| broken())
    }
}

/// The error after a panic in an earlier call.
fn broken() -> PyErr {
    PyRuntimeError::new_err("this network has failed before")
}
