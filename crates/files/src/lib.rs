//! A run's tables as Parquet files that grow during the run.
//!
//! [`Sheets`] store rows taken out of a run, so that the memory that a run takes does not depend on its length.

#![forbid(unsafe_code)]

mod part;
mod sheets;

pub use part::Parts;
pub use sheets::Sheets;
