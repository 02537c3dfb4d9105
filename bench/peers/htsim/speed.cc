// How fast csg-htsim carries a workload of DCTCP over a tree of switches.
//
//     speed PLAN TRACE
//
// Of the plan are read: hosts, switches, the links, wire (bytes of a full packet), mss (bytes of payload),
// initial_window (packets), buffer, mark and mark_uplink (bytes waiting, at ports to hosts and between switches) and end
// (seconds). The trace's messages from one host to another share a connection, which stays open; each has a multiple of
// mss. Counts, and the seconds that the event loop took, go to the standard output as one JSON object.
//
// It links against the libhtsim.a that the user has built; nothing of it is kept here.

#include "dctcp.h"
#include "simulation.h"

#include <chrono>

namespace
{

using duetime::Arrival;
using duetime::Plan;
using duetime::Refuse;

// The interval in which htsim checks its retransmission timers, as in its own main functions.
constexpr double SCAN_S = 10e-3;

/// One direction of a wire, and the queue before it.
struct Direction
{
    uint32_t to;
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Pipe> pipe;
};

class Tree
{
  public:
    Tree(const Plan& plan, htsim::Simulation& simulation)
        : m_next(static_cast<std::size_t>(plan.Number("hosts") + plan.Number("switches")))
    {
        auto hosts = static_cast<uint32_t>(plan.Number("hosts"));
        auto& events = simulation.events;
        for (const auto& link : plan.links)
        {
            for (auto [from, to] : {std::pair{link.a, link.b}, std::pair{link.b, link.a}})
            {
                std::unique_ptr<Queue> queue;
                if (from < hosts)
                {
                    queue = simulation.Nic(link.rate);
                }
                else
                {
                    auto mark = static_cast<mem_b>(plan.Number(to < hosts ? "mark" : "mark_uplink"));
                    auto wire = simulation.wire;
                    queue = std::make_unique<ECNQueue>(link.rate, simulation.buffer, events, nullptr, mark + wire);
                }
                m_next[from].push_back({to, std::move(queue), std::make_unique<Pipe>(link.delayPs, events)});
            }
        }
    }

    /// Returns the only route from one host to another, and then to `last`.
    std::unique_ptr<Route> Path(uint32_t from, uint32_t to, PacketSink& last) const
    {
        auto route = std::make_unique<Route>();
        if (!Extend(*route, from, from, to))
        {
            Refuse("no way from " + std::to_string(from) + " to " + std::to_string(to));
        }
        route->push_back(&last);
        return route;
    }

  private:
    /// Adds the route from `node`, which was reached from `before`, to `to`; returns false if there is none.
    bool Extend(Route& route, uint32_t before, uint32_t node, uint32_t to) const
    {
        if (node == to)
        {
            return true;
        }
        for (const auto& direction : m_next[node])
        {
            Route rest;
            if (direction.to != before && Extend(rest, node, direction.to, to))
            {
                route.push_back(direction.queue.get());
                route.push_back(direction.pipe.get());
                for (auto sink : rest)
                {
                    route.push_back(sink);
                }
                return true;
            }
        }
        return false;
    }

    std::vector<std::vector<Direction>> m_next;
};

/// A sender that receives further data over time.
class Sender : public DCTCPSrc
{
  public:
    using DCTCPSrc::DCTCPSrc;

    void Give(uint64_t packets)
    {
        m_given += packets;
        // htsim sends while the bytes sent, including the SYN's, are at most this and one.
        _flow_size = (m_given - 1) * _mss;
        if (_established)
        {
            send_packets();
        }
    }

  private:
    uint64_t m_given{0};
};

struct Connection
{
    std::unique_ptr<Sender> sender;
    std::unique_ptr<TcpSink> receiver;
    std::unique_ptr<Route> forth, back;
};

/// Passes the messages to their senders at their starts, in that order.
class Feed : public EventSource
{
  public:
    Feed(EventList& events, std::vector<Arrival> arrivals, uint64_t mss, std::map<std::pair<uint32_t, uint32_t>, Connection>& to)
        : EventSource(events, "feed"),
          m_arrivals(std::move(arrivals)),
          m_mss(mss),
          m_to(to)
    {
        eventlist().sourceIsPending(*this, m_arrivals[0].startPs);
    }

    void doNextEvent() override
    {
        const auto& arrival = m_arrivals[m_given++];
        m_to.at({arrival.from, arrival.to}).sender->Give(arrival.bytes / m_mss);
        if (m_given < m_arrivals.size())
        {
            eventlist().sourceIsPending(*this, m_arrivals[m_given].startPs);
        }
    }

  private:
    std::vector<Arrival> m_arrivals;
    uint64_t m_mss;
    std::map<std::pair<uint32_t, uint32_t>, Connection>& m_to;
    std::size_t m_given{0};
};

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 3)
    {
        Refuse("expected PLAN TRACE");
    }
    Plan plan(argv[1]);
    htsim::Simulation simulation(plan, SCAN_S);
    auto& events = simulation.events;
    Tree tree(plan, simulation);
    auto arrivals = duetime::ReadTrace(argv[2], static_cast<uint32_t>(plan.Number("hosts")), simulation.mss);
    std::map<std::pair<uint32_t, uint32_t>, Connection> connections;
    for (const auto& arrival : arrivals)
    {
        auto [found, fresh] = connections.try_emplace({arrival.from, arrival.to});
        if (!fresh)
        {
            continue;
        }
        auto& connection = found->second;
        connection.sender = std::make_unique<Sender>(nullptr, nullptr, events);
        connection.receiver = std::make_unique<TcpSink>();
        connection.forth = tree.Path(arrival.from, arrival.to, *connection.receiver);
        connection.back = tree.Path(arrival.to, arrival.from, *connection.sender);
        simulation.Connect(
            *connection.sender, *connection.receiver, *connection.forth, *connection.back, arrival.startPs);
    }
    Feed feed(events, std::move(arrivals), simulation.mss, connections);

    auto before = std::chrono::steady_clock::now();
    simulation.Run();
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;

    uint64_t delivered = 0;
    for (const auto& [pair, connection] : connections)
    {
        delivered += connection.receiver->cumulative_ack() / static_cast<uint64_t>(simulation.wire);
    }
    simulation.out << "{\"delivered\": " << delivered << ", \"seconds\": " << took.count() << "}" << std::endl;
    return 0;
}
