// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* A wire for the tests: it marks, drops and counts the packets of the cgroup's sockets. */
#include "../../bpf/vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Words of the map. MARK_EVERY and LOSE_EVERY: one of so many data packets is marked, or dropped on arrival; 0 for
 * none. SENT and SENT_ECT: counts of sent packets, and of those with ECT. LOSE_ACKS: drop all packets on arrival except
 * data. LOSE_ONLY_ECT: drop only data of connections with ECN. */
enum { MARK_EVERY, LOSE_EVERY, SENT, SENT_ECT, LOSE_ACKS, LOSE_ONLY_ECT, WORDS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WORDS);
	__type(key, __u32);
	__type(value, __u64);
} wire SEC(".maps");

static __u64 sent, arrived;

static __always_inline __u64 *word(__u32 which)
{
	return bpf_map_lookup_elem(&wire, &which);
}

static __always_inline bool is_data(const struct __sk_buff *skb)
{
	return skb->len > 500;
}

/* Returns the ECN field of a packet; -1 if it cannot be read. */
static __always_inline int ecn(const struct __sk_buff *skb)
{
	__u8 head[2];

	if (bpf_skb_load_bytes(skb, 0, head, sizeof(head)))
		return -1;
	return head[0] >> 4 == 4 ? head[1] & 3 : (head[1] >> 4) & 3;
}

SEC("cgroup_skb/egress")
int leave(struct __sk_buff *skb)
{
	__u64 *every = word(MARK_EVERY), *all = word(SENT), *ect = word(SENT_ECT);
	int bits;

	if (!is_data(skb) || !every || !all || !ect)
		return 1;
	bits = ecn(skb);
	if (bits < 0)
		return 1;
	__sync_fetch_and_add(all, 1);
	if (bits)
		__sync_fetch_and_add(ect, 1);
	if (*every && __sync_fetch_and_add(&sent, 1) % *every == 0)
		bpf_skb_ecn_set_ce(skb);
	return 1;
}

SEC("cgroup_skb/ingress")
int arrive(struct __sk_buff *skb)
{
	__u64 *every = word(LOSE_EVERY), *acks = word(LOSE_ACKS), *only = word(LOSE_ONLY_ECT);

	if (!is_data(skb))
		return !acks || !*acks;
	if (only && *only && ecn(skb) <= 0)
		return 1;
	return !(every && *every && __sync_fetch_and_add(&arrived, 1) % *every == 0);
}
