//! Deadlines for TCP messages under D2TCP on Linux.
//!
//! ```no_run
//! # use std::{io::Write, net::TcpStream, time::Duration};
//! # fn main() -> std::io::Result<()> {
//! # let (mut connection, reply) = (TcpStream::connect("127.0.0.1:7000")?, [0u8; 65536]);
//! if let Err(error) = d2tcp::send_deadline(&connection, reply.len() as u64, Duration::from_millis(20)) {
//!     eprintln!("without a deadline: {error}"); // for example, D2TCP is not attached here
//! }
//! connection.write_all(&reply)
//! # }
//! ```
//!
//! No function here needs a privilege. Numbers and structures are as in `deploy/linux/include/d2tcp.h`.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

const LEVEL: i32 = 0xd27c;
const MESSAGE: i32 = 1;
const STATE: i32 = 2;
const CANCEL: i32 = 3;
const OUTCOMES: i32 = 4;
const EXPECT: i32 = 5;
const OUTCOMES_KEPT: usize = 8;
const ENDS_PREVIOUS: u32 = 1;
const ONE: f64 = (1u32 << 20) as f64;

/// The reason for which a deadline was not accepted, or a state not returned. The connection works as before.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// D2TCP is not attached where this program runs.
    NotAttached,
    /// The connection is under another congestion control. When the state is read, this can also mean that D2TCP is not
    /// attached.
    WrongControl,
    /// The socket is not connected.
    NotConnected,
    /// Too many messages are queued on the connection.
    QueueFull,
    /// The operator's policy accepts no deadlines from this program.
    NotAllowed,
    /// The length or the time is zero or above its limit.
    Invalid,
    /// Another error of the system call.
    Io(io::Error),
}

/// A message to be sent, with its deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Announcement {
    /// The length in bytes; 0 for all bytes written so far.
    pub bytes: u64,
    /// The time from now until its last byte should have been acknowledged.
    pub deadline: Duration,
    /// The program's own name for it, for [`cancel`] and [`outcomes`].
    pub tag: u64,
    /// If true, earlier messages end with the bytes written so far.
    pub ends_previous: bool,
}

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The tag, as announced.
    pub tag: u64,
    /// The time left in ns when its last byte was acknowledged, or when it was cancelled; negative if late.
    pub left_ns: i64,
    /// The way in which it ended.
    pub end: End,
    /// The number of ended messages of the connection, including this one.
    pub number: u32,
}

/// The end of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum End {
    /// The message was acknowledged in time.
    Met,
    /// The message was acknowledged late.
    Missed,
    /// The message was cancelled by [`cancel`], or by a later message before a byte of it was written.
    Cancelled,
}

/// The state of a connection. Counts begin with the connection.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct State {
    /// Both ends agreed on ECN; without it the connection behaves as Reno.
    pub ecn: bool,
    /// The window is below ssthresh.
    pub slow_start: bool,
    /// A message with a deadline is being sent.
    pub deadline: bool,
    /// The deadline of that message has passed.
    pub expired: bool,
    /// A loss is being repaired.
    pub recovery: bool,
    /// The user's budget of urgency is spent: `d` is at most 1 for now.
    pub limited: bool,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The congestion window, in segments.
    pub cwnd: f64,
    /// The threshold of slow start, in segments.
    pub ssthresh: u32,
    /// Smoothed RTT; none before the first sample.
    pub srtt: Option<Duration>,
    /// Extent of marking, 0 to 1.
    pub alpha: f64,
    /// Imminence of the deadline; 1 without one.
    pub d: f64,
    /// `alpha` to the power of `d`; a cut takes half of it.
    pub p: f64,
    /// Messages whose last byte has not been acknowledged.
    pub queued: u32,
    /// Messages that were accepted so far.
    pub messages: u64,
    /// Messages that were acknowledged in time.
    pub met: u64,
    /// Messages that were acknowledged late.
    pub missed: u64,
    /// The time until the first message's deadline, in ns; negative when it has passed, 0 without one.
    pub time_left_ns: i64,
    /// The bytes of that message that are not yet acknowledged.
    pub bytes_left: u64,
    /// Bytes that were acknowledged.
    pub bytes_acked: u64,
    /// Acknowledged bytes with an ECN echo.
    pub bytes_marked: u64,
    /// Windows over which alpha was updated.
    pub windows: u64,
    /// Windows cut because of marks.
    pub cuts: u64,
    /// Windows cut because of loss, timeouts included.
    pub losses: u64,
    /// Retransmission timeouts of the connection.
    pub timeouts: u64,
    /// Messages that were cancelled.
    pub cancelled: u64,
    /// The tag of the first queued message; 0 without one.
    pub tag: u64,
    /// The number, from 1, of the operator's rule that governs the connection; 0 if none does.
    pub rule: u32,
}

/// Puts a socket under D2TCP. It must be called before it connects or listens, or ECN will not be negotiated.
pub fn use_on(socket: &impl AsFd) -> Result<(), Error> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, b"d2tcp").map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT) => Error::NotAttached,
        _ => Error::from(error),
    })
}

/// Announces that the next `bytes` bytes written to the socket should be acknowledged within `deadline`.
pub fn send_deadline(socket: &impl AsFd, bytes: u64, deadline: Duration) -> Result<(), Error> {
    announce(socket, Announcement { bytes, deadline, ..Announcement::default() })
}

/// Announces a message and its deadline.
pub fn announce(socket: &impl AsFd, message: Announcement) -> Result<(), Error> {
    let bytes = i64::try_from(message.bytes).map_err(|_| Error::Invalid)?;
    let deadline_ns = i64::try_from(message.deadline.as_nanos()).map_err(|_| Error::Invalid)?;
    let flags = if message.ends_previous { ENDS_PREVIOUS } else { 0 };
    let mut value = [0; 32];
    value[..8].copy_from_slice(&bytes.to_ne_bytes());
    value[8..16].copy_from_slice(&deadline_ns.to_ne_bytes());
    value[16..24].copy_from_slice(&message.tag.to_ne_bytes());
    value[24..28].copy_from_slice(&flags.to_ne_bytes());
    Ok(set(socket, LEVEL, MESSAGE, &value)?)
}

/// Announces that the next `bytes` bytes read from the socket should have been received within `deadline`.
///
/// It is for the receiving end, where `d2tcp receive` runs, and needs no change at the sender.
pub fn expect(socket: &impl AsFd, bytes: u64, deadline: Duration) -> Result<(), Error> {
    let bytes = i64::try_from(bytes).map_err(|_| Error::Invalid)?;
    let deadline_ns = i64::try_from(deadline.as_nanos()).map_err(|_| Error::Invalid)?;
    let mut value = [0; 16];
    value[..8].copy_from_slice(&bytes.to_ne_bytes());
    value[8..].copy_from_slice(&deadline_ns.to_ne_bytes());
    Ok(set(socket, LEVEL, EXPECT, &value)?)
}

/// Cancels the messages with this tag, or all for 0: their unwritten bytes will never be written.
pub fn cancel(socket: &impl AsFd, tag: u64) -> Result<(), Error> {
    Ok(set(socket, LEVEL, CANCEL, &tag.to_ne_bytes())?)
}

/// Returns the outcomes of the last messages, the youngest first.
pub fn outcomes(socket: &impl AsFd) -> Result<Vec<Outcome>, Error> {
    let mut bytes = [0u8; 24 * OUTCOMES_KEPT];
    let filled = get(socket, OUTCOMES, &mut bytes)?;
    Ok(bytes[..filled].chunks_exact(24).filter_map(outcome).collect())
}

/// Parses a `struct d2tcp_outcome`. Returns `None` for result 0, which means that no message has ended, and for the
/// results of a later version.
fn outcome(bytes: &[u8]) -> Option<Outcome> {
    let end = match u32::from_ne_bytes(bytes[16..20].try_into().expect("four bytes")) {
        1 => End::Met,
        2 => End::Missed,
        3 => End::Cancelled,
        _ => return None,
    };
    Some(Outcome {
        tag: u64::from_ne_bytes(bytes[..8].try_into().expect("eight bytes")),
        left_ns: i64::from_ne_bytes(bytes[8..16].try_into().expect("eight bytes")),
        end,
        number: u32::from_ne_bytes(bytes[20..24].try_into().expect("four bytes")),
    })
}

/// Returns the connection's state. Fields that the kernel side does not know are 0.
pub fn state(socket: &impl AsFd) -> Result<State, Error> {
    let mut bytes = [0u8; 160];
    get(socket, STATE, &mut bytes)?;
    Ok(read_state(&bytes))
}

fn read_state(bytes: &[u8; 160]) -> State {
    let word = |at: usize| u32::from_ne_bytes(bytes[4 * at..4 * at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_ne_bytes(bytes[48 + 8 * at..56 + 8 * at].try_into().expect("eight bytes"));
    let fraction = |at: usize| f64::from(word(at)) / ONE;
    let flag = |bit: u32| word(2) & bit != 0;
    State {
        ecn: flag(1),
        slow_start: flag(2),
        deadline: flag(4),
        expired: flag(8),
        recovery: flag(16),
        limited: flag(32),
        mss: word(3),
        cwnd: f64::from(word(4)) + fraction(5),
        ssthresh: word(6),
        srtt: (word(7) > 0).then(|| Duration::from_micros(word(7).into())),
        alpha: fraction(8),
        d: fraction(9),
        p: fraction(10),
        queued: word(11),
        messages: long(0),
        met: long(1),
        missed: long(2),
        time_left_ns: long(3).cast_signed(),
        bytes_left: long(4),
        bytes_acked: long(5),
        bytes_marked: long(6),
        windows: long(7),
        cuts: long(8),
        losses: long(9),
        timeouts: long(10),
        cancelled: long(11),
        tag: long(12),
        rule: word(38),
    }
}

/// Reads an option into `value`. Returns the number of bytes.
fn get(socket: &impl AsFd, option: i32, value: &mut [u8]) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the slice has `length` bytes.
    match unsafe { libc::getsockopt(fd, LEVEL, option, value.as_mut_ptr().cast(), &raw mut length) } {
        // The kernel never returns more than there is room for.
        0 => Ok((length as usize).min(value.len())),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(socket: &impl AsFd, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the slice is valid for its length.
    match unsafe { libc::setsockopt(fd, level, option, value.as_ptr().cast(), value.len() as libc::socklen_t) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(libc::ENOPROTOOPT) => Error::NotAttached,
            Some(libc::EOPNOTSUPP) => Error::WrongControl,
            Some(libc::ENOTCONN) => Error::NotConnected,
            Some(libc::ENOBUFS) => Error::QueueFull,
            Some(libc::EPERM) => Error::NotAllowed,
            Some(libc::EINVAL) => Error::Invalid,
            _ => Error::Io(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotAttached => f.write_str("D2TCP is not attached here"),
            Error::WrongControl => f.write_str("the connection is not under D2TCP"),
            Error::NotConnected => f.write_str("the socket is not connected"),
            Error::QueueFull => f.write_str("too many messages wait on the connection"),
            Error::NotAllowed => f.write_str("the operator takes no deadlines from this program"),
            Error::Invalid => f.write_str("the length or the time is zero or too large"),
            Error::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn attached() -> bool {
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .is_ok_and(|controls| controls.contains("d2tcp"))
    }

    #[test]
    fn without_the_hook_the_error_says_so_and_the_connection_works() {
        if attached() {
            eprintln!("skipped: D2TCP is attached here");
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(matches!(use_on(&listener), Err(Error::NotAttached)));
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        assert!(matches!(send_deadline(&server, 5, Duration::from_millis(1)), Err(Error::NotAttached)));
        // Linux returns different errors from getsockopt and setsockopt for an unknown level.
        assert!(matches!(state(&server), Err(Error::WrongControl)));
        server.write_all(b"hello").unwrap();
        let mut got = [0; 5];
        client.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"hello");
    }

    #[test]
    fn what_does_not_fit_is_refused_before_the_kernel_sees_it() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(matches!(send_deadline(&socket, u64::MAX, Duration::from_secs(1)), Err(Error::Invalid)));
        assert!(matches!(send_deadline(&socket, 1, Duration::MAX), Err(Error::Invalid)));
    }

    #[test]
    fn outcomes_are_those_of_messages_that_ended() {
        let of = |result: u32| {
            let mut bytes = [0; 24];
            bytes[0] = 7;
            bytes[8..16].copy_from_slice(&(-5i64).to_ne_bytes());
            bytes[16..20].copy_from_slice(&result.to_ne_bytes());
            bytes[20] = 9;
            outcome(&bytes)
        };
        assert_eq!(of(0), None, "no message has ended");
        assert_eq!(of(4), None, "of a later version");
        for (result, end) in [(1, End::Met), (2, End::Missed), (3, End::Cancelled)] {
            assert_eq!(of(result), Some(Outcome { tag: 7, left_ns: -5, end, number: 9 }));
        }
    }

    #[test]
    fn any_answer_of_the_kernel_is_read() {
        let mut drawn = 1u64;
        for _ in 0..10_000 {
            let mut bytes = [0; 160];
            bytes.fill_with(|| {
                drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (drawn >> 56) as u8
            });
            let state = read_state(&bytes);
            assert!(state.cwnd.is_finite() && state.alpha >= 0.0 && state.srtt.is_none_or(|srtt| !srtt.is_zero()));
            let read: Vec<Outcome> = bytes.chunks_exact(24).filter_map(outcome).collect();
            assert!(read.len() <= 6);
        }
    }

    #[test]
    fn every_error_has_a_name() {
        for (code, text) in [
            (libc::ENOPROTOOPT, "D2TCP is not attached here"),
            (libc::EOPNOTSUPP, "the connection is not under D2TCP"),
            (libc::ENOTCONN, "the socket is not connected"),
            (libc::ENOBUFS, "too many messages wait on the connection"),
            (libc::EPERM, "the operator takes no deadlines from this program"),
            (libc::EINVAL, "the length or the time is zero or too large"),
        ] {
            assert_eq!(Error::from(io::Error::from_raw_os_error(code)).to_string(), text);
        }
    }
}
