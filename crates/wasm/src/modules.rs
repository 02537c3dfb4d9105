//! Congestion controllers of the reader's own: modules that the page instantiates beside the simulator, and calls for it.
//!
//! The simulator imports the functions of `host` and nothing else. A page without plug-ins never calls them.

use std::sync::Arc;

use plugin::interface::{Failure, failed, judge};
use plugin::manifest::{Manifest, numbers};
use transport::plugin::{Ecn, Event, FirstFailure, Later, Law, Module, View};
use transport::registry::Entry;
use units::{Key, Values};

/// The functions of the page.
#[cfg(target_arch = "wasm32")]
mod host {
    #[link(wasm_import_module = "plugin")]
    unsafe extern "C" {
        /// Instantiates a module with the values of its keys. Returns its number, or the negative place of the reason
        /// in `REASONS`, from 1.
        pub(super) safe fn open(module: *const u8, length: usize, keys: *const f64, count: usize) -> i32;
        /// Returns the bytes of a connection's state.
        pub(super) safe fn state_size(law: i32) -> usize;
        /// Returns 1 if a module exports the function of an event.
        pub(super) safe fn handles(law: i32, event: i32) -> i32;
        /// Calls the function of an event. Returns 1 if it traps.
        pub(super) safe fn call(
            law: i32,
            event: i32,
            state: *mut u8,
            size: usize,
            view: *mut f64,
            later: *const f64,
            count: usize,
        ) -> i32;
    }
}

/// Outside of a page there are no modules.
#[cfg(not(target_arch = "wasm32"))]
mod host {
    pub(super) fn open(_: *const u8, _: usize, _: *const f64, _: usize) -> i32 {
        -1
    }
    pub(super) fn state_size(_: i32) -> usize {
        0
    }
    pub(super) fn handles(_: i32, _: i32) -> i32 {
        0
    }
    pub(super) fn call(_: i32, _: i32, _: *mut u8, _: usize, _: *mut f64, _: *const f64, _: usize) -> i32 {
        1
    }
}

/// The reasons for which a module cannot be used, as `playground/src/simulator/plugins.js` numbers them.
const REASONS: [&str; 4] = [
    "it is not a valid module",
    "it imports something, and a plug-in may import nothing",
    "it does not export `memory` and the functions `event`, `state`, `state_size`, `on_ack`, and `keys` where it has keys",
    "its addresses are not in its memory",
];

/// Returns the transport of a module, under a name.
pub(crate) fn load(name: &str, bytes: &[u8]) -> Result<&'static Entry, String> {
    let manifest = Manifest::of(bytes).map_err(|why| format!("the plug-in `{name}` cannot be used: {why}"))?;
    let (ecn, paces, keys) = (manifest.ecn, manifest.paces, manifest.keys.clone());
    let module = OfPage { name: name.to_owned(), bytes: bytes.to_vec(), ecn, paces, keys };
    // Missing exports are reported before any run.
    module.open(&vec![0.0; module.keys.len()])?;
    Ok(plugin::transport(name, manifest, module))
}

/// A module that the page can instantiate.
#[derive(Debug)]
struct OfPage {
    name: String,
    bytes: Vec<u8>,
    ecn: Ecn,
    paces: bool,
    keys: Vec<Key>,
}

impl OfPage {
    /// Instantiates it; returns the number of the instance.
    fn open(&self, keys: &[f64]) -> Result<i32, String> {
        let number = host::open(self.bytes.as_ptr(), self.bytes.len(), keys.as_ptr(), keys.len());
        let reason = (number < 0).then(|| REASONS[(number.unsigned_abs() as usize - 1).min(REASONS.len() - 1)]);
        reason.map_or(Ok(number), |why| Err(format!("the plug-in `{}` cannot be used: {why}", self.name)))
    }
}

impl Module for OfPage {
    fn law(&self, values: &Values) -> Result<Arc<dyn Law>, String> {
        let number = self.open(&numbers(&self.keys, values))?;
        Ok(Arc::new(Instance {
            name: self.name.clone(),
            ecn: self.ecn,
            paces: self.paces,
            number,
            handles: Event::ALL.map(|event| host::handles(number, event as i32) == 1),
            state_size: host::state_size(number),
            failure: FirstFailure::default(),
        }))
    }
}

/// An instance in the page.
#[derive(Debug)]
struct Instance {
    name: String,
    ecn: Ecn,
    paces: bool,
    number: i32,
    handles: [bool; Event::ALL.len()],
    state_size: usize,
    failure: FirstFailure,
}

impl Law for Instance {
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn paces(&self) -> bool {
        self.paces
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
        let mut fields = view.fields();
        let queued: Vec<f64> = later.iter().flat_map(|later| [later.remaining, later.left]).collect();
        let (state_at, view_at, later_at) = (state.as_mut_ptr(), fields.as_mut_ptr(), queued.as_ptr());
        let trapped = host::call(self.number, event as i32, state_at, state.len(), view_at, later_at, queued.len());
        [view.cwnd, view.ssthresh, view.rate] = [fields[0], fields[1], fields[2]];
        let answer = if trapped == 0 { judge(event, &view.answer()) } else { Err(Failure::Trap("it trapped".into())) };
        let now = view.now;
        answer.map_err(|failure| self.failure.record(now, failed(&self.name, event, now, &failure))).ok()
    }
    fn failure(&self) -> Option<String> {
        self.failure.message()
    }
}
