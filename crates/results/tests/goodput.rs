//! Goodput in time is part of the goodput, and that is part of what the links carry, under every transport.

use results::Report;
use sim::World;
use sim::outcome::Outcome;

fn run(text: &str) -> Outcome {
    let source = scenario::Source { name: "test", text, folder: None };
    let read = scenario::read(&source, &scenario::Options::default());
    let mut world = World::new(read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario);
    while world.advance(1 << 20) {}
    world.finish()
}

/// Messages between few hosts, some of which begin before the window and some of which end after it.
fn overloaded(transport: &str, seed: u64, connections: &str) -> String {
    let network = [
        "topology = 'star'\nhosts = 6",
        "topology = 'racks'\nracks = 2\nhosts_per_rack = 3\nuplink = '1 Gbps'",
        "topology = 'leaf-spine'\nleaves = 2\nhosts_per_leaf = 3\nspines = 2\nuplink = '1 Gbps'",
    ][seed as usize % 3];
    let window = ["", "warm_up = '3 ms'", "warm_up = '1.7 ms'\ncool_down = '5 ms'"][seed as usize / 3 % 3];
    format!(
        "[run]\nduration = '7.3 ms'\nseed = {seed}\n{window}\n[network]\n{network}\nrate = '1 Gbps'\ndelay = '5 us'\n\
         buffer = '30 packets'\nsharing = 'per-port'\nmark = '9 packets'\n[transport]\nname = '{transport}'\n\
         [defaults.traffic]\nconnections = '{connections}'\n\
         [[traffic]]\nname = 'a'\npattern = 'fan-in'\nleaves = 5\nevery = '2 ms'\nsize = 'uniform(1 B, 60 KB)'\n\
         deadline = {{ base = '2 ms', vary = 'uniform(0, 200%)' }}\n\
         [[traffic]]\nname = 'b'\npattern = 'poisson'\nload = '60%'\nsize = 'pareto(4 KB, 1.2)'\ndeadline = '3 ms'\n"
    )
}

#[test]
fn in_time_is_at_most_goodput_and_that_at_most_what_the_links_carry() {
    let mut in_time_of_all = 0;
    for transport in transport::registry::TRANSPORTS {
        for (seed, connections) in (0..9).zip(["fresh", "persistent"].into_iter().cycle()) {
            let text = overloaded(transport.name, seed, connections);
            let outcome = run(&text);
            let Report { summary, classes, .. } = Report::new(&outcome, 0.0);
            let window = outcome.simulated.saturating_sub(outcome.warm_up).as_secs_f64();
            for part in classes.iter().map(|(_, class)| &class.summary).chain([&summary]) {
                let (goodput, in_time) = (part.goodput_mbps.unwrap(), part.goodput_in_time_mbps.unwrap());
                assert!(in_time <= goodput, "{}: {in_time} of {goodput} Mbps\n{text}", transport.name);
                // Each of six hosts receives 1 Gbps, and a packet that was on the wire already.
                let most = 6.0 * (1000.0 * 1460.0 / 1500.0 + 8e-6 * 1460.0 / window);
                assert!(goodput <= most, "{}: {goodput} of {most} Mbps\n{text}", transport.name);
                in_time_of_all += u32::from(in_time == goodput);
            }
        }
    }
    // They differ where messages are late, and agree where none is.
    let all = 3 * 9 * transport::registry::TRANSPORTS.len() as u32;
    assert!(in_time_of_all > 0 && in_time_of_all < all / 2, "{in_time_of_all} of {all}");
}
