//! `d2tcp`: D2TCP on this machine, for the operator.

mod attach;
mod check;
mod failure;
mod hooks;
mod kernel;
mod metrics;
mod options;
mod owners;
#[cfg(feature = "package")]
mod pages;
mod place;
mod privileges;
mod rules;
mod screen;
mod status;
mod testbed;
mod top;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use crate::options::{Command, Options};

fn main() -> ExitCode {
    // A reader that goes away (`d2tcp top | head`) ends the tool, quietly.
    // SAFETY: the default action.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let options = Options::parse();
    let pins = place::Pins { folder: options.pins };
    let done = match options.command {
        Command::Check { json } => check::run(&pins, json),
        Command::Attach(wanted) => wanted.wanted().and_then(|wanted| {
            let foreground = wanted.foreground;
            let about = attach::attach(&pins, &wanted, env!("CARGO_PKG_VERSION"))?;
            if !foreground {
                println!("{}", status::in_brief(&pins, &about)?);
            }
            Ok(())
        }),
        Command::Set(changes) => attach::require(&pins).and_then(|_| {
            let law = changes.some_over(attach::law(&pins)?)?;
            attach::set_law(&pins, &law)?;
            println!("{}", status::parameters_in_words(&law));
            Ok(())
        }),
        Command::Status { json } => status::run(&pins, json),
        Command::Top { once, json, sort, reverse, filter } => {
            top::run(&pins, top::View { sort, reverse, filter }, once, json)
        }
        Command::Trace { out, seconds } => trace::run(&pins, out.as_deref(), seconds),
        Command::Metrics { listen } => metrics::run(&pins, listen.as_deref()),
        Command::Testbed { arguments } => testbed::run(&arguments),
        #[cfg(feature = "package")]
        Command::Pages { folder } => pages::write(&folder),
        Command::Detach => attach::detach(&pins).map(|()| println!("detached")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("d2tcp: {failure}");
            ExitCode::from(failure.kind as u8)
        }
    }
}
