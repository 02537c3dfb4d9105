// Sends the messages of duetime's traces through a star of csg-htsim, so that both simulate the same arrivals.
//
//     peer PLAN TRACE MESSAGES
//
// The arguments, and what is written, are those of the driver for ns-3 (bench/peers/ns3/peer.cc). Of the plan are read:
// transport (tcp, dctcp, rules), warm_up, duration and end (seconds), hosts, rate (bit/s), delay (ps, of each wire), mss
// (bytes of payload), wire (bytes of a full packet), initial_window (packets), buffer and mark (bytes waiting; mark 0:
// none), jitter (0 or 1), seed and, for "rules", those of `Rules`. htsim counts what it sends in whole packets, so that
// each message must be a multiple of mss.
//
// It links against the libhtsim.a that the user has built; nothing of it is kept here.

#include "dctcp.h"
#include "ecn.h"
#include "simulation.h"

#include <deque>
#include <limits>
#include <memory>
#include <random>

namespace
{

using duetime::Arrival;
using duetime::Plan;
using duetime::Refuse;

// The interval in which htsim checks its retransmission timers; its own main functions use 10 ms.
constexpr double SCAN_S = 1e-3;

/// A port of the switch: the time at each number of packets behind the one in transmission, between two times.
class Watch : public QueueLogger
{
  public:
    Watch(simtime_picosec from, simtime_picosec to)
        : m_from(from),
          m_to(to),
          m_since(from)
    {
    }

    void logQueue(BaseQueue&, QueueEvent event, Packet&) override
    {
        Account();
        m_packets += event == PKT_ENQUEUE ? 1 : event == PKT_SERVICE ? -1 : 0;
        if (event == PKT_DROP && EventList::now() >= m_from && EventList::now() < m_to)
        {
            drops++;
        }
    }

    void Account()
    {
        auto now = std::min(std::max(EventList::now(), m_from), m_to);
        lengths.Held(std::max(m_packets - 1, 0), timeAsSec(now - m_since));
        m_since = now;
    }

    unsigned drops{0};
    duetime::Lengths lengths;

  private:
    simtime_picosec m_from, m_to, m_since;
    int m_packets{0};
};

/// Delays a host's packets by up to their own transmission times, in order: duetime's host_jitter. Packets that the
/// host's port receives at one instant are delayed by the same share.
class Jitter : public EventSource, public PacketSink
{
    /// The sink before the host's port, which sends all packets in their order.
    class Given : public PacketSink
    {
      public:
        explicit Given(Jitter& jitter)
            : m_jitter(jitter)
        {
        }

        void receivePacket(Packet& packet) override
        {
            m_jitter.Draw();
            packet.sendOn();
        }

        const string& nodename() override
        {
            return m_jitter.m_name;
        }

      private:
        Jitter& m_jitter;
    };

  public:
    Jitter(double psPerByte, std::mt19937_64& draws)
        : EventSource("jitter"),
          given(*this),
          m_psPerByte(psPerByte),
          m_draws(draws),
          m_name("jitter")
    {
    }

    void receivePacket(Packet& packet) override
    {
        auto late = static_cast<simtime_picosec>(m_shares.front() * packet.size() * m_psPerByte);
        m_shares.pop_front();
        m_last = std::max(m_last, EventList::now() + late);
        m_waiting.push_back(&packet);
        EventList::sourceIsPending(*this, m_last);
    }

    void doNextEvent() override
    {
        auto packet = m_waiting.front();
        m_waiting.pop_front();
        packet->sendOn();
    }

    const string& nodename() override
    {
        return m_name;
    }

    Given given;

  private:
    /// Draws the share of a packet that the port receives now.
    void Draw()
    {
        if (EventList::now() != m_drawn)
        {
            m_share = std::uniform_real_distribution<double>()(m_draws);
        }
        m_drawn = EventList::now();
        m_shares.push_back(m_share);
    }

    double m_psPerByte;
    std::mt19937_64& m_draws;
    /// The time of the last draw; at first the maximum, for none.
    simtime_picosec m_drawn{std::numeric_limits<simtime_picosec>::max()};
    double m_share{0};
    /// The delays of the packets in the port, as shares of their transmission times.
    std::deque<double> m_shares;
    simtime_picosec m_last{0};
    std::deque<Packet*> m_waiting;
    string m_name;
};

/// A receiver that records when it has received all packets.
class Receiver : public TcpSink
{
  public:
    explicit Receiver(uint64_t packets)
        : m_last(1 + packets * Packet::data_packet_size())
    {
    }

    void receivePacket(Packet& packet) override
    {
        TcpSink::receivePacket(packet);
        if (end == 0 && _cumulative_ack >= m_last)
        {
            end = EventList::now();
        }
    }

    simtime_picosec end{0};

  private:
    /// The last byte's position; htsim's SYN is the first byte.
    uint64_t m_last;
};

/// A port that marks arriving packets when more than K are in it, as duetime's does. htsim's own marks departing
/// packets.
class MarkedOnArrival : public Queue
{
  public:
    MarkedOnArrival(linkspeed_bps rate, mem_b buffer, EventList& events, QueueLogger* logger, mem_b k)
        : Queue(rate, buffer, events, logger),
          m_k(k)
    {
    }

    void receivePacket(Packet& packet) override
    {
        if (queuesize() + packet.size() > m_k)
        {
            packet.set_flags(packet.flags() | ECN_CE);
        }
        Queue::receivePacket(packet);
    }

  private:
    mem_b m_k;
};

/// The differences between htsim's DCTCPSrc and RFC 8257. Each stays as in htsim unless the plan has 1.
struct Rules
{
    explicit Rules(const Plan& plan)
        : cutsMarkedOnly(plan.Is("cuts_marked_only")),
          cutsAtEcho(plan.Is("cuts_at_echo")),
          keepsOnEcho(plan.Is("keeps_on_echo")),
          alphaBeginsAtOne(plan.Is("alpha_begins_at_one")),
          windowsBySequence(plan.Is("windows_by_sequence")),
          growsAsRfc5681(plan.Is("grows_as_rfc5681"))
    {
    }

    /// A window without a mark is not cut, whatever alpha is (3.3, step 9: CWR answers an echo).
    bool cutsMarkedOnly;
    /// The cut is at the first echo of a window, not at the end of the window (3.3; RFC 3168 6.1.2).
    bool cutsAtEcho;
    /// An acknowledgement with an echo does not let the window grow (RFC 3168 6.1.2).
    bool keepsOnEcho;
    /// 4.2: "set DCTCP.Alpha to 1"; htsim begins at 0.
    bool alphaBeginsAtOne;
    /// An observation window ends when the data sent at its beginning is acknowledged (3.3, step 1). In htsim it ends
    /// after as many acknowledgements as the window had after the last cut.
    bool windowsBySequence;
    /// An acknowledgement of a segment grows the window by one, or by one over the window (RFC 5681 3.1). This also
    /// applies while more data is in flight than the window allows, as after a cut.
    bool growsAsRfc5681;
};

/// DCTCP over htsim's TCP. With no rule changed it is DCTCPSrc.
class Dctcp : public TcpSrc
{
  public:
    Dctcp(EventList& events, const Rules& rules)
        : TcpSrc(nullptr, nullptr, events),
          m_rules(rules),
          m_alpha(rules.alphaBeginsAtOne ? 1 : 0),
          m_window(2 * Packet::data_packet_size())
    {
        _rto = timeFromMs(10);
    }

    void receivePacket(Packet& packet) override
    {
        bool marked = packet.flags() & ECN_ECHO;
        uint64_t number = static_cast<TcpAck&>(packet).ackno();
        // The answer to the SYN acknowledges no data.
        m_seen += number > 1 || !m_rules.windowsBySequence;
        m_marked += marked;
        bool ends = m_rules.windowsBySequence ? number > m_windowEnd : m_seen * _mss >= m_window;
        bool due = false;
        if (marked && m_rules.cutsAtEcho)
        {
            due = number > m_cutEnd && !_in_fast_recovery;
        }
        else if (marked && _ssthresh > _cwnd)
        {
            _ssthresh = _cwnd;
        }
        if (ends)
        {
            double share = static_cast<double>(m_marked) / m_seen;
            m_alpha = 15.0 / 16.0 * m_alpha + 1.0 / 16.0 * share;
            due |= !m_rules.cutsAtEcho && (m_rules.cutsMarkedOnly ? m_marked > 0 : m_alpha > 0);
            m_seen = 0;
            m_marked = 0;
            m_windowEnd = _highest_sent;
        }
        if (due)
        {
            _cwnd = std::max<uint32_t>(_cwnd * (1 - m_alpha / 2), _mss);
            _ssthresh = _cwnd;
            m_cutEnd = _highest_sent;
        }
        if (ends)
        {
            m_window = _cwnd;
        }
        m_keeps = m_rules.keepsOnEcho && marked;
        TcpSrc::receivePacket(packet);
        m_keeps = false;
    }

    void inflate_window() override
    {
        if (m_keeps)
        {
            return;
        }
        if (!m_rules.growsAsRfc5681)
        {
            TcpSrc::inflate_window();
        }
        else if (_cwnd < _ssthresh)
        {
            _cwnd += _mss;
        }
        else
        {
            _cwnd += static_cast<uint32_t>(_mss) * _mss / _cwnd;
        }
    }

    void deflate_window() override
    {
        m_seen = 0;
        m_marked = 0;
        TcpSrc::deflate_window();
        m_window = _cwnd;
    }

  private:
    const Rules m_rules;
    double m_alpha;
    /// Acknowledgements in this observation window, and how many of them have an echo.
    uint32_t m_seen{0}, m_marked{0};
    /// The size after which an observation window ends; or the position of its end, and that of the last cut window.
    uint32_t m_window;
    uint64_t m_windowEnd{1}, m_cutEnd{0};
    /// True while an acknowledgement is handled that must not grow the window.
    bool m_keeps{false};
};

/// The wires and queues between a host and the switch.
struct Host
{
    std::unique_ptr<Queue> up, down;
    std::unique_ptr<Jitter> jitter;
    std::unique_ptr<Pipe> toSwitch, toHost;
    std::unique_ptr<Watch> watch;
};

struct Message
{
    Arrival arrival;
    std::unique_ptr<TcpSrc> sender;
    std::unique_ptr<Receiver> receiver;
    std::unique_ptr<Route> forth, back;
};

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 4)
    {
        Refuse("expected PLAN TRACE MESSAGES");
    }
    Plan plan(argv[1]);
    htsim::Simulation simulation(plan, SCAN_S);
    auto& events = simulation.events;
    auto buffer = simulation.buffer;
    auto wire = simulation.wire;
    auto rate = static_cast<linkspeed_bps>(plan.Number("rate"));
    auto delay = static_cast<simtime_picosec>(plan.Number("delay"));
    auto mark = static_cast<mem_b>(plan.Number("mark"));
    auto open = [&]() -> TcpSrc* {
        if (plan.Text("transport") == "tcp")
        {
            return new TcpSrc(nullptr, nullptr, events);
        }
        if (plan.Text("transport") == "dctcp")
        {
            return new DCTCPSrc(nullptr, nullptr, events);
        }
        if (plan.Text("transport") == "rules")
        {
            return new Dctcp(events, Rules(plan));
        }
        Refuse("unknown transport: " + plan.Text("transport"));
    };
    bool onArrival = plan.Is("marks_on_arrival");
    std::mt19937_64 draws(static_cast<uint64_t>(plan.Number("seed")));

    std::vector<Host> hosts(static_cast<std::size_t>(plan.Number("hosts")));
    for (auto& host : hosts)
    {
        host.up = simulation.Nic(rate);
        host.watch = std::make_unique<Watch>(plan.Time("warm_up"), plan.Time("duration"));
        if (mark > 0 && onArrival)
        {
            host.down = std::make_unique<MarkedOnArrival>(rate, buffer, events, host.watch.get(), mark + wire);
        }
        else if (mark > 0)
        {
            host.down = std::make_unique<ECNQueue>(rate, buffer, events, host.watch.get(), mark + wire);
        }
        else
        {
            host.down = std::make_unique<Queue>(rate, buffer, events, host.watch.get());
        }
        host.jitter = std::make_unique<Jitter>(8e12 / rate, draws);
        host.toSwitch = std::make_unique<Pipe>(delay, events);
        host.toHost = std::make_unique<Pipe>(delay, events);
    }

    bool jitter = plan.Is("jitter");
    auto path = [&](unsigned from, unsigned to, PacketSink* last, bool data) {
        auto route = std::make_unique<Route>();
        if (jitter && data)
        {
            route->push_back(&hosts[from].jitter->given);
        }
        route->push_back(hosts[from].up.get());
        if (jitter && data)
        {
            route->push_back(hosts[from].jitter.get());
        }
        for (PacketSink* next : {static_cast<PacketSink*>(hosts[from].toSwitch.get()),
                                 static_cast<PacketSink*>(hosts[to].down.get()),
                                 static_cast<PacketSink*>(hosts[to].toHost.get()),
                                 last})
        {
            route->push_back(next);
        }
        return route;
    };

    std::vector<Message> messages;
    for (const auto& arrival : duetime::ReadTrace(argv[2], hosts.size(), simulation.mss))
    {
        auto& message = messages.emplace_back();
        message.arrival = arrival;
        auto packets = arrival.bytes / simulation.mss;
        auto& sender = message.sender;
        sender.reset(open());
        message.receiver = std::make_unique<Receiver>(packets);
        // htsim sends while the bytes sent, including the SYN's, are at most this and one.
        sender->_flow_size = (packets - 1) * wire;
        message.forth = path(arrival.from, arrival.to, message.receiver.get(), true);
        message.back = path(arrival.to, arrival.from, sender.get(), false);
        simulation.Connect(*sender, *message.receiver, *message.forth, *message.back, arrival.startPs);
    }
    simulation.Run();

    std::vector<double> ends;
    for (const auto& message : messages)
    {
        auto arrived = message.receiver->end;
        ends.push_back(arrived > 0 ? timeAsSec(arrived - message.arrival.startPs) : -1);
    }
    auto& out = simulation.out;
    out << "{\"ports\": [";
    const char* separator = "";
    for (auto& host : hosts)
    {
        host.watch->Account();
        out << separator << "{\"drops\": " << host.watch->drops << ", \"mean\": " << host.watch->lengths.Mean()
            << ", \"p99\": " << host.watch->lengths.Quantile(0.99) << "}";
        separator = ", ";
    }
    out << "]}" << std::endl;
    return duetime::WriteEnds(argv[3], ends) ? 0 : 1;
}
