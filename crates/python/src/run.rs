//! One run: read, simulate in slices, keep the result.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use files::Sheets;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use results::{Names, Report, RunStatistics};
use sim::Outcome;
use sim::outcome::Taken;
use threads::{Simulation, Terms};

use crate::errors::{Plugins, guarded};
use crate::table;

/// The time between two checks for Python's signals and two reports of progress.
const SLICE: Duration = Duration::from_millis(100);

/// The most values that wait in memory for each row of a block: with 8 bytes each about as much as the block takes.
const VALUES_PER_ROW: usize = 16;

/// The result of a run.
#[pyclass(frozen, module = "duetime._core")]
pub struct Run {
    /// The outcome with all rows, if they were kept.
    pub(crate) outcome: Option<Outcome>,
    /// The JSON contract, `wall_s` included.
    #[pyo3(get)]
    pub(crate) json: String,
    /// The scenario with everything that was left out filled in, as JSON.
    #[pyo3(get)]
    pub(crate) resolved: String,
    /// Notes for the reader on the scenario: dropped keys and the like.
    #[pyo3(get)]
    pub(crate) notes: Vec<String>,
}

#[pymethods]
impl Run {
    /// One row per message.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.table(py, results::flows)
    }
    /// One row per query.
    fn queries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.table(py, results::queries)
    }
    /// One row per request of several stages.
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.table(py, results::requests)
    }
    /// One row per message and work of requests that keep them.
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.table(py, results::pieces)
    }
    /// One row per link direction.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.table(py, results::links)
    }
    /// One row per sample.
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.table(py, results::trace)
    }
}

impl Run {
    fn table<'py>(
        &self,
        py: Python<'py>,
        of: impl FnOnce(&Outcome) -> results::Table + Send,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Some(outcome) = &self.outcome else {
            return Err(PyRuntimeError::new_err("the rows of this run were not kept"));
        };
        table::to_python(py, guarded(py, || of(outcome))?)
    }
}

/// Runs a scenario to its end.
///
/// `progress(now_s, duration_s, packets_delivered)` is called about ten times a second; an exception of it ends the
/// run, as does Ctrl-C.
///
/// Rows are kept in memory, or, with `rows=False`, are not. Or they are written as Parquet into the empty folder `out`,
/// `block` of them at a time (a power of two). `OSError` is the error of the disk.
#[pyfunction]
#[pyo3(signature = (text, name, folder=None, set=Vec::new(), seed=None, transport=None, files=BTreeMap::new(), progress=None, out=None, rows=true, block=sim::BLOCK))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub(crate) fn run(
    py: Python<'_>,
    text: &str,
    name: &str,
    folder: Option<PathBuf>,
    set: Vec<String>,
    seed: Option<u64>,
    transport: Option<String>,
    files: BTreeMap<String, Vec<u8>>,
    progress: Option<Py<PyAny>>,
    out: Option<PathBuf>,
    rows: bool,
    block: usize,
) -> PyResult<Run> {
    let source = scenario::Source { name, text, folder: folder.as_deref() };
    let read = crate::read(py, &source, &scenario::Options { set, seed, transport, files })?;
    if read.resolved["run"]["engine"] != "packets" {
        return Err(PyValueError::new_err("this scenario asks for another engine than that of packets"));
    }
    if !block.is_power_of_two() {
        return Err(PyValueError::new_err(format!("a block has a power of two of rows, not {block}")));
    }
    let (resolved, mut notes) = (read.resolved.to_string(), read.notes);
    let _running = Running::one_more();
    let plugins = Plugins::of(&read.scenario);
    let threads = match plugins.one_thread(read.scenario.run.threads)? {
        true => Some(1),
        false => read.scenario.run.threads,
    };

    let (mut simulation, note) = guarded(py, || {
        let (mut simulation, note) = match threads {
            Some(threads) => Simulation::new(read.scenario, threads),
            None => (Simulation::calibrated(read.scenario, free_cores, Terms::default()), None),
        };
        simulation.blocks_of(block);
        (simulation, note)
    })?;
    notes.extend(note);
    let mut passing = match rows && out.is_none() {
        true => None,
        false => {
            let names = Names::of_world(simulation.world());
            Some(guarded(py, move || Passing::new(names, out, block))?.map_err(disk_error)?)
        }
    };
    let duration_s = simulation.duration().as_secs_f64();
    let mut wall = Duration::ZERO;
    let mut events = 1_000;
    loop {
        let (more, took) = guarded(py, || {
            let start = Instant::now();
            (simulation.advance(events), start.elapsed())
        })?;
        wall += took;
        events = next_slice(events, took);
        if let Some(passing) = &mut passing {
            guarded(py, || passing.see(&simulation.take(), simulation.now()))?.map_err(disk_error)?;
        }
        py.check_signals()?;
        plugins.check()?;
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
    let (outcome, json) = guarded(py, || match passing {
        None => {
            let outcome = simulation.finish();
            let json = Report::new(&outcome, wall.as_secs_f64()).to_json();
            Ok((Some(outcome), json))
        }
        Some(passing) => Ok((None, passing.close(simulation, wall.as_secs_f64())?.to_json())),
    })?
    .map_err(disk_error)?;
    Ok(Run { outcome, json, resolved, notes })
}

/// The number of runs that this process is making.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// Counts as one of them, until it is dropped.
struct Running;

impl Running {
    fn one_more() -> Running {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns this run's share of the cores.
fn free_cores() -> u32 {
    available_parallelism().map_or(1, |cores| cores.get() as u32) / RUNNING.load(Ordering::Relaxed).max(1)
}

/// The consumer of rows that do not stay in memory.
struct Passing {
    book: RunStatistics,
    /// The files of the rows, if they are written.
    sheets: Option<Sheets>,
}

impl Passing {
    fn new(names: Names, out: Option<PathBuf>, block: usize) -> io::Result<Passing> {
        let book = RunStatistics::new(names.counted(), names.classes(), block);
        Ok(match out {
            None => Passing { book, sheets: None },
            Some(folder) => Passing {
                // A disk with room for the tables has room for this file.
                book: book.with_file(tempfile::tempfile_in(&folder)?, block * VALUES_PER_ROW),
                sheets: Some(Sheets::new(&folder, names, block)),
            },
        })
    }

    fn see(&mut self, taken: &Taken, ended: units::Instant) -> io::Result<()> {
        self.book.ask(&taken.queries);
        taken.blocks.iter().try_for_each(|block| self.book.add(&block.messages, ended))?;
        self.book.serve(&taken.requests, ended)?;
        let queries = self.book.take_queries();
        let Some(sheets) = &mut self.sheets else { return Ok(()) };
        sheets.write(taken, ended)?;
        sheets.write_queries(queries)
    }

    fn close(mut self, simulation: Simulation, wall_s: f64) -> io::Result<Report> {
        let (outcome, rest) = simulation.finish_taken();
        rest.into_iter().try_for_each(|taken| self.see(&taken, outcome.ended))?;
        self.book.close(outcome.ended);
        if let Some(mut sheets) = self.sheets {
            sheets.write_queries(self.book.take_all_queries())?;
            sheets.close(&outcome)?;
        }
        Report::of_book(&outcome, &mut self.book, wall_s)
    }
}

/// Returns an `OSError` with its number and the system's message, so that Python finds its kind.
fn disk_error(error: io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let said = error.to_string();
            let said = said.strip_suffix(&format!(" (os error {number})")).unwrap_or(&said).to_owned();
            PyOSError::new_err((number, said))
        }
        None => PyOSError::new_err(error.to_string()),
    }
}

/// Returns the number of events for which the next slice takes about [`SLICE`], from the time of this one.
fn next_slice(events: u64, took: Duration) -> u64 {
    let factor = SLICE.as_secs_f64() / took.as_secs_f64().max(1e-6);
    ((events as f64 * factor.clamp(0.25, 4.0)) as u64).clamp(1_000, 1_000_000_000)
}
