use std::path::Path;
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let source = scenario::Source { name: &path, text: &text, folder: Path::new(&path).parent() };
        let read = match scenario::read(&source, &Default::default()) {
            Ok(read) => read,
            Err(e) => {
                println!("{e}");
                continue;
            }
        };
        for n in &read.notes {
            println!("  note: {n}");
        }
        let clock = std::time::Instant::now();
        let mut world = sim::World::new(read.scenario);
        while world.advance(1 << 20) {}
        let o = world.finish();
        let rows: Vec<_> = o.stage_requests.iter().filter(|r| o.counts(r.arrival)).collect();
        println!(
            "{path}: {:.2}s wall, {} requests, {} messages, {} hops, ended {}",
            clock.elapsed().as_secs_f64(),
            rows.len(),
            o.messages.len(),
            o.counters.packet_hops,
            o.ended
        );
        for (g, goal) in o.plans[0].iter().flat_map(|p| p.goals.iter()).enumerate() {
            let met = rows
                .iter()
                .filter(|r| r.goals[g].reached.is_some_and(|at| at - r.arrival <= r.goals[g].within))
                .count();
            println!("  goal {}: {met} of {} met", goal.name, rows.len());
        }
        let mut t: Vec<f64> = rows.iter().filter_map(|r| Some((r.end? - r.arrival).as_micros_f64())).collect();
        t.sort_by(f64::total_cmp);
        if !t.is_empty() {
            println!(
                "  ended {} time us p50 {:.1} p99 {:.1}; alone mean {:.1}",
                t.len(),
                t[t.len() / 2],
                t[t.len() * 99 / 100],
                rows.iter().map(|r| r.alone.as_micros_f64()).sum::<f64>() / rows.len() as f64
            );
        }
    }
}
