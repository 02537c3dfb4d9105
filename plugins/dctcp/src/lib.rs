//! DCTCP as a plug-in: it cuts by half of alpha.
#![no_std]

#[path = "../../../python/duetime/templates/plugin/rust/src/duetime.rs"]
mod duetime;
#[path = "../../marking.rs"]
mod marking;

use duetime::{Event, Law};
use marking::{Keys, Marking};

struct Dctcp(Marking);

export!(Dctcp, 5, "../duetime.toml");

impl Law for Dctcp {
    fn open(&mut self, _: &Event, keys: &[f64]) {
        self.0.open(&Keys::of(keys));
    }
    fn on_ack(&mut self, event: &mut Event, keys: &[f64]) {
        self.0.on_ack(event, &Keys::of(keys), |_, alpha| alpha / 2.0);
    }
    fn on_beyond(&mut self, event: &Event, _: &[f64]) {
        self.0.count(event);
    }
    fn on_loss(&mut self, event: &mut Event, _: &[f64]) {
        self.0.on_loss(event);
    }
}
