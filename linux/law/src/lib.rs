//! The window law that the kernel runs (`linux/bpf/law.h`), compiled for the host.
//!
//! It is a crate so that it can be tested without a kernel: its properties, and against vectors from the
//! simulator's law.

/// 1 as a fraction: alpha, p, g.
pub const ONE: u32 = 1 << 30;
/// 1 as a window in segments, as d, as a round trip.
pub const UNIT: u64 = 1 << 20;
/// The least window after a cut.
pub const FLOOR: u64 = 2 * UNIT;
/// The largest window.
pub const MAX_WINDOW: u64 = UNIT << 20;
/// Bit of what [`State::on_ack`] gives: the window was cut.
pub const CUT: u32 = 1;
/// Bit of what [`State::on_ack`] gives: a window ended and alpha was updated.
pub const WINDOW: u32 = 2;
/// Steps of the tables.
pub const STEPS: u32 = 256;

/// What is done about a deadline that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Expired {
    /// d = 1.
    Neutral,
    /// d = n.
    Cap,
    /// d = 1/n.
    Yield,
}

/// `struct law_parameters`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Parameters {
    /// Weight of the last window's share of marks in alpha, of [`ONE`].
    pub g: u32,
    /// Of [`ONE`].
    pub initial_alpha: u32,
    /// n, of [`UNIT`].
    pub cap: u32,
    /// One of [`Expired`].
    pub expired: u32,
    /// Not 0: T_c from the sawtooth's sum.
    pub precise: u32,
    /// Not 0: T_c in smallest round trips.
    pub minimum_rtt: u32,
    /// Not 0: messages with a deadline follow [`Plus`].
    pub mode: u32,
    /// Segments; 0: the kernel's.
    pub initial_window: u32,
    /// Of the times of [`Plus`], of [`UNIT`].
    pub time_scale: u32,
    /// 0.
    pub reserved: u32,
    /// The least retransmission timeout; 0: the kernel's.
    pub rto_min_ns: u64,
    /// Taken off the time left.
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

/// `struct law_state`.
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

/// `struct law_message`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Message {
    /// Position of its end in the stream; 0: there is none.
    pub end: u64,
    /// A point in time.
    pub deadline_ns: u64,
}

/// Messages that may wait.
pub const QUEUE: usize = 32;
/// Outcomes that are kept.
pub const OUTCOMES: usize = 8;

/// `struct law_waiting`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Waiting {
    pub message: Message,
    pub begin: u64,
    pub tag: u64,
}

/// `struct d2tcp_outcome`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Outcome {
    pub tag: u64,
    pub left_ns: i64,
    pub result: u32,
    pub number: u32,
}

/// Acknowledged in time.
pub const MET: u32 = 1;
/// Acknowledged late.
pub const MISSED: u32 = 2;
/// Given up.
pub const CANCELLED: u32 = 3;

/// `struct law_queue`: the messages that wait on a connection, in turn.
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

/// What an announcement led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announced {
    /// Nothing: there was nothing to announce.
    Nothing,
    /// A message more.
    Announced,
    /// Another deadline for the last one.
    Corrected,
    /// There is no room.
    Full,
}

/// `struct law_announcement`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Announcement {
    /// 0: all that has been written.
    pub bytes: u64,
    /// A point in time.
    pub deadline_ns: u64,
    /// The program's name for it.
    pub tag: u64,
    /// Everything before this position has been written.
    pub written: u64,
    /// The time.
    pub now_ns: u64,
    /// [`ENDS_PREVIOUS`] or 0.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// Messages announced before end with what has been written.
pub const ENDS_PREVIOUS: u32 = 1;

impl Queue {
    /// Announces a message.
    pub fn announce(&mut self, wanted: &Announcement) -> Announced {
        // SAFETY: structures of the layout of queue.h, which a test compares.
        match unsafe { c::host_announce(self, wanted) } {
            0 => Announced::Nothing,
            1 => Announced::Announced,
            2 => Announced::Corrected,
            _ => Announced::Full,
        }
    }
    /// Takes out what has been acknowledged.
    pub fn complete(&mut self, una: u64, now_ns: u64) {
        // SAFETY: as above.
        unsafe { c::host_complete(self, una, now_ns) }
    }
    /// Forgets the messages with a tag, all for 0.
    pub fn cancel(&mut self, written: u64, tag: u64, now_ns: u64) {
        // SAFETY: as above.
        unsafe { c::host_cancel(self, written, tag, now_ns) }
    }
    /// d, of [`UNIT`].
    pub fn imminence(&self, how: &Parameters, cwnd: u64, ack: &Ack) -> u32 {
        // SAFETY: as above.
        unsafe { c::host_queue_imminence(how, self, cwnd, ack) }
    }
    /// Those that wait, in turn.
    pub fn waiting(&self) -> Vec<Waiting> {
        (0..self.count).map(|number| self.waiting[(self.first + number) as usize % QUEUE]).collect()
    }
    /// What became of the last ones, the youngest first.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let all = (self.met + self.missed + self.cancelled) as usize;
        (0..all.min(OUTCOMES)).map(|back| self.outcomes[(all - 1 - back) % OUTCOMES]).collect()
    }
    /// Puts a message behind the others, by its end.
    pub fn push(&mut self, message: Message) {
        assert!(message.end > self.last_end && (self.count as usize) < QUEUE);
        self.waiting[(self.first + self.count) as usize % QUEUE] = Waiting { message, begin: self.last_end, tag: 0 };
        self.last_end = message.end;
        self.count += 1;
    }
    /// With one message; with none if it has no end.
    pub fn of(message: Message) -> Queue {
        let mut queue = Queue::default();
        if message.end > 0 {
            queue.push(message);
        }
        queue
    }
}

/// `struct law_reduction`.
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
    /// The window for now, in segments.
    pub fn window(&self) -> u32 {
        // SAFETY: as above.
        unsafe { c::host_reduced(self) }
    }
}

/// `struct law_ack`.
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
}

impl State {
    /// A connection begins.
    pub fn start(how: &Parameters, cwnd: u64, ssthresh: u64) -> State {
        let mut state = State::default();
        // SAFETY: both point to structures of the layout of law.h, which a test compares.
        unsafe { c::host_start(&mut state, how, cwnd, ssthresh) };
        state
    }
    /// New data was acknowledged. Gives [`CUT`] and [`WINDOW`].
    pub fn on_ack(&mut self, how: &Parameters, queue: &Queue, ack: &Ack) -> u32 {
        // SAFETY: as above.
        unsafe { c::host_on_ack(self, how, queue, ack) }
    }
    /// Nothing was sent for so many retransmission timeouts.
    pub fn idle(&mut self, timeouts: u64, initial: u32) {
        // SAFETY: as above.
        unsafe { c::host_idle(self, timeouts, initial) }
    }
    /// Segments have another size.
    pub fn resize(&mut self, before: u32, mss: u32) {
        // SAFETY: as above.
        unsafe { c::host_resize(self, before, mss) }
    }
    /// Data was lost. Gives whether the window was halved.
    pub fn on_loss(&mut self, una: u64, next: u64) -> bool {
        // SAFETY: as above.
        unsafe { c::host_on_loss(self, una, next) != 0 }
    }
    /// The loss was none.
    pub fn undo(&mut self) {
        // SAFETY: as above.
        unsafe { c::host_undo(self) }
    }
}

/// Bit of what [`Plus::on_ack`] and [`Plus::on_loss`] give: the message stands back.
pub const HELD: u32 = 4;
/// Bit of the same: a message with a deadline was answered for.
pub const ANSWERED: u32 = 8;

/// `struct law_plus`: what d2tcp_plus keeps beside [`State`].
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

/// `struct law_draws`: numbers drawn evenly from all 32 bits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Draws {
    /// Whether it stands back.
    pub whether: u32,
    /// For how long.
    pub length: u32,
}

impl Plus {
    /// New data was acknowledged: 0 where nothing has a deadline.
    pub fn on_ack(&mut self, state: &mut State, how: &Parameters, queue: &Queue, ack: &Ack, draws: Draws) -> u32 {
        // SAFETY: structures of the layout of plus.h, which a test compares.
        unsafe { c::host_plus_on_ack(state, self, how, queue, ack, &draws) }
    }
    /// Data was lost: 0 where nothing has a deadline.
    pub fn on_loss(&mut self, state: &mut State, how: &Parameters, queue: &Queue, ack: &Ack, draws: Draws) -> u32 {
        // SAFETY: as above.
        unsafe { c::host_plus_on_loss(state, self, how, queue, ack, &draws) }
    }
    /// Need in segments per round trip, of [`UNIT`], and laxity in ns at a window, of what needs most.
    pub fn standing(&self, how: &Parameters, queue: &Queue, ack: &Ack, cwnd: u64) -> Option<(u64, i64)> {
        let (mut need, mut laxity) = (0, 0);
        // SAFETY: as above; both numbers have room.
        let found = unsafe { c::host_plus_standing(self, how, queue, ack, cwnd, &mut need, &mut laxity) };
        (found != 0).then_some((need, laxity))
    }
    /// Bytes per second while it stands back; 0: it does not.
    pub fn hold_rate(&self, mss: u32, now_ns: u64) -> u64 {
        // SAFETY: as above.
        unsafe { c::host_hold_rate(self, mss, now_ns) }
    }
}

/// a * b / c * 2^shift, `u64::MAX` where it does not fit.
pub fn scale(a: u64, b: u64, c: u64, shift: u32) -> u64 {
    // SAFETY: numbers only.
    unsafe { c::host_scale(a, b, c, shift) }
}

/// The square root, rounded down.
pub fn root(x: u64) -> u64 {
    // SAFETY: numbers only.
    unsafe { c::host_root(x) }
}

/// p = alpha^d, alpha of [`ONE`], d of [`UNIT`].
pub fn penalty(alpha: u32, d: u32) -> u32 {
    // SAFETY: numbers only.
    unsafe { c::host_penalty(alpha, d) }
}

/// Round trips that `left` bytes need, of [`UNIT`].
pub fn rounds(left: u64, mss: u32, cwnd: u64, precise: bool) -> u64 {
    // SAFETY: numbers only.
    unsafe { c::host_rounds(left, mss, cwnd, precise.into()) }
}

/// d, of [`UNIT`].
pub fn imminence(how: &Parameters, message: &Message, cwnd: u64, ack: &Ack) -> u32 {
    // SAFETY: structures of the layout of law.h.
    unsafe { c::host_imminence(how, message, cwnd, ack) }
}

/// Bytes per second, with the ratios of slow start and afterwards in percent.
pub fn pacing_rate(cwnd: u64, ssthresh: u64, in_flight: u32, mss: u32, srtt_ns: u64, ratios: (u32, u32)) -> u64 {
    let ratios = u64::from(ratios.0) << 32 | u64::from(ratios.1);
    // SAFETY: numbers only.
    unsafe { c::host_pacing_rate(cwnd, ssthresh, in_flight, mss, srtt_ns, ratios) }
}

/// log2(1 + step/256) x 2^30.
pub fn log2_table(step: u32) -> u32 {
    assert!(step <= STEPS);
    // SAFETY: within the table.
    unsafe { c::host_table(0, step) }
}

/// 2^(-step/256) x 2^31.
pub fn exp2_table(step: u32) -> u32 {
    assert!(step <= STEPS);
    // SAFETY: within the table.
    unsafe { c::host_table(1, step) }
}

mod c {
    use super::{Ack, Announcement, Draws, Message, Parameters, Plus, Queue, Reduction, State};

    unsafe extern "C" {
        pub fn host_scale(a: u64, b: u64, c: u64, shift: u32) -> u64;
        pub fn host_root(x: u64) -> u64;
        pub fn host_penalty(alpha: u32, d: u32) -> u32;
        pub fn host_rounds(left: u64, mss: u32, cwnd: u64, precise: u32) -> u64;
        pub fn host_imminence(how: *const Parameters, message: *const Message, cwnd: u64, ack: *const Ack) -> u32;
        pub fn host_queue_imminence(how: *const Parameters, queue: *const Queue, cwnd: u64, ack: *const Ack) -> u32;
        pub fn host_announce(queue: *mut Queue, wanted: *const Announcement) -> u32;
        pub fn host_complete(queue: *mut Queue, una: u64, now_ns: u64);
        pub fn host_cancel(queue: *mut Queue, written: u64, tag: u64, now_ns: u64);
        pub fn host_pacing_rate(cwnd: u64, ssthresh: u64, in_flight: u32, mss: u32, srtt_ns: u64, ratios: u64) -> u64;
        pub fn host_idle(state: *mut State, timeouts: u64, initial: u32);
        pub fn host_resize(state: *mut State, before: u32, mss: u32);
        pub fn host_reduced(now: *const Reduction) -> u32;
        pub fn host_start(state: *mut State, how: *const Parameters, cwnd: u64, ssthresh: u64);
        pub fn host_on_ack(state: *mut State, how: *const Parameters, queue: *const Queue, ack: *const Ack) -> u32;
        pub fn host_on_loss(state: *mut State, una: u64, next: u64) -> u32;
        pub fn host_undo(state: *mut State);
        pub fn host_plus_on_ack(
            state: *mut State,
            plus: *mut Plus,
            how: *const Parameters,
            queue: *const Queue,
            ack: *const Ack,
            draws: *const Draws,
        ) -> u32;
        pub fn host_plus_on_loss(
            state: *mut State,
            plus: *mut Plus,
            how: *const Parameters,
            queue: *const Queue,
            ack: *const Ack,
            draws: *const Draws,
        ) -> u32;
        pub fn host_plus_standing(
            plus: *const Plus,
            how: *const Parameters,
            queue: *const Queue,
            ack: *const Ack,
            cwnd: u64,
            need: *mut u64,
            laxity: *mut i64,
        ) -> u32;
        pub fn host_hold_rate(plus: *const Plus, mss: u32, now_ns: u64) -> u64;
        pub fn host_table(which: u32, step: u32) -> u32;
        #[cfg(test)]
        pub fn host_layout(which: u32) -> u32;
        #[cfg(test)]
        pub fn host_size(which: u32) -> u32;
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
            size_of::<Plus>(),
        ];
        for (which, size) in sizes.into_iter().enumerate() {
            // SAFETY: numbers only.
            assert_eq!(unsafe { c::host_size(which as u32) } as usize, size, "structure {which}");
        }
    }

    #[test]
    fn the_interface_of_programs_never_changes() {
        // SAFETY: numbers only.
        let layout: Vec<u32> = (0..16).map(|which| unsafe { c::host_layout(which) }).collect();
        let (old, new) = layout.split_at(8);
        assert_eq!(old, [16, 8, 160, 32, 48, 72, 128, 0xd27c]);
        assert_eq!(new, [0x0102_0304, 32, 0x1018, 24, 0x0814, 0x8898, 0x3211, 0x108421]);
    }
}
