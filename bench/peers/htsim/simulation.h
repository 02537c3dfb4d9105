// What the drivers of csg-htsim begin with alike: from the plan to connections that may send.

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

/// htsim as the plan wants it, before there is a network.
struct Simulation
{
    /// It looks at its retransmission timers every `scan` seconds.
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

    /// A port of a host: what it sends waits there for as long as it must.
    std::unique_ptr<Queue> Nic(linkspeed_bps rate)
    {
        return std::make_unique<Queue>(rate, mem_b(1) << 40, events, nullptr);
    }

    /// Lets a sender begin at a time, with the window of the plan.
    void Connect(TcpSrc& sender, TcpSink& receiver, const Route& forth, const Route& back, simtime_picosec at)
    {
        // One less: the answer to the SYN lets the window grow there, which RFC 5681 3.1 forbids.
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
    /// The standard output: htsim tells of its flows there, and no longer does.
    std::ostream out;
    simtime_picosec end;
    /// Bytes of a full packet, and of its payload.
    int wire;
    uint64_t mss;
    /// Of a port of a switch: the packet that is being sent has a place there.
    mem_b buffer;

  private:
    uint64_t m_initial;
    TcpRtxTimerScanner m_timers;
};

} // namespace htsim
