//! The list of families.

// THE list of families beside the window transports: families that use switches, or keep state at hosts. A family is a
// folder with its `Config`, `Header`, `Agents`, `Host`, `Sender`, `Receiver` and the `DESCRIPTORS` of its transports.
macro_rules! list {
    ($with:ident $($trial:tt)*) => {
        $with! {
            /// The network grants rates on request (D3).
            D3(d3),
            /// Receiving hosts grant the data that is sent to them.
            Grants(grants),
            /// The network adds up the costs of a path (MCP).
            Mcp(mcp),
            /// Ports let the most urgent flows send and pause the others (PDQ).
            Pdq(pdq),
            /// Receiving hosts order window transports by the windows that they advertise.
            Receive(receive),
            /// Packets collect records of the ports on their path (INT).
            Telemetry(telemetry),
            $($trial)*
        }
    };
}

/// Passes the list to another macro.
#[cfg(not(feature = "trial"))]
macro_rules! families {
    ($with:ident) => {
        $crate::families::list! { $with }
    };
}
#[cfg(feature = "trial")]
macro_rules! families {
    ($with:ident) => {
        $crate::families::list! {
            $with
            /// Receiving hosts grant, in the order of deadlines.
            Trial(testing),
        }
    };
}

pub(crate) use {families, list};
