//! Flows on links of equal rate fall into lock-step; a host's jitter breaks it.

use sim::World;

/// Mbit/s of two endless TCP flows, the second 200 ms later, into one port of their own rate.
fn goodputs(jitter: &str) -> [f64; 2] {
    let text = format!(
        "[run]\nduration = '2 s'\n[network]\ntopology = 'star'\nhosts = 3\nrate = '1 Gbps'\ndelay = '50 us'\n\
         buffer = '100 packets'\nsharing = 'per-port'\nhost_jitter = '{jitter}'\n\
         [transport]\nname = 'tcp'\nwindow_limit = '200 packets'\n\
         [[traffic]]\nname = 'first'\npattern = 'long'\nfrom = 0\nto = 2\n\
         [[traffic]]\nname = 'second'\npattern = 'long'\nfrom = 1\nto = 2\nstart = '200 ms'\n"
    );
    let source = scenario::Source { name: "test", text: &text, folder: None };
    let read = scenario::read(&source, &scenario::Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(read.scenario);
    while world.advance(1 << 20) {}
    let outcome = world.finish();
    [0, 1].map(|class| outcome.classes[class].delivered_bytes as f64 * 8e-6 / outcome.simulated.as_secs_f64())
}

#[test]
fn the_second_of_two_flows_gets_its_share_only_with_jitter() {
    // Every slot that becomes free at the full port is taken at that instant by the first flow.
    let [first, second] = goodputs("0 s");
    assert!(first > 900.0 && second < 50.0, "{first} and {second}");
    let [first, second] = goodputs("1 us");
    assert!(first < 700.0 && second > 250.0, "{first} and {second}");
}
