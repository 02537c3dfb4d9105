//! The length of a network interface's queue, as reported by the kernel.

use std::io::Error;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::socket::check;

const RTM_GETQDISC: u16 = 38;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TCA_STATS: u16 = 3;
const NLMSG_ERROR: u16 = 2;

/// A netlink socket of the routing family.
pub struct Netlink(OwnedFd);

/// The length of a queue, and the number of packets that it dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    pub packets: u32,
    pub drops: u32,
}

#[repr(C)]
struct Request {
    length: u32,
    kind: u16,
    flags: u16,
    sequence: u32,
    port: u32,
    // struct tcmsg
    family: u8,
    padding: [u8; 3],
    interface: i32,
    handle: u32,
    parent: u32,
    info: u32,
}

impl Netlink {
    /// Opens a socket in the namespace of the process.
    pub fn open() -> Result<Netlink, Error> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: the descriptor is new.
        unsafe { Ok(Netlink(OwnedFd::from_raw_fd(check(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?))) }
    }

    /// Returns the state of an interface's root queueing discipline.
    pub fn queue(&self, interface: i32) -> Result<Queue, Error> {
        let request = Request {
            length: size_of::<Request>() as u32,
            kind: RTM_GETQDISC,
            // Without NLM_F_ECHO the kernel answers all listeners but the sender of the request.
            flags: (libc::NLM_F_REQUEST | libc::NLM_F_ECHO | libc::NLM_F_ACK) as u16,
            sequence: 1,
            port: 0,
            family: libc::AF_UNSPEC as u8,
            padding: [0; 3],
            interface,
            handle: 0,
            parent: TC_H_ROOT,
            info: 0,
        };
        // SAFETY: the request consists of plain bytes.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), (&raw const request).cast(), size_of::<Request>(), 0) };
        check(sent as i32)?;
        let mut queue = None;
        let mut answer = [0u8; 8192];
        loop {
            // SAFETY: the buffer has the stated size.
            let length =
                check(unsafe { libc::recv(self.0.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) } as i32)?;
            let message = &answer[..length as usize];
            match kind(message) {
                Some(NLMSG_ERROR) => match code(message) {
                    Some(0) => return queue.ok_or_else(|| Error::other("the interface has no queue")),
                    Some(code) => return Err(Error::from_raw_os_error(-code)),
                    None => return Err(Error::other("an answer of the kernel is cut short")),
                },
                _ => queue = read(message),
            }
        }
    }
}

/// Returns the type of a message.
fn kind(message: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?))
}

/// Returns the code of a message that acknowledges or refuses.
fn code(message: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(message.get(16..20)?.try_into().ok()?))
}

/// Parses a message: 16 bytes of header, 20 of struct tcmsg, then attributes.
fn read(message: &[u8]) -> Option<Queue> {
    let short = |at: usize| Some(u16::from_ne_bytes(message.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?));
    let mut at = 36;
    loop {
        let length = usize::from(short(at)?);
        if length < 4 {
            return None;
        }
        if short(at + 2)? == TCA_STATS {
            // struct tc_stats: u64 bytes, u32 packets, drops, overlimits, bps, pps, qlen, backlog
            return Some(Queue { drops: word(at + 4 + 12)?, packets: word(at + 4 + 28)? });
        }
        at += length.next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_an_empty_queue_each_time() {
        // SAFETY: the text ends with a zero.
        let interface = unsafe { libc::if_nametoindex(c"lo".as_ptr()) } as i32;
        let netlink = Netlink::open().unwrap();
        for _ in 0..2 {
            assert_eq!(netlink.queue(interface).unwrap(), Queue::default());
        }
    }

    #[test]
    fn a_queue_is_read_from_among_other_attributes() {
        let mut message = vec![0u8; 36];
        message.extend([7, 0, 1, 0, b'h', b'i', 0, 0]); // an attribute of 3 bytes, padded to 4
        message.extend([40, 0, 3, 0]);
        let mut stats = [0u8; 36];
        stats[12] = 5;
        stats[28] = 9;
        message.extend(stats);
        assert_eq!(read(&message), Some(Queue { packets: 9, drops: 5 }));
        assert_eq!(read(&message[..40]), None);
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert!(Netlink::open().unwrap().queue(1 << 30).is_err());
    }
}
