//! Lays scenarios and experiments where maturin takes them from: they are files of the wheel, below
//! `duetime/data`. In a checkout that folder has links to them instead. And says how the compiler was told to build.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDERS: [&str; 2] = ["experiments", "scenarios"];

fn main() -> io::Result<()> {
    let variable = |name: &str| PathBuf::from(env::var_os(name).unwrap_or_default());
    let root = variable("CARGO_MANIFEST_DIR").join("../..");
    let data = variable("OUT_DIR").join("data");
    if data.exists() {
        fs::remove_dir_all(&data)?;
    }
    for name in FOLDERS {
        let folder = root.join(name);
        println!("cargo::rerun-if-changed={}", folder.display());
        copy(&folder, &data.join(name))?;
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    println!("cargo::rustc-env=DUETIME_PROFILED={}", flags.contains("profile-use"));
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => fs::copy(entry.path(), target).map(drop)?,
        }
    }
    Ok(())
}
