/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An EFA adapter for the kernel's driver efa. This file has the objects that the driver makes by
 * commands; the rings that programs write are in tests/adapters/lab/device/efa_ring.c.
 */
#ifndef PCI_EFA_H
#define PCI_EFA_H

#include <stdbool.h>
#include <stdint.h>
#include "tests/adapters/lab/device/efa_ring.h"

enum {
	EFA_QPS = 128,
	EFA_CQS = 128,
	EFA_EQS = 8,
	EFA_MRS = 4096,
	EFA_AHS = 256,
	EFA_PDS = 1024,
	EFA_SQ_ROOM = 256 * EFA_WQE, /* of a send queue in the BAR */
	EFA_SQ_DEPTH = EFA_SQ_ROOM / EFA_WQE,
	EFA_RQ_DEPTH = 4096,
	EFA_CQ_DEPTH = 8192,
	EFA_MTU = 8928,

	EFA_BAR_REGISTERS = 0,
	EFA_BAR_SENDS = 2,
	EFA_BAR_DOORBELLS = 4,
	EFA_DOORBELLS_OF_CQS =
		EFA_QPS * 2 * 4096, /* pages of queue pairs come first: two pages each */
};

enum efa_qp_type {
	EFA_UD = 1,
	EFA_SRD = 2,
};

struct efa_mr {
	bool used;
	uint16_t pd;
	uint64_t iova, length;
	uint32_t shift, pages;
	uint64_t *page; /* DMA addresses */
	bool write;
};

struct efa_cq {
	bool used;
	struct object object;
	struct efa_parts parts;
	size_t size; /* bytes of the mapping */
	int eq;	     /* or -1 */
};

struct efa_qp {
	bool used;
	struct object object;
	enum efa_qp_type type;
	uint16_t pd;
	uint32_t send_cq, recv_cq;
	size_t rq_size; /* bytes of the mapping */
};

struct efa_eq {
	bool used;
	uint64_t ring;
	uint32_t depth, produced;
	unsigned int vector;
};

struct efa_ah {
	uint32_t users; /* the driver makes one for each protection domain */
	uint8_t gid[16];
};

struct efa_counts {
	uint64_t tx_bytes, tx_packets, rx_bytes, rx_packets, rx_drops;
};

extern struct efa_adapter {
	uint8_t gid[16];
	struct efa_mr mrs[EFA_MRS];
	struct efa_cq cqs[EFA_CQS];
	struct efa_qp qps[EFA_QPS];
	struct efa_eq eqs[EFA_EQS];
	struct efa_ah ahs[EFA_AHS];
	bool pds[EFA_PDS], uars[EFA_PDS];
	struct efa_counts counts;
} efa;

/* Statuses of commands, as the driver translates them to errnos. */
enum efa_status {
	EFA_OK,
	EFA_NO_RESOURCES, /* ENOMEM */
	EFA_BAD_OPCODE,	  /* EINVAL, like the errors below */
	EFA_UNSUPPORTED,  /* EOPNOTSUPP */
	EFA_MALFORMED,
	EFA_ILLEGAL,
};

/*
 * efa_command.c: execute a command of 64 bytes and fill in the answer behind its header of 8 bytes.
 */
enum efa_status efa_execute(const uint8_t *command, uint8_t *answer);
/* Return a status for a command that fails by chance; see struct play_device. */
uint32_t efa_random_status(uint32_t opcode, uint32_t random);
/* Forget all objects, as a reset does. */
void efa_forget_all(void);

/* efa_queue.c: make one pass over the rings; return whether there was work. */
bool efa_queues(void);
/* Complete all that is posted with an error. */
void efa_flush(struct efa_qp *qp);

/* efa.c */
void efa_event(struct efa_eq *eq, uint16_t cqn);

#endif
