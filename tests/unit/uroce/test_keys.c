/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Regions and windows: the QPs that may access them, and no access after their end. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "providers/uroce/host/host.h"
#include "providers/uroce/engine/engine.h"
#include "providers/uroce/verbs/verbs.h"

#define ALL_REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define ALL	   (IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE | IBV_ACCESS_MW_BIND)

enum {
	QPN = 0x123,
	OTHER_QPN = 0x124
};

static struct {
	struct uroce_host host;
	struct uroce_dev dev;
	struct uroce_context ctx;
	struct ibv_device device;
	struct uroce_pd pd[2];
	struct uroce_qp qp; /* in pd[0] */
	uint8_t buf[4096];
} t;

static int group_setup(void **state)
{
	static atomic_uint here = 1;

	if (uroce_keys_new(&t.host.engine.keys) < 0)
		return -1;
	t.host.here = &here;
	t.host.paths.udp_only = true; /* no process shares memory */
	t.dev.host = &t.host;
	t.ctx.dev = &t.dev;
	snprintf(t.device.name, sizeof(t.device.name), "test");
	t.ctx.vctx.context.device = &t.device;
	for (int i = 0; i < 2; i++) {
		t.pd[i].pd.context = &t.ctx.vctx.context;
		uroce_alloc_pd(&t.pd[i].pd, NULL);
	}
	t.qp.engine = &t.host.engine;
	t.qp.vqp.qp.qp_num = QPN;
	t.qp.vqp.qp.pd = &t.pd[0].pd;
	t.qp.vqp.qp.context = &t.ctx.vctx.context;
	return 0;
}

static int group_teardown(void **state)
{
	uroce_keys_free(t.host.engine.keys);
	return 0;
}

static int mr_new_at(struct uroce_mr *mr, struct uroce_pd *pd, void *addr, uint64_t length,
		     uint64_t iova, int access)
{
	const struct verbs_reg_mr in = {
		.pd = &pd->pd, .addr = addr, .length = length, .iova = iova, .access = access
	};
	int r;

	*mr = (struct uroce_mr){ .vmr.ibv_mr = { .context = &t.ctx.vctx.context, .pd = &pd->pd } };
	r = uroce_reg_mr(&mr->vmr, &in);
	assert_true(r <= 0);
	return r;
}

static void mr_new(struct uroce_mr *mr, int access)
{
	assert_int_equal(mr_new_at(mr, &t.pd[0], t.buf, sizeof(t.buf), (uintptr_t)t.buf, access),
			 0);
}

static void mr_free(struct uroce_mr *mr)
{
	assert_int_equal(uroce_dereg_mr(&mr->vmr), 0);
}

/* Look a key up and release it. Return the result of the look-up. */
static int probe(uint32_t key, int pd, uint32_t need, uint64_t va, uint64_t length)
{
	struct uroce_key *found;
	uint8_t *ptr;
	int r = uroce_key_get(t.host.engine.keys, key, &t.pd[pd].pd, QPN, need, va, length, &found,
			      &ptr);

	if (!r)
		uroce_key_put(found);
	return r;
}

static uint64_t at(size_t offset)
{
	return (uintptr_t)t.buf + offset;
}

/* --- regions --- */

static void test_access(void **state)
{
	struct uroce_mr mr;
	uint32_t key;

	mr_new(&mr, 0);
	key = mr.vmr.ibv_mr.lkey;
	assert_int_not_equal(key, 0);
	assert_int_equal(mr.vmr.ibv_mr.rkey, key);
	assert_int_equal(probe(key, 0, 0, at(0), 1), 0); /* reading locally is always allowed */
	assert_int_equal(probe(key, 0, IBV_ACCESS_LOCAL_WRITE, at(0), 1), -EACCES);
	assert_int_equal(probe(key, 0, IBV_ACCESS_REMOTE_READ, at(0), 1), -EACCES);
	assert_int_equal(probe(key, 0, IBV_ACCESS_REMOTE_WRITE, at(0), 1), -EACCES);
	assert_int_equal(probe(key, 0, IBV_ACCESS_REMOTE_ATOMIC, at(0), 8), -EACCES);
	mr_free(&mr);

	mr_new(&mr, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	key = mr.vmr.ibv_mr.rkey;
	assert_int_equal(probe(key, 0, IBV_ACCESS_REMOTE_WRITE, at(0), 1), 0);
	assert_int_equal(probe(key, 0, IBV_ACCESS_REMOTE_READ, at(0), 1), -EACCES);
	assert_int_equal(probe(key, 0, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, at(0), 1),
			 -EACCES);
	assert_int_equal(probe(key, 1, IBV_ACCESS_REMOTE_WRITE, at(0), 1),
			 -EACCES); /* another PD */
	mr_free(&mr);
}

static void test_range(void **state)
{
	struct uroce_key *key;
	struct uroce_mr mr;
	uint8_t *ptr;
	uint32_t k;

	mr_new(&mr, ALL);
	k = mr.vmr.ibv_mr.rkey;
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(0), sizeof(t.buf)), 0);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(0), sizeof(t.buf) + 1), -ERANGE);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(1), sizeof(t.buf)), -ERANGE);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(0) - 1, 1), -ERANGE);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(sizeof(t.buf)), 1), -ERANGE);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(sizeof(t.buf) - 1), 1), 0);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(1), UINT64_MAX), -ERANGE);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, UINT64_MAX, 2), -ERANGE);
	assert_int_equal(
		uroce_key_get(t.host.engine.keys, k, &t.pd[0].pd, QPN, 0, at(5), 7, &key, &ptr), 0);
	assert_ptr_equal(ptr, t.buf + 5);
	uroce_key_put(key);
	mr_free(&mr);
}

static void test_no_bytes_need_no_key(void **state)
{
	struct uroce_key *key = (void *)1;
	uint8_t *ptr;

	assert_int_equal(uroce_key_get(t.host.engine.keys, 0xdeadbeef, &t.pd[0].pd, QPN,
				       IBV_ACCESS_REMOTE_WRITE, 0, 0, &key, &ptr),
			 0);
	assert_null(key);
	uroce_key_put(key);
}

static void test_unknown_keys(void **state)
{
	struct uroce_mr mr;
	uint32_t k;

	mr_new(&mr, ALL);
	k = mr.vmr.ibv_mr.rkey;
	for (uint32_t variant = 0; variant < 256; variant++) {
		uint32_t guess = (k & ~0xffu) | variant;

		assert_int_equal(probe(guess, 0, 0, at(0), 1), guess == k ? 0 : -EACCES);
	}
	assert_int_equal(probe(0, 0, 0, 0, 1), -EACCES);
	assert_int_equal(probe(UINT32_MAX, 0, 0, at(0), 1), -EACCES);
	assert_int_equal(probe(k + 0x100, 0, 0, at(0), 1), -EACCES);
	mr_free(&mr);
	assert_int_equal(probe(k, 0, 0, at(0), 1), -EACCES);
}

static void test_names(void **state)
{
	struct uroce_key *key;
	struct uroce_mr mr;
	uint8_t *ptr;

	/* iova: another name for the first byte, for lkey and rkey */
	assert_int_equal(mr_new_at(&mr, &t.pd[0], t.buf, 100, 0x7000, ALL), 0);
	assert_int_equal(probe(mr.vmr.ibv_mr.rkey, 0, IBV_ACCESS_REMOTE_READ, at(0), 1), -ERANGE);
	assert_int_equal(uroce_key_get(t.host.engine.keys, mr.vmr.ibv_mr.rkey, &t.pd[0].pd, QPN, 0,
				       0x7001, 99, &key, &ptr),
			 0);
	assert_ptr_equal(ptr, t.buf + 1);
	uroce_key_put(key);
	mr_free(&mr);

	assert_int_equal(
		mr_new_at(&mr, &t.pd[0], t.buf, 100, (uintptr_t)t.buf, ALL | IBV_ACCESS_ZERO_BASED),
		0);
	assert_int_equal(uroce_key_get(t.host.engine.keys, mr.vmr.ibv_mr.rkey, &t.pd[0].pd, QPN, 0,
				       99, 1, &key, &ptr),
			 0);
	assert_ptr_equal(ptr, t.buf + 99);
	uroce_key_put(key);
	assert_int_equal(probe(mr.vmr.ibv_mr.rkey, 0, 0, 99, 2), -ERANGE);
	mr_free(&mr);
}

static void test_implicit(void **state)
{
	struct uroce_key *key;
	struct uroce_mr mr;
	uint8_t *ptr;

	assert_int_equal(mr_new_at(&mr, &t.pd[0], NULL, SIZE_MAX, 0, ALL), -EINVAL);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], NULL, SIZE_MAX, 0,
				   ALL | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_FLUSH_PERSISTENT),
			 -EINVAL);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], NULL, SIZE_MAX, 0, ALL | IBV_ACCESS_ON_DEMAND),
			 0);
	assert_int_equal(uroce_key_get(t.host.engine.keys, mr.vmr.ibv_mr.lkey, &t.pd[0].pd, QPN,
				       IBV_ACCESS_LOCAL_WRITE, at(9), 4, &key, &ptr),
			 0);
	assert_ptr_equal(ptr, t.buf + 9);
	uroce_key_put(key);
	mr_free(&mr);
}

static void test_refused_regions(void **state)
{
	uint8_t *gone = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uroce_mr mr;

	munmap(gone + 4096, 4096);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], t.buf, 10, 0, IBV_ACCESS_REMOTE_WRITE), -EINVAL);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], t.buf, 10, 0, IBV_ACCESS_REMOTE_ATOMIC), -EINVAL);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], t.buf, 10, 0, 1 << 15), -EINVAL);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], t.buf, 0, 0, 0), -EINVAL);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], t.buf, UINT64_MAX - 1, 0, 0), -EINVAL);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], gone + 4096, 1, 0, 0), -EFAULT);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], gone, 4097, 0, 0), -EFAULT);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], gone + 1, 4095, 0, 0), 0);
	mr_free(&mr);
	/* on demand: it may come later */
	assert_int_equal(mr_new_at(&mr, &t.pd[0], gone, 8192, 0, IBV_ACCESS_ON_DEMAND), 0);
	mr_free(&mr);
	assert_int_equal(mr_new_at(&mr, &t.pd[0], t.buf, 10, 0, IBV_ACCESS_RELAXED_ORDERING), 0);
	mr_free(&mr);
	munmap(gone, 4096);
}

static void test_rereg(void **state)
{
	struct verbs_rereg_mr in = { .flags = IBV_REREG_MR_CHANGE_TRANSLATION,
				     .addr = t.buf + 100,
				     .length = 50 };
	struct uroce_mr mr;
	uint32_t k;

	mr_new(&mr, ALL);
	k = mr.vmr.ibv_mr.lkey;
	assert_int_equal(uroce_rereg_mr(&mr.vmr, &in), 0);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, at(100), 50), 0);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, at(99), 1), -ERANGE);
	in = (struct verbs_rereg_mr){ .flags = IBV_REREG_MR_CHANGE_ACCESS,
				      .access = IBV_ACCESS_REMOTE_READ };
	assert_int_equal(uroce_rereg_mr(&mr.vmr, &in), 0);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, at(100), 50), -EACCES);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(100), 50), 0);
	in = (struct verbs_rereg_mr){ .flags = IBV_REREG_MR_CHANGE_PD, .pd = &t.pd[1].pd };
	assert_int_equal(uroce_rereg_mr(&mr.vmr, &in), 0);
	mr.vmr.ibv_mr.pd = &t.pd[1].pd; /* as the library does */
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(100), 50), -EACCES);
	assert_int_equal(probe(k, 1, IBV_ACCESS_REMOTE_READ, at(100), 50), 0);
	in = (struct verbs_rereg_mr){ .flags = IBV_REREG_MR_CHANGE_ACCESS,
				      .access = IBV_ACCESS_REMOTE_WRITE };
	assert_int_equal(uroce_rereg_mr(&mr.vmr, &in), -EINVAL);
	assert_int_equal(probe(k, 1, IBV_ACCESS_REMOTE_READ, at(100), 50), 0); /* as before */
	mr_free(&mr);
	assert_int_equal(atomic_load(&t.pd[0].users), 0);
	assert_int_equal(atomic_load(&t.pd[1].users), 0);
}

static void test_pd_in_use(void **state)
{
	struct uroce_mr mr;

	mr_new(&mr, ALL);
	assert_int_equal(uroce_dealloc_pd(&t.pd[0].pd), -EBUSY);
	mr_free(&mr);
	assert_int_equal(uroce_dealloc_pd(&t.pd[0].pd), 0);
}

/* Allocate more keys than a leaf holds. All differ, no key is 0, all are found, and all are freed
 * afterwards. */
static void test_many(void **state)
{
	enum {
		COUNT = UROCE_KEY_LEAF + 100
	};
	struct uroce_key **key = calloc(COUNT, sizeof(*key));
	uint8_t *seen = calloc(UROCE_MAX_KEYS, 1);
	uint32_t *number = calloc(COUNT, sizeof(*number));

	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(uroce_key_new(t.host.engine.keys, &t.pd[0].pd, t.buf, 64,
					       i * 100ull, 0, &key[i]),
				 0);
		number[i] = key[i]->key;
		assert_int_not_equal(number[i], 0);
		assert_int_equal(seen[number[i] >> 8]++, 0);
	}
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(probe(number[i], 0, 0, i * 100ull, 64), 0);
		assert_int_equal(uroce_key_free(t.host.engine.keys, key[i]), 0);
		assert_int_equal(probe(number[i], 0, 0, i * 100ull, 64), -EACCES);
	}
	free(key);
	free(seen);
	free(number);
}

/* Every entry is either used or immediately available. No allocation searches, and no entry is
 * lost. */
static void test_unused(void **state)
{
	enum {
		COUNT = 1000,
		ROUNDS = 50000,
	};
	struct uroce_keys *keys = t.host.engine.keys;
	struct uroce_key *key[COUNT] = {};
	uint8_t *seen = calloc(UROCE_MAX_KEYS, 1);

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct uroce_key **k = &key[i * 7919u % COUNT];

		if (*k)
			assert_int_equal(uroce_key_free(keys, *k), 0);
		assert_int_equal(uroce_key_new(keys, &t.pd[0].pd, t.buf, 64, 0, 0, k), 0);
	}
	for (unsigned int i = 0; i < keys->unused_count; i++) {
		assert_int_equal(seen[keys->unused[i]]++, 0);
		assert_false(uroce_key_at(keys, keys->unused[i] << UROCE_KEY_VARIANT_BITS)->used);
	}
	assert_int_equal(seen[0], 0); /* no key is 0 */
	assert_int_equal(keys->unused_count + keys->used + 1, keys->leaves * UROCE_KEY_LEAF);
	for (unsigned int i = 0; i < COUNT; i++)
		if (key[i])
			assert_int_equal(uroce_key_free(keys, key[i]), 0);
	free(seen);
}

/* --- SGE lists --- */

static int gather(const struct ibv_sge *sge, int num_sge, uint32_t offset, uint32_t length,
		  uint32_t need, struct uroce_gather *ret)
{
	return uroce_gather_get(t.host.engine.keys, &t.pd[0].pd, sge, num_sge, offset, length, need,
				ret);
}

static void test_gather(void **state)
{
	struct uroce_gather g;
	struct uroce_mr mr;
	uint32_t k;

	mr_new(&mr, IBV_ACCESS_LOCAL_WRITE);
	k = mr.vmr.ibv_mr.lkey;
	{
		const struct ibv_sge one[] = { { at(10), 20, k } };
		const struct ibv_sge list[] = { { at(0), 10, k },
						{ at(500), 0, 0xbad },
						{ at(100), 5, k },
						{ at(200), 7, k } };
		const struct ibv_sge bad[] = { { at(0), 10, k }, { at(0), 10, k ^ 1 } };

		assert_int_equal(gather(one, 1, 5, 15, 0, &g), 1);
		assert_ptr_equal(g.iov[0].iov_base, t.buf + 15);
		assert_int_equal(g.iov[0].iov_len, 15);
		assert_int_equal(atomic_load(&mr.key->refs), 1);
		uroce_gather_put(&g);
		assert_int_equal(gather(one, 1, 5, 16, 0, &g), -ERANGE);
		assert_int_equal(gather(one, 1, 20, 0, 0, &g), 0);
		uroce_gather_put(&g);

		assert_int_equal(gather(list, 4, 0, 22, 0, &g), 3);
		assert_int_equal(atomic_load(&mr.key->refs), 3);
		assert_ptr_equal(g.iov[1].iov_base, t.buf + 100);
		assert_int_equal(g.iov[1].iov_len, 5);
		assert_ptr_equal(g.iov[2].iov_base, t.buf + 200);
		assert_int_equal(g.iov[2].iov_len, 7);
		uroce_gather_put(&g);
		assert_int_equal(gather(list, 4, 12, 4, 0, &g), 2);
		assert_ptr_equal(g.iov[0].iov_base, t.buf + 102);
		assert_int_equal(g.iov[0].iov_len, 3);
		assert_ptr_equal(g.iov[1].iov_base, t.buf + 200);
		assert_int_equal(g.iov[1].iov_len, 1);
		uroce_gather_put(&g);
		assert_int_equal(gather(list, 4, 10, 5, 0, &g), 1);
		uroce_gather_put(&g);
		assert_int_equal(gather(list, 4, 0, 23, 0, &g), -ERANGE);
		assert_int_equal(gather(list, 4, 22, 1, 0, &g), -ERANGE);
		assert_int_equal(gather(list, 0, 0, 1, 0, &g), -ERANGE);
		assert_int_equal(gather(bad, 2, 0, 20, 0, &g), -EACCES);
		assert_int_equal(gather(one, 1, 0, 1, IBV_ACCESS_REMOTE_READ, &g), -EACCES);
	}
	assert_int_equal(atomic_load(&mr.key->refs), 0); /* the failures left no reference */
	mr_free(&mr);
}

static int fetched;

static int fake_fetch(struct uroce_path *path, const struct uroce_payload *payload, uint32_t offset,
		      void *dst, uint32_t length)
{
	fetched++;
	memcpy(dst, (const uint8_t *)payload->reference + offset, length);
	return 0;
}

static void test_scatter(void **state)
{
	static const struct uroce_path_ops ops = { .fetch = fake_fetch };
	struct uroce_path path = { .ops = &ops };
	uint8_t data[22];
	struct uroce_payload payload = { .data = data, .length = sizeof(data), .path = &path };
	struct uroce_mr mr, readonly;
	uint32_t k, ro;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = i + 1;
	mr_new(&mr, IBV_ACCESS_LOCAL_WRITE);
	mr_new(&readonly, 0);
	k = mr.vmr.ibv_mr.lkey;
	ro = readonly.vmr.ibv_mr.lkey;
	{
		const struct ibv_sge list[] = { { at(0), 10, k },
						{ at(100), 5, k },
						{ at(200), 20, k } };
		const struct ibv_sge bad[] = { { at(0), 10, k }, { at(100), 5, ro } };

		memset(t.buf, 0, sizeof(t.buf));
		assert_int_equal(
			uroce_scatter(t.host.engine.keys, &t.pd[0].pd, list, 3, 3, &payload), 0);
		assert_int_equal(t.buf[2], 0);
		assert_memory_equal(t.buf + 3, data, 7);
		assert_int_equal(t.buf[10], 0);
		assert_memory_equal(t.buf + 100, data + 7, 5);
		assert_int_equal(t.buf[105], 0);
		assert_memory_equal(t.buf + 200, data + 12, 10);
		assert_int_equal(t.buf[210], 0);

		assert_int_equal(
			uroce_scatter(t.host.engine.keys, &t.pd[0].pd, list, 3, 14, &payload),
			-ERANGE);
		assert_int_equal(
			uroce_scatter(t.host.engine.keys, &t.pd[0].pd, bad, 2, 0, &payload),
			-EACCES);
		assert_int_equal(
			uroce_scatter(t.host.engine.keys, &t.pd[1].pd, list, 3, 0, &payload),
			-EACCES);
		payload.length = 0;
		assert_int_equal(
			uroce_scatter(t.host.engine.keys, &t.pd[0].pd, NULL, 0, 0, &payload), 0);

		/* by reference: the path places each piece */
		memset(t.buf, 0, sizeof(t.buf));
		payload = (struct uroce_payload){ .reference = data,
						  .length = sizeof(data),
						  .path = &path };
		assert_int_equal(
			uroce_scatter(t.host.engine.keys, &t.pd[0].pd, list, 3, 0, &payload), 0);
		assert_int_equal(fetched, 3);
		assert_memory_equal(t.buf, data, 10);
		assert_memory_equal(t.buf + 200, data + 15, 7);
	}
	assert_int_equal(atomic_load(&mr.key->refs), 0);
	mr_free(&mr);
	mr_free(&readonly);
}

static void test_vanished(void **state)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uroce_payload payload = { .data = t.buf, .length = 64 };
	struct uroce_mr mr;
	struct ibv_sge sge;

	assert_int_equal(mr_new_at(&mr, &t.pd[0], p, 4096, (uintptr_t)p, IBV_ACCESS_LOCAL_WRITE),
			 0);
	sge = (struct ibv_sge){ (uintptr_t)p, 4096, mr.vmr.ibv_mr.lkey };
	assert_int_equal(uroce_scatter(t.host.engine.keys, &t.pd[0].pd, &sge, 1, 0, &payload), 0);
	munmap(p, 4096);
	assert_int_equal(uroce_scatter(t.host.engine.keys, &t.pd[0].pd, &sge, 1, 0, &payload),
			 -EFAULT);
	mr_free(&mr);
}

/* --- windows --- */

static void mw_new(struct uroce_mw *mw, enum ibv_mw_type type)
{
	*mw = (struct uroce_mw){
		.mw = { .context = &t.ctx.vctx.context, .pd = &t.pd[0].pd, .type = type }
	};
	assert_int_equal(uroce_alloc_mw(&mw->mw, NULL), 0);
}

static int window_bind(const struct uroce_mw *mw, uint32_t rkey, const struct uroce_mr *mr,
		       uint64_t addr, uint64_t length, uint32_t access)
{
	struct uroce_swqe wqe = {
		.opcode = IBV_WR_BIND_MW,
		.bind = {
			.addr = addr,
			.length = length,
			.rkey = rkey,
			.mr_key = mr ? mr->vmr.ibv_mr.lkey : 0,
			.access = access,
		},
	};

	return uroce_key_bind(&t.qp, &wqe);
}

static void test_window_1(void **state)
{
	struct uroce_mw mw;
	struct uroce_mr mr;
	uint32_t first, k;

	mr_new(&mr, ALL);
	mw_new(&mw, IBV_MW_TYPE_1);
	first = mw.mw.rkey;
	assert_int_equal(probe(first, 0, IBV_ACCESS_REMOTE_READ, at(0), 1), -EACCES); /* unbound */
	k = ibv_inc_rkey(first);
	assert_int_equal(window_bind(&mw, k, &mr, at(10), 20, IBV_ACCESS_REMOTE_WRITE), 0);
	assert_int_equal(probe(first, 0, IBV_ACCESS_REMOTE_WRITE, at(10), 1), -EACCES);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, at(10), 20), 0);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, at(9), 1), -ERANGE);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, at(30), 1), -ERANGE);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(10), 1), -EACCES);
	assert_int_equal(probe(k, 1, IBV_ACCESS_REMOTE_WRITE, at(10), 1), -EACCES);
	assert_int_equal(probe(k, 0, 0, at(10), 1), -EACCES); /* no lkey */
	/* the region stays until the window is freed */
	assert_int_equal(uroce_dereg_mr(&mr.vmr), -EBUSY);
	assert_int_equal(probe(mr.vmr.ibv_mr.rkey, 0, IBV_ACCESS_REMOTE_READ, at(0), 1), 0);
	/* bound again elsewhere, the old key is void */
	assert_int_equal(
		window_bind(&mw, ibv_inc_rkey(k), &mr, at(100), 20, IBV_ACCESS_REMOTE_READ), 0);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, at(10), 1), -EACCES);
	k = ibv_inc_rkey(k);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(100), 1), 0);
	/* a window of type 1 is not invalidated, but bound with length 0 */
	assert_int_equal(uroce_key_invalidate(t.host.engine.keys, &t.pd[0].pd, QPN, k), -EINVAL);
	assert_int_equal(window_bind(&mw, ibv_inc_rkey(k), NULL, 0, 0, 0), 0);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_READ, at(100), 1), -EACCES);
	assert_int_equal(probe(ibv_inc_rkey(k), 0, IBV_ACCESS_REMOTE_READ, at(100), 1), -EACCES);
	mr_free(&mr);
	assert_int_equal(uroce_dealloc_mw(&mw.mw), 0);
}

static void test_window_2(void **state)
{
	struct uroce_key *key;
	struct uroce_mw mw;
	struct uroce_mr mr;
	uint8_t *ptr;
	uint32_t k;

	mr_new(&mr, ALL);
	mw_new(&mw, IBV_MW_TYPE_2);
	k = (mw.mw.rkey & ~0xffu) | 0x5a;
	assert_int_equal(uroce_key_invalidate(t.host.engine.keys, &t.pd[0].pd, QPN, mw.mw.rkey),
			 -EINVAL); /* free already */
	assert_int_equal(window_bind(&mw, k, &mr, at(10), 0, IBV_ACCESS_REMOTE_WRITE), -EINVAL);
	assert_int_equal(window_bind(&mw, k, &mr, at(10), 20,
				     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED),
			 0);
	assert_int_equal(window_bind(&mw, k + 1, &mr, at(10), 20, IBV_ACCESS_REMOTE_WRITE),
			 -EINVAL); /* not free */
	assert_int_equal(uroce_key_get(t.host.engine.keys, k, &t.pd[0].pd, QPN,
				       IBV_ACCESS_REMOTE_WRITE, 19, 1, &key, &ptr),
			 0);
	assert_ptr_equal(ptr, t.buf + 29);
	uroce_key_put(key);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, 20, 1), -ERANGE);
	/* only through the QP it was bound by */
	assert_int_equal(uroce_key_get(t.host.engine.keys, k, &t.pd[0].pd, OTHER_QPN,
				       IBV_ACCESS_REMOTE_WRITE, 0, 1, &key, &ptr),
			 -EACCES);
	assert_int_equal(uroce_key_invalidate(t.host.engine.keys, &t.pd[0].pd, OTHER_QPN, k),
			 -EACCES);
	assert_int_equal(uroce_key_invalidate(t.host.engine.keys, &t.pd[1].pd, QPN, k), -EACCES);
	assert_int_equal(uroce_key_invalidate(t.host.engine.keys, &t.pd[0].pd, QPN, k ^ 1),
			 -EINVAL);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, 0, 1), 0);
	assert_int_equal(uroce_key_invalidate(t.host.engine.keys, &t.pd[0].pd, QPN, k), 0);
	assert_int_equal(probe(k, 0, IBV_ACCESS_REMOTE_WRITE, 0, 1), -EACCES);
	assert_int_equal(window_bind(&mw, k + 1, &mr, at(0), 1, IBV_ACCESS_REMOTE_READ),
			 0);			       /* free again */
	assert_int_equal(uroce_dealloc_mw(&mw.mw), 0); /* the window releases the region */
	mr_free(&mr);
	/* regions are not windows */
	mr_new(&mr, ALL);
	assert_int_equal(
		uroce_key_invalidate(t.host.engine.keys, &t.pd[0].pd, QPN, mr.vmr.ibv_mr.rkey),
		-EINVAL);
	mr_free(&mr);
}

static void test_refused_binds(void **state)
{
	struct uroce_mr mr, plain, readonly, other;
	struct uroce_mw mw;
	uint32_t k;

	mr_new(&mr, ALL);
	mr_new(&plain, ALL & ~IBV_ACCESS_MW_BIND);
	mr_new(&readonly, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	assert_int_equal(mr_new_at(&other, &t.pd[1], t.buf, sizeof(t.buf), (uintptr_t)t.buf, ALL),
			 0);
	mw_new(&mw, IBV_MW_TYPE_1);
	k = ibv_inc_rkey(mw.mw.rkey);
	assert_int_equal(window_bind(&mw, k, &plain, at(0), 1, IBV_ACCESS_REMOTE_READ), -EACCES);
	assert_int_equal(window_bind(&mw, k, &readonly, at(0), 1, IBV_ACCESS_REMOTE_WRITE),
			 -EACCES);
	assert_int_equal(window_bind(&mw, k, &readonly, at(0), 1, IBV_ACCESS_REMOTE_ATOMIC),
			 -EACCES);
	assert_int_equal(window_bind(&mw, k, &other, at(0), 1, IBV_ACCESS_REMOTE_READ), -EACCES);
	assert_int_equal(window_bind(&mw, k, &mr, at(0) - 1, 1, IBV_ACCESS_REMOTE_READ), -EINVAL);
	assert_int_equal(window_bind(&mw, k, &mr, at(1), sizeof(t.buf), IBV_ACCESS_REMOTE_READ),
			 -EINVAL);
	assert_int_equal(window_bind(&mw, k, &mr, at(1), UINT64_MAX, IBV_ACCESS_REMOTE_READ),
			 -EINVAL);
	assert_int_equal(
		window_bind(&mw, k, &mr, at(0), 1, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED),
		-EINVAL);
	assert_int_equal(window_bind(&mw, k, &mr, at(0), 1, IBV_ACCESS_MW_BIND), -EINVAL);
	assert_int_equal(
		window_bind(&mw, mr.vmr.ibv_mr.rkey, &mr, at(0), 1, IBV_ACCESS_REMOTE_READ),
		-EINVAL);
	assert_int_equal(window_bind(&mw, 0, &mr, at(0), 1, IBV_ACCESS_REMOTE_READ), -EINVAL);
	mr_free(&plain);
	assert_int_equal(window_bind(&mw, k, &plain, at(0), 1, IBV_ACCESS_REMOTE_READ),
			 -EINVAL); /* gone */
	assert_int_equal(window_bind(&mw, k, &readonly, at(0), 1, IBV_ACCESS_REMOTE_READ), 0);
	assert_int_equal(uroce_dealloc_mw(&mw.mw), 0);
	mr_free(&mr);
	mr_free(&readonly);
	mr_free(&other);
}

/* --- advice, persistence --- */

static void test_advise(void **state)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in_core[2] = {};
	struct uroce_mr mr;
	struct ibv_sge sge;

	assert_int_equal(mr_new_at(&mr, &t.pd[0], p, 8192, (uintptr_t)p, IBV_ACCESS_LOCAL_WRITE),
			 0);
	sge = (struct ibv_sge){ (uintptr_t)p + 10, 8000, mr.vmr.ibv_mr.lkey };
	assert_int_equal(
		uroce_advise_mr(&t.pd[0].pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, &sge, 1),
		0);
	assert_int_equal(uroce_advise_mr(&t.pd[0].pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1),
			 0);
	assert_int_equal(uroce_advise_mr(&t.pd[0].pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
					 IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
			 0);
	assert_int_equal(mincore(p, 8192, in_core), 0);
	assert_int_equal(in_core[0] & in_core[1] & 1, 1);
	assert_int_equal(
		uroce_advise_mr(&t.pd[0].pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 1 << 5, &sge, 1),
		-EINVAL);
	assert_int_equal(uroce_advise_mr(&t.pd[0].pd, 77, 0, &sge, 1), -EOPNOTSUPP);
	assert_int_equal(uroce_advise_mr(&t.pd[1].pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1),
			 -ENOENT);
	sge.length = 8192;
	assert_int_equal(uroce_advise_mr(&t.pd[0].pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1),
			 -EFAULT);
	mr_free(&mr);
	munmap(p, 8192);
}

static void test_sync(void **state)
{
	struct uroce_mr mr;

	mr_new(&mr, ALL);
	assert_int_equal(uroce_key_sync(mr.key, t.buf + 7, 9, false), 0);
	assert_int_equal(uroce_key_sync(mr.key, NULL, 0, true), 0);
	assert_int_equal(uroce_key_sync(NULL, NULL, 0, false), 0);
	assert_int_equal(uroce_key_sync(mr.key, NULL, 1, false), -ENOMEM);
	mr_free(&mr);
}

/* --- deregistration waits for the copies in flight, and for no others --- */

static atomic_uint current_key;
static atomic_bool stop;
static atomic_uint wrong, found;

static void *reader(void *arg)
{
	while (!atomic_load(&stop)) {
		struct uroce_key *key;
		uint8_t *ptr;

		if (uroce_key_get(t.host.engine.keys, atomic_load(&current_key), &t.pd[0].pd, QPN,
				  IBV_ACCESS_REMOTE_READ, at(0), 64, &key, &ptr) < 0)
			continue;
		atomic_fetch_add(&found, 1);
		for (int i = 0; i < 64; i++)
			if (__atomic_load_n(&ptr[i], __ATOMIC_RELAXED) != 1)
				atomic_fetch_add(&wrong, 1);
		uroce_key_put(key);
	}
	return NULL;
}

static void buf_set(int value)
{
	for (int i = 0; i < 64; i++)
		__atomic_store_n(&t.buf[i], value, __ATOMIC_RELAXED);
}

static void test_dereg_waits(void **state)
{
	pthread_t thread[2];

	buf_set(1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, reader, NULL), 0);
	for (int i = 0; i < 2000 || !atomic_load(&found); i++) {
		struct uroce_mr mr;

		mr_new(&mr, ALL);
		atomic_store(&current_key, mr.vmr.ibv_mr.rkey);
		for (int spin = 0; spin < 200; spin++)
			atomic_thread_fence(memory_order_seq_cst);
		mr_free(&mr);
		buf_set(2); /* our memory again: no copy may read it */
		buf_set(1);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(atomic_load(&wrong), 0);
}

/* --- the observer that shows regions to other processes --- */

static struct uroce_key *shown;
static int waits;

static void watch_show(struct uroce_keys_watch *watch, const struct uroce_key *key)
{
	assert_null(shown);
	shown = (struct uroce_key *)key;
}

static void watch_hide(struct uroce_keys_watch *watch, const struct uroce_key *key)
{
	assert_ptr_equal(shown, key);
	assert_int_equal(atomic_load(&key->live), key->key); /* still valid */
	shown = NULL;
}

/* A stopped peer delays this wait. Meanwhile the lock is free, and no look-up finds the region. */
static void watch_wait(struct uroce_keys_watch *watch, const struct uroce_key *key)
{
	struct uroce_key *used;
	uint8_t *ptr;

	assert_null(shown);
	assert_true(uroce_trylock(&t.host.engine.keys->lock));
	uroce_unlock(&t.host.engine.keys->lock);
	assert_int_equal(uroce_key_get(t.host.engine.keys, key->key, &t.pd[0].pd, 0,
				       IBV_ACCESS_LOCAL_WRITE, key->iova, 1, &used, &ptr),
			 -EACCES);
	waits++;
}

static void test_watch(void **state)
{
	struct verbs_rereg_mr in = { .flags = IBV_REREG_MR_CHANGE_ACCESS };
	struct uroce_keys_watch watch = { .show = watch_show,
					  .hide = watch_hide,
					  .wait = watch_wait };
	struct uroce_mr mr;

	t.host.engine.keys->watch = &watch;
	mr_new(&mr, ALL);
	assert_ptr_equal(shown, mr.key);
	assert_int_equal(uroce_rereg_mr(&mr.vmr, &in), 0);
	assert_ptr_equal(shown, mr.key);
	assert_int_equal(waits, 1);
	mr_free(&mr);
	assert_null(shown);
	assert_int_equal(waits, 2);
	t.host.engine.keys->watch = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_no_bytes_need_no_key),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_implicit),
		cmocka_unit_test(test_refused_regions),
		cmocka_unit_test(test_rereg),
		cmocka_unit_test(test_pd_in_use),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_unused),
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_scatter),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_window_1),
		cmocka_unit_test(test_window_2),
		cmocka_unit_test(test_refused_binds),
		cmocka_unit_test(test_advise),
		cmocka_unit_test(test_sync),
		cmocka_unit_test(test_dereg_waits),
		cmocka_unit_test(test_watch),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
