//! Selection of links by the key `link`.

use std::collections::BTreeSet;

use units::Problem;

use crate::topology::Graph;

/// The directions of one link that fail together, as the nodes at their starts and ends.
pub(super) type Together = Vec<(u32, u32)>;

/// Returns the links that `link` names; all links if it is absent. With `outward`, a node selects only the links from
/// it.
pub(super) fn links(graph: &Graph, link: Option<&str>, outward: bool) -> Result<Vec<Together>, Problem> {
    let joined: BTreeSet<(u32, u32)> = graph.links.iter().map(|spec| (spec.from, spec.to)).collect();
    let both = |(a, b): (u32, u32)| vec![(a, b), (b, a)];
    let Some(text) = link else { return Ok(joined.iter().copied().filter(|(a, b)| a < b).map(both).collect()) };
    let node = |text: &str| find(graph, text);
    if let Some((from, to)) = text.split_once("->") {
        let ends = (node(from)?, node(to)?);
        return check(graph, &joined, ends).map(|ends| vec![vec![ends]]);
    }
    if let Ok(node) = node(text) {
        let of = joined.iter().copied().filter(|(from, _)| *from == node);
        return Ok(of.map(|ends| if outward { vec![ends] } else { both(ends) }).collect());
    }
    // Names may contain dashes.
    let parts = text.match_indices('-').map(|(index, _)| (&text[..index], &text[index + 1..]));
    let known = parts.clone().find_map(|(a, b)| Some((node(a).ok()?, node(b).ok()?)));
    match (known, text.split_once(" - ").or_else(|| parts.clone().next())) {
        (Some(ends), _) => check(graph, &joined, ends).map(|ends| vec![both(ends)]),
        (None, Some((a, b))) => Err(node(a).and_then(|_| node(b)).expect_err("one of both is not known")),
        (None, None) => Err(node(text).expect_err("it is not known")),
    }
}

/// Returns the node of that name: a switch's, "host 3", or a host's number.
fn find(graph: &Graph, text: &str) -> Result<u32, Problem> {
    let text = text.trim();
    if let Some(switch) = graph.switches.iter().position(|switch| switch.name == text) {
        return Ok(graph.hosts + switch as u32);
    }
    let number = text.strip_prefix("host").unwrap_or(text).trim();
    match number.parse::<u32>() {
        Ok(host) if host < graph.hosts => Ok(host),
        Ok(host) => {
            let last = graph.hosts - 1;
            Err(Problem::new("link", format!("host {host} does not exist; the network has hosts 0 to {last}")))
        }
        Err(_) => {
            let names: Vec<String> = graph.switches.iter().map(|switch| switch.name.clone()).collect();
            let hint = "write a link as \"leaf 0 - spine 1\", or a node: a switch by its name, a host as \"host 3\"";
            Err(Problem::new("link", format!("there is no node `{text}`")).hint(hint).meant(text, &names))
        }
    }
}

fn check(graph: &Graph, joined: &BTreeSet<(u32, u32)>, ends: (u32, u32)) -> Result<(u32, u32), Problem> {
    const MAX_NAMED: usize = 8;
    if joined.contains(&ends) {
        return Ok(ends);
    }
    let (a, b) = (graph.name(ends.0), graph.name(ends.1));
    let of = joined.range((ends.0, 0)..=(ends.0, u32::MAX)).map(|(_, to)| graph.name(*to));
    let beside: Vec<String> = of.take(MAX_NAMED + 1).collect();
    let more = if beside.len() > MAX_NAMED { " and others" } else { "" };
    let beside = beside[..beside.len().min(MAX_NAMED)].join(", ");
    let message = format!("there is no link between {a} and {b}");
    Err(Problem::new("link", message).hint(format!("{a} is joined with {beside}{more}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Span};

    fn graph() -> Graph {
        let mut graph = Graph::new(2);
        let left = graph.switch("left-1", false);
        let right = graph.switch("right", false);
        for (a, b) in [(0, left), (1, right), (left, right)] {
            graph.join(a, b, Rate::from_gbps(1), Span(1));
        }
        graph
    }

    #[test]
    fn links_are_found_by_their_ends_and_nodes() {
        let found = |text, outward| links(&graph(), text, outward).expect("links of that name");
        assert_eq!(found(Some("left-1 - right"), false), [[(2, 3), (3, 2)]]);
        assert_eq!(found(Some("left-1-right"), false), [[(2, 3), (3, 2)]]);
        assert_eq!(found(Some("right->left-1"), false), [[(3, 2)]]);
        assert_eq!(found(Some("left-1 - host 0"), false), [[(2, 0), (0, 2)]]);
        assert_eq!(found(Some("host 1"), false), [[(1, 3), (3, 1)]]);
        assert_eq!(found(Some("right"), false), [[(3, 1), (1, 3)], [(3, 2), (2, 3)]]);
        assert_eq!(found(Some("right"), true), [[(3, 1)], [(3, 2)]]);
        assert_eq!(found(None, false).len(), 3);
    }

    #[test]
    fn what_does_not_exist_is_named() {
        let says = |text| links(&graph(), Some(text), false).expect_err("it is not there").to_string();
        assert!(says("host 7").contains("hosts 0 to 1") && says("host 2").contains("hosts 0 to 1"));
        assert!(says("left-1 - wright").contains("no node `wright`"));
        assert!(says("0 - 1").contains("host 0 is joined with left-1"));
        assert!(says("").contains("no node"));
    }

    #[test]
    fn of_many_neighbours_eight_are_named() {
        let hint = |hosts: u32| {
            let mut graph = Graph::new(hosts);
            let switches = [graph.switch("left", false), graph.switch("right", false)];
            (0..hosts).for_each(|host| graph.join(host, switches[0], Rate::from_gbps(1), Span(1)));
            let problem = links(&graph, Some("left - right"), false).expect_err("they are not joined");
            problem.hint.expect("the error of an unknown link has a hint")
        };
        let eight = "left is joined with host 0, host 1, host 2, host 3, host 4, host 5, host 6, host 7";
        assert_eq!(hint(8), eight);
        assert_eq!(hint(9), format!("{eight} and others"));
    }
}
