//! What connections do over time, in the columns of the simulator's trace.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags, RingBufferBuilder};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::attach;
use crate::failure::{Context, Failure, Kind, Result};
use crate::kernel::{Event, ONE, Plain, TRACED_UNTIL, UNIT};
use crate::place::Pins;
use crate::privileges;

/// Of the simulator's table, in its order.
const COLUMNS: [&str; 8] = ["time_s", "what", "class", "from", "to", "message", "link", "value"];
/// Rows that are kept before they are written.
const BATCH: usize = 1 << 16;
/// Without news from a tracer for so long, the kernel forgets it.
const PATIENCE: Duration = Duration::from_secs(3);

/// `d2tcp trace`.
pub fn run(pins: &Pins, out: Option<&Path>, seconds: Option<f64>) -> Result<()> {
    attach::require(pins)?;
    let words = attach::map(pins, "words")?;
    let events = attach::map(pins, "events")?;
    let begun = attach::clock(libc::CLOCK_MONOTONIC);
    let known = attach::value(&words, TRACED_UNTIL)?;
    if known.try_into().map_or(0, u64::from_ne_bytes) > begun {
        return Err(Failure::new(Kind::Failed, "another d2tcp trace takes the events (one that was killed: 3 s long)"));
    }
    let mut sink = Sink::open(out)?;
    privileges::keep(&[])?;
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, ended.clone()).context("wait for signals")?;
    }
    let until = |time: u64| -> Result<()> {
        words.update(&TRACED_UNTIL.to_ne_bytes(), &time.to_ne_bytes(), MapFlags::ANY).context("ask for events")
    };
    let mut table = Table { begun, ..Table::default() };
    let cell = std::cell::RefCell::new(&mut table);
    let mut builder = RingBufferBuilder::new();
    let take = |bytes: &[u8]| {
        if let Some(event) = Event::read(bytes) {
            cell.borrow_mut().add(&event);
        }
        0
    };
    builder.add(&events, take).context("read events")?;
    let ring = builder.build().context("read events")?;
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let mut renewed = Instant::now() - PATIENCE;
    let (mut left, mut gone) = (false, None);
    while !left {
        left = ended.load(Ordering::Relaxed) || end.is_some_and(|end| Instant::now() >= end);
        if left {
            until(0)?;
        } else if renewed.elapsed() > PATIENCE / 3 {
            gone = attach::require(pins).err();
            left = gone.is_some();
            until(attach::clock(libc::CLOCK_MONOTONIC) + PATIENCE.as_nanos() as u64)?;
            renewed = Instant::now();
        }
        // A signal that interrupts the wait is seen above.
        let _ = ring.poll(Duration::from_millis(if left { 0 } else { 100 }));
        let mut table = cell.borrow_mut();
        if left || table.rows.len() >= BATCH {
            sink.write(&std::mem::take(&mut table.rows))?;
        }
    }
    drop(ring);
    let hosts = table.hosts;
    sink.close(&hosts)?;
    // What was recorded until then is kept.
    gone.map_or(Ok(()), Err)
}

/// One row: when, what, whose, and its value.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    time_s: f64,
    what: &'static str,
    class: &'static str,
    from: u32,
    to: u32,
    message: u32,
    value: f64,
}

/// Turns events into rows; hosts and messages are numbered in the order in which they appear.
#[derive(Default)]
struct Table {
    begun: u64,
    hosts: Vec<String>,
    messages: u32,
    before: BTreeMap<u64, Before>,
    rows: Vec<Row>,
}

/// Of a connection: when its last event was, how far it had come, and with which message.
struct Before {
    time_ns: u64,
    acked: u64,
    messages_done: u64,
    message: u32,
}

impl Table {
    fn add(&mut self, event: &Event) {
        // What waited in the ring from an earlier tracer is not ours.
        if event.time_ns < self.begun {
            return;
        }
        let [from, to] = event.address.ends().map(|end| {
            let host = end.ip().to_string();
            let known = self.hosts.iter().position(|known| *known == host);
            known.unwrap_or_else(|| {
                self.hosts.push(host);
                self.hosts.len() - 1
            }) as u32
        });
        let before = self.before.get(&event.id);
        let message = match before {
            Some(before) if before.messages_done == event.messages_done => before.message,
            _ => {
                self.messages += 1;
                self.messages - 1
            }
        };
        let class = if event.flags & crate::kernel::FLAG_ECN != 0 { "d2tcp" } else { "d2tcp_reno" };
        let time_s = (event.time_ns - self.begun) as f64 / 1e9;
        let mut row = |what, value| self.rows.push(Row { time_s, what, class, from, to, message, value });
        if let Some(before) = before {
            let us = event.time_ns.saturating_sub(before.time_ns) as f64 / 1000.0;
            if us > 0.0 {
                row("throughput", event.bytes_acked.saturating_sub(before.acked) as f64 * 8.0 / us);
            }
        }
        let Event { id, time_ns, bytes_acked: acked, messages_done, .. } = *event;
        self.before.insert(id, Before { time_ns, acked, messages_done, message });
        row("cwnd", event.cwnd as f64 / UNIT as f64);
        row("alpha", f64::from(event.alpha) / f64::from(ONE));
        row("d", f64::from(event.d) / UNIT as f64);
        row("p", f64::from(event.p) / f64::from(ONE));
        row("srtt", f64::from(event.srtt_us));
    }
}

/// Where rows go. A file is written beside its place and put there when it is complete.
enum Sink {
    Csv { to: Box<dyn Write>, file: Option<Place> },
    Parquet { to: Box<SerializedFileWriter<File>>, file: Place },
}

/// Where a file is written, and where it goes; what is not settled is removed.
struct Place {
    written: std::path::PathBuf,
    wanted: std::path::PathBuf,
}

impl Place {
    fn create(wanted: &Path) -> Result<(File, Place)> {
        let mut name = wanted.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let written = wanted.with_file_name(name);
        // What a killed tracer left goes; what somebody else put there, a link say, is not followed.
        let _ = std::fs::remove_file(&written);
        let file = File::create_new(&written).context(format!("create {}", written.display()))?;
        Ok((file, Place { written, wanted: wanted.to_owned() }))
    }
    fn settle(self) -> Result<()> {
        std::fs::rename(&self.written, &self.wanted).context(format!("write {}", self.wanted.display()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Gone already if it has been settled.
        let _ = std::fs::remove_file(&self.written);
    }
}

impl Sink {
    fn open(out: Option<&Path>) -> Result<Sink> {
        let Some(path) = out else { return Sink::csv(Box::new(std::io::stdout()), None) };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => {
                let (file, place) = Place::create(path)?;
                Sink::csv(Box::new(BufWriter::new(file)), Some(place))
            }
            Some("parquet") => {
                let (file, place) = Place::create(path)?;
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                let writer = SerializedFileWriter::new(file, Arc::new(schema()), Arc::new(properties));
                Ok(Sink::Parquet { to: Box::new(writer.context("write Parquet")?), file: place })
            }
            _ => Err(Failure::new(Kind::Usage, format!("--out {}: expected FILE.parquet or FILE.csv", path.display()))),
        }
    }
    fn csv(mut to: Box<dyn Write>, file: Option<Place>) -> Result<Sink> {
        writeln!(to, "{}", COLUMNS.join(",")).context("write CSV")?;
        Ok(Sink::Csv { to, file })
    }
    fn write(&mut self, rows: &[Row]) -> Result<()> {
        match self {
            Sink::Csv { to, .. } => rows
                .iter()
                .try_for_each(|row| {
                    let Row { time_s, what, class, from, to: other, message, value } = row;
                    writeln!(to, "{time_s},{what},{class},{from},{other},{message},,{value}")
                })
                .and_then(|()| to.flush())
                .context("write CSV"),
            Sink::Parquet { to, .. } => group(to, rows).context("write Parquet"),
        }
    }
    fn close(self, hosts: &[String]) -> Result<()> {
        match self {
            Sink::Csv { file, .. } => {
                if let Some(place) = file {
                    for (number, host) in hosts.iter().enumerate() {
                        eprintln!("host {number}: {host}");
                    }
                    place.settle()?;
                }
                Ok(())
            }
            Sink::Parquet { mut to, file } => {
                to.append_key_value_metadata(KeyValue::new("hosts".to_owned(), hosts.join(" ")));
                to.close().context("write Parquet")?;
                file.settle()
            }
        }
    }
}

fn schema() -> Type {
    let column = |name: &str| {
        let (physical, logical) = match name {
            "time_s" | "value" => (Physical::DOUBLE, None),
            "what" | "class" | "link" => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            _ => (Physical::INT32, Some(LogicalType::integer(32, false))),
        };
        let type_ = Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(if name == "link" { Repetition::OPTIONAL } else { Repetition::REQUIRED })
            .build();
        Arc::new(type_.expect("a valid column"))
    };
    let fields = COLUMNS.iter().map(|name| column(name)).collect();
    Type::group_type_builder("trace").with_fields(fields).build().expect("a valid schema")
}

/// Writes rows as one row group.
fn group(to: &mut SerializedFileWriter<File>, rows: &[Row]) -> parquet::errors::Result<()> {
    let mut group = to.next_row_group()?;
    for name in COLUMNS {
        let mut column = group.next_column()?.expect("as many as in the schema");
        let text = |of: fn(&Row) -> &'static str| rows.iter().map(|row| ByteArray::from(of(row))).collect::<Vec<_>>();
        let count = |of: fn(&Row) -> u32| rows.iter().map(|row| of(row) as i32).collect::<Vec<_>>();
        match name {
            "time_s" => {
                let times: Vec<f64> = rows.iter().map(|row| row.time_s).collect();
                column.typed::<DoubleType>().write_batch(&times, None, None)?;
            }
            "value" => {
                let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
                column.typed::<DoubleType>().write_batch(&values, None, None)?;
            }
            "what" => {
                column.typed::<ByteArrayType>().write_batch(&text(|row| row.what), None, None)?;
            }
            "class" => {
                column.typed::<ByteArrayType>().write_batch(&text(|row| row.class), None, None)?;
            }
            "link" => {
                column.typed::<ByteArrayType>().write_batch(&[], Some(&vec![0; rows.len()]), None)?;
            }
            "from" => {
                column.typed::<Int32Type>().write_batch(&count(|row| row.from), None, None)?;
            }
            "to" => {
                column.typed::<Int32Type>().write_batch(&count(|row| row.to), None, None)?;
            }
            _ => {
                column.typed::<Int32Type>().write_batch(&count(|row| row.message), None, None)?;
            }
        }
        column.close()?;
    }
    group.close()?;
    Ok(())
}
