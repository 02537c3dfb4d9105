//! A module with a memory of its own, ready to be called.

use transport::plugin::{Event, Later, MAX_LATER, View};
use wasmtime::{Memory, Store, StoreLimits, StoreLimitsBuilder, Trap, TypedFunc};

use crate::interface::{FUEL, Failure, PLACES, export};

/// The largest memory of a module, in bytes.
const MEMORY: usize = 64 << 20;

/// The largest state of a connection, in bytes.
const LARGEST_STATE: usize = 64 << 10;

/// The bytes of the block of numbers that each call has.
pub(crate) const EVENT_BYTES: usize = 8 * (View::FIELDS + 2 * MAX_LATER);

/// An instance of a module. It has no state of its own that a law may rely on: each call brings the connection's.
pub(crate) struct Instance {
    store: Store<StoreLimits>,
    memory: Memory,
    event: usize,
    state: usize,
    state_size: usize,
    calls: [Option<TypedFunc<(), ()>>; Event::ALL.len()],
}

impl Instance {
    /// Starts a module, and writes the values of its keys into its memory.
    pub(crate) fn new(module: &wasmtime::Module, keys: &[f64]) -> Result<Instance, String> {
        let limits = StoreLimitsBuilder::new().memory_size(MEMORY).table_elements(65_536).memories(1).build();
        let mut store = Store::new(module.engine(), limits);
        store.limiter(|limits| limits);
        store.set_fuel(FUEL).map_err(|error| error.to_string())?;
        let instance = wasmtime::Instance::new(&mut store, module, &[])
            .map_err(|error| format!("it cannot be started: {}", error.root_cause()))?;
        let memory = instance.get_memory(&mut store, "memory").ok_or("it does not export its `memory`")?;
        let mut place = |name: &str| -> Result<usize, String> {
            let function = instance.get_typed_func::<(), i32>(&mut store, name).map_err(|error| error.to_string())?;
            store.set_fuel(FUEL).map_err(|error| error.to_string())?;
            let at = function.call(&mut store, ()).map_err(|error| format!("`{name}` {}", trapped(&error)))?;
            Ok(at as u32 as usize)
        };
        let [event, state, state_size, _] = PLACES.map(|(name, _)| name);
        let (event, state, state_size) = (place(event)?, place(state)?, place(state_size)?);
        let values = if keys.is_empty() { 0 } else { place("keys")? };
        if state_size > LARGEST_STATE {
            return Err(format!("`state_size` returns {state_size}, at most {LARGEST_STATE} are possible"));
        }
        let size = memory.data_size(&store);
        for (name, at, bytes) in
            [("event", event, EVENT_BYTES), ("state", state, state_size), ("keys", values, 8 * keys.len())]
        {
            if at.checked_add(bytes).is_none_or(|end| end > size) {
                return Err(format!("the {bytes} bytes at `{name}` = {at} are not in its memory of {size} bytes"));
            }
        }
        write(&mut memory.data_mut(&mut store)[values..], keys.iter().copied());
        let calls = Event::ALL.map(|event| instance.get_typed_func(&mut store, export(event)).ok());
        Ok(Instance { store, memory, event, state, state_size, calls })
    }

    /// Returns the bytes of a connection's state.
    pub(crate) fn state_size(&self) -> usize {
        self.state_size
    }

    /// Calls the function of an event.
    pub(crate) fn call(
        &mut self,
        event: Event,
        state: &mut [u8],
        view: &mut View,
        later: &[Later],
    ) -> Result<(), Failure> {
        let Some(function) = &self.calls[event as usize] else { return Ok(()) };
        let (at, end) = (self.state, self.state + state.len());
        let data = self.memory.data_mut(&mut self.store);
        data[at..end].copy_from_slice(state);
        let block = &mut data[self.event..self.event + EVENT_BYTES];
        let (fields, queued) = block.split_at_mut(8 * View::FIELDS);
        write(fields, view.fields());
        if !later.is_empty() {
            write(queued, later.iter().flat_map(|later| [later.remaining, later.left]));
        }
        let _ = self.store.set_fuel(FUEL);
        function.call(&mut self.store, ()).map_err(|error| match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Failure::Endless,
            _ => Failure::Trap(error.root_cause().to_string()),
        })?;
        let data = self.memory.data(&self.store);
        state.copy_from_slice(&data[at..end]);
        let block = &data[self.event..];
        [view.cwnd, view.ssthresh, view.rate] = [0, 1, 2].map(|index| read(block, index));
        Ok(())
    }
}

/// Returns the reason for a trap, as the rest of a sentence.
fn trapped(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => Failure::Endless.to_string(),
        _ => Failure::Trap(error.root_cause().to_string()).to_string(),
    }
}

#[inline(always)]
fn write(block: &mut [u8], values: impl IntoIterator<Item = f64>) {
    for (slot, value) in block.chunks_exact_mut(8).zip(values) {
        slot.copy_from_slice(&value.to_le_bytes());
    }
}

#[inline(always)]
fn read(block: &[u8], index: usize) -> f64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[8 * index..8 * index + 8]);
    f64::from_le_bytes(bytes)
}
