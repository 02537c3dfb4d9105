//! The names of a module's exports.

use transport::plugin::Event;

/// Returns the function of an event that a module may export.
pub(crate) fn export(event: Event) -> &'static str {
    match event {
        Event::Open => "open",
        Event::Ack => "on_ack",
        Event::Beyond => "on_beyond",
        Event::Loss => "on_loss",
        Event::Timeout => "on_timeout",
        Event::Message => "on_message",
    }
}

/// The functions that return an address or a size, each with what it is.
pub(crate) const PLACES: [(&str, &str); 4] = [
    ("event", "the address of the block of numbers that each call has"),
    ("state", "the address of a connection's state"),
    ("state_size", "the bytes of a connection's state"),
    ("keys", "the address of the values of its keys"),
];
