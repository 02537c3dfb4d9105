//! `rcpdc`: D3's routers, asked for nothing.

use units::Values;

use super::{d3, router};
use crate::connection;
use crate::list::{Config, Control, Descriptor};

/// Fair sharing by D3's routers.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "rcpdc",
    help: "RCPdc: D3's routers with every request 0, so that all flows share alike",
    source: "Wilson et al., SIGCOMM 2011, section 6: their upper bound for fair sharing",
    groups: &[connection::KEYS, router::KEYS],
    build,
};

fn build(values: &Values) -> Config {
    let connection = connection::Config::from_values(values);
    let router = router::Config::from_values(values, &connection);
    Config { connection, control: Control::Explicit(d3::Config { request: None, quench: false, router }) }
}
