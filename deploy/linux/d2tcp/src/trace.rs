//! `d2tcp trace`: the connections over time, in the columns of the simulator's trace.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags, RingBufferBuilder};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::attach;
use crate::escape::Shown;
use crate::failure::{Context, Failure, Kind, Result};
use crate::kernel::{Event, ONE, Plain, TRACED_UNTIL, UNIT};
use crate::maps;
use crate::place::Pins;
use crate::privileges;

/// The columns of the simulator's table in its order, and the addresses of `src` and `dst`.
const COLUMNS: [&str; 10] =
    ["time_s", "what", "class", "src", "dst", "message", "link", "value", "src_address", "dst_address"];
/// The number of rows that are buffered before they are written.
const BATCH: usize = 1 << 16;
/// The time after which the kernel ignores a tracer that does not renew its request.
const PATIENCE: Duration = Duration::from_secs(3);

/// Runs `d2tcp trace` until a signal or the end of the time.
pub fn run(pins: &Pins, out: Option<&Path>, seconds: Option<f64>) -> Result<()> {
    attach::require(pins)?;
    let words = maps::map(pins, "words")?;
    let events = maps::map(pins, "events")?;
    let begun = attach::clock(libc::CLOCK_MONOTONIC);
    let known = maps::value(&words, TRACED_UNTIL)?;
    if known.try_into().map_or(0, u64::from_ne_bytes) > begun {
        return Err(Failure::new(Kind::Failed, "another d2tcp trace takes the events (one that was killed: 3 s long)"));
    }
    let mut sink = Sink::open(out)?;
    privileges::keep(&[])?;
    let ended = signals()?;
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
        // A signal that interrupts the wait is handled above.
        let _ = ring.poll(Duration::from_millis(if left { 0 } else { 100 }));
        let mut table = cell.borrow_mut();
        if left || table.rows.len() >= BATCH {
            sink.write(&std::mem::take(&mut table.rows))?;
        }
    }
    drop(ring);
    sink.close()?;
    // The rows recorded before the detach are kept.
    gone.map_or(Ok(()), Err)
}

/// Returns a flag that becomes true when the operator ends the tool.
pub fn signals() -> Result<Arc<AtomicBool>> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, ended.clone()).context("wait for signals")?;
    }
    Ok(ended)
}

/// A row of the trace: time, quantity, connection and value.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    time_s: f64,
    what: &'static str,
    class: &'static str,
    from: u32,
    to: u32,
    message: u32,
    value: f64,
    from_address: Arc<str>,
    to_address: Arc<str>,
}

/// Converts events into rows. Endpoints (addresses with their ports) and messages are numbered in the order of their
/// first event. The time per event hardly depends on the number of connections.
#[derive(Default)]
struct Table {
    begun: u64,
    ends: BTreeMap<SocketAddr, (u32, Arc<str>)>,
    messages: u32,
    before: BTreeMap<u64, Before>,
    rows: Vec<Row>,
}

/// The last event of a connection: its time, the bytes acknowledged, and the message.
struct Before {
    time_ns: u64,
    acked: u64,
    messages_done: u64,
    message: u32,
}

impl Table {
    fn add(&mut self, event: &Event) {
        // The ring may still hold events for an earlier tracer: ignore these.
        if event.time_ns < self.begun {
            return;
        }
        let [(from, from_address), (to, to_address)] = event.address.ends().map(|end| {
            let next = self.ends.len() as u32;
            self.ends.entry(end).or_insert_with(|| (next, end.to_string().into())).clone()
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
        let mut row = |what, value| {
            let (from_address, to_address) = (from_address.clone(), to_address.clone());
            self.rows.push(Row { time_s, what, class, from, to, message, value, from_address, to_address });
        };
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

/// The destination of the rows. A file gets its name when it is complete.
enum Sink {
    Csv { to: Box<dyn Write>, file: Option<Place> },
    Parquet { to: Box<SerializedFileWriter<File>>, file: Place },
}

/// A file without a name, and the name that it will get. If the tracer dies, no partial file stays.
struct Place {
    file: File,
    wanted: std::path::PathBuf,
}

impl Place {
    fn create(wanted: &Path) -> Result<(File, Place)> {
        let folder = wanted.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let doing = format!("create {}", wanted.shown());
        let file = std::fs::OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_TMPFILE)
            .mode(0o644)
            .open(folder)
            .context(&doing)?;
        Ok((file.try_clone().context(&doing)?, Place { file, wanted: wanted.to_owned() }))
    }
    fn settle(self) -> Result<()> {
        let doing = format!("write {}", self.wanted.shown());
        // linkat cannot replace an existing name, so the file first gets a temporary name that no other process uses.
        let mut aside = self.wanted.clone().into_os_string();
        aside.push(format!(".{}", std::process::id()));
        let aside = std::path::PathBuf::from(aside);
        let _ = std::fs::remove_file(&aside);
        let from = CString::new(format!("/proc/self/fd/{}", self.file.as_raw_fd())).context(&doing)?;
        let to = CString::new(aside.as_os_str().as_encoded_bytes()).context(&doing)?;
        // SAFETY: both strings end with a zero.
        let failed = unsafe {
            libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW)
        };
        if failed != 0 {
            return Err(std::io::Error::last_os_error()).context(&doing);
        }
        std::fs::rename(&aside, &self.wanted).context(&doing)
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
            _ => Err(Failure::new(Kind::Usage, format!("--out {}: expected FILE.parquet or FILE.csv", path.shown()))),
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
                    let Row { time_s, what, class, from, to: other, message, value, from_address, to_address } = row;
                    writeln!(
                        to,
                        "{time_s},{what},{class},{from},{other},{message},,{value},{from_address},{to_address}"
                    )
                })
                .and_then(|()| to.flush())
                .context("write CSV"),
            Sink::Parquet { to, .. } => group(to, rows).context("write Parquet"),
        }
    }
    fn close(self) -> Result<()> {
        match self {
            Sink::Csv { file, .. } => file.map_or(Ok(()), Place::settle),
            Sink::Parquet { mut to, file } => {
                to.finish().context("write Parquet")?;
                file.settle()
            }
        }
    }
}

fn schema() -> Type {
    let column = |name: &str| {
        let (physical, logical) = match name {
            "time_s" | "value" => (Physical::DOUBLE, None),
            "what" | "class" | "link" | "src_address" | "dst_address" => {
                (Physical::BYTE_ARRAY, Some(LogicalType::String))
            }
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

/// Writes the rows as one row group.
fn group(to: &mut SerializedFileWriter<File>, rows: &[Row]) -> parquet::errors::Result<()> {
    let mut group = to.next_row_group()?;
    for name in COLUMNS {
        let mut column = group.next_column()?.expect("as many as in the schema");
        let text = |of: fn(&Row) -> &str| rows.iter().map(|row| ByteArray::from(of(row))).collect::<Vec<_>>();
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
            "src_address" => {
                column.typed::<ByteArrayType>().write_batch(&text(|row| &row.from_address), None, None)?;
            }
            "dst_address" => {
                column.typed::<ByteArrayType>().write_batch(&text(|row| &row.to_address), None, None)?;
            }
            "link" => {
                column.typed::<ByteArrayType>().write_batch(&[], Some(&vec![0; rows.len()]), None)?;
            }
            "src" => {
                column.typed::<Int32Type>().write_batch(&count(|row| row.from), None, None)?;
            }
            "dst" => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Address;

    fn event(id: u64, port: u16, time_ns: u64) -> Event {
        let (mut local, mut remote) = ([0; 16], [0; 16]);
        local[..4].copy_from_slice(&[10, 0, 0, 1]);
        remote[..4].copy_from_slice(&[10, 0, (id >> 8) as u8, id as u8]);
        let family = libc::AF_INET as u32;
        Event {
            time_ns,
            id,
            address: Address { netns: 1, family, local_port: 80, remote_port: port, local, remote },
            kind: 1,
            flags: 1,
            cwnd: UNIT,
            ssthresh: UNIT,
            alpha: 0,
            d: UNIT as u32,
            p: 0,
            srtt_us: 9,
            bytes_acked: 1000 * time_ns,
            messages_done: 0,
        }
    }

    #[test]
    fn an_event_costs_the_same_among_60_000_peers() {
        let mut table = Table::default();
        let mut round = |first: u64, count: u64| {
            let begun = Instant::now();
            for id in first..first + count {
                table.add(&event(id, 1000 + (id >> 16) as u16, id));
                table.rows.clear();
            }
            begun.elapsed().as_secs_f64() / count as f64
        };
        let few = round(0, 1000).max(1e-7);
        round(1000, 59_000);
        // A linear search would take 100 times as long. Growing memory and a busy machine account for a small factor.
        let many = round(60_000, 1000);
        assert!(many < 20.0 * few, "{many} s an event, {few} s among few");
        assert_eq!(table.ends.len(), 61_001, "one server, and a client for each");
    }

    #[test]
    fn ends_have_addresses_with_their_ports() {
        let mut table = Table::default();
        table.add(&event(7, 4000, 1));
        table.add(&event(7, 4001, 2));
        let rows: Vec<(u32, u32, &str)> = table
            .rows
            .iter()
            .filter(|row| row.what == "cwnd")
            .map(|row| (row.from, row.to, &*row.to_address))
            .collect();
        assert_eq!(rows, [(0, 1, "10.0.0.7:4000"), (0, 2, "10.0.0.7:4001")]);
        assert_eq!(&*table.rows[0].from_address, "10.0.0.1:80");
    }

    #[test]
    fn a_tracer_that_is_killed_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (_written, place) = Place::create(&folder.path().join("t.csv")).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name yet");
        std::fs::write(folder.path().join("t.csv"), "old").unwrap();
        place.settle().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read(folder.path().join("t.csv")).unwrap(), b"");
    }

    #[test]
    fn hostile_paths_in_messages_are_harmless() {
        use crate::escape::{HOSTILE, is_safe};
        use std::os::unix::ffi::OsStrExt;
        let name = Path::new("/nowhere").join(std::ffi::OsStr::from_bytes(HOSTILE));
        let table = [HOSTILE, b".csv"].concat();
        for out in [name, Path::new("/nowhere").join(std::ffi::OsStr::from_bytes(&table))] {
            let failure = Sink::open(Some(&out)).err().unwrap().to_string();
            assert!(is_safe(&failure) && !failure.contains('\n'), "{failure}");
            assert!(failure.contains("/nowhere/a\\x1b[2J\\n\"\\\\\\u{9b}\\u{202e}\\xff"), "{failure}");
        }
    }
}
