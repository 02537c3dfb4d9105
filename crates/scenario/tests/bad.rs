//! Every kind of mistake: one change to a good scenario, and the message it gives.
//!
//! `bad/messages.txt` holds all messages for people to review. `BLESS=1 cargo test` writes it anew. It has
//! `{transports}` in place of the list of their names, and `{transports with g}` in place of the names of those with a
//! key. Keys of every network, and words of one, are replaced too: one more transport or marker changes nothing.

mod stages;

use super::common;

use std::collections::BTreeMap;
use std::fmt::Write;

use scenario::Options;

const BASE: &str = include_str!("bad/base.toml");
const MESSAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bad/messages.txt");

/// The part that a network of its own replaces, and such a network from its switches and links.
const STAR: &str = "\"star\"\nhosts = 9";
macro_rules! custom {
    ($switches:literal, $links:literal) => {
        concat!("\"custom\"\nhosts = 9\nswitches = [", $switches, "]\nlinks = [\n  ", $links, "\n]")
    };
}

/// The mistake, a part of the good scenario, and its replacement.
const CASES: &[(&str, &str, &str)] = &[
    // TOML itself
    ("a text without its end", "title = \"Base\"", "title = \"Base"),
    ("a quantity without quotes", "\"1 s\"", "1 s"),
    ("a section without its bracket", "[run]", "[run"),
    ("a key without a value", "seed = 1", "seed ="),
    ("a key twice", "seed = 1", "seed = 1\nseed = 2"),
    ("a section twice", "[transport]", "[run]"),
    ("a list without its end", "\"queue\"]", "\"queue\""),
    ("words alone", "seed = 1", "please run this"),
    ("a control character", "seed = 1", "seed = 1 \u{7}"),
    // sections
    ("an unknown section", "[network]", "[netwrok]"),
    ("a section's synonym", "[run]", "[simulation]"),
    ("an unknown section, nothing near", "[transport]", "[zebra]\n[transport]"),
    ("a key outside of its section", "title = \"Base\"", "title = \"Base\"\nduration = \"1 s\""),
    ("an unknown key outside of all sections", "title = \"Base\"", "titel = \"Base\""),
    ("a missing section", "[run]\nduration", "[defaults]\nduration"),
    ("one bracket for a class", "[[traffic]]\nname = \"search\"", "[traffic]\nname = \"search\""),
    ("two brackets for a section", "[network]", "[[network]]"),
    ("a section that is a value", "[parameters]\nfan_in = 3", "run = 5\n[parameters]\nfan_in = 3"),
    // keys
    ("a typing mistake", "hosts = 9", "hsots = 9"),
    ("a synonym", "rate = \"10 Gbps\"", "bandwidth = \"10 Gbps\""),
    ("a synonym of the threshold", "mark = {", "ecn_threshold = {"),
    ("a key of another topology", "hosts = 9", "hosts = 9\nuplink = \"40 Gbps\""),
    ("a key of several topologies' relatives", "hosts = 9", "hosts = 9\nhosts_per_rack = 4"),
    ("a key of another transport", "g = 0.0625", "ns = 0.4"),
    ("a key of another pattern", "parents = 1", "parents = 1\nload = \"30%\""),
    ("a key of another section", "hosts = 9", "hosts = 9\nseed = 4"),
    ("an unknown key, nothing near", "hosts = 9", "hosts = 9\nzzz = 1"),
    ("an unknown key of the run", "warm_up", "warmup"),
    ("an unknown key of the trace", "every = \"10 ms\"", "evry = \"10 ms\""),
    ("a missing key", "duration = \"1 s\"\n", ""),
    ("a missing key of the network", "rate = \"10 Gbps\"\n", ""),
    ("a missing key of a class", "load = \"30%\"\n", ""),
    ("a load of unknown links", "load = \"30%\"", "load = { of = \"receivers\", share = \"30%\" }"),
    ("a load without its share", "load = \"30%\"", "load = { of = \"hosts\" }"),
    ("an unknown part of a load", "load = \"30%\"", "load = { of = \"hosts\", share = \"30%\", links = 3 }"),
    ("a load that is a time", "load = \"30%\"", "load = { of = \"hosts\", share = \"30 ms\" }"),
    ("a load beyond its range", "load = \"30%\"", "load = { of = \"bottleneck\", share = 11 }"),
    ("a load of uplinks where there are none", "load = \"30%\"", "load = { of = \"uplinks\", share = \"30%\" }"),
    (
        "several leaves of a host in a tree of several levels",
        "parents = 1",
        "levels = 2\nbranches = 1\nleaves_per_host = 2",
    ),
    ("per-query in a tree of several levels", "parents = 1", "levels = 2\nbranches = 1\nplacement = \"per-query\""),
    ("a missing name", "name = \"web\"\n", ""),
    ("a missing topology", "topology = \"star\"\n", ""),
    ("a mistyped topology key", "topology =", "toplogy ="),
    ("a missing pattern", "pattern = \"long\"\n", ""),
    ("a missing transport name", "name = \"d2tcp\"\n", ""),
    // choices
    ("an unknown topology", "\"star\"", "\"stra\""),
    ("an unknown topology, nothing near", "\"star\"", "\"hypercube\""),
    ("a topology that is no name", "\"star\"", "5"),
    ("an unknown transport", "\"d2tcp\"", "\"d2tpc\""),
    ("an unknown transport of a class", "transport = \"tcp\"", "transport = \"quic\""),
    ("an unknown pattern", "\"fan-in\"", "\"incast\""),
    ("an unknown word", "\"dynamic\"", "\"per_port\""),
    ("an unknown word, nothing near", "\"dynamic\"", "\"hello\""),
    ("an unknown signal", "\"queue\"]", "\"quue\"]"),
    ("a signal twice", "\"queue\"]", "\"cwnd\"]"),
    ("no signal", "[\"cwnd\", \"queue\"]", "[]"),
    // kinds
    ("a number for a truth", "idle_restart = false", "idle_restart = 0"),
    ("a text for a number", "hosts = 9", "hosts = \"many\""),
    ("a list for a number", "hosts = 9", "hosts = [9]"),
    ("a fraction for a whole number", "hosts = 9", "hosts = 9.5"),
    ("a unit for a whole number", "hosts = 9", "hosts = \"9 KB\""),
    ("a date", "\"20 us\"", "1979-05-27"),
    ("a table for a time", "\"20 us\"", "{ a = 1 }"),
    ("an infinite number", "g = 0.0625", "g = inf"),
    ("no number", "g = 0.0625", "g = nan"),
    ("an empty text", "title = \"Base\"", "title = \"  \""),
    ("a deadline as a list", "deadline = {", "deadline = [1]\nx = {"),
    // units
    ("a time without a unit", "\"1 s\"", "1"),
    ("a rate without a unit", "\"10 Gbps\"", "10"),
    ("a size without a unit", "\"uniform(2 KB, 50 KB)\"", "14000"),
    ("a buffer without a unit", "\"4 MB\"", "4000000"),
    ("a size for a time", "\"1 s\"", "\"1 MB\""),
    ("a time for a rate", "\"10 Gbps\"", "\"10 ms\""),
    ("a rate for a buffer", "\"4 MB\"", "\"4 Mbps\""),
    ("an unknown unit", "\"10 Gbps\"", "\"10 Gpbs\""),
    ("a unit in the wrong case", "\"10 Gbps\"", "\"10 gbps\""),
    ("a rate that is no size per second", "\"10 Gbps\"", "\"10 Gbps/s\""),
    ("minutes or milliseconds", "\"1 s\"", "\"1 m\""),
    (
        "a limit of an unlimited queue",
        "buffer = \"4 MB\"",
        "buffer = \"4 MB\"\nhost_queue = \"unlimited\"\nhost_buffer = \"9 packets\"",
    ),
    ("a pause where packets may be dropped", "buffer = \"4 MB\"", "buffer = \"4 MB\"\npause_threshold = \"9 packets\""),
    ("a lossless network that trims", "buffer = \"4 MB\"", "buffer = \"4 MB\"\nlossless = true\ntrim = true"),
    ("a lossless network that drops", "buffer = \"4 MB\"", "buffer = \"4 MB\"\nlossless = true\nnon_ect = \"drop\""),
    (
        "a lossless network whose switches choose",
        "buffer = \"4 MB\"",
        "buffer = \"4 MB\"\nlossless = true\nbalance = \"drill\"",
    ),
    (
        "a lossless network whose hosts queue first in, first out",
        "buffer = \"4 MB\"",
        "buffer = \"4 MB\"\nlossless = true\nhost_queue = \"fifo\"",
    ),
    ("a lossless network whose queues limit each other", "sharing = \"dynamic\"", "lossless = true\nsharing = \"abm\""),
    ("a buffer without room for headroom", "buffer = \"4 MB\"", "buffer = \"50 KB\"\nlossless = true"),
    (
        "a threshold below a packet",
        "buffer = \"4 MB\"",
        "buffer = \"4 MB\"\nlossless = true\npause_threshold = \"1000 B\"",
    ),
    (
        "a lossless network with a limit at one port",
        STAR,
        concat!(custom!("\"a\"", "{ from = \"0..9\", to = \"a\", buffer = \"9 packets\" }"), "\nlossless = true"),
    ),
    ("no response at all", "buffer = \"4 MB\"", "buffer = \"4 MB\"\nlossless = true\npause_response = \"-1 us\""),
    ("packets where bytes count", "\"150 MB\"", "\"100 packets\""),
    ("a part of a packet", "\"65 packets\"", "\"6.5 packets\""),
    ("fewer packets than none", "\"65 packets\"", "\"-3 packets\""),
    (
        "a cut-off beside cut-offs by traffic",
        "transport = \"tcp\"",
        "transport = { name = \"homa\", cutoffs = \"by-traffic\", first_cutoff = \"2 KB\" }",
    ),
    ("a unit behind a parameter", "\"65 packets\"", "\"$fan_in packets\""),
    ("threads in a list", "seed = 1", "threads = [4]"),
    ("two numbers", "\"20 us\"", "\"20 30 us\""),
    // ranges
    ("no time", "\"1 s\"", "\"0 s\""),
    ("a negative time", "\"20 us\"", "\"-20 us\""),
    ("a negative number", "seed = 1", "seed = -1"),
    ("too large for 64 bits", "seed = 1", "seed = 99999999999999999999"),
    ("a share that is too large", "\"30%\"", "\"3000%\""),
    ("a number out of its range", "g = 0.0625", "g = 1.5"),
    ("too many hosts", "hosts = 9", "hosts = 1000000000000"),
    ("too few hosts", "hosts = 9", "hosts = 1"),
    ("no buffer", "\"4 MB\"", "\"0 packets\""),
    ("a size beyond everything", "\"150 MB\"", "\"1e30 GB\""),
    ("a time beyond everything", "\"1 s\"", "\"400000000 s\""),
    ("a rate beyond everything", "\"10 Gbps\"", "\"1e9 Gbps\""),
    ("a rate that is too small", "\"10 Gbps\"", "\"1 bps\""),
    ("a warm-up as long as the run", "\"10 ms\"\nseed", "\"1 s\"\nseed"),
    ("too many samples", "every = \"10 ms\"", "every = \"1 ns\""),
    ("limits that exclude each other", "g = 0.0625", "rto_max = \"1 ms\""),
    ("too many messages", "exponential(5 ms)", "exponential(5 ps)"),
    ("too many messages at random", "\"pareto(1 KB, 1.2)\"", "\"1 B\""),
    // expressions
    ("a sum of different units", "\"20 us\"", "\"5 ms + 3 KB\""),
    ("a sum with a plain number", "\"20 us\"", "\"5 ms - 3\""),
    ("a product of units", "\"20 us\"", "\"5 ms * 3 ms\""),
    ("a division by zero", "\"20 us\"", "\"20 us / (1 - 1)\""),
    ("a parenthesis that is open", "\"20 us\"", "\"(20 us\""),
    ("a parenthesis too many", "\"20 us\"", "\"20 us)\""),
    ("parentheses without end", "\"20 us\"", "\"((((((((((((((((((((((((((((((((((((((((20 us\""),
    ("an operator without its right side", "\"20 us\"", "\"20 us *\""),
    ("an unknown parameter", "\"$fan_in\"", "\"$fanin\""),
    ("an unknown parameter in an expression", "$tighter", "$looser"),
    ("a parameter without its sign", "20 ms * $tighter", "20 ms * tighter"),
    ("a parameter of the wrong unit", "\"$fan_in\"", "\"$pause\""),
    ("a parameter that is itself", "tighter = 1.0", "tighter = \"$tighter * 2\""),
    ("a parameter that is a table", "tighter = 1.0", "tighter = { a = 1 }"),
    ("a parameter's name", "tighter = 1.0", "tighter-by = 1.0"),
    ("index where there is none", "\"20 us\"", "\"index * 20 us\""),
    ("a start that is no time", "$pause + index * 10 us", "index * 10"),
    ("a start below zero", "$pause + index * 10 us", "5 us - index * 10 us"),
    ("a start that divides by zero", "$pause + index * 10 us", "1 ms / index"),
    ("an unknown name in a start", "index * 10 us", "indx * 10 us"),
    ("an empty expression", "\"20 us\"", "\"\""),
    // distributions
    ("an empty range", "uniform(2 KB, 50 KB)", "uniform(5 KB, 2 KB)"),
    ("a range of nothing", "uniform(2 KB, 50 KB)", "uniform(5 KB, 5 KB)"),
    ("one value for a range", "uniform(2 KB, 50 KB)", "uniform(5 KB)"),
    ("a range of two units", "uniform(2 KB, 50 KB)", "uniform(2 KB, 5 ms)"),
    ("no mean", "exponential(5 ms)", "exponential(0 s)"),
    ("a mean without a unit", "exponential(5 ms)", "exponential(5)"),
    ("no parentheses", "\"exponential(5 ms)\"", "\"exponential\""),
    ("a bad shape", "pareto(1 KB, 1.2)", "pareto(1 KB, 0)"),
    ("an infinite mean", "pareto(1 KB, 1.2)", "pareto(1 KB, 0.9)"),
    ("a shape with a unit", "pareto(1 KB, 1.2)", "pareto(1 KB, 1 KB)"),
    ("an unknown distribution", "exponential(5 ms)", "exponental(5 ms)"),
    ("a distribution in a sum", "exponential(5 ms)", "1 ms + exponential(5 ms)"),
    ("a distribution for a number", "hosts = 9", "hosts = \"uniform(1, 9)\""),
    ("an unknown built-in distribution", "cdf(websearch)", "cdf(web-serach)"),
    ("a file that is not there", "cdf(websearch)", "cdf(sizes/none.txt)"),
    ("a file that is a folder", "cdf(websearch)", "cdf(.)"),
    ("sizes for times", "uniform(0 us, 100 us)", "cdf(websearch)"),
    ("percent for a size", "uniform(2 KB, 50 KB)", "50%"),
    // hosts
    ("a host that does not exist", "to = 8", "to = 9"),
    ("a host that does not exist in a list", "from = [0, 1]", "from = [0, 11]"),
    ("a range beyond the hosts", "\"7..9\"", "\"7..12\""),
    ("an empty range of hosts", "\"7..9\"", "\"7..7\""),
    ("a range that runs back", "\"7..9\"", "\"9..7\""),
    ("a range with words", "\"7..9\"", "\"a..9\""),
    ("a range without its end", "\"7..9\"", "\"7..\""),
    ("an endless range", "\"7..9\"", "\"0..1000000000000\""),
    ("a negative host", "from = 3", "from = -3"),
    ("a fraction of a host", "from = 3", "from = 3.5"),
    ("no host", "from = [0, 1]", "from = []"),
    ("a host in a deeper list", "from = [0, 1]", "from = [[0, 1]]"),
    ("lists that do not pair up", "from = [0, 1]", "from = [0, 1, 2]"),
    ("lists of an entry that do not pair up", "from = \"0..2\", to = 8", "from = \"0..2\", to = [5, 6, 7]"),
    ("a host that sends to itself", "from = 3, to = 4", "from = 4, to = 4"),
    ("a sender that is its receiver", "from = [0, 1]", "from = [0, 8]"),
    ("more leaves than hosts", "fan_in = 3", "fan_in = 30"),
    ("too many leaves", "parents = 1\nleaves = \"$fan_in\"", "parents = 60000\nleaves = 60000"),
    // deadlines
    ("a deadline on a flow without end", "to = \"7..9\"", "to = \"7..9\"\ndeadline = \"5 ms\""),
    ("a deadline without a size", "size = \"uniform(2 KB, 50 KB)\"\n", ""),
    ("a deadline of an entry without a size", "size = \"150 MB\", ", ""),
    ("a deadline beside the list of flows", "pattern = \"flows\"", "pattern = \"flows\"\ndeadline = \"5 ms\""),
    ("a deadline without its base", "base = \"20 ms * $tighter\", ", ""),
    ("an unknown key of a deadline", "vary =", "var ="),
    ("a deadline of a time times alone", "deadline = \"1 s\"", "deadline = \"1 ms * alone\""),
    ("a deadline of times times alone", "deadline = \"1 s\"", "deadline = \"uniform(1 ms, 2 ms) * alone\""),
    ("a deadline of two factors", "deadline = \"1 s\"", "deadline = \"2 * uniform(1, 2) * alone\""),
    ("a deadline of a part of a draw", "deadline = \"1 s\"", "deadline = \"alone * exponential(4) / 2\""),
    ("a deadline beyond alone", "deadline = \"1 s\"", "deadline = \"2 * alone + 1 ms\""),
    ("no time alone", "deadline = \"1 s\"", "deadline = \"0 * alone\""),
    ("too many times alone", "deadline = \"1 s\"", "deadline = \"uniform(1, 2e6) * alone\""),
    ("a base in times alone", "\"20 ms * $tighter\"", "\"2 * alone\""),
    ("a misspelt alone", "deadline = \"1 s\"", "deadline = \"2 * alnoe\""),
    (
        "times alone over several levels",
        "deadline = { base = \"20 ms * $tighter\", vary = \"uniform(0, 50%)\" }",
        "levels = 2\nbranches = 2\ndeadline = \"3 * alone\"",
    ),
    ("a variation without a unit", "uniform(0, 50%)", "uniform(0, 0.5)"),
    ("a variation below zero", "uniform(0, 50%)", "uniform(-10%, 50%)"),
    ("no deadline at all", "\"20 ms * $tighter\"", "\"0 s\""),
    // flows
    ("flows that are no list", "flows = [\n", "flows = \"x\"\nmore = [\n"),
    ("a flow that is no table", "  { from = 3, to = 4, size = \"cdf(websearch)\" },", "  3,"),
    ("an unknown key of a flow", "from = 3", "form = 3"),
    ("a flow of nothing", "\"150 MB\"", "\"0 B\""),
    // classes
    ("two classes of one name", "name = \"web\"", "name = \"backup\""),
    ("a default that no pattern knows", "every = \"exponential(5 ms)\"", "evry = \"exponential(5 ms)\""),
    ("a name for all classes", "every = \"exponential(5 ms)\"", "name = \"all\""),
    ("a wrong default", "connections = \"fresh\"", "connections = \"new\""),
    ("an unknown default section", "[defaults.traffic]", "[defaults.trafic]"),
    ("a transport that is a number", "transport = \"tcp\"", "transport = 5"),
    ("a transport table without a name", "{ name = \"dctcp\", g = 0.5 }", "{ g = 0.5 }"),
    ("a key of another transport in a class", "{ name = \"dctcp\", g = 0.5 }", "{ name = \"tcp\", g = 0.5 }"),
    ("a wrong value in a class's transport", "g = 0.5 }", "g = \"5 ms\" }"),
    (
        "a trace file that is not there",
        "pattern = \"long\"\nfrom = [0, 1]\nto = \"7..9\"\nstart = \"$pause + index * 10 us\"",
        "pattern = \"trace\"\nfile = \"none.csv\"",
    ),
    ("a buffer of an unknown switch", "buffer = \"4 MB\"", "buffer = { swich = \"1 MB\", others = \"4 MB\" }"),
    ("a buffer for no switch", "buffer = \"4 MB\"", "buffer = { switch = \"1 MB\", others = \"4 MB\" }"),
    ("no switch with a buffer", "buffer = \"4 MB\"", "buffer = {}"),
    (
        "a file of messages with an unknown column",
        "pattern = \"long\"\nfrom = [0, 1]\nto = \"7..9\"",
        "pattern = \"trace\"\nfile = { path = \"a.csv\", columns = { scr = \"a\" } }\nstart = \"1 s\"",
    ),
    (
        "a file of messages with an unknown key",
        "pattern = \"long\"\nfrom = [0, 1]\nto = \"7..9\"",
        "pattern = \"trace\"\nfile = { path = \"a.csv\", units = \"1 ns\" }\nstart = \"1 s\"",
    ),
    ("an unknown part of the marks", "{ host =", "{ hosts ="),
    ("an inheritance that is no truth", "{ name = \"dctcp\", g = 0.5 }", "{ name = \"dctcp\", inherit = 1 }"),
    ("an inheritance of all", "name = \"d2tcp\"", "name = \"d2tcp\"\ninherit = true"),
    // priorities
    ("an unknown discipline", "sharing = \"dynamic\"", "discipline = \"prio\""),
    ("an unknown marker", "sharing = \"dynamic\"", "marking = \"treshold\""),
    ("a key of RED without it", "sharing = \"dynamic\"", "red_kmax = \"400 KB\""),
    ("RED without Kmin", "mark = { host = \"65 packets\" }", "marking = \"red\"\nred_kmax = \"400 KB\""),
    ("RED without Kmax", "sharing = \"dynamic\"", "marking = \"red\""),
    (
        "RED without Kmax at some ports",
        "sharing = \"dynamic\"",
        "marking = \"red\"\nred_kmax = { uplink = \"9 packets\" }",
    ),
    ("Kmax below Kmin", "sharing = \"dynamic\"", "marking = \"red\"\nred_kmax = \"64 packets\""),
    ("Kmin in packets and Kmax in bytes", "sharing = \"dynamic\"", "marking = \"red\"\nred_kmax = \"400 KB\""),
    ("Pmax above 1", "sharing = \"dynamic\"", "marking = \"red\"\nred_kmax = \"90 packets\"\nred_pmax = \"120%\""),
    ("Pmax below 0", "sharing = \"dynamic\"", "marking = \"red\"\nred_kmax = \"90 packets\"\nred_pmax = -0.1"),
    (
        "an average that never changes",
        "sharing = \"dynamic\"",
        "marking = \"red\"\nred_kmax = \"90 packets\"\nred_weight = 0",
    ),
    ("marks at departure and drops on arrival", "sharing = \"dynamic\"", "mark_at = \"departure\"\nnon_ect = \"drop\""),
    ("a phantom queue of arrivals", "sharing = \"dynamic\"", "marking = \"phantom\"\nmark_at = \"arrival\""),
    ("marks at another time", "sharing = \"dynamic\"", "mark_at = \"enqueue\""),
    ("a quantum of less than a packet", "sharing = \"dynamic\"", "discipline = \"dwrr\"\nquantum = \"64 B\""),
    ("no weight", "parents = 1", "parents = 1\nweight = 0"),
    ("a weight by another name", "parents = 1", "parents = 1\nwfq_weight = 2"),
    (
        "two weights of one queue",
        "transport = \"tcp\"",
        "transport = \"tcp\"\npriority = 2\nweight = 3\n[[traffic]]\nname = \"same\"\npattern = \"long\"\nfrom = 0\nto = 1\npriority = 2\nweight = 4",
    ),
    (
        "two weights without a queue of their own",
        "transport = \"tcp\"",
        "transport = \"tcp\"\nweight = 3\n[[traffic]]\nname = \"same\"\npattern = \"long\"\nfrom = 0\nto = 1\nweight = 1",
    ),
    ("WFQ", "sharing = \"dynamic\"", "discipline = \"wfq\""),
    ("Kmin by another name", "mark = { host = \"65 packets\" }", "kmin = \"65 packets\""),
    ("a key of a discipline, mistyped", "sharing = \"dynamic\"", "untaged = \"lowest\""),
    ("too many classes of deadlines", "transport = \"tcp\"", "transport = { name = \"tcppr\", classes = 33 }"),
    ("limits that fall", "transport = \"tcp\"", "transport = { name = \"tcppr\", limits = [\"2 ms\", \"1 ms\"] }"),
    ("limits without a unit", "transport = \"tcp\"", "transport = { name = \"tcppr\", limits = [20, 30] }"),
    ("no limits", "transport = \"tcp\"", "transport = { name = \"tcppr\", limits = [] }"),
    (
        "limits that do not fit the number of classes",
        "transport = \"tcp\"",
        "transport = { name = \"tcppr\", classes = 2, limits = [\"1 ms\", \"2 ms\"] }",
    ),
    ("a priority that no switch has", "transport = \"tcp\"", "transport = \"tcp\"\npriority = 32"),
    // trees
    ("branches of one level", "parents = 1", "parents = 1\nbranches = 2"),
    ("levels without branches", "parents = 1", "parents = 1\nlevels = 2"),
    ("too many levels", "parents = 1", "parents = 1\nlevels = 9"),
    ("a split of another number of levels", "parents = 1", "parents = 1\nlevels = 2\nbranches = 2\nsplit = [1]"),
    ("a split that is not whole", "parents = 1", "parents = 1\nlevels = 2\nbranches = 2\nsplit = [0.5, 0.6]"),
    ("a share of nothing", "parents = 1", "parents = 1\nlevels = 2\nbranches = 2\nsplit = [0, 1]"),
    ("a split that is no list", "parents = 1", "parents = 1\nlevels = 2\nbranches = 2\nsplit = \"50%\""),
    (
        "a split without a deadline",
        "deadline = { base = \"20 ms * $tighter\", vary = \"uniform(0, 50%)\" }",
        "levels = 2\nbranches = 2\nsplit = [0.5, 0.5]\n#$tighter",
    ),
    ("more nodes than hosts", "parents = 1", "parents = 1\nlevels = 3\nbranches = 3"),
    ("more nodes than can be counted", "parents = 1", "parents = 1\nlevels = 8\nbranches = 65535"),
    ("a spread of several levels", "parents = 1", "parents = 1\nlevels = 2\nbranches = 2\nplacement = \"spread\""),
    ("hosts divided into no parts", "parents = 1", "parents = 1\nplacement = \"divided\"\nparts = 2"),
    ("parts of hosts that are not divided", "parents = 1", "parents = 1\nparts = 2"),
    ("a part beyond the last", "parents = 1", "parents = 1\nplacement = \"divided\"\nparts = 2\npart = 3"),
    ("a part with too few hosts", "parents = 1", "parents = 1\nplacement = \"divided\"\nparts = 3\npart = 1"),
    // topologies
    (
        "parents of a class on other hosts",
        "[[traffic]]\nname = \"four\"",
        "[[traffic]]\nname = \"other\"\npattern = \"fan-in\"\nsize = \"1 KB\"\nleaves = 1\nparents_of = \"search\"\n\
         placement = \"divided\"\nparts = 2\npart = 1\n[[traffic]]\nname = \"four\"",
    ),
    ("parents of no class", "jitter = ", "parents_of = \"serch\"\njitter = "),
    ("an odd fat-tree", "\"star\"\nhosts = 9", "\"fat-tree\"\nk = 3"),
    ("too many racks", "\"star\"\nhosts = 9", "\"racks\"\nracks = 4096\nhosts_per_rack = 4096\nuplink = \"40 Gbps\""),
    (
        "an uplink and its oversubscription",
        STAR,
        "\"racks\"\nracks = 3\nhosts_per_rack = 3\nuplink = '1 Gbps'\noversubscription = 4",
    ),
    ("neither uplink nor oversubscription", STAR, "\"leaf-spine\"\nleaves = 3\nhosts_per_leaf = 3\nspines = 2"),
    ("too much oversubscription", STAR, "\"fat-tree\"\nk = 4\noversubscription = 1e7\n#"),
    ("an unknown switch", STAR, custom!("'left', 'right'", "{ from = '0..9', to = 'rihgt' }")),
    ("an unknown switch, nothing near", STAR, custom!("'left', 'right'", "{ from = '0..9', to = 'x' }")),
    ("a host that a custom network lacks", STAR, custom!("'left'", "{ from = '0..10', to = 'left' }")),
    ("a switch twice", STAR, custom!("'left', 'left'", "{ from = '0..9', to = 'left' }")),
    ("a name that is a number", STAR, custom!("'left', '2nd'", "{ from = '0..9', to = 'left' }")),
    ("a link twice", STAR, custom!("'a', 'b'", "{ from = 'a', to = 'b' }, { from = 'b', to = 'a' }")),
    ("a switch joined with itself", STAR, custom!("'a'", "{ from = '0..9', to = 'a' }, { from = 'a', to = 'a' }")),
    ("a host twice at a switch", STAR, custom!("'a', 'b'", "{ from = '0..9', to = 'a' }, { from = 'a', to = '3..5' }")),
    ("hosts joined, and the others not", STAR, custom!("", "{ from = 0, to = 1 }")),
    ("hosts joined twice", STAR, custom!("", "{ from = 0, to = '1..9' }, { from = 8, to = 0 }")),
    ("a host joined with itself", STAR, custom!("", "{ from = 0, to = '0..9' }")),
    ("uplinks of rails without spines", STAR, "\"rails\"\nservers = 3\ngpus = 3\nuplink = '1 Gbps'"),
    ("spines of rails without uplinks", STAR, "\"rails\"\nservers = 3\ngpus = 3\nspines = 2"),
    ("too many GPUs", STAR, "\"rails\"\nservers = 4096\ngpus = 64"),
    ("hosts on both sides", STAR, custom!("'a'", "{ from = '0..4', to = '4..8' }")),
    ("a host without a link", STAR, custom!("'a'", "{ from = '0..8', to = 'a' }")),
    ("a switch without a link", STAR, custom!("'a', 'b'", "{ from = '0..9', to = 'a' }")),
    ("a network in two parts", STAR, custom!("'a', 'b'", "{ from = '0..4', to = 'a' }, { from = '4..9', to = 'b' }")),
    ("a link without its end", STAR, custom!("'a'", "{ from = '0..9' }")),
    ("an unknown key of a link", STAR, custom!("'a'", "{ from = '0..9', to = 'a', speed = '1 Gbps' }")),
    ("a link's rate without a unit", STAR, custom!("'a'", "{ from = '0..9', to = 'a', rate = 10 }")),
    ("links that are no list", STAR, "\"custom\"\nhosts = 9\nswitches = ['a']\nlinks = 'a'"),
    (
        "too many links",
        "\"star\"\nhosts = 9",
        "\"leaf-spine\"\nleaves = 4096\nhosts_per_leaf = 16\nspines = 1024\nuplink = \"40 Gbps\"",
    ),
    // faults
    ("a fault in one bracket", "[transport]", "[fault]\nkind = \"loss\"\nprobability = 0.1\n[transport]"),
    ("an unknown fault", "[transport]", "[[fault]]\nkind = \"los\"\nprobability = 0.1\n[transport]"),
    ("a fault of no kind", "[transport]", "[[fault]]\nprobability = 0.1\n[transport]"),
    ("a fault without its probability", "[transport]", "[[fault]]\nkind = \"loss\"\n[transport]"),
    (
        "a key of another fault",
        "[transport]",
        "[[fault]]\nkind = \"loss\"\nprobability = 0.1\nreroute = \"1 ms\"\n[transport]",
    ),
    ("a probability above one", "[transport]", "[[fault]]\nkind = \"loss\"\nprobability = \"120%\"\n[transport]"),
    (
        "a fault that ends before it begins",
        "[transport]",
        "[[fault]]\nkind = \"down\"\nat = \"20 ms\"\nuntil = \"10 ms\"\n[transport]",
    ),
    (
        "a fault at a switch that does not exist",
        "[transport]",
        "[[fault]]\nkind = \"down\"\nlink = \"swich - host 1\"\n[transport]",
    ),
    (
        "a fault at a host that does not exist",
        "[transport]",
        "[[fault]]\nkind = \"down\"\nlink = \"host 9\"\n[transport]",
    ),
    (
        "a fault on a link that does not exist",
        "[transport]",
        "[[fault]]\nkind = \"down\"\nlink = \"host 0 - host 1\"\n[transport]",
    ),
    ("a fault with a synonym", "[transport]", "[[fault]]\nkind = \"down\"\nswitch = \"switch\"\n[transport]"),
];

#[test]
fn every_mistake_has_its_message() {
    let (mut messages, lists) = (String::new(), lists());
    let cases = CASES.iter().map(|case| (BASE, case)).chain(stages::CASES.iter().map(|case| (stages::BASE, case)));
    for (base, (what, good, bad)) in cases {
        assert!(base.contains(good), "{what}: {good:?} is not in the base");
        let text = base.replacen(good, bad, 1);
        let Err(error) = common::attempt(&text, &with_file()) else { panic!("{what}: no error") };
        assert_eq!(error.file(), "a.toml", "{what}");
        writeln!(
            messages,
            "# {what}\n{}\n",
            lists.iter().fold(error.to_string(), |text, (list, name)| text.replace(list, name))
        )
        .unwrap();
    }
    check(&messages);
}

fn with_file() -> Options {
    let (name, content) = stages::FILE;
    Options { files: BTreeMap::from([(name.to_owned(), content.as_bytes().to_vec())]), ..Options::default() }
}

#[test]
fn the_bases_are_good() {
    common::read(BASE);
    common::attempt(stages::BASE, &with_file()).unwrap();
}

#[test]
fn no_case_is_there_twice() {
    let mut names: Vec<&str> = CASES.iter().chain(stages::CASES).map(|(what, ..)| *what).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(CASES.len() >= 60);
}

/// Returns each list of names that messages give, and its placeholder: all names of a family and the ones with a key.
fn lists() -> Vec<(String, String)> {
    let catalog = scenario::catalog();
    let list = |all: &serde_json::Value| all.as_array().unwrap().clone();
    let name = |each: &serde_json::Value| each["name"].as_str().unwrap().to_owned();
    let joined = |names: &[String], word: &str| {
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        match quoted.split_last().unwrap() {
            (only, []) => only.clone(),
            (last, others) => format!("{} {word} {last}", others.join(", ")),
        }
    };
    let mut lists = Vec::new();
    for (one, family) in
        [("transport", "transports"), ("topology", "topologies"), ("pattern", "patterns"), ("fault", "faults")]
    {
        let mut owners = BTreeMap::<String, Vec<String>>::new();
        let all = list(&catalog[family]);
        for each in &all {
            list(&each["keys"]).iter().for_each(|key| owners.entry(name(key)).or_default().push(name(each)));
        }
        lists.push((joined(&all.iter().map(name).collect::<Vec<_>>(), "or"), format!("{{{family}}}")));
        for (key, owners) in &owners {
            let belongs = |what: &str| format!("`{key}` belongs to {what}, ");
            if key == "deadline" {
                let with = |names: &str| format!("{family} {names} send messages with a size");
                lists.push((with(&joined(owners, "and")), with("{with deadline}")));
            }
            let what = if owners.len() > 1 { family } else { one };
            lists.push((
                belongs(&format!("{what} {}", joined(owners, "and"))),
                belongs(&format!("{{{family} with {key}}}")),
            ));
        }
    }
    // Disciplines and markers have keys in every network, and are words of two of its keys.
    let network = list(&catalog["network"]);
    let keys: Vec<String> = network.iter().map(name).filter(|key| key != "topology").collect();
    lists.push((joined(&keys, "and"), "{keys of every network}".into()));
    for key in network.iter().filter(|key| key["choices"].is_array()) {
        let words: Vec<String> = list(&key["choices"]).iter().map(|word| word.as_str().unwrap().to_owned()).collect();
        lists.push((joined(&words, "or"), format!("{{words of {}}}", name(key))));
    }
    lists
}

/// Compares with the file of messages, or writes it.
fn check(messages: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(MESSAGES, messages).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(MESSAGES).unwrap_or_default();
    let blocks = |text: &str| text.split("\n\n").map(str::to_owned).collect::<Vec<_>>();
    for (found, expected) in blocks(messages).iter().zip(blocks(&expected)) {
        assert_eq!(found, &expected, "review it, then run with BLESS=1");
    }
    assert_eq!(messages, expected, "review it, then run with BLESS=1");
}
