//! The interface between duetime and a plug-in, version 1. Leave this file as it is.
#![allow(dead_code)]

/// The numbers of a call. Positions and amounts are in bytes, times in picoseconds, windows in segments, rates in
/// bit/s; flags are 0 or 1. A law may change `cwnd`, `ssthresh` and `rate`.
#[repr(C)]
pub struct Event {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// 0: the window decides. Only with `pacing = true`.
    pub rate: f64,
    /// Minimum of the window after a cut.
    pub floor: f64,
    /// Maximum of the window after growth.
    pub limit: f64,
    pub now: f64,
    /// Bytes that have newly arrived, in order or not.
    pub bytes: f64,
    /// Segments that are newly acknowledged.
    pub segments: f64,
    pub marked: f64,
    pub may_grow: f64,
    pub may_cut: f64,
    /// The position before which all data is acknowledged.
    pub una: f64,
    /// The next position to send.
    pub next: f64,
    pub mss: f64,
    /// 0 before the first sample.
    pub srtt: f64,
    pub min_rtt: f64,
    /// Bytes of the present message that are left; -1 for a flow without end.
    pub remaining: f64,
    pub size: f64,
    /// Time left until its deadline, 0 from then on; -1 without one.
    pub left: f64,
    /// Segments in flight, at a loss.
    pub flight: f64,
    pub timeout: f64,
    /// The window after a timeout.
    pub loss_window: f64,
    /// A number of this connection alone, for random numbers.
    pub identity: f64,
    pub link_rate: f64,
    /// The number of messages in `queued`, those behind the present one.
    pub later: f64,
    pub queued: [Queued; 1000],
}

/// A message behind the present one: bytes up to its end, with all data before it, and the time left.
#[repr(C)]
pub struct Queued {
    pub remaining: f64,
    pub left: f64,
}

/// A law. Its fields are the state of one connection, zeros at first.
pub trait Law {
    /// A connection is opened.
    fn open(&mut self, _: &Event, _keys: &[f64]) {}
    /// New data is acknowledged.
    fn on_ack(&mut self, event: &mut Event, keys: &[f64]);
    /// Data beyond a gap has arrived: `bytes`, with a mark or not.
    fn on_beyond(&mut self, _: &Event, _keys: &[f64]) {}
    /// A loss was detected: set `ssthresh`, the window follows.
    fn on_loss(&mut self, event: &mut Event, _keys: &[f64]) {
        event.ssthresh = (event.flight / 2.0).max(event.floor);
    }
    /// The retransmission timer expired, after `on_loss`: set `cwnd`.
    fn on_timeout(&mut self, event: &mut Event, _keys: &[f64]) {
        event.cwnd = event.cwnd.min(event.loss_window);
    }
    /// A message was enqueued. Only with `pacing = true`.
    fn on_message(&mut self, _: &mut Event, _keys: &[f64]) {}
}

/// Exports a law with its number of keys, and its manifest.
#[macro_export]
macro_rules! export {
    ($law:ty, $keys:literal, $manifest:literal) => {
        static mut EVENT: core::mem::MaybeUninit<$crate::duetime::Event> = core::mem::MaybeUninit::zeroed();
        static mut STATE: core::mem::MaybeUninit<$law> = core::mem::MaybeUninit::zeroed();
        static mut KEYS: [f64; $keys] = [0.0; $keys];

        #[used]
        #[unsafe(link_section = "duetime")]
        static MANIFEST: [u8; include_bytes!($manifest).len()] = *include_bytes!($manifest);

        #[unsafe(no_mangle)]
        extern "C" fn event() -> usize {
            &raw const EVENT as usize
        }
        #[unsafe(no_mangle)]
        extern "C" fn state() -> usize {
            &raw const STATE as usize
        }
        #[unsafe(no_mangle)]
        extern "C" fn state_size() -> usize {
            size_of::<$law>()
        }
        #[unsafe(no_mangle)]
        extern "C" fn keys() -> usize {
            &raw const KEYS as usize
        }
        $crate::export!(@ $law, open, on_ack, on_beyond, on_loss, on_timeout, on_message);

        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo) -> ! {
            core::arch::wasm32::unreachable()
        }
    };
    (@ $law:ty, $($name:ident),*) => {
        $(#[unsafe(no_mangle)]
        extern "C" fn $name() {
            // One call at a time, and the memory is of this module alone.
            let (law, event, keys) = unsafe {
                let (law, event) = ((*&raw mut STATE).assume_init_mut(), (*&raw mut EVENT).assume_init_mut());
                (law, event, &*&raw const KEYS)
            };
            $crate::duetime::Law::$name(law, event, keys);
        })*
    };
}
