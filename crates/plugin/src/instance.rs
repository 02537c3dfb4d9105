//! A module with a memory of its own, ready to be called.

use transport::plugin::{Answer, Event, Later, MAX_LATER, View};
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
            let at = function.call(&mut store, ()).map_err(|error| format!("`{name}` {}", stopped(&error)))?;
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
        write(memory.data_mut(&mut store)[values..].as_chunks_mut().0, keys.iter().copied());
        let calls = Event::ALL.map(|event| instance.get_typed_func(&mut store, export(event)).ok());
        Ok(Instance { store, memory, event, state, state_size, calls })
    }

    /// Returns the bytes of a connection's state.
    pub(crate) fn state_size(&self) -> usize {
        self.state_size
    }

    /// Calls the function of an event with the numbers that `encoded` returns.
    #[inline(always)]
    pub(crate) fn call(
        &mut self,
        event: Event,
        state: &mut [u8],
        encoded: impl FnOnce() -> [[u8; 8]; View::FIELDS],
        later: &[Later],
    ) -> Result<Answer, Failure> {
        let Some(function) = &self.calls[event as usize] else { return Err(Failure::Trap("it is missing".into())) };
        let of_connection = self.state..self.state + state.len();
        let data = self.memory.data_mut(&mut self.store);
        data[of_connection.clone()].copy_from_slice(state);
        let (block, _) = data[self.event..self.event + EVENT_BYTES].as_chunks_mut::<8>();
        if let Some(fields) = block.first_chunk_mut() {
            *fields = encoded();
        }
        if !later.is_empty() {
            write(&mut block[View::FIELDS..], later.iter().flat_map(|later| [later.remaining, later.left]));
        }
        let _ = self.store.set_fuel(FUEL);
        function.call(&mut self.store, ()).map_err(|error| stopped(&error))?;
        let data = self.memory.data(&self.store);
        state.copy_from_slice(&data[of_connection]);
        let (block, _) = data[self.event..self.event + EVENT_BYTES].as_chunks::<8>();
        let [cwnd, ssthresh, rate] = [0, 1, 2].map(|index| f64::from_le_bytes(block[index]));
        Ok(Answer { cwnd, ssthresh, rate })
    }
}

/// Writes numbers as a module reads them: keys at its start, and messages that are queued behind another one.
#[cold]
fn write(block: &mut [[u8; 8]], numbers: impl IntoIterator<Item = f64>) {
    for (slot, number) in block.iter_mut().zip(numbers) {
        *slot = number.to_le_bytes();
    }
}

/// Returns the failure of a call that did not return.
#[cold]
fn stopped(error: &wasmtime::Error) -> Failure {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => Failure::Endless,
        _ => Failure::Trap(error.root_cause().to_string()),
    }
}
