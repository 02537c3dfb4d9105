//! The audit log of the operator's actions: attach, apply, set and detach, with user, time and result.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::escape::{self, Shown};
use crate::failure::Result;

/// Records the result of a verb in the system's log, and in the file if its folder exists. An operator without
/// permission to write the file gets a warning, and the action is still done.
pub fn note<T>(file: &Path, verb: &str, done: &Result<T>) {
    let line = entry(verb, done.as_ref().map(|_| ()).map_err(|failure| (failure.kind as u8, failure.message.clone())));
    // A text with a zero byte cannot be an argument of ours.
    if let Ok(text) = CString::new(line.clone()) {
        // SAFETY: both strings end with a zero, and the format takes one.
        unsafe { libc::syslog(libc::LOG_NOTICE | libc::LOG_DAEMON, c"d2tcp: %s".as_ptr(), text.as_ptr()) };
    }
    if !file.parent().is_some_and(Path::is_dir) {
        return;
    }
    let opened = OpenOptions::new().create(true).append(true).mode(0o640).open(file);
    // A single write, so that lines of two tools do not mix.
    if let Err(error) = opened.and_then(|mut to| to.write_all((line + "\n").as_bytes())) {
        eprintln!("d2tcp: could not write {}: {error}", file.shown());
    }
}

fn entry(verb: &str, done: std::result::Result<(), (u8, String)>) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // The user at login, whatever the user's later changes of identity.
    let login = std::fs::read_to_string("/proc/self/loginuid").ok().and_then(|text| text.trim().parse::<u32>().ok());
    let arguments: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let entry = json!({
        "time_s": (since.as_secs_f64() * 1e3).round() / 1e3,
        "verb": verb,
        // SAFETY: no arguments.
        "uid": unsafe { libc::getuid() },
        "login_uid": login.filter(|uid| *uid != u32::MAX),
        "sudo_user": std::env::var("SUDO_USER").ok(),
        "pid": std::process::id(),
        "arguments": arguments,
        "exit": done.as_ref().map_or_else(|(code, _)| *code, |()| 0),
        "failure": done.err().map(|(_, message)| message),
        "version": env!("CARGO_PKG_VERSION"),
    });
    escape::json(&entry).expect("plain data always becomes JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Failure, Kind};

    #[test]
    fn what_was_done_is_written_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.jsonl");
        note(&file, "set", &Ok(()));
        note::<()>(&file, "detach", &Err(Failure::new(Kind::NotAttached, "not \"attached\"\nat all")));
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            (&lines[0]["verb"], &lines[0]["exit"], &lines[0]["failure"]),
            (&"set".into(), &0.into(), &().into())
        );
        assert_eq!((&lines[1]["exit"], &lines[1]["failure"]), (&4.into(), &"not \"attached\"\nat all".into()));
        assert_eq!(lines.len(), 2);
        note(&folder.path().join("nowhere/audit.jsonl"), "set", &Ok(()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn hostile_names_add_no_line_and_no_escape_sequence() {
        use crate::escape::{Name, is_safe};
        let hostile = format!("remove \x1b[2J\n\u{9b}\u{202e}: {}", Name::new(b"\xff\n"));
        let line = entry("detach", Err((1, hostile.clone())));
        assert!(is_safe(&line) && !line.contains('\n'), "{line}");
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["failure"], hostile.as_str(), "the log keeps the text itself");
    }
}
