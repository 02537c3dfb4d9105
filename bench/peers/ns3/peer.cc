// Sends the messages of duetime's traces over ns-3, so that both simulate the same arrivals.
//
//     peer PLAN TRACE MESSAGES
//
// PLAN has a setting per line, "name value" (see `Plan`), and the network as lines "hosts N", "switches M" and
// "link A B RATE DELAY": nodes by number, hosts first; bits per second and picoseconds. TRACE is what duetime reads
// as a traffic trace, start,src,dst,bytes[,deadline], with plain numbers: seconds, hosts, bytes. MESSAGES gets a line
// for each message, when its last byte arrived in seconds after its start; empty if it did not. Counters and queues go
// to the standard output as one JSON object.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/traffic-control-module.h"

#include "dctcp.h"
#include "duetime.h"
#include "ports.h"

#include <deque>
#include <tuple>

using namespace ns3;

namespace
{

using duetime::AddDevice;
using duetime::AddDisc;
using duetime::Plan;
using duetime::Refuse;
using duetime::UNLIMITED;

constexpr uint16_t PORT = 5000;
// The socket buffer of a plan without a limit, larger than any window: the congestion window alone limits a sender.
constexpr uint32_t UNLIMITED_BUFFER = 512u << 20;
// Packets above this size carry data.
constexpr uint32_t HEADERS_ONLY = 120;

Time
TimeOf(const Plan& plan, const std::string& name)
{
    return PicoSeconds(plan.Time(name));
}

struct Entry
{
    duetime::Arrival of;
    /// Bytes that the application has written into the socket.
    uint64_t written{0};
    uint64_t arrived{0};
    Time end{Time::Min()};
};

/// The time after which a connection is removed; none of its packets is then in flight. Each remaining connection adds
/// cost to every packet of its host.
constexpr double KEPT = 0.02;

std::vector<Entry> g_messages;
/// (receiving host, sender's address, sender's port) -> the message of the connection.
std::map<std::tuple<uint32_t, uint32_t, uint16_t>, std::size_t> g_carries;

/// A wire that delays data packets by up to their own transmission time, in order: duetime's host_jitter. Packets that
/// a host sends at one instant are delayed by the same share, or each by its own.
class JitterChannel : public PointToPointChannel
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("JitterChannel").SetParent<PointToPointChannel>().AddConstructor<JitterChannel>();
        return tid;
    }

    /// Delays the packets of this device.
    void Jitter(Ptr<PointToPointNetDevice> device, Ptr<UniformRandomVariable> draw, bool together)
    {
        m_jittered = device;
        m_draw = draw;
        m_together = together;
    }

    /// Draws the share of a packet that the device's queue receives.
    void Given(Ptr<const QueueDiscItem>)
    {
        if (!m_together || Simulator::Now() > m_given)
        {
            m_share = m_draw->GetValue();
        }
        m_given = Simulator::Now();
        m_shares.push_back(m_share);
    }

    bool TransmitStart(Ptr<const Packet> packet, Ptr<PointToPointNetDevice> source, Time transmission) override
    {
        if (source != m_jittered)
        {
            return PointToPointChannel::TransmitStart(packet, source, transmission);
        }
        Time late;
        if (packet->GetSize() > HEADERS_ONLY)
        {
            late = PicoSeconds(static_cast<int64_t>(m_shares.front() * transmission.GetPicoSeconds()));
        }
        m_shares.pop_front();
        m_last = std::max(m_last, Simulator::Now() + transmission + GetDelay() + late);
        auto target = GetPointToPointDevice(GetPointToPointDevice(0) == source ? 1 : 0);
        Simulator::ScheduleWithContext(target->GetNode()->GetId(),
                                       m_last - Simulator::Now(),
                                       &PointToPointNetDevice::Receive,
                                       target,
                                       packet->Copy());
        return true;
    }

  private:
    Ptr<PointToPointNetDevice> m_jittered;
    Ptr<UniformRandomVariable> m_draw;
    bool m_together{false};
    /// The delays of the waiting packets, as shares of their transmission times.
    std::deque<double> m_shares;
    double m_share{0};
    Time m_given{-1};
    Time m_last;
};

NS_OBJECT_ENSURE_REGISTERED(JitterChannel);

/// The window reduction of Linux after a mark or a loss, where ns-3 3.44's PRR differs. The data delivered by the first
/// acknowledgement counts once, and not twice and one segment more. It counts in proportion to the window before (RFC
/// 6937 3.1; Linux: tcp_cwnd_reduction). Losses found by duplicate ACKs halve at once (RFC 6675 5, 4.2), as in duetime.
class Reduction : public TcpRecoveryOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("Reduction").SetParent<TcpRecoveryOps>().AddConstructor<Reduction>();
        return tid;
    }

    std::string GetName() const override
    {
        return "Reduction";
    }

    void EnterRecovery(Ptr<TcpSocketState> tcb, uint32_t, uint32_t, uint32_t delivered) override
    {
        m_entered = Simulator::Now();
        m_delivered = 0;
        m_out = 0;
        m_before = tcb->m_cWnd;
        m_spreads = tcb->m_congState == TcpSocketState::CA_CWR;
        Reduce(tcb, delivered);
    }

    void DoRecovery(Ptr<TcpSocketState> tcb, uint32_t delivered, bool) override
    {
        // The base class calls twice for the acknowledgement that began the recovery.
        if (Simulator::Now() > m_entered)
        {
            Reduce(tcb, delivered);
        }
    }

    void ExitRecovery(Ptr<TcpSocketState> tcb) override
    {
        tcb->m_cWndInfl = tcb->m_cWnd;
    }

    void UpdateBytesSent(uint32_t bytes) override
    {
        m_out += bytes;
    }

    Ptr<TcpRecoveryOps> Fork() override
    {
        return CopyObject<Reduction>(this);
    }

  private:
    void Reduce(Ptr<TcpSocketState> tcb, int64_t delivered)
    {
        int64_t target = tcb->m_ssThresh;
        int64_t pipe = tcb->m_bytesInFlight;
        int64_t segment = tcb->m_segmentSize;
        m_delivered += delivered;
        int64_t more;
        if (pipe > target)
        {
            // Linux counts whole packets, and rounds up to them.
            int64_t share = (target * m_delivered + m_before * segment - 1) / (m_before * segment);
            more = share * segment - m_out;
        }
        else
        {
            more = std::min(target - pipe, std::max(m_delivered - m_out, delivered) + segment);
        }
        more = std::max(more, m_out > 0 ? 0 : segment);
        tcb->m_cWnd = static_cast<uint32_t>(m_spreads ? pipe + more : target);
        tcb->m_cWndInfl = tcb->m_cWnd;
    }

    Time m_entered;
    int64_t m_delivered{0};
    int64_t m_out{0};
    int64_t m_before{1};
    bool m_spreads{false};
};

NS_OBJECT_ENSURE_REGISTERED(Reduction);

/// Marks do not cut a window that a loss has cut and whose loss is not repaired (RFC 3168 6.1.2; Linux).
bool g_mendEcho;
/// Every data packet received with CE is echoed (RFC 8257 3.2; Linux: tcp_event_data_recv). ns-3 3.44 requires a
/// sequence number above that of the last packet with CE, and its ACKs are ECN-capable, too. So a mark on the
/// handshake's last ACK hides that of the first data packet.
bool g_mendCe;
/// A loss is found and repaired during a mark's reduction, too (Linux: tcp_fastretrans_alert changes from CWR to
/// Recovery). In CA_CWR ns-3 3.44 only counts duplicate ACKs, and that state lasts as long as the gap: until the
/// timeout each SACK allows new data.
bool g_mendCwr;
/// With SACK each acknowledgement of new data restarts the timer (RFC 6298 5.3; Linux: tcp_rearm_rto). In ns-3 3.44
/// only the first one of a recovery does, which RFC 6582 3.2 allows for NewReno.
bool g_mendTimer;
/// With SACK the pipe alone limits the transmissions after a partial ACK (RFC 6675 5, step C). ns-3 3.44 sends an
/// additional segment at each of them, as NewReno does, whatever the window.
bool g_mendPartial;
/// A retransmitted segment that has arrived is not in flight (RFC 6675 4, SetPipe). ns-3 3.44 removes it from
/// TcpTxBuffer::m_retrans when it is acknowledged, and not when it is SACKed. So after a segment that was lost twice,
/// each repair adds to the flight, and the window allows less.
bool g_mendPipe;

/// NewReno that halves the unacknowledged data (FlightSize, RFC 5681 2 and eq. 4). ns-3 3.44 halves its estimate of the
/// data in flight, which excludes lost and SACKed data. That is the less, the more a flow has lost.
class FlightSize : public TcpNewReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("FlightSize").SetParent<TcpNewReno>().AddConstructor<FlightSize>();
        return tid;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t) override
    {
        return HalfOfFlight(tcb);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<FlightSize>(this);
    }
};

NS_OBJECT_ENSURE_REGISTERED(FlightSize);

/// A socket with these corrections, which can be removed without packets.
class Mended : public TcpSocketBase
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("Mended").SetParent<TcpSocketBase>().AddConstructor<Mended>();
        return tid;
    }

    /// Returns true if all submitted data is acknowledged.
    bool IsDone() const
    {
        return m_txBuffer->Size() == 0;
    }

    /// Removes the connection without sending a packet.
    void Retire()
    {
        CancelAllTimers();
        DeallocateEndPoint();
        m_state = CLOSED;
    }

  protected:
    Ptr<TcpSocketBase> Fork() override
    {
        return CopyObject<Mended>(this);
    }

    void DoForwardUp(Ptr<Packet> packet, const Address& from, const Address& to) override
    {
        if (g_mendCe)
        {
            m_ecnCESeq = SequenceNumber32(0);
        }
        TcpSocketBase::DoForwardUp(packet, from, to);
    }

    uint32_t SendDataPacket(SequenceNumber32 number, uint32_t size, bool withAck) override
    {
        if (m_holdsBack)
        {
            // Callers only check that the result is not 0.
            return size;
        }
        bool again = number < m_tcb->m_highTxMark;
        uint32_t sent = TcpSocketBase::SendDataPacket(number, size, withAck);
        if (g_mendPipe && again)
        {
            m_sentAgain[number] = {sent, false};
        }
        return sent;
    }

    void ReTxTimeout() override
    {
        // From now on no segment counts as retransmitted: TcpTxBuffer::SetSentListLost.
        m_sentAgain.clear();
        TcpSocketBase::ReTxTimeout();
    }

    void ProcessAck(const SequenceNumber32& number,
                    bool news,
                    uint32_t delivered,
                    const SequenceNumber32& head,
                    bool hasData) override
    {
        m_holdsBack = g_mendPartial && m_sackEnabled && m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
        TcpSocketBase::ProcessAck(number, news, delivered, head, hasData);
        m_holdsBack = false;
    }

    void NewAck(const SequenceNumber32& number, bool restart) override
    {
        TcpSocketBase::NewAck(number, restart || (g_mendTimer && m_sackEnabled));
    }

    uint32_t BytesInFlight() const override
    {
        uint32_t bytes = TcpSocketBase::BytesInFlight();
        for (const auto& [number, segment] : m_sentAgain)
        {
            bytes -= segment.arrived ? std::min(segment.bytes, bytes) : 0;
        }
        m_tcb->m_bytesInFlight = bytes;
        return bytes;
    }

    void ReceivedAck(Ptr<Packet> packet, const TcpHeader& header) override
    {
        auto number = header.GetAckNumber();
        NoteArrived(header);
        bool repairing = m_tcb->m_congState == TcpSocketState::CA_LOSS || m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
        bool marked = header.GetFlags() & TcpHeader::ECE;
        if (g_mendEcho && repairing && marked && number <= m_recover)
        {
            // Counts for alpha only, as if the window had already been cut for it.
            m_ecnEchoSeq = std::max(m_ecnEchoSeq.Get(), number);
            m_tcb->m_ecnState = TcpSocketState::ECN_ECE_RCVD;
        }
        bool gap = header.HasOption(TcpOption::SACK) && m_dupAckCount + 1 >= m_retxThresh;
        if (g_mendCwr && gap && m_tcb->m_congState == TcpSocketState::CA_CWR)
        {
            m_tcb->m_congState = TcpSocketState::CA_DISORDER;
        }
        auto law = DynamicCast<Dctcp>(m_congestionControl);
        if (law && number >= m_txBuffer->HeadSequence())
        {
            law->Begin(m_tcb, number, marked);
            TcpSocketBase::ReceivedAck(packet, header);
            law->End(m_tcb);
        }
        else
        {
            TcpSocketBase::ReceivedAck(packet, header);
        }
    }

  private:
    /// Marks the retransmitted segments that an acknowledgement covers or SACKs.
    void NoteArrived(const TcpHeader& header)
    {
        m_sentAgain.erase(m_sentAgain.begin(), m_sentAgain.lower_bound(header.GetAckNumber()));
        if (m_sentAgain.empty() || !header.HasOption(TcpOption::SACK))
        {
            return;
        }
        for (const auto& [begin, end] : DynamicCast<const TcpOptionSack>(header.GetOption(TcpOption::SACK))->GetSackList())
        {
            for (auto each = m_sentAgain.lower_bound(begin); each != m_sentAgain.end() && each->first < end; ++each)
            {
                each->second.arrived = true;
            }
        }
    }

    struct Again
    {
        uint32_t bytes;
        bool arrived;
    };

    std::map<SequenceNumber32, Again> m_sentAgain;
    bool m_holdsBack{false};
};

NS_OBJECT_ENSURE_REGISTERED(Mended);

/// Creates a socket of our class, as TcpL4Protocol::CreateSocket does.
Ptr<Mended>
CreateSocket(Ptr<Node> node)
{
    auto tcp = node->GetObject<TcpL4Protocol>();
    auto make = [&](const std::string& attribute) {
        TypeIdValue type;
        tcp->GetAttribute(attribute, type);
        ObjectFactory factory;
        factory.SetTypeId(type.Get());
        return factory;
    };
    auto socket = CreateObject<Mended>();
    socket->SetNode(node);
    socket->SetTcp(tcp);
    socket->SetRtt(make("RttEstimatorType").Create<RttEstimator>());
    socket->SetCongestionControlAlgorithm(make("SocketType").Create<TcpCongestionOps>());
    socket->SetRecoveryAlgorithm(make("RecoveryType").Create<TcpRecoveryOps>());
    tcp->AddSocket(socket);
    return socket;
}

/// The time that a queue spent at each length, between two times.
class Watch
{
  public:
    Watch(Time from, Time to)
        : m_from(from),
          m_to(to),
          m_since(from)
    {
    }

    void DiscHolds(uint32_t, uint32_t packets)
    {
        Account();
        m_disc = packets;
    }

    void DeviceHolds(uint32_t, uint32_t packets)
    {
        Account();
        m_device = packets;
    }

    void Dropped(Ptr<const QueueDiscItem>)
    {
        drops += Counts();
    }

    void Marked(Ptr<const QueueDiscItem>, const char*)
    {
        marks += Counts();
    }

    /// Adds the time since the last change at the present length.
    void Account()
    {
        Time now = std::clamp(Simulator::Now(), m_from, m_to);
        lengths.Held(m_disc + m_device, (now - m_since).GetSeconds());
        m_since = now;
    }

    duetime::Lengths lengths;
    uint64_t drops{0};
    uint64_t marks{0};

  private:
    bool Counts() const
    {
        return Simulator::Now() >= m_from && Simulator::Now() < m_to;
    }

    Time m_from, m_to, m_since;
    uint32_t m_disc{0};
    uint32_t m_device{0};
};

uint64_t g_timeouts, g_recoveries, g_sent;
std::vector<Ptr<Mended>> g_senders;

void
Retire(std::size_t index, Ptr<Socket> receiver)
{
    if (g_senders[index]->IsDone())
    {
        g_senders[index]->Retire();
        DynamicCast<Mended>(receiver)->Retire();
        g_senders[index] = nullptr;
    }
    else
    {
        Simulator::Schedule(Seconds(KEPT), &Retire, index, receiver);
    }
}

void
Received(uint32_t host, Ptr<Socket> socket)
{
    Address address;
    socket->GetPeerName(address);
    auto peer = InetSocketAddress::ConvertFrom(address);
    auto found = g_carries.find({host, peer.GetIpv4().Get(), peer.GetPort()});
    NS_ABORT_MSG_IF(found == g_carries.end(), "data from nobody");
    auto& entry = g_messages[found->second];
    while (Ptr<Packet> packet = socket->Recv())
    {
        entry.arrived += packet->GetSize();
    }
    if (entry.arrived >= entry.of.bytes && entry.end == Time::Min())
    {
        entry.end = Simulator::Now();
        Simulator::Schedule(Seconds(KEPT), &Retire, found->second, socket);
    }
}

void
Accepted(uint32_t host, Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeBoundCallback(&Received, host));
}

void
StateChanged(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
    g_timeouts += state == TcpSocketState::CA_LOSS;
    g_recoveries += state == TcpSocketState::CA_RECOVERY;
}

void
Sent(Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>)
{
    g_sent += packet->GetSize() > 0;
}

/// Writes what the socket's buffer has room for, as an application does that blocks in write().
void
Write(std::size_t index, Ptr<Socket> socket, uint32_t room)
{
    auto& entry = g_messages[index];
    auto bytes = static_cast<uint32_t>(std::min<uint64_t>(entry.of.bytes - entry.written, room));
    if (bytes > 0)
    {
        // Before: to send may call this function again.
        entry.written += bytes;
        NS_ABORT_MSG_IF(socket->Send(Create<Packet>(bytes)) != static_cast<int>(bytes), "the socket's buffer has no room");
    }
}

void
Start(std::size_t index, Ptr<Node> node, Ipv4Address to)
{
    const auto& entry = g_messages[index];
    g_senders[index] = CreateSocket(node);
    Ptr<Socket> socket = g_senders[index];
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&StateChanged));
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&Sent));
    socket->Bind();
    NS_ABORT_MSG_IF(socket->Connect(InetSocketAddress(to, PORT)) != 0, "cannot connect");
    Address address;
    socket->GetSockName(address);
    auto own = InetSocketAddress::ConvertFrom(address);
    auto ip = node->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    g_carries[{entry.of.to, ip.Get(), own.GetPort()}] = index;
    Write(index, socket, socket->GetTxAvailable());
    socket->SetSendCallback(MakeBoundCallback(&Write, index));
}

void
Configure(const Plan& plan)
{
    Dctcp::mends = {.order = plan.Is("mend_order"),
                    .windows = plan.Is("mend_windows"),
                    .loss = plan.Is("mend_loss"),
                    .floor = plan.Is("mend_floor"),
                    .steps = plan.Is("mend_steps")};
    std::map<std::string, std::string> laws{{"dctcp", plan.Is("own_dctcp") ? "Dctcp" : "ns3::TcpDctcp"},
                                            {"tcp", plan.Is("mend_flight") ? "FlightSize" : "ns3::TcpNewReno"},
                                            {"linux-reno", "ns3::TcpLinuxReno"},
                                            {"cubic", "ns3::TcpCubic"}};
    auto law = laws.find(plan.Text("transport"));
    if (law == laws.end())
    {
        Refuse("unknown transport: " + plan.Text("transport"));
    }
    auto text = [](const std::string& name, const std::string& value) {
        Config::SetDefault(name, StringValue(value));
    };
    auto time = [&](const std::string& name, const std::string& setting) {
        Config::SetDefault(name, TimeValue(TimeOf(plan, setting)));
    };
    text("ns3::TcpL4Protocol::SocketType", law->second);
    std::map<std::string, std::string> reductions{{"prr", "ns3::TcpPrrRecovery"},
                                                  {"classic", "ns3::TcpClassicRecovery"},
                                                  {"mended", "Reduction"}};
    auto reduction = reductions.find(plan.Text("reduction"));
    if (reduction == reductions.end())
    {
        Refuse("unknown reduction: " + plan.Text("reduction"));
    }
    text("ns3::TcpL4Protocol::RecoveryType", reduction->second);
    g_mendEcho = plan.Is("mend_echo");
    g_mendCe = plan.Is("mend_ce");
    g_mendCwr = plan.Is("mend_cwr");
    g_mendTimer = plan.Is("mend_timer");
    g_mendPartial = plan.Is("mend_partial");
    g_mendPipe = plan.Is("mend_pipe");
    text("ns3::TcpSocketBase::UseEcn", plan.Text("ecn") == "1" ? "On" : "Off");
    text("ns3::TcpSocketBase::Sack", plan.Text("sack") == "1" ? "true" : "false");
    text("ns3::TcpSocketBase::LimitedTransmit", plan.Text("limited_transmit") == "1" ? "true" : "false");
    text("ns3::TcpSocketBase::Timestamp", "false");
    time("ns3::TcpSocketBase::MinRto", "rto_min");
    time("ns3::TcpSocketBase::ClockGranularity", "rto_granularity");
    time("ns3::RttEstimator::InitialEstimation", "rto_initial");
    time("ns3::TcpSocket::ConnTimeout", "rto_initial");
    time("ns3::TcpSocket::DelAckTimeout", "ack_delay");
    text("ns3::TcpSocket::DelAckCount", plan.Text("ack_every"));
    text("ns3::TcpSocket::SegmentSize", plan.Text("mss"));
    text("ns3::TcpSocket::InitialCwnd", plan.Text("initial_window"));
    text("ns3::TcpSocket::ConnCount", "1000");
    text("ns3::TcpSocket::DataRetries", "1000");
    auto buffer = static_cast<uint32_t>(plan.Number("socket_buffer"));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer == 0 ? UNLIMITED_BUFFER : buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(UNLIMITED_BUFFER));
    text("ns3::TcpCubic::HyStart", plan.Text("hystart") == "1" ? "true" : "false");
    if (law->first == "dctcp")
    {
        Dctcp::initialAlpha = plan.Number("initial_alpha");
        Dctcp::g = plan.Number("g");
        text("ns3::TcpDctcp::DctcpShiftG", plan.Text("g"));
        text("ns3::TcpDctcp::DctcpAlphaOnInit", plan.Text("initial_alpha"));
    }
}

/// Adds the queue of a port, and connects its watch.
Ptr<QueueDisc>
AddQueue(const Plan& plan, Ptr<PointToPointNetDevice> device, bool isSwitch, Watch* watch)
{
    auto buffer = static_cast<uint32_t>(plan.Number("buffer"));
    auto limit = static_cast<uint32_t>(plan.Number("host_packets"));
    auto disc = isSwitch ? AddDisc(device, buffer - 1, plan.Number("mark"), plan.links[0].rate)
                         : AddDisc(device, limit == 0 ? UNLIMITED : limit - 1, 0, 0);
    if (watch != nullptr)
    {
        disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Watch::DiscHolds, watch));
        disc->TraceConnectWithoutContext("Drop", MakeCallback(&Watch::Dropped, watch));
        disc->TraceConnectWithoutContext("Mark", MakeCallback(&Watch::Marked, watch));
        device->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Watch::DeviceHolds, watch));
    }
    return disc;
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 4)
    {
        Refuse("expected PLAN TRACE MESSAGES");
    }
    Time::SetResolution(Time::PS);
    Plan plan(argv[1]);
    RngSeedManager::SetSeed(static_cast<uint32_t>(plan.Number("seed")));
    Configure(plan);

    auto hosts = static_cast<uint32_t>(plan.Number("hosts"));
    for (const auto& arrival : duetime::ReadTrace(argv[2], hosts))
    {
        g_messages.push_back({arrival});
    }
    g_senders.resize(g_messages.size());
    NodeContainer nodes;
    nodes.Create(hosts + static_cast<uint32_t>(plan.Number("switches")));
    InternetStackHelper().Install(nodes);

    // A watch for each port of a switch, by the node at its other end.
    std::map<std::pair<uint32_t, uint32_t>, Watch> watches;
    std::vector<Ipv4Address> addresses(hosts);
    Ipv4AddressHelper subnets("10.0.0.0", "255.255.255.252");
    auto draw = CreateObject<UniformRandomVariable>();
    bool jitter = plan.Text("jitter") != "none";
    for (const auto& link : plan.links)
    {
        auto channel = CreateObject<JitterChannel>();
        channel->SetAttribute("Delay", TimeValue(PicoSeconds(link.delayPs)));
        NetDeviceContainer devices;
        for (auto [node, other] : {std::pair{link.a, link.b}, std::pair{link.b, link.a}})
        {
            auto device = AddDevice(nodes.Get(node), link);
            device->Attach(channel);
            Watch* watch = nullptr;
            if (node >= hosts)
            {
                Watch fresh(TimeOf(plan, "warm_up"), TimeOf(plan, "duration"));
                watch = &watches.emplace(std::pair{node, other}, fresh).first->second;
            }
            else if (jitter)
            {
                channel->Jitter(device, draw, plan.Text("jitter") == "together");
            }
            auto disc = AddQueue(plan, device, node >= hosts, watch);
            if (jitter && node < hosts)
            {
                disc->TraceConnectWithoutContext("Enqueue", MakeCallback(&JitterChannel::Given, channel));
            }
            devices.Add(device);
        }
        auto interfaces = subnets.Assign(devices);
        for (uint32_t end = 0; end < 2; end++)
        {
            uint32_t node = end == 0 ? link.a : link.b;
            if (node < hosts)
            {
                addresses[node] = interfaces.GetAddress(end);
            }
        }
        subnets.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (uint32_t host = 0; host < hosts; host++)
    {
        auto listening = CreateSocket(nodes.Get(host));
        listening->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        listening->Listen();
        listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                     MakeBoundCallback(&Accepted, host));
    }
    for (std::size_t index = 0; index < g_messages.size(); index++)
    {
        const auto& entry = g_messages[index];
        Simulator::ScheduleWithContext(entry.of.from,
                                       PicoSeconds(entry.of.startPs),
                                       &Start,
                                       index,
                                       nodes.Get(entry.of.from),
                                       addresses[entry.of.to]);
    }
    Simulator::Stop(TimeOf(plan, "end"));
    Simulator::Run();

    std::vector<double> ends;
    for (const auto& entry : g_messages)
    {
        ends.push_back(entry.end == Time::Min() ? -1 : (entry.end - PicoSeconds(entry.of.startPs)).GetSeconds());
    }
    std::cout << "{\"timeouts\": " << g_timeouts << ", \"recoveries\": " << g_recoveries << ", \"sent\": " << g_sent
              << ", \"ports\": [";
    const char* separator = "";
    for (auto& [port, watch] : watches)
    {
        watch.Account();
        std::cout << separator << "{\"from\": " << port.first << ", \"to\": " << port.second
                  << ", \"drops\": " << watch.drops << ", \"marks\": " << watch.marks
                  << ", \"mean\": " << watch.lengths.Mean() << ", \"p5\": " << watch.lengths.Quantile(0.05)
                  << ", \"p99\": " << watch.lengths.Quantile(0.99) << "}";
        separator = ", ";
    }
    std::cout << "]}\n";
    Simulator::Destroy();
    return duetime::WriteEnds(argv[3], ends) ? 0 : 1;
}
