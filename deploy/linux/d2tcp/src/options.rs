//! The command line's options.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::attach::{Select, Wanted};
use crate::failure::Result;
use crate::parameters::{Parameters, percent, ports, seconds};
use crate::receive::Receive;
use crate::top::Sort;

/// D2TCP on this machine: deadlines for TCP messages, told by setsockopt.
///
/// Exit codes: 0 done, 1 something failed on the way, 2 wrong usage, 3 attached already, 4 not attached, 5 the
/// kernel lacks something, 6 not permitted, 7 attached, but a part of it is dead.
#[derive(Debug, Parser)]
#[command(name = "d2tcp", version)]
pub struct Options {
    /// The folder of the tool's objects, in bpffs.
    #[arg(long, global = true, value_name = "DIR", default_value = "/sys/fs/bpf/d2tcp")]
    pub pins: PathBuf,
    /// The file for a record of attach, apply, set and detach, one JSON object a line, if its folder is there. They are
    /// written to the system's log in any case.
    #[arg(long, global = true, value_name = "FILE", default_value = "/var/log/d2tcp/audit.jsonl")]
    pub audit: PathBuf,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The command to run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say which features this kernel supports, and which are missing.
    Check {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Attach the congestion control and the hooks.
    Attach(Attach),
    /// Put a policy into force, for connections that are there, too; attaches if nothing is attached.
    Apply {
        /// The policy: see deploy/linux/policy.md, and --schema.
        #[arg(value_name = "POLICY.toml", required_unless_present = "schema")]
        file: Option<PathBuf>,
        /// Say which changes it would make, and change nothing.
        #[arg(long)]
        dry_run: bool,
        /// Print the schema of policies, as JSON Schema.
        #[arg(long)]
        schema: bool,
    },
    /// Change parameters while running, for the connections that are there, too.
    Set(Parameters),
    /// Show the current attachment, with its parameters and counters.
    Status {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what both arms of a canary do (rules with a share), live, with 95 % intervals.
    Compare {
        /// Print once, then leave.
        #[arg(long)]
        once: bool,
        /// As JSON, one line each time.
        #[arg(long)]
        json: bool,
        /// Roll a canary back whose D2TCP arm is surely worse than the other arm, and surely beyond a limit of its rule
        /// (most_loss, most_timeouts, most_missed). Its connections get their control back.
        #[arg(long)]
        guard: bool,
    },
    /// Show the connections, live.
    Top {
        /// Print once, then leave.
        #[arg(long)]
        once: bool,
        /// Once, as JSON, one connection per line.
        #[arg(long)]
        json: bool,
        /// The order; the key s changes it.
        #[arg(long, default_value = "deadline")]
        sort: Sort,
        /// The other way round; the key r does the same.
        #[arg(long)]
        reverse: bool,
        /// Only connections with this text in an address, a process, a cgroup or a rule, or of this PID; the key /
        /// asks for it.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        filter: String,
    },
    /// Record cwnd, alpha, d, p, srtt and throughput of every connection, once per window.
    Trace {
        /// FILE.parquet or FILE.csv, with the columns of the simulator's trace; CSV to the standard output if not
        /// given.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// For so long; until Ctrl-C if not given.
        #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
        seconds: Option<f64>,
    },
    /// Serve counters and histograms for Prometheus.
    Metrics {
        /// Address to listen on; print once to the standard output if not given.
        #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:9732")]
        listen: Option<String>,
    },
    /// Take everything out again.
    Detach,
    /// Schedule the windows of incoming connections: messages with deadlines first, whatever their senders are.
    ///
    /// It needs D2TCP neither here nor at the senders, and runs until a signal. However it ends, windows are the kernel's
    /// again. Programs announce messages by D2TCP_EXPECT (d2tcp.h), or rules do it for them.
    Receive(Receive),
    /// Write manual pages and completion for shells into a folder.
    #[cfg(feature = "package")]
    #[command(hide = true)]
    Pages {
        /// The folder to write into.
        folder: PathBuf,
    },
    /// Run an experiment in network namespaces of this machine: the same as `duetime testbed`.
    #[command(disable_help_flag = true)]
    Testbed {
        /// An experiment's name or a scenario file, and options: see `d2tcp testbed --help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// The options of `attach`.
#[derive(Args, Debug)]
pub struct Attach {
    /// cgroup2 folder, from the root of cgroup2 or in full. Sockets made in it or below (accepted ones: whose listener
    /// was) may be told deadlines, and their connections get the control. By its path: it may be made later, and anew.
    /// May be given more than once. Everything if not given.
    #[arg(long, value_name = "DIR")]
    cgroup: Vec<PathBuf>,
    /// Only connections with a local or remote port in this range.
    #[arg(long, value_name = "A-B", value_parser = ports, conflicts_with = "opt_in")]
    ports: Option<(u16, u16)>,
    /// Make it the default of a network namespace (a name of `ip netns`, a path, or the one the tool runs in)
    /// instead of choosing by cgroup.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "",
          conflicts_with_all = ["ports", "opt_in", "foreground"])]
    namespace: Option<String>,
    /// Choose no connection: programs ask for it by TCP_CONGESTION.
    #[arg(long)]
    opt_in: bool,
    /// Selected peers: all, or only private address ranges [default: private without --cgroup and --ports, else any]
    #[arg(long, conflicts_with_all = ["opt_in", "namespace", "replace"])]
    peers: Option<PeersWanted>,
    /// Mean of d - 1 that one user may have over the windows that are cut, in percent or as a share; 100%: no limit
    /// [default: 25%]
    #[arg(long, value_name = "SHARE", value_parser = percent, conflicts_with = "replace")]
    user_urgency: Option<f64>,
    /// Stay, and detach when ended in any way, instead of leaving it attached.
    #[arg(long, conflicts_with = "replace")]
    foreground: bool,
    /// Exchange the programs of the attachment, under running connections; the selection and parameters that are not
    /// given stay.
    #[arg(long, conflicts_with_all = ["cgroup", "ports", "namespace", "opt_in"])]
    replace: bool,
    /// Parameters of the law.
    #[command(flatten)]
    parameters: Parameters,
}

/// The peers of selected connections.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum PeersWanted {
    /// All peers of any address.
    Any,
    /// Peers in private address ranges.
    Private,
}

impl Attach {
    /// Returns the arguments for [`crate::attach`].
    pub fn wanted(self) -> Result<Wanted> {
        let select = match self.ports {
            Some((low, high)) => Select::Ports(low, high),
            None if self.opt_in || self.namespace.is_some() => Select::None,
            None => Select::All,
        };
        let selected = !self.cgroup.is_empty() || self.ports.is_some();
        let private = match self.peers {
            Some(peers) => peers == PeersWanted::Private,
            None => !selected && select == Select::All,
        };
        Ok(Wanted {
            cgroups: self.cgroup,
            select,
            private,
            user_urgency: self.user_urgency,
            policy: None,
            namespace: self.namespace,
            parameters: self.parameters,
            replace: self.replace,
            foreground: self.foreground,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Kind;
    use crate::kernel::{Law, ONE, UNIT};
    use crate::parameters::DEFAULTS;

    #[test]
    fn what_is_not_given_stays() {
        let before = Law { cap: 3 * UNIT as u32, margin_ns: 7, ..DEFAULTS };
        let given = Options::parse_from(["d2tcp", "set", "--g", "1/8", "--expired", "yield"]);
        let Command::Set(parameters) = given.command else { panic!("set") };
        assert_eq!(parameters.some_over(before).unwrap(), Law { g: ONE / 8, expired: 2, ..before });
        assert_eq!(Parameters::merged(&Law { g: 1, margin_ns: 1, ..before }, 1 << 6, &before).margin_ns, 1);
        let plus = Options::parse_from(
            [
                &["d2tcp", "set", "--mode", "plus", "--rto-min", "8ms"][..],
                &["--initial-window", "2", "--time-scale", "25"],
            ]
            .concat(),
        );
        let Command::Set(plus) = plus.command else { panic!("set") };
        let law = plus.some_over(before).unwrap();
        assert_eq!(law, Law { mode: 1, rto_min_ns: 8_000_000, initial_window: 2, time_scale: 25 << 20, ..before });
        assert_eq!(Parameters::merged(&law, plus.given(), &before), law);
        let Command::Set(nothing) = Options::parse_from(["d2tcp", "set"]).command else { panic!("set") };
        assert_eq!(nothing.some_over(before).unwrap_err().kind, Kind::Usage);
    }

    #[test]
    fn parameters_that_starve_others_are_confirmed_in_words() {
        let law = |arguments: &[&str]| {
            let Command::Set(given) = Options::parse_from(["d2tcp", "set"].iter().chain(arguments)).command else {
                panic!("set")
            };
            given.some_over(DEFAULTS)
        };
        for (dangerous, words) in
            [(&["--g", "0", "--initial-alpha", "0"][..], "ignore marks"), (&["--cap", "16"], "starve others")]
        {
            let refused = law(dangerous).unwrap_err();
            assert!(refused.kind == Kind::Usage && refused.message.contains(words), "{refused}");
            assert!(law(&[dangerous, &["--confirm", "yes"]].concat()).is_err());
            assert!(law(&[dangerous, &["--confirm", words]].concat()).is_ok());
        }
        assert!(law(&["--g", "0"]).is_ok(), "alpha stays 1: more careful than ever");
        assert!(law(&["--initial-alpha", "0"]).is_ok() && law(&["--cap", "4"]).is_ok());
    }

    #[test]
    fn without_a_selection_the_internet_is_left_alone() {
        let private = |arguments: &[&str]| {
            let all = ["d2tcp", "attach"].iter().chain(arguments);
            let Command::Attach(attach) = Options::parse_from(all).command else { panic!("attach") };
            attach.wanted().unwrap().private
        };
        assert!(private(&[]) && private(&["--ports", "80-90", "--peers", "private"]));
        assert!(!private(&["--peers", "any"]) && !private(&["--ports", "80-90"]) && !private(&["--cgroup", "a"]));
    }

    #[test]
    fn the_selection_follows_from_the_options() {
        let select = |arguments: &[&str]| {
            let all = ["d2tcp", "attach"].iter().chain(arguments);
            let Command::Attach(attach) = Options::parse_from(all).command else { panic!("attach") };
            attach.wanted().unwrap().select
        };
        assert_eq!(select(&[]), Select::All);
        assert_eq!(select(&["--ports", "80-90"]), Select::Ports(80, 90));
        assert_eq!(select(&["--opt-in"]), Select::None);
        assert_eq!(select(&["--namespace=a"]), Select::None);
        assert!(Options::try_parse_from(["d2tcp", "attach", "--namespace=a", "--foreground"]).is_err());
    }
}
