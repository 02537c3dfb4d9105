//! The command line, as far as it works without privileges and without a kernel.

use std::process::{Command, Output};

fn tool(arguments: &[&str]) -> Output {
    // Pins that do not exist, so that a real attachment is not used.
    Command::new(env!("CARGO_BIN_EXE_d2tcp")).args(["--pins", "/nowhere/d2tcp"]).args(arguments).output().unwrap()
}

#[test]
fn wrong_options_are_a_usage_error_that_names_them() {
    for (arguments, told) in [
        (&["attach", "--ports", "90-80"][..], "A-B"),
        (&["attach", "--ports", "0-80"], "A-B"),
        (&["attach", "--cap", "0.5"], "1 to 16"),
        (&["attach", "--g", "2"], "1/16"),
        (&["attach", "--margin", "5"], "500us"),
        (&["attach", "--expired", "abort"], "neutral"),
        (&["attach", "--namespace=a", "--ports", "1-2"], "--ports"),
        (&["attach", "--replace", "--opt-in"], "--opt-in"),
        (&["trace", "--for", "3 days"], "500us"),
        (&["attahc"], "attach"),
        (&["apply", "/dev/zero"], "regular file"),
        (&["apply", "--dry-run", "/"], "regular file"),
        (&[], "Usage"),
    ] {
        let output = tool(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(told), "{arguments:?}: {said}");
    }
}

#[test]
fn where_nothing_is_attached_every_command_says_so() {
    if std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap().contains("d2tcp") {
        println!("SKIPPED: d2tcp is attached on this machine");
        return;
    }
    for arguments in [
        &["status"][..],
        &["status", "--json"],
        &["top", "--once"],
        &["trace"],
        &["metrics"],
        &["set", "--cap", "3"],
        &["compare"],
    ] {
        let output = tool(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {said}");
        assert!(said.starts_with("d2tcp: not attached") && said.lines().count() == 1 && output.stdout.is_empty());
    }
}

#[test]
fn help_lists_every_command_and_the_exit_codes() {
    let help = String::from_utf8(tool(&["--help"]).stdout).unwrap();
    for word in
        ["check", "attach", "apply", "compare", "set", "status", "top", "trace", "metrics", "detach", "Exit codes"]
    {
        assert!(help.contains(word), "{word}");
    }
    assert!(String::from_utf8(tool(&["--version"]).stdout).unwrap().starts_with("d2tcp "));
}
