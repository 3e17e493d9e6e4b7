/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs. */
#ifndef INFINIBAND_VERBS_QP_H
#define INFINIBAND_VERBS_QP_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/ah.h>
#include <infiniband/verbs/context.h>
#include <infiniband/verbs/port.h>
#include <infiniband/verbs/wr.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ibv_qp_type {
	IBV_QPT_RC = 2,
	IBV_QPT_UC,
	IBV_QPT_UD,
	IBV_QPT_RAW_PACKET = 8,
	IBV_QPT_XRC_SEND = 9,
	IBV_QPT_XRC_RECV,
	IBV_QPT_DRIVER = 0xff, /* the device's own */
};

/**
 * ibv_is_qpt_supported() - is a QP type in a supported_qpts mask?
 */
static inline int ibv_is_qpt_supported(uint32_t caps, enum ibv_qp_type qpt)
{
	return (caps & (1u << qpt)) != 0;
}

/* max_inline_data: bytes. */
struct ibv_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_data;
};

/**
 * struct ibv_qp_init_attr - what a QP is created with
 *
 * @srq: or NULL; with an SRQ max_recv_wr and max_recv_sge are ignored
 * @cap: wishes; the real values on return
 * @sq_sig_all: not 0: each send gives a completion
 */
struct ibv_qp_init_attr {
	void *qp_context;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	enum ibv_qp_type qp_type;
	int sq_sig_all;
};

enum ibv_qp_init_attr_mask {
	IBV_QP_INIT_ATTR_PD = 1 << 0,
	IBV_QP_INIT_ATTR_XRCD = 1 << 1,
	IBV_QP_INIT_ATTR_CREATE_FLAGS = 1 << 2,
	IBV_QP_INIT_ATTR_MAX_TSO_HEADER = 1 << 3,
	IBV_QP_INIT_ATTR_IND_TABLE = 1 << 4,
	IBV_QP_INIT_ATTR_RX_HASH = 1 << 5,
	IBV_QP_INIT_ATTR_SEND_OPS_FLAGS = 1 << 6,
};

enum ibv_qp_create_flags {
	IBV_QP_CREATE_BLOCK_SELF_MCAST_LB = 1 << 1,
	IBV_QP_CREATE_SCATTER_FCS = 1 << 8,
	IBV_QP_CREATE_CVLAN_STRIPPING = 1 << 9,
	IBV_QP_CREATE_SOURCE_QPN = 1 << 10, /* source_qpn is valid */
	IBV_QP_CREATE_PCI_WRITE_END_PADDING = 1 << 11,
};

/* The ibv_wr_*() operations a QP is to have; with none, it has only ibv_post_send(). */
enum ibv_qp_create_send_ops_flags {
	IBV_QP_EX_WITH_RDMA_WRITE = 1 << 0,
	IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM = 1 << 1,
	IBV_QP_EX_WITH_SEND = 1 << 2,
	IBV_QP_EX_WITH_SEND_WITH_IMM = 1 << 3,
	IBV_QP_EX_WITH_RDMA_READ = 1 << 4,
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP = 1 << 5,
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD = 1 << 6,
	IBV_QP_EX_WITH_LOCAL_INV = 1 << 7,
	IBV_QP_EX_WITH_BIND_MW = 1 << 8,
	IBV_QP_EX_WITH_SEND_WITH_INV = 1 << 9,
	IBV_QP_EX_WITH_TSO = 1 << 10,
	IBV_QP_EX_WITH_FLUSH = 1 << 11,
	IBV_QP_EX_WITH_ATOMIC_WRITE = 1 << 12,
};

struct ibv_rx_hash_conf {
	uint8_t rx_hash_function; /* enum ibv_rx_hash_function_flags */
	uint8_t rx_hash_key_len;  /* bytes */
	uint8_t *rx_hash_key;
	uint64_t rx_hash_fields_mask; /* enum ibv_rx_hash_fields */
};

/**
 * struct ibv_qp_init_attr_ex - what a QP of any kind is created with
 *
 * Begins as struct ibv_qp_init_attr.
 * @comp_mask: OR of enum ibv_qp_init_attr_mask
 * @create_flags: OR of enum ibv_qp_create_flags
 * @max_tso_header: bytes of headers of a TSO request
 * @source_qpn: UD: the QP number to send with, instead of its own
 * @send_ops_flags: OR of enum ibv_qp_create_send_ops_flags
 */
struct ibv_qp_init_attr_ex {
	void *qp_context;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	enum ibv_qp_type qp_type;
	int sq_sig_all;

	uint32_t comp_mask;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	uint32_t create_flags;
	uint16_t max_tso_header;
	struct ibv_rwq_ind_table *rwq_ind_tbl;
	struct ibv_rx_hash_conf rx_hash_conf;
	uint32_t source_qpn;
	uint64_t send_ops_flags;
};

/*
 * Reset, initialised, ready to receive, ready to send, send queue drained, send queue error, error.
 * Source: IBTA vol. 1, software transport interface (chapter 10), QP states.
 */
enum ibv_qp_state {
	IBV_QPS_RESET,
	IBV_QPS_INIT,
	IBV_QPS_RTR,
	IBV_QPS_RTS,
	IBV_QPS_SQD,
	IBV_QPS_SQE,
	IBV_QPS_ERR,
	IBV_QPS_UNKNOWN
};

enum ibv_mig_state {
	IBV_MIG_MIGRATED,
	IBV_MIG_REARM,
	IBV_MIG_ARMED
};

/**
 * struct ibv_qp - a queue pair
 *
 * @qp_num: 24 bits, by which the peer names it
 * @state: as the last successful modify or query left it
 */
struct ibv_qp {
	struct ibv_context *context;
	void *qp_context;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	uint32_t handle;
	uint32_t qp_num;
	enum ibv_qp_state state;
	enum ibv_qp_type qp_type;

	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
};

/**
 * ibv_create_qp() - create a queue pair, in state RESET
 *
 * On success qp_init_attr->cap has the real sizes, no smaller than asked for.
 * Return: the QP; NULL with errno EINVAL (sizes, type, CQs), ENOMEM, EOPNOTSUPP (type), ...
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "create queue pair".
 */
struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr);

/**
 * ibv_create_qp_ex() - create a queue pair with any attribute
 */
static inline struct ibv_qp *ibv_create_qp_ex(struct ibv_context *context,
					      struct ibv_qp_init_attr_ex *qp_init_attr_ex)
{
	struct ibv_qp_init_attr_ex *attr = qp_init_attr_ex;
	struct verbs_context *vctx;

	/* Call the plain verb if it is enough, because every device supports it. */
	if (attr->comp_mask == IBV_QP_INIT_ATTR_PD)
		return ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)(void *)attr);

	vctx = verbs_get_ctx_op(context, create_qp_ex);
	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->create_qp_ex(context, attr);
}

enum ibv_qp_open_attr_mask {
	IBV_QP_OPEN_ATTR_NUM = 1 << 0,
	IBV_QP_OPEN_ATTR_XRCD = 1 << 1,
	IBV_QP_OPEN_ATTR_CONTEXT = 1 << 2,
	IBV_QP_OPEN_ATTR_TYPE = 1 << 3,
	IBV_QP_OPEN_ATTR_RESERVED = 1 << 4
};

struct ibv_qp_open_attr {
	uint32_t comp_mask; /* enum ibv_qp_open_attr_mask */
	uint32_t qp_num;
	struct ibv_xrcd *xrcd;
	void *qp_context;
	enum ibv_qp_type qp_type;
};

/**
 * ibv_open_qp() - a second handle on an XRC receive QP of a shared domain
 *
 * Return: given up with ibv_destroy_qp(), as the QP itself is by its last owner.
 */
static inline struct ibv_qp *ibv_open_qp(struct ibv_context *context,
					 struct ibv_qp_open_attr *qp_open_attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, open_qp);

	if (!vctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return vctx->open_qp(context, qp_open_attr);
}

/* Which members of struct ibv_qp_attr count. Bits 21 to 24 belong to the kernel. */
enum ibv_qp_attr_mask {
	IBV_QP_STATE = 1 << 0,
	IBV_QP_CUR_STATE = 1 << 1,
	IBV_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	IBV_QP_ACCESS_FLAGS = 1 << 3,
	IBV_QP_PKEY_INDEX = 1 << 4,
	IBV_QP_PORT = 1 << 5,
	IBV_QP_QKEY = 1 << 6,
	IBV_QP_AV = 1 << 7,
	IBV_QP_PATH_MTU = 1 << 8,
	IBV_QP_TIMEOUT = 1 << 9,
	IBV_QP_RETRY_CNT = 1 << 10,
	IBV_QP_RNR_RETRY = 1 << 11,
	IBV_QP_RQ_PSN = 1 << 12,
	IBV_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	IBV_QP_ALT_PATH = 1 << 14,
	IBV_QP_MIN_RNR_TIMER = 1 << 15,
	IBV_QP_SQ_PSN = 1 << 16,
	IBV_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	IBV_QP_PATH_MIG_STATE = 1 << 18,
	IBV_QP_CAP = 1 << 19,
	IBV_QP_DEST_QPN = 1 << 20,
	IBV_QP_RATE_LIMIT = 1 << 25,
};

/**
 * struct ibv_qp_attr - attributes of a queue pair
 *
 * @cur_qp_state: what the caller takes the state to be
 * @rq_psn, @sq_psn: 24 bits, the first packet to come and to go
 * @qp_access_flags: OR of the REMOTE_ flags: what the peer may do
 * @max_rd_atomic: RDMA reads and atomics in flight as initiator, @max_dest_rd_atomic as responder
 * @min_rnr_timer: code 0 ... 31 of the wait asked for when there is no receive: 1 is 0.01 ms,
 *		   31 is 491.52 ms, 0 the longest, 655.36 ms
 * @timeout, @alt_timeout: 4.096 us * 2^value until a packet is sent again; 0: never
 * @retry_cnt: 0 ... 7 times
 * @rnr_retry: 0 ... 6 times, 7 for ever
 * @rate_limit: kbit/s, 0 for no limit; raw packet QPs
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "modify queue pair".
 */
struct ibv_qp_attr {
	enum ibv_qp_state qp_state;
	enum ibv_qp_state cur_qp_state;
	enum ibv_mtu path_mtu;
	enum ibv_mig_state path_mig_state;
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	unsigned int qp_access_flags;
	struct ibv_qp_cap cap;
	struct ibv_ah_attr ah_attr;
	struct ibv_ah_attr alt_ah_attr;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint8_t en_sqd_async_notify; /* boolean */
	uint8_t sq_draining;	     /* boolean, query only */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t alt_port_num;
	uint8_t alt_timeout;
	uint32_t rate_limit;
};

/**
 * ibv_modify_qp() - change the state and attributes of a queue pair
 * @attr_mask: OR of enum ibv_qp_attr_mask; each transition requires some and allows others
 *
 * Return: 0 or an errno value; EINVAL for a wrong mask, transition or value. The QP is as before
 * then.
 */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);

/**
 * ibv_query_qp() - attributes of a queue pair
 * @attr_mask: what is wanted; the device may return more
 * @init_attr: what it was created with
 */
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr);

/**
 * ibv_destroy_qp() - destroy a queue pair
 *
 * What was posted and not completed is lost. Waits until its events are acknowledged.
 * Return: EBUSY while it is attached to a multicast group.
 */
int ibv_destroy_qp(struct ibv_qp *qp);

struct ibv_qp_rate_limit_attr {
	uint32_t rate_limit;	 /* kbit/s, 0: none */
	uint32_t max_burst_sz;	 /* bytes */
	uint16_t typical_pkt_sz; /* bytes */
	uint32_t comp_mask;
};

/**
 * ibv_modify_qp_rate_limit() - pace what a QP sends
 */
static inline int ibv_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(qp->context, modify_qp_rate_limit);

	return vctx ? vctx->modify_qp_rate_limit(qp, attr) : EOPNOTSUPP;
}

enum ibv_query_qp_data_in_order_flags {
	IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS = 1 << 0, /* answer with a mask */
	IBV_QUERY_QP_DATA_IN_ORDER_DEVICE_ONLY = 1 << 1, /* leave the CPU out of it */
};

enum ibv_query_qp_data_in_order_caps {
	IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG = 1 << 0,
	IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES = 1 << 1, /* each aligned block of 128 bytes */
};

/**
 * ibv_query_qp_data_in_order() - may the receiver poll the last byte of the data?
 * @flags: OR of enum ibv_query_qp_data_in_order_flags
 *
 * Return: 1 when data of @op is written first byte first, 0 when that is not known; with
 * RETURN_CAPS an OR of enum ibv_query_qp_data_in_order_caps.
 */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);

/**
 * struct ibv_ece - enhanced connection establishment: what two devices of one vendor agree on
 *
 * @vendor_id: IEEE OUI, 24 bits
 * @options: the vendor's
 */
struct ibv_ece {
	uint32_t vendor_id;
	uint32_t options;
	uint32_t comp_mask; /* 0 */
};

/**
 * ibv_set_ece(), ibv_query_ece() - offer options before INIT -> RTR, read what is accepted
 */
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);

/**
 * ibv_post_send() - post a list of requests on the send queue
 * @bad_wr: on failure, the first request that was not posted; those before it are
 *
 * The list may be reused at once; the data when its request completed, with IBV_SEND_INLINE at
 * once.
 * Return: 0 or an errno value; ENOMEM when the queue is full, EINVAL for a bad request.
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "post send request".
 */
static inline int ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
				struct ibv_send_wr **bad_wr)
{
	return qp->context->ops.post_send(qp, wr, bad_wr);
}

/**
 * ibv_post_recv() - post a list of buffers on the receive queue
 * @bad_wr: on failure, the first request that was not posted
 *
 * Return: 0 or an errno value, as ibv_post_send(); EINVAL on a QP with an SRQ.
 */
static inline int ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
				struct ibv_recv_wr **bad_wr)
{
	return qp->context->ops.post_recv(qp, wr, bad_wr);
}

#ifdef __cplusplus
}
#endif

#endif
