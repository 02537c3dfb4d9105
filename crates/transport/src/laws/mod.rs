//! The window laws, one file each.

pub mod cubic;
pub mod d2tcp;
pub mod dctcp;
pub mod reno;
pub mod xdctcp;
