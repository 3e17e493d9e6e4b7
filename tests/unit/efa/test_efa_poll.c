/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions as the device writes them, by both ways of polling, and invalid completions. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/efa/fake.h"

#define SMALL EFA_CQE_SMALL
#define LARGE EFA_CQE_LARGE

static void post_recv(struct fake *f, uint64_t wr_id)
{
	struct ibv_sge sge = { 0x1000, 64, 1 };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(efa_post_recv(&f->qp.vqp.qp, &wr, &bad), 0);
}

/* Write into the second part, as the n-th entry. */
static void complete(struct fake *f, unsigned int n, const char *dump)
{
	uint8_t *at = f->cqes + FAKE_PAGE / 2 + (size_t)n * f->cq.stride;

	for (unsigned int value; sscanf(dump, " %2x", &value) == 1; at++) {
		*at = value;
		dump += strspn(dump, " ") + 2;
	}
}

static int poll(struct fake *f, struct ibv_wc *wc)
{
	memset(wc, 0x5a, sizeof(*wc));
	return efa_poll_cq(&f->cq.vcq.cq, 1, wc);
}

/* The receive queue has 256 ids and is the fourth queue with its number. */
static void test_receive(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);
	struct ibv_wc wc;

	post_recv(f, 0xabcdef);
	assert_int_equal(poll(f, &wc), 0);
	complete(f, 0, "00 03 00 0d 12 00 40 00 02 00 07 00 04 03 02 01");
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.wr_id, 0xabcdef);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 64);
	assert_int_equal(wc.src_qp, 7);
	assert_int_equal(wc.slid, 2);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(be32toh(wc.imm_data), 0x01020304);
	assert_int_equal(le32toh(f->cq_doorbell), 1);
	assert_int_equal(f->qp.rq.wq.used, 0);
	fake_free(f);
}

static void test_errors(void **state)
{
	static const struct {
		uint8_t raw;
		enum ibv_wc_status status;
	} rows[] = { { 1, IBV_WC_WR_FLUSH_ERR },       { 5, IBV_WC_LOC_PROT_ERR },
		     { 10, IBV_WC_RNR_RETRY_EXC_ERR }, { 18, IBV_WC_REM_INV_REQ_ERR },
		     { 16, IBV_WC_GENERAL_ERR },       { 255, IBV_WC_GENERAL_ERR } };
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);
	struct ibv_wc wc;
	char dump[64];

	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		post_recv(f, i);
		snprintf(dump, sizeof(dump), "00 03 %02x 05 12 00 00 00", rows[i].raw);
		complete(f, i, dump);
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.status, rows[i].status);
		assert_int_equal(wc.vendor_err, rows[i].raw);
	}
	fake_free(f);
}

/* RDMA writes of the peer: with an immediate into a receive, or without any receive. */
static void test_unsolicited(void **state)
{
	struct fake *f = fake_create(IBV_QPT_DRIVER, EFA_WQE_LARGE_SHIFT, LARGE, 1);
	struct ibv_poll_cq_attr none = {};
	struct ibv_cq_ex *ex = &f->cq.vcq.cq_ex;
	union ibv_gid gid;
	struct ibv_wc wc;

	complete(f, 0, "00 00 00 ad 12 00 01 00 02 00 07 00 04 03 02 01 02 00");
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.wr_id, 0);
	assert_int_equal(wc.byte_len, 0x20001);
	efa_cq_ex_set_slots(&f->cq, IBV_WC_STANDARD_FLAGS, ~0ull);
	complete(f, 1, "00 00 00 ad 12 00 01 00 ff ff 07 00 04 03 02 01 01 02 03 04");
	assert_int_equal(ibv_start_poll(ex, &none), 0);
	assert_true(efadv_wc_is_unsolicited(&f->cq.dv));
	assert_int_equal(efadv_wc_read_sgid(&f->cq.dv, &gid), 0);
	assert_bytes(gid.raw, "01 02 03 04 00");
	assert_int_equal(ibv_wc_read_src_qp(ex), 7);
	assert_int_equal(ibv_wc_read_slid(ex), 0xffff);
	assert_int_equal(ibv_wc_read_opcode(ex), IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(ibv_wc_read_wc_flags(ex), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	assert_int_equal(le32toh(f->cq_doorbell), 2);
	complete(f, 2, "00 00 00 ad 12 00 01 00 03 00");
	assert_int_equal(ibv_start_poll(ex, &none), 0);
	assert_int_equal(efadv_wc_read_sgid(&f->cq.dv, &gid), -ENOENT);
	ibv_end_poll(ex);
	fake_free(f);
}

/* The phase shows the round of the ring, and ids are returned in the order of use. */
static void test_rounds(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);
	unsigned int entries = f->cq.vcq.cq.cqe;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < 3 * entries; i++) {
		post_recv(f, i);
		assert_int_equal(poll(f, &wc), 0);
		complete(f, i % entries, i / entries % 2 ? "00 03 00 04 12" : "00 03 00 05 12");
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.wr_id, i);
	}
	assert_int_equal(le32toh(f->cq_doorbell), 3 * entries);
	fake_free(f);
}

/* Completions of a destroyed queue pair, or of an earlier one with the same number, are dropped. */
static void test_gone(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);
	struct ibv_wc wc;

	post_recv(f, 1);
	complete(f, 0, "00 02 00 05 12");
	complete(f, 1, "00 03 00 05 13");
	complete(f, 2, "00 03 00 05 12");
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(le32toh(f->cq_doorbell), 3);
	/* No request was posted, and the entry names neither queue. */
	complete(f, 3, "00 03 00 05 12");
	assert_int_equal(poll(f, &wc), -EINVAL);
	complete(f, 4, "00 03 00 07 12");
	assert_int_equal(poll(f, &wc), -EINVAL);
	assert_int_equal(poll(f, &wc), 0);
	fake_free(f);
}

/* A completion before an invalid entry is returned, and the next poll reports the invalid one. */
static void test_behind_good(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);
	struct ibv_wc wc[4];

	post_recv(f, 1);
	post_recv(f, 2);
	complete(f, 0, "00 03 00 05 12");
	complete(f, 1, "00 03 00 07 12");
	complete(f, 2, "01 03 00 05 12");
	assert_int_equal(efa_poll_cq(&f->cq.vcq.cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(le32toh(f->cq_doorbell), 1);
	assert_int_equal(efa_poll_cq(&f->cq.vcq.cq, 4, wc), -EINVAL);
	assert_int_equal(efa_poll_cq(&f->cq.vcq.cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 2);
	assert_int_equal(le32toh(f->cq_doorbell), 3);
	fake_free(f);
}

/* A device that writes on during a poll: the same entry, without a queue pair, appears again and
 * again. */
static void test_endless(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);
	struct ibv_cq_ex *ex = &f->cq.vcq.cq_ex;
	struct ibv_poll_cq_attr none = {};
	struct ibv_wc wc;

	efa_cq_ex_set_slots(&f->cq, IBV_WC_STANDARD_FLAGS, 0);
	complete(f, 0, "00 03 00 05 13");
	f->cq.stride = 0;
	alarm(60); /* SIGALRM ends the test if the poll does not end */
	assert_int_equal(poll(f, &wc), 0);
	assert_int_equal(ibv_start_poll(ex, &none), ENOENT);
	alarm(0);
	fake_free(f);
}

/* Requests complete in any order. A reset makes each id available once, and earlier completions
 * are dropped. */
static void test_reset(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);
	bool seen[FAKE_PAGE / EFA_RECEIVE_SIZE] = { false };
	struct ibv_wc wc;

	for (int i = 0; i < 4; i++)
		post_recv(f, i);
	complete(f, 0, "02 03 00 05 12");
	complete(f, 1, "00 03 00 05 12");
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.wr_id, 0);
	complete(f, 2, "01 03 00 05 12");
	f->ctx->generations[FAKE_QPN] = 7;
	efa_qp_start(&f->qp);
	assert_int_equal(f->ctx->generations[FAKE_QPN], 8);
	assert_int_equal(poll(f, &wc), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(seen); i++) {
		uint64_t id;

		post_recv(f, 0x100 + i);
		id = le64toh(f->qp.rq.ring[2 * i + 1]) & 0xffff;
		assert_int_equal(id >> 8, 7);
		assert_false(seen[id & 0xff]);
		seen[id & 0xff] = true;
	}
	complete(f, 3, "ff 07 00 05 12");
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.wr_id, 0x1ff);
	fake_free(f);
}

static void test_arm(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);

	f->cq.consumed = 0x10007;
	efa_cq_event(&f->cq.vcq);
	assert_int_equal(efa_req_notify_cq(&f->cq.vcq.cq, 1), EOPNOTSUPP);
	assert_int_equal(efa_req_notify_cq(&f->cq.vcq.cq, 0), 0);
	assert_int_equal(le32toh(f->cq_doorbell), 0xa0000007);
	f->cq.doorbell = &f->cq.nowhere;
	f->cq.deaf = true;
	assert_int_equal(efa_req_notify_cq(&f->cq.vcq.cq, 0), EOPNOTSUPP);
	fake_free(f);
}

enum {
	MANY = 40000,
};

/* Two threads post as many requests as there is room for. */
struct posters {
	struct fake *f;
	pthread_mutex_t lock; /* a poster publishes its request before the other one posts */
	atomic_uint posted;
};

static void *post_many(void *argument)
{
	struct posters *posters = argument;
	struct ibv_sge sge = { 0x1000, 64, 1 };

	for (bool more = true; more;) {
		struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
		bool full;

		pthread_mutex_lock(&posters->lock);
		wr.wr_id = atomic_load(&posters->posted);
		more = wr.wr_id < MANY;
		full = more && efa_post_recv(&posters->f->qp.vqp.qp, &wr, &bad);
		if (more && !full)
			atomic_store(&posters->posted, wr.wr_id + 1);
		pthread_mutex_unlock(&posters->lock);
		if (full)
			sched_yield();
	}
	return NULL;
}

/* Polling and posting at the same time are serialised by a lock; each completion belongs to its
 * request. */
static void test_threads(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);
	struct posters posters = { .f = f, .lock = PTHREAD_MUTEX_INITIALIZER };
	unsigned int entries = f->cq.vcq.cq.cqe, buffers = FAKE_PAGE / EFA_RECEIVE_SIZE;
	pthread_t threads[2];
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, post_many, &posters), 0);
	for (unsigned int i = 0; i < MANY; i++) {
		uint8_t *at = f->cqes + FAKE_PAGE / 2 + (size_t)(i % entries) * f->cq.stride;
		uint16_t id;

		while (atomic_load(&posters.posted) <= i)
			sched_yield();
		id = le64toh(f->qp.rq.ring[2 * (i % buffers) + 1]) & 0xffff;
		at[4] = FAKE_QPN;
		at[0] = id;
		at[1] = id >> 8;
		at[3] = i / entries % 2 ? 4 : 5;
		assert_int_equal(poll(f, &wc), 1);
		assert_int_equal(wc.wr_id, i);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(f->qp.rq.wq.used, 0);
	fake_free(f);
}

/* Post a few more requests, as a program does after completions. */
static void refill(struct fake *f)
{
	struct ibv_sge sge = { (uintptr_t)f, 16, 1 };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr *bad_send, send = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud.ah = &f->ah.ah,
	};

	efa_post_recv(&f->qp.vqp.qp, &recv, &bad_recv);
	efa_post_send(&f->qp.vqp.qp, &send, &bad_send);
}

/* ---- invalid entries of a device, one by one; each queue has one posted request */

static const struct attack {
	const char *what, *dump;
	bool elsewhere; /* its receives complete in another queue */
	int polled;
} attacks[] = {
	{ "a queue pair of nobody", "00 03 00 05 13 00", false, 0 },
	{ "the highest QPN", "00 03 00 05 ff ff", false, 0 },
	{ "a receive of the generation before", "00 02 00 05 12 00", false, 0 },
	{ "a receive of the next generation", "00 04 00 05 12 00", false, 0 },
	{ "a request beyond the queue", "80 00 00 03 12 00", false, 0 },
	{ "the highest id of a request", "ff ff 00 03 12 00", false, 0 },
	{ "a receive by the id of a request", "40 00 00 05 12 00", false, 0 },
	{ "a request by the id of a receive", "00 03 00 03 12 00", false, 0 },
	{ "the other round's", "00 03 00 04 12 00", false, 0 },
	{ "neither queue", "00 03 00 01 12 00", false, -EINVAL },
	{ "both queues", "00 03 00 07 12 00", false, -EINVAL },
	{ "both queues, of nobody's", "00 03 00 87 12 00", false, -EINVAL },
	{ "a receive where it does not complete", "00 03 00 05 12 00", true, -EINVAL },
	{ "one that nobody posted, there", "00 00 00 85 12 00", true, -EINVAL },
	{ "status 255", "00 03 ff 05 12 00", false, 1 },
	{ "status 255 of a request", "40 00 ff 03 12 00", false, 1 },
	{ "operation 7", "00 03 00 75 12 00", false, 1 },
	{ "operation 7 of a request", "40 00 00 73 12 00", false, 1 },
	{ "a request that nobody posted", "40 00 00 83 12 00", false, 1 },
	{ "a receive that nobody posted", "ff ff 00 85 12 00", false, 1 },
	{ "every flag, and more bytes than there were",
	  "00 03 00 fd 12 00 ff ff ff ff ff ff ff ff ff ff ff ff ff ff", false, 1 },
	{ "an id that is not in use", "ff 03 00 05 12 00", false, 1 },
};

static struct fake *attacked(const struct attack *a)
{
	struct fake *f = fake_create(IBV_QPT_DRIVER, EFA_WQE_SMALL_SHIFT, LARGE, 1);
	static struct efa_cq other;

	efa_cq_ex_set_slots(&f->cq, IBV_WC_STANDARD_FLAGS, ~0ull);
	refill(f);
	if (a->elsewhere) {
		f->qp.recv_cq = &other;
		idtable_own(&f->ctx->qps, FAKE_QPN, &f->cq, &other);
	}
	complete(f, 0, a->dump);
	return f;
}

/* The room for requests never exceeds the queue, and later requests are intact. */
static void assert_usable(struct fake *f)
{
	assert_true(f->qp.sq.wq.used <= 1 && f->qp.rq.wq.used <= 1);
	for (uint32_t i = 0; i < 2 * FAKE_PAGE / EFA_RECEIVE_SIZE; i++)
		refill(f);
	assert_int_equal(f->qp.sq.wq.used, f->qp.sq.wq.max_post);
	assert_int_equal(f->qp.rq.wq.used, f->qp.rq.wq.max_post);
}

static void test_attacks(void **state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(attacks); i++) {
		const struct attack *a = &attacks[i];
		int expected = a->polled > 0 ? 0 : a->polled ? EINVAL : ENOENT, polled;
		struct ibv_poll_cq_attr none = {};
		struct fake *f = attacked(a);
		struct ibv_cq_ex *ex;
		struct ibv_wc wc;

		polled = poll(f, &wc);
		if (polled != a->polled)
			print_error("%s: %d, not %d\n", a->what, polled, a->polled);
		assert_int_equal(polled, a->polled);
		assert_usable(f);
		fake_free(f);
		f = attacked(a);
		ex = &f->cq.vcq.cq_ex;
		polled = ibv_start_poll(ex, &none);
		if (polled != expected)
			print_error("%s: extended: %d, not %d\n", a->what, polled, expected);
		assert_int_equal(polled, expected);
		if (!polled) {
			assert_true(ibv_wc_read_byte_len(ex) != 1);
			ibv_end_poll(ex);
		}
		assert_usable(f);
		fake_free(f);
	}
}

/* A request completes any number of times. The program's room never exceeds the queue, and the
 * queue works again as soon as the device writes valid entries. */
static void test_twice(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, EFA_WQE_SMALL_SHIFT, SMALL, 1);
	uint32_t posted = 0, completed = 0;
	struct ibv_wc wc;

	post_recv(f, 77);
	complete(f, 0, "00 03 00 05 12");
	complete(f, 1, "00 03 00 05 12");
	assert_int_equal(poll(f, &wc), 1);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(poll(f, &wc), -EINVAL);
	assert_int_equal(f->qp.rq.wq.used, 0);
	for (uint32_t n = 2; n < (uint32_t)f->cq.vcq.cq.cqe; n++, posted++)
		post_recv(f, n);
	for (uint32_t n = 2; n < (uint32_t)f->cq.vcq.cq.cqe; n++) {
		complete(f, n, "00 03 00 05 12");
		completed += poll(f, &wc) == 1;
	}
	assert_int_equal(completed, posted);
	assert_int_equal(f->qp.rq.wq.used, 0);
	for (uint32_t i = 0; i < f->qp.rq.wq.max_post; i++)
		post_recv(f, i);
	assert_int_equal(f->qp.rq.wq.used, f->qp.rq.wq.max_post);
	fake_free(f);
}

/* The device writes random or nearly valid entries: rings and tables stay intact. */
static void test_hostile(void **state)
{
	const char *asked = getenv("EFA_HOSTILE_ROUNDS");
	unsigned int rounds = asked ? atoi(asked) : 200000, random = 1, good = 0;
	struct fake *f = fake_create(IBV_QPT_DRIVER, EFA_WQE_SMALL_SHIFT, LARGE, 3);
	struct ibv_poll_cq_attr none = {};
	struct ibv_cq_ex *ex = &f->cq.vcq.cq_ex;

	efa_cq_ex_set_slots(&f->cq, IBV_WC_STANDARD_FLAGS, ~0ull);
	for (unsigned int i = 0; i < rounds; i++) {
		struct efa_sub_cq *sub = &f->subs[(random = random * 1103515245 + 12345) >> 30 & 1];
		uint8_t *cqe = f->cqes + (sub->at - f->cq.ring);
		struct ibv_wc wc[4];
		union ibv_gid gid;

		for (int b = 0; b < 32; b++)
			cqe[b] = (random = random * 1103515245 + 12345) >> 16;
		cqe[3] = (cqe[3] & ~1) | !!sub->phase;
		if (random >> 20 & 3) {
			const struct efa_wq *wq = random >> 22 & 1 ? &f->qp.rq.wq : &f->qp.sq.wq;
			uint16_t id = wq->generation | (cqe[0] & wq->id_mask);

			memcpy(cqe, &id, sizeof(id));
			memcpy(cqe + 4, (uint8_t[]){ FAKE_QPN, 0 }, 2);
			cqe[3] = (cqe[3] & ~6) | (random >> 22 & 1 ? 4 : 2);
		}
		if (!(random >> 25 & 3))
			refill(f);
		if (random >> 24 & 1) {
			good += efa_poll_cq(&f->cq.vcq.cq, 4, wc) > 0;
		} else if (!ibv_start_poll(ex, &none)) {
			good++;
			ibv_wc_read_opcode(ex);
			ibv_wc_read_byte_len(ex);
			efadv_wc_read_sgid(&f->cq.dv, &gid);
			ibv_next_poll(ex);
			ibv_end_poll(ex);
		}
		assert_true(f->qp.sq.wq.used <= f->qp.sq.wq.max_post);
		assert_true(f->qp.rq.wq.used <= f->qp.rq.wq.max_post);
	}
	assert_true(good > rounds / 100);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_receive),	    cmocka_unit_test(test_errors),
		cmocka_unit_test(test_unsolicited), cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_gone),	    cmocka_unit_test(test_reset),
		cmocka_unit_test(test_threads),	    cmocka_unit_test(test_arm),
		cmocka_unit_test(test_attacks),	    cmocka_unit_test(test_twice),
		cmocka_unit_test(test_hostile),	    cmocka_unit_test(test_behind_good),
		cmocka_unit_test(test_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
