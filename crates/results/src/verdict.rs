//! The verdict on one message: the definitions that every figure is based on.

use sim::outcome::Message;
use units::{Instant, Span};

/// The state of a message and its deadline at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It has no deadline.
    NoDeadline,
    /// It was completed in time; exactly at the deadline is in time.
    Met,
    /// It was completed too late, aborted, or unfinished when its deadline passed.
    Missed,
    /// It is unfinished and its deadline is beyond the end of the run.
    Undecided,
}

/// Returns the verdict on `message` when the run ends at `end`.
pub(crate) fn verdict(message: &Message, end: Instant) -> Verdict {
    let Some(allowed) = message.deadline else { return Verdict::NoDeadline };
    let due = message.start.saturating_add(allowed);
    match message.end {
        Some(done) if done <= due => Verdict::Met,
        Some(_) => Verdict::Missed,
        None if message.aborted || due <= end => Verdict::Missed,
        None => Verdict::Undecided,
    }
}

/// Returns the time from a message's start to its last byte's arrival.
pub(crate) fn completion_time(message: &Message) -> Option<Span> {
    message.end.map(|end| end.saturating_sub(message.start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{at_ms, message, ms};

    #[test]
    fn a_message_at_its_deadline_is_in_time() {
        let at = |end_ms| verdict(&message().start(at_ms(1)).deadline(ms(10)).end(at_ms(end_ms)).build(), at_ms(100));
        assert_eq!(at(10), Verdict::Met);
        assert_eq!(at(11), Verdict::Met);
        assert_eq!(at(12), Verdict::Missed);
    }

    #[test]
    fn an_unfinished_message_is_missed_once_its_deadline_has_passed() {
        let unfinished = message().start(at_ms(90)).deadline(ms(10)).build();
        assert_eq!(verdict(&unfinished, at_ms(100)), Verdict::Missed);
        assert_eq!(verdict(&unfinished, at_ms(99)), Verdict::Undecided);
    }

    #[test]
    fn an_aborted_message_is_missed_even_before_its_deadline() {
        let aborted = message().start(at_ms(90)).deadline(ms(50)).aborted().build();
        assert_eq!(verdict(&aborted, at_ms(100)), Verdict::Missed);
        assert_eq!(verdict(&message().start(at_ms(90)).aborted().build(), at_ms(100)), Verdict::NoDeadline);
    }

    #[test]
    fn a_deadline_beyond_all_time_is_undecided() {
        assert_eq!(verdict(&message().start(at_ms(1)).deadline(Span::MAX).build(), at_ms(100)), Verdict::Undecided);
    }
}
