//! tmp
pub mod machine;
