//! From written values to checked ones: each kind of key is read here, in one place.

use serde_json::{Map, Value as Json, json};
use sim::profile::{Preset, Setting};
use sim::topology::LINK_KEYS;
use sim::traffic::ENTRY_KEYS;
use units::measure::{self, Dimension, Measure, Scale, Term};
use units::{
    Amount, Bytes, Deadline, Default, Distribution, FlowSpec, Formula, Instant, Key, Kind, Load, Marks, Nodes,
    OfRequest, Range, Rate, Span, Value, Values, Vary,
};

use crate::context::Context;
use crate::document::{Data, Entry, Node, Table};
use crate::error::clip;
use crate::error::{Checked, Fault};
use crate::evaluate::{self, Names};
use crate::lines::COLUMNS;
use crate::ranges::{check_range, distribution_of, wrong};
use crate::table::{self, Read, only};
use crate::{cdf, distribution, hosts, matrix, messages, nested, of_request, requests, suggest};

/// Reads a table by its declared keys. `title` is the table's name in messages ("[network]"); the entries of `apart`
/// are read elsewhere; `unknown` makes the message for a key that is not declared.
pub(crate) fn read_table(
    table: &Table,
    title: &str,
    keys: &[&'static Key],
    apart: &[&str],
    context: &Context,
    unknown: impl Fn(&Entry) -> Fault,
) -> Checked<Read> {
    table::read(table, title, keys, apart, |key, node| value(key, node, context), |_, _| None, unknown)
}

/// As [`read_table`] of a network whose hosts' links have `line_rate`, if that is known. `setting` gives the profile's
/// value for a key that is left out.
pub(crate) fn read_with_profile(
    table: &Table,
    title: &str,
    (keys, selector): (&[&'static Key], &str),
    context: &Context,
    line_rate: Option<Rate>,
    setting: impl Fn(&Key) -> Option<&'static Setting>,
    unknown: impl Fn(&Entry) -> Fault,
) -> Checked<Read> {
    let preset = |key: &Key, read: &Values| {
        let setting = setting(key)?;
        let text = match setting.value {
            Preset::Times(other, factor) if read.find(other).is_some() => {
                Measure::Time.write((read.time(other).0 as f64 * factor).round())
            }
            Preset::FromGbps(gbps, fast, _) if line_rate.is_some_and(|rate| rate >= Rate::from_gbps(gbps)) => {
                fast.to_owned()
            }
            _ => context.profile.default_of(setting.section, key)?,
        };
        Some(table::default(key, &text, table.at))
    };
    table::read(table, title, keys, &[selector], |key, node| value(key, node, context), preset, unknown)
}

/// Reads one value of a key.
pub(crate) fn value(key: &Key, node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let node = resolve(key, node, context)?;
    let in_range = |x: f64, scale: Scale| check_range(key, x, scale, node.at);
    Ok(match key.kind {
        Kind::Bool => match node.data {
            Data::Bool(truth) => (Value::Bool(truth), json!(truth)),
            _ => return Err(wrong(key, node, "true or false")),
        },
        Kind::CountOr(word) if node.text() == Some(word) => (Value::Choice(word), json!(word)),
        Kind::CountOr(word)
            if node.text().is_some_and(|text| text.parse::<u64>().is_err() && !text.contains('$'))
                || matches!(node.data, Data::Bool(_) | Data::Array(_) | Data::Table(_) | Data::Date) =>
        {
            return Err(wrong(key, node, &format!("a whole number, or \"{word}\"")));
        }
        Kind::Count | Kind::CountOr(_) => {
            let count = count(key, node, context)?;
            in_range(count as f64, Scale::None)?;
            (Value::Count(count), json!(count))
        }
        Kind::Number | Kind::Share => {
            let term = evaluate::evaluate_node(node, context.parameters, context.names())?;
            let number = match term.constant() {
                Some(x) if term.dimension == Dimension::NONE && (!term.percent || key.kind == Kind::Share) => x,
                _ if key.kind == Kind::Share => return Err(wrong(key, node, "a share like \"30%\" or 0.3")),
                _ => return Err(wrong(key, node, "a plain number")),
            };
            in_range(number, Scale::None)?;
            (Value::Number(number), json!(number))
        }
        Kind::Load(words) => load(key, node, words, context)?,
        Kind::Shares => {
            let shares = shares(key, node, context)?;
            let written = json!(shares);
            (Value::Shares(shares), written)
        }
        Kind::Time => {
            let time = measured(Measure::Time, node, context)?;
            in_range(time.round() / 1e12, Scale::Of(Measure::Time))?;
            (Value::Time(Span::from_ps_f64(time)), json!(Measure::Time.write(time.round())))
        }
        Kind::Times => {
            let times = times(key, node, context)?;
            let written = times.iter().map(|time| Measure::Time.write(time.0 as f64)).collect::<Vec<_>>();
            (Value::Times(times), json!(written))
        }
        Kind::Size => {
            let size = measured(Measure::Size, node, context)?.round();
            in_range(size, Scale::Of(Measure::Size))?;
            (Value::Size(Bytes(size as u64)), json!(Measure::Size.write(size)))
        }
        Kind::Rate => {
            let rate = measured(Measure::Rate, node, context)?;
            in_range(rate, Scale::Of(Measure::Rate))?;
            (Value::Rate(Rate(rate as u64)), json!(Measure::Rate.write(rate)))
        }
        Kind::Amount => {
            let amount = amount(key, node, context)?;
            (Value::Amount(amount), json!(amount.to_string()))
        }
        Kind::AmountBySwitch => amount_by_switch(key, node, context)?,
        Kind::Marks => marks(key, node, context)?,
        Kind::Choice(words) => {
            let word = choice(key, node, words)?;
            (Value::Choice(word), json!(word))
        }
        Kind::Choices(words) => {
            let chosen = choices(key, node, words, context)?;
            let written = json!(chosen);
            (Value::Choices(chosen), written)
        }
        Kind::Text => {
            let text = text(key, node)?;
            (Value::Text(text.to_owned()), json!(text))
        }
        Kind::TimeFormula => {
            let (formula, written) = formula(key, node, context)?;
            (Value::Formula(formula), json!(written))
        }
        Kind::TimeDistribution | Kind::SizeDistribution => {
            let measure = if key.kind == Kind::TimeDistribution { Measure::Time } else { Measure::Size };
            match cdf_table(key, node, context)? {
                Some((distribution, written)) => (Value::Distribution(distribution), written),
                None => spread(key, node, &[measure], context)?,
            }
        }
        Kind::Deadline => {
            let (deadline, written) = deadline(key, node, context)?;
            (Value::Deadline(deadline.scaled(context.deadline_factor)), written)
        }
        Kind::Hosts => {
            let hosts = hosts::read(node, context)?;
            let written = hosts::write(&hosts);
            (Value::Hosts(hosts), written)
        }
        Kind::Flows => flows(node, context)?,
        Kind::Names => names(key, node, context)?,
        Kind::NamesOf(what) => names_of(key, what, node, context)?,
        Kind::Nodes => nodes(key, node, context)?,
        Kind::Links => links(node, context)?,
        Kind::FlowFile => flow_file(key, node, context)?,
        Kind::MatrixFile => {
            let path = text(key, node)?;
            let content = context.files.read(path, node.at, None)?;
            (Value::Matrix(matrix::read(path, &content)?), json!(path))
        }
        Kind::Tables(tables) => nested::list(key, tables, node, context)?,
        Kind::Named(tables) => nested::named(key, tables, node, context)?,
        Kind::RequestTime | Kind::RequestSize => {
            let measure = if key.kind == Kind::RequestTime { Measure::Time } else { Measure::Size };
            let (amount, written) = match cdf_table(key, node, context)? {
                Some((distribution, written)) => (OfRequest::Drawn(distribution), written),
                None => of_request::amount(key, node, measure, context)?,
            };
            (Value::OfRequest(amount), written)
        }
        Kind::Allowed => {
            let (allowed, written) = of_request::allowed(key, node, context)?;
            (Value::Allowed(allowed), written)
        }
        Kind::RequestFile => {
            let (requests, written) = requests::read(key, node, context)?;
            (Value::Requests(requests), written)
        }
    })
}

/// Returns the node itself, or the parameter that it names as a whole.
fn resolve<'a>(key: &Key, node: &'a Node, context: &Context<'a>) -> Checked<&'a Node> {
    let name = node.text().and_then(|text| text.trim().strip_prefix('$')).unwrap_or_default();
    if !context.columns().iter().any(|column| column == name) {
        return context.parameters.resolve(node);
    }
    match key.kind {
        Kind::RequestTime | Kind::RequestSize | Kind::Allowed => Ok(node),
        _ => Err(evaluate::column_here(name, |message| node.fault(message))),
    }
}

/// Reads a time, size or rate in its base unit.
fn measured(measure: Measure, node: &Node, context: &Context) -> Checked<f64> {
    if !matches!(node.data, Data::Integer(_) | Data::Float(_) | Data::Text(_)) {
        return Err(node.fault(format!("{} is needed here, this is {}", measure.what(), node.what())));
    }
    let term = evaluate::evaluate_node(node, context.parameters, context.names())?;
    evaluate::value_of(&term, measure, node.at)
}

fn count(key: &Key, node: &Node, context: &Context) -> Checked<u64> {
    if let Data::Integer(x) = node.data {
        // Not by way of a float: a seed may use all 64 bits.
        return u64::try_from(x).map_err(|_| {
            let limit = if x < 0 { "cannot be negative" } else { "is too large" };
            node.fault(format!("`{}` {limit}", key.name))
        });
    }
    if !matches!(node.data, Data::Float(_) | Data::Text(_)) {
        return Err(wrong(key, node, "a whole number"));
    }
    if let Some(Ok(x)) = node.text().map(str::parse::<u64>) {
        return Ok(x);
    }
    let term = evaluate::evaluate_node(node, context.parameters, context.names())?;
    measure::whole(&term).map_err(|why| node.fault(format!("`{}` must be a whole number: {why}", key.name)))
}

fn amount(key: &Key, node: &Node, context: &Context) -> Checked<Amount> {
    if !matches!(node.data, Data::Integer(_) | Data::Float(_) | Data::Text(_)) {
        return Err(wrong(key, node, "packets or bytes"));
    }
    let term = evaluate::evaluate_node(node, context.parameters, context.names())?;
    key.amount(&term).map_err(|mistake| Fault::mistaken(node.at, mistake))
}

/// Reads one amount, or a table with the amounts of switches by name.
fn amount_by_switch(key: &Key, node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let Data::Table(table) = &node.data else {
        let amount = amount(key, node, context)?;
        return Ok((Value::Amount(amount), json!(amount.to_string())));
    };
    if table.entries.is_empty() {
        return Err(Fault::new(table.at, format!("`{}` names no switch", key.name)));
    }
    let (mut amounts, mut written) = (Vec::new(), Map::new());
    for entry in &table.entries {
        let amount = amount(key, context.parameters.resolve(&entry.node)?, context)?;
        written.insert(entry.key.clone(), json!(amount.to_string()));
        amounts.push((entry.key.clone(), amount));
    }
    Ok((Value::AmountBySwitch(amounts), Json::Object(written)))
}

fn marks(key: &Key, node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let Data::Table(table) = &node.data else {
        let amount = amount(key, node, context)?;
        return Ok((Value::Marks(Marks { host: Some(amount), uplink: Some(amount) }), json!(amount.to_string())));
    };
    let part = |name, help| Key { name, kind: Kind::Amount, default: Default::Absent, help, ..*key };
    static PARTS: [&str; 2] = ["host", "uplink"];
    only(table, "`mark`", &PARTS)?;
    let mut found = [None, None];
    let mut written = Map::new();
    for (slot, name) in found.iter_mut().zip(PARTS) {
        let Some(entry) = table.find(name) else { continue };
        let amount = amount(&part(name, ""), context.parameters.resolve(&entry.node)?, context)?;
        written.insert(name.into(), json!(amount.to_string()));
        *slot = Some(amount);
    }
    Ok((Value::Marks(Marks { host: found[0], uplink: found[1] }), Json::Object(written)))
}

/// Reads a share of the first of the kinds of links, or a table that names the kind.
fn load(key: &Key, node: &Node, words: &'static [&'static str], context: &Context) -> Checked<(Value, Json)> {
    let number = |name: &'static str, node: &Node| {
        let one = Key { name, kind: Kind::Share, ..*key };
        match value(&one, node, context)? {
            (Value::Number(share), _) => Ok(share),
            _ => unreachable!("a share is a number"),
        }
    };
    let Data::Table(table) = &node.data else {
        let share = number(key.name, node)?;
        return Ok((Value::Load(Load { of: words[0], share }), json!(share)));
    };
    only(table, &format!("`{}`", key.name), &["of", "share"])?;
    let part = |name: &str| {
        table.find(name).ok_or_else(|| {
            let example = format!("{} = {{ of = \"{}\", share = \"40%\" }}", key.name, words[words.len() - 1]);
            Fault::new(table.at, format!("`{}` lacks its `{name}`", key.name))
                .hint(format!("write for example {example}"))
        })
    };
    let of = choice(&Key { name: "of", ..*key }, context.parameters.resolve(&part("of")?.node)?, words)?;
    let share = number("share", context.parameters.resolve(&part("share")?.node)?)?;
    Ok((Value::Load(Load { of, share }), json!({ "of": of, "share": share })))
}

/// Reads a list of shares of something whole.
fn shares(key: &Key, node: &Node, context: &Context) -> Checked<Vec<f64>> {
    let Data::Array(items) = &node.data else { return Err(wrong(key, node, "a list of shares")) };
    let one = Key { kind: Kind::Share, ..*key };
    let share = |item: &Node| match value(&one, item, context)? {
        (Value::Number(share), _) => Ok(share),
        _ => unreachable!("a share is a number"),
    };
    let shares = items.iter().map(share).collect::<Checked<Vec<f64>>>()?;
    let sum: f64 = shares.iter().sum();
    match (sum - 1.0).abs() < 1e-9 {
        true => Ok(shares),
        false => {
            Err(node.fault(format!("the shares of `{}` add up to {}, not to 1", key.name, (sum * 1e9).round() / 1e9)))
        }
    }
}

/// Reads one time, or a list of times that grow.
fn times(key: &Key, node: &Node, context: &Context) -> Checked<Vec<Span>> {
    // They separate the classes of a switch's priorities, of which there are at most 32.
    const MOST: usize = 31;
    let items = match &node.data {
        Data::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    if items.is_empty() || items.len() > MOST {
        return Err(node.fault(format!("`{}` has {} entries, 1 to {MOST} are possible", key.name, items.len())));
    }
    let mut times: Vec<Span> = Vec::new();
    for item in items {
        let item = context.parameters.resolve(item)?;
        let ps = measured(Measure::Time, item, context)?;
        check_range(key, ps.round() / 1e12, Scale::Of(Measure::Time), item.at)?;
        let time = Span::from_ps_f64(ps);
        if let Some(last) = times.last().filter(|last| **last >= time) {
            return Err(item.fault(format!("{time} comes after {last}: the times of `{}` must increase", key.name)));
        }
        times.push(time);
    }
    Ok(times)
}

fn choice(key: &Key, node: &Node, words: &'static [&'static str]) -> Checked<&'static str> {
    let Some(text) = node.text() else {
        return Err(wrong(key, node, &format!("one of {}", suggest::list(words.iter().copied()))));
    };
    words.iter().find(|word| **word == text).copied().ok_or_else(|| {
        let fault = node.fault(format!("`{}` cannot be `{}`", key.name, clip(text)));
        let all = format!("expected {}", suggest::list(words.iter().copied()).replace(" and ", " or "));
        match suggest::nearest(text, words.iter().copied()) {
            Some(near) => fault.hint(format!("did you mean `{near}`? ({all})")),
            None => fault.hint(all),
        }
    })
}

/// Returns a plain value as it is written in a file.
pub(crate) fn written(value: &Value) -> Json {
    match value {
        Value::Bool(truth) => json!(truth),
        Value::Count(count) => json!(count),
        Value::Number(number) => json!(number),
        Value::Time(time) => json!(Measure::Time.write(time.0 as f64)),
        Value::Size(bytes) => json!(Measure::Size.write(bytes.as_f64())),
        Value::Rate(rate) => json!(Measure::Rate.write(rate.0 as f64)),
        Value::Amount(amount) => json!(amount.to_string()),
        Value::Choice(word) => json!(word),
        other => unreachable!("only plain values follow from others, not {other:?}"),
    }
}

fn choices(key: &Key, node: &Node, words: &'static [&'static str], context: &Context) -> Checked<Vec<&'static str>> {
    let items = match &node.data {
        Data::Array(items) => items.as_slice(),
        Data::Text(_) => std::slice::from_ref(node),
        _ => return Err(wrong(key, node, "a list of words")),
    };
    if items.is_empty() {
        return Err(node
            .fault(format!("`{}` is an empty list", key.name))
            .hint(format!("the words are {}", suggest::list(words.iter().copied()))));
    }
    let mut chosen = Vec::new();
    for item in items {
        let word = choice(key, context.parameters.resolve(item)?, words)?;
        if chosen.contains(&word) {
            return Err(item.fault(format!("`{word}` appears twice")));
        }
        chosen.push(word);
    }
    Ok(chosen)
}

/// Reads a text of one line, neither empty nor endless.
pub(crate) fn text<'a>(key: &Key, node: &'a Node) -> Checked<&'a str> {
    let Some(text) = node.text() else { return Err(wrong(key, node, "a text")) };
    if text.trim().is_empty() {
        return Err(node.fault(format!("`{}` is empty", key.name)));
    }
    if text.chars().count() > 500 {
        return Err(node.fault(format!("`{}` is longer than 500 characters", key.name)));
    }
    if text.chars().any(char::is_control) {
        return Err(node.fault(format!("`{}` holds line breaks or control characters", key.name)));
    }
    Ok(text)
}

fn formula(key: &Key, node: &Node, context: &Context) -> Checked<(Formula, String)> {
    if !matches!(node.data, Data::Integer(_) | Data::Float(_) | Data::Text(_)) {
        return Err(wrong(key, node, "a time"));
    }
    let term = evaluate::evaluate_node(node, context.parameters, Names::Places)?;
    if let Some(x) = term.constant() {
        let time = evaluate::value_of(&term, Measure::Time, node.at)?;
        check_range(key, x / 1e12, Scale::Of(Measure::Time), node.at)?;
        return Ok((Formula::Constant(time), Measure::Time.write(time)));
    }
    if term.dimension != Dimension::TIME {
        let fault = node.fault(format!("a time is needed here, this is {}", term.dimension.what()));
        return Err(fault.hint("write it like \"5 ms + index * 1 ms\""));
    }
    Ok((term.formula, evaluate::write_expression(node, context.parameters, Names::Places)?))
}

fn spread(key: &Key, node: &Node, measures: &[Measure], context: &Context) -> Checked<(Value, Json)> {
    let found = distribution_of(key, node, measures, context)?;
    Ok((Value::Distribution(found.distribution), json!(found.text)))
}

/// Reads a table that names the file of a distribution, with the meaning of its numbers; none for anything else.
fn cdf_table(key: &Key, node: &Node, context: &Context) -> Checked<Option<(Distribution, Json)>> {
    let measure = match key.kind {
        Kind::SizeDistribution | Kind::RequestSize => Measure::Size,
        _ => Measure::Time,
    };
    let Data::Table(table) = &node.data else { return Ok(None) };
    let read = named_file(table, "this distribution", cdf::keys(measure), context)?;
    let at = table.find("cdf").map_or(table.at, |entry| entry.node.at);
    let shape = cdf::Shape::of(&read.values, measure);
    let found = distribution::named(&read.values.text("cdf"), at, shape, measure, context)?;
    Ok(Some((found.distribution, json!(read.written))))
}

/// Reads a table that names a file.
fn named_file(table: &Table, title: &str, keys: &'static [Key], context: &Context) -> Checked<Read> {
    let names = || keys.iter().map(|key| key.name);
    let unknown = |entry: &Entry| {
        let fault = Fault::new(entry.key_at, format!("unknown key `{}` in {title}", clip(&entry.key)));
        fault.did_you_mean(suggest::nearest(&entry.key, names()), || format!("its keys are {}", suggest::list(names())))
    };
    read_table(table, title, &keys.iter().collect::<Vec<_>>(), &[], context, unknown)
}

/// Reads the messages of the file that a path or a table names.
fn flow_file(key: &Key, node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let (path, shape, at, written) = match &node.data {
        Data::Table(table) => {
            let read = named_file(table, &format!("`{}`", key.name), messages::KEYS, context)?;
            let at = |key: &str| table.find(key).map_or(table.at, |entry| entry.node.at);
            let shape = messages::Shape::of(&read.values).map_err(|wrong| {
                let fault = Fault::new(at("columns"), format!("messages have no column `{}`", clip(&wrong)));
                fault.did_you_mean(suggest::nearest(&wrong, COLUMNS), || {
                    format!("the columns are {}", suggest::list(COLUMNS))
                })
            })?;
            (read.values.text("path"), shape, at("path"), json!(read.written))
        }
        _ => {
            let path = text(key, node)?;
            (path.to_owned(), messages::Shape::default(), node.at, json!(path))
        }
    };
    let content = context.files.read(&path, at, None)?;
    Ok((Value::Flows(messages::flows(&path, &content, &shape, context)?), written))
}

fn deadline(key: &Key, node: &Node, context: &Context) -> Checked<(Deadline, Json)> {
    let Data::Table(table) = &node.data else {
        if let Some((times, written)) = of_request::times_alone(key, node, context)? {
            return Ok((Deadline::TimesAlone(times), json!(written)));
        }
        let base = distribution_of(key, node, &[Measure::Time], context)?;
        return Ok((Deadline::Time { base: base.distribution, vary: None }, json!(base.text)));
    };
    only(table, "`deadline`", &["base", "vary"])?;
    let Some(entry) = table.find("base") else {
        let fault = Fault::new(table.at, "the deadline lacks its `base`");
        return Err(fault.hint(format!("write for example {} = {}", key.name, key.kind.example())));
    };
    let base_key = Key { name: "base", ..*key };
    let base = distribution_of(&base_key, context.parameters.resolve(&entry.node)?, &[Measure::Time], context)?;
    let mut written = Map::new();
    written.insert("base".into(), json!(base.text));
    let mut vary = None;
    if let Some(entry) = table.find("vary") {
        let vary_key = Key { name: "vary", range: Range::at_least(0.0), ..*key };
        let node = context.parameters.resolve(&entry.node)?;
        let found = distribution_of(&vary_key, node, &[Measure::Time, Measure::Share], context)?;
        written.insert("vary".into(), json!(found.text));
        vary = Some(match found.measure {
            Measure::Share => Vary::Relative(found.distribution),
            _ => Vary::Absolute(found.distribution),
        });
    }
    Ok((Deadline::Time { base: base.distribution, vary }, Json::Object(written)))
}

fn names(key: &Key, node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let items = match &node.data {
        Data::Array(items) if items.len() <= hosts::MOST => items.as_slice(),
        Data::Text(_) => std::slice::from_ref(node),
        _ => return Err(wrong(key, node, &format!("a list of at most {} names", hosts::MOST))),
    };
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let item = context.parameters.resolve(item)?;
        let name = text(key, item)?;
        if !is_name(name) {
            let fault = item.fault(format!("`{}` is no name of a switch", clip(name)));
            return Err(fault.hint("a name begins with a letter and has no dots in a row, as ranges of hosts have"));
        }
        if names.iter().any(|other| other == name) {
            return Err(item.fault(format!("another switch is called `{}` too", clip(name))));
        }
        names.push(name.to_owned());
    }
    let written = json!(names);
    Ok((Value::Names(names), written))
}

/// Reads a list of names of things that are declared elsewhere.
fn names_of(key: &Key, what: &str, node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let items = match &node.data {
        Data::Array(items) => items.as_slice(),
        Data::Text(_) => std::slice::from_ref(node),
        _ => return Err(wrong(key, node, &format!("a list of names of {what}s"))),
    };
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let item = context.parameters.resolve(item)?;
        let name = text(key, item)?;
        if names.iter().any(|other| other == name) {
            return Err(item.fault(format!("{what} `{}` appears twice", clip(name))));
        }
        names.push(name.to_owned());
    }
    let written = json!(names);
    Ok((Value::Names(names), written))
}

/// Returns true if a text names a switch; other texts are hosts.
fn is_name(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && !text.contains("..")
}

fn nodes(key: &Key, node: &Node, context: &Context) -> Checked<(Value, Json)> {
    if let Some(name) = node.text().filter(|text| is_name(text)) {
        text(key, node)?;
        return Ok((Value::Nodes(Nodes::Switch(name.to_owned())), json!(name)));
    }
    let hosts = hosts::read(node, context)?;
    let written = hosts::write(&hosts);
    Ok((Value::Nodes(Nodes::Hosts(hosts)), written))
}

fn links(node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let example = "links = [{ from = \"0..4\", to = \"left\" }, { from = \"left\", to = \"right\" }]";
    let Data::Array(items) = &node.data else {
        return Err(node.fault(format!("`links` must be a list of tables, not {}", node.what())).hint(example));
    };
    if items.is_empty() {
        return Err(node.fault("`links` is an empty list").hint(example));
    }
    let keys: Vec<&'static Key> = LINK_KEYS.iter().collect();
    let (mut links, mut written) = (Vec::new(), Vec::new());
    for item in items {
        let Data::Table(table) = &item.data else {
            return Err(item.fault(format!("an entry of `links` is a table, not {}", item.what())).hint(example));
        };
        let unknown = |entry: &Entry| {
            let names = || LINK_KEYS.iter().map(|key| key.name);
            let fault = Fault::new(entry.key_at, format!("unknown key `{}` in an entry of `links`", clip(&entry.key)));
            fault.did_you_mean(suggest::nearest(&entry.key, names()), || {
                format!("its keys are {}", suggest::list(names()))
            })
        };
        let read = read_table(table, "this entry of `links`", &keys, &[], context, unknown)?;
        links.push(read.values);
        written.push(Json::Object(read.written));
    }
    Ok((Value::Links(links), Json::Array(written)))
}

fn flows(node: &Node, context: &Context) -> Checked<(Value, Json)> {
    let Data::Array(items) = &node.data else {
        return Err(node
            .fault(format!("`flows` must be a list of tables, not {}", node.what()))
            .hint("flows = [{ from = 0, to = 1, size = \"1 MB\" }]"));
    };
    if items.is_empty() {
        return Err(node.fault("`flows` is an empty list"));
    }
    let keys: Vec<&'static Key> = ENTRY_KEYS.iter().collect();
    let (mut flows, mut written) = (Vec::new(), Vec::new());
    for item in items {
        let Data::Table(table) = &item.data else {
            return Err(item
                .fault(format!("an entry of `flows` is a table, not {}", item.what()))
                .hint("{ from = 0, to = 1, size = \"1 MB\" }"));
        };
        let unknown = |entry: &Entry| {
            let names = || ENTRY_KEYS.iter().map(|key| key.name);
            let fault = Fault::new(entry.key_at, format!("unknown key `{}` in an entry of `flows`", clip(&entry.key)));
            fault.did_you_mean(suggest::nearest(&entry.key, names()), || {
                format!("its keys are {}", suggest::list(names()))
            })
        };
        let read = read_table(table, "this entry of `flows`", &keys, &[], context, unknown)?;
        let at = |key: &str| table.find(key).map_or(item.at, |entry| entry.node.at);
        for (from, to) in hosts::pair(&read.values.hosts("from"), &read.values.hosts("to"))
            .map_err(|why| Fault::new(at("to"), why))?
        {
            if flows.len() >= hosts::MOST * 16 {
                return Err(item
                    .fault("these are too many flows")
                    .hint("put long lists of messages into a file: pattern `trace`"));
            }
            let start = read.values.formula("start").at(flows.len() as u64, 0);
            let term = Term::of(start, Measure::Time);
            flows.push(FlowSpec {
                from,
                to,
                size: read.values.distribution("size"),
                start: Instant::from_ps_f64(evaluate::value_of(&term, Measure::Time, at("start"))?),
                deadline: read.values.deadline_if_set("deadline"),
            });
        }
        written.push(Json::Object(read.written));
    }
    Ok((Value::Flows(flows), Json::Array(written)))
}
