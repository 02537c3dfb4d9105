//! `rcpdc`: D3's routers, asked for nothing.

use units::Values;

use super::agent::{self, Agents};
use super::asks;
use crate::connection;
use crate::list::{Config, Control, Descriptor};

/// Fair sharing by D3's routers.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "rcpdc",
    help: "RCPdc: D3's routers with every request 0, so that all flows share alike",
    source: "Wilson et al., SIGCOMM 2011, section 6: their upper bound for fair sharing",
    groups: &[connection::KEYS, agent::KEYS],
    build,
};

fn build(values: &Values) -> Config {
    let connection = connection::Config::from_values(values);
    let router = Agents::from_values(values, &connection);
    Config { connection, control: Control::D3(asks::Config { request: None, quench: false, router }) }
}
