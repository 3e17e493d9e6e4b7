/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A soft RoCE device without a kernel: rings in a memory file, doorbells into a pipe. */
#ifndef TESTS_UNIT_RXE_FAKE_H
#define TESTS_UNIT_RXE_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "providers/rxe/rxe.h"

struct fake {
	struct verbs_device device;
	struct verbs_context vctx;
	struct rxe_qp qp;
	int pipe[2]; /* doorbells arrive in [0] */
};

/* A ring of @slots elements in private memory, every byte of its slots set to @fill. */
static inline struct rxe_queue fake_queue(uint32_t slots, uint32_t shift, uint8_t fill)
{
	size_t size = sizeof(struct rxe_queue_buf) + ((size_t)slots << shift);
	struct rxe_queue_buf *buf = aligned_alloc(64, ROUND_UP(size, 64));

	memset(buf, fill, size);
	buf->log2_elem_size = shift;
	buf->index_mask = slots - 1;
	buf->producer_index = 0;
	buf->consumer_index = 0;
	return (struct rxe_queue){ .buf = buf, .mask = slots - 1, .shift = shift, .size = size };
}

/* A QP ready to send: 8 slots of 512 bytes for sends, 4 of 128 for receives. */
static inline struct fake *fake_create(enum ibv_qp_type type, uint8_t fill)
{
	struct fake *f = calloc(1, sizeof(*f));

	strcpy(f->device.device.name, "fake0");
	f->vctx.context.device = &f->device.device;
	assert_int_equal(pipe(f->pipe), 0);
	f->vctx.context.cmd_fd = f->pipe[1];
	f->qp.vqp.qp.context = &f->vctx.context;
	f->qp.vqp.qp.qp_type = type;
	f->qp.vqp.qp.qp_num = 0x11;
	f->qp.vqp.qp.handle = 3;
	f->qp.vqp.qp.state = IBV_QPS_RTS;
	f->qp.send_ops = UINT32_MAX;
	f->qp.max_send_sge = 4;
	f->qp.max_inline = 64;
	f->qp.rq.max_sge = 2;
	f->qp.sq = fake_queue(8, 9, fill);
	f->qp.rq.queue = fake_queue(4, 7, fill);
	kit_doorbell_init(&f->qp.doorbell, &f->qp.vqp.qp);
	return f;
}

static inline void fake_free(struct fake *f)
{
	close(f->pipe[0]);
	close(f->pipe[1]);
	free(f->qp.sq.buf);
	free(f->qp.rq.queue.buf);
	free(f);
}

/* The bytes of slot @index, @offset into it. */
static inline uint8_t *fake_slot(const struct rxe_queue *queue, uint32_t index, size_t offset)
{
	return (uint8_t *)rxe_queue_slot(queue, index) + offset;
}

static inline uint32_t fake_u32(const struct rxe_queue *queue, uint32_t index, size_t offset)
{
	uint32_t value;

	memcpy(&value, fake_slot(queue, index, offset), sizeof(value));
	return value;
}

static inline uint64_t fake_u64(const struct rxe_queue *queue, uint32_t index, size_t offset)
{
	uint64_t value;

	memcpy(&value, fake_slot(queue, index, offset), sizeof(value));
	return value;
}

/* Doorbells written since the last call; the last one is stored in @ret_bytes. */
static inline int fake_doorbells(struct fake *f, uint8_t ret_bytes[32])
{
	struct timeval now = {};
	int n = 0;

	for (;;) {
		fd_set set;

		FD_ZERO(&set);
		FD_SET(f->pipe[0], &set);
		if (select(f->pipe[0] + 1, &set, NULL, NULL, &now) != 1)
			return n;
		assert_int_equal(read(f->pipe[0], ret_bytes, 32), 32);
		n++;
	}
}

#endif
