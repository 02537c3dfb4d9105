//! The list of families.

// THE list of families beside the window laws: those that talk to switches, or keep state at hosts. A family is a
// folder with its `Config`, `Header`, `Agents`, `Host`, `Sender`, `Receiver` and the `DESCRIPTORS` of its transports.
macro_rules! list {
    ($with:ident $($trial:tt)*) => {
        $with! {
            /// The network grants rates on request (D3).
            D3(d3),
            /// Receiving hosts grant what is sent to them.
            Grants(grants),
            /// The network adds up what a path costs (MCP).
            Mcp(mcp),
            /// Ports let the most urgent flows send and pause the others (PDQ).
            Pdq(pdq),
            $($trial)*
        }
    };
}

/// Gives the list to another macro, which says what becomes of it.
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
            Trial(trial),
        }
    };
}

pub(crate) use {families, list};
