// SPDX-License-Identifier: Apache-2.0 OR MIT
/* The switch's port: marks CE, or drops, by the length of the queue that a packet is about to join.
 *
 * It runs at tc egress, before the packet is enqueued. The queue is the port's own queueing discipline as the kernel
 * counts it. It includes the packets that HTB delays, so that no estimate is needed. */
#include "kernel.h"

#define TC_ACT_OK 0
#define TC_ACT_SHOT 2
#define ETHERNET_HEADER 14

/* The marking rule of a port, set before its program runs. A threshold of 0 is none. */
struct port {
	__u32 mark_packets; /* K: mark when the queue with this packet has more packets ... */
	__u32 mark_bytes;   /* ... or more bytes, counted without Ethernet headers */
	__u32 drop_non_ect; /* 1: drop packets above K that cannot be marked */
	__u32 unused;
};

/* The counters of a port. */
struct counts {
	__u64 packets;
	__u64 bytes; /* with Ethernet headers */
	__u64 marks;
	__u64 non_ect_drops;
	__u64 longest; /* maximum number of packets queued at an arrival */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* interface index */
	__type(value, struct port);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct counts);
} counted SEC(".maps");

SEC("tc")
int mark(struct __sk_buff *skb)
{
	__u32 interface = skb->ifindex;
	struct port *port = bpf_map_lookup_elem(&ports, &interface);
	struct counts *counts = bpf_map_lookup_elem(&counted, &interface);
	struct sk_buff *packet = bpf_cast_to_kern_ctx(skb);
	struct Qdisc *queue = packet->dev->qdisc;
	__u32 waiting = queue->q.qlen;
	/* The backlog with this packet. */
	__u32 backlog = queue->qstats.backlog + skb->len - ETHERNET_HEADER * (waiting + 1);
	int above;

	if (!port || !counts)
		return TC_ACT_OK;
	__sync_fetch_and_add(&counts->packets, 1);
	__sync_fetch_and_add(&counts->bytes, skb->len);
	if (waiting > counts->longest)
		counts->longest = waiting;
	above = (port->mark_packets && waiting + 1 > port->mark_packets) ||
		(port->mark_bytes && backlog > port->mark_bytes);
	if (!above)
		return TC_ACT_OK;
	if (bpf_skb_ecn_set_ce(skb)) {
		__sync_fetch_and_add(&counts->marks, 1);
		return TC_ACT_OK;
	}
	if (port->drop_non_ect) {
		__sync_fetch_and_add(&counts->non_ect_drops, 1);
		return TC_ACT_SHOT;
	}
	return TC_ACT_OK;
}

/* Only programs under the GPL may call bpf_cast_to_kern_ctx. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";
