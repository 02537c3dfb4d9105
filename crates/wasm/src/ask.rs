//! Requests of a page: as in Python's `duetime._core`, and a run in slices.

use std::collections::BTreeMap;
use std::sync::Arc;

use results::{Foresight, Report};
use scenario::{Options, Read, Source};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use sim::{PacketLog, World};
use transport::plugin::Law;
use units::Span;

use crate::columns;

/// One request of the page.
#[derive(Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// The version of duetime.
    Version,
    /// The JSON Schema of the scenario language.
    Schema,
    /// Transports, topologies, patterns and their keys.
    Catalog,
    /// Reads a scenario: `resolved` with every default filled in, and `notes`.
    Check(Asked),
    /// Returns the fewest deadlines that any schedule misses: the output of `duetime bound --json`.
    Bound(Asked),
    /// Begins a run, in place of one that is not over.
    Start {
        /// The scenario to run.
        of: Asked,
        /// The packets to log; none without it.
        log: Option<Log>,
    },
    /// Continues the run by this number of events: returns its progress, and whether there is `more`.
    Advance {
        /// The number of events.
        events: u64,
    },
    /// Returns the result of the finished run: `json` is the output of `duetime run --json`, with 0 for `wall_s`.
    Finish,
}

/// A scenario, with the changes to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    text: String,
    #[serde(default = "unnamed")]
    name: String,
    #[serde(default)]
    set: Vec<String>,
    seed: Option<u64>,
    transport: Option<String>,
    /// Texts of the files that it names.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// The plug-ins that it may name, as bytes.
    #[serde(default)]
    modules: BTreeMap<String, Vec<u8>>,
}

/// The selection of packets to log.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    /// The begin of the logged time.
    #[serde(default)]
    from_us: u64,
    /// The end of the logged time.
    until_us: u64,
    /// The limit of logged rows.
    most: u32,
}

/// Holds the current run.
#[derive(Default)]
pub(crate) struct Desk {
    run: Option<Run>,
}

struct Run {
    world: World,
    /// The plug-ins of the scenario.
    laws: Vec<Arc<dyn Law>>,
    over: bool,
    resolved: Json,
    notes: Vec<String>,
}

/// The reason why there is no answer.
enum Refusal {
    Scenario(scenario::Error),
    /// The page made a request that does not exist: its mistake, not the reader's.
    Request(String),
}

impl Desk {
    /// Answers a request, both JSON.
    pub(crate) fn answer(&mut self, request: &[u8]) -> String {
        let answered = match serde_json::from_slice(request) {
            Ok(request) => self.serve(request),
            Err(error) => Err(Refusal::Request(format!("no such request: {error}"))),
        };
        match answered {
            Ok(done) => json!({ "done": done }),
            Err(Refusal::Scenario(error)) => json!({ "mistake": mistake(&error) }),
            Err(Refusal::Request(why)) => json!({ "refused": why }),
        }
        .to_string()
    }

    fn serve(&mut self, request: Request) -> Result<Json, Refusal> {
        Ok(match request {
            Request::Version => json!(env!("CARGO_PKG_VERSION")),
            Request::Schema => scenario::schema(),
            Request::Catalog => scenario::catalog(),
            Request::Check(asked) => {
                let Read { resolved, notes, .. } = asked.read()?;
                json!({ "resolved": resolved, "notes": notes })
            }
            Request::Bound(asked) => json!(Foresight::of(asked.read()?.scenario).to_json()),
            Request::Start { of, log } => {
                self.run = Some(Run::new(of.read()?, log)?);
                Json::Null
            }
            Request::Advance { events } => {
                let run = self.run.as_mut().ok_or_else(no_run)?;
                run.over = !run.world.advance_logging(events);
                if let Some(failure) = run.laws.iter().find_map(|law| law.failure()) {
                    return Err(Refusal::Request(failure));
                }
                let duration = run.world.duration();
                json!({
                    "more": !run.over,
                    "now_s": run.world.now().since_start().min(duration).as_secs_f64(),
                    "duration_s": duration.as_secs_f64(),
                    "packets_delivered": run.world.packets_delivered(),
                })
            }
            Request::Finish => self.run.take_if(|run| run.over).ok_or_else(no_run)?.finish(),
        })
    }
}

impl Asked {
    fn read(self) -> Result<Read, Refusal> {
        let Asked { text, name, set, seed, transport, files, modules } = self;
        let texts = files.into_iter().map(|(path, text)| (path, text.into_bytes()));
        let files = texts.chain(modules).collect();
        let options = Options { set, seed, transport, files };
        scenario::read(&Source { name: &name, text: &text, folder: None }, &options).map_err(Refusal::Scenario)
    }
}

impl Run {
    fn new(read: Read, log: Option<Log>) -> Result<Run, Refusal> {
        let Read { scenario, resolved, notes, .. } = read;
        if resolved["run"]["engine"] != "packets" {
            return Err(Refusal::Request(
                "run.engine: only `packets` runs here; the fluid model needs the installed duetime".into(),
            ));
        }
        let laws = scenario.transports.iter().filter_map(|own| own.config.loaded().cloned()).collect();
        let mut world = World::new(scenario);
        if let Some(Log { from_us, until_us, most }) = log {
            let [from, until] = [from_us, until_us].map(|micros| Span::from_micros(micros).after_start());
            world.log_packets(PacketLog::new(from, until, most as usize));
        }
        Ok(Run { world, laws, over: false, resolved, notes })
    }

    fn finish(mut self) -> Json {
        let log = self.world.take_packet_log();
        let outcome = self.world.finish();
        let links: Vec<Json> = outcome
            .graph
            .links
            .iter()
            .map(|link| json!({ "rate_bps": link.rate.0, "delay_us": link.delay.as_micros_f64() }))
            .collect();
        json!({
            "json": Report::new(&outcome, 0.0).to_json(),
            "resolved": self.resolved,
            "notes": self.notes,
            "flows": columns::of(results::flows(&outcome)),
            "queries": columns::of(results::queries(&outcome)),
            "requests": columns::of(results::requests(&outcome)),
            "links": columns::of(results::links(&outcome)),
            "wires": links,
            "trace": columns::of(results::trace(&outcome)),
            "packets": log.as_ref().map(columns::of_packets),
        })
    }
}

fn mistake(error: &scenario::Error) -> Json {
    json!({
        "file": error.file(),
        "line": error.line(),
        "column": error.column(),
        "message": error.message(),
        "hint": error.hint(),
        "shown": error.to_string(),
    })
}

fn no_run() -> Refusal {
    Refusal::Request("no run has been started, or it is not over".into())
}

fn unnamed() -> String {
    "scenario.toml".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
run = { duration = "2 ms" }
network = { topology = "star", hosts = 3, rate = "1 Gbps", delay = "1 us" }
transport = { name = "dctcp" }
traffic = [{ name = "answers", pattern = "fan-in", leaves = 2, every = "1 ms", size = "9 KB", deadline = "1 ms" }]
"#;

    fn ask(desk: &mut Desk, request: &Json) -> Json {
        serde_json::from_str(&desk.answer(request.to_string().as_bytes())).unwrap()
    }

    fn run(desk: &mut Desk, of: &Json, log: &Json) -> Json {
        let started = ask(desk, &json!({ "verb": "start", "of": of, "log": log }));
        assert_eq!(started, json!({ "done": null }));
        while ask(desk, &json!({ "verb": "advance", "events": 50 }))["done"]["more"] == true {}
        ask(desk, &json!({ "verb": "finish" }))["done"].take()
    }

    #[test]
    fn a_run_gives_what_the_core_gives() {
        let source = Source { name: "scenario.toml", text: TEXT, folder: None };
        let set = vec!["traffic.answers.size=20 KB".to_owned()];
        let options = Options { set: set.clone(), seed: Some(7), ..Options::default() };
        let mut world = World::new(scenario::read(&source, &options).unwrap().scenario);
        while world.advance(1 << 20) {}
        let expected = Report::new(&world.finish(), 0.0).to_json();
        let asked = json!({ "text": TEXT, "set": set, "seed": 7 });
        for log in [Json::Null, json!({ "until_us": 500, "most": 100 })] {
            let done = run(&mut Desk::default(), &asked, &log);
            assert_eq!(done["json"].as_str(), Some(expected.as_str()));
            assert_eq!(done["packets"].is_null(), log.is_null());
            assert_eq!(done["flows"]["bytes"], json!([20_000, 20_000, 20_000, 20_000]));
            assert_eq!(done["flows"]["class"][0], "answers");
        }
    }

    #[test]
    fn a_run_of_requests_has_their_rows_and_shares() {
        let class = r#"[{ name = "pages", pattern = "stages", every = "300 us", count = 4, deadline = "200 us",
  roles = { front = 0, back = 1 }, stage = [
  { name = "ask", from = "front", to = "back", size = "1 KB" },
  { name = "work", at = "back", time = "100 us" },
] }]"#;
        let text = TEXT.split("[{").next().unwrap().to_owned() + class;
        let done = run(&mut Desk::default(), &json!({ "text": text }), &Json::Null);
        let table = &done["requests"];
        assert_eq!(table["request"], json!([0, 1, 2, 3]));
        assert_eq!(table["goal:deadline"], json!([true, true, true, true]));
        assert_eq!(table["work_us"], json!([100.0, 100.0, 100.0, 100.0]));
        let report: Json = serde_json::from_str(done["json"].as_str().unwrap()).unwrap();
        assert_eq!(report["summary"]["requests"]["all_goals_percent"], 100.0);
        let answer = ask(&mut Desk::default(), &json!({ "verb": "bound", "text": text }));
        let foresight: Json = serde_json::from_str(answer["done"].as_str().unwrap()).unwrap();
        assert_eq!((&foresight["bound"], &foresight["requests"]["missed"]), (&Json::Null, &json!(0)));
    }

    #[test]
    fn a_bad_scenario_has_its_place() {
        let answer = ask(&mut Desk::default(), &json!({ "verb": "check", "text": TEXT.replace("hosts", "host") }));
        let mistake = &answer["mistake"];
        assert_eq!((&mistake["line"], &mistake["column"]), (&json!(3), &json!(32)));
        assert!(mistake["hint"].as_str().unwrap().contains("hosts"), "{mistake}");
        let answer = ask(&mut Desk::default(), &json!({ "verb": "check", "text": TEXT, "set": ["run.seed=x"] }));
        assert_eq!(answer["mistake"]["file"], "--set");
    }

    #[test]
    fn what_is_asked_out_of_turn_is_refused() {
        let mut desk = Desk::default();
        for request in [json!({ "verb": "finish" }), json!({ "verb": "advance", "events": 1 }), json!({ "verb": "no" })]
        {
            assert!(ask(&mut desk, &request)["refused"].is_string(), "{request}");
        }
        ask(&mut desk, &json!({ "verb": "start", "of": { "text": TEXT } }));
        assert!(ask(&mut desk, &json!({ "verb": "finish" }))["refused"].is_string(), "it is not over");
        let fluid = ask(&mut desk, &json!({ "verb": "start", "of": { "text": TEXT, "set": ["run.engine=fluid"] } }));
        assert!(fluid["refused"].is_string() || fluid["mistake"].is_object(), "{fluid}");
    }

    #[test]
    fn a_foresight_needs_no_run() {
        let answer = ask(&mut Desk::default(), &json!({ "verb": "bound", "text": TEXT }));
        let foresight: Json = serde_json::from_str(answer["done"].as_str().unwrap()).unwrap();
        assert_eq!(foresight["bound"]["missed"], 0);
    }
}
