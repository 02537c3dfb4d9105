//! TCP sockets, their options, and the kernel's information about them.

use std::io::{Error, ErrorKind};
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use serde::Serialize;

// The constants of deploy/linux/include/d2tcp.h.
const D2TCP_LEVEL: i32 = 0xd27c;
const D2TCP_MESSAGE: i32 = 1;
const D2TCP_STATE: i32 = 2;
const D2TCP_ONE: f64 = (1 << 20) as f64;
const D2TCP_ECN: u32 = 1;

/// The maximum of unsent bytes that the kernel holds for a connection. It asks for more at half of that, which a link
/// of 200 Mbit/s sends in 21 ms. With 64 kB the urgent message of mode plus sometimes had no data to send, and in four
/// of ten runs it was aborted. Without a limit the kernel accepts 4 MB at once.
const UNSENT: i32 = 1 << 20;

/// A non-blocking TCP socket.
pub struct Socket(OwnedFd);

/// The counters of the kernel's TCP for a connection. Fields that this kernel lacks are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pub rtt_us: u32,
    pub min_rtt_us: u32,
    pub cwnd: u32,
    pub retransmits: u32,
    pub data_segments_in: u32,
    pub delivered_marked: u32,
    pub timeouts: u32,
}

/// The state that D2TCP reports for a connection (struct d2tcp_state).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct State {
    pub ecn: bool,
    pub cwnd: u32,
    pub alpha: f64,
    pub d: f64,
    pub p: f64,
    pub messages: u64,
    pub met: u64,
    pub missed: u64,
    pub bytes_marked: u64,
    pub cuts: u64,
    pub losses: u64,
}

impl Socket {
    fn new(address: &SocketAddr) -> Result<Socket, Error> {
        let family = if address.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the descriptor is new and has no other owner.
        let socket = unsafe {
            let fd = check(libc::socket(family, kind, 0))?;
            Socket(OwnedFd::from_raw_fd(fd))
        };
        socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, &1i32)?;
        Ok(socket)
    }

    /// Starts to connect under the congestion control `control`.
    pub fn connect(address: &SocketAddr, control: &str) -> Result<Socket, Error> {
        let socket = Socket::new(address)?;
        socket.use_control(control)?;
        socket.set(libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &UNSENT)?;
        let (storage, length) = raw(address);
        // SAFETY: `storage` holds an address of `length` bytes.
        match check(unsafe { libc::connect(socket.fd(), (&raw const storage).cast(), length) }) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(socket),
        }
    }

    /// Listens. Accepted connections have the congestion control `control`.
    pub fn listen(address: &SocketAddr, control: &str) -> Result<Socket, Error> {
        let socket = Socket::new(address)?;
        socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, &1i32)?;
        socket.use_control(control)?;
        let (storage, length) = raw(address);
        // SAFETY: `storage` holds an address of `length` bytes.
        unsafe {
            check(libc::bind(socket.fd(), (&raw const storage).cast(), length))?;
            check(libc::listen(socket.fd(), 1024))?;
        }
        Ok(socket)
    }

    /// Returns the next pending connection, if there is one.
    pub fn accept(&self) -> Result<Option<Socket>, Error> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no address is requested, and the descriptor is new.
        let accepted = unsafe {
            check(libc::accept4(self.fd(), std::ptr::null_mut(), std::ptr::null_mut(), flags))
                .map(|fd| Socket(OwnedFd::from_raw_fd(fd)))
        };
        unless_it_would_block(accepted)
    }

    fn use_control(&self, name: &str) -> Result<(), Error> {
        self.set_bytes(libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
            .map_err(|error| Error::new(error.kind(), format!("congestion control {name}: {error}")))
    }

    /// Sends as many bytes as fit; returns `None` if none do. With `more` data to follow, the last segment waits until
    /// it is full.
    pub fn send(&self, bytes: &[u8], more: bool) -> Result<Option<usize>, Error> {
        let flags = libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
        // SAFETY: the slice is valid for its length.
        let sent = unsafe { libc::send(self.fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
        unless_it_would_block(usize::try_from(sent).map_err(|_| Error::last_os_error()))
    }

    /// Reads into `buffer`; returns `None` if no data has been received, and 0 at the end.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        // SAFETY: the slice is valid for its length.
        let got = unsafe { libc::recv(self.fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        unless_it_would_block(usize::try_from(got).map_err(|_| Error::last_os_error()))
    }

    /// Discards up to `length` bytes without copying them; otherwise as `receive`.
    pub fn discard(&self, length: usize) -> Result<Option<usize>, Error> {
        // SAFETY: TCP writes nothing with MSG_TRUNC (tcp(7)).
        let got = unsafe { libc::recv(self.fd(), std::ptr::null_mut(), length, libc::MSG_TRUNC) };
        unless_it_would_block(usize::try_from(got).map_err(|_| Error::last_os_error()))
    }

    /// Ends the sending direction of the connection.
    pub fn end(&self) {
        // SAFETY: the call accesses no memory. It fails without harm on a closed connection.
        unsafe { libc::shutdown(self.fd(), libc::SHUT_WR) };
    }

    /// Returns the pending error of the connection, if there is one.
    pub fn error(&self) -> Option<Error> {
        let mut code = 0i32;
        self.get(libc::SOL_SOCKET, libc::SO_ERROR, bytes_mut(&mut code)).ok()?;
        (code != 0).then(|| Error::from_raw_os_error(code))
    }

    /// Announces that the next `bytes` should be acknowledged within `deadline_ns`.
    pub fn send_deadline(&self, bytes: i64, deadline_ns: i64) -> Result<(), Error> {
        self.set(D2TCP_LEVEL, D2TCP_MESSAGE, &[bytes, deadline_ns])
    }

    /// Returns D2TCP's state, if the connection has one.
    pub fn state(&self) -> Option<State> {
        let mut words = [0u32; 36];
        self.get(D2TCP_LEVEL, D2TCP_STATE, bytes_mut(&mut words)).ok()?;
        let long = |at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32;
        let fraction = |at: usize| f64::from(words[at]) / D2TCP_ONE;
        Some(State {
            ecn: words[2] & D2TCP_ECN != 0,
            cwnd: words[4],
            alpha: fraction(8),
            d: fraction(9),
            p: fraction(10),
            messages: long(12),
            met: long(14),
            missed: long(16),
            bytes_marked: long(24),
            cuts: long(28),
            losses: long(30),
        })
    }

    /// Returns TCP's counters (struct tcp_info of linux/tcp.h, by offset, since libc's lacks the later fields).
    pub fn info(&self) -> Info {
        let mut bytes = [0u8; 256];
        if self.get(libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes).is_err() {
            return Info::default();
        }
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        Info {
            rtt_us: word(68),
            cwnd: word(80),
            retransmits: word(100),
            min_rtt_us: word(148),
            data_segments_in: word(152),
            delivered_marked: word(196),
            timeouts: word(240) & 0xffff,
        }
    }

    fn set<T>(&self, level: i32, option: i32, value: &T) -> Result<(), Error> {
        // SAFETY: any value can be read as its bytes; the options here have no padding.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) };
        self.set_bytes(level, option, bytes)
    }

    fn set_bytes(&self, level: i32, option: i32, value: &[u8]) -> Result<(), Error> {
        // SAFETY: the slice is valid for its length.
        let done = unsafe {
            libc::setsockopt(self.fd(), level, option, value.as_ptr().cast(), value.len() as libc::socklen_t)
        };
        check(done).map(|_| ())
    }

    fn get(&self, level: i32, option: i32, value: &mut [u8]) -> Result<(), Error> {
        let mut length = value.len() as libc::socklen_t;
        // SAFETY: the slice is valid for its length.
        let done = unsafe { libc::getsockopt(self.fd(), level, option, value.as_mut_ptr().cast(), &mut length) };
        check(done).map(|_| ())
    }

    fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd()
    }
}

fn bytes_mut<T>(value: &mut T) -> &mut [u8] {
    // SAFETY: the function is used with integers and arrays of integers only, which any bytes represent.
    unsafe { std::slice::from_raw_parts_mut((&raw mut *value).cast::<u8>(), size_of::<T>()) }
}

/// Converts the -1 of a system call into an error.
pub fn check(result: i32) -> Result<i32, Error> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

fn unless_it_would_block<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

fn raw(address: &SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: a storage of zeros is valid, and has room for either kind of address.
    unsafe {
        let mut storage: libc::sockaddr_storage = zeroed();
        let length = match address {
            SocketAddr::V4(v4) => {
                let place = (&raw mut storage).cast::<libc::sockaddr_in>();
                (*place).sin_family = libc::AF_INET as libc::sa_family_t;
                (*place).sin_port = v4.port().to_be();
                (*place).sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let place = (&raw mut storage).cast::<libc::sockaddr_in6>();
                (*place).sin6_family = libc::AF_INET6 as libc::sa_family_t;
                (*place).sin6_port = v6.port().to_be();
                (*place).sin6_addr.s6_addr = v6.ip().octets();
                size_of::<libc::sockaddr_in6>()
            }
        };
        (storage, length as libc::socklen_t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connected() -> (Socket, Socket) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = Socket::connect(&address, "reno").unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        (client, Socket(server.into()))
    }

    #[test]
    fn a_deadline_without_the_hook_is_an_error_and_the_connection_goes_on() {
        let (client, server) = connected();
        let refused = client.send_deadline(1000, 1_000_000).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ENOPROTOOPT));
        assert!(client.state().is_none());
        while client.send(b"twelve bytes", false).unwrap().is_none() {}
        let mut buffer = [0; 7];
        while server.receive(&mut buffer).unwrap().is_none() {}
        assert_eq!(&buffer, b"twelve ");
        assert_eq!(server.discard(100).unwrap(), Some(5));
        assert_eq!(server.discard(100).unwrap(), None);
        assert_eq!(server.info().data_segments_in, 1);
        client.end();
        while server.discard(1).unwrap().is_none() {}
    }

    #[test]
    fn the_kernel_takes_no_more_than_it_can_soon_send() {
        const SIOCOUTQNSD: libc::Ioctl = 0x894b; // linux/sockios.h
        let (client, _server) = connected();
        // No process reads, so that the connection stops at some point.
        while client.send(&[0; 4096], false).unwrap().is_some() {}
        let mut unsent = 0i32;
        // SAFETY: the result has a valid place.
        check(unsafe { libc::ioctl(client.fd(), SIOCOUTQNSD, &raw mut unsent) }).unwrap();
        // The last packet over loopback may exceed the limit. Without the limit it is 2.6 MB.
        assert!(unsent <= UNSENT + (1 << 18), "{unsent}");
    }

    #[test]
    fn a_control_that_is_not_there_is_named() {
        let error = Socket::connect(&"127.0.0.1:1".parse().unwrap(), "no-such").map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("no-such"), "{error}");
    }
}
