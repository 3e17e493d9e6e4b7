/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair and two completion queues of qedr, without a kernel. */
#ifndef QEDR_FAKE_H
#define QEDR_FAKE_H

#include "providers/qedr/wqe.h"
#include "tests/unit/adapter/adapter.h"

enum {
	ICID = 0x21,
	SENDS = 8,
	MAX_POST = 6, /* sends that fit into the ring */
	RECEIVES = 4,
	SEND_RING = 20, /* elements, fewer than the largest requests need, and no multiple of 3 */
	RECEIVE_RING = 7,
	ENTRIES = 8,
};

struct fake {
	struct adapter adapter;
	struct qedr_context ctx;
	struct qedr_qp qp;
	struct qedr_cq send_cq, recv_cq;
	struct qedr_sent sent[SENDS];
	uint64_t wr_ids[RECEIVES];
	_Alignas(16) char sends[SEND_RING * ELEMENT];
	_Alignas(16) char receives[RECEIVE_RING * ELEMENT];
	_Alignas(32) char sent_cqes[ENTRIES * CQE], received_cqes[ENTRIES * CQE];
	uint32_t posted_sends, posted_receives; /* entries that the device wrote */
	uint64_t registers[4];
};

struct adapter *fake_adapter(void);
struct fake *fake_create(void);
void fake_free(struct fake *f);
/* Write an entry of a completion queue as the device does. @cookie: of a queue pair */
void fake_sent(struct fake *f, uint64_t cookie, uint16_t count, uint8_t status);
void fake_received(struct fake *f, uint64_t cookie, uint8_t flags, uint16_t id, uint8_t status);
int fake_poll(struct qedr_cq *cq, struct ibv_wc *wc, int count);
/* Post a send with @length bytes at @data, inline or as an entry. */
static inline int fake_post(struct fake *f, uint64_t wr_id, unsigned int flags, const void *data,
			    uint32_t length)
{
	return adapter_send(&f->adapter, wr_id, flags, data, length);
}

#endif
