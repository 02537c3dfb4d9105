//! Homa's priorities of unscheduled data follow the sizes of the traffic's messages.

use sim::World;

/// Returns the completion time of a message of 5 KB that meets one of 8 KB at a receiver's port, both wholly
/// unscheduled. It shows whether the short one has a higher priority.
fn short_in_us(transport: &str, others: &str) -> f64 {
    let text = format!(
        "profile = 'datacenter'\n[run]\nduration = '5 ms'\n[network]\ntopology = 'star'\nhosts = 4\nrate = '1 Gbps'\n\
         delay = '50 us'\nhost_jitter = '0 s'\n[transport]\nname = 'homa'\nrtt_bytes = '10 KB'\nunscheduled_levels = 4\n{transport}\n\
         [[traffic]]\nname = 'a'\npattern = 'flows'\nflows = [{{ from = 0, to = 3, size = '8 KB' }}, \
         {{ from = 1, to = 3, size = '8 KB' }}, {{ from = 2, to = 3, size = '5 KB' }}{others}]\n"
    );
    let source = scenario::Source { name: "test", text: &text, folder: None };
    let read = scenario::read(&source, &scenario::Options::default());
    let mut world = World::new(read.unwrap_or_else(|error| panic!("{error}\n{text}")).scenario);
    while world.advance(1 << 20) {}
    let outcome = world.finish();
    let short = outcome.messages.iter().find(|message| message.bytes.is_some_and(|bytes| bytes.0 == 5000));
    let short = short.expect("it was sent");
    (short.end.expect("it arrived") - short.start).as_micros_f64()
}

/// With cut-offs at 1, 4 and 16 KB both sizes have the third priority. Of 21 KB, 5 KB have less than a quarter, so that
/// the first priority ends at 8 KB. With 5 KB thrice as often, the first two priorities end at 5 KB.
#[test]
fn cutoffs_follow_the_sizes_of_the_messages() {
    let often =
        ", { from = 0, to = 1, size = '5 KB', start = '1 ms' }, { from = 0, to = 1, size = '5 KB', start = '2 ms' }";
    let even = short_in_us("cutoffs = 'geometric'", often);
    let preferred = short_in_us("", often);
    // The short message alone takes five packets on two links and two propagations.
    let alone = (3.0 * 1500.0 + 660.0) * 0.008 + 12.0 + 100.0;
    assert!(preferred < alone + 13.0, "{preferred} us, {alone} us alone");
    assert!(even > preferred + 40.0, "{even} us beside {preferred} us");
    assert_eq!(short_in_us("", ""), short_in_us("cutoffs = 'geometric'", ""));
    // Written sizes hold.
    assert_eq!(short_in_us("first_cutoff = '1 KB'", often), even);
}
