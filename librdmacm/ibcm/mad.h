/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of the InfiniBand communication manager (IBTA vol. 1, chapter 12) and the header that
 * connections by IP address carry in their private data (annex A11). Numbers in the structs have
 * host byte order. Only mad.c reads and writes the bytes of messages.
 */
#ifndef IBCM_MAD_H
#define IBCM_MAD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

enum {
	IBCM_MAD_LEN = 256,
	IBCM_PRIVATE_MAX = 224, /* bytes in RTU and DREP; other messages have less */
	IBCM_INFO_LEN = 72,	/* bytes of additional information in REJ, APR and SIDR_REP */
	IBCM_IP_LEN = 36,	/* bytes of the header of annex A11 */
};

/* Attribute ids. */
enum ibcm_message {
	IBCM_REQ = 0x10,
	IBCM_MRA = 0x11,
	IBCM_REJ = 0x12,
	IBCM_REP = 0x13,
	IBCM_RTU = 0x14,
	IBCM_DREQ = 0x15,
	IBCM_DREP = 0x16,
	IBCM_SIDR_REQ = 0x17,
	IBCM_SIDR_REP = 0x18,
	IBCM_LAP = 0x19,
	IBCM_APR = 0x1a,
};

/* The message that an MRA or a REJ answers. */
enum ibcm_answered {
	IBCM_ANSWERS_REQ = 0,
	IBCM_ANSWERS_REP = 1,
	IBCM_ANSWERS_OTHER = 2, /* REJ: no particular message; MRA: a LAP */
};

enum ibcm_reject_reason {
	IBCM_REJ_NO_QP = 1,
	IBCM_REJ_NO_RESOURCES = 3,
	IBCM_REJ_TIMEOUT = 4,
	IBCM_REJ_UNSUPPORTED = 5,
	IBCM_REJ_INVALID_COMM_ID = 6,
	IBCM_REJ_INVALID_SERVICE_ID = 8,
	IBCM_REJ_INVALID_TRANSPORT = 9,
	IBCM_REJ_STALE_CONN = 10,
	IBCM_REJ_INVALID_GID = 12,
	IBCM_REJ_CONSUMER = 28,
	IBCM_REJ_DUPLICATE_COMM_ID = 30,
	IBCM_REJ_VENDOR_OPTION = 35, /* extended connection establishment was refused */
};

enum ibcm_sidr_status {
	IBCM_SIDR_SUCCESS = 0,
	IBCM_SIDR_UNSUPPORTED = 1, /* no listener */
	IBCM_SIDR_REJECT = 2,
	IBCM_SIDR_NO_QP = 3,
};

enum ibcm_transport {
	IBCM_TRANSPORT_RC = 0,
	IBCM_TRANSPORT_UC = 1,
	IBCM_TRANSPORT_EXTENDED = 3, /* extended_transport has the kind: 1 is XRC */
};

enum {
	IBCM_EXTENDED_XRC = 1,
	IBCM_APR_NO_CONNECTION = 1, /* status of an APR */
	IBCM_APR_UNSUPPORTED = 2,   /* this side has no alternate paths */
};

/* A path from one side to the other, in REQ and LAP. The sender is "local". */
struct ibcm_path {
	uint32_t local_lid, remote_lid;
	union ibv_gid local_gid, remote_gid;
	uint32_t flow_label;
	uint32_t rate; /* enum ibv_rate */
	uint32_t traffic_class;
	uint32_t hop_limit;
	uint32_t sl;
	uint32_t subnet_local;
	uint32_t ack_timeout; /* 4.096 us << ack_timeout */
};

struct ibcm_req {
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t vendor_id; /* extended connection establishment */
	uint32_t qkey;
	uint32_t qpn;
	uint32_t responder_resources;
	uint32_t initiator_depth;
	uint32_t remote_response_timeout; /* 4.096 us << n: limit for the answer of the receiver */
	uint32_t transport;		  /* enum ibcm_transport */
	uint32_t extended_transport;
	uint32_t flow_control;
	uint32_t starting_psn; /* first PSN of the receiver's packets */
	uint32_t local_response_timeout;
	uint32_t retry_count;
	uint32_t pkey;
	uint32_t mtu; /* enum ibv_mtu */
	uint32_t rdc_exists;
	uint32_t rnr_retry_count;
	uint32_t max_cm_retries;
	uint32_t srq;
	struct ibcm_path primary;
	struct ibcm_path alternate;
};

struct ibcm_rep {
	uint64_t ca_guid;
	uint32_t vendor_id;
	uint32_t qkey;
	uint32_t qpn;
	uint32_t starting_psn;
	uint32_t responder_resources;
	uint32_t initiator_depth;
	uint32_t target_ack_delay;
	uint32_t failover_accepted;
	uint32_t flow_control;
	uint32_t rnr_retry_count;
	uint32_t srq;
};

struct ibcm_rej {
	uint32_t rejected; /* enum ibcm_answered */
	uint32_t reason;
	uint32_t info_length; /* bytes of info in use */
	uint8_t info[IBCM_INFO_LEN];
};

struct ibcm_mra {
	uint32_t answered;	  /* enum ibcm_answered */
	uint32_t service_timeout; /* 4.096 us << n: time until the answer itself */
};

struct ibcm_dreq {
	uint32_t remote_qpn; /* QPN of the receiver */
};

struct ibcm_lap {
	/* QPN of the receiver. If the alternate path is all zero, there is none. */
	uint32_t remote_qpn;
};

struct ibcm_apr {
	uint32_t status;
};

struct ibcm_sidr_req {
	uint64_t service_id;
	uint32_t pkey;
};

struct ibcm_sidr_rep {
	uint64_t service_id;
	uint32_t status; /* enum ibcm_sidr_status */
	uint32_t info_length;
	uint32_t qpn;
	uint32_t qkey;
	uint8_t info[IBCM_INFO_LEN];
};

/*
 * Any message. @local_id is the communication id of the sender, @remote_id that of the receiver.
 * The request id of SIDR belongs to the requester: it is @local_id of a request and @remote_id of
 * an answer.
 */
struct ibcm_mad {
	enum ibcm_message type;
	uint64_t tid;
	uint32_t attr_mod; /* option bits of extended connection establishment */
	uint32_t local_id;
	uint32_t remote_id;
	union {
		struct ibcm_req req;
		struct ibcm_rep rep;
		struct ibcm_rej rej;
		struct ibcm_mra mra;
		struct ibcm_dreq dreq;
		struct ibcm_lap lap;
		struct ibcm_apr apr;
		struct ibcm_sidr_req sidr_req;
		struct ibcm_sidr_rep sidr_rep;
	};
	uint32_t private_len; /* bytes; after unpacking, always the room in the message */
	uint8_t private_data[IBCM_PRIVATE_MAX];
};

/* Return the room for private data in a message of @type, in bytes; 0: no such message. */
uint32_t ibcm_private_size(enum ibcm_message type);
const char *ibcm_message_name(enum ibcm_message type);

/* Encode a message. -EINVAL: there is no such message, or too much private data. */
int ibcm_mad_pack(const struct ibcm_mad *mad, uint8_t ret_data[IBCM_MAD_LEN]);

/*
 * Decode a message from the network. Return: 0; -EPROTONOSUPPORT: not class 7, version 2, method
 * Send; -EOPNOTSUPP: an unknown message of the class; -EPROTO: a wrong length in the message.
 */
int ibcm_mad_unpack(const uint8_t data[IBCM_MAD_LEN], struct ibcm_mad *ret_mad);

/* Header of a connection by IP address. */
struct ibcm_ip {
	sa_family_t family;  /* AF_INET or AF_INET6 */
	uint16_t port;	     /* port of the source; host byte order */
	struct in6_addr src; /* IPv4 addresses are in the last four bytes */
	struct in6_addr dst;
};

void ibcm_ip_pack(const struct ibcm_ip *ip, uint8_t ret_data[IBCM_IP_LEN]);
/*
 * Decode the header. -EPROTO: @data is shorter than the header, or the header is neither IPv4 nor
 * IPv6; -EPROTONOSUPPORT: another version.
 */
int ibcm_ip_unpack(const uint8_t *data, size_t length, struct ibcm_ip *ret_ip);

/* Return a reject reason in words; never NULL. */
const char *ibcm_reject_reason_str(uint32_t reason);
const char *ibcm_sidr_status_str(uint32_t status);

#endif
