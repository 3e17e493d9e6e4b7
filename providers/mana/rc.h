/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC queue pairs: four queues, and the formats of their entries. Everything is little-endian.
 *
 * A send lies in the send queue of the requester. A read has a second entry in the receive queue of
 * the requester, which says where its data go. Receives lie in the receive queue of the responder.
 * The device uses the fourth queue alone.
 *
 * The device does not number the entries that it completes. Instead it reports the last packet
 * (PSN) that the peer has acknowledged, and only if it was asked to (mana_rc_arm()). Therefore this
 * library keeps the last packet of each send.
 */
#ifndef MANA_RC_H
#define MANA_RC_H

#include <endian.h>
#include <string.h>

#include "providers/kit/barrier.h"
#include "providers/kit/mmio.h"
#include "providers/kit/refuse.h"
#include "providers/mana/mana.h"

enum {
	UNIT_SHIFT = 5,
	UNIT = 1 << UNIT_SHIFT,	    /* bytes: an entry consists of such units */
	UNITS_MASK = (1 << 27) - 1, /* numbers of units in a queue begin again behind this one */
	SLOT = 16,		    /* bytes of an element of the list */
	SEND_UNITS_MAX = 16,
	RECV_UNITS_MAX = 8,
	PSN_MASK = 0xffffff,
	PSN_SIGN = 0x800000,
	DUMMY_ADDRESS = 1, /* an entry without data has one element, which is empty */
	QUEUE_TYPE_MASK = 3,
	QUEUE_TYPE_PASSIVE = 1, /* in the lowest bits: send queue of the responder, and receive
				 * queue of the requester */
};

/* Offsets in a send. */
enum {
	AT_REQUEST = 8,
	AT_REMOTE = 16, /* immediate data, or the halves of the remote address in reverse order */
	AT_RDMA = 24,	/* remote key and length */
	AT_LIST = 32,
};

/* Offsets in a receive. */
enum {
	AT_RECV_PSN = 8, /* of the first packet of a read */
	AT_RECV_LIST = 16,
};

/* The first 64 bits of an entry. */
#define HEAD_PADDING	  1ull
#define HEAD_SGES(count)  ((uint64_t)(count) << 32)
#define HEAD_RECV	  (2ull << 40)
#define HEAD_SEND	  (6ull << 40)
#define HEAD_SEND_LARGE	  (7ull << 40) /* the first element of the list has immediate data */
#define HEAD_MTU(bytes)	  ((uint64_t)(bytes) << 48)
#define HEAD_CHECK_NUMBER (1ull << 62)

/* The next 64 bits of a send. */
enum {
	REQUEST_FLAGS_SHIFT = 5, /* of IBV_SEND_FENCE, _SIGNALED and _SOLICITED */
	REQUEST_PSN_SHIFT = 8,
	REQUEST_SSN_SHIFT = 32,
};

enum {
	TYPE_SEND = 2,
	TYPE_SEND_IMM = 3,
	TYPE_WRITE = 5,
	TYPE_WRITE_IMM = 6,
	TYPE_READ = 7,
};

struct mana_cqe {
	__le32 head;   /* type and cause of a failure */
	__le32 length; /* of a message; of others: state of the peer */
	__le32 psn;
	__le32 imm;    /* or the key that the peer invalidated */
	__le32 offset; /* bytes, of the receive in its queue */
	uint32_t reserved[10];
	__le32 queue; /* number, whether it is a send queue, phase */
};
_Static_assert(sizeof(struct mana_cqe) == 64, "as the device writes it");

enum {
	CQE_RC_SEND = 3,
	CQE_RC_SEND_IMM = 4,
	CQE_RC_SEND_INV = 5,
	CQE_RC_WRITE_IMM = 6,
	CQE_ACKNOWLEDGED = 7,
	CQE_ERROR = 34,
	CQE_TYPE_MASK = 0xff,
	CQE_CAUSE_SHIFT = 8,
	CQE_CAUSE_MASK = 0x3ff,
	CQE_SYNDROME_SHIFT = 29, /* 0: the peer acknowledged the packet */
	CQE_QUEUE_MASK = 0xffffff,
	CQE_IS_SEND = 1 << 24,
	CQE_PHASE_SHIFT = 29,
	CQE_PHASES = 8,
	CAUSE_FLUSHED = 0xfff, /* set by this library, not by the device */
};

/* Registers in the page of doorbells. */
enum {
	DB_SEND = 0,
	DB_RECV = 0x400,
	DB_ARM = 0x408,
	DB_CQ = 0x800,
	DB_COUNT_SHIFT = 24, /* receives: number of entries */
	DB_COUNT_MAX = 255,
	DB_VALUE_SHIFT = 32,
};
#define DB_ARM_NORMAL (1u << 24)
#define DB_CQ_ARMED   (1ull << 63)

/*
 * Memory behind the ring of sends, which the driver reads if the host moves the machine.
 * @left: unit behind the last completed send
 * @right: first unit of the last posted send
 */
struct mana_rollback {
	__le32 signature, size;
	_Atomic uint32_t left, right;
};
_Static_assert(sizeof(struct mana_rollback) == 16, "as the driver knows it");

struct mana_ring {
	char *base;
	uint32_t mask;	 /* bytes - 1 */
	uint32_t head;	 /* units that were posted, modulo UNITS_MASK + 1 */
	uint32_t number; /* number that the device uses */
};

/* Data of a posted send that its completion needs. */
struct mana_sent {
	uint64_t wr_id;
	uint32_t psn;	    /* of the last packet */
	uint32_t end;	    /* unit behind it in the queue */
	uint32_t length;    /* bytes */
	uint8_t read_units; /* in the receive queue of the requester */
	uint8_t opcode;	    /* IBV_WC_ */
	bool signaled;
};

/* @posted, @completed: numbers of requests since the last reset */
struct mana_sq {
	struct spinlock lock;
	int max_sge; /* -1 in states that accept no requests */
	struct mana_ring ring, reads;
	_Atomic uint32_t reads_tail; /* units of completed reads */
	uint32_t psn, ssn;
	uint32_t mtu_shift;
	uint64_t always; /* bits of each request: whether it completes */
	uint32_t max_post;
	uint32_t mask; /* elements of @sent - 1 */
	_Atomic uint32_t posted, completed;
	uint32_t armed; /* requests before this one need no arming; protected by the lock of the CQ
			 */
	struct mana_sent *sent;
	struct mana_rollback *rollback;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

struct mana_received {
	uint64_t wr_id;
	uint32_t start; /* first unit */
};

struct mana_rq {
	struct spinlock lock;
	int max_sge; /* as in mana_sq */
	struct mana_ring ring;
	uint32_t max_post;
	uint32_t mask;
	_Atomic uint32_t posted, completed;
	struct mana_received *received;
	atomic_uint said;
};

/* Queues in the order of the kernel's request. */
enum {
	RC_SEND,
	RC_SEND_RESPONDER,
	RC_READS,
	RC_RECV,
	RC_QUEUES,
};

struct mana_rc {
	struct verbs_qp vqp;
	struct mana_sq sq;
	struct mana_rq rq;
	struct mana_cq *send_cq, *recv_cq;
	char *doorbells;
	_Atomic enum ibv_qp_state state;
	LIST_ENTRY(mana_rc) sender, receiver; /* in the lists of the completion queues */
	struct kit_buf bufs[RC_QUEUES];
};

/* The library allocates a queue pair before its type is known. */
union mana_any_qp {
	struct mana_qp raw;
	struct mana_rc rc;
};

static inline struct mana_rc *to_mrc(struct ibv_qp *qp)
{
	return (struct mana_rc *)qp;
}

static inline void mana_write_64(char *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

/* Return the place of byte @at of the entry that is written at the head of the ring. */
static inline char *mana_ring_at(const struct mana_ring *ring, uint32_t at)
{
	return ring->base + (((ring->head << UNIT_SHIFT) + at) & ring->mask);
}

static inline void mana_ring_move(struct mana_ring *ring, uint32_t units)
{
	ring->head = (ring->head + units) & UNITS_MASK;
}

static inline void mana_sge_write(char *at, uint64_t address, uint32_t key, uint32_t length)
{
	mana_write_64(at, address);
	mana_write_64(at + 8, (uint64_t)length << 32 | key);
}

/* Store a doorbell. The device sees all earlier stores first. */
static inline void mana_ring_doorbell(char *page, uint32_t reg, uint64_t value)
{
	barrier_to_device();
	mmio_write_64(page + reg, htole64(value));
	barrier_wc_flush();
}

/* Announce what was posted. @count: number of receives; 0 for sends */
static inline void mana_announce(char *page, uint32_t reg, const struct mana_ring *ring,
				 uint32_t count)
{
	uint32_t offset = ring->head << UNIT_SHIFT;

	mana_ring_doorbell(page, reg,
			   ring->number | count << DB_COUNT_SHIFT |
				   (uint64_t)offset << DB_VALUE_SHIFT);
}

/* Ask for a completion when the peer has acknowledged packet @psn. */
static inline void mana_rc_arm(struct mana_rc *qp, uint32_t psn)
{
	mana_ring_doorbell(qp->doorbells, DB_ARM,
			   qp->sq.reads.number | DB_ARM_NORMAL | (uint64_t)psn << DB_VALUE_SHIFT);
}

/* Return the units of a receive with a list of @count elements. */
static inline uint32_t mana_recv_units(uint32_t count)
{
	return count / 2 + 1;
}

/* Write the head of a receive or a read with @count elements, the last part of an entry. */
static inline void mana_recv_head_write(const struct mana_ring *ring, uint32_t count, uint64_t head)
{
	/* A played device reads the ring without a doorbell, and waits for the head. */
	atomic_signal_fence(memory_order_seq_cst);
	mana_write_64(mana_ring_at(ring, 0), HEAD_SGES(count ? count : 1) | HEAD_RECV | head);
}

/* Write a receive or a read without its head at the head of the ring, and return its units. */
static inline uint32_t mana_recv_write(const struct mana_ring *ring, const struct ibv_sge *sge,
				       uint32_t count, uint64_t psn)
{
	uint32_t units, at = AT_RECV_LIST;

	if (count) {
		for (uint32_t i = 0; i < count; i++, at += SLOT)
			mana_sge_write(mana_ring_at(ring, at), sge[i].addr, sge[i].lkey,
				       sge[i].length);
	} else {
		count = 1;
		mana_sge_write(mana_ring_at(ring, at), DUMMY_ADDRESS, 0, 0);
		at += SLOT;
	}
	units = mana_recv_units(count);
	if (at < units << UNIT_SHIFT)
		mana_sge_write(mana_ring_at(ring, at), 0, 0, 0);
	mana_write_64(mana_ring_at(ring, AT_RECV_PSN), psn);
	return units;
}

/* cq.c */
/*
 * Tell the device how far the ring was read. @arm: and ask for an event. The caller holds the lock.
 */
void mana_cq_announce(struct mana_cq *cq, bool arm);
/* Remove the completions of a queue pair. The caller holds the locks of both queues. */
void mana_cqs_clean(struct mana_rc *qp);

/* status.c: return the status for a cause that the device reports. */
enum ibv_wc_status mana_status(uint32_t cause);

/* rc.c */
int mana_rc_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr);
int mana_rc_create(struct mana_rc *qp, const struct verbs_create_qp *in);
int mana_rc_destroy(struct mana_rc *qp);
/* Move a queue pair that has failed to the error state, and let its requests be flushed. */
void mana_rc_fail(struct mana_rc *qp);
void mana_async_event(struct ibv_context *ctx, struct ibv_async_event *event);

#endif
