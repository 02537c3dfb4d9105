// Sends the messages of duetime's traces through a star of csg-htsim, so that both simulate the same arrivals.
//
//     peer PLAN TRACE MESSAGES
//
// The arguments, and what is written, are those of the driver for ns-3 (bench/peers/ns3/peer.cc). Of the plan are read:
// transport (tcp, dctcp), warm_up, duration and end (seconds), hosts, rate (bit/s), delay (ps, of each wire), mss (bytes
// of payload), wire (bytes of a full packet), initial_window (packets), buffer and mark (bytes waiting; mark 0: none),
// jitter (0 or 1) and seed. htsim counts what it sends in whole packets, so that each message must be a multiple of mss.
//
// It links against the libhtsim.a that the user has built; nothing of it is kept here.

#include "config.h"
#include "dctcp.h"
#include "ecnqueue.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <vector>

namespace
{

// htsim looks at its retransmission timers this often; its own mains take 10 ms.
constexpr double SCAN_S = 1e-3;

[[noreturn]] void
Refuse(const std::string& message)
{
    std::cerr << "peer: " << message << "\n";
    std::exit(2);
}

simtime_picosec
Picoseconds(double seconds)
{
    return static_cast<simtime_picosec>(std::llround(seconds * 1e12));
}

struct Plan
{
    std::map<std::string, std::string> settings;

    explicit Plan(const std::string& path)
    {
        std::ifstream file(path);
        std::string line, name, value;
        while (std::getline(file, line))
        {
            std::istringstream words(line);
            if (words >> name >> value)
            {
                settings[name] = value;
            }
        }
    }

    const std::string& Text(const std::string& name) const
    {
        auto found = settings.find(name);
        if (found == settings.end())
        {
            Refuse("the plan does not say " + name);
        }
        return found->second;
    }

    double Number(const std::string& name) const
    {
        return std::stod(Text(name));
    }
};

/// A port of the switch: how long how many packets waited behind the one that is being sent, between two times.
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
        m_held[std::max(m_packets - 1, 0)] += timeAsSec(now - m_since);
        m_since = now;
    }

    double Mean() const
    {
        double area = 0, time = 0;
        for (auto [length, held] : m_held)
        {
            area += length * held;
            time += held;
        }
        return time > 0 ? area / time : 0;
    }

    int Quantile(double share) const
    {
        double time = 0, below = 0;
        for (auto [length, held] : m_held)
        {
            time += held;
        }
        for (auto [length, held] : m_held)
        {
            below += held;
            if (below >= share * time)
            {
                return length;
            }
        }
        return 0;
    }

    unsigned drops{0};

  private:
    simtime_picosec m_from, m_to, m_since;
    int m_packets{0};
    std::map<int, double> m_held;
};

/// What a host sends arrives up to its own transmission later, never out of order: duetime's host_jitter.
class Jitter : public EventSource, public PacketSink
{
  public:
    Jitter(double psPerByte, std::mt19937_64& draws)
        : EventSource("jitter"),
          m_psPerByte(psPerByte),
          m_draws(draws),
          m_name("jitter")
    {
    }

    void receivePacket(Packet& packet) override
    {
        double share = std::uniform_real_distribution<double>()(m_draws);
        auto late = static_cast<simtime_picosec>(share * packet.size() * m_psPerByte);
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

  private:
    double m_psPerByte;
    std::mt19937_64& m_draws;
    simtime_picosec m_last{0};
    std::deque<Packet*> m_waiting;
    string m_name;
};

/// A receiver that knows when it has everything.
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
    /// htsim's SYN is the first byte.
    uint64_t m_last;
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
    simtime_picosec start;
    unsigned from, to;
    uint64_t packets;
    std::unique_ptr<TcpSrc> sender;
    std::unique_ptr<Receiver> receiver;
    std::unique_ptr<Route> forth, back;
};

std::vector<Message>
ReadTrace(const std::string& path, unsigned hosts, uint64_t mss)
{
    std::ifstream file(path);
    std::string line;
    if (!file || !std::getline(file, line) || line.rfind("start,from,to,bytes", 0) != 0)
    {
        Refuse(path + ": expected the header start,from,to,bytes,deadline");
    }
    std::vector<Message> messages;
    while (std::getline(file, line))
    {
        std::replace(line.begin(), line.end(), ',', ' ');
        std::istringstream words(line);
        double start;
        uint64_t bytes;
        Message message{};
        words >> start >> message.from >> message.to >> bytes;
        if (words.fail() || message.from >= hosts || message.to >= hosts || bytes == 0 || bytes % mss != 0)
        {
            Refuse(path + ": not understood, or no multiple of mss: " + line);
        }
        message.start = Picoseconds(start);
        message.packets = bytes / mss;
        messages.push_back(std::move(message));
    }
    return messages;
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 4)
    {
        Refuse("expected PLAN TRACE MESSAGES");
    }
    Plan plan(argv[1]);
    // htsim tells of its flows on the standard output.
    std::ostream out(std::cout.rdbuf(nullptr));
    auto& events = EventList::getTheEventList();
    auto end = Picoseconds(plan.Number("end"));
    EventList::setEndtime(end);
    auto wire = static_cast<int>(plan.Number("wire"));
    Packet::set_packet_size(wire);
    auto rate = static_cast<linkspeed_bps>(plan.Number("rate"));
    auto delay = static_cast<simtime_picosec>(plan.Number("delay"));
    auto mark = static_cast<mem_b>(plan.Number("mark"));
    // The packet that is being sent has a place here.
    auto buffer = static_cast<mem_b>(plan.Number("buffer")) + wire;
    bool isDctcp = plan.Text("transport") == "dctcp";
    if (!isDctcp && plan.Text("transport") != "tcp")
    {
        Refuse("unknown transport: " + plan.Text("transport"));
    }
    std::mt19937_64 draws(static_cast<uint64_t>(plan.Number("seed")));

    std::vector<Host> hosts(static_cast<std::size_t>(plan.Number("hosts")));
    for (auto& host : hosts)
    {
        host.up = std::make_unique<Queue>(rate, mem_b(1) << 40, events, nullptr);
        host.watch = std::make_unique<Watch>(Picoseconds(plan.Number("warm_up")), Picoseconds(plan.Number("duration")));
        if (mark > 0)
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

    bool jitter = plan.Number("jitter") != 0;
    auto path = [&](unsigned from, unsigned to, PacketSink* last, bool data) {
        auto route = std::make_unique<Route>();
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

    TcpRtxTimerScanner timers(Picoseconds(SCAN_S), events);
    auto messages = ReadTrace(argv[2], hosts.size(), static_cast<uint64_t>(plan.Number("mss")));
    for (auto& message : messages)
    {
        auto& sender = message.sender;
        sender.reset(isDctcp ? new DCTCPSrc(nullptr, nullptr, events) : new TcpSrc(nullptr, nullptr, events));
        message.receiver = std::make_unique<Receiver>(message.packets);
        // It sends while what was sent, with the SYN's byte, is at most this and one.
        sender->_flow_size = (message.packets - 1) * wire;
        // One less: the answer to the SYN lets the window grow there, which RFC 5681 3.1 forbids.
        sender->set_cwnd(static_cast<uint64_t>(plan.Number("initial_window") - 1) * wire);
        sender->set_ssthresh(0xffffffff);
        message.forth = path(message.from, message.to, message.receiver.get(), true);
        message.back = path(message.to, message.from, sender.get(), false);
        timers.registerTcp(*sender);
        sender->connect(*message.forth, *message.back, *message.receiver, message.start);
    }
    while (events.doNextEvent() && EventList::now() < end)
    {
    }

    std::ofstream ends(argv[3]);
    ends.precision(13);
    for (const auto& message : messages)
    {
        if (message.receiver->end > 0)
        {
            ends << timeAsSec(message.receiver->end - message.start);
        }
        ends << "\n";
    }
    out << "{\"ports\": [";
    const char* separator = "";
    for (auto& host : hosts)
    {
        host.watch->Account();
        out << separator << "{\"drops\": " << host.watch->drops << ", \"mean\": " << host.watch->Mean()
            << ", \"p99\": " << host.watch->Quantile(0.99) << "}";
        separator = ", ";
    }
    out << "]}" << std::endl;
    return ends.good() ? 0 : 1;
}
