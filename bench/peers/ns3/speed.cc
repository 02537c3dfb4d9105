// How fast ns-3 carries a workload of DCTCP over a tree of switches.
//
//     speed PLAN TRACE
//
// Of the plan are read: hosts, switches, the links, mss, initial_window, buffer, mark and mark_uplink (packets, at ports to
// hosts and between switches), ack_every and end (seconds). The trace's messages from one host to another share a
// connection, which stays open. Counts, and the seconds that the event loop took, go to the standard output as one JSON
// object.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/traffic-control-module.h"

#include "duetime.h"
#include "ports.h"

#include <chrono>

using namespace ns3;

namespace
{

using duetime::AddDevice;
using duetime::AddDisc;
using duetime::Plan;
using duetime::Refuse;
using duetime::UNLIMITED;

constexpr uint16_t PORT = 5000;
constexpr uint32_t SOCKET_BUFFER = 512u << 20;
/// The bytes in the socket's buffer of an endless connection, which is refilled when half of it is sent.
constexpr uint32_t REFILL = 1u << 20;

uint64_t g_delivered = 0;

void
Arrived(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        g_delivered += packet->GetSize();
    }
}

void
Accepted(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&Arrived));
}

/// A connection, and the bytes that are not yet in its socket's buffer.
struct Connection
{
    Ptr<Socket> socket;
    uint64_t waiting{0};
};

std::map<std::pair<uint32_t, uint32_t>, Connection> g_connections;

void
Fill(Connection& connection)
{
    while (connection.waiting > 0)
    {
        auto now = static_cast<uint32_t>(std::min<uint64_t>(connection.waiting, REFILL));
        if (connection.socket->GetTxAvailable() < SOCKET_BUFFER - REFILL)
        {
            return;
        }
        NS_ABORT_MSG_IF(connection.socket->Send(Create<Packet>(now)) != static_cast<int>(now), "the socket took less");
        connection.waiting -= now;
    }
}

/// Handles new room in the socket's buffer.
void
Room(Connection* connection, Ptr<Socket>, uint32_t)
{
    Fill(*connection);
}

void
Give(Ptr<Node> from, Ipv4Address to, std::pair<uint32_t, uint32_t> pair, uint64_t bytes)
{
    auto& connection = g_connections[pair];
    connection.waiting += bytes;
    if (!connection.socket)
    {
        connection.socket = Socket::CreateSocket(from, TcpSocketFactory::GetTypeId());
        connection.socket->SetSendCallback(MakeBoundCallback(&Room, &connection));
        connection.socket->Bind();
        NS_ABORT_MSG_IF(connection.socket->Connect(InetSocketAddress(to, PORT)) != 0, "cannot connect");
    }
    Fill(connection);
}

void
Configure(const Plan& plan)
{
    auto text = [](const std::string& name, const std::string& value) {
        Config::SetDefault(name, StringValue(value));
    };
    text("ns3::TcpL4Protocol::SocketType", "ns3::TcpDctcp");
    text("ns3::TcpSocketBase::UseEcn", "On");
    text("ns3::TcpSocketBase::Timestamp", "false");
    text("ns3::TcpSocket::SegmentSize", plan.Text("mss"));
    text("ns3::TcpSocket::InitialCwnd", plan.Text("initial_window"));
    text("ns3::TcpSocket::DelAckCount", plan.Text("ack_every"));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(SOCKET_BUFFER));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(SOCKET_BUFFER));
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 3)
    {
        Refuse("expected PLAN TRACE");
    }
    Time::SetResolution(Time::PS);
    Plan plan(argv[1]);
    Configure(plan);
    auto hosts = static_cast<uint32_t>(plan.Number("hosts"));
    NodeContainer nodes;
    nodes.Create(hosts + static_cast<uint32_t>(plan.Number("switches")));
    InternetStackHelper().Install(nodes);
    std::vector<Ipv4Address> addresses(hosts);
    Ipv4AddressHelper subnets("10.0.0.0", "255.255.255.252");
    for (const auto& link : plan.links)
    {
        auto channel = CreateObject<PointToPointChannel>();
        channel->SetAttribute("Delay", TimeValue(PicoSeconds(link.delayPs)));
        NetDeviceContainer devices;
        for (auto [node, other] : {std::pair{link.a, link.b}, std::pair{link.b, link.a}})
        {
            auto device = AddDevice(nodes.Get(node), link);
            device->Attach(channel);
            if (node < hosts)
            {
                AddDisc(device, UNLIMITED, 0, 0);
            }
            else
            {
                auto k = plan.Number(other < hosts ? "mark" : "mark_uplink");
                AddDisc(device, static_cast<uint32_t>(plan.Number("buffer")), k, link.rate);
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
        auto listening = Socket::CreateSocket(nodes.Get(host), TcpSocketFactory::GetTypeId());
        listening->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        listening->Listen();
        listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Accepted));
    }
    for (const auto& arrival : duetime::ReadTrace(argv[2], hosts))
    {
        Simulator::ScheduleWithContext(arrival.from,
                                       PicoSeconds(arrival.startPs),
                                       &Give,
                                       nodes.Get(arrival.from),
                                       addresses[arrival.to],
                                       std::pair{arrival.from, arrival.to},
                                       arrival.bytes);
    }
    Simulator::Stop(PicoSeconds(plan.Time("end")));
    auto before = std::chrono::steady_clock::now();
    Simulator::Run();
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    std::cout << "{\"delivered\": " << g_delivered / static_cast<uint64_t>(plan.Number("mss"))
              << ", \"seconds\": " << took.count() << "}" << std::endl;
    return 0;
}
