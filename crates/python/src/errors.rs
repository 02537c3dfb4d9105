//! Errors for callers, and a panic as an exception that asks for a report.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use transport::plugin::Law;

pyo3::create_exception!(
    duetime,
    ScenarioError,
    PyValueError,
    "What is wrong with a scenario: file, line, column, message and hint; str() shows the place with a caret."
);
pyo3::create_exception!(
    duetime,
    InternalError,
    PyRuntimeError,
    "A bug in duetime itself: please report it with the scenario that shows it."
);

pyo3::create_exception!(
    duetime,
    PluginError,
    PyRuntimeError,
    "A plug-in failed during a run: the message names it, its function and the simulated time."
);

/// The laws of a scenario that are plug-ins.
pub(crate) struct Plugins(Vec<Arc<dyn Law>>);

impl Plugins {
    /// Returns the plug-ins of a scenario.
    pub(crate) fn of(scenario: &sim::Scenario) -> Plugins {
        Plugins(scenario.transports.iter().filter_map(|own| own.config.loaded().cloned()).collect())
    }

    /// Returns true if one of them needs a run with one thread; an error if it was asked to have `threads`.
    pub(crate) fn one_thread(&self, threads: Option<u32>) -> PyResult<bool> {
        let Some(reason) = self.0.iter().find_map(|law| law.one_thread()) else { return Ok(false) };
        match threads {
            Some(2..) => {
                Err(PluginError::new_err(format!("a run has one thread where {reason}: leave out run.threads")))
            }
            _ => Ok(true),
        }
    }

    /// Returns the error of the first that has failed.
    pub(crate) fn check(&self) -> PyResult<()> {
        match self.0.iter().find_map(|law| law.failure()) {
            Some(failure) => Err(PluginError::new_err(failure)),
            None => Ok(()),
        }
    }
}

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Stops a panic from printing anything from now on; [`guarded`] reports it.
pub(crate) fn keep_panics_quiet() {
    set_hook(Box::new(|panic| LAST_PANIC.set(Some(panic.to_string()))));
}

/// Runs `work` with Python's lock released; a panic becomes [`InternalError`].
pub(crate) fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|_| {
        let panic = LAST_PANIC.take().unwrap_or_default();
        InternalError::new_err(panic.split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

/// The Python exception for a bad scenario.
pub(crate) fn scenario_error(py: Python<'_>, error: &scenario::Error) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let value = exception.value(py);
    let filled = value
        .setattr("file", error.file())
        .and_then(|()| value.setattr("line", error.line()))
        .and_then(|()| value.setattr("column", error.column()))
        .and_then(|()| value.setattr("message", error.message()))
        .and_then(|()| value.setattr("hint", error.hint()));
    match filled {
        Ok(()) => exception,
        Err(other) => other,
    }
}
