/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ConnectX with one InfiniBand port for the kernel's drivers mlx5_core and mlx5_ib. This file has
 * the objects that the drivers make by commands. The rings that programs write are decoded in
 * tests/adapters/lab/device.
 */
#ifndef PCI_MLX5_H
#define PCI_MLX5_H

#include <stdio.h>
#include "tests/adapters/lab/device/mlx5.h"
#include "tests/hosts/vm/pci/mlx5_fields.h"

enum {
	HCA_PAGE = 4096,
	HCA_BAR = 4 << 20,
	HCA_UARS = HCA_BAR / HCA_PAGE,
	HCA_FIRST_UAR = 16, /* registers and the MSI-X table come first */
	HCA_VECTORS = 16,
	HCA_EQS = 32,
	HCA_LOG_CQS = 11,
	HCA_CQS = 1 << HCA_LOG_CQS,
	HCA_LOG_QPS = 11,
	HCA_QPS = 1 << HCA_LOG_QPS,
	HCA_LOG_SRQS = 9,
	HCA_SRQS = 1 << HCA_LOG_SRQS,
	HCA_LOG_KEYS = 16,
	HCA_KEYS = 1 << HCA_LOG_KEYS,
	HCA_FIRST_KEY = 16, /* key 1 is the reserved one of MLX5_INVALID_LKEY */
	HCA_FIRST_QP = 0x40,
	HCA_ANY_QP = 0xffffff,
	HCA_LOG_GROUPS = 6,
	HCA_GROUPS = 1 << HCA_LOG_GROUPS,
	HCA_LID = 1,
	HCA_LOG_FRAME_QUEUES = 6,
	HCA_FRAME_QUEUES = 1 << HCA_LOG_FRAME_QUEUES,
	HCA_ADDRESSES = 32,
	HCA_MAC = 6,
	HCA_QP_CONTEXT = 232,
	HCA_SRQ_CONTEXT = 240,
};

/* Types of queue pairs, as commands have them. */
enum hca_qp_type {
	HCA_RC,
	HCA_UC,
	HCA_UD,
	HCA_XRC,
	HCA_QP0 = 7,
	HCA_QP1,
	HCA_UMR = 12, /* of the driver, to change memory keys */
};

/* A ring's pages, mapped one behind the other. */
struct hca_map {
	uint8_t *at;
	size_t length;
};

struct hca_eq {
	bool used;
	struct hca_map map;
	uint8_t *base;
	uint32_t entries, produced, vector;
	uint64_t events; /* a bit for each type; 0: completions */
};

struct hca_cq {
	bool used;
	struct object object;
	struct hca_map map;
	uint32_t eq;
	bool armed;
	struct arm arm;
};

struct hca_srq {
	bool used;
	struct object object; /* xrcd is set if it is one of XRC */
	struct hca_map map;
	uint32_t pd, cq, xrcd;
	uint32_t limit;
	uint8_t context[HCA_SRQ_CONTEXT];
};

/* A message on its way to another adapter. */
struct hca_sending {
	bool busy;
	uint32_t first; /* PSN of the message, or of the next message if none is under way */
	uint32_t packets, sent, acked;
	uint32_t retries, rnr_retries;
	uint64_t deadline, wait_until; /* milliseconds */
	int status;
};

enum {
	HCA_ATOMICS = 16, /* stored results, for repeated requests */
};

/* A message on its way from another adapter. */
struct hca_receiving {
	uint32_t psn, msn; /* expected PSN, messages so far */
	bool refused;	   /* a packet is missing, and a NAK was sent */
	uint8_t *bytes;	   /* data of a send, up to its last packet */
	size_t length, room;
	uint64_t at; /* write: address for the next packet */
	uint64_t left;
	uint32_t key, total;
	struct {
		uint32_t psn;
		uint64_t result;
	} atomics[HCA_ATOMICS];
	uint32_t next_atomic;
};

struct hca_qp {
	bool used;
	struct object object;
	struct hca_map map;
	enum hca_qp_type type;
	uint32_t pd, send_cq, recv_cq, srq, xrcd;
	bool has_srq;
	uint64_t waiting_since; /* for the peer, or for the peer's receive; 0: not waiting */
	uint8_t context[HCA_QP_CONTEXT];
	struct hca_sending sending;
	struct hca_receiving receiving;
};

struct hca_key {
	bool used, free, physical, everything, window;
	bool type_2; /* of a window: a queue pair or a peer may invalidate it */
	uint8_t low, access;
	uint32_t pd, shift, pages;
	uint32_t qp; /* HCA_ANY_QP: any queue pair may use the key */
	uint64_t start, length;
	uint64_t *page; /* DMA addresses */
	/* What a window opens: the region's key, and an address there. */
	uint32_t region;
	uint64_t region_at;
};

/* A queue pair's membership in a multicast group. */
struct group {
	bool used;
	uint8_t gid[16];
	uint32_t qp;
};

/* Bits of hca_key.access, in the order of the key's context. */
enum {
	HCA_LOCAL_READ = 1,
	HCA_LOCAL_WRITE = 2,
	HCA_REMOTE_READ = 4,
	HCA_REMOTE_WRITE = 8,
	HCA_REMOTE_ATOMIC = 16,
};

enum hca_event {
	HCA_EVENT_COMPLETION = 0x0,
	HCA_EVENT_COMM_EST = 0x2,
	HCA_EVENT_CQ_ERROR = 0x4,
	HCA_EVENT_COMMAND = 0xa,
	HCA_EVENT_REQUEST_ERROR = 0x10,
	HCA_EVENT_ACCESS_ERROR = 0x11,
	HCA_EVENT_LAST_WQE = 0x13,
	HCA_EVENT_SRQ_LIMIT = 0x14,
};

/* A GID of an Ethernet port. */
struct hca_address {
	bool used, ipv6;
	uint8_t gid[16];
	uint8_t version; /* HCA_ROCE_V2, or 0 for version 1 */
};
enum {
	HCA_ROCE_V2 = 2,
};

/* The header that a completion of a datagram names. */
enum {
	HCA_HEADER_GRH,
	HCA_HEADER_IPV6,
	HCA_HEADER_IPV4,
};

/* A queue of the netdev's frames. */
struct hca_frames {
	bool used, ready;
	struct object object;
	struct hca_map map;
	uint32_t pd, cq;
};

extern struct hca {
	struct hca_eq eqs[HCA_EQS];
	struct hca_cq cqs[HCA_CQS];
	struct hca_srq srqs[HCA_SRQS];
	struct hca_qp qps[HCA_QPS];
	struct hca_key keys[HCA_KEYS];
	struct group groups[HCA_GROUPS];
	bool uars[HCA_UARS];
	/* Addresses of an Ethernet port. */
	struct hca_address addresses[HCA_ADDRESSES];
	struct hca_frames sqs[HCA_FRAME_QUEUES], rqs[HCA_FRAME_QUEUES];
	/* Greater than any number that was used: a pass looks no further. */
	uint32_t qp_end, cq_end;
} hca;

/* Statuses of commands. */
enum hca_status {
	HCA_OK = 0,
	HCA_INTERNAL = 0x1,
	HCA_BAD_OPCODE = 0x2,
	HCA_BAD_PARAMETER = 0x3,
	HCA_BAD_RESOURCE = 0x5,
	HCA_LIMIT = 0x8,
	HCA_NO_RESOURCES = 0xf,
	HCA_BAD_QP_STATE = 0x10,
};

/* A command. `in` and `out` have HCA_PAGE bytes more than the lengths, which are 0. */
struct hca_call {
	uint32_t opcode, op_mod;
	uint32_t number; /* of the object, in most commands */
	const uint8_t *in;
	uint32_t in_len;
	uint8_t *out;
	uint32_t out_len;
};

/* Registers of the initialization segment, in BAR 0. */
enum {
	HCA_COMMANDS_HIGH = 0x10,
	HCA_COMMANDS_LOW = 0x14, /* address, and in its low bits two logarithms of sizes */
};
uint32_t hca_reg(uint32_t at);
void hca_set_reg(uint32_t at, uint32_t value);

/* mlx5_uar.c: pages of doorbells. */
extern enum hca_combining {
	HCA_COMBINES_NOT,
	HCA_COMBINES,
	HCA_COMBINES_FALSELY, /* the capability says that it does */
} hca_combining;
enum hca_status hca_alloc_uar(const struct hca_call *call);
enum hca_status hca_dealloc_uar(const struct hca_call *call);
/* Return whether the copy of a request in the page of doorbells asks for a completion. */
bool hca_copy_wants_completion(const struct hca_qp *qp, uint32_t index);
void hca_copy_count(const struct hca_qp *qp, uint32_t index);
/* Execute an order: "combine", "combine-falsely", "combine-not" for the next initialization, or
 * "copies", which reports how many requests had a copy since the last time. */
bool hca_uar_order(const char *word);

/* mlx5_health.c */
/* Set the registers that the driver reads before its first command. */
void hca_health_registers(void);
/* Fill in the register of timeouts. */
void hca_health_timeouts(uint8_t *data);
bool hca_health(void);
/* Execute an order: "fatal" reports a fatal error, "hasty" names short times to a driver that is
 * bound from now on. */
bool hca_health_order(const char *word);

/* mlx5_command.c */
/* Return a status for a command that fails by chance; see struct play_device. */
uint32_t hca_random_status(uint32_t opcode, uint32_t random);
enum hca_status hca_execute(const struct hca_call *call);
void hca_forget_all(void);

/* mlx5_port.c: capabilities, the port and its registers. */
void hca_capabilities_reset(void);
enum hca_status hca_query_capabilities(const struct hca_call *call);
enum hca_status hca_set_capabilities(const struct hca_call *call);
enum hca_status hca_access_register(const struct hca_call *call);
enum hca_status hca_query_port(const struct hca_call *call);
enum hca_status hca_modify_port(const struct hca_call *call);
void hca_gid(uint32_t index, uint8_t ret_gid[16]);
enum hca_status hca_query_gid(const struct hca_call *call);
enum hca_status hca_query_pkey(const struct hca_call *call);

uint64_t hca_node_guid(void);
/* Return the largest values of capabilities of this type. */
uint8_t *hca_most(uint32_t type);

/* mlx5_roce.c: an Ethernet port instead of the InfiniBand port. */
extern bool hca_ethernet;
void hca_roce_capabilities(void);
/* Return whether the register is one of an Ethernet port. */
bool hca_roce_register(uint32_t number, uint8_t *data);
enum hca_status hca_query_vport_state(const struct hca_call *call);
enum hca_status hca_query_nic(const struct hca_call *call);
enum hca_status hca_modify_nic(const struct hca_call *call);
enum hca_status hca_set_address(const struct hca_call *call);
/* Return an address of the port, or NULL. */
const struct hca_address *hca_address(uint32_t index);
/* Return the code of the header in front of a datagram from that address. */
uint8_t hca_header_kind(const struct hca_address *from);
void hca_mac(uint8_t ret_mac[HCA_MAC]);
bool hca_is_own_mac(const uint8_t *mac);

/* mlx5_frame.c: the netdev's queues. */
enum hca_status hca_create_frame_sq(const struct hca_call *call);
enum hca_status hca_create_frame_rq(const struct hca_call *call);
enum hca_status hca_modify_frame_sq(const struct hca_call *call);
enum hca_status hca_modify_frame_rq(const struct hca_call *call);
enum hca_status hca_destroy_frame_sq(const struct hca_call *call);
enum hca_status hca_destroy_frame_rq(const struct hca_call *call);
/* Make one pass over the queues; return whether there was work. */
bool hca_frames(void);

/* mlx5_object.c: event queues, completion queues, SRQs, memory keys. */
enum hca_status hca_create_eq(const struct hca_call *call);
enum hca_status hca_destroy_eq(const struct hca_call *call);
enum hca_status hca_create_cq(const struct hca_call *call);
enum hca_status hca_modify_cq(const struct hca_call *call);
enum hca_status hca_destroy_cq(const struct hca_call *call);
enum hca_status hca_create_rmp(const struct hca_call *call);
enum hca_status hca_create_xrc_srq(const struct hca_call *call);
enum hca_status hca_query_srq(const struct hca_call *call);
enum hca_status hca_modify_srq(const struct hca_call *call);
enum hca_status hca_destroy_srq(const struct hca_call *call);
enum hca_status hca_create_key(const struct hca_call *call);
enum hca_status hca_destroy_key(const struct hca_call *call);
/* Map the ring whose page list begins at @pages of the command. Return the ring's first byte, or
 * NULL if the list is empty. @offset: in 64ths of a page. */
uint8_t *hca_map_ring(const struct hca_call *call, uint32_t pages, uint32_t log_page,
		      uint32_t offset, struct hca_map *ret);
void hca_unmap_ring(struct hca_map *map);
bool hca_key_has(const struct hca_key *key, uint64_t at, uint64_t length);
/* Return memory behind a key, and in *ret_together how many of @length bytes lie together. NULL:
 * the key does not allow @access by queue pair @qp to all of them. */
uint8_t *hca_key_memory(uint32_t key, uint32_t pd, uint32_t qp, uint64_t at, uint64_t length,
			unsigned access, size_t *ret_together);

/* mlx5_window.c */
enum ibv_wc_status hca_bind_window(const struct hca_qp *qp, const struct work *work);
/* Return whether a window of that queue pair was bound. */
bool hca_invalidate_window(const struct hca_qp *qp, uint32_t key);

/* mlx5_datagram.c: multicast groups. */
enum hca_status hca_attach_group(const struct hca_call *call);
enum hca_status hca_detach_group(const struct hca_call *call);

/* mlx5_qp.c: queue pairs and their states. */
enum hca_status hca_create_qp(const struct hca_call *call);
enum hca_status hca_modify_qp(const struct hca_call *call);
enum hca_status hca_query_qp(const struct hca_call *call);
enum hca_status hca_destroy_qp(const struct hca_call *call);
void hca_qp_error(struct hca_qp *qp);

/* mlx5_queue.c: make one pass over the rings; return whether there was work. */
bool hca_queues(void);

/* mlx5_event.c: completions and events. */
/* @solicited: the sender asks for an event. */
void hca_complete(uint32_t cq, const struct completion *completion, bool solicited);
/* Complete a frame that the netdev receives. @sum: checksum of its IP packet */
void hca_complete_frame(uint32_t cq, const struct completion *completion, uint16_t sum);
void hca_announce_all(void);
/* Write an event with these bytes to the queue that takes its type. */
void hca_event(enum hca_event type, const void *data, size_t length);
/* An event of a queue pair or an SRQ. */
void hca_event_of(enum hca_event type, uint32_t number);

#endif
