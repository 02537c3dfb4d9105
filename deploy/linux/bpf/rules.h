// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT
/* The match of a connection with a rule of the operator's policy: by its cgroup, its ports and its peer.
 *
 * A cgroup is identified by its path and not by its id, which changes when a service restarts. A path is stored as a
 * hash with a key that only root knows. It is computed component by component from the root of the tool's hierarchy, as
 * in `deploy/linux/d2tcp/src/rules.rs`. The result for each id is cached. */
#ifndef D2TCP_RULES_H
#define D2TCP_RULES_H

#include "state.h"

#define DEEPEST 32
#define LONGEST_NAME 256

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * D2TCP_RULES);
	__type(key, __u32);
	__type(value, struct d2tcp_rule);
} d2tcp_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * D2TCP_RULES);
	__type(key, struct d2tcp_path);
	__type(value, __u64);
} d2tcp_paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, D2TCP_RULES);
	__type(key, __u32);
	__type(value, struct d2tcp_budget);
} d2tcp_budgets SEC(".maps");

struct found {
	__u64 rules;
	__u64 epoch;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct found);
} d2tcp_cgroups SEC(".maps");

static __always_inline struct d2tcp_rule *rule_of(__u32 number, __u32 at)
{
	__u32 index = (at & 1) * D2TCP_RULES + number - 1;

	return number ? bpf_map_lookup_elem(&d2tcp_rules, &index) : NULL;
}

static __always_inline __u64 mixed(__u64 hash, __u64 word, __u64 key)
{
	hash = (hash ^ word) * (key | 1);
	return hash ^ hash >> 29;
}

/* The verifier checks each function here that is not static once, by itself. The kernel's addresses are plain numbers
 * to these functions, and can only be read by probe. */

/* Returns the hash of a path extended by one component. */
__noinline __u64 hash_of(__u64 hash, __u64 name, __u64 key)
{
	__u64 words[8];
	int i, j;

	for (i = 0; i < LONGEST_NAME; i += sizeof(words)) {
		long length;

		__builtin_memset(words, 0, sizeof(words));
		length = bpf_probe_read_kernel_str(words, sizeof(words), (const char *)name + i);
		for (j = 0; j < 8; j++)
			hash = mixed(hash, words[j], key);
		if (length < (long)sizeof(words))
			break;
		/* The last byte of the buffer is the terminating zero: read that position again. */
		name--;
	}
	return mixed(hash, '/', key);
}

/* Returns the rules whose cgroup is this one or one of its ancestors. */
__noinline __u64 rules_of(__u64 address, __u32 now)
{
	struct cgroup *cgroup = (struct cgroup *)address;
	__u64 id = BPF_CORE_READ(cgroup, kn, id);
	struct found *known = bpf_map_lookup_elem(&d2tcp_cgroups, &id), found = { .epoch = 1 + (__u64)now };
	struct d2tcp_path path = { .bank = now & 1 };
	struct d2tcp_about *about;
	__u32 zero = 0;
	bool inside = false;
	int level = BPF_CORE_READ(cgroup, level), i;

	if (known && known->epoch == found.epoch)
		return known->rules;
	about = bpf_map_lookup_elem(&d2tcp_about, &zero);
	if (!about)
		return 0;
	path.hash = about->key[0];
	for (i = 0; i < DEEPEST; i++) {
		struct cgroup *above = NULL;
		struct kernfs_node *kn;
		__u64 *rules;

		if (i > level)
			break;
		bpf_core_read(&above, sizeof(above), &cgroup->ancestors[i]);
		kn = BPF_CORE_READ(above, kn);
		if (!inside) {
			if (BPF_CORE_READ(kn, id) != about->root)
				continue;
			inside = true;
		} else {
			path.hash = hash_of(path.hash, (__u64)BPF_CORE_READ(kn, name), about->key[1]);
		}
		rules = bpf_map_lookup_elem(&d2tcp_paths, &path);
		if (rules)
			found.rules |= *rules;
	}
	bpf_map_update_elem(&d2tcp_cgroups, &id, &found, 0);
	return found.rules;
}

struct peer {
	__u32 word[4];
	__u32 local_port;
	__u32 remote_port;
	__u32 unknown;		/* the peer of a listener */
};

/* Returns true for a private address (RFC 1918, RFC 4193), a loopback or a link-local one. */
static __always_inline bool is_private(const struct peer *peer)
{
	__u32 first = bpf_ntohl(peer->word[0]), last = bpf_ntohl(peer->word[3]);

	if (!peer->word[0] && !peer->word[1] && peer->word[2] == bpf_htonl(0xffff))
		return last >> 24 == 10 || last >> 20 == 0xac1 || last >> 16 == 0xc0a8 || last >> 24 == 127 ||
		       last >> 16 == 0xa9fe;
	if (!peer->word[0] && !peer->word[1] && !peer->word[2])
		return last == 1;
	return first >> 25 == 0xfc >> 1 || first >> 22 == 0xfe80 >> 6;
}

static __always_inline bool fits(const struct d2tcp_rule *rule, const struct peer *peer)
{
	const __u32 *wanted = (const __u32 *)rule->address;
	int i;

	if (!(rule->flags & D2TCP_RULE_USED))
		return false;
	if (rule->port_low && !(peer->local_port >= rule->port_low && peer->local_port <= rule->port_high) &&
	    !(peer->remote_port >= rule->port_low && peer->remote_port <= rule->port_high))
		return false;
	if (rule->flags & D2TCP_RULE_PRIVATE && (peer->unknown || !is_private(peer)))
		return false;
	if (!(rule->flags & D2TCP_RULE_PREFIX))
		return true;
	if (peer->unknown)
		return false;
#pragma unroll
	for (i = 0; i < 4; i++) {
		__u32 bits = rule->prefix > 32 * i ? rule->prefix - 32 * i : 0;
		__u32 mask = bits >= 32 ? ~0u : ~(~0u >> (bits & 31));

		if ((peer->word[i] ^ wanted[i]) & bpf_htonl(mask))
			return false;
	}
	return true;
}

/* Returns the number of the first of these rules that matches, from 1; 0 if none does. */
__noinline __u32 first_fit(const struct peer *peer, __u64 rules, __u32 now)
{
	__u32 number;

	if (!peer)
		return 0;
	for (number = 1; number <= D2TCP_RULES; number++) {
		struct d2tcp_rule *rule;

		if (!(rules >> ((number - 1) & 63) & 1))
			continue;
		rule = rule_of(number, now);
		if (rule && fits(rule, peer))
			return number;
	}
	return 0;
}

/* Returns the number of the rule that governs a connection, a pending connection or a listener, from 1; 0 if none does.
 * It reads the kernel's socket, since the calling program may see only a part. */
static __always_inline __u32 rule_for(struct sock *sk, __u32 now)
{
	__u32 state = BPF_CORE_READ(sk, __sk_common.skc_state);
	struct sock *owner = sk;
	struct peer peer = {};
	struct cgroup *cgroup;
	__u64 rules;

	if (state == TCP_NEW_SYN_RECV)
		owner = BPF_CORE_READ(sk, __sk_common.skc_listener);
	cgroup = BPF_CORE_READ(owner, sk_cgrp_data.cgroup);
	if (!cgroup)
		return 0;
	rules = rules_of((__u64)cgroup, now);
	if (!rules)
		return 0;
	peer.local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	peer.remote_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	peer.unknown = state == TCP_LISTEN;
	if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET6) {
		bpf_core_read(peer.word, sizeof(peer.word), &sk->__sk_common.skc_v6_daddr);
	} else {
		peer.word[2] = bpf_htonl(0xffff);
		peer.word[3] = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	}
	return first_fit(&peer, rules, now);
}

/* Returns the rule of one of our connections, matched again after a change of the policy. */
static __always_inline struct d2tcp_rule *govern(struct d2tcp_socket *s, struct sock *sk)
{
	__u32 now = epoch();

	if (s->epoch != now + 1) {
		s->rule = rule_for(sk, now);
		s->uid = BPF_CORE_READ(sk, sk_uid.val);
		s->epoch = now + 1;
	}
	return rule_of(s->rule, now);
}

/* A user's account in each rule. The longest unused one makes room for another, which begins with a full one. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct d2tcp_user);
	__type(value, struct d2tcp_account);
} d2tcp_users SEC(".maps");

/* Returns a user's account in a rule. */
static __always_inline struct d2tcp_account *account_of(__u32 number, __u32 uid, const struct d2tcp_rule *rule)
{
	struct d2tcp_user key = { number, uid };
	struct d2tcp_account *account = bpf_map_lookup_elem(&d2tcp_users, &key), fresh = {};

	if (account)
		return account;
	fresh.urgency.left = rule ? rule->user_burst : 0;
	fresh.urgency.at_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&d2tcp_users, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&d2tcp_users, &key);
}

/* Returns how many of these outcomes count, and takes them from the allowance. */
static __always_inline __u64 take(struct d2tcp_allowance *allowance, const struct d2tcp_rule *rule, __u64 outcomes)
{
	__u64 rate = rule && rule->user_messages ? rule->user_messages : D2TCP_USER_MESSAGES;
	__u64 second = 1000000000, now = bpf_ktime_get_ns(), allowed;

	/* Two CPUs at the same time may both take the same outcomes, which exceeds the allowance by one call's. */
	allowance->left_ns = law_min(allowance->left_ns + (now - allowance->at_ns), second);
	allowance->at_ns = now;
	allowed = law_min(outcomes, allowance->left_ns * rate / second);
	allowance->left_ns -= law_min(allowance->left_ns, allowed * second / rate);
	return allowed;
}

/* Counts the outcomes of a user's messages, or, if it has had more than count, only that there were some. The verifier
 * would otherwise follow each number of outcomes separately. */
__noinline int count_outcomes(__u32 number, __u32 uid, __u32 met, __u32 missed, __u32 cancelled)
{
	__u32 all = met + missed + cancelled;
	struct d2tcp_account *account;
	struct d2tcp_rule *rule;

	if (!all)
		return 0;
	rule = rule_of(number, epoch());
	account = account_of(number, uid, rule);
	if (!account || take(&account->allowance, rule, all) < all) {
		COUNT(number, uncounted, all);
		return 0;
	}
	COUNT(number, met, met);
	COUNT(number, missed, missed);
	COUNT(number, cancelled, cancelled);
	return 0;
}

/* Returns the law's parameters of a connection. */
static __always_inline struct law_parameters *law_of(struct d2tcp_rule *rule)
{
	__u32 zero = 0;

	return rule ? &rule->law : bpf_map_lookup_elem(&d2tcp_law, &zero);
}

#endif
