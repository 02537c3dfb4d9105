//! A module with the values of its keys, as a law.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use transport::plugin::{Ecn, Event, FirstFailure, Later, Law, Module, View};
use units::Values;

use crate::instance::Instance;
use crate::interface::{Failure, export, failed, judge};
use crate::manifest::numbers;
use crate::module::Compiled;

/// Maximum number of instances of a thread, which are of the laws that it called last.
const MAX_INSTANCES: usize = 16;

thread_local! {
    /// The instances of this thread, by the numbers of their laws.
    static INSTANCES: RefCell<Vec<(u64, Instance)>> = const { RefCell::new(Vec::new()) };
}

/// The number of laws so far.
static LAWS: AtomicU64 = AtomicU64::new(0);

/// A module with the values of its keys.
#[derive(Debug)]
pub(crate) struct Loaded {
    compiled: Arc<Compiled>,
    keys: Vec<f64>,
    /// Its own number in this process.
    number: u64,
    handles: [bool; Event::ALL.len()],
    state_size: usize,
    failure: FirstFailure,
}

impl Loaded {
    /// Returns the law of a module with these values.
    pub(crate) fn new(compiled: Arc<Compiled>, keys: Vec<f64>) -> Result<Loaded, String> {
        let state_size = Instance::new(&compiled.module, &keys)?.state_size();
        Ok(Loaded {
            handles: Event::ALL.map(|event| compiled.exports(export(event))),
            compiled,
            keys,
            number: LAWS.fetch_add(1, Ordering::Relaxed),
            state_size,
            failure: FirstFailure::default(),
        })
    }

    /// Calls the instance of this thread.
    fn answer(&self, event: Event, state: &mut [u8], view: &mut View, later: &[Later]) -> Result<(), Failure> {
        INSTANCES.with_borrow_mut(|instances| {
            let instance = match instances.iter().position(|(number, _)| *number == self.number) {
                Some(index) => &mut instances[index].1,
                None => {
                    if instances.len() == MAX_INSTANCES {
                        instances.remove(0);
                    }
                    let instance = Instance::new(&self.compiled.module, &self.keys).map_err(Failure::Trap)?;
                    instances.push((self.number, instance));
                    let last = instances.len() - 1;
                    &mut instances[last].1
                }
            };
            instance.call(event, state, view, later)
        })?;
        judge(event, view)
    }
}

impl Law for Loaded {
    fn ecn(&self) -> Ecn {
        self.compiled.ecn
    }
    fn paces(&self) -> bool {
        self.compiled.paces
    }
    fn handles(&self, event: Event) -> bool {
        self.handles[event as usize]
    }
    fn state_size(&self) -> usize {
        self.state_size
    }
    fn call(&self, event: Event, state: &mut [u8], view: &mut View, later: &[Later]) -> Option<()> {
        if self.failure.has_happened() {
            return None;
        }
        let now = view.now;
        match self.answer(event, state, view, later) {
            Ok(()) => Some(()),
            Err(failure) => {
                self.failure.record(now, failed(&self.compiled.name, event, now, &failure));
                None
            }
        }
    }
    fn failure(&self) -> Option<String> {
        self.failure.message()
    }
}

/// A compiled module as the maker of laws.
#[derive(Debug)]
pub(crate) struct Laws(pub(crate) Arc<Compiled>);

impl Module for Laws {
    fn law(&self, values: &Values) -> Result<Arc<dyn Law>, String> {
        let values = numbers(&self.0.keys, values);
        Ok(Arc::new(Loaded::new(Arc::clone(&self.0), values)?))
    }
}
