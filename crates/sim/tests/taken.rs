//! Results taken during a run are the same as in the outcome, and few rows remain in memory.

use super::common;

use common::{run, world};
use sim::Outcome;
use sim::outcome::{Message, Sample};

/// Returns a scenario with everything that changes rows late. It has losses, connections that stay open, flows without
/// end, aborted messages, queries of several levels, a warm-up, a cool-down, and samples of all.
fn busy(transport: &str, connections: &str) -> String {
    format!(
        "[run]\nduration = '20 ms'\nwarm_up = '2 ms'\ncool_down = '10 ms'\n\
         trace = {{ every = '130 us', what = ['throughput', 'queue'] }}\n\
         [network]\ntopology = 'star'\nhosts = 8\nrate = '1 Gbps'\ndelay = '5 us'\nbuffer = '20 packets'\n\
         [transport]\nname = '{transport}'\nrto_min = '1 ms'\n\
         [[traffic]]\nname = 'long'\npattern = 'long'\nfrom = '0..2'\nto = 7\n\
         [[traffic]]\nname = 'web'\npattern = 'poisson'\nload = 0.4\nsize = '3 KB'\nconnections = '{connections}'\n\
         deadline = '400 us'\n\
         [[traffic]]\nname = 'asked'\npattern = 'fan-in'\nleaves = 6\nevery = '300 us'\nsize = '5 KB'\n\
         connections = '{connections}'\n"
    )
}

/// Runs the same scenario and takes final results every `events` events, in blocks of `rows` rows. Returns the outcome,
/// and the maximum number of rows in memory.
fn taken(text: &str, events: u64, rows: usize) -> (Outcome, usize) {
    let mut world = world(text);
    world.blocks_of(rows);
    let (mut blocks, mut queries, mut samples, mut most) = (Vec::new(), Vec::new(), Vec::<Sample>::new(), 0);
    loop {
        let more = world.advance(events);
        let taken = world.take();
        assert!(taken.blocks.iter().all(|block| block.messages.len() == rows));
        blocks.extend(taken.blocks);
        queries.extend(taken.queries);
        samples.extend(taken.samples);
        most = most.max(world.rows_held());
        if !more {
            break;
        }
    }
    let (outcome, rest) = world.finish_taken();
    assert!(outcome.messages.is_empty() && outcome.queries.is_empty() && outcome.trace.is_empty());
    for taken in rest {
        blocks.extend(taken.blocks);
        queries.extend(taken.queries);
        samples.extend(taken.samples);
    }
    blocks.sort_by_key(|block| block.first);
    let mut messages: Vec<Message> = Vec::new();
    for block in blocks {
        assert_eq!(block.first.index(), messages.len(), "every row once");
        messages.extend(block.messages);
    }
    (Outcome { messages, queries, trace: samples, ..outcome }, most)
}

#[test]
fn taken_or_not_a_run_is_the_same() {
    for transport in transport::registry::TRANSPORTS {
        for connections in ["fresh", "persistent"] {
            let text = busy(transport.name, connections);
            let mut whole = run(&text);
            // The routes of messages are for computations before a run, and are not among the results taken.
            whole.paths.of_messages.clear();
            assert!(whole.messages.len() > 300 && whole.trace.len() > 300, "{text}");
            for (events, each) in [(61, 1), (1009, 16)] {
                let (mut parts, most) = taken(&text, events, each);
                // Counted by the slice, and not shown in results.
                parts.before_warm_up.events = whole.before_warm_up.events;
                assert!(parts == whole, "{events} events, blocks of {each}:\n{text}");
                assert!(each > 1 || most < whole.messages.len(), "nothing was taken:\n{text}");
            }
        }
    }
}

/// 8 hosts at load 0.3 never have 200 messages of 1 KB in flight, and slices of 1000 events start fewer than 200.
#[test]
fn what_is_held_does_not_grow_with_the_length_of_a_run() {
    let text = |messages: u32, connections: &str| {
        format!(
            "[run]\nduration = '100 s'\n[network]\ntopology = 'star'\nhosts = 8\nrate = '1 Gbps'\ndelay = '5 us'\n\
             [transport]\nname = 'dctcp'\n[[traffic]]\nname = 'long'\npattern = 'flows'\n\
             flows = [ {{ from = 0, to = 1, size = '300 KB' }} ]\n\
             [[traffic]]\nname = 'a'\npattern = 'poisson'\nload = 0.3\nsize = '1 KB'\ncount = {messages}\n\
             connections = '{connections}'\n"
        )
    };
    for connections in ["fresh", "persistent"] {
        let held = [2_000, 20_000].map(|messages| {
            let (outcome, most) = taken(&text(messages, connections), 1000, 64);
            assert_eq!(outcome.messages.len(), messages as usize + 1);
            most
        });
        assert!(held[1] < 1_500 && held[1] < held[0] * 2, "{connections}: {held:?}");
    }
}
