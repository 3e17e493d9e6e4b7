/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Doorbell records: places of both groups, more than one page, use of a place again, and the end of
 * the pages. */
#include "providers/mthca/mthca.h"
#include "tests/unit/unit.h"

enum {
	PAGES = 6,
	LAST = PAGES * MTHCA_RECORDS - 1, /* index of the last record */
};

static struct ibv_device device = { .name = "mthca0" };

static struct mthca_context *context_new(uint32_t bytes)
{
	struct mthca_context *ctx = calloc(1, sizeof(*ctx));

	assert_non_null(ctx);
	ctx->vctx.context.device = &device;
	assert_int_equal(mthca_records_init(&ctx->records, bytes), 0);
	return ctx;
}

static void context_free(struct mthca_context *ctx)
{
	mthca_records_destroy(&ctx->records);
	free(ctx);
}

static struct mthca_record take(struct mthca_context *ctx, enum mthca_purpose purpose,
				uint32_t index)
{
	struct mthca_record record = {};

	assert_int_equal(mthca_record_alloc(ctx, purpose, &record), 0);
	assert_int_equal(record.index, index);
	assert_int_equal((uintptr_t)record.words - mthca_record_page(&record),
			 index % MTHCA_RECORDS * MTHCA_RECORD_BYTES);
	assert_int_equal(mthca_record_page(&record) % MTHCA_RECORD_PAGE, 0);
	assert_int_equal(record.words[0] | record.words[1], 0);
	return record;
}

static void test_places(void **state)
{
	struct mthca_context *ctx = context_new(PAGES * MTHCA_RECORD_PAGE);
	struct mthca_record record;

	/* Records of arming and of sends get rising indexes, the others get falling ones. */
	for (uint32_t i = 0; i <= MTHCA_RECORDS; i++) {
		take(ctx, i % 2 ? MTHCA_RECORD_ARM : MTHCA_RECORD_SQ, i);
		take(ctx, i % 3 ? MTHCA_RECORD_RQ : MTHCA_RECORD_SRQ, LAST - i);
	}
	record = take(ctx, MTHCA_RECORD_SET_CI, LAST - MTHCA_RECORDS - 1);
	mthca_record_name(&record, MTHCA_RECORD_SET_CI, 0x81);
	assert_int_equal(be32toh(record.words[1]), 0x8120);
	record.words[0] = 5;
	mthca_record_free(ctx, &record);
	assert_null(record.words);
	/* The place is free again, and its words are 0. */
	take(ctx, MTHCA_RECORD_RQ, LAST - MTHCA_RECORDS - 1);
	context_free(ctx);
}

static void test_end(void **state)
{
	struct mthca_context *ctx = context_new(PAGES * MTHCA_RECORD_PAGE);
	struct mthca_record record = {}, one = take(ctx, MTHCA_RECORD_RQ, LAST);

	/* The record @one takes the last page, and two pages stay unused. */
	for (uint32_t i = 0; i < (PAGES - 3) * MTHCA_RECORDS; i++)
		record = take(ctx, MTHCA_RECORD_SQ, i);
	mthca_record_free(ctx, &record);
	take(ctx, MTHCA_RECORD_SQ, (PAGES - 3) * MTHCA_RECORDS - 1);
	assert_int_equal(mthca_record_alloc(ctx, MTHCA_RECORD_SQ, &record), -ENOMEM);
	assert_null(record.words);
	mthca_record_free(ctx, &one);
	take(ctx, MTHCA_RECORD_SET_CI, LAST);
	context_free(ctx);
}

static void test_none(void **state)
{
	struct mthca_context *ctx = context_new(0);
	struct mthca_record record = {};

	assert_false(mthca_has_records(ctx));
	assert_int_equal(mthca_record_alloc(ctx, MTHCA_RECORD_SQ, &record), 0);
	assert_null(record.words);
	assert_int_equal(mthca_record_page(&record), 0);
	mthca_record_name(&record, MTHCA_RECORD_SQ, 1);
	mthca_record_free(ctx, &record);
	context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
