//! From the checked values of a class to the plan of its requests.

use units::{Allowed, HostId, Problem, Values};

use super::collective;
use crate::requests::plan::{Action, Goal, Pairs, Pick, Plan, Role, Servers, Stage, Told};
use crate::topology::Graph;

/// Maximum number of messages and works of one request.
const MAX_PIECES: u64 = 1_000_000;

/// Returns the plan of the requests of a class.
pub(super) fn plan(values: &Values, graph: &Graph) -> Result<Plan, Problem> {
    let roles = roles(values, graph)?;
    let written = values.tables("stage");
    let names: Vec<String> = written.iter().map(|stage| stage.text("name")).collect();
    let mut expanded = Vec::new();
    for (index, stage) in written.iter().enumerate() {
        expanded.push(actions(stage, &roles).map_err(|problem| in_stage(problem, index))?);
    }
    let order = order(&written, &names)?;
    let stages = connect(&written, &names, expanded, &order)?;
    let goals = goals(values, &names)?;
    let plan = Plan {
        roles,
        stages,
        names,
        goals,
        told: match values.choice("deadlines") {
            "request" => Told::Request,
            "remaining" => Told::Remaining,
            "split" => Told::Split,
            _ => Told::Nothing,
        },
        abandons: values.choice("late") == "abandon",
        keeps_pieces: values.bool("pieces"),
    };
    if plan.abandons && plan.goals.is_empty() {
        return Err(Problem::new("late", "a request without `deadline` or goals is never late"));
    }
    let pieces = plan.pieces();
    if pieces > MAX_PIECES {
        let message = format!("a request has {pieces} messages and works, at most {MAX_PIECES} are possible");
        return Err(Problem::new("stage", message).hint("take fewer hosts in its roles, or a smaller `repeat`"));
    }
    check_starts(&plan, &written)?;
    Ok(plan)
}

/// Places a problem in a stage of the list.
fn in_stage(problem: Problem, index: usize) -> Problem {
    let key = STAGE_KEYS.iter().find(|key| **key == problem.key).copied().unwrap_or("name");
    let message = format!("`{key}`: {}", problem.message);
    Problem { key: "stage".into(), message, entry: Some((index, key)), ..problem }
}

const STAGE_KEYS: &[&str] = &[
    "name",
    "from",
    "to",
    "size",
    "at",
    "time",
    "servers",
    "order",
    "after",
    "repeat",
    "quorum",
    "barrier",
    "collective",
    "algorithm",
];

fn roles(values: &Values, graph: &Graph) -> Result<Vec<Role>, Problem> {
    let mut roles = Vec::new();
    for (index, role) in values.tables("roles").iter().enumerate() {
        let problem = |part: &'static str, message: String| Problem::new("roles", message).at(index, part);
        let (name, hosts) = (role.text("name"), role.hosts("hosts"));
        super::super::check_hosts("roles", &hosts, graph).map_err(|found| found.at(index, "hosts"))?;
        if let Some(twice) = first_twice(&hosts) {
            return Err(problem("hosts", format!("host {twice} is named twice in role `{name}`")));
        }
        let all = role.choice("pick") == "all";
        let count = role.count_if_set("count");
        if all && count.is_some_and(|count| count != hosts.len() as u64) {
            return Err(problem("count", "`pick = \"all\"` takes all hosts, whatever `count` is".into()));
        }
        let count = if all { hosts.len() as u64 } else { count.unwrap_or(1) };
        if count > hosts.len() as u64 {
            let message = format!("role `{name}` has {} hosts, a request cannot take {count} of them", hosts.len());
            return Err(problem("count", message));
        }
        let pick = match role.choice("pick") {
            "round-robin" => Pick::RoundRobin,
            "least-loaded" => Pick::LeastLoaded,
            _ => Pick::Random,
        };
        roles.push(Role { name, hosts, count: count as u32, pick });
    }
    Ok(roles)
}

fn first_twice(hosts: &[HostId]) -> Option<HostId> {
    let mut sorted = hosts.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Returns the index of a role by its name.
fn role(key: &'static str, name: &str, roles: &[Role]) -> Result<usize, Problem> {
    roles.iter().position(|role| role.name == name).ok_or_else(|| {
        let names: Vec<String> = roles.iter().map(|role| role.name.clone()).collect();
        Problem::new(key, format!("there is no role `{name}`")).meant(name, &names)
    })
}

/// Returns the action of each of the stages to which one that is written expands.
fn actions(stage: &Values, roles: &[Role]) -> Result<Vec<Action>, Problem> {
    let given = |key: &str| stage.find(key).is_some() && stage.is_given(key);
    let refuse = |keys: &[&'static str], what: &str| match keys.iter().find(|key| given(key)) {
        Some(key) => Err(Problem::new(*key, format!("does not belong to {what}"))),
        None => Ok(()),
    };
    let need = |key: &'static str, what: &str| match given(key) {
        true => Ok(()),
        false => Err(Problem::new(key, format!("is missing: {what}"))),
    };
    let one = match (stage.choice_if_set("collective"), given("at"), given("from") || given("to")) {
        (Some(operation), ..) => {
            let what = "a collective has `at` and `size`";
            need("at", what)?;
            need("size", what)?;
            refuse(&["from", "to", "time", "servers", "order"], "a collective")?;
            let at = role("at", &stage.text("at"), roles)?;
            let algorithm = stage.choice_if_set("algorithm").unwrap_or("ring");
            let size = stage.of_request_if_set("size").expect("it is given");
            let rounds = collective::rounds(operation, algorithm, roles[at].count)?;
            let sends = rounds.into_iter().map(|collective::Round { pairs, share }| Action::Send {
                from: at,
                to: at,
                pairs: Pairs::These(pairs),
                size: size.clone(),
                share,
            });
            sends.collect()
        }
        (None, true, false) => {
            need("time", "a stage of work has `at` and `time`")?;
            refuse(&["size", "algorithm"], "a stage of work")?;
            let servers = stage.count_if_set("servers").map(|count| Servers {
                count: count.min(u64::from(u32::MAX)) as u32,
                by_deadline: stage.choice_if_set("order") == Some("earliest-deadline"),
            });
            if servers.is_none() && given("order") {
                return Err(Problem::new("order", "nothing waits where the number of `servers` has no limit"));
            }
            let time = stage.of_request_if_set("time").expect("it is given");
            vec![Action::Work { at: role("at", &stage.text("at"), roles)?, time, servers }]
        }
        (None, true, true) => {
            return Err(Problem::new(
                "at",
                "a stage is work (`at`, `time`) or messages (`from`, `to`, `size`), not both",
            ));
        }
        (None, false, _) => {
            let what = "a stage of messages has `from`, `to` and `size`; one of work has `at` and `time`";
            ["from", "to", "size"].into_iter().try_for_each(|key| need(key, what))?;
            refuse(&["time", "servers", "order", "algorithm"], "a stage of messages")?;
            vec![send(stage, roles)?]
        }
    };
    let repeat = stage.count("repeat") as usize;
    if (one.len() * repeat) as u64 > MAX_PIECES {
        let message = format!("{} stages are too many, at most {MAX_PIECES} are possible", one.len() * repeat);
        return Err(Problem::new("repeat", message));
    }
    Ok(std::iter::repeat_n(one, repeat).flatten().collect())
}

/// Returns the messages of a stage with `from`, `to` and `size`.
fn send(stage: &Values, roles: &[Role]) -> Result<Action, Problem> {
    let from = role("from", &stage.text("from"), roles)?;
    let text = stage.text("to");
    let related = |relation: &str| text.strip_prefix(relation)?.trim_end().strip_suffix(')').map(str::trim);
    let (to, pairs) = match (related("next("), related("others(")) {
        (None, None) => (role("to", text.trim(), roles)?, Pairs::All),
        (next, others) => {
            let to = role("to", next.or(others).unwrap_or_default(), roles)?;
            let count = roles[to].count;
            if to != from {
                let message = format!("`{text}` relates hosts of one role, and `{}` sends", roles[from].name);
                return Err(Problem::new("to", message));
            }
            if count < 2 {
                return Err(Problem::new("to", format!("role `{}` has one host: there is no other", roles[to].name)));
            }
            (to, Pairs::These(if next.is_some() { collective::next(count) } else { collective::others(count) }))
        }
    };
    let size = stage.of_request_if_set("size").expect("it is given");
    Ok(Action::Send { from, to, pairs, size, share: 1.0 })
}

/// Returns the written stages that each one follows.
fn follows(written: &[Values], names: &[String], index: usize) -> Result<Vec<usize>, Problem> {
    match written[index].names_if_set("after") {
        None => Ok(Vec::from_iter(index.checked_sub(1))),
        Some(after) => after
            .iter()
            .map(|name| {
                names.iter().position(|other| other == name).ok_or_else(|| {
                    let problem = Problem::new("stage", format!("there is no stage `{name}`"));
                    problem.meant(name, names).at(index, "after")
                })
            })
            .collect(),
    }
}

/// Returns the written stages in an order in which each is behind all that it follows.
fn order(written: &[Values], names: &[String]) -> Result<Vec<usize>, Problem> {
    let after = (0..written.len()).map(|index| follows(written, names, index)).collect::<Result<Vec<_>, _>>()?;
    let mut order: Vec<usize> = Vec::new();
    while order.len() < written.len() {
        let ready = |index: &usize| !order.contains(index) && after[*index].iter().all(|before| order.contains(before));
        let Some(next) = (0..written.len()).find(ready) else {
            let stuck = (0..written.len()).find(|index| !order.contains(index)).expect("some are left");
            let circle = circle(&after, stuck);
            let circle: Vec<String> = circle.into_iter().map(|index| format!("`{}`", names[index])).collect();
            let message = format!("these stages wait for each other: {}", circle.join(" after "));
            return Err(Problem::new("stage", message).at(stuck, "after"));
        };
        order.push(next);
    }
    Ok(order)
}

/// Returns stages that wait for each other, the first again at the end: some that `stage` waits for.
fn circle(after: &[Vec<usize>], mut stage: usize) -> Vec<usize> {
    let mut way = Vec::new();
    while !way.contains(&stage) {
        way.push(stage);
        // A stage that is not ready waits for another that is not ready.
        let waits_for = |before: &&usize| reaches(after, **before, **before);
        stage = after[stage].iter().find(waits_for).or(after[stage].first()).copied().unwrap_or(stage);
    }
    let first = way.iter().position(|other| *other == stage).unwrap_or(0);
    way[first..].iter().copied().chain([stage]).collect()
}

/// Returns whether a stage waits for another, in however many steps.
fn reaches(after: &[Vec<usize>], from: usize, goal: usize) -> bool {
    let (mut seen, mut next) = (vec![false; after.len()], after[from].clone());
    while let Some(stage) = next.pop() {
        if stage == goal {
            return true;
        }
        if !std::mem::replace(&mut seen[stage], true) {
            next.extend(&after[stage]);
        }
    }
    false
}

/// Returns all stages in order, each connected with the ones that it follows.
fn connect(
    written: &[Values],
    names: &[String],
    mut expanded: Vec<Vec<Action>>,
    order: &[usize],
) -> Result<Vec<Stage>, Problem> {
    let mut stages: Vec<Stage> = Vec::new();
    let mut last_of = vec![0; written.len()];
    for &index in order {
        let mut after: Vec<usize> = follows(written, names, index)?.into_iter().map(|before| last_of[before]).collect();
        for action in std::mem::take(&mut expanded[index]) {
            let barrier = written[index].bool("barrier") && !after.is_empty();
            let number = stages.len();
            let quorum = written[index].number("quorum");
            stages.push(Stage {
                written: index,
                action,
                after: std::mem::replace(&mut after, vec![number]),
                barrier,
                quorum,
            });
        }
        last_of[index] = stages.len() - 1;
    }
    Ok(stages)
}

/// Returns the goals, the deadline of the request first.
fn goals(values: &Values, names: &[String]) -> Result<Vec<Goal>, Problem> {
    let mut goals = Vec::new();
    if values.find("deadline").is_some() {
        goals.push(Goal { name: "deadline".into(), stage: None, within: values.allowed("deadline") });
    }
    for (index, goal) in values.tables("goal").iter().enumerate() {
        let (name, stage) = (goal.text("name"), goal.text("stage"));
        if name == "deadline" {
            let problem = Problem::new("goal", "`deadline` is the goal of the whole request, the key of the class");
            return Err(problem.at(index, "name"));
        }
        let Some(stage) = names.iter().position(|name| *name == stage) else {
            let problem = Problem::new("goal", format!("there is no stage `{stage}`"));
            return Err(problem.meant(&stage, names).at(index, "stage"));
        };
        let within: Allowed = goal.allowed("within");
        goals.push(Goal { name, stage: Some(stage), within });
    }
    Ok(goals)
}

/// Checks that every stage that follows others begins where something of them ends.
fn check_starts(plan: &Plan, written: &[Values]) -> Result<(), Problem> {
    // The roles at whose hosts something has ended before each stage, or of it.
    let mut ended: Vec<Vec<usize>> = Vec::new();
    for stage in &plan.stages {
        let (starts, ends) = match stage.action {
            Action::Send { from, to, .. } => (from, to),
            Action::Work { at, .. } => (at, at),
        };
        let mut before: Vec<usize> = stage.after.iter().flat_map(|&before| ended[before].clone()).collect();
        let known = before.iter().any(|&role| role == starts || shares_host(&plan.roles[role], &plan.roles[starts]));
        // A host that has only sent so far knows of the request.
        let begins = before.is_empty() || stage.barrier || known || starts_at(plan, stage, starts);
        if !begins {
            let names: Vec<String> =
                stage.after.iter().map(|&before| format!("`{}`", plan.names[plan.stages[before].written])).collect();
            let role = &plan.roles[starts].name;
            let message =
                format!("it follows {}, and nothing of that ends at a host of role `{role}`", names.join(", "));
            let key = if written[stage.written].find("from").is_some() { "from" } else { "at" };
            let problem = Problem::new("stage", message).at(stage.written, key);
            return Err(
                problem.hint("`after = []` starts it with the request, `barrier = true` when all others have ended")
            );
        }
        before.push(ends);
        before.sort_unstable();
        before.dedup();
        ended.push(before);
    }
    Ok(())
}

/// Returns whether an earlier stage started at a host of the role, which so knows that the request is there.
fn starts_at(plan: &Plan, stage: &Stage, role: usize) -> bool {
    stage.after.iter().any(|&before| {
        let stage = &plan.stages[before];
        let starts = match stage.action {
            Action::Send { from, .. } => from,
            Action::Work { at, .. } => at,
        };
        starts == role || starts_at(plan, stage, role)
    })
}

fn shares_host(one: &Role, other: &Role) -> bool {
    one.hosts.iter().any(|host| other.hosts.contains(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_that_is_named_twice_is_found_wherever_it_is() {
        let twice = |hosts: &[u32]| first_twice(&hosts.iter().copied().map(HostId).collect::<Vec<_>>());
        assert_eq!(twice(&[3, 1, 3, 2]), Some(HostId(3)));
        assert_eq!(twice(&[3, 1, 3, 1]), Some(HostId(1)));
        assert_eq!(twice(&[3, 3]), Some(HostId(3)));
        assert_eq!(twice(&[3, 1, 2]), None);
    }

    /// Stages 0, 2 and 1 wait for each other. Stage 0 waits for stage 3 too, and that for a circle of which it is no part.
    #[test]
    fn circle_of_stages_is_found_among_others() {
        let after = [vec![3, 2], vec![0], vec![1], vec![4], vec![5], vec![4]];
        let found = |pairs: [(usize, usize); 5]| pairs.map(|(from, goal)| reaches(&after, from, goal));
        assert_eq!(found([(2, 2), (0, 4), (3, 5), (3, 3), (3, 0)]), [true, true, true, false, false]);
        assert_eq!(circle(&after, 0), [0, 2, 1, 0]);
        // One that waits for a circle is no part of it.
        assert_eq!(circle(&[vec![1], vec![2], vec![1]], 0), [1, 2, 1]);
    }
}
