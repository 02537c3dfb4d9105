//! From what a run measured to what people and programs read.
//!
//! [`Report`] is the JSON contract of `duetime run --json`; [`Table`]s are the columns of
//! `flows.parquet`, `queries.parquet`, `links.parquet` and `trace.parquet`. Everything here is a pure function of
//! [`sim::Outcome`]: the same outcome gives the same bytes.

#![forbid(unsafe_code)]

mod limit;
mod queries;
mod report;
mod statistics;
mod summary;
mod tables;
mod verdict;

pub use limit::{Foresight, Limit, Limits};
pub use queries::{AnswersInTime, FanIn};
pub use report::{BusiestQueue, ClassReport, Packets, Report};
pub use statistics::{DeadlineRatio, FctUs, Slowdown, percentile};
pub use summary::Summary;
pub use tables::{Column, Data, Table, flows, links, queries, trace};

#[cfg(test)]
mod samples;
