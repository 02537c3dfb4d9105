//! The results that are still in the message log when a run has ended.

use super::message_log::Left;
use super::outcome::{Block, Outcome, Query, RequestRow, Sample, Taken};

/// The rest of the results of a finished run: all queries, requests and samples with the first block, then one block at a time.
pub struct Rest {
    first: Option<Taken>,
    blocks: Left,
}

impl Rest {
    pub(crate) fn of(queries: Vec<Query>, requests: Vec<RequestRow>, samples: Vec<Sample>, blocks: Left) -> Rest {
        Rest { first: Some(Taken { blocks: Vec::new(), queries, requests, samples }), blocks }
    }
}

impl Iterator for Rest {
    type Item = Taken;

    fn next(&mut self) -> Option<Taken> {
        match (self.first.take(), self.blocks.next()) {
            (None, None) => None,
            (first, block) => Some(Taken { blocks: Vec::from_iter(block), ..first.unwrap_or_default() }),
        }
    }
}

impl Outcome {
    /// Returns the outcome with the rows that it lacks.
    pub(crate) fn with(mut self, rest: Rest) -> Outcome {
        let mut rows = rest.blocks.rows();
        for Taken { blocks, queries, requests, samples } in rest {
            for Block { messages, paths, .. } in blocks {
                // A block alone is not copied.
                if self.messages.is_empty() {
                    (self.messages, self.paths.of_messages) = (messages, paths);
                    rows -= self.messages.len();
                    self.messages.reserve_exact(rows);
                } else {
                    self.messages.extend(messages);
                    self.paths.of_messages.extend(paths);
                }
            }
            self.queries.extend(queries);
            self.stage_requests.extend(requests);
            self.trace.extend(samples);
        }
        self
    }
}
