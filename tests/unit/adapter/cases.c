/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests that every adapter passes: rules of the verbs that do not depend on a format. */
#include "tests/unit/adapter/adapter.h"

enum {
	COUNTERS = 70000, /* more sends than a counter of 16 bits holds */
};

static char data[1024];

static struct adapter *create(void **state)
{
	return ((adapter_create)*state)();
}

void adapter_sends_poll(struct adapter *a, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct ibv_wc wc[2];

		assert_int_equal(adapter_send(a, i, IBV_SEND_SIGNALED, data, 1), 0);
		assert_int_equal(adapter_poll(a, a->send_cq, wc, 2), 0);
		a->ops->send_complete(a, i);
		assert_int_equal(adapter_poll(a, a->send_cq, wc, 2), 1);
		assert_int_equal(wc[0].wr_id, i);
		assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
		assert_int_equal(wc[0].opcode, IBV_WC_SEND);
		assert_int_equal(wc[0].qp_num, a->qp->qp_num);
	}
}

/* Rings and counters continue at their beginning. */
void adapter_test_counters(void **state)
{
	struct adapter *a = create(state);

	adapter_sends_poll(a, COUNTERS);
	a->ops->free(a);
}

/* A completion also completes the unsignaled sends before it, and polls return only the signaled
 * ones. */
void adapter_test_unsignaled(void **state)
{
	struct adapter *a = create(state);
	struct ibv_wc wc[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(adapter_send(a, i, i == 3 ? IBV_SEND_SIGNALED : 0, data, 8), 0);
	a->ops->send_complete(a, 3);
	assert_int_equal(adapter_poll(a, a->send_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 3);
	assert_int_equal(adapter_poll(a, a->send_cq, wc, 4), 0);
	a->ops->free(a);
}

/* A full queue refuses a send until a completion of all sends was polled. */
void adapter_test_sends_full(void **state)
{
	struct adapter *a = create(state);
	int last = a->sends - 1;

	for (int i = 0; i < a->sends; i++) {
		unsigned int flags = i == last ? IBV_SEND_SIGNALED : 0;

		assert_int_equal(adapter_send(a, i, flags, data, 8), 0);
	}
	assert_int_equal(adapter_send(a, a->sends, 0, data, 8), ENOMEM);
	a->ops->send_complete(a, last);
	assert_int_equal(adapter_send(a, a->sends, 0, data, 8), ENOMEM);
	assert_int_equal(adapter_poll_one(a, a->send_cq).wr_id, last);
	for (int i = 0; i < a->sends; i++)
		assert_int_equal(adapter_send(a, i, 0, data, 8), 0);
	assert_int_equal(adapter_send(a, a->sends, 0, data, 8), ENOMEM);
	a->ops->free(a);
}

/* Receives complete in their order, and one completion makes room for one receive. */
void adapter_test_receives_full(void **state)
{
	struct adapter *a = create(state);

	for (int i = 0; i < a->receives; i++)
		assert_int_equal(adapter_receive(a, 100 + i, 1), 0);
	for (int i = 0; i < 3 * a->receives; i++) {
		struct ibv_wc wc;

		assert_int_equal(adapter_receive(a, 0, 1), ENOMEM);
		a->ops->receive_complete(a, i);
		wc = adapter_poll_one(a, a->recv_cq);
		assert_int_equal(wc.wr_id, 100 + i);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.byte_len, 24);
		assert_int_equal(wc.wc_flags, 0);
		assert_int_equal(wc.qp_num, a->qp->qp_num);
		assert_int_equal(adapter_receive(a, 100 + i + a->receives, 1), 0);
	}
	a->ops->free(a);
}

/* If a request of a list is refused, the requests before it are posted. */
void adapter_test_list(void **state)
{
	struct adapter *a = create(state);
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_wc wc[4];

	for (int i = 0; i < 3; i++) {
		wr[i] = adapter_send_wr(i < 2 ? IBV_WR_SEND : IBV_WR_DRIVER1, 1);
		wr[i].wr_id = i;
		wr[i].send_flags = i == 1 ? IBV_SEND_SIGNALED : 0;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	assert_int_equal(a->ops->post_send(a->qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[2]);
	a->ops->send_complete(a, 1);
	assert_int_equal(adapter_poll(a, a->send_cq, wc, 4), 1);
	assert_int_equal(wc[0].wr_id, 1);
	a->ops->free(a);
}

/* Members of a request that every adapter refuses. */
static const struct refusal {
	const char *what;
	int opcode;
	unsigned int flags;
	int sges;	  /* INT_MAX: one more than the adapter has */
	uint32_t lengths; /* of each entry; 0: one byte more than fits inline */
	bool no_list;
} refusals[] = {
	{ "an opcode beyond the table", 99, 0, 1, 8, false },
	{ "a negative opcode", -1, 0, 1, 8, false },
	{ "an opcode of another use", IBV_WR_DRIVER1, 0, 1, 8, false },
	{ "an unknown flag", IBV_WR_SEND, 1u << 20, 1, 8, false },
	{ "a checksum", IBV_WR_SEND, IBV_SEND_IP_CSUM, 1, 8, false },
	{ "a negative number of entries", IBV_WR_SEND, 0, -1, 8, false },
	{ "the smallest number of entries", IBV_WR_SEND, 0, INT_MIN, 8, false },
	{ "an entry too many", IBV_WR_SEND, 0, INT_MAX, 8, false },
	{ "an entry too many to write", IBV_WR_RDMA_WRITE, 0, INT_MAX, 8, false },
	{ "no list", IBV_WR_SEND, 0, 1, 8, true },
	{ "a sum of lengths of 33 bits", IBV_WR_SEND, 0, 2, UINT32_MAX, false },
	{ "inline data of a read", IBV_WR_RDMA_READ, IBV_SEND_INLINE, 1, 8, false },
	{ "an inline byte too many", IBV_WR_SEND, IBV_SEND_INLINE, 1, 0, false },
	{ "an inline byte too many to write", IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 1, 0, false },
	{ "inline data of 4 GiB", IBV_WR_SEND, IBV_SEND_INLINE, 1, UINT32_MAX, false },
};

static struct ibv_send_wr refusal_wr(const struct adapter *a, const struct refusal *refusal)
{
	struct ibv_send_wr wr = adapter_send_wr((enum ibv_wr_opcode)refusal->opcode, refusal->sges);

	if (refusal->sges == INT_MAX)
		wr.num_sge = a->max_send_sge + 1;
	for (int i = 0; i < wr.num_sge; i++) {
		wr.sg_list[i].addr = (uintptr_t)data;
		wr.sg_list[i].length = refusal->lengths ? refusal->lengths : a->max_inline + 1;
	}
	wr.send_flags = refusal->flags;
	if (refusal->no_list)
		wr.sg_list = NULL;
	return wr;
}

/* The device is told of no refused request, and the queue remains usable. */
void adapter_test_sends_refused(void **state)
{
	struct adapter *a = create(state);
	void *registers = malloc(a->registers_size);

	memcpy(registers, a->registers, a->registers_size);
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		int r = adapter_post(a, refusal_wr(a, &refusals[i]));

		if (r != EINVAL)
			fail_msg("%s: %s: %d", a->device.name, refusals[i].what, r);
		if (memcmp(registers, a->registers, a->registers_size))
			fail_msg("%s: %s: the device is told", a->device.name, refusals[i].what);
	}
	free(registers);
	adapter_sends_poll(a, 1);
	a->ops->free(a);
}

void adapter_test_receives_refused(void **state)
{
	struct adapter *a = create(state);
	void *registers = malloc(a->registers_size);
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad = NULL;

	memcpy(registers, a->registers, a->registers_size);
	assert_int_equal(adapter_receive(a, 1, a->max_recv_sge + 1), EINVAL);
	assert_int_equal(adapter_receive(a, 1, -1), EINVAL);
	assert_int_equal(adapter_receive(a, 1, INT_MIN), EINVAL);
	assert_int_equal(a->ops->post_recv(a->qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_memory_equal(registers, a->registers, a->registers_size);
	free(registers);
	/* A list of no entries is a receive. */
	assert_int_equal(adapter_receive(a, 1, 0), 0);
	a->ops->receive_complete(a, 0);
	assert_int_equal(adapter_poll_one(a, a->recv_cq).wr_id, 1);
	a->ops->free(a);
}

/* A queue pair in a state that accepts no requests refuses them. */
void adapter_test_closed(void **state)
{
	struct adapter *a = create(state);

	a->ops->close(a);
	assert_int_equal(adapter_send(a, 1, 0, data, 8), EINVAL);
	assert_int_equal(adapter_post(a, adapter_send_wr(IBV_WR_RDMA_READ, 1)), EINVAL);
	assert_int_equal(adapter_receive(a, 1, 1), EINVAL);
	a->ops->free(a);
}
