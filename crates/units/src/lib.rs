//! Quantities, the declaration and reading of parameters, and random numbers.
//!
//! Quantities are integers with a type of their own ([`Instant`] and [`Span`] in picoseconds, [`Rate`] in bit/s,
//! [`Bytes`]), so that no float decides when an event happens. Ids of hosts, links, classes, connections and messages
//! have one each too, and a [`Table`] is indexed by one of them.
//!
//! A [`Key`] declares one parameter of a transport, topology or traffic pattern: its name, kind, default, range, help
//! and source. Scenario validation, command-line help, the JSON schema and the documentation all follow from these
//! declarations. [`Key::read`] reads a single value ("20 ms"), with the units of [`measure`]. A [`Stream`] gives random
//! numbers. An [`Excerpt`] shows the place of a mistake in a text, and [`nearest`] the word that was probably meant.

#![forbid(unsafe_code)]

mod bytes;
mod excerpt;
mod id;
mod key;
pub mod measure;
mod nearest;
mod pair;
mod plain;
mod problem;
mod quantity;
mod random;
mod stream;
mod value;

pub use bytes::Bytes;
pub use excerpt::Excerpt;
pub use id::{ClassId, ConnectionId, HostId, Id, LinkId, MAX_HOSTS, MessageId, Table};
pub use key::{Alias, Default, Easier, Key, Kind, Range};
pub use nearest::{folded, nearest};
pub use pair::{halves, pair};
pub use problem::{Problem, counted};
pub use quantity::{Amount, Instant, Rate, Span, Transmission};
pub use random::{Cdf, Distribution};
pub use stream::{Stream, hash_of, mix64};
pub use value::{Deadline, FlowSpec, Formula, Load, Marks, Nodes, Value, Values, Vary};
