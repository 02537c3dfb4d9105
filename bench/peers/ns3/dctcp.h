// DCTCP with corrections where ns-3 3.44 differs from RFC 8257 and Linux, each with its own switch.

#pragma once

#include "ns3/internet-module.h"

/// Returns half of the unacknowledged data (FlightSize, RFC 5681 2 and eq. 4), at most half of the window.
inline uint32_t
HalfOfFlight(ns3::Ptr<const ns3::TcpSocketState> tcb)
{
    uint32_t flight = tcb->m_highTxMark.Get() - tcb->m_lastAckedSeq;
    return std::max(2 * tcb->m_segmentSize, std::min<uint32_t>(tcb->m_cWnd, flight) / 2);
}

class Dctcp : public ns3::TcpDctcp
{
  public:
    struct Mends
    {
        /// The acknowledgement that causes a cut is counted first (RFC 8257 3.3: alpha is updated in steps 1 to 8, the
        /// cut is step 9; Linux: tcp_in_ack_event before tcp_fastretrans_alert). ns-3 cuts by the alpha of the window
        /// before.
        bool order;
        /// The first observation window ends with the first acknowledgement, and each later one when more than it is
        /// acknowledged (RFC 8257 3.3: WindowEnd begins at SND.UNA). In ns-3 the first ends at the SND.NXT of that
        /// acknowledgement, a window later, and each later one when all of it is acknowledged.
        bool windows;
        /// A loss halves the window (RFC 8257 3.5; Linux: dctcp_react_to_loss). ns-3 cuts it by alpha/2.
        bool loss;
        /// The minimum window after a cut is two segments (Linux: dctcp_ssthresh). ns-3 has no floor.
        bool floor;
        /// A cut restarts the count of acknowledged bytes until the next growth by a segment (Linux:
        /// tcp_init_cwnd_reduction). That growth takes the whole window (RFC 5681 3.1). ns-3 continues the old count,
        /// and counts the whole segments of the window.
        bool steps;
    };

    static inline Mends mends;
    static inline double initialAlpha;
    static inline double g;

    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("Dctcp").SetParent<ns3::TcpDctcp>().AddConstructor<Dctcp>();
        return tid;
    }

    /// Begins an acknowledgement of all bytes before `number`, with an echo or without.
    void Begin(ns3::Ptr<const ns3::TcpSocketState> tcb, ns3::SequenceNumber32 number, bool marked)
    {
        m_number = number;
        m_marked = marked;
        m_next = std::max(number, tcb->m_nextTxSequence.Get());
        m_answering = true;
        m_counted = false;
        if (!m_observing)
        {
            m_observing = true;
            m_windowEnd = mends.windows ? tcb->m_lastAckedSeq : m_next;
        }
    }

    /// Ends the handling of the acknowledgement.
    void End(ns3::Ptr<const ns3::TcpSocketState> tcb)
    {
        Count(tcb);
        m_answering = false;
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t) override
    {
        m_credit = 0;
        bool lost = !m_answering || tcb->m_congState == ns3::TcpSocketState::CA_RECOVERY;
        if (lost && mends.loss)
        {
            return HalfOfFlight(tcb);
        }
        if (mends.order)
        {
            Count(tcb);
        }
        auto cut = static_cast<uint32_t>((1 - m_alpha / 2) * tcb->m_cWnd);
        return mends.floor ? std::max(cut, 2 * tcb->m_segmentSize) : cut;
    }

    void PktsAcked(ns3::Ptr<ns3::TcpSocketState>, uint32_t, const ns3::Time&) override
    {
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<Dctcp>(this);
    }

  protected:
    void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segments) override
    {
        if (!mends.steps)
        {
            ns3::TcpDctcp::CongestionAvoidance(tcb, segments);
            return;
        }
        m_credit += segments * tcb->m_segmentSize;
        if (m_credit >= tcb->m_cWnd)
        {
            m_credit = 0;
            tcb->m_cWnd += tcb->m_segmentSize;
        }
    }

  private:
    /// RFC 8257 3.3, steps 1 to 8, once for each acknowledgement.
    void Count(ns3::Ptr<const ns3::TcpSocketState> tcb)
    {
        if (m_counted)
        {
            return;
        }
        m_counted = true;
        m_acked += tcb->m_lastAckedSackedBytes;
        m_ackedMarked += m_marked ? tcb->m_lastAckedSackedBytes : 0;
        bool ended = mends.windows ? m_number > m_windowEnd : m_number >= m_windowEnd;
        if (ended && m_acked > 0)
        {
            m_alpha = (1 - g) * m_alpha + g * m_ackedMarked / m_acked;
            m_acked = 0;
            m_ackedMarked = 0;
            m_windowEnd = m_next;
        }
    }

    double m_alpha{initialAlpha};
    double m_acked{0};
    double m_ackedMarked{0};
    uint32_t m_credit{0};
    ns3::SequenceNumber32 m_windowEnd, m_number, m_next;
    bool m_marked{false};
    bool m_observing{false};
    bool m_answering{false};
    bool m_counted{true};
};

NS_OBJECT_ENSURE_REGISTERED(Dctcp);
