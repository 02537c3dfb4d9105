//! What values may refer to, beside what is written.

use sim::profile::Profile;
use units::HostId;

use crate::evaluate::Parameters;
use crate::files::Files;

/// What values may refer to.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) parameters: &'a Parameters,
    /// What paths lead to.
    pub(crate) files: &'a Files<'a>,
    /// The number of hosts, once the network is known.
    pub(crate) hosts: Option<u32>,
    /// What `[transport]` and `[network]` are by default.
    pub(crate) profile: &'static Profile,
    /// Multiplies every deadline.
    pub(crate) deadline_factor: f64,
}

impl Context<'_> {
    /// Whether that host exists.
    pub(crate) fn check_host(&self, host: u64) -> Result<HostId, String> {
        match self.hosts {
            Some(hosts) if host >= u64::from(hosts) => {
                Err(format!("host {host} does not exist; the network has hosts 0 to {}", hosts.saturating_sub(1)))
            }
            _ => u32::try_from(host).map(HostId).map_err(|_| format!("host {host} does not exist")),
        }
    }
}
