//! What everything else is counted in, and how parameters are declared.
//!
//! Quantities are integers with a type of their own ([`Time`] in picoseconds, [`Rate`] in bit/s,
//! bytes, packets), so that no float decides when an event happens. A [`Key`] declares one
//! parameter of a transport, topology or traffic pattern: its name, kind, default, range, help
//! and source. Scenario validation, command-line help, the JSON schema and the documentation
//! all follow from these declarations.

mod key;
mod quantity;
mod random;
mod value;

pub use key::{Default, Key, Kind, Range};
pub use quantity::{Amount, Rate, Time, Transmission};
pub use random::{Cdf, Distribution};
pub use value::{Deadline, FlowSpec, Formula, Marks, Nodes, Value, Values, Vary};
