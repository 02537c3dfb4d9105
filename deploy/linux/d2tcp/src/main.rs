//! `d2tcp`: the operator's tool for D2TCP on this machine.

mod accounts;
mod apply;
mod attach;
mod audit;
mod check;
mod compare;
mod enact;
mod escape;
mod excerpt;
mod failure;
mod hooks;
mod kernel;
mod maps;
mod metrics;
mod options;
mod owners;
#[cfg(feature = "package")]
mod pages;
mod parameters;
mod place;
mod policy;
mod privileges;
mod receive;
mod rules;
mod screen;
mod status;
mod testbed;
mod top;
mod trace;
mod verdict;

use std::process::ExitCode;

use clap::Parser;

use crate::failure::Result;
use crate::options::{Command, Options};
use crate::parameters::Parameters;
use crate::place::Pins;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    // A closed pipe (`d2tcp top | head`) ends the tool without a message.
    // SAFETY: sets the default action.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let options = Options::parse();
    let pins = Pins { folder: options.pins };
    let audit = |verb: &str, done: Result<()>| {
        audit::note(&options.audit, verb, &done);
        done
    };
    let done = place::leave_hidden_mounts().and_then(|()| match options.command {
        Command::Check { json } => check::run(&pins, json),
        Command::Attach(wanted) => audit("attach", attach_as(&pins, wanted)),
        Command::Apply { schema: true, .. } => {
            println!("{:#}", policy::schema());
            Ok(())
        }
        Command::Apply { file, dry_run, .. } => {
            let file = file.unwrap_or_default();
            let done = apply::run(&pins, &file, dry_run, VERSION);
            if dry_run { done } else { audit("apply", done) }
        }
        Command::Compare { once, json, guard } => compare::run(&pins, once, json, guard, &options.audit),
        Command::Set(changes) => audit("set", set(&pins, &changes)),
        Command::Status { json } => status::run(&pins, json),
        Command::Top { once, json, sort, reverse, filter } => {
            top::run(&pins, top::View { sort, reverse, filter }, once, json)
        }
        Command::Trace { out, seconds } => trace::run(&pins, out.as_deref(), seconds),
        Command::Metrics { listen } => metrics::run(&pins, listen.as_deref()),
        Command::Receive(options) => {
            if options.is_question() {
                receive::run(&options)
            } else {
                audit("receive", receive::run(&options))
            }
        }
        Command::Testbed { arguments } => testbed::run(&arguments),
        #[cfg(feature = "package")]
        Command::Pages { folder } => pages::write(&folder),
        Command::Detach => audit("detach", attach::detach(&pins).map(|()| println!("detached"))),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("d2tcp: {failure}");
            ExitCode::from(failure.kind as u8)
        }
    }
}

fn attach_as(pins: &Pins, wanted: options::Attach) -> Result<()> {
    let wanted = wanted.wanted()?;
    let about = attach::attach(pins, &wanted, VERSION)?;
    if !wanted.foreground {
        println!("{}", status::in_brief(pins, &about)?);
    }
    Ok(())
}

fn set(pins: &Pins, changes: &Parameters) -> Result<()> {
    attach::require(pins)?;
    let law = changes.some_over(attach::law(pins)?)?;
    attach::set_law(pins, &law)?;
    println!("{}", status::parameters_in_words(&law));
    Ok(())
}
