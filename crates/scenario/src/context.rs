//! The context of values: everything that they may refer to.

use sim::profile::Profile;
use units::{HostId, RequestTrace};

use crate::evaluate::{Names, Parameters};
use crate::files::Files;

/// Everything that values may refer to.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) parameters: &'a Parameters,
    /// The files that paths name.
    pub(crate) files: &'a Files<'a>,
    /// The number of hosts, once the network is known.
    pub(crate) hosts: Option<u32>,
    /// The defaults of `[transport]` and `[network]`.
    pub(crate) profile: &'static Profile,
    /// Factor on every deadline, from `[run]`.
    pub(crate) deadline_factor: f64,
    /// The requests of the class that is read, if they are from a file.
    pub(crate) requests: Option<&'a RequestTrace>,
}

impl<'a> Context<'a> {
    /// Returns the names of the columns of the class's requests.
    pub(crate) fn columns(&self) -> &'a [String] {
        self.requests.map_or(&[], |requests| &requests.columns)
    }
    /// Returns the names for expressions whose value is the same for all requests.
    pub(crate) fn names(&self) -> Names<'a> {
        Names::Unusable(self.columns())
    }
    /// Returns the host of that number, if it exists.
    pub(crate) fn check_host(&self, host: u64) -> Result<HostId, String> {
        match self.hosts {
            Some(hosts) if host >= u64::from(hosts) => {
                Err(format!("host {host} does not exist; the network has hosts 0 to {}", hosts.saturating_sub(1)))
            }
            _ => u32::try_from(host).map(HostId).map_err(|_| format!("host {host} does not exist")),
        }
    }
}
