//! `rcpdc`: D3's routers, with requests of 0.

use super::agent::{self, Agents};
use super::asks::Config;
use crate::{Descriptor, Needs};

/// Fair sharing by D3's routers.
pub(super) const DESCRIPTOR: Descriptor<Config> = Descriptor {
    name: "rcpdc",
    help: "RCPdc: D3's routers with every request 0, so that all flows share alike",
    source: "Wilson et al., SIGCOMM 2011, section 6: their upper bound for fair sharing",
    aliases: &[],
    groups: &[agent::KEYS],
    needs: Needs::of(super::GRANTS, "pacing at the granted rate"),
    signals: super::SIGNALS,
    build: |values, connection| {
        let router = Agents::from_values(values, connection);
        Ok(Config { request: None, quench: false, router })
    },
};
