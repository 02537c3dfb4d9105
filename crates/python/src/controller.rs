//! A Python class as a congestion controller, called once per window.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use transport::plugin::{self, Described, Ecn, Event, FirstFailure, Later, Law, Module, View};
use transport::registry::Entry;
use units::Values;

/// A window of data that has been acknowledged, and the connection's state. Times are in seconds, sizes in bytes,
/// windows in segments.
#[pyclass(module = "duetime")]
pub(crate) struct Window {
    /// The congestion window, in segments; set it, or return it.
    #[pyo3(get, set)]
    cwnd: f64,
    /// The slow-start threshold, in segments.
    #[pyo3(get, set)]
    ssthresh: f64,
    /// Segments that were acknowledged since the last call.
    #[pyo3(get)]
    acked: f64,
    /// The share of the bytes that have arrived whose acknowledgement had an ECN echo, 0 to 1.
    #[pyo3(get)]
    marked: f64,
    /// The losses that were detected since the last call.
    #[pyo3(get)]
    lost: u32,
    /// The retransmission timeouts since the last call.
    #[pyo3(get)]
    timeouts: u32,
    /// The smoothed round-trip time; none before the first sample.
    #[pyo3(get)]
    rtt: Option<f64>,
    /// The least round-trip time so far.
    #[pyo3(get)]
    min_rtt: Option<f64>,
    /// The present simulated time, in seconds.
    #[pyo3(get)]
    now: f64,
    /// Bytes of the present message that are left; none for a flow without end.
    #[pyo3(get)]
    remaining: Option<f64>,
    /// The size of the present message; none for a flow without end.
    #[pyo3(get)]
    size: Option<f64>,
    /// The time left until its deadline, 0 from then on; none without one.
    #[pyo3(get)]
    left: Option<f64>,
    /// Payload of a full segment, in bytes.
    #[pyo3(get)]
    mss: f64,
    /// Minimum of the window after a cut, in segments.
    #[pyo3(get)]
    floor: f64,
}

/// The state of a connection, as numbers in its block of bytes.
#[derive(Clone, Copy)]
struct State {
    /// The connection's place in the law's list, from 1.
    number: f64,
    window_end: f64,
    acked: f64,
    bytes: f64,
    marked: f64,
    lost: f64,
    timeouts: f64,
}

impl State {
    const FIELDS: usize = 7;
    const NEW: State =
        State { number: 0.0, window_end: 0.0, acked: 0.0, bytes: 0.0, marked: 0.0, lost: 0.0, timeouts: 0.0 };

    fn read(block: &[u8]) -> State {
        let mut numbers = [0.0; State::FIELDS];
        for (number, bytes) in numbers.iter_mut().zip(block.chunks_exact(8)) {
            *number = f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
        let [number, window_end, acked, bytes, marked, lost, timeouts] = numbers;
        State { number, window_end, acked, bytes, marked, lost, timeouts }
    }

    fn write(self, block: &mut [u8]) {
        let State { number, window_end, acked, bytes, marked, lost, timeouts } = self;
        let numbers = [number, window_end, acked, bytes, marked, lost, timeouts];
        for (slot, number) in block.chunks_exact_mut(8).zip(numbers) {
            slot.copy_from_slice(&number.to_le_bytes());
        }
    }
}

/// One connection: the method of its own object, and the window that the method is called with.
struct Connection {
    on_window: Py<PyAny>,
    window: Py<Window>,
}

/// The law of one run.
struct Controller {
    maker: Arc<Maker>,
    connections: Mutex<Vec<Connection>>,
    failure: FirstFailure,
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the class {}", self.maker.name)
    }
}

impl Controller {
    /// Opens a connection: makes an object of the class.
    fn open(&self, py: Python<'_>) -> PyResult<f64> {
        let object = self.maker.class.bind(py).call0()?;
        let on_window = object.getattr("on_window")?.unbind();
        let window = Py::new(
            py,
            Window {
                cwnd: 1.0,
                ssthresh: f64::INFINITY,
                acked: 0.0,
                marked: 0.0,
                lost: 0,
                timeouts: 0,
                rtt: None,
                min_rtt: None,
                now: 0.0,
                remaining: None,
                size: None,
                left: None,
                mss: 0.0,
                floor: 0.0,
            },
        )?;
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.push(Connection { on_window, window });
        Ok(connections.len() as f64)
    }

    /// Calls the method at the end of a window.
    fn on_window(&self, py: Python<'_>, state: &State, view: &mut View) -> PyResult<()> {
        let (on_window, window) = {
            let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
            let own = &connections[state.number as usize - 1];
            (own.on_window.clone_ref(py), own.window.clone_ref(py))
        };
        let time = |ps: f64| (ps >= 0.0).then_some(ps / 1e12);
        let sample = |ps: f64| (ps > 0.0).then_some(ps / 1e12);
        let amount = |bytes: f64| (bytes >= 0.0).then_some(bytes);
        {
            let mut window = window.try_borrow_mut(py)?;
            window.cwnd = view.cwnd;
            window.ssthresh = view.ssthresh;
            window.acked = state.acked;
            window.marked = if state.bytes > 0.0 { state.marked / state.bytes } else { 0.0 };
            window.lost = state.lost as u32;
            window.timeouts = state.timeouts as u32;
            window.rtt = sample(view.srtt);
            window.min_rtt = sample(view.min_rtt);
            window.now = view.now / 1e12;
            window.remaining = amount(view.remaining);
            window.size = amount(view.size);
            window.left = time(view.left);
            window.mss = view.mss;
            window.floor = view.floor;
        }
        let returned = on_window.bind(py).call1((&window,))?;
        let window = window.try_borrow(py)?;
        view.ssthresh = window.ssthresh;
        view.cwnd = if returned.is_none() { window.cwnd } else { returned.extract()? };
        let possible = view.cwnd > 0.0 && view.cwnd.is_finite() && view.ssthresh > 0.0;
        match possible {
            true => Ok(()),
            false => Err(PyValueError::new_err(format!(
                "the window is {} and ssthresh {}; both must be above 0",
                view.cwnd, view.ssthresh
            ))),
        }
    }

    fn fail(&self, py: Python<'_>, now: f64, error: &PyErr) {
        let value = error.value(py);
        let kind = value.get_type().name().map_or_else(|_| "an error".into(), |name| name.to_string());
        // The line of the class at fault, if it is known.
        let line = error.traceback(py).and_then(|mut at| {
            while let Ok(next) =
                at.getattr("tb_next").and_then(|next| Ok(next.cast_into::<pyo3::types::PyTraceback>()?))
            {
                at = next;
            }
            at.getattr("tb_lineno").and_then(|line| line.extract::<u32>()).ok()
        });
        let line = line.map_or_else(String::new, |line| format!(" in line {line}"));
        let message = format!(
            "the controller `{}`: `on_window` raised {kind}: {value}{line}, {} us into the run",
            self.maker.name,
            now / 1e6
        );
        self.failure.record(now, message);
    }
}

impl Law for Controller {
    fn ecn(&self) -> Ecn {
        self.maker.ecn
    }
    fn paces(&self) -> bool {
        false
    }
    fn handles(&self, event: Event) -> bool {
        event != Event::Message
    }
    fn state_size(&self) -> usize {
        8 * State::FIELDS
    }
    fn call(&self, event: Event, block: &mut [u8], view: &mut View, _: &[Later]) -> Option<()> {
        if self.failure.has_happened() {
            return None;
        }
        let mut state = State::read(block);
        match event {
            Event::Open => {
                let opened = Python::attach(|py| self.open(py).inspect_err(|error| self.fail(py, view.now, error)));
                state.number = opened.ok()?;
            }
            Event::Beyond => {
                state.bytes += view.bytes;
                state.marked += view.marked * view.bytes;
            }
            Event::Loss => {
                state.lost += 1.0;
                view.ssthresh = (view.flight / 2.0).max(view.floor);
            }
            Event::Timeout => {
                state.timeouts += 1.0;
                view.cwnd = view.cwnd.min(view.loss_window);
            }
            Event::Ack => {
                state.acked += view.segments;
                state.bytes += view.bytes;
                state.marked += view.marked * view.bytes;
                if view.una > state.window_end {
                    let called = Python::attach(|py| {
                        self.on_window(py, &state, view).inspect_err(|error| self.fail(py, view.now, error))
                    });
                    called.ok()?;
                    state = State { number: state.number, window_end: view.next, ..State::NEW };
                }
            }
            Event::Message => {}
        }
        state.write(block);
        Some(())
    }
    fn failure(&self) -> Option<String> {
        self.failure.message()
    }
    fn one_thread(&self) -> Option<&'static str> {
        Some("its controller is a Python class")
    }
}

/// A class that makes the objects of connections.
struct Maker {
    name: String,
    class: Py<PyType>,
    ecn: Ecn,
}

#[derive(Clone)]
struct Shared(Arc<Maker>);

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the class {}", self.0.name)
    }
}

impl Module for Shared {
    fn law(&self, _: &Values) -> Result<Arc<dyn Law>, String> {
        Ok(Arc::new(Controller {
            maker: Arc::clone(&self.0),
            connections: Mutex::default(),
            failure: FirstFailure::default(),
        }))
    }
}

/// Registers a class as the controller of that name. Returns the text that names it in `plugin`. It is kept as long as
/// the process runs.
#[pyfunction]
pub(crate) fn register(name: &str, class_: Py<PyType>, ecn: &str) -> PyResult<String> {
    let ecn = match ecn {
        "off" => Ecn::Off,
        "classic" => Ecn::Classic,
        "exact" => Ecn::Exact,
        other => {
            return Err(PyValueError::new_err(format!("`ecn` is \"off\", \"classic\" or \"exact\", not {other:?}")));
        }
    };
    let described = Described {
        name: name.to_owned().leak(),
        help: "a Python class",
        source: "a Python class",
        keys: &[],
        ecn,
        module: Box::leak(Box::new(Shared(Arc::new(Maker { name: name.to_owned(), class: class_, ecn })))),
    };
    let text = format!("{}{name}", plugin::REGISTERED);
    plugin::register(&text, Box::leak(Box::new(Entry::of_plugin(Box::leak(Box::new(described))))));
    Ok(text)
}
