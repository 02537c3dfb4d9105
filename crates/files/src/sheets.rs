//! The tables of one run.

use std::io;
use std::path::{Path, PathBuf};

use results::{Names, Query};
use sim::Outcome;
use sim::outcome::{RequestRow, Sample, Taken};
use units::{ClassId, Instant, Table};

use crate::part::Parts;

/// Tables of a run in a folder.
pub struct Sheets {
    folder: PathBuf,
    names: Names,
    flows: Parts,
    queries: Parts,
    requests: Parts,
    pieces: Parts,
    trace: Parts,
    /// Samples that are not written yet: fewer than a part has.
    samples: Vec<Sample>,
    samples_written: u64,
    /// Requests that are not written yet, by class: of each fewer than a part has.
    served: Table<ClassId, Served>,
    /// The number of samples, or of entries of requests, in a part.
    max_samples: usize,
}

/// Requests of one class that are not written yet.
#[derive(Default)]
struct Served {
    rows: Vec<RequestRow>,
    /// The number of entries that they have: stages, windows and pieces.
    entries: usize,
}

impl Served {
    fn add(&mut self, request: RequestRow) {
        self.entries += 1 + request.stages.len() + request.windows.len() + request.pieces.len();
        self.rows.push(request);
    }
}

impl Sheets {
    /// Creates them in an empty folder that exists, for a run whose rows refer to these names. A part of the trace has
    /// at most `max_samples` samples.
    pub fn new(folder: &Path, names: Names, max_samples: usize) -> Sheets {
        Sheets {
            folder: folder.into(),
            names,
            flows: Parts::new(folder.join("flows.parquet")),
            queries: Parts::new(folder.join("queries.parquet")),
            requests: Parts::new(folder.join("requests.parquet")),
            pieces: Parts::new(folder.join("pieces.parquet")),
            trace: Parts::new(folder.join("trace.parquet")),
            samples: Vec::new(),
            samples_written: 0,
            served: Table::default(),
            max_samples,
        }
    }

    /// Writes rows taken out of the run. Messages that are neither complete nor aborted are judged as of `ended`, when
    /// the run was over.
    pub fn write(&mut self, taken: &Taken, ended: Instant) -> io::Result<()> {
        for block in &taken.blocks {
            let rows = results::some_flows(&block.messages, &self.names, ended);
            self.flows.write(block.first.0.into(), &rows)?;
        }
        for request in &taken.requests {
            let served = self.served.reach(request.class);
            served.add(request.clone());
            if served.entries >= self.max_samples {
                self.write_requests(request.class, ended)?;
            }
        }
        self.samples.extend_from_slice(&taken.samples);
        match self.samples.len() >= self.max_samples {
            true => self.write_samples(),
            false => Ok(()),
        }
    }

    /// Writes queries of which everything is known, in blocks with the place of the first of each.
    pub fn write_queries(&mut self, blocks: Vec<(u64, Vec<Query>)>) -> io::Result<()> {
        let mut write =
            |(first, rows): (u64, Vec<Query>)| self.queries.write(first, &results::some_queries(&rows, &self.names));
        blocks.into_iter().try_for_each(&mut write)
    }

    fn write_samples(&mut self) -> io::Result<()> {
        self.trace.write(self.samples_written, &results::some_samples(&self.samples, &self.names))?;
        self.samples_written += self.samples.len() as u64;
        self.samples.clear();
        Ok(())
    }

    /// Writes the requests of a class. The classes are written one after the other, each in order of arrival.
    fn write_requests(&mut self, class: ClassId, ended: Instant) -> io::Result<()> {
        let Served { rows, .. } = std::mem::take(&mut self.served[class]);
        let Some(first) = rows.first() else { return Ok(()) };
        let place = u64::from(class.0) << u32::BITS | first.number;
        if rows.iter().any(|request| !request.pieces.is_empty()) {
            self.pieces.write(place, &results::some_pieces(&rows, &self.names))?;
        }
        self.requests.write(place, &results::some_requests(&rows, &self.names, ended))
    }

    /// Writes the rows that are known only at the end of the run; all others have been written.
    pub fn close(mut self, outcome: &Outcome) -> io::Result<()> {
        if self.flows.is_empty() {
            self.flows.write(0, &results::some_flows(&[], &self.names, outcome.ended))?;
        }
        if !self.samples.is_empty() {
            self.write_samples()?;
        }
        (0..self.served.len())
            .map(ClassId::from_index)
            .try_for_each(|class| self.write_requests(class, outcome.ended))?;
        let mut links = Parts::new(self.folder.join("links.parquet"));
        links.write(0, &results::links(outcome))?;
        [self.flows, self.queries, self.requests, self.pieces, self.trace, links].into_iter().try_for_each(Parts::close)
    }
}
