// The common beginning of the drivers for csg-htsim: from the plan to connections that may send.

#pragma once

#include "config.h"
#include "ecnqueue.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

#include "duetime.h"

#include <memory>

namespace htsim
{

/// htsim's state according to the plan, before there is a network.
struct Simulation
{
    /// Creates the simulation. It checks the retransmission timers every `scan` seconds.
    Simulation(const duetime::Plan& plan, double scan)
        : out(std::cout.rdbuf(nullptr)),
          end(plan.Time("end")),
          wire(static_cast<int>(plan.Number("wire"))),
          mss(static_cast<uint64_t>(plan.Number("mss"))),
          buffer(static_cast<mem_b>(plan.Number("buffer")) + wire),
          m_initial(static_cast<uint64_t>(plan.Number("initial_window") - 1) * wire),
          m_timers(duetime::Picoseconds(scan), events)
    {
        EventList::setEndtime(end);
        Packet::set_packet_size(wire);
    }

    /// Returns a port of a host, whose queue has no limit in effect.
    std::unique_ptr<Queue> Nic(linkspeed_bps rate)
    {
        return std::make_unique<Queue>(rate, mem_b(1) << 40, events, nullptr);
    }

    /// Connects a sender at a time, with the initial window of the plan.
    void Connect(TcpSrc& sender, TcpSink& receiver, const Route& forth, const Route& back, simtime_picosec at)
    {
        // One less, since htsim grows the window at the SYN's answer, which RFC 5681 3.1 forbids.
        sender.set_cwnd(m_initial);
        sender.set_ssthresh(0xffffffff);
        m_timers.registerTcp(sender);
        sender.connect(forth, back, receiver, at);
    }

    void Run()
    {
        while (events.doNextEvent() && EventList::now() < end)
        {
        }
    }

    EventList& events = EventList::getTheEventList();
    /// The standard output, on which htsim would otherwise print its flows.
    std::ostream out;
    simtime_picosec end;
    /// The size of a full packet and of its payload, in bytes.
    int wire;
    uint64_t mss;
    /// The buffer of a switch's port, including the packet in transmission.
    mem_b buffer;

  private:
    uint64_t m_initial;
    TcpRtxTimerScanner m_timers;
};

} // namespace htsim
