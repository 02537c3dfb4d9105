//! Hosts in text: 3, [0, 1], "0..40", and lists of these.

use serde_json::{Value as Json, json};
use units::{HostId, measure};

use crate::context::Context;
use crate::document::{Data, Node};
use crate::error::Checked;
use crate::evaluate;

/// Maximum number of hosts in a list.
pub(crate) const MOST: usize = units::MAX_HOSTS as usize;

/// Reads the hosts in the order in which they are written.
pub(crate) fn read(node: &Node, context: &Context) -> Checked<Vec<HostId>> {
    let items = match &node.data {
        Data::Array(items) if items.is_empty() => return Err(node.fault("no host is named")),
        Data::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let mut hosts = Vec::new();
    for item in items {
        let item = context.parameters.resolve(item)?;
        let (first, end) = match item.text().and_then(|text| text.split_once("..")) {
            None => {
                let host = number(item, context)?;
                (host, host.saturating_add(1))
            }
            Some((first, end)) => {
                // Each end is an expression of its own at its own place.
                let end = item.slice(first.len() + 2..first.len() + 2 + end.len());
                (number(&item.slice(0..first.len()), context)?, number(&end, context)?)
            }
        };
        if first >= end {
            let fault = item.fault(format!("the range {first}..{end} is empty"));
            return Err(fault.hint("a range leaves its end out: \"0..4\" is 0, 1, 2, 3"));
        }
        context.check_host(end - 1).map_err(|message| item.fault(message))?;
        if (end - first) as usize > MOST - hosts.len() {
            return Err(item.fault(format!("a list has at most {MOST} hosts")));
        }
        for host in first..end {
            let host = u32::try_from(host).map_err(|_| item.fault(format!("host {host} does not exist")))?;
            hosts.push(HostId(host));
        }
    }
    Ok(hosts)
}

fn number(node: &Node, context: &Context) -> Checked<u64> {
    let example = "write a host's number, a list like [0, 1] or a range like \"0..4\"";
    if !matches!(node.data, Data::Integer(_) | Data::Float(_) | Data::Text(_)) {
        return Err(node.fault(format!("a host is a number, not {}", node.what())).hint(example));
    }
    if node.text().is_some_and(|text| text.trim().is_empty()) {
        return Err(node.fault("a host's number is missing").hint(example));
    }
    let term = evaluate::evaluate_node(node, context.parameters, context.names())?;
    measure::whole(&term).map_err(|why| node.fault(format!("a host is a whole number: {why}")).hint(example))
}

/// Writes hosts as short as possible.
pub(crate) fn write(hosts: &[HostId]) -> Json {
    match hosts {
        [one] => json!(one.0),
        [first, .., last] if hosts.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1) => {
            json!(format!("{first}..{}", u64::from(last.0) + 1))
        }
        _ => json!(hosts.iter().map(|host| host.0).collect::<Vec<u32>>()),
    }
}

/// Pairs senders with receivers: lists of equal length pair up, a single host is paired with all.
pub(crate) fn pair(from: &[HostId], to: &[HostId]) -> Result<Vec<(HostId, HostId)>, String> {
    let pairs: Vec<(HostId, HostId)> = match (from, to) {
        _ if from.len() == to.len() => from.iter().copied().zip(to.iter().copied()).collect(),
        ([from], _) => to.iter().map(|to| (*from, *to)).collect(),
        (_, [to]) => from.iter().map(|from| (*from, *to)).collect(),
        _ => {
            return Err(format!(
                "`from` has {} hosts and `to` has {}: give equally many, or one",
                from.len(),
                to.len()
            ));
        }
    };
    match pairs.iter().find(|(from, to)| from == to) {
        Some((host, _)) => Err(format!("host {host} would send to itself")),
        None => Ok(pairs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_pair_up() {
        let hosts = |numbers: &[u32]| numbers.iter().copied().map(HostId).collect::<Vec<_>>();
        let pairs = |from: &[u32], to: &[u32]| {
            let pairs = pair(&hosts(from), &hosts(to)).ok()?;
            Some(pairs.iter().map(|(from, to)| (from.0, to.0)).collect::<Vec<_>>())
        };
        assert_eq!(pairs(&[0, 1], &[2, 3]).unwrap(), [(0, 2), (1, 3)]);
        assert_eq!(pairs(&[0, 1], &[3]).unwrap(), [(0, 3), (1, 3)]);
        assert_eq!(pairs(&[3], &[0, 1]).unwrap(), [(3, 0), (3, 1)]);
        assert!(pairs(&[0, 1, 2], &[3, 4]).is_none());
        assert!(pairs(&[0, 1], &[1]).is_none());
    }

    #[test]
    fn runs_of_hosts_are_written_as_ranges() {
        assert_eq!(write(&[HostId(3)]), json!(3));
        assert_eq!(write(&[0, 1, 2].map(HostId)), json!("0..3"));
        assert_eq!(write(&[0, 2].map(HostId)), json!([0, 2]));
    }
}
