//! Requests of stages: their values as read, and files of requests.

use super::common;

use std::collections::BTreeMap;

use scenario::{Error, Options, Read, Source};
use serde_json::json;
use units::{Allowed, Distribution, Instant, OfRequest, RequestTrace};

const BASE: &str = include_str!("bad/stages.toml");
const ROWS: &str = "time,tokens\n0,100\n0.5,200\n";

fn options(set: &[&str], file: &str) -> Options {
    Options {
        set: set.iter().map(|option| (*option).to_owned()).collect(),
        files: BTreeMap::from([("requests.csv".to_owned(), file.as_bytes().to_vec())]),
        ..Options::default()
    }
}

fn changed(set: &[&str]) -> Result<Read, Error> {
    common::attempt(BASE, &options(set, ROWS))
}

/// Returns the requests that a class has from a file, or the message with its place.
fn requests(written: &str, file: &str) -> Result<RequestTrace, String> {
    let text = BASE.replacen("columns = { arrival = \"time\", input = \"tokens\" }, speed = 2", written, 1);
    assert_ne!(text, BASE);
    let text = text.replace("$input", "1").replace("fan_out = 3", "fan_out = 3\nspeed_up = 4");
    let text = text.replace("count = \"$fan_out\"", "count = 2");
    let read = common::attempt(&text, &options(&[], file)).map_err(|error| {
        format!("{}:{}:{} {}", error.file(), error.line(), error.column(), error.message())
            + &error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default()
    })?;
    assert_eq!(read.files, ["requests.csv"]);
    let planned = read.scenario.classes[0].generator.plan().expect("a class of stages");
    Ok(planned.trace.as_deref().cloned().expect("requests of a file"))
}

#[test]
fn stages_roles_and_amounts_are_written_in_full() {
    let class = &changed(&[]).unwrap().resolved["traffic"][0];
    assert_eq!(class["roles"]["front"], json!({ "hosts": "0..2", "pick": "random" }));
    assert_eq!(class["roles"]["shard"]["count"], 3);
    let stage = |index: usize, key: &str| class["stage"][index][key].clone();
    assert_eq!(stage(0, "size"), "1 KB");
    assert_eq!(stage(1, "time"), "1 ms + 35 us * $input");
    assert_eq!(stage(2, "size"), "1 KB * $input");
    assert_eq!(stage(2, "after"), json!(["work"]));
    assert_eq!(class["deadline"], "2 * alone");
    assert_eq!(class["goal"], json!([{ "name": "first", "stage": "work", "within": "20 ms" }]));
    let file = json!({
        "file": "requests.csv", "columns": { "arrival": "time", "input": "tokens" }, "speed": 2.0, "prefix": false,
    });
    assert_eq!(class["requests"], file);
}

#[test]
fn a_resolved_scenario_reads_back_as_itself() {
    let read = changed(&[]).unwrap();
    let text = scenario::to_toml(read.resolved.as_object().unwrap());
    let again = common::attempt(&text, &options(&[], ROWS)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.resolved, read.resolved);
}

#[test]
fn keys_of_stages_and_roles_are_set_by_name() {
    let set = [
        "traffic.chat.roles.shard.count=2",
        "traffic.chat.roles.front.pick=all",
        "traffic.chat.stage.answer.size=30 KB",
        "traffic.chat.goal.first.within=1.5 * alone",
        "traffic.chat.requests.speed=4",
        "traffic.chat.requests.limit=1",
    ];
    let class = &changed(&set).unwrap().resolved["traffic"][0];
    assert_eq!((&class["roles"]["shard"]["count"], &class["roles"]["front"]["pick"]), (&json!(2), &json!("all")));
    assert_eq!(class["roles"]["front"]["hosts"], "0..2");
    assert_eq!(class["stage"][2]["size"], "30 KB");
    assert_eq!(class["goal"][0]["within"], "1.5 * alone");
    assert_eq!((&class["requests"]["speed"], &class["requests"]["limit"]), (&json!(4.0), &json!(1)));
    let dotted = BASE.replace("\"answer\"", "\"an.swer\"");
    let class = common::attempt(&dotted, &options(&["traffic.chat.stage.an.swer.size=30 KB"], ROWS)).unwrap();
    assert_eq!(class.resolved["traffic"][0]["stage"][2]["size"], "30 KB");
}

#[test]
fn unknown_names_in_paths_are_errors() {
    let wrong = |set: &str| {
        let error = changed(&[set]).err().unwrap_or_else(|| panic!("{set} is possible"));
        assert_eq!(error.file(), "--set");
        format!("{}: {} ({})", error.column(), error.message(), error.hint().unwrap_or_default())
    };
    assert_eq!(wrong("traffic.chat.stage.answr.size=1 B"), "20: there is no stage `answr` (did you mean `answer`?)");
    assert_eq!(wrong("traffic.chat.roles.shrad.count=1"), "20: there is no role `shrad` (did you mean `shard`?)");
    assert_eq!(wrong("traffic.chat.roles.other=1"), "20: there is no role `other` (the roles are `front` and `shard`)");
    assert_eq!(
        wrong("traffic.chat.stage.work=1 ms"),
        "20: a key of stage `work` is missing behind it (for example stage.work.KEY=value)"
    );
    assert_eq!(
        wrong("traffic.chat.stage.work.tme=1 ms"),
        "25: unknown key `tme` in stage `work` (did you mean `time`?)"
    );
}

#[test]
fn a_sweep_changes_stages_by_their_name() {
    let folder = std::env::temp_dir().join(format!("duetime-stages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("stages.toml"), BASE).unwrap();
    std::fs::write(folder.join("requests.csv"), ROWS).unwrap();
    let read = |axis: &str| {
        let text = format!("scenario = \"stages.toml\"\n[grid]\n{axis} = [\"10 KB\", \"20 KB\"]\n");
        scenario::read_sweep(&Source { name: "s.toml", text: &text, folder: Some(&folder) })
    };
    let sweep = read("traffic.chat.stage.answer.size").unwrap();
    assert_eq!(sweep.to_json()["changes"][1], json!(["traffic.chat.stage.answer.size=\"20 KB\""]));
    let error = read("traffic.chat.stage.anwser.size").unwrap_err();
    assert_eq!((error.line(), error.message()), (3, "there is no stage `anwser`"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn defaults_of_classes_may_have_stages() {
    let (head, class) = BASE.split_once("[[traffic]]\nname = \"chat\"\n").unwrap();
    let class = class.replace("[traffic.", "[defaults.traffic.").replace("[[traffic.", "[[defaults.traffic.");
    let text = format!(
        "{head}[defaults.traffic]\n{class}\n[[traffic]]\nname = \"one\"\n[[traffic]]\nname = \"two\"\nroles.front = 8\nroles.shard = 7\n"
    );
    let classes =
        &common::attempt(&text, &options(&[], ROWS)).unwrap_or_else(|error| panic!("{error}")).resolved["traffic"];
    assert_eq!(classes[0]["roles"]["shard"]["count"], 3);
    assert_eq!((&classes[1]["roles"]["front"]["hosts"], &classes[1]["stage"][1]["name"]), (&json!(8), &json!("work")));
}

#[test]
fn a_formula_knows_parameters_and_columns() {
    let read = changed(&["per_token=1 ms", "traffic.chat.stage.work.time=($per_token - 10 us) * $input / 2"]).unwrap();
    assert_eq!(read.resolved["traffic"][0]["stage"][1]["time"], "(1 ms - 10 us) * $input / 2");
    // A parameter may be a whole formula.
    let read = changed(&["per_token=1 ms * $input", "traffic.chat.stage.work.time=$per_token"]).unwrap();
    assert_eq!(read.resolved["traffic"][0]["stage"][1]["time"], "1 ms * $input");
}

#[test]
fn multiples_of_alone_are_calculated() {
    for (written, read) in [
        ("alone", "1 * alone"),
        ("1.6 * alone", "1.6 * alone"),
        ("$fan_out * alone / 2", "1.5 * alone"),
        ("160% * alone", "1.6 * alone"),
        ("$fan_out * 2 * alone", "6 * alone"),
    ] {
        let found = changed(&[&format!("traffic.chat.deadline={written}")]).unwrap();
        assert_eq!(found.resolved["traffic"][0]["deadline"], read, "{written}");
    }
}

#[test]
fn requests_keep_their_order_and_every_digit() {
    let file = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
                2023-11-16 18:15:00.0559021,285,25\n2023-11-16 18:15:00.1209329,335,29\n";
    let found = requests("format = \"azure-llm\"", file).unwrap();
    assert_eq!(found.columns, ["input", "output"]);
    assert_eq!(found.arrivals, [Instant(0), Instant(65_030_800_000)]);
    assert_eq!((found.row(0), found.row(1)), (&[285.0, 25.0][..], &[335.0, 29.0][..]));
    let fast = requests("format = \"azure-llm\", speed = \"$speed_up\", limit = 2", file).unwrap();
    assert_eq!(fast.arrivals[1], Instant(65_030_800_000 / 4));
    let one = requests("format = \"azure-llm\", limit = 1", file).unwrap();
    assert_eq!((one.arrivals.len(), one.values.len()), (1, 2));
}

#[test]
fn columns_are_taken_by_their_name() {
    let file = "# made by hand\nkind;when;\"size, in B\"\n\nchat;1.25;10\n\"a;b\";1.5;20\n";
    let found = requests("columns = { bytes = \"size, in B\", arrival = \"when\" }", file).unwrap();
    assert_eq!((found.columns[0].as_str(), &found.values), ("bytes", &vec![10.0, 20.0]));
    assert_eq!(found.arrivals[1], Instant::from_millis(250));
    // The columns of a format can be renamed and added to.
    let file = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,1087,230,1317,API log\n";
    let found = requests("format = \"burstgpt\", columns = { all = \"Total tokens\" }", file).unwrap();
    assert_eq!((found.columns.join(" "), found.row(1)), ("input output all".into(), &[1087.0, 230.0, 1317.0][..]));
    assert_eq!(found.arrivals[1], Instant::from_millis(40_500));
}

#[test]
fn json_lines_know_the_tokens_of_known_prefixes() {
    let file = "{\"timestamp\": 27, \"input_length\": 1100, \"output_length\": 52, \"hash_ids\": [1, 2, 3]}\n\
                {\"timestamp\": 30, \"input_length\": 1400, \"output_length\": 5, \"hash_ids\": [1, 2, 7]}\n\
                {\"timestamp\": 30, \"input_length\": 700, \"output_length\": 5, \"hash_ids\": [9, 2]}\n\
                {\"timestamp\": 31, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [1, 2, 3]}\n";
    let found = requests("format = \"mooncake\", prefix = true", file).unwrap();
    assert_eq!(found.columns, ["input", "output", "cached"]);
    assert_eq!(found.arrivals[1], Instant::from_millis(3));
    // The last block is not full: no more can be cached than the input has.
    let cached: Vec<f64> = (0..4).map(|request| found.row(request)[2]).collect();
    assert_eq!(cached, [0.0, 1024.0, 0.0, 1100.0]);
    assert_eq!(requests("format = \"mooncake\"", file).unwrap().columns, ["input", "output"]);
    let precise = "{\"t\":1700000000.000000000001}\n{\"t\":\"1700000000.000000000003\"}\n";
    let found = requests("columns = { arrival = \"t\" }", precise).unwrap();
    assert_eq!(found.arrivals, [Instant(0), Instant(2)]);
}

#[test]
fn coflows_have_their_mappers_reducers_and_bytes() {
    let file = "150 2\n1 0 1 32 2 89:4.0 5:0.5\n2 1036 2 11 7 1 43:1.0\n";
    let found = requests("format = \"coflow\"", file).unwrap();
    assert_eq!(found.columns, ["mappers", "reducers", "bytes"]);
    assert_eq!(found.row(0), [1.0, 2.0, 4.5 * 1048576.0]);
    assert_eq!((found.row(1)[0], found.arrivals[1]), (2.0, Instant::from_millis(1036)));
    let wrong = |file: &str| requests("format = \"coflow\"", file).unwrap_err();
    assert_eq!(
        wrong("150 526\n1 0 1 32 1 89:4.0\n"),
        "requests.csv:1:1 the first line announces 526 coflows, the file has 1"
    );
    assert_eq!(
        wrong("150 1\n1 0 x 32 1 89:4.0\n"),
        "requests.csv:2:5 the number of mappers must be a whole number, not `x`"
    );
    assert_eq!(
        wrong("150 1\n1 0 1 32 1 89\n"),
        "requests.csv:2:12 a reducer is its rack and its megabytes, like 7:12, not `89`"
    );
    assert_eq!(wrong("150 1\n1 0 1 32 2 8:1\n"), "requests.csv:2:1 a reducer is missing in this line");
    assert_eq!(wrong("150 1\n1 0 1 32 1 8:1 9:1\n"), "requests.csv:2:16 `9:1` is more than the reducers of this line");
    assert!(wrong("root:x:0\n").starts_with("requests.csv:1:1 the file does not begin with the numbers"));
}

#[test]
fn bad_lines_of_requests_are_named() {
    let wrong = |file: &str| requests("columns = { arrival = \"time\", input = \"tokens\" }", file).unwrap_err();
    assert_eq!(wrong("time,tokens\n0,5\n1,many\n"), "requests.csv:3:3 `tokens` must be a number, not `many`");
    assert_eq!(wrong("time,tokens\n0,5\n1,\n"), "requests.csv:3:1 `tokens` is empty");
    assert_eq!(wrong("time,tokens\n0,inf\n"), "requests.csv:2:3 `tokens` must be a number, not `inf`");
    assert_eq!(wrong("time,tokens\n0,5,7\n"), "requests.csv:2:1 the header has 2 columns, this line has 3");
    assert_eq!(
        wrong("time,tokens\nnoon,5\n"),
        "requests.csv:2:1 `noon` is no time (a plain number, or a date like 2023-11-16 18:15:00.0559021)"
    );
    assert_eq!(
        wrong("time,tokens\n5,5\n4,5\n"),
        "requests.csv:3:1 this request arrives before the one above it (sort the file by the times of arrival)"
    );
    assert_eq!(wrong("time,token\n0,5\n"), "requests.csv:1:1 the column `tokens` is missing (did you mean `token`?)");
    assert_eq!(
        wrong("time,size\n0,5\n"),
        "requests.csv:1:1 the column `tokens` is missing (the columns are `time` and `size`)"
    );
    assert_eq!(wrong("time,tokens,time\n0,5,1\n"), "requests.csv:1:13 the column `time` appears twice");
    assert_eq!(wrong("time,tokens\n"), "requests.csv:1:1 the file holds no requests");
    assert_eq!(wrong(""), "requests.csv:1:1 the file holds no requests");
    assert!(wrong("time,tokens\n0,5\n99999999,5\n").contains("3:1 this request arrives more than 200 days"));
    let json = "{\"time\": 0, \"tokens\": 5}\n";
    assert_eq!(
        wrong(&format!("{json}{{\"time\": 1, \"tokens\": \"many\"}}\n")),
        "requests.csv:2:24 `tokens` must be a number, not `many`"
    );
    assert_eq!(
        wrong(&format!("{json}{{\"time\": 1}}\n")),
        "requests.csv:2:1 the column `tokens` is missing (the columns are `time`)"
    );
    assert_eq!(wrong(&format!("{json}{{\"time\": 1,\n")), "requests.csv:2:1 this line is no JSON object");
    assert_eq!(
        requests("format = \"mooncake\", prefix = true", "{\"timestamp\":0,\"input_length\":5,\"output_length\":5}")
            .unwrap_err(),
        "requests.csv:1:1 `hash_ids` must be a list of whole numbers"
    );
}

#[test]
fn a_file_without_the_wanted_columns_is_not_shown() {
    for secret in ["root:x:0:0:secret,1,2\n0,1,2\n", "{\"key\": \"secret\"}\n", "{secret\n"] {
        let text = BASE.replace("$input", "1");
        let error = common::attempt(&text, &options(&[], secret)).err().expect("an error");
        assert_eq!((error.file(), error.line()), ("requests.csv", 1));
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn a_million_requests_are_read_in_seconds() {
    let mut file = String::from("TIMESTAMP,ContextTokens,GeneratedTokens\n");
    for row in 0..1_000_000 {
        let (minute, second) = (row / 60_000, row / 1000 % 60);
        file += &format!("2023-11-16 18:{minute:02}:{second:02}.{:03}0000,{},{}\n", row % 1000, row % 4000, row % 300);
    }
    let started = std::time::Instant::now();
    let found = requests("format = \"azure-llm\"", &file).unwrap();
    assert_eq!((found.arrivals.len(), found.arrivals[999_999]), (1_000_000, Instant::from_millis(999_999)));
    assert_eq!(found.row(4001)[0], 1.0);
    println!("{:?}", started.elapsed());
    assert!(started.elapsed().as_secs() < 60);
}

#[test]
fn every_allowed_time_is_multiplied_by_the_run_s_factor() {
    let set = [
        "run.deadline_factor=2",
        "traffic.chat.deadline=3 * alone",
        "traffic.chat.goal.first.within=1 ms * $input",
        "traffic.chat.goal.first.stage=answer",
    ];
    let read = changed(&set).unwrap();
    let goals = &read.scenario.classes[0].generator.plan().unwrap().plan.goals;
    assert_eq!(goals[0].within, Allowed::TimesAlone(Distribution::Constant(6.0)));
    let Allowed::Time(OfRequest::Formula(formula)) = &goals[1].within else { panic!("{:?}", goals[1].within) };
    assert_eq!(formula.of_row(&[7.0]), 14e9);
    assert_eq!(read.resolved["traffic"][0]["goal"][0]["within"], "1 ms * $input");
    let drawn = changed(&["run.deadline_factor=2", "traffic.chat.deadline=alone * uniform(2, 3)"]).unwrap();
    let goals = &drawn.scenario.classes[0].generator.plan().unwrap().plan.goals;
    assert_eq!(goals[0].within, Allowed::TimesAlone(Distribution::Uniform(4.0, 6.0)));
    assert_eq!(drawn.resolved["traffic"][0]["deadline"], "uniform(2, 3) * alone");
    let plain = changed(&["run.deadline_factor=2", "traffic.chat.goal.first.within=exponential(4 ms)"]).unwrap();
    let goals = &plain.scenario.classes[0].generator.plan().unwrap().plan.goals;
    assert_eq!(goals[1].within, Allowed::Time(OfRequest::Drawn(Distribution::Exponential(8e9))));
}
