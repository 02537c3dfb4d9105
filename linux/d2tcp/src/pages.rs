//! Manual pages and completion for shells, from the command line's own definition: for packages.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::failure::{Context, Result};
use crate::options::Options;

/// Writes `man/d2tcp.1`, a page for each verb, and `completion/` with a file for each shell.
pub fn write(folder: &Path) -> Result<()> {
    let man = folder.join("man");
    let completion = folder.join("completion");
    for each in [&man, &completion] {
        fs::create_dir_all(each).context(&each.display().to_string())?;
    }
    let command = Options::command();
    clap_mangen::generate_to(command.clone(), &man).context("write the manual pages")?;
    for (shell, name) in [(Shell::Bash, "d2tcp"), (Shell::Zsh, "_d2tcp"), (Shell::Fish, "d2tcp.fish")] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command.clone(), "d2tcp", &mut text);
        fs::write(completion.join(name), text).context("write the completion")?;
    }
    Ok(())
}
