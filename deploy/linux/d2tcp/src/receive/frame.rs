//! Window updates: bare acknowledgements, as the kernel would send them.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;

use super::layout::{Slot, TIMESTAMPS};
use crate::failure::{Context, Result};

const ETHERNET: usize = 14;
const ACK: u8 = 16;
const DO_NOT_FRAGMENT: u16 = 0x4000;

/// A socket that sends frames from an interface.
pub struct Wire {
    socket: OwnedFd,
    to: libc::sockaddr_ll,
}

impl Wire {
    /// Opens a socket on the interface of this number.
    pub fn open(interface: u32) -> Result<Wire> {
        // SAFETY: the arguments are numbers. With protocol 0 it receives nothing.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error()).context("open a packet socket");
        }
        // SAFETY: the descriptor is new and ours; zeros are a value of this structure of numbers.
        let (socket, mut to) = unsafe { (OwnedFd::from_raw_fd(socket), std::mem::zeroed::<libc::sockaddr_ll>()) };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_ifindex = interface as i32;
        Ok(Wire { socket, to })
    }

    /// Sends the present window of a connection. The program at the interface's egress writes the schedule's window
    /// into it; without that program it has the kernel's own.
    pub fn update(&self, slot: &Slot) -> bool {
        let frame = update(slot);
        let mut to = self.to;
        to.sll_protocol = if slot.is_ipv6() { libc::ETH_P_IPV6 } else { libc::ETH_P_IP } as u16;
        to.sll_protocol = to.sll_protocol.to_be();
        // SAFETY: both pointers are valid for the given lengths.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                libc::MSG_DONTWAIT,
                (&raw const to).cast(),
                size_of_val(&to) as u32,
            )
        };
        sent == frame.len() as isize
    }
}

/// Returns the frame of an acknowledgement like the connection's last packet.
fn update(slot: &Slot) -> Vec<u8> {
    let key = slot.key();
    let mut tcp = Vec::with_capacity(32);
    tcp.extend_from_slice(&key.local_port.to_be_bytes());
    tcp.extend_from_slice(&key.remote_port.to_be_bytes());
    tcp.extend_from_slice(&slot.seq.load(Relaxed).to_be_bytes());
    tcp.extend_from_slice(&slot.ack.load(Relaxed).to_be_bytes());
    let stamped = slot.flags.load(Relaxed) & TIMESTAMPS != 0;
    let words: u8 = if stamped { 8 } else { 5 };
    tcp.extend_from_slice(&[words << 4, ACK]);
    tcp.extend_from_slice(&(slot.field.load(Relaxed) as u16).to_be_bytes());
    tcp.extend_from_slice(&[0; 4]);
    if stamped {
        tcp.extend_from_slice(&[1, 1, 8, 10]);
        for stamp in &slot.stamps {
            // The kernel keeps them in network byte order.
            tcp.extend_from_slice(&stamp.load(Relaxed).to_ne_bytes());
        }
    }
    let length = tcp.len() as u16;
    let mut frame = Vec::with_capacity(ETHERNET + 40 + tcp.len());
    frame.extend_from_slice(&slot.link());
    let mut pseudo = Vec::with_capacity(40 + tcp.len());
    if slot.is_ipv6() {
        frame.extend_from_slice(&[0x60, 0, 0, 0]);
        frame.extend_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(&[libc::IPPROTO_TCP as u8, 64]);
        frame.extend_from_slice(&key.local);
        frame.extend_from_slice(&key.remote);
        pseudo.extend_from_slice(&key.local);
        pseudo.extend_from_slice(&key.remote);
    } else {
        let mut ip = vec![0x45, 0];
        ip.extend_from_slice(&(20 + length).to_be_bytes());
        ip.extend_from_slice(&[0, 0]);
        ip.extend_from_slice(&DO_NOT_FRAGMENT.to_be_bytes());
        ip.extend_from_slice(&[64, libc::IPPROTO_TCP as u8, 0, 0]);
        ip.extend_from_slice(&key.local[12..]);
        ip.extend_from_slice(&key.remote[12..]);
        let sum = checksum(&ip).to_be_bytes();
        ip[10..12].copy_from_slice(&sum);
        frame.extend_from_slice(&ip);
        pseudo.extend_from_slice(&ip[12..]);
    }
    pseudo.extend_from_slice(&[0, libc::IPPROTO_TCP as u8]);
    pseudo.extend_from_slice(&length.to_be_bytes());
    pseudo.extend_from_slice(&tcp);
    let sum = checksum(&pseudo).to_be_bytes();
    tcp[16..18].copy_from_slice(&sum);
    frame.extend_from_slice(&tcp);
    frame
}

/// Returns the Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071, section 3.
    #[test]
    fn checksums_are_those_of_the_rfc() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[1]), !0x0100, "an odd byte is the upper one");
    }
}
