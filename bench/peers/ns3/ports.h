// Common parts of the drivers for ns-3: devices that hold one packet, and ports that mark above a threshold.

#pragma once

#include "ns3/network-module.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/traffic-control-module.h"

#include "duetime.h"

namespace duetime
{

/// The capacity of a host's queue in packets, in effect unlimited.
constexpr uint32_t UNLIMITED = 1000000;

inline ns3::Ptr<ns3::PointToPointNetDevice>
AddDevice(ns3::Ptr<ns3::Node> node, const Link& link)
{
    using namespace ns3;
    auto device = CreateObject<PointToPointNetDevice>();
    device->SetAddress(Mac48Address::Allocate());
    device->SetDataRate(DataRate(link.rate));
    node->AddDevice(device);
    // One packet in addition to the one in transmission, so that all others wait in the queue disc.
    auto queue = CreateObjectWithAttributes<DropTailQueue<Packet>>("MaxSize", StringValue("1p"));
    device->SetQueue(queue);
    auto interface = CreateObject<NetDeviceQueueInterface>();
    interface->GetTxQueue(0)->ConnectQueueTraces(queue);
    device->AggregateObject(interface);
    return device;
}

/// Adds a queue disc for `room` packets. It marks a packet that finds K - 1 others in it: with that packet and the
/// device's one the queue exceeds K. With K = 0 it marks no packet.
inline ns3::Ptr<ns3::QueueDisc>
AddDisc(ns3::Ptr<ns3::PointToPointNetDevice> device, uint32_t room, double k, uint64_t rate)
{
    using namespace ns3;
    TrafficControlHelper control;
    StringValue size(std::to_string(room) + "p");
    if (k > 0)
    {
        control.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MaxSize", size,
                                 "MinTh", DoubleValue(k - 1),
                                 "MaxTh", DoubleValue(k - 1),
                                 "QW", DoubleValue(1),
                                 "Gentle", BooleanValue(false),
                                 "UseEcn", BooleanValue(true),
                                 "UseHardDrop", BooleanValue(false),
                                 "LinkBandwidth", DataRateValue(DataRate(rate)),
                                 "MeanPktSize", UintegerValue(1500));
    }
    else
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", size);
    }
    return control.Install(device).Get(0);
}

} // namespace duetime
