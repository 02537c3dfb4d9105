//! `[transport]`, the transports of single classes, and `compare`'s substitute.

use serde_json::{Value as Json, json};
use sim::Transport;
use sim::network::Network;
use transport::Surroundings;
use units::Key;

use crate::context::Context;
use crate::document::{Data, Entry, Node, Table};
use crate::error::{At, Checked, Fault};
use crate::language;
use crate::overrides;
use crate::plugins::{self, Chosen, choose};
use crate::presets::Presets;
use crate::suggest;
use crate::values::{self, read_with_profile};
use crate::variants::{place, unknown_key, with_selector};

/// The transports in use, each once.
pub(crate) struct Transports {
    pub(crate) list: Vec<Transport>,
    /// Notes for the user on their sections.
    pub(crate) notes: Vec<String>,
    /// The profile's settings of them.
    pub(crate) preset: Presets,
    surroundings: Surroundings,
    /// True if `[network]` itself sets the order in which ports send, and their marking.
    chosen: [bool; 2],
}

impl Transports {
    /// Returns a list without transports for this network, of which the profile has set `preset`.
    pub(crate) fn on(network: &Network, preset: Presets) -> Transports {
        let chosen = ["discipline", "marking"].map(|key| network.settings.find(key).is_some());
        Transports { list: Vec::new(), notes: Vec::new(), preset, surroundings: network.surroundings(), chosen }
    }

    /// Returns another transport that needs ports to send or mark otherwise, with the key of `[network]` that decides.
    fn at_odds(&self, transport: &Transport) -> Option<(&Transport, &'static str)> {
        let wants = |transport: &Transport| [transport.needs().discipline, transport.needs().marking];
        let keys = ["discipline", "marking"].into_iter().enumerate().filter(|&(index, _)| !self.chosen[index]);
        keys.into_iter().find_map(|(index, key)| {
            let own = wants(transport)[index]?;
            let other = self.list.iter().find(|other| wants(other)[index].is_some_and(|wanted| wanted != own))?;
            Some((other, key))
        })
    }

    fn add(&mut self, transport: Transport) -> usize {
        let same = |known: &Transport| known.name == transport.name && known.config == transport.config;
        self.list.iter().position(same).unwrap_or_else(|| {
            self.list.push(transport);
            self.list.len() - 1
        })
    }
    /// Returns the names for reports, when there is no common one.
    pub(crate) fn names(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for transport in &self.list {
            if !names.contains(&transport.name) {
                names.push(transport.name);
            }
        }
        names.join("+")
    }
}

/// `compare`'s substitute for the name of `[transport]`, and settings of its keys: "d2tcp:d_cap=4".
pub(crate) struct Replacement<'a> {
    name: &'a str,
    at: At,
    settings: Vec<Entry>,
}

impl<'a> Replacement<'a> {
    /// Reads the text of the source with that number: NAME, or NAME:KEY=VALUE:KEY=VALUE.
    pub(crate) fn read(text: &'a str, source: u32) -> Checked<Replacement<'a>> {
        // A Windows path has a colon of its own, and so has the name of a registered controller.
        let parts = text.match_indices(':').map(|(at, _)| at).filter(|at| {
            let part = text[at + 1..].split(':').next().unwrap_or_default();
            part.contains('=') || part.trim().is_empty()
        });
        let starts: Vec<usize> = parts.collect();
        let name = &text[..starts.first().copied().unwrap_or(text.len())];
        let mut settings = Vec::new();
        for (index, start) in starts.iter().map(|at| at + 1).enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(text.len());
            let at = At::new(source, start..end.max(start + 1));
            let Some(equals) = text[start..end].find('=').map(|equals| start + equals) else {
                return Err(
                    Fault::new(at, "a setting KEY=VALUE is missing behind `:`").hint("for example d2tcp:d_cap=4")
                );
            };
            let key = text[start..equals].trim();
            let key_at = At::new(source, start..equals.max(start + 1));
            if key.is_empty() {
                return Err(Fault::new(key_at, "the key before `=` is missing"));
            }
            let node = overrides::value(&text[..end], equals + 1, source)?;
            settings.push(Entry { key: key.to_owned(), key_at, node });
        }
        Ok(Replacement { name, at: At::new(source, 0..name.len().max(1)), settings })
    }
}

pub(crate) fn common_transport(
    root: &Table,
    replacement: Option<&Replacement>,
    context: &Context,
    transports: &mut Transports,
) -> Checked<Option<(usize, Json)>> {
    let written = match root.find("transport").map(|entry| &entry.node.data) {
        Some(Data::Table(table)) => Some(table),
        _ => None,
    };
    let table = match replacement {
        None => match written {
            None => return Ok(None),
            Some(table) => table.clone(),
        },
        Some(replacement) => replaced(written, replacement, context, &mut transports.notes)?,
    };
    read_transport(&table, "[transport]", context, transports).map(Some)
}

/// Returns the table with the substitute's name, without the keys that only other transports know.
fn replaced(
    written: Option<&Table>,
    replacement: &Replacement,
    context: &Context,
    notes: &mut Vec<String>,
) -> Checked<Table> {
    let family = language::transport_family();
    let mut table = plugins::named(Node::bare(replacement.name, replacement.at), replacement.at);
    table.at = written.map_or(replacement.at, |table| table.at);
    let variant = choose(&family, &table, "[transport]", context)?.variant;
    let own = |entry: &&Entry| !plugins::selects(&family, &entry.key);
    for entry in written.iter().flat_map(|table| &table.entries).filter(own) {
        let known = variant.keys.iter().any(|key| key.name == entry.key);
        match family.key(&entry.key) {
            Some(key) if !known => {
                // It is dropped, but a mistake in it would show with the transport that it is meant for.
                values::value(key, &entry.node, context)?;
                notes.push(format!("`transport.{}` is dropped: `{}` has no such parameter", entry.key, variant.name));
            }
            _ => table.set(entry.clone()),
        }
    }
    replacement.settings.iter().for_each(|setting| table.set(setting.clone()));
    Ok(table)
}

pub(crate) fn read_transport(
    table: &Table,
    title: &str,
    context: &Context,
    transports: &mut Transports,
) -> Checked<(usize, Json)> {
    let family = language::transport_family();
    let Chosen { variant, entry, plugin } = choose(&family, table, title, context)?;
    // The name of a module is no key of its own.
    let chosen = &Table {
        entries: table.entries.iter().filter(|own| own.key != plugins::PLUGIN).cloned().collect(),
        at: table.at,
    };
    let unknown = |entry: &Entry| unknown_key(&family, &variant, title, entry);
    let setting = |key: &Key| context.profile.of_transport(entry, key.name);
    let (keys, rate) = ((&*variant.keys, family.selector), Some(transports.surroundings.line_rate));
    let mut read = read_with_profile(chosen, title, keys, context, rate, setting, unknown)?;
    let before = read.values.clone();
    let config = entry.build(&mut read.values, &transports.surroundings).map_err(|problem| place(table, problem))?;
    for key in entry.keys() {
        // A value that follows from others is written as if it had been given.
        if let Some(settled) = read.values.find(key.name).filter(|value| before.find(key.name) != Some(value)) {
            read.written.insert(key.name.into(), values::written(settled));
        }
    }
    // One file is for all transports: keys that only others read are no mistake, and no part of this one.
    let keys = table.entries.iter().map(|own| own.key.as_str());
    let unread: Vec<&str> = keys.filter(|key| !plugins::selects(&family, key) && !entry.reads(key)).collect();
    if !unread.is_empty() {
        let unread = suggest::list(unread).replace(" and ", " or ");
        transports.notes.push(format!("{}: it does not read {unread} of {title}", entry.name));
    }
    read.written.retain(|key, _| entry.reads(key));
    transports.preset.add(title, table, &read.written, |key| context.profile.of_transport(entry, key));
    let transport = Transport { name: entry.name, entry, config };
    let apart = |other: &&Transport| !transport.config.shares_network_with(&other.config);
    if let Some(other) = transports.list.iter().find(apart) {
        let name = entry.name;
        let other = if other.name == name { "another `transport`".into() } else { format!("`{}`", other.name) };
        return Err(Fault::new(
            table.at,
            format!(
                "`{name}` here asks its routers for other parameters than {other} does; a run has one set of routers"
            ),
        ));
    }
    if let Some((other, key)) = transports.at_odds(&transport) {
        let message = format!("`{}` and `{}` need another `{key}` of the network's ports", transport.name, other.name);
        return Err(Fault::new(table.at, message).hint(format!("write `{key}` in [network], which decides")));
    }
    let index = transports.add(transport);
    let mut written = with_selector(&family, &variant, read.written);
    if let Some(path) = plugin {
        written[plugins::PLUGIN] = json!(path);
    }
    Ok((index, written))
}
