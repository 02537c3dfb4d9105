//! Manual pages and shell completions for packages, from the definition of the command line.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::escape::Shown;
use crate::failure::{Context, Result};
use crate::options::Options;

/// Writes a man page for each verb into `man/`, and a file for each shell into `completion/`.
pub fn write(folder: &Path) -> Result<()> {
    let man = folder.join("man");
    let completion = folder.join("completion");
    for each in [&man, &completion] {
        fs::create_dir_all(each).context(&each.shown().to_string())?;
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
