//! Reads the traffic classes of a scenario.

use serde_json::Value as Json;
use sim::Class;
use sim::network::Network;
use sim::run::Run;
use sim::traffic::{self, Above};
use units::{Kind, Problem, RequestTrace, Value, Values};

use crate::context::Context;
use crate::document::{Data, Entry, Table};
use crate::error::{Checked, Fault, clip};
use crate::language::{self, Family, Variant};
use crate::overrides;
use crate::plugins::{self, Chosen, choose};
use crate::requests;
use crate::suggest;
use crate::table::only;
use crate::transports::{Transports, read_transport};
use crate::values::read_table;
use crate::variants::{place, select, unknown_key, with_selector};

/// Maximum number of messages: a run's records of them fit into a large machine's memory.
const MAX_MESSAGES: f64 = 200e6;

/// The key by which a class's transport takes over the keys of `[transport]`.
pub(crate) const INHERIT: &str = "inherit";

/// The reader of the traffic classes.
pub(crate) struct Classes<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) network: &'a Network,
    pub(crate) run: &'a Run,
    /// The index of `[transport]`, if there is one.
    pub(crate) common: Option<usize>,
    /// The table of `[transport]` as it is written.
    pub(crate) shared: Option<&'a Table>,
}

/// Checks that classes above give their common queue no other weight.
fn one_weight(weight: f64, class: &Class, above: &[Class]) -> Result<(), Problem> {
    let others = above.iter().filter(|other| other.priority == class.priority);
    let differs =
        |other: &Class| other.weight.filter(|theirs| *theirs != weight).map(|theirs| (other.name.clone(), theirs));
    let Some((name, theirs)) = others.into_iter().find_map(differs) else { return Ok(()) };
    let queue = class.priority.map_or("without `priority`".into(), |own| format!("of `priority` {own}"));
    let message = format!("class `{name}` gives the queue of packets {queue} the weight {theirs}");
    Err(Problem::new("weight", message).hint("write another `priority` for a queue of its own"))
}

impl Classes<'_> {
    pub(crate) fn read(&self, root: &Table, transports: &mut Transports) -> Checked<(Vec<Class>, Vec<Above>, Json)> {
        const MAX_CLASSES: usize = 4096;
        let family = language::patterns();
        let defaults = class_defaults(root, &family)?;
        let items = match root.find("traffic").map(|entry| &entry.node.data) {
            Some(Data::Array(items)) if !items.is_empty() => items,
            _ => {
                let fault =
                    Fault::new(root.find("traffic").map_or(root.at, |entry| entry.key_at), "there is no traffic");
                return Err(fault.hint("write at least one [[traffic]] with a name and a pattern"));
            }
        };
        if let Some(item) = items.get(MAX_CLASSES) {
            return Err(item.fault(format!("a scenario has at most {MAX_CLASSES} traffic classes")));
        }
        let (mut classes, mut written, mut above) = (Vec::<Class>::new(), Vec::new(), Vec::new());
        for item in items {
            let Data::Table(table) = &item.data else { continue };
            let (class, values, text) = self.class(table, defaults, &family, &above, transports)?;
            if classes.iter().any(|other| other.name == class.name) {
                let at = table.find("name").map_or(table.at, |entry| entry.node.at);
                return Err(Fault::new(at, format!("another class is called `{}` too", class.name)));
            }
            if let Some(weight) = class.weight {
                one_weight(weight, &class, &classes).map_err(|problem| place(table, problem))?;
            }
            above.push(Above { pattern: class.pattern, values });
            classes.push(class);
            written.push(text);
        }
        Ok((classes, above, Json::Array(written)))
    }

    fn class(
        &self,
        table: &Table,
        defaults: Option<&Table>,
        family: &Family,
        above: &[Above],
        transports: &mut Transports,
    ) -> Checked<(Class, Values, Json)> {
        let title = match table.find("name").and_then(|entry| entry.node.text()) {
            Some(name) => format!("[[traffic]] `{}`", clip(name)),
            None => "[[traffic]]".into(),
        };
        let mut table = table.clone();
        let defaults = defaults.map_or(&[][..], |defaults| &defaults.entries);
        let missing = |table: &Table, entry: &Entry| table.find(&entry.key).is_none();
        let selecting = |entry: &&Entry| entry.key == family.selector || entry.key == "transport";
        for entry in defaults.iter().filter(selecting) {
            if missing(&table, entry) {
                table.set(entry.clone());
            }
        }
        let variant = select(family, &table, &title, self.context)?;
        for entry in defaults.iter().filter(|entry| variant.keys.iter().any(|key| key.name == entry.key)) {
            if missing(&table, entry) {
                table.set(entry.clone());
            }
        }
        let unknown = |entry: &Entry| match entry.key.as_str() {
            "deadline" => deadline_without_size(family, variant, entry),
            _ => unknown_key(family, variant, &title, entry),
        };
        // The columns of its requests are names that its other values may use.
        let requests = self.requests(&table, variant)?;
        let context = Context { requests: requests.as_ref().map(|(_, requests, _)| requests), ..*self.context };
        let key = requests.as_ref().map_or("transport", |(key, ..)| key);
        let apart = [family.selector, "transport", key];
        let mut read = read_table(&table, &title, &variant.keys, &apart, &context, unknown)?;
        if let Some((key, requests, text)) = requests {
            read.values.set(key, Value::Requests(requests));
            read.written.insert(key.to_owned(), text);
        }
        let mut written = with_selector(family, variant, read.written);
        let transport = match table.find("transport") {
            Some(entry) => {
                let (index, text) = self.own_transport(entry, &title, transports)?;
                written["transport"] = text;
                index
            }
            None => self.common.ok_or_else(|| {
                let fault = Fault::new(table.at, format!("{title} has no transport"));
                fault.hint("write [transport] with its name, or `transport` in each class")
            })?,
        };
        let descriptor = traffic::find(variant.name).expect("the family is made of the list");
        let Run { seed, duration, .. } = *self.run;
        let around =
            traffic::Context { graph: &self.network.graph, sprayed: self.network.sprays(), seed, duration, above };
        let generator = (descriptor.build)(&read.values, &around).map_err(|problem| place(&table, problem))?;
        check_number(&table, generator.expected(duration.after_start()))?;
        let class = Class {
            name: read.values.text("name"),
            set: read.values.text_if_set("set"),
            pattern: descriptor.name,
            transport,
            persistent: read.values.choice("connections") == "persistent",
            short: read.values.choice_if_set("flow_class").map(|class| class == "short"),
            priority: read.values.count_if_set("priority").map(|priority| priority as u8),
            weight: read.values.number_if_set("weight"),
            generator,
        };
        Ok((class, read.values, written))
    }

    /// Returns the requests of a class that names a file of them, with the key and the text that do.
    fn requests(&self, table: &Table, variant: &Variant) -> Checked<Option<(&'static str, RequestTrace, Json)>> {
        let key = variant.keys.iter().find(|key| key.kind == Kind::RequestFile);
        let Some((key, entry)) = key.and_then(|key| Some((key, table.find(key.name)?))) else { return Ok(None) };
        let node = self.context.parameters.resolve(&entry.node)?;
        let (requests, text) = requests::read(key, node, self.context)?;
        Ok(Some((key.name, requests, text)))
    }

    /// With `inherit = true`, adds the parameters of `[transport]` that this transport reads too and does not set
    /// itself.
    fn inherit(&self, table: &mut Table, title: &str) -> Checked<()> {
        let Some(place) = table.entries.iter().position(|entry| entry.key == INHERIT) else { return Ok(()) };
        let entry = table.entries.remove(place);
        let node = self.context.parameters.resolve(&entry.node)?;
        let Data::Bool(inherits) = node.data else {
            return Err(node.fault(format!("`{INHERIT}` must be true or false, not {}", node.what())));
        };
        let (true, Some(shared)) = (inherits, self.shared) else { return Ok(()) };
        let family = language::transport_family();
        let Chosen { variant, entry: own, .. } =
            choose(&family, table, &format!("`transport` of {title}"), self.context)?;
        let takes = |key: &str| variant.keys.iter().any(|known| known.name == key) && own.reads(key);
        for entry in &shared.entries {
            if takes(&entry.key) && !plugins::selects(&family, &entry.key) && table.find(&entry.key).is_none() {
                table.set(entry.clone());
            }
        }
        Ok(())
    }

    /// Returns a class's own transport: a name alone means that transport with its defaults.
    fn own_transport(&self, entry: &Entry, title: &str, transports: &mut Transports) -> Checked<(usize, Json)> {
        let mut entry = entry.clone();
        entry.node = self.context.parameters.resolve(&entry.node)?.clone();
        overrides::named_transport(&mut entry);
        if let Data::Table(table) = &mut entry.node.data {
            self.inherit(table, title)?;
        }
        match &entry.node.data {
            Data::Table(table) => read_transport(table, &format!("`transport` of {title}"), self.context, transports),
            _ => {
                let fault = entry.node.fault(format!("`transport` is a name or a table, not {}", entry.node.what()));
                Err(fault.hint("write transport = \"dctcp\" or transport = { name = \"dctcp\", g = 0.1 }"))
            }
        }
    }
}

/// Rejects more messages than any machine can hold the results of; `key` decides their number.
fn check_number(table: &Table, (messages, key): (f64, &str)) -> Checked<()> {
    if messages <= MAX_MESSAGES {
        return Ok(());
    }
    let at = table.find(key).map_or(table.at, |entry| entry.node.at);
    let message = format!("about {messages:.0} messages would be sent, at most {MAX_MESSAGES} are possible");
    Err(Fault::new(at, message).hint("take a shorter duration, or fewer messages in it"))
}

/// Returns `[defaults.traffic]`, with keys that at least one pattern knows.
fn class_defaults<'a>(root: &'a Table, family: &Family) -> Checked<Option<&'a Table>> {
    let Some(Data::Table(defaults)) = root.find("defaults").map(|entry| &entry.node.data) else { return Ok(None) };
    only(defaults, "[defaults]", &["traffic"])?;
    let Some(entry) = defaults.find("traffic") else { return Ok(None) };
    let Data::Table(table) = &entry.node.data else {
        return Err(Fault::new(entry.key_at, "the defaults of all classes are one table")
            .hint("write [defaults.traffic] with one bracket"));
    };
    let words = || family.key_names().into_iter().chain([family.selector, "transport"]).filter(|name| *name != "name");
    for entry in &table.entries {
        if entry.key == "name" {
            return Err(Fault::new(entry.key_at, "`name` belongs in each class: no two share it"));
        }
        if words().all(|word| word != entry.key) {
            let fault = Fault::new(entry.key_at, format!("unknown key `{}` in [defaults.traffic]", clip(&entry.key)));
            return Err(fault.did_you_mean(suggest::nearest(&entry.key, words()), || {
                format!("no pattern has it; the keys are {}", suggest::list(words()))
            }));
        }
    }
    Ok(Some(table))
}

/// Returns the fault for `deadline` where the pattern does not have it.
fn deadline_without_size(family: &Family, variant: &Variant, entry: &Entry) -> Fault {
    let holds = |wanted: Kind| variant.own.iter().any(|key| key.kind == wanted);
    let fault = |message: String| Fault::new(entry.key_at, message);
    let name = variant.name;
    if holds(Kind::Flows) {
        return fault("each entry of `flows` has its own `deadline`".into()).hint("write it beside the entry's `size`");
    }
    let with_size = suggest::list(family.owners("deadline").map(|owner| owner.name));
    fault(format!("a deadline without a size: the flows of pattern `{name}` have no end"))
        .hint(format!("patterns {with_size} send messages with a size"))
}
