//! Deadlines for TCP messages under D2TCP on Linux.
//!
//! ```no_run
//! # use std::{io::Write, net::TcpStream, time::Duration};
//! # fn main() -> std::io::Result<()> {
//! # let (mut connection, reply) = (TcpStream::connect("127.0.0.1:7000")?, [0u8; 65536]);
//! if let Err(error) = d2tcp::send_deadline(&connection, reply.len() as u64, Duration::from_millis(20)) {
//!     eprintln!("without a deadline: {error}"); // D2TCP is not attached here, say
//! }
//! connection.write_all(&reply)
//! # }
//! ```
//!
//! Nothing here needs a privilege. Numbers and structures are those of `linux/include/d2tcp.h`.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

const LEVEL: i32 = 0xd27c;
const MESSAGE: i32 = 1;
const STATE: i32 = 2;
const ONE: f64 = (1u32 << 20) as f64;

/// Why a deadline was not accepted, or a state not given. The connection works as ever.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// D2TCP is not attached where this program runs.
    NotAttached,
    /// The connection is not under D2TCP: under another control, or, when the state is read, nothing is
    /// attached.
    WrongControl,
    /// The socket is not connected.
    NotConnected,
    /// Too many messages wait on the connection.
    QueueFull,
    /// The length or the time is zero or beyond its limit.
    Invalid,
    /// Anything else.
    Io(io::Error),
}

/// What a connection does. Counts begin with the connection.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct State {
    /// Both ends agreed on ECN; without it the connection behaves as Reno.
    pub ecn: bool,
    /// The window is below ssthresh.
    pub slow_start: bool,
    /// A message with a deadline is being sent.
    pub deadline: bool,
    /// And its deadline has passed.
    pub expired: bool,
    /// A loss is being repaired.
    pub recovery: bool,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// In segments.
    pub cwnd: f64,
    /// In segments.
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
    /// Accepted so far.
    pub messages: u64,
    /// Acknowledged in time.
    pub met: u64,
    /// Acknowledged late.
    pub missed: u64,
    /// Until the first message's deadline, in ns; negative when it has passed, 0 without one.
    pub time_left_ns: i64,
    /// Of that message, to be acknowledged.
    pub bytes_left: u64,
    /// Acknowledged bytes.
    pub bytes_acked: u64,
    /// Of these, with an ECN echo.
    pub bytes_marked: u64,
    /// Windows over which alpha was updated.
    pub windows: u64,
    /// Windows cut because of marks.
    pub cuts: u64,
    /// Windows cut because of loss, timeouts included.
    pub losses: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// Puts a socket under D2TCP: before it connects or listens, or ECN will not be negotiated.
pub fn use_on(socket: &impl AsFd) -> Result<(), Error> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, b"d2tcp").map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT) => Error::NotAttached,
        _ => Error::from(error),
    })
}

/// Says that the next `bytes` bytes written to the socket should be acknowledged within `deadline`.
pub fn send_deadline(socket: &impl AsFd, bytes: u64, deadline: Duration) -> Result<(), Error> {
    let bytes = i64::try_from(bytes).map_err(|_| Error::Invalid)?;
    let deadline_ns = i64::try_from(deadline.as_nanos()).map_err(|_| Error::Invalid)?;
    let mut message = [0; 16];
    message[..8].copy_from_slice(&bytes.to_ne_bytes());
    message[8..].copy_from_slice(&deadline_ns.to_ne_bytes());
    Ok(set(socket, LEVEL, MESSAGE, &message)?)
}

/// Reads the connection's state. What the kernel side does not know is 0.
pub fn state(socket: &impl AsFd) -> Result<State, Error> {
    let mut bytes = [0u8; 136];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the array has `length` bytes.
    let done = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), LEVEL, STATE, bytes.as_mut_ptr().cast(), &raw mut length)
    };
    if done != 0 {
        return Err(io::Error::last_os_error().into());
    }
    let word = |at: usize| u32::from_ne_bytes(bytes[4 * at..4 * at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_ne_bytes(bytes[48 + 8 * at..56 + 8 * at].try_into().expect("eight bytes"));
    let fraction = |at: usize| f64::from(word(at)) / ONE;
    let flag = |bit: u32| word(2) & bit != 0;
    Ok(State {
        ecn: flag(1),
        slow_start: flag(2),
        deadline: flag(4),
        expired: flag(8),
        recovery: flag(16),
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
    })
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
        // Linux answers a getsockopt of a level that it does not know with another errno than a setsockopt.
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
    fn every_error_has_a_name() {
        for (code, text) in [
            (libc::ENOPROTOOPT, "D2TCP is not attached here"),
            (libc::EOPNOTSUPP, "the connection is not under D2TCP"),
            (libc::ENOTCONN, "the socket is not connected"),
            (libc::ENOBUFS, "too many messages wait on the connection"),
            (libc::EINVAL, "the length or the time is zero or too large"),
        ] {
            assert_eq!(Error::from(io::Error::from_raw_os_error(code)).to_string(), text);
        }
    }
}
