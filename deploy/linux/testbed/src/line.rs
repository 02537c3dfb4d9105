//! Lines of input and output, with one JSON object each.

use std::io::{BufRead, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;

/// Reads the next line of standard input. Its end is an error, since the parent process has died.
pub fn read<T: DeserializeOwned>() -> Result<T> {
    let mut text = String::new();
    if std::io::stdin().lock().read_line(&mut text)? == 0 {
        return Err("the testbed is gone".into());
    }
    Ok(serde_json::from_str(&text)?)
}

/// Writes an object to standard output, as one line.
pub fn write(value: &impl Serialize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Waits for the end of standard input. Until then the namespace exists, from which other processes may still read.
pub fn wait_for_end() -> Result<()> {
    std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())?;
    Ok(())
}
