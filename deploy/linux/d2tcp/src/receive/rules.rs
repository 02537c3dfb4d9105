//! Rules: which connections expect messages, of which length and by when.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use units::nearest;

use crate::parameters;

/// The name of the rule for all other connections.
pub const OTHERS: &str = "others";

/// A rule for connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name, for the operator.
    pub name: String,
    /// Local or remote ports, both inclusive; all if not given.
    pub ports: Option<(u16, u16)>,
    /// The path of the cgroup of its sockets, from the root of cgroup2; all if not given.
    pub cgroup: Option<PathBuf>,
    /// The time from a request to the end of its answer.
    pub deadline_ns: Option<u64>,
    /// The length of an answer.
    pub size: Option<u64>,
    /// True if the answers' own headers (HTTP/1.1) tell their lengths.
    pub http: bool,
    /// The share beside others of content without a deadline.
    pub weight: u64,
}

impl Rule {
    /// Returns the rule for all connections that no other rule has.
    pub fn others() -> Rule {
        let name = OTHERS.to_owned();
        Rule { name, ports: None, cgroup: None, deadline_ns: None, size: None, http: false, weight: 1 }
    }

    /// Returns true if requests are to be told.
    pub fn follows_requests(&self) -> bool {
        self.deadline_ns.is_some() && (self.size.is_some() || self.http)
    }
}

/// Parses a rule such as `port=7000,deadline=400ms,size=300kB`.
pub fn rule(text: &str) -> Result<Rule, String> {
    let mut rule = Rule { name: text.to_owned(), ..Rule::others() };
    for part in text.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match key.trim() {
            "name" => rule.name = value.to_owned(),
            "port" | "ports" => rule.ports = Some(parameters::ports(value)?),
            "cgroup" => rule.cgroup = Some(PathBuf::from(value)),
            "deadline" => rule.deadline_ns = Some(nanoseconds(value)?),
            "size" => rule.size = Some(bytes(value)?),
            "weight" => rule.weight = weight(value)?,
            "http" if value.is_empty() => rule.http = true,
            other => {
                let known = ["name", "port", "cgroup", "deadline", "size", "weight", "http"];
                let hint = match nearest(other, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the keys are {}", known.join(", ")),
                };
                return Err(format!("`{other}` is unknown: {hint}"));
            }
        }
    }
    match (rule.deadline_ns, rule.size, rule.http) {
        (None, Some(_), _) | (None, _, true) => Err("size and http need a deadline, as in deadline=20ms".to_owned()),
        (Some(_), None, false) => Err("a deadline needs a size, as in size=300kB, or http".to_owned()),
        _ => Ok(rule),
    }
}

fn nanoseconds(text: &str) -> Result<u64, String> {
    let seconds = parameters::seconds(text)?;
    if seconds > 0.0 { Ok((seconds * 1e9).round() as u64) } else { Err("expected more than 0 s".to_owned()) }
}

fn weight(text: &str) -> Result<u64, String> {
    let weight = text.parse().ok().filter(|weight| (1..=1000).contains(weight));
    weight.ok_or_else(|| "expected a weight from 1 to 1000".to_owned())
}

/// Parses a length such as 300kB, 4 MB or 1460 B.
pub fn bytes(text: &str) -> Result<u64, String> {
    let scales = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("KB", 1e3), ("B", 1.0)];
    scaled(text, &scales, "a length with its unit, as in 300kB")
}

/// Parses a rate such as 100Mbps or 25 Gbps, into bytes per second.
pub fn rate(text: &str) -> Result<u64, String> {
    let scales = [("Gbps", 125e6), ("Mbps", 125e3), ("kbps", 125.0)];
    scaled(text, &scales, "a rate with its unit, as in 100Mbps")
}

fn scaled(text: &str, scales: &[(&str, f64)], expected: &str) -> Result<u64, String> {
    let value = scales.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?.trim(), scale)));
    let value = value.and_then(|(number, scale)| Some(number.parse::<f64>().ok()? * scale));
    match value {
        Some(value) if (1.0..=1e15).contains(&value) => Ok(value.round() as u64),
        _ => Err(format!("expected {expected}")),
    }
}

/// The rules, in the order in which they are tried.
pub struct Rules {
    rules: Vec<Rule>,
    /// True if connections without a rule are left alone.
    leave_others: bool,
    /// The root of cgroup2.
    root: PathBuf,
    /// The paths of cgroups by their ids.
    paths: BTreeMap<u64, Option<PathBuf>>,
}

impl Rules {
    /// Returns the rules with one for all others after them.
    pub fn new(mut rules: Vec<Rule>, leave_others: bool, root: &Path) -> Rules {
        rules.push(Rule::others());
        Rules { rules, leave_others, root: root.to_owned(), paths: BTreeMap::new() }
    }

    /// Returns a rule by its number.
    pub fn get(&self, number: usize) -> &Rule {
        &self.rules[number]
    }

    /// Returns the number of the first rule for a connection; none if it is left alone.
    pub fn find(&mut self, local_port: u16, remote_port: u16, cgroup: u64) -> Option<usize> {
        let last = self.rules.len() - 1;
        let found = (0..last).find(|&number| {
            let rule = &self.rules[number];
            let has = |(low, high): (u16, u16)| [local_port, remote_port].iter().any(|at| (low..=high).contains(at));
            if !rule.ports.is_none_or(has) {
                return false;
            }
            let Some(wanted) = rule.cgroup.clone() else { return true };
            self.path(cgroup).is_some_and(|path| path.starts_with(wanted))
        });
        found.or((!self.leave_others).then_some(last))
    }

    /// Returns the path of a cgroup from the root; none if there is no such cgroup.
    fn path(&mut self, cgroup: u64) -> Option<&PathBuf> {
        let root = self.root.clone();
        self.paths.entry(cgroup).or_insert_with(|| folder_of(&root, cgroup, &root)).as_ref()
    }
}

/// Finds the folder with this inode, which is the cgroup's id.
fn folder_of(root: &Path, cgroup: u64, folder: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    if cgroup == 0 {
        return None;
    }
    if folder.metadata().is_ok_and(|about| about.ino() == cgroup) {
        return folder.strip_prefix(root).ok().map(Path::to_owned);
    }
    let below = std::fs::read_dir(folder).ok()?.flatten().filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    below.map(|entry| entry.path()).find_map(|path| folder_of(root, cgroup, &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_mistakes_named() {
        let read = rule("name=search,port=7000-7010,deadline=400ms,size=300kB,weight=3").unwrap();
        assert_eq!((read.name.as_str(), read.ports, read.weight), ("search", Some((7000, 7010)), 3));
        assert_eq!((read.deadline_ns, read.size, read.http), (Some(400_000_000), Some(300_000), false));
        assert!(rule("port=80,deadline=20ms,http").unwrap().follows_requests());
        assert!(!rule("port=80,weight=2").unwrap().follows_requests());
        for (text, said) in [
            ("port=80,deadlin=1ms", "did you mean `deadline`"),
            ("port=80,size=1kB", "need a deadline"),
            ("port=80,deadline=1ms", "needs a size"),
            ("port=80,deadline=0s,http", "more than 0 s"),
            ("port=80,weight=0", "1 to 1000"),
            ("port=80,deadline=1ms,size=300", "as in 300kB"),
        ] {
            assert!(rule(text).unwrap_err().contains(said), "{text}: {}", rule(text).unwrap_err());
        }
        assert_eq!((rate("100Mbps"), bytes("1.5 MB")), (Ok(12_500_000), Ok(1_500_000)));
        assert!(rate("100").is_err() && bytes("-1B").is_err() && rate("inf Gbps").is_err());
    }

    #[test]
    fn the_first_rule_that_fits_governs() {
        use std::os::unix::fs::MetadataExt;
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        let id = root.path().join("a/b").metadata().unwrap().ino();
        let rules = || vec![rule("port=80").unwrap(), rule("cgroup=a").unwrap()];
        let mut all = Rules::new(rules(), false, root.path());
        assert_eq!(all.find(40000, 80, id), Some(0));
        assert_eq!(all.find(80, 40000, 0), Some(0), "the local port counts, too");
        assert_eq!(all.find(40000, 81, id), Some(1), "a cgroup below counts");
        assert_eq!(all.find(40000, 81, 0), Some(2));
        assert_eq!(Rules::new(rules(), true, root.path()).find(40000, 81, 0), None);
    }
}
