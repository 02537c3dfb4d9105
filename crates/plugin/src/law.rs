//! A module with the values of its keys, as a law.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use transport::plugin::{Answer, Arrival, Ecn, Event, FirstFailure, Later, Law, Module, View};
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

    /// Calls the instance of this thread at `now`, and judges its answer. Returns none after a failure, which it records.
    #[inline(always)]
    fn answer(
        &self,
        event: Event,
        now: f64,
        state: &mut [u8],
        encoded: impl FnOnce() -> [[u8; 8]; View::FIELDS],
        later: &[Later],
    ) -> Option<Answer> {
        if self.failure.has_happened() {
            return None;
        }
        let called = INSTANCES.with_borrow_mut(|instances| {
            let index = match instances.iter().position(|(number, _)| *number == self.number) {
                Some(index) => index,
                None => self.start(instances)?,
            };
            instances[index].1.call(event, state, encoded, later)
        });
        let judged = called.and_then(|answer| judge(event, &answer).map(|()| answer));
        judged.map_err(|failure| self.record(event, now, &failure)).ok()
    }

    /// Starts an instance, and returns its index.
    #[cold]
    fn start(&self, instances: &mut Vec<(u64, Instance)>) -> Result<usize, Failure> {
        if instances.len() == MAX_INSTANCES {
            instances.remove(0);
        }
        instances.push((self.number, Instance::new(&self.compiled.module, &self.keys).map_err(Failure::Trap)?));
        Ok(instances.len() - 1)
    }

    /// Records a failure of a call at `now`.
    #[cold]
    fn record(&self, event: Event, now: f64, failure: &Failure) {
        self.failure.record(now, failed(&self.compiled.name, event, now, failure));
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
        let answer = self.answer(event, view.now, state, || view.encoded(), later)?;
        view.set(answer);
        Some(())
    }
    fn acknowledge(&self, state: &mut [u8], arrival: &Arrival, later: &[Later]) -> Option<Answer> {
        self.answer(Event::Ack, arrival.now(), state, || arrival.view().encoded(), later)
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

#[cfg(test)]
mod tests {
    use transport::Message;
    use transport::controllers::{Acked, Current, Cwnd, NO_MORE, Window};
    use transport::plugin::Plugin;
    use units::{Bytes, Instant};

    use super::*;

    /// Returns a law of a module whose `on_ack` has this body. Its state is one float.
    fn law(on_ack: &str) -> Arc<dyn Law> {
        let text = format!(
            r#"(module (@custom "duetime" "abi = 1\n") (memory (export "memory") 1)
            (func (export "event") (result i32) (i32.const 0))
            (func (export "state") (result i32) (i32.const 16384))
            (func (export "state_size") (result i32) (i32.const 8))
            (func (export "on_ack") {on_ack}))"#
        );
        let (compiled, _) = Compiled::new("test", text.as_bytes()).unwrap();
        Arc::new(Loaded::new(Arc::new(compiled), Vec::new()).unwrap())
    }

    /// Sends an acknowledgement of `segments` at a time in microseconds; returns the window, which was 10 before.
    fn ack(connection: &mut Plugin, segments: f64, now: u64) -> f64 {
        let mut window = Cwnd { cwnd: 10.0, ssthresh: f64::INFINITY, floor: 2.0, limit: 1e9 };
        let ack = Acked {
            now: Instant::from_micros(now),
            bytes: 1000,
            segments,
            marked: false,
            may_grow: true,
            may_cut: true,
            una: 1000,
            next: 2000,
            mss: 1000.0,
            srtt: None,
            min_rtt: None,
            sample: None,
            message: Current { end: 5000, message: Message::of(Bytes(5000)) },
            later: &NO_MORE,
        };
        connection.on_ack(&mut window, &ack);
        window.cwnd
    }

    /// Adds the segments to the state, and returns it as the window.
    const SUM: &str = "(f64.store (i32.const 16384) (f64.add (f64.load (i32.const 16384)) (f64.load (i32.const 56))))
        (f64.store (i32.const 0) (f64.load (i32.const 16384)))";

    /// Counts down from the segments: six instructions or more per segment.
    const COUNT: &str = "(local $left f64) (local.set $left (f64.load (i32.const 56)))
        (loop $again (local.set $left (f64.sub (local.get $left) (f64.const 1)))
            (br_if $again (f64.gt (local.get $left) (f64.const 0))))";

    #[test]
    fn connections_that_alternate_keep_their_own_states() {
        let (one, other) = (law(SUM), law(SUM));
        let mut connections = [&one, &one, &other].map(|law| Plugin::new(Arc::clone(law)));
        let calls = [(0, 1.0), (1, 5.0), (0, 2.0), (0, 3.0), (2, 7.0), (1, 6.0), (2, 1.0), (0, 4.0)];
        let windows = calls.map(|(index, segments)| ack(&mut connections[index], segments, 1));
        assert_eq!(windows, [1.0, 5.0, 3.0, 6.0, 7.0, 11.0, 8.0, 10.0]);
    }

    #[test]
    fn state_moves_with_its_connection_to_another_thread() {
        let mut connection = Plugin::new(law(SUM));
        assert_eq!(ack(&mut connection, 1.0, 1), 1.0);
        let mut connection = std::thread::spawn(move || {
            assert_eq!(ack(&mut connection, 2.0, 2), 3.0);
            connection
        })
        .join()
        .unwrap();
        assert_eq!(ack(&mut connection, 4.0, 3), 7.0);
    }

    #[test]
    fn limit_of_instructions_is_that_of_each_call_alone() {
        let law = law(COUNT);
        let mut connection = Plugin::new(Arc::clone(&law));
        // Together they take more than the limit several times over: 30 times a million rounds of six instructions.
        for now in 0..30 {
            assert_eq!(ack(&mut connection, 1e6, now), 10.0);
        }
        assert_eq!(law.failure(), None);
        ack(&mut connection, 1e8, 30);
        let expected = "the plug-in `test`: `on_ack` did not return within 10 million instructions, 30 us into the run";
        assert_eq!(law.failure().as_deref(), Some(expected));
    }

    #[test]
    fn law_that_traps_in_a_run_is_not_called_again() {
        // It divides by zero at the third acknowledgement.
        let divide = "(drop (i32.div_u (i32.const 1)
            (i32.sub (i32.const 6) (i32.trunc_f64_u (f64.load (i32.const 16384))))))";
        let law = law(&format!("{SUM} {divide}"));
        let mut connections = [&law, &law].map(|law| Plugin::new(Arc::clone(law)));
        assert_eq!(ack(&mut connections[0], 2.0, 1), 2.0);
        assert_eq!(ack(&mut connections[1], 4.0, 2), 4.0);
        assert_eq!(ack(&mut connections[0], 4.0, 3), 10.0, "the answer to a call that fails is not used");
        assert_eq!(ack(&mut connections[1], 1.0, 4), 10.0, "nor that of a later one");
        let expected = "the plug-in `test`: `on_ack` failed: wasm trap: integer divide by zero, 3 us into the run";
        assert_eq!(law.failure().as_deref(), Some(expected));
    }

    #[test]
    fn number_that_a_law_has_overwritten_is_written_anew() {
        // It returns `loss_window`, which is 0 in an acknowledgement, plus `mss`, and overwrites both.
        let overwrite = "(f64.store (i32.const 0) (f64.add (f64.load (i32.const 168)) (f64.load (i32.const 104))))
            (f64.store (i32.const 168) (f64.const 3)) (f64.store (i32.const 104) (f64.const 4))";
        let mut connection = Plugin::new(law(overwrite));
        assert_eq!([1, 2].map(|now| ack(&mut connection, 1.0, now)), [1000.0, 1000.0]);
    }
}
