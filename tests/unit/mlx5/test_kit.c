/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Code that the providers of adapters share: doorbell records and tables of numbers. */
#include "tests/unit/unit.h"
#include "libibverbs/provider.h"
#include "providers/kit/dbrec.h"
#include "providers/kit/idtable.h"

enum {
	COUNT = 1000
};

static void test_records(void **state)
{
	static const uint32_t lines[] = { 64, 128, 0, 7, 1 << 20 };

	for (unsigned int l = 0; l < ARRAY_SIZE(lines); l++) {
		struct dbrec_pool pool;
		__be32 *records[COUNT];

		dbrec_pool_init(&pool, lines[l]);
		for (int i = 0; i < COUNT; i++) {
			assert_int_equal(dbrec_alloc(&pool, NULL, &records[i]), 0);
			/* The record is unused and 0. */
			assert_int_equal(records[i][0] | records[i][1], 0);
			records[i][0] = records[i][1] = i + 1;
		}
		for (int i = 0; i < COUNT; i++) {
			assert_int_equal(records[i][1], i + 1);
			dbrec_free(&pool, records[i], NULL);
		}
		assert_true(LIST_EMPTY(&pool.pages));
		dbrec_pool_destroy(&pool);
	}
}

/* The adapter of a program that closes its device first continues to read. */
static void test_records_outlive(void **state)
{
	static struct dbrec_pool pool;
	__be32 *record;

	dbrec_pool_init(&pool, 64);
	assert_int_equal(dbrec_alloc(&pool, NULL, &record), 0);
	dbrec_pool_destroy(&pool);
	*(volatile __be32 *)record = 1;
}

enum {
	KIND = 3
};

static struct {
	__be32 words[3], *answer;
	int given;
} domain;

static void *domain_alloc(struct ibv_pd *pd, void *data, size_t size, size_t alignment,
			  uint64_t kind)
{
	assert_ptr_equal(data, &domain);
	assert_int_equal(size, 8);
	assert_int_equal(alignment, 8);
	assert_int_equal(kind, KIND);
	domain.given++;
	return domain.answer;
}

static void domain_free(struct ibv_pd *pd, void *data, void *record, uint64_t kind)
{
	assert_ptr_equal(record, domain.answer);
	assert_int_equal(kind, KIND);
	domain.given--;
}

/* A parent domain gives a record, fails, gives an address that the adapter cannot use, or leaves
 * the record to the library. */
static void test_records_of_parent(void **state)
{
	struct verbs_pd parent = { .alloc = domain_alloc,
				   .free = domain_free,
				   .pd_context = &domain };
	__be32 *aligned = domain.words + (uintptr_t)domain.words / 4 % 2;
	struct dbrec_pool pool;
	__be32 *record;

	dbrec_pool_init(&pool, 64);
	pool.type = KIND;
	aligned[0] = aligned[1] = 1;
	domain.answer = aligned;
	assert_int_equal(dbrec_alloc(&pool, &parent, &record), 0);
	assert_ptr_equal(record, aligned);
	assert_int_equal(aligned[0] | aligned[1], 0);
	dbrec_free(&pool, aligned, &parent);
	assert_int_equal(domain.given, 0);
	domain.answer = aligned + 1;
	assert_int_equal(dbrec_alloc(&pool, &parent, &record), -EINVAL);
	assert_null(record);
	assert_int_equal(domain.given, 0);
	domain.answer = NULL;
	assert_int_equal(dbrec_alloc(&pool, &parent, &record), -ENOMEM);
	assert_null(record);
	domain.answer = IBV_ALLOCATOR_USE_DEFAULT;
	domain.given = 0;
	assert_int_equal(dbrec_alloc(&pool, &parent, &record), 0);
	assert_int_equal(domain.given, 1);
	dbrec_free(&pool, record, &parent);
	assert_int_equal(domain.given, 1);
	assert_true(LIST_EMPTY(&pool.pages));
	dbrec_pool_destroy(&pool);
}

static void test_numbers(void **state)
{
	static struct idtable table;
	uint32_t id;

	idtable_init(&table);
	for (uint32_t i = 0; i < 3 * IDTABLE_ROWS; i++) {
		assert_int_equal(idtable_add(&table, &table, &id), 0);
		assert_int_equal(id, i);
	}
	assert_ptr_equal(idtable_find(&table, 5000), &table);
	idtable_remove(&table, 5000);
	assert_null(idtable_find(&table, 5000));
	assert_null(idtable_find(&table, IDTABLE_MASK));
	/* Only 24 bits of a number count. */
	assert_ptr_equal(idtable_find(&table, 0xff000007), &table);
	assert_int_equal(idtable_add(&table, &id, &id), 0);
	assert_int_equal(id, 5000);
	idtable_destroy(&table);
}

/* A number that the device chose is refused while it is taken. A late removal of the former
 * object does not remove its successor. */
static void test_given_numbers(void **state)
{
	static struct idtable table;
	int first, second;

	idtable_init(&table);
	idtable_take(&table, 0xfff0, &first);
	assert_int_equal(idtable_put(&table, 0xfff0, &first), 0);
	assert_ptr_equal(idtable_find(&table, 0xfff0), &first);
	assert_int_equal(idtable_put(&table, 0xfff0, &second), -EPROTO);
	assert_ptr_equal(idtable_find(&table, 0xfff0), &first);
	idtable_take(&table, 0xfff0, &first);
	assert_int_equal(idtable_put(&table, 0xfff0, &second), 0);
	idtable_take(&table, 0xfff0, &first);
	assert_ptr_equal(idtable_find(&table, 0xfff0), &second);
	idtable_take(&table, 0xfff0, &second);
	assert_null(idtable_find(&table, 0xfff0));
	idtable_destroy(&table);
}

/* Only the owners of a number find its object. After its removal no owner finds it. */
static void test_owners(void **state)
{
	static struct idtable table;
	int object, a, b, c;

	idtable_init(&table);
	assert_null(idtable_find_own(&table, 7, &a));
	assert_int_equal(idtable_put(&table, 7, &object), 0);
	assert_null(idtable_find_own(&table, 7, &a));
	idtable_own(&table, 7, &a, &b);
	assert_ptr_equal(idtable_find_own(&table, 7, &a), &object);
	assert_ptr_equal(idtable_find_own(&table, 0xff000007, &b), &object);
	assert_null(idtable_find_own(&table, 7, &c));
	assert_null(idtable_find_own(&table, 8, &a));
	idtable_take(&table, 7, &object);
	assert_null(idtable_find_own(&table, 7, &a));
	assert_int_equal(idtable_put(&table, 7, &object), 0);
	assert_null(idtable_find_own(&table, 7, &b));
	idtable_destroy(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),		  cmocka_unit_test(test_records_outlive),
		cmocka_unit_test(test_records_of_parent), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_given_numbers),	  cmocka_unit_test(test_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
