//! A congestion controller that is loaded at run time: a [`Law`] of another crate behind the interface of a
//! [`Window`].
//!
//! Other transports pay nothing for it: it is one more variant of [`Controller`](super::Controller). The law keeps
//! nothing itself. A connection owns its state, a block of bytes, and passes it to each call. So a law may be called
//! from any thread, and a connection may move between threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use units::{Alias, Instant, Key, Span, Values};

pub use super::Ecn;
use super::{Acked, Current, Cwnd, Lost, Window, float};
use crate::registry::Entry;
use crate::{Message, Needs, Pacing, Site};

/// The events of a connection that a law may handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first event of a connection: the state is all zeros.
    Open,
    /// New data is acknowledged.
    Ack,
    /// Data beyond a gap has arrived: only `bytes` and `marked` are set, and nothing is returned.
    Beyond,
    /// A loss was detected: the law sets `ssthresh`, the window follows.
    Loss,
    /// The retransmission timer expired, after `Loss`: the law sets `cwnd`.
    Timeout,
    /// A message was enqueued. Only with [`Law::paces`].
    Message,
}

impl Event {
    /// All events, in the order of their declaration.
    pub const ALL: [Event; 6] = [Event::Open, Event::Ack, Event::Beyond, Event::Loss, Event::Timeout, Event::Message];
}

/// The most queued messages that a law is told of.
pub const MAX_LATER: usize = 1000;

/// A message that is queued behind the present one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Later {
    /// As [`View::remaining`], with all data before it.
    pub remaining: f64,
    /// As [`View::left`], of this message.
    pub left: f64,
}

/// The numbers that a law is called with, and that it returns in the first three. Positions and amounts are in bytes,
/// times in picoseconds: whole numbers, exact in a float.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// In and out: the congestion window, in segments.
    pub cwnd: f64,
    /// In and out: the slow-start threshold, in segments; infinite at first.
    pub ssthresh: f64,
    /// In and out: the sending rate in bit/s with headers; 0: the window decides. Only with [`Law::paces`].
    pub rate: f64,
    /// Minimum of the window after a cut, in segments.
    pub floor: f64,
    /// Maximum of the window after growth, in segments.
    pub limit: f64,
    /// The present simulated time.
    pub now: f64,
    /// Bytes whose arrival is reported for the first time.
    pub bytes: f64,
    /// Newly acknowledged data, in segments.
    pub segments: f64,
    /// 1 if the acknowledgement has an ECN echo.
    pub marked: f64,
    /// 1 if the window may grow: no loss is being repaired and the window limits the sender.
    pub may_grow: f64,
    /// 1 if a mark may cut the window: no loss is being repaired.
    pub may_cut: f64,
    /// The position before which all data is acknowledged.
    pub una: f64,
    /// The next position to send.
    pub next: f64,
    /// Payload of a full segment.
    pub mss: f64,
    /// The smoothed round-trip time; 0 before the first sample.
    pub srtt: f64,
    /// The least round-trip time so far; 0 before the first sample.
    pub min_rtt: f64,
    /// Bytes of the present message that are not acknowledged; -1 for a flow without end.
    pub remaining: f64,
    /// The size of the present message; -1 for a flow without end.
    pub size: f64,
    /// The time left until its deadline, 0 from then on; -1 without a deadline.
    pub left: f64,
    /// Data that is sent and not acknowledged, in segments. Only with `Loss` and `Timeout`.
    pub flight: f64,
    /// 1 if a timer detected the loss.
    pub timeout: f64,
    /// The window after a timeout, in segments. Only with `Timeout`.
    pub loss_window: f64,
    /// A whole number that no other connection of the run has, below 2^53: the seed of its random numbers.
    pub identity: f64,
    /// The rate of the host's link, in bit/s. Only with `Message`.
    pub link_rate: f64,
    /// The number of queued messages that the law is told of: messages behind the present one.
    pub later: f64,
}

impl View {
    /// The number of fields.
    pub const FIELDS: usize = 25;

    /// A view of nothing.
    pub const BLANK: View = View {
        cwnd: 0.0,
        ssthresh: f64::INFINITY,
        rate: 0.0,
        floor: 0.0,
        limit: f64::INFINITY,
        now: 0.0,
        bytes: 0.0,
        segments: 0.0,
        marked: 0.0,
        may_grow: 0.0,
        may_cut: 0.0,
        una: 0.0,
        next: 0.0,
        mss: 0.0,
        srtt: 0.0,
        min_rtt: 0.0,
        remaining: -1.0,
        size: -1.0,
        left: -1.0,
        flight: 0.0,
        timeout: 0.0,
        loss_window: 0.0,
        identity: 0.0,
        link_rate: 0.0,
        later: 0.0,
    };

    /// Returns the fields that a law sets.
    #[inline]
    pub fn answer(&self) -> Answer {
        Answer { cwnd: self.cwnd, ssthresh: self.ssthresh, rate: self.rate }
    }

    /// Sets the fields that a law sets.
    #[inline]
    pub fn set(&mut self, answer: Answer) {
        (self.cwnd, self.ssthresh, self.rate) = (answer.cwnd, answer.ssthresh, answer.rate);
    }

    /// Returns the fields in the order of their declaration.
    #[inline]
    pub fn fields(&self) -> [f64; View::FIELDS] {
        self.encoded().map(f64::from_le_bytes)
    }

    /// Returns the fields in the order of their declaration, each as the bytes that a module reads. Each is written
    /// out: mapping a list of them takes 500 more instructions for each acknowledgement without an LTO.
    #[inline(always)]
    pub fn encoded(&self) -> [[u8; 8]; View::FIELDS] {
        [
            self.cwnd.to_le_bytes(),
            self.ssthresh.to_le_bytes(),
            self.rate.to_le_bytes(),
            self.floor.to_le_bytes(),
            self.limit.to_le_bytes(),
            self.now.to_le_bytes(),
            self.bytes.to_le_bytes(),
            self.segments.to_le_bytes(),
            self.marked.to_le_bytes(),
            self.may_grow.to_le_bytes(),
            self.may_cut.to_le_bytes(),
            self.una.to_le_bytes(),
            self.next.to_le_bytes(),
            self.mss.to_le_bytes(),
            self.srtt.to_le_bytes(),
            self.min_rtt.to_le_bytes(),
            self.remaining.to_le_bytes(),
            self.size.to_le_bytes(),
            self.left.to_le_bytes(),
            self.flight.to_le_bytes(),
            self.timeout.to_le_bytes(),
            self.loss_window.to_le_bytes(),
            self.identity.to_le_bytes(),
            self.link_rate.to_le_bytes(),
            self.later.to_le_bytes(),
        ]
    }

    #[inline(always)]
    fn of(window: &Cwnd, ack: &Acked, identity: u64, rate: f64) -> View {
        let Later { remaining, left } = Later::of(&ack.message, ack);
        let span = |time: Option<Span>| time.map_or(0.0, |time| float(time.0));
        let flag = |set: bool| if set { 1.0 } else { 0.0 };
        View {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            rate,
            floor: window.floor,
            limit: window.limit,
            now: float(ack.now.0),
            bytes: float(ack.bytes),
            segments: ack.segments,
            marked: flag(ack.marked),
            may_grow: flag(ack.may_grow),
            may_cut: flag(ack.may_cut),
            una: float(ack.una),
            next: float(ack.next),
            mss: ack.mss,
            srtt: span(ack.srtt),
            min_rtt: span(ack.min_rtt),
            remaining,
            size: ack.message.message.bytes.map_or(-1.0, |bytes| float(bytes.0)),
            left,
            identity: float(identity),
            later: float(ack.later.len().min(MAX_LATER) as u64),
            ..View::BLANK
        }
    }
}

/// The fields of a [`View`] that a law sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The new [`View::cwnd`], in segments.
    pub cwnd: f64,
    /// The new [`View::ssthresh`], in segments.
    pub ssthresh: f64,
    /// The new [`View::rate`], in bit/s.
    pub rate: f64,
}

impl Answer {
    /// Returns the field that is no possible one, with its value: a window or threshold that is not above 0, or a rate
    /// below 0. NaN is none, and infinite only the threshold.
    #[inline]
    pub fn impossible(&self) -> Option<(&'static str, f64)> {
        let cwnd = self.cwnd > 0.0 && self.cwnd < f64::INFINITY;
        let rate = self.rate >= 0.0 && self.rate < f64::INFINITY;
        match (cwnd, self.ssthresh > 0.0, rate) {
            (true, true, true) => None,
            (false, ..) => Some(("cwnd", self.cwnd)),
            (true, false, _) => Some(("ssthresh", self.ssthresh)),
            (true, true, false) => Some(("rate", self.rate)),
        }
    }
}

/// An acknowledgement of new data at a connection, before its numbers are computed.
#[derive(Debug)]
pub struct Arrival<'a> {
    window: &'a Cwnd,
    ack: &'a Acked<'a>,
    identity: u64,
    rate: f64,
}

impl Arrival<'_> {
    /// Returns the present simulated time, as [`View::now`].
    #[inline]
    pub fn now(&self) -> f64 {
        float(self.ack.now.0)
    }

    /// Returns the numbers that a law is called with.
    #[inline(always)]
    pub fn view(&self) -> View {
        View::of(self.window, self.ack, self.identity, self.rate)
    }
}

impl Later {
    /// Returns the rest of a message.
    #[inline]
    fn of(current: &Current, ack: &Acked) -> Later {
        let Message { bytes, deadline, .. } = current.message;
        let remaining = bytes.map_or(-1.0, |_| float(current.end.saturating_sub(ack.una)));
        Later { remaining, left: deadline.map_or(-1.0, |deadline| float(deadline.saturating_sub(ack.now).0)) }
    }
}

/// A law that is loaded at run time, with the values of its keys.
pub trait Law: std::fmt::Debug + Send + Sync {
    /// Returns the use of ECN.
    fn ecn(&self) -> Ecn;
    /// Returns true if it sets [`View::rate`].
    fn paces(&self) -> bool;
    /// Returns true if it handles events of this kind. It handles [`Event::Ack`].
    fn handles(&self, event: Event) -> bool;
    /// Returns the bytes of a connection's state.
    fn state_size(&self) -> usize;
    /// Handles an event: changes the state and the first fields of the view. Returns none after a failure, which it
    /// reports by [`failure`](Law::failure).
    fn call(&self, event: Event, state: &mut [u8], view: &mut View, later: &[Later]) -> Option<()>;
    /// Handles an acknowledgement of new data, as [`call`](Law::call) with [`Event::Ack`]. A law that passes the numbers
    /// on computes them itself, at the place that they are needed at.
    fn acknowledge(&self, state: &mut [u8], arrival: &Arrival, later: &[Later]) -> Option<Answer> {
        let mut view = arrival.view();
        self.call(Event::Ack, state, &mut view, later)?;
        Some(view.answer())
    }
    /// Returns the first failure, as a message for the user. The run is of no use from then on.
    fn failure(&self) -> Option<String>;
    /// Returns the reason for which its runs have one thread, if they do.
    fn one_thread(&self) -> Option<&'static str> {
        None
    }
}

/// The first failure of a law, in simulated time, from whichever thread.
#[derive(Debug, Default)]
pub struct FirstFailure {
    happened: AtomicBool,
    /// Its time in picoseconds, and the message.
    first: Mutex<Option<(f64, String)>>,
}

impl FirstFailure {
    /// Returns true if the law has failed: it is not called again.
    #[inline]
    pub fn has_happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    /// Records a failure at a time in picoseconds, as a message for the user.
    #[cold]
    pub fn record(&self, now: f64, message: String) {
        self.happened.store(true, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(at, _)| now < *at) {
            *first = Some((now, message));
        }
    }

    /// Returns the message, if there is one.
    pub fn message(&self) -> Option<String> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(|(_, message)| message.clone())
    }
}

/// A controller that calls a [`Law`].
#[derive(Clone, Debug)]
pub struct Plugin {
    law: Arc<dyn Law>,
    /// None before the first event.
    state: Option<Box<[u8]>>,
    identity: u64,
    rate: f64,
    /// The queued messages of the present event.
    later: Vec<Later>,
}

/// Equal ones are of the same law with the same values, and in the same state.
impl PartialEq for Plugin {
    fn eq(&self, other: &Plugin) -> bool {
        Arc::ptr_eq(&self.law, &other.law) && (&self.state, self.identity) == (&other.state, other.identity)
    }
}

impl Plugin {
    /// Returns a controller in its first state.
    pub fn new(law: Arc<dyn Law>) -> Plugin {
        Plugin { law, state: None, identity: 0, rate: 0.0, later: Vec::new() }
    }

    /// Returns the law, which all connections share.
    pub fn law(&self) -> &Arc<dyn Law> {
        &self.law
    }

    /// Returns the view of an event, and notes the queued messages.
    fn view(&mut self, window: &Cwnd, ack: &Acked) -> View {
        self.note_later(ack);
        View::of(window, ack, self.identity, self.rate)
    }

    /// Notes the queued messages.
    #[inline(always)]
    fn note_later(&mut self, ack: &Acked) {
        self.later.clear();
        if !ack.later.is_empty() {
            self.later.extend(ack.later.iter().take(MAX_LATER).map(|later| Later::of(later, ack)));
        }
    }

    /// Calls the law, and sets the window from its answer. Returns false if it does not handle the event, or fails.
    #[inline]
    fn call(&mut self, event: Event, window: &mut Cwnd, view: &mut View) -> bool {
        if !self.open(|| view.clone()) || !self.law.handles(event) {
            return false;
        }
        let state = self.state.as_deref_mut().unwrap_or_default();
        if self.law.call(event, state, view, &self.later).is_none() {
            return false;
        }
        self.set(view.answer(), window);
        true
    }

    /// Sets the window and the rate.
    #[inline]
    fn set(&mut self, answer: Answer, window: &mut Cwnd) {
        window.cwnd = answer.cwnd.min(window.limit);
        window.ssthresh = answer.ssthresh;
        self.rate = answer.rate;
    }

    /// Opens the connection if this is its first event; returns false after a failure.
    #[inline]
    fn open(&mut self, view: impl FnOnce() -> View) -> bool {
        self.state.is_some() || self.open_first(view())
    }

    #[cold]
    fn open_first(&mut self, mut view: View) -> bool {
        let state = self.state.insert(vec![0; self.law.state_size()].into_boxed_slice());
        // It sets up the state; the window is not its own yet.
        !self.law.handles(Event::Open) || self.law.call(Event::Open, state, &mut view, &[]).is_some()
    }
}

impl Window for Plugin {
    fn ecn(&self) -> Ecn {
        self.law.ecn()
    }
    fn identify(&mut self, identity: u64) {
        // Exact as a float.
        self.identity = identity >> 11;
    }
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        let before = window.cwnd;
        self.note_later(ack);
        let arrival = Arrival { window, ack, identity: self.identity, rate: self.rate };
        if !self.open(|| arrival.view()) {
            return false;
        }
        let state = self.state.as_deref_mut().unwrap_or_default();
        let Some(answer) = self.law.acknowledge(state, &arrival, &self.later) else { return false };
        self.set(answer, window);
        window.cwnd < before
    }
    fn on_beyond(&mut self, bytes: u64, marked: bool) {
        // It has no window, and returns none.
        let mut view = View { cwnd: 1.0, identity: self.identity as f64, ..View::BLANK };
        if self.open(|| view.clone()) && self.law.handles(Event::Beyond) {
            (view.bytes, view.marked) = (bytes as f64, f64::from(u8::from(marked)));
            let state = self.state.as_deref_mut().unwrap_or_default();
            self.law.call(Event::Beyond, state, &mut view, &[]);
        }
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        let mut view =
            View { flight: loss.flight, timeout: f64::from(u8::from(loss.timeout)), ..self.view(window, &loss.state) };
        if !self.call(Event::Loss, window, &mut view) {
            window.halve(loss);
        }
    }
    fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, loss: &Lost) {
        let mut view = View { flight: loss.flight, timeout: 1.0, loss_window, ..self.view(window, &loss.state) };
        if !self.call(Event::Timeout, window, &mut view) {
            window.cwnd = window.cwnd.min(loss_window);
        }
    }
    fn paces(&self) -> bool {
        self.law.paces()
    }
    fn pacing_rate(&self, pacing: &Pacing, window: &Cwnd) -> Option<f64> {
        pacing.gain(window).map(|gain| gain * window.cwnd)
    }
    fn rate(&mut self, _: Instant, _: u64) -> Option<f64> {
        (self.law.paces() && self.rate > 0.0).then_some(self.rate)
    }
    fn on_message(&mut self, window: &mut Cwnd, state: &Acked, _idle: bool, site: Site) {
        if self.law.paces() {
            let mut view = View { link_rate: site.rate.as_bps_f64(), ..self.view(window, state) };
            self.call(Event::Message, window, &mut view);
        }
    }
    fn blocked_until(&self) -> Instant {
        Instant::ZERO
    }
}

/// The description of a transport that is loaded at run time.
#[derive(Debug)]
pub struct Described {
    /// Its name in tables.
    pub name: &'static str,
    /// One sentence about it.
    pub help: &'static str,
    /// The source of the law.
    pub source: &'static str,
    /// The keys of `[transport]` that it reads beside the shared ones.
    pub keys: &'static [&'static [Key]],
    /// Its use of ECN.
    pub ecn: Ecn,
    /// The function that makes a law with these values.
    pub module: &'static dyn Module,
}

/// A module that makes laws.
pub trait Module: std::fmt::Debug + Send + Sync {
    /// Returns the law with the values of its keys, in the order of their declaration.
    ///
    /// # Errors
    /// A message for the user if the module does not work.
    fn law(&self, values: &Values) -> Result<Arc<dyn Law>, String>;
}

/// The needs of a law that is loaded.
pub(crate) fn needs(ecn: Ecn) -> Needs {
    match ecn {
        Ecn::Off => Needs::of("nothing", "a window law"),
        Ecn::Classic => Needs::of("ECN marks", "a window law"),
        Ecn::Exact => Needs::of("ECN marks", "a window law, and an exact echo of marks"),
    }
}

/// Other words for its name: none.
pub(crate) const ALIASES: &[Alias] = &[];

/// Loads a module: from its name in messages and its bytes. The same module is loaded once.
pub type Loader = fn(&str, &[u8]) -> Result<&'static Entry, String>;

static LOADER: OnceLock<Loader> = OnceLock::new();

/// Sets the function that loads modules, once for the whole process. The runtime of WebAssembly is in another crate,
/// so that programs without it can be built.
pub fn install(loader: Loader) {
    // A second call is of the same shell.
    let _ = LOADER.set(loader);
}

/// Loads a module.
///
/// # Errors
/// A message for the user: it is not valid, or this program loads none.
pub fn load(name: &str, bytes: &[u8]) -> Result<&'static Entry, String> {
    match LOADER.get() {
        Some(loader) => loader(name, bytes),
        None => Err("plug-ins cannot be loaded here".into()),
    }
}

/// The beginning of the name of a controller that the program itself has registered, where a path would be.
pub const REGISTERED: &str = "python:";

static KNOWN: Mutex<Vec<(String, &'static Entry)>> = Mutex::new(Vec::new());

/// Registers a controller of the program itself, so that scenarios can name it. An earlier one of the name is replaced.
pub fn register(name: &str, entry: &'static Entry) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|(other, _)| other != name);
    known.push((name.to_owned(), entry));
}

/// Returns the registered controller of that name.
///
/// # Errors
/// A message for the user if there is none in this process.
pub fn registered(name: &str) -> Result<&'static Entry, String> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known.iter().find(|(other, _)| other == name).map(|(_, entry)| *entry);
    found.ok_or_else(|| format!("the controller `{name}` is a Python class of another process"))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::controllers::tests::{acked, cwnd};

    /// A law that halves its window for a mark, counts its calls in the state, and fails when asked to.
    #[derive(Debug, Default)]
    struct Halves {
        calls: Mutex<Vec<(Event, View)>>,
        fails: bool,
    }

    impl Law for Halves {
        fn ecn(&self) -> Ecn {
            Ecn::Exact
        }
        fn paces(&self) -> bool {
            true
        }
        fn handles(&self, event: Event) -> bool {
            event != Event::Timeout
        }
        fn state_size(&self) -> usize {
            1
        }
        fn call(&self, event: Event, state: &mut [u8], view: &mut View, _: &[Later]) -> Option<()> {
            self.calls.lock().unwrap().push((event, view.clone()));
            if self.fails {
                return None;
            }
            state[0] += 1;
            view.ssthresh = f64::from(state[0]);
            view.cwnd *= if view.marked == 1.0 { 0.5 } else { 2.0 };
            view.rate = 7.0;
            Some(())
        }
        fn failure(&self) -> Option<String> {
            self.fails.then(|| "it failed".into())
        }
    }

    fn plugin(fails: bool) -> (Plugin, Arc<Halves>) {
        let law = Arc::new(Halves { fails, ..Halves::default() });
        (Plugin::new(law.clone()), law)
    }

    fn lost(flight: f64) -> Lost<'static> {
        Lost { now: Instant::ZERO, state: acked(1, false), flight, timeout: false }
    }

    #[test]
    fn lower_window_counts_as_a_cut_and_the_limit_holds() {
        let (mut plugin, _) = plugin(false);
        let mut window = Cwnd { limit: 30.0, ..cwnd(20.0) };
        assert!(!plugin.on_ack(&mut window, &acked(1, false)));
        assert_eq!((window.cwnd, window.ssthresh, plugin.rate(Instant::ZERO, 0)), (30.0, 2.0, Some(7.0)));
        assert!(plugin.on_ack(&mut window, &acked(2, true)));
        assert_eq!((window.cwnd, window.ssthresh), (15.0, 3.0));
    }

    #[test]
    fn connection_is_opened_once_and_before_any_other_event() {
        let (mut plugin, law) = plugin(false);
        plugin.identify(u64::MAX);
        plugin.on_beyond(1000, true);
        plugin.on_loss(&mut cwnd(20.0), &lost(8.0));
        let calls = law.calls.lock().unwrap();
        let events: Vec<Event> = calls.iter().map(|(event, _)| *event).collect();
        assert_eq!(events, [Event::Open, Event::Beyond, Event::Loss]);
        assert_eq!((calls[1].1.bytes, calls[1].1.marked, calls[2].1.flight), (1000.0, 1.0, 8.0));
        assert!(calls.iter().all(|(_, view)| view.identity == ((1u64 << 53) - 1) as f64));
    }

    #[test]
    fn events_that_are_not_handled_and_failures_have_the_standard_answers() {
        let (mut plugin, law) = self::plugin(false);
        let mut window = cwnd(20.0);
        plugin.on_timeout(&mut window, 1.0, &lost(8.0));
        assert_eq!(window.cwnd, 1.0);
        assert_eq!(law.failure(), None);
        let (mut failing, law) = self::plugin(true);
        let mut window = cwnd(20.0);
        assert!(!failing.on_ack(&mut window, &acked(1, true)));
        assert_eq!(window.cwnd, 20.0);
        failing.on_loss(&mut window, &lost(8.0));
        assert_eq!((window.ssthresh, law.failure().is_some()), (4.0, true));
    }

    #[test]
    fn failure_with_the_least_time_is_the_first() {
        let failure = FirstFailure::default();
        assert_eq!((failure.has_happened(), failure.message()), (false, None));
        for (now, message) in [(5.0, "second"), (3.0, "first"), (9.0, "third")] {
            failure.record(now, message.into());
        }
        assert_eq!((failure.has_happened(), failure.message().as_deref()), (true, Some("first")));
    }

    #[test]
    fn view_has_exact_numbers_of_the_message_and_of_later_ones() {
        let (mut plugin, _) = plugin(false);
        let mut ack = acked(10, true);
        ack.message.message.deadline = Some(ack.now + Span::from_micros(30));
        let later = [Current { end: 1_005_000, message: Message::of(units::Bytes(5000)) }].into();
        let ack = Acked { later: &later, ..ack };
        let view = plugin.view(&cwnd(20.0), &ack);
        assert_eq!((view.remaining, view.size, view.left), (990_000.0, 1e6, 30e6));
        assert_eq!((view.srtt, view.min_rtt, view.una, view.next), (100e6, 80e6, 10_000.0, 20_000.0));
        assert_eq!((view.later, &*plugin.later), (1.0, &[Later { remaining: 995_000.0, left: -1.0 }][..]));
        assert_eq!(view.fields()[..3], [20.0, 1.0, 0.0]);
        assert_eq!(view.fields()[View::FIELDS - 1], 1.0);
    }
}
