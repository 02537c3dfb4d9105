//! Outgoing connections, and the messages that are sent on each in turn.

use std::collections::VecDeque;
use std::io::Error;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::receiver::HEADER;
use crate::socket::{Info, Socket, State};

/// A message to be sent.
#[derive(Clone, Debug, Deserialize)]
pub struct Message {
    pub number: u64,
    /// The time after the start of the run; once the message is queued, its time on the monotonic clock.
    pub at_ns: i64,
    pub to: SocketAddr,
    pub control: String,
    /// The size; none for a message without end.
    pub bytes: Option<u64>,
    /// The allowed time that is announced to the control.
    pub deadline_ns: Option<i64>,
    /// True if it shares its connection with other such messages to the same address.
    pub persistent: bool,
    /// True if the deadline has been announced or refused.
    #[serde(skip)]
    told: bool,
    /// The reason of a refusal.
    #[serde(skip)]
    refused: Option<String>,
}

impl Message {
    /// Returns true if there is no deadline left to announce.
    fn is_told(&self) -> bool {
        self.told || self.bytes.is_none() || self.deadline_ns.is_none()
    }
}

/// The sender's record of one message.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    pub number: u64,
    /// The time at which it was given to the kernel, on the monotonic clock.
    pub start_ns: i64,
    pub retransmits: u32,
    pub timeouts: u32,
    pub marks: u32,
    pub min_rtt_us: u32,
    /// The last state of the control.
    pub state: Option<State>,
    /// The reason for which the deadline was refused.
    pub refused: Option<String>,
    /// The reason for which the connection failed.
    pub error: Option<String>,
}

/// A connection to another host.
pub struct Outgoing {
    socket: Socket,
    persistent: bool,
    /// The message being sent, and the queued ones after it.
    messages: VecDeque<Message>,
    /// The bytes of the first message that the kernel has accepted.
    taken: u64,
    /// The connection's counters at the start of the first message.
    before: Info,
    current: Sent,
    ended: bool,
}

impl Outgoing {
    /// Connects, with `message` as the first one to be sent.
    pub fn open(message: Message) -> Result<Outgoing, Error> {
        let start_ns = clock::now();
        let socket = Socket::connect(&message.to, &message.control)?;
        let mut connection = Outgoing {
            socket,
            persistent: message.persistent,
            messages: VecDeque::new(),
            taken: 0,
            before: Info::default(),
            current: Sent::default(),
            ended: false,
        };
        connection.messages.push_back(Message { at_ns: start_ns, ..message });
        connection.begin(start_ns);
        Ok(connection)
    }

    /// Queues a message after the others; `handed_ns` is the time at which it was due.
    pub fn push(&mut self, message: Message, handed_ns: i64, sent: &mut Vec<Sent>, zeros: &[u8]) -> Result<(), Error> {
        // Announce the deadline at once, as a program that knows its replies does. The control takes messages in order,
        // so that each earlier one must be announced before.
        let in_turn = self.messages.iter().all(|waiting| waiting.told);
        self.messages.push_back(Message { at_ns: handed_ns, ..message });
        if in_turn && !self.messages.is_empty() {
            self.tell(self.messages.len() - 1);
        }
        if self.messages.len() == 1 {
            self.begin(handed_ns);
        }
        self.write(sent, zeros)
    }

    fn begin(&mut self, start_ns: i64) {
        self.tell(0);
        let Some(message) = self.messages.front() else { return };
        self.taken = 0;
        let refused = message.refused.clone();
        self.current = Sent { number: message.number, start_ns, refused, ..Sent::default() };
    }

    /// Announces the deadline of a queued message, unless that has been done.
    fn tell(&mut self, place: usize) {
        let Some(message) = self.messages.get_mut(place).filter(|message| !message.is_told()) else { return };
        if let (Some(bytes), Some(allowed)) = (message.bytes, message.deadline_ns) {
            let left = allowed - (clock::now() - message.at_ns);
            message.refused = self.socket.send_deadline(bytes as i64, left).err().map(|error| error.to_string());
            message.told = true;
        }
    }

    /// Writes as much as the kernel accepts, but at most the size of `zeros`, so that others get their turn. Completely
    /// written messages are recorded in `sent`. The last message of a non-persistent connection is not: it ends when
    /// its receiver has it.
    pub fn write(&mut self, sent: &mut Vec<Sent>, zeros: &[u8]) -> Result<(), Error> {
        let mut budget = zeros.len();
        while let Some(message) = self.messages.front() {
            let length = message.bytes.unwrap_or(u64::MAX);
            while self.taken < length {
                if budget == 0 {
                    return Ok(());
                }
                let header = header(message.number, length);
                let piece = if (self.taken as usize) < HEADER {
                    &header[self.taken as usize..]
                } else {
                    let left = usize::try_from(length - self.taken).unwrap_or(usize::MAX);
                    &zeros[..left.min(budget)]
                };
                let more = self.taken + (piece.len() as u64) < length;
                let Some(bytes) = self.socket.send(piece, more)? else { return Ok(()) };
                self.taken += bytes as u64;
                budget = budget.saturating_sub(bytes);
            }
            if !self.persistent {
                if !self.ended {
                    self.socket.end();
                    self.ended = true;
                }
                return Ok(());
            }
            sent.push(self.settled(None));
            self.before = self.socket.info();
            self.messages.pop_front();
            if let Some(next) = self.messages.front() {
                self.begin(next.at_ns);
            }
        }
        Ok(())
    }

    /// Returns true if there is data left to write.
    pub fn wants_to_write(&self) -> bool {
        !self.messages.is_empty() && !self.ended
    }

    /// Records the current message at the end of the connection or the run.
    pub fn settle(&self, why: Option<String>, sent: &mut Vec<Sent>) {
        if !self.messages.is_empty() {
            sent.push(self.settled(why));
        }
        // Not begun: the receiver does not know the message, and its time is the one at which it was queued.
        for waiting in self.messages.iter().skip(1) {
            sent.push(Sent { number: waiting.number, start_ns: waiting.at_ns, ..Sent::default() });
        }
    }

    fn settled(&self, error: Option<String>) -> Sent {
        let info = self.socket.info();
        Sent {
            retransmits: info.retransmits.saturating_sub(self.before.retransmits),
            timeouts: info.timeouts.saturating_sub(self.before.timeouts),
            marks: info.delivered_marked.saturating_sub(self.before.delivered_marked),
            min_rtt_us: info.min_rtt_us,
            state: self.socket.state(),
            error,
            ..self.current.clone()
        }
    }

    /// Returns the number of the current message, and its connection.
    pub fn under_way(&self) -> Option<(u64, &Socket)> {
        self.messages.front().map(|message| (message.number, &self.socket))
    }

    /// Returns the socket, for epoll.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}

fn header(number: u64, length: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&number.to_be_bytes());
    header[8..].copy_from_slice(&length.to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_writes_no_more_than_its_share_until_all_is_written() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let message = Message {
            number: 7,
            at_ns: 0,
            to: listener.local_addr().unwrap(),
            control: "reno".into(),
            bytes: Some(2500),
            deadline_ns: None,
            persistent: false,
            told: false,
            refused: None,
        };
        let mut connection = Outgoing::open(message).unwrap();
        let _accepted = listener.accept().unwrap();
        let turn = [0; 1000];
        for taken in [1000, 2000, 2500] {
            assert!(connection.wants_to_write());
            connection.write(&mut Vec::new(), &turn).unwrap();
            assert_eq!(connection.taken, taken);
        }
        assert!(!connection.wants_to_write());
    }
}
