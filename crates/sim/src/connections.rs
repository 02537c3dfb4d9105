//! The connections: both ends of each, and what an end's wishes turn into.

use std::collections::{BTreeMap, VecDeque};

use transport::registry::Config;
use transport::{Extension, Output, Packet, Receiver, Sender};
use units::Time;

use crate::event::Event;
use crate::flow::Flow;
use crate::net::Net;

/// All connections, by number. Numbers of closed ones are used again, the oldest first; a
/// generation tells their packets apart.
#[derive(Default)]
pub struct Connections {
    senders: Vec<SendingEnd>,
    receivers: Vec<ReceivingEnd>,
    free: VecDeque<u32>,
    /// Connections that stay open, by transport and hosts.
    persistent: BTreeMap<(u32, u32, u32), u32>,
}

/// The sending end of a connection, with its place in the network.
pub struct SendingEnd {
    /// The protocol.
    pub sender: Sender,
    /// The path of its packets.
    path: u32,
    /// Index of its configuration.
    pub config: u32,
    generation: u16,
    /// It is closed when everything is acknowledged.
    closes: bool,
    timer: Timer,
    /// What it has done since this was last taken.
    pub doings: Doings,
}

/// The receiving end of a connection, with its place in the network and the messages it waits for.
pub struct ReceivingEnd {
    /// The protocol.
    pub receiver: Receiver,
    path: u32,
    /// Index of its configuration.
    pub config: u32,
    generation: u16,
    timer: Timer,
    /// The end of the first message that has not arrived; never when there is none.
    pub boundary: u64,
    /// What has arrived since this was last taken.
    pub arrivals: Arrivals,
    /// Up to here, payload has been counted as delivered.
    pub counted: u64,
    /// Payload bytes that have arrived, in order or not, since the last sample.
    pub unsampled: u64,
    /// Messages that have not arrived: their row and the position of their end.
    pub expected: VecDeque<Expected>,
    /// The row of the last message, when none is expected.
    pub last_row: u32,
}

/// The timer of one end.
struct Timer {
    /// The earliest pending event.
    at: Time,
    /// Its place among the timers of the same instant.
    order: u64,
}

/// A message that has not arrived.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Its row in the ledger.
    pub row: u32,
    /// The position of its end in the stream.
    pub end: u64,
    /// The sender has given it up.
    pub abandoned: bool,
}

/// What a sending end has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Doings {
    /// Data packets sent again.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// The message that ended here was given up, and so much of it will never be sent.
    pub abandoned: Option<(u64, u64)>,
}

/// What has arrived at a receiving end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals {
    /// Data packets.
    pub packets: u64,
    /// Their wire bytes.
    pub bytes: u64,
    /// Their waits at the last switch, in units of 1024 ps.
    pub wait: u64,
    /// How many of them were marked.
    pub marks: u32,
}

/// What a timer or packet left behind, for the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing that the ledger must know.
    None,
    /// A message has arrived completely.
    Arrived,
    /// Everything is acknowledged and the connection is to be closed.
    Finished,
    /// The current message was given up.
    Abandoned,
}

impl Connections {
    /// Opens a connection for a flow, whose packets take the first of `paths` there and the second back.
    pub fn open(&mut self, config: u32, transport: &Config, flow: Flow, paths: (u32, u32), closes: bool) -> u32 {
        let ((path, back), order) = (paths, flow.order(config));
        let number = self.free.pop_front().unwrap_or(self.senders.len() as u32);
        let generation = self.senders.get(number as usize).map_or(0, |old| old.generation.wrapping_add(1));
        let sending = SendingEnd {
            sender: Sender::new(transport),
            path,
            config,
            generation,
            closes,
            timer: Timer { at: Time::MAX, order },
            doings: Doings::default(),
        };
        let receiving = ReceivingEnd {
            receiver: Receiver::new(transport),
            path: back,
            config,
            generation,
            timer: Timer { at: Time::MAX, order },
            boundary: u64::MAX,
            arrivals: Arrivals::default(),
            counted: 0,
            unsampled: 0,
            expected: VecDeque::new(),
            last_row: 0,
        };
        if number as usize == self.senders.len() {
            self.senders.push(sending);
            self.receivers.push(receiving);
        } else {
            self.senders[number as usize] = sending;
            self.receivers[number as usize] = receiving;
        }
        number
    }

    /// The persistent connection of this transport and these hosts, or a new one that `open` opens.
    pub fn find_or_open(
        &mut self,
        key: (u32, u32, u32),
        persistent: bool,
        open: impl FnOnce(&mut Connections) -> u32,
    ) -> u32 {
        if persistent && let Some(&number) = self.persistent.get(&key) {
            return number;
        }
        let number = open(self);
        if persistent {
            self.persistent.insert(key, number);
        }
        number
    }

    /// Closes a connection; packets of it that still travel will be ignored.
    pub fn close(&mut self, number: u32) {
        let generation = self.senders[number as usize].generation.wrapping_add(1);
        self.senders[number as usize].generation = generation;
        self.senders[number as usize].timer.at = Time::MAX;
        self.receivers[number as usize].generation = generation;
        self.receivers[number as usize].timer.at = Time::MAX;
        self.receivers[number as usize].boundary = u64::MAX;
        self.receivers[number as usize].expected.clear();
        self.free.push_back(number);
    }

    /// Which of the connections that used its number this one is, as its packets say.
    pub fn generation(&self, number: u32) -> u16 {
        self.receivers[number as usize].generation
    }
    /// Whether the connection that sent a packet is still open.
    pub fn is_current(&self, packet: &Packet) -> bool {
        self.receivers[packet.connection as usize].generation == packet.generation
    }
    /// A connection's sending end.
    pub fn sending(&mut self, number: u32) -> &mut SendingEnd {
        &mut self.senders[number as usize]
    }
    /// A connection's receiving end.
    pub fn receiving(&mut self, number: u32) -> &mut ReceivingEnd {
        &mut self.receivers[number as usize]
    }
    /// The numbers of all connections that are open.
    pub fn open_ones(&self) -> impl Iterator<Item = u32> + use<> {
        let mut open = vec![true; self.senders.len()];
        self.free.iter().for_each(|&number| open[number as usize] = false);
        (0..open.len() as u32).filter(move |&number| open[number as usize])
    }

    /// Hands a message to a connection.
    pub fn hand_over(&mut self, net: &mut Net, configs: &[Config], number: u32, message: transport::Message) {
        let end = &mut self.senders[number as usize];
        let (sender, config, mut out) = end.parts(net, configs, number);
        sender.hand_over(config, out.net.now, message, &mut out);
    }

    /// Hands a packet that has reached its host to the connection's end there.
    #[inline]
    pub fn deliver(&mut self, net: &mut Net, configs: &[Config], packet: &Packet) -> Progress {
        let number = packet.connection;
        let mut extension = net.take_extension(packet);
        if packet.flags.has(transport::Flags::ACK) {
            let end = &mut self.senders[number as usize];
            if end.generation != packet.generation {
                return Progress::None;
            }
            let (sender, config, mut out) = end.parts(net, configs, number);
            sender.on_packet(config, out.net.now, packet, extension.as_mut(), &mut out);
            return end.progress();
        }
        net.counters.packets_delivered += u64::from(packet.payload > 0);
        let end = &mut self.receivers[number as usize];
        if end.generation != packet.generation {
            return Progress::None;
        }
        end.arrivals.packets += 1;
        end.arrivals.bytes += u64::from(packet.size);
        end.arrivals.wait += u64::from(packet.wait);
        end.unsampled += u64::from(packet.payload);
        end.arrivals.marks += u32::from(packet.flags.has(transport::Flags::CE));
        let (receiver, config, mut out) = end.parts(net, configs, number);
        receiver.on_packet(config, out.net.now, packet, extension.as_mut(), &mut out);
        if end.receiver.next() >= end.boundary { Progress::Arrived } else { Progress::None }
    }

    /// A timer of a connection's sending end has come, unless it was overtaken by an earlier one.
    pub fn sender_timer(&mut self, net: &mut Net, configs: &[Config], number: u32) -> Progress {
        let end = &mut self.senders[number as usize];
        if end.timer.at != net.now {
            return Progress::None;
        }
        end.timer.at = Time::MAX;
        let (sender, config, mut out) = end.parts(net, configs, number);
        sender.on_timer(config, out.net.now, &mut out);
        end.progress()
    }

    /// A timer of a connection's receiving end has come, unless it was overtaken by an earlier one.
    pub fn receiver_timer(&mut self, net: &mut Net, configs: &[Config], number: u32) {
        let end = &mut self.receivers[number as usize];
        if end.timer.at != net.now {
            return;
        }
        end.timer.at = Time::MAX;
        let (receiver, config, mut out) = end.parts(net, configs, number);
        receiver.on_timer(config, out.net.now, &mut out);
    }
}

impl SendingEnd {
    #[inline]
    fn parts<'a>(
        &'a mut self,
        net: &'a mut Net,
        configs: &'a [Config],
        number: u32,
    ) -> (&'a mut Sender, &'a Config, Wishes<'a>) {
        let place = Place { number, generation: self.generation, path: self.path, timer: Event::SenderTimer(number) };
        let wishes = Wishes { net, place, timer: &mut self.timer, doings: Some(&mut self.doings) };
        (&mut self.sender, &configs[self.config as usize], wishes)
    }

    /// The path of its packets.
    pub fn path(&self) -> u32 {
        self.path
    }

    /// Which of the connections that had its number it is.
    pub fn generation(&self) -> u16 {
        self.generation
    }

    /// It is closed when everything is acknowledged.
    pub fn closes(&self) -> bool {
        self.closes
    }

    #[inline]
    fn progress(&self) -> Progress {
        if self.doings.abandoned.is_some() {
            Progress::Abandoned
        } else if self.closes && self.sender.is_idle() {
            Progress::Finished
        } else {
            Progress::None
        }
    }
}

impl ReceivingEnd {
    #[inline]
    fn parts<'a>(
        &'a mut self,
        net: &'a mut Net,
        configs: &'a [Config],
        number: u32,
    ) -> (&'a mut Receiver, &'a Config, Wishes<'a>) {
        let place = Place { number, generation: self.generation, path: self.path, timer: Event::ReceiverTimer(number) };
        let wishes = Wishes { net, place, timer: &mut self.timer, doings: None };
        (&mut self.receiver, &configs[self.config as usize], wishes)
    }

    /// The row of the message that is arriving, or of the last one.
    pub fn row(&self) -> u32 {
        self.expected.front().map_or(self.last_row, |expected| expected.row)
    }
}

struct Place {
    number: u32,
    generation: u16,
    path: u32,
    timer: Event,
}

/// Carries out what an end of a connection asks for.
struct Wishes<'a> {
    net: &'a mut Net,
    place: Place,
    timer: &'a mut Timer,
    doings: Option<&'a mut Doings>,
}

impl Wishes<'_> {
    #[inline]
    fn address(&mut self, mut packet: Packet) -> Packet {
        packet.connection = self.place.number;
        packet.generation = self.place.generation;
        packet.route = self.place.path;
        if packet.flags.has(transport::Flags::AGAIN)
            && let Some(doings) = &mut self.doings
        {
            doings.retransmits += 1;
        }
        packet
    }
}

impl Output for Wishes<'_> {
    #[inline]
    fn send(&mut self, packet: Packet) {
        let packet = self.address(packet);
        self.net.send(packet);
    }
    fn send_extended(&mut self, packet: Packet, extension: Extension) {
        let packet = self.address(packet);
        self.net.send_extended(packet, extension);
    }
    fn arm(&mut self, at: Time) {
        if at < self.timer.at {
            self.timer.at = at;
            self.net.events.push_timer(at, self.place.timer, self.timer.order);
        }
    }
    fn timed_out(&mut self) {
        if let Some(doings) = &mut self.doings {
            doings.timeouts += 1;
        }
    }
    fn abandon(&mut self, end: u64, unsent: u64) {
        if let Some(doings) = &mut self.doings {
            doings.abandoned = Some((end, unsent));
        }
    }
}
