//! Serialization of classes by name.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Serializes one object with a key for each name, in this order.
pub(crate) fn by_name<S: Serializer, T: Serialize>(classes: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(classes.len()))?;
    for (name, class) in classes {
        map.serialize_entry(name, class)?;
    }
    map.end()
}
