//! The window law that the kernel runs (`deploy/linux/bpf/law.h`), compiled for the host.
//!
//! As a crate it can be tested without a kernel: its properties, and its agreement with vectors from the simulator's
//! law.

/// The fixed-point 1 of fractions: alpha, p, g and shares.
pub const ONE: u32 = 1 << 30;
/// The fixed-point 1 of windows in segments, of d, and of round trips.
pub const UNIT: u64 = 1 << 20;
/// The minimum window after a cut.
pub const FLOOR: u64 = 2 * UNIT;
/// The maximum window, 2^20 segments.
pub const MAX_WINDOW: u64 = UNIT << 20;
/// Bit in the result of [`State::on_ack`]: the window was cut.
pub const CUT: u32 = 1;
/// Bit in the result of [`State::on_ack`]: `max_d` made d smaller.
pub const LIMITED: u32 = 16;
/// Bit in the result of [`State::on_ack`]: a window ended and alpha was updated.
pub const WINDOW: u32 = 2;
/// The number of steps in the tables of logarithms and powers.
pub const STEPS: u32 = 256;

/// The treatment of a message past its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Expired {
    /// The message counts as neutral: d = 1.
    Neutral,
    /// The message has the highest urgency: d = n.
    Cap,
    /// The message yields to others: d = 1/n.
    Yield,
}

/// The parameters of the law: `struct law_parameters`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Parameters {
    /// Weight of the last window's share of marks in alpha, of [`ONE`].
    pub g: u32,
    /// The initial alpha, of [`ONE`].
    pub initial_alpha: u32,
    /// The cap n of d, of [`UNIT`].
    pub cap: u32,
    /// The value of an [`Expired`].
    pub expired: u32,
    /// If not 0, T_c is computed from the sawtooth's sum.
    pub precise: u32,
    /// If not 0, T_c is in smallest round trips.
    pub minimum_rtt: u32,
    /// If not 0, messages with a deadline follow [`Plus`].
    pub mode: u32,
    /// The initial window in segments; 0 for the kernel's default.
    pub initial_window: u32,
    /// The factor of the times of [`Plus`], of [`UNIT`].
    pub time_scale: u32,
    /// Reserved, must be 0.
    pub reserved: u32,
    /// The minimum retransmission timeout; 0 for the kernel's.
    pub rto_min_ns: u64,
    /// The margin subtracted from the time left.
    pub margin_ns: u64,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            g: ONE / 16,
            initial_alpha: ONE,
            cap: 2 * UNIT as u32,
            expired: Expired::Neutral as u32,
            precise: 0,
            minimum_rtt: 0,
            mode: 0,
            initial_window: 0,
            time_scale: UNIT as u32,
            reserved: 0,
            rto_min_ns: 0,
            margin_ns: 0,
        }
    }
}

/// The state of a connection: `struct law_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct State {
    pub cwnd: u64,
    pub ssthresh: u64,
    pub alpha: u32,
    pub d: u32,
    pub p: u32,
    pub started: u32,
    pub acked: u64,
    pub marked: u64,
    pub window_end: u64,
    pub cut_end: u64,
    pub loss_end: u64,
    pub prior_cwnd: u64,
    pub prior_ssthresh: u64,
}

/// A message with a deadline: `struct law_message`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Message {
    /// The position of its end in the stream; 0 for no message.
    pub end: u64,
    /// The deadline, as an absolute time.
    pub deadline_ns: u64,
}

/// The maximum number of queued messages.
pub const QUEUE: usize = 32;
/// The number of outcomes that a queue keeps.
pub const OUTCOMES: usize = 8;

/// A queued message: `struct law_waiting`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Waiting {
    pub message: Message,
    pub begin: u64,
    pub tag: u64,
}

/// The outcome of a message: `struct d2tcp_outcome`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Outcome {
    pub tag: u64,
    pub left_ns: i64,
    pub result: u32,
    pub number: u32,
}

/// The message was acknowledged in time.
pub const MET: u32 = 1;
/// The message was acknowledged late.
pub const MISSED: u32 = 2;
/// The message was cancelled.
pub const CANCELLED: u32 = 3;

/// The queued messages of a connection, in order: `struct law_queue`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Queue {
    pub first: u32,
    pub count: u32,
    pub last_end: u64,
    pub met: u64,
    pub missed: u64,
    pub cancelled: u64,
    gap: u64,
    kept: u32,
    reserved: u32,
    waiting: [Waiting; QUEUE],
    outcomes: [Outcome; OUTCOMES],
}

/// The result of an announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announced {
    /// There were no bytes to announce.
    Nothing,
    /// A message was added.
    Announced,
    /// The last message got another deadline.
    Corrected,
    /// The queue is full.
    Full,
}

/// The arguments of an announcement: `struct law_announcement`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Announcement {
    /// The size; 0 for all bytes written so far.
    pub bytes: u64,
    /// The deadline, as an absolute time.
    pub deadline_ns: u64,
    /// The program's name for the message.
    pub tag: u64,
    /// The position before which everything has been written.
    pub written: u64,
    /// The time of the announcement.
    pub now_ns: u64,
    /// The flags: [`ENDS_PREVIOUS`] or 0.
    pub flags: u32,
    /// Reserved, must be 0.
    pub reserved: u32,
}

/// Flag: earlier messages end with the bytes written so far.
pub const ENDS_PREVIOUS: u32 = 1;

impl Queue {
    /// Announces a message; `struct law_queue` in C explains the queue.
    pub fn announce(&mut self, wanted: &Announcement) -> Announced {
        // SAFETY: the structures have the layout of queue.h, which a test compares.
        match unsafe { c::host_announce(self, wanted) } {
            0 => Announced::Nothing,
            1 => Announced::Announced,
            2 => Announced::Corrected,
            _ => Announced::Full,
        }
    }
    /// Removes the messages whose last byte has been acknowledged.
    pub fn complete(&mut self, una: u64, now_ns: u64) {
        // SAFETY: as above.
        unsafe { c::host_complete(self, una, now_ns) }
    }
    /// Cancels the messages with a tag, or all for 0.
    pub fn cancel(&mut self, written: u64, tag: u64, now_ns: u64) {
        // SAFETY: as above.
        unsafe { c::host_cancel(self, written, tag, now_ns) }
    }
    /// Returns d, of [`UNIT`].
    pub fn imminence(&self, how: &Parameters, cwnd: u64, ack: &Ack) -> u32 {
        // SAFETY: as above.
        unsafe { c::host_queue_imminence(how, self, cwnd, ack) }
    }
    /// Returns the queued messages, in order.
    pub fn waiting(&self) -> Vec<Waiting> {
        (0..self.count).map(|number| self.waiting[(self.first + number) as usize % QUEUE]).collect()
    }
    /// Returns the last outcomes, the youngest first.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let all = (self.met + self.missed + self.cancelled) as usize;
        (0..all.min(OUTCOMES)).map(|back| self.outcomes[(all - 1 - back) % OUTCOMES]).collect()
    }
    /// Appends a message, which begins at the end of the last one.
    pub fn push(&mut self, message: Message) {
        assert!(message.end > self.last_end && (self.count as usize) < QUEUE);
        self.waiting[(self.first + self.count) as usize % QUEUE] = Waiting { message, begin: self.last_end, tag: 0 };
        self.last_end = message.end;
        self.count += 1;
    }
    /// Returns a queue with one message, or an empty one if the message has no end.
    pub fn of(message: Message) -> Queue {
        let mut queue = Queue::default();
        if message.end > 0 {
            queue.push(message);
        }
        queue
    }
}

/// The state of a window reduction: `struct law_reduction`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Reduction {
    pub prior: u32,
    pub target: u32,
    pub flight: u32,
    pub delivered: u32,
    pub delivered_all: u32,
    pub out: u32,
    pub first: u32,
}

impl Reduction {
    /// Returns the present window, in segments.
    pub fn window(&self) -> u32 {
        // SAFETY: as above.
        unsafe { c::host_reduced(self) }
    }
}

/// An acknowledgement: `struct law_ack`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Ack {
    pub now_ns: u64,
    pub acked: u64,
    pub marked: u64,
    pub segments: u32,
    pub may_grow: u32,
    pub may_cut: u32,
    pub mss: u32,
    pub una: u64,
    pub next: u64,
    pub rtt_ns: u64,
    pub max_d: u32,
    pub reserved: u32,
}

impl State {
    /// Returns the state of a new connection.
    pub fn start(how: &Parameters, cwnd: u64, ssthresh: u64) -> State {
        let mut state = State::default();
        // SAFETY: both pointers are to structures with the layout of law.h, which a test compares.
        unsafe { c::host_start(&mut state, how, cwnd, ssthresh) };
        state
    }
    /// Applies the law to an acknowledgement. Returns the bits [`CUT`] and [`WINDOW`].
    pub fn on_ack(&mut self, how: &Parameters, queue: &Queue, ack: &Ack) -> u32 {
        // SAFETY: as above.
        unsafe { c::host_on_ack(self, how, queue, ack) }
    }
    /// Shrinks the window after an idle time of this many retransmission timeouts.
    pub fn idle(&mut self, timeouts: u64, initial: u32) {
        // SAFETY: as above.
        unsafe { c::host_idle(self, timeouts, initial) }
    }
    /// Adapts the window to another segment size.
    pub fn resize(&mut self, before: u32, mss: u32) {
        // SAFETY: as above.
        unsafe { c::host_resize(self, before, mss) }
    }
    /// Applies the law to a loss. Returns true if the window was halved.
    pub fn on_loss(&mut self, una: u64, next: u64) -> bool {
        // SAFETY: as above.
        unsafe { c::host_on_loss(self, una, next) != 0 }
    }
    /// Reverts the last reduction, for a spurious loss.
    pub fn undo(&mut self) {
        // SAFETY: as above.
        unsafe { c::host_undo(self) }
    }
}

/// Bit in the result of [`Plus::on_ack`] and [`Plus::on_loss`]: the message is held.
pub const HELD: u32 = 4;
/// Bit in the same results: a message has a deadline, so [`State::on_ack`] must not be called.
pub const ANSWERED: u32 = 8;

/// The state of d2tcp_plus in addition to [`State`]: `struct law_plus`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Plus {
    pub end: u64,
    pub allowed_ns: u64,
    pub held_until_ns: u64,
    pub lifted: u32,
    pub stirred: u32,
    pub pressed: u32,
    pub hopeless: u32,
}

/// Numbers drawn evenly from all 32 bits: `struct law_draws`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Draws {
    /// The draw for the decision to hold.
    pub whether: u32,
    /// The draw for the length of the hold.
    pub length: u32,
}

impl Plus {
    /// Applies the law to an acknowledgement. Returns 0 if no message has a deadline.
    pub fn on_ack(&mut self, state: &mut State, how: &Parameters, queue: &Queue, ack: &Ack, draws: Draws) -> u32 {
        // SAFETY: the structures have the layout of plus.h, which a test compares.
        unsafe { c::host_plus_on_ack(state, self, how, queue, ack, &draws) }
    }
    /// Applies the law to a loss. Returns 0 if no message has a deadline.
    pub fn on_loss(&mut self, state: &mut State, how: &Parameters, queue: &Queue, ack: &Ack, draws: Draws) -> u32 {
        // SAFETY: as above.
        unsafe { c::host_plus_on_loss(state, self, how, queue, ack, &draws) }
    }
    /// Returns need and laxity at a window of the message with the largest need. The need is in segments per round
    /// trip, of [`UNIT`], and the laxity in ns.
    pub fn standing(&self, how: &Parameters, queue: &Queue, ack: &Ack, cwnd: u64) -> Option<(u64, i64)> {
        let (mut need, mut laxity) = (0, 0);
        // SAFETY: as above; the two numbers are valid to write.
        let found = unsafe { c::host_plus_standing(self, how, queue, ack, cwnd, &mut need, &mut laxity) };
        (found != 0).then_some((need, laxity))
    }
    /// Returns the pacing rate of a held message in bytes per second; 0 without a hold.
    pub fn hold_rate(&self, mss: u32, now_ns: u64) -> u64 {
        // SAFETY: as above.
        unsafe { c::host_hold_rate(self, mss, now_ns) }
    }
}

/// Returns a * b / c * 2^shift, or `u64::MAX` if it does not fit.
pub fn scale(a: u64, b: u64, c: u64, shift: u32) -> u64 {
    // SAFETY: the arguments are numbers.
    unsafe { c::host_scale(a, b, c, shift) }
}

/// Returns the square root, rounded down.
pub fn root(x: u64) -> u64 {
    // SAFETY: the arguments are numbers.
    unsafe { c::host_root(x) }
}

/// Returns p = alpha^d, for alpha of [`ONE`] and d of [`UNIT`].
pub fn penalty(alpha: u32, d: u32) -> u32 {
    // SAFETY: the arguments are numbers.
    unsafe { c::host_penalty(alpha, d) }
}

/// Returns the round trips that `left` bytes need, of [`UNIT`].
pub fn rounds(left: u64, mss: u32, cwnd: u64, precise: bool) -> u64 {
    // SAFETY: the arguments are numbers.
    unsafe { c::host_rounds(left, mss, cwnd, precise.into()) }
}

/// Returns the d of one message, of [`UNIT`].
pub fn imminence(how: &Parameters, message: &Message, cwnd: u64, ack: &Ack) -> u32 {
    // SAFETY: the structures have the layout of law.h.
    unsafe { c::host_imminence(how, message, cwnd, ack) }
}

/// Returns the pacing rate in bytes per second. The ratios are in percent, of slow start and of other phases.
pub fn pacing_rate(cwnd: u64, ssthresh: u64, in_flight: u32, mss: u32, srtt_ns: u64, ratios: (u32, u32)) -> u64 {
    let ratios = u64::from(ratios.0) << 32 | u64::from(ratios.1);
    // SAFETY: the arguments are numbers.
    unsafe { c::host_pacing_rate(cwnd, ssthresh, in_flight, mss, srtt_ns, ratios) }
}

/// Returns log2(1 + step/256) x 2^30.
pub fn log2_table(step: u32) -> u32 {
    assert!(step <= STEPS);
    // SAFETY: the index is within the table.
    unsafe { c::host_table(0, step) }
}

/// Returns 2^(-step/256) x 2^31.
pub fn exp2_table(step: u32) -> u32 {
    assert!(step <= STEPS);
    // SAFETY: the index is within the table.
    unsafe { c::host_table(1, step) }
}

/// The balance of a user's budget of urgency: `struct law_account`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Account {
    /// Bytes of window times (d - 1); negative after a cut that overdrew it.
    pub left: i64,
    /// The time of the last refill.
    pub at_ns: u64,
}

impl Account {
    /// Adds the refill since the last one.
    pub fn refill(&mut self, burst: u64, now_ns: u64) {
        // SAFETY: the structure has the layout of budget.h.
        unsafe { c::host_refill(self, burst, now_ns) }
    }
    /// Accounts for a cut of a window of so many bytes. `share` is of [`ONE`].
    pub fn spend(&mut self, burst: u64, share: u32, bytes: u64, d: u32) {
        // SAFETY: as above.
        unsafe { c::host_spend(self, burst, share, bytes, d) }
    }
}

mod c {
    use super::{Account, Ack, Announcement, Draws, Message, Parameters, Plus, Queue, Reduction, State};

    unsafe extern "C" {
        pub(crate) fn host_scale(a: u64, b: u64, c: u64, shift: u32) -> u64;
        pub(crate) fn host_root(x: u64) -> u64;
        pub(crate) fn host_penalty(alpha: u32, d: u32) -> u32;
        pub(crate) fn host_rounds(left: u64, mss: u32, cwnd: u64, precise: u32) -> u64;
        pub(crate) fn host_imminence(
            how: *const Parameters,
            message: *const Message,
            cwnd: u64,
            ack: *const Ack,
        ) -> u32;
        pub(crate) fn host_queue_imminence(
            how: *const Parameters,
            queue: *const Queue,
            cwnd: u64,
            ack: *const Ack,
        ) -> u32;
        pub(crate) fn host_announce(queue: *mut Queue, wanted: *const Announcement) -> u32;
        pub(crate) fn host_complete(queue: *mut Queue, una: u64, now_ns: u64);
        pub(crate) fn host_cancel(queue: *mut Queue, written: u64, tag: u64, now_ns: u64);
        pub(crate) fn host_pacing_rate(
            cwnd: u64,
            ssthresh: u64,
            in_flight: u32,
            mss: u32,
            srtt_ns: u64,
            ratios: u64,
        ) -> u64;
        pub(crate) fn host_idle(state: *mut State, timeouts: u64, initial: u32);
        pub(crate) fn host_resize(state: *mut State, before: u32, mss: u32);
        pub(crate) fn host_reduced(now: *const Reduction) -> u32;
        pub(crate) fn host_start(state: *mut State, how: *const Parameters, cwnd: u64, ssthresh: u64);
        pub(crate) fn host_on_ack(
            state: *mut State,
            how: *const Parameters,
            queue: *const Queue,
            ack: *const Ack,
        ) -> u32;
        pub(crate) fn host_on_loss(state: *mut State, una: u64, next: u64) -> u32;
        pub(crate) fn host_undo(state: *mut State);
        pub(crate) fn host_plus_on_ack(
            state: *mut State,
            plus: *mut Plus,
            how: *const Parameters,
            queue: *const Queue,
            ack: *const Ack,
            draws: *const Draws,
        ) -> u32;
        pub(crate) fn host_plus_on_loss(
            state: *mut State,
            plus: *mut Plus,
            how: *const Parameters,
            queue: *const Queue,
            ack: *const Ack,
            draws: *const Draws,
        ) -> u32;
        pub(crate) fn host_plus_standing(
            plus: *const Plus,
            how: *const Parameters,
            queue: *const Queue,
            ack: *const Ack,
            cwnd: u64,
            need: *mut u64,
            laxity: *mut i64,
        ) -> u32;
        pub(crate) fn host_hold_rate(plus: *const Plus, mss: u32, now_ns: u64) -> u64;
        pub(crate) fn host_refill(account: *mut Account, burst: u64, now_ns: u64);
        pub(crate) fn host_spend(account: *mut Account, burst: u64, share: u32, bytes: u64, d: u32);
        pub(crate) fn host_table(which: u32, step: u32) -> u32;
        #[cfg(test)]
        pub(crate) fn host_layout(which: u32) -> u32;
        #[cfg(test)]
        pub(crate) fn host_size(which: u32) -> u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_size_that_c_gives_them() {
        let sizes = [
            size_of::<Parameters>(),
            size_of::<State>(),
            size_of::<Message>(),
            size_of::<Queue>(),
            size_of::<Announcement>(),
            size_of::<Reduction>(),
            size_of::<Ack>(),
            size_of::<Account>(),
            size_of::<Plus>(),
        ];
        for (which, size) in sizes.into_iter().enumerate() {
            // SAFETY: the argument is a number.
            assert_eq!(unsafe { c::host_size(which as u32) } as usize, size, "structure {which}");
        }
    }

    #[test]
    fn the_interface_of_programs_never_changes() {
        // SAFETY: the argument is a number.
        let layout: Vec<u32> = (0..16).map(|which| unsafe { c::host_layout(which) }).collect();
        let (old, new) = layout.split_at(8);
        assert_eq!(old, [16, 8, 160, 32, 48, 72, 128, 0xd27c]);
        assert_eq!(new, [0x0102_0304, 32, 0x1018, 24, 0x0814, 0x8898, 0x3211, 0x210_8421]);
    }
}
