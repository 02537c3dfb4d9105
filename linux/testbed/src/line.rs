//! One JSON object per line, in and out.

use std::io::{BufRead, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;

/// The next line of standard input. Its end is an error: whoever started this process is gone.
pub fn read<T: DeserializeOwned>() -> Result<T> {
    let mut text = String::new();
    if std::io::stdin().lock().read_line(&mut text)? == 0 {
        return Err("the testbed is gone".into());
    }
    Ok(serde_json::from_str(&text)?)
}

/// Writes a line to standard output.
pub fn write(value: &impl Serialize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Waits for the end of standard input: with this process its namespace goes, and what others want to read there.
pub fn wait_for_end() -> Result<()> {
    std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())?;
    Ok(())
}
