//! The results of a run, for people and programs.
//!
//! [`Report`] is the JSON contract of `duetime run --json`; [`Table`]s are the columns of `flows.parquet`,
//! `queries.parquet`, `requests.parquet`, `links.parquet` and `trace.parquet`. Everything here is a pure function of [`sim::Outcome`], or
//! of its parts as they are taken out of a run: the same outcome gives the same bytes. A [`RunStatistics`] may use a file for
//! values that would take too much memory.

#![forbid(unsafe_code)]

mod book;
mod by_name;
mod limit;
mod queries;
mod report;
mod requests;
mod statistics;
mod summary;
mod tables;
mod values;
mod verdict;

pub use book::RunStatistics;
pub use limit::{Foresight, Limit, Limits};
pub use queries::{AnswersInTime, FanIn, Query};
pub use report::{BusiestQueue, ClassReport, Packets, Report};
pub use requests::{GoalSummary, RequestSummary, StageShare, Straggler};
pub use statistics::{DeadlineRatio, FctUs, RequestUs, Slowdown};
pub use summary::Summary;
pub use tables::{
    Column, Data, Names, Table, flows, links, pieces, queries, requests, some_flows, some_pieces, some_queries,
    some_requests, some_samples, trace,
};

#[cfg(test)]
mod samples;
