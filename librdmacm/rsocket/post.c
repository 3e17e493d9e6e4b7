/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting of requests, each with its slot. */
#include "libibverbs/provider.h"
#include "librdmacm/rsocket/rs.h"

/*
 * Post a message on iWARP, which has no immediate data. A send carries the immediate as a word in
 * the sender's byte order, behind the write that it describes. Write and send count as one request.
 */
static int word_post(struct rs_socket *s, struct ibv_send_wr *write)
{
	uint32_t word = be32toh(write->imm_data);
	struct ibv_sge sge = { .addr = (uintptr_t)&word, .length = sizeof(word) };
	struct ibv_send_wr send = {
		.wr_id = write->wr_id,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE | (write->send_flags & IBV_SEND_SIGNALED),
		.sg_list = &sge,
		.num_sge = 1,
	};
	struct ibv_send_wr *bad;

	if (!write->num_sge)
		return ibv_post_send(s->id->qp, &send, &bad);
	write->opcode = IBV_WR_RDMA_WRITE;
	write->send_flags &= ~IBV_SEND_SIGNALED;
	write->next = &send;
	return ibv_post_send(s->id->qp, write, &bad);
}

static int request_post(struct rs_socket *s, struct ibv_send_wr *wr, const void *from)
{
	struct ibv_send_wr *bad;

	if (from)
		return verbs_post_write_copy(s->id->qp, wr, from);
	if (unlikely(s->sends_words) && wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		return word_post(s, wr);
	return ibv_post_send(s->id->qp, wr, &bad);
}

static int counted_post(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, bool control,
			const void *from)
{
	bool rare = rs_slots_free(s) < s->sq_size / 4 ||
		    s->sbuf_size - (s->sbuf_head - s->sbuf_tail) < s->sbuf_size / 4;
	int r;

	wr->wr_id = s->posted;
	if (control || rare || s->unsignalled + 1 >= RS_SIGNAL_INTERVAL) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		s->unsignalled = 0;
	} else {
		s->unsignalled++;
	}
	r = request_post(s, wr, from);
	if (unlikely(r)) {
		rs_socket_fail(s, r);
		return -r;
	}
	s->slots[s->posted % s->sq_size] = (struct rs_slot){ bytes, control };
	s->posted++;
	if (!control)
		s->data_end = s->posted;
	s->controls += control;
	return 0;
}

int rs_post(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, bool control)
{
	return counted_post(s, wr, bytes, control, NULL);
}

int rs_post_data(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, const void *from)
{
	return counted_post(s, wr, bytes, false, from);
}

int rs_post_control(struct rs_socket *s, enum rs_wire_control control)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htobe32(rs_wire_imm(RS_WIRE_CONTROL, control)),
	};

	return rs_post(s, &wr, 0, true);
}
