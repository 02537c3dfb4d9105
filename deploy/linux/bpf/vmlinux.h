/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 OR MIT */
/* The few kernel types that the programs look into, and of those only the fields that they use: where a field
 * really lies is filled in when the programs are loaded (CO-RE), from the running kernel's own description. */
#ifndef D2TCP_VMLINUX_H
#define D2TCP_VMLINUX_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

/* What the kernel's programs and maps are called by number. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1 << 10, BPF_SK_STORAGE_GET_F_CREATE = 1 };

enum {
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_NEEDS_ECN = 6,
	BPF_SOCK_OPS_RTO_CB = 8,
	BPF_SOCK_OPS_STATE_CB = 10,
	BPF_SOCK_OPS_TCP_LISTEN_CB = 11,
};

enum { TCP_ESTABLISHED = 1, TCP_SYN_SENT = 2, TCP_SYN_RECV = 3, TCP_FIN_WAIT1 = 4, TCP_FIN_WAIT2 = 5, TCP_CLOSE = 7, TCP_CLOSE_WAIT = 8, TCP_LISTEN = 10,
       TCP_NEW_SYN_RECV = 12 };

enum { AF_INET = 2, AF_INET6 = 10, SOCK_STREAM = 1, IPPROTO_TCP = 6, TCP_CONGESTION = 13 };

enum { EPERM = 1, ENOMEM = 12, EINVAL = 22, EOPNOTSUPP = 95, ENOBUFS = 105, ENOTCONN = 107 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct netns_ipv4 {
	__u8 sysctl_tcp_slow_start_after_idle;
	__s32 sysctl_tcp_pacing_ss_ratio;
	__s32 sysctl_tcp_pacing_ca_ratio;
};

struct net {
	__u64 net_cookie;
	struct netns_ipv4 ipv4;
};

struct kernfs_node {
	const char *name;
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	__s32 level;
	struct cgroup *ancestors[];
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct socket;

struct inode {
	unsigned long i_ino;
};

struct socket_alloc {
	struct inode vfs_inode;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	struct sock *skc_listener;
};

typedef struct {
	__u32 val;
} kuid_t;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	__u32 sk_pacing_status;
	unsigned long sk_max_pacing_rate;
	struct sock_cgroup_data sk_cgrp_data;
	struct socket *sk_socket;
	kuid_t sk_uid;
};

struct inet_sock {
	struct sock sk;
};

struct tcp_congestion_ops;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u8 icsk_ca_state : 5;
	__u32 icsk_rto;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
};

struct minmax_sample {
	__u32 t;
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 mss_cache;
	__u32 lsndtime;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 lost_out;
	__u32 sacked_out;
	__u32 retrans_out;
	__u32 packets_out;
	__u32 max_packets_out;
	__u8 is_cwnd_limited : 1;
	__u32 write_seq;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 srtt_us;
	struct minmax rtt_min;
	__u8 ecn_flags;
	__u32 data_segs_out;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 lost;
	__u32 prr_out;
	__u64 bytes_acked;
};

struct rate_sample;
struct ack_sample;
union tcp_cc_info;

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

struct bpf_sock_ops_kern {
	struct sock *sk;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_map;

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop

/* Contexts of the programs that do not deal with kernel structures: part of the kernel's stable interface. Their
 * fields are under preserve_access_index all the same, or clang merges accesses that the verifier wants one by
 * one. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_sock {
	__u32 bound_dev_if;
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 mark;
	__u32 priority;
	__u32 src_ip4;
	__u32 src_ip6[4];
	__u32 src_port;
	__be16 dst_port;
	__u32 dst_ip4;
	__u32 dst_ip6[4];
	__u32 state;
};

struct bpf_sockopt {
	struct bpf_sock *sk;
	void *optval;
	void *optval_end;
	__s32 level;
	__s32 optname;
	__s32 optlen;
	__s32 retval;
};

struct bpf_sock_ops {
	__u32 op;
	union {
		__u32 args[4];
		__u32 reply;
		__u32 replylong[4];
	};
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port; /* network byte order */
	__u32 local_port; /* host byte order */
	struct bpf_sock *sk;
};

struct __sk_buff {
	__u32 len;
	__u32 protocol;
	__u32 ifindex;
	struct bpf_sock *sk;
};

struct bpf_tcp_sock {
	__u32 snd_una;
	__u32 total_retrans;
	__u32 segs_out;
	__u64 bytes_acked;
};

#pragma clang attribute pop

#endif
