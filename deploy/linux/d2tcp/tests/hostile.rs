//! The hostile test: malformed calls, kills, many sockets, foreign pins, restarted services and greedy users. No object
//! may be left behind, and no part may fail silently. It takes minutes, as root: `make linux-hostile`.

#[allow(dead_code)]
mod bench;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use bench::*;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const V4: &str = "127.0.0.1:0";

/// A small generator, with the same sequence in each run.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The state that must not change: objects in the kernel, mounts, controls, cgroups and the machine's settings.
#[derive(Debug, PartialEq)]
struct World {
    objects: (usize, usize, usize, usize),
    mounts: String,
    pins: Vec<String>,
    setting: String,
}

impl World {
    fn now() -> World {
        let names = |folder: &str| {
            let mut names: Vec<String> = std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        World {
            objects: settled(),
            mounts: std::fs::read_to_string("/proc/self/mountinfo").unwrap(),
            pins: names("/sys/fs/bpf"),
            setting: std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap(),
        }
    }
}

/// A part of the test: its name and its function.
type Part = (&'static str, fn(&mut Bench));

#[test]
#[ignore = "minutes: make linux-hostile"]
fn the_hostile_trial() {
    if let Some(why) = why_not() {
        println!("SKIPPED: {why}");
        return;
    }
    let log = Log::here();
    let mut bench = Bench::new();
    // The first attach of a machine mounts bpffs for good, so it is done before the comparison.
    bench.attach("");
    bench.says("detach");
    let before = World::now();
    let parts: [Part; 7] = [
        ("malformed calls", malformed_calls),
        ("kills while attaching and detaching", kills),
        ("many sockets", many_sockets),
        ("foreign pins", foreign_pins),
        ("a service that is started anew under load", restarts),
        ("greedy users", greedy_users),
        ("dangerous and contradictory options", options),
    ];
    for (name, part) in parts {
        let begun = Instant::now();
        part(&mut bench);
        let _ = bench.tool("detach");
        println!("{name}: {:.1} s", begun.elapsed().as_secs_f64());
        assert_eq!(World::now(), before, "{name}: something is left");
        assert!(!is_registered());
    }
    drop(bench);
    assert_eq!(log.complaints(), Vec::<String>::new(), "the kernel complains");
}

/// Sends random bytes to each option of our level, as an unprivileged user, on sockets in any state. No invalid call is
/// accepted, and messages of other users do not change.
fn malformed_calls(bench: &mut Bench) {
    bench.attach("--opt-in");
    let listener = listen(V4);
    choose(&listener, "d2tcp").unwrap();
    let honest = connect(&listener);
    choose(&honest.0, "d2tcp").unwrap();
    deadline(&honest.0, 1000, 3600 * SECOND).unwrap();
    let counted = bench.status()["messages"]["accepted"].clone();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the arguments are numbers. The raw system call affects only this thread.
            assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) }, 0);
            let mut draw = Draw(7);
            let udp = std::net::UdpSocket::bind(V4).unwrap();
            let other = connect(&listen(V4));
            let mine = connect(&listener);
            for call in 0..30_000u32 {
                let (name, length) = (draw.below(7) as i32, draw.below(80) as usize);
                let bytes: Vec<u8> = (0..length).map(|_| [0, 255, draw.next() as u8][draw.below(3) as usize]).collect();
                // Only the third socket has our control; a call that is valid by chance is cancelled.
                let taken = match call % 3 {
                    0 => set(&udp, LEVEL, name, &bytes),
                    1 => set(&other.0, LEVEL, name, &bytes),
                    _ => set(&mine.1, LEVEL, name, &bytes).and_then(|()| cancel(&mine.1, 0)),
                };
                assert!(call % 3 == 2 || taken.is_err(), "{name} {bytes:?}");
                let _ = get(&mine.1, LEVEL, name, length);
            }
            let (mut client, mut server) = mine;
            client.write_all(b"still here").unwrap();
            let mut got = [0; 10];
            server.read_exact(&mut got).unwrap();
        });
    });
    assert_eq!((state(&honest.0).queued, state(&honest.0).bytes_left), (1, 1000));
    let after = bench.status();
    let taken = after["messages"]["accepted"].as_u64().unwrap() - counted.as_u64().unwrap();
    println!("  {} calls refused, {taken} happened to be right", after["messages"]["refused"]);
    assert!(after["messages"]["refused"].as_u64().unwrap() > 5000);
}

/// Kills the tool at random moments; the next call must find a valid state.
fn kills(bench: &mut Bench) {
    let mut draw = Draw(11);
    let attach = format!("attach --cgroup {}", bench.cgroup.display());
    let (mut survived, mut died) = (0, 0);
    let begun = Instant::now();
    bench.says(&attach);
    let whole = begun.elapsed().as_micros() as u64;
    bench.says("detach");
    for round in 0..24 {
        let mut child = bench.command(&attach).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(draw.below(if round % 2 == 0 { whole } else { 2 * whole })));
        let _ = child.kill();
        if child.wait().unwrap().success() {
            survived += 1
        } else {
            died += 1
        }
        // Kill it while it detaches as well.
        if round % 5 == 0 {
            let mut child = bench.command("detach").spawn().unwrap();
            std::thread::sleep(Duration::from_micros(draw.below(100_000)));
            let _ = child.kill();
            let _ = child.wait();
        }
        let status = bench.tool("status");
        let code = status.status.code().unwrap();
        assert!([0, 4, 7].contains(&code), "{status:?}");
        if code == 0 {
            // If status reports an attachment, it must work.
            let (client, server) = connect(&listen(V4));
            deadline(&client, 10, SECOND).unwrap();
            transfer(&client, &server, 10);
        }
        let _ = bench.tool("detach");
        wait("the name is free", || !is_registered());
    }
    println!("  {died} of {} were killed on the way", survived + died);
    assert!(died > 3 && survived > 1, "{died} died, {survived} survived");
}

/// Opens thousands of connections with messages that never end: their memory is freed with them.
fn many_sockets(bench: &mut Bench) {
    bench.attach("");
    let listener = listen(V4);
    let mut open: Vec<(TcpStream, TcpStream)> = Vec::new();
    for number in 0..20_000u32 {
        let pair = connect(&listener);
        for message in 0..number % 4 {
            deadline(&pair.0, 1 << 30, (1 + message) * SECOND).unwrap();
        }
        let linger = [1i32, 0].map(i32::to_ne_bytes).concat();
        set(&pair.0, libc::SOL_SOCKET, libc::SO_LINGER, &linger).unwrap();
        open.push(pair);
        if open.len() > 400 {
            open.drain(..200);
        }
    }
    assert_eq!(bench.status()["out_of_memory"], 0);
    assert!(!bench.lists() || bench.flows().len() >= open.len());
    drop((open, listener));
    wait("all of them end", || bench.status()["connections"]["open"] == 0);
}

/// Puts foreign files and folders at the place of the pins.
fn foreign_pins(bench: &mut Bench) {
    let attach = |pins: &str| {
        let group = bench.cgroup.to_str().unwrap();
        let output = Command::new(TOOL).args(["--pins", pins, "attach", "--cgroup", group]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap(), said)
    };
    for pins in ["/etc/d2tcp", "/tmp/d2tcp-hostile", "relative", "/proc/1/d2tcp", "/sys/fs/bpf/../../../etc/x", "/"] {
        let (code, said) = attach(pins);
        assert!(code == 2 && said.lines().count() == 1, "{pins}: {code} {said}");
    }
    let ours = bench.pins.to_str().unwrap();
    std::fs::create_dir(ours).unwrap();
    std::os::unix::fs::chown(ours, Some(65534), None).unwrap();
    assert_eq!(attach(ours).0, 1, "a folder of another user");
    std::fs::remove_dir(ours).unwrap();
    std::os::unix::fs::symlink("/etc", ours).unwrap();
    let (code, said) = attach(ours);
    assert!(code != 0, "a link out of bpffs: {said}");
    std::fs::remove_file(ours).unwrap();
    assert!(!std::path::Path::new("/etc/about").exists());
}

/// Removes and creates the cgroup under traffic, dozens of times; its connections are governed each time.
fn restarts(bench: &mut Bench) {
    let service = bench.outside.join("service");
    bench.says(&format!("attach --cgroup {}", service.display()));
    for round in 0..25 {
        std::fs::create_dir_all(&service).unwrap();
        bench.enter(&service);
        let (client, server) = connect(&listen(V4));
        assert_eq!(control_of(&client), "d2tcp", "round {round}");
        deadline(&client, 100_000, SECOND).unwrap();
        bench.enter(&bench.cgroup);
        // Remove the cgroup while the connection continues.
        wait("the cgroup goes", || std::fs::remove_dir(&service).is_ok());
        transfer(&client, &server, 100_000);
        wait("the message ends", || state(&client).queued == 0);
    }
    assert!(bench.tool("status").status.success());
}

/// Announces as much as possible, again and again: the budget limits it, and other users' counters and messages do not
/// change.
fn greedy_users(bench: &mut Bench) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.toml");
    let group = bench.cgroup.file_name().unwrap().to_str().unwrap();
    let rules = format!(
        "[[rule]]\nname = 'honest'\ncgroup = '{group}'\nports = '7050'\n\n[[rule]]\nname = 'greedy'\ncgroup = '{group}'\n\
         ports = '7051'\nbudget = '8 Mbps'\nmost_bytes = '1 MB'\n"
    );
    std::fs::write(&file, rules).unwrap();
    bench.says(&format!("apply {}", file.display()));
    let on = |address: &str| connect(&std::net::TcpListener::bind(address).unwrap());
    let honest = on("127.0.0.1:7050");
    deadline(&honest.0, 5000, 3600 * SECOND).unwrap();
    let of = |status: &serde_json::Value, name: &str| {
        let rules = status["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["name"] == name).unwrap()["messages"].clone()
    };
    let quiet = of(&bench.status(), "honest");
    let begun = Instant::now();
    let accepted = std::thread::scope(|scope| {
        let greedy = scope.spawn(|| {
            // SAFETY: the arguments are numbers. The raw system call affects only this thread.
            assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) }, 0);
            let (client, _server) = on("127.0.0.1:7051");
            assert_eq!(deadline(&client, 1 << 40, 86_400 * SECOND), Err(libc::EPERM));
            let mut accepted = 0u64;
            while begun.elapsed() < 3 * SECOND {
                for _ in 0..100 {
                    accepted += u64::from(deadline(&client, 100_000, MS).is_ok());
                    let _ = cancel(&client, 0);
                }
                std::thread::sleep(MS);
            }
            accepted
        });
        greedy.join().unwrap()
    });
    // A burst of 1 MB, and 1 MB per second.
    let most = 1_000_000.0 * (1.0 + begun.elapsed().as_secs_f64()) / 100_000.0;
    println!("  {accepted} of its messages were taken, at most {most:.0} may be");
    assert!(accepted as f64 <= most + 1.0 && accepted > 10);
    let status = bench.status();
    assert_eq!(of(&status, "honest"), quiet, "others' counters stay");
    assert_eq!((state(&honest.0).queued, state(&honest.0).bytes_left), (1, 5000));
    assert!(of(&status, "greedy")["denied"].as_u64().unwrap() > 1000);
    let nobody = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", TOOL, "--pins"])
        .arg(&bench.pins)
        .args(["set", "--cap", "1"])
        .output()
        .unwrap();
    assert_eq!(nobody.status.code(), Some(6));
}

/// Tries options that would starve the network, or that are contradictory.
fn options(bench: &mut Bench) {
    let group = bench.cgroup.display();
    for (options, code) in [
        ("--g 0 --initial-alpha 0", 2),
        ("--cap 16", 2),
        ("--cap 4.1", 2),
        ("--cap 16 --confirm yes", 2),
        ("--cap nan", 2),
        ("--ports 0-1", 2),
        ("--cgroup ../../etc", 2),
        ("--namespace=/proc/self/exe", 1),
        ("--peers internet", 2),
    ] {
        let tried = bench.tool(&format!("attach --cgroup {group} {options}"));
        assert_ne!(tried.status.code(), Some(0), "{options}");
        assert!(tried.status.code() == Some(code) || tried.status.code() == Some(2), "{options}: {tried:?}");
        assert!(!is_registered(), "{options}");
    }
}
