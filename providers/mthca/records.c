/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Doorbell records. The kernel learns the page of a record and its index among all records. A page
 * stays until the context is closed, because the kernel has pinned it.
 */
#include "providers/mthca/mthca.h"

enum {
	PURPOSE_SHIFT = 5,
	NUMBER_SHIFT = 8,
	PAGES_MAX = 1 << 12,
};

int mthca_records_init(struct mthca_records *records, uint32_t bytes)
{
	pthread_mutex_init(&records->lock, NULL);
	if (!bytes)
		return 0;
	records->count = min_of(max_of(bytes / MTHCA_RECORD_PAGE, 1u), (uint32_t)PAGES_MAX);
	records->high = records->count;
	records->pages = calloc(records->count, sizeof(*records->pages));
	return records->pages ? 0 : -ENOMEM;
}

void mthca_records_destroy(struct mthca_records *records)
{
	for (uint32_t i = 0; records->pages && i < records->count; i++)
		kit_buf_free(&records->pages[i].buf);
	free(records->pages);
	pthread_mutex_destroy(&records->lock);
}

/* Return whether the record is in the first pages: the two kinds of records never share a page. */
static bool is_low(enum mthca_purpose purpose)
{
	return purpose == MTHCA_RECORD_ARM || purpose == MTHCA_RECORD_SQ;
}

/* Take the first free place of a page. Return: its number; MTHCA_RECORDS: the page is full. */
static uint32_t page_take(struct mthca_record_page *page)
{
	for (uint32_t word = 0; word < MTHCA_RECORDS / 64; word++) {
		uint64_t used = page->used[word];

		if (~used) {
			page->used[word] |= ~used & (used + 1);
			return word * 64 + __builtin_ctzll(~used);
		}
	}
	return MTHCA_RECORDS;
}

/* Add a page. Two pages stay unused. Return: its number; @records->count: there is none. */
static uint32_t page_add(struct mthca_records *records, bool low)
{
	uint32_t number = low ? records->low : records->high - 1;

	if (records->low + 2 >= records->high ||
	    kit_buf_alloc(&records->pages[number].buf, MTHCA_RECORD_PAGE) < 0)
		return records->count;
	*(low ? &records->low : &records->high) += low ? 1 : -1;
	return number;
}

/* Take a record. Return: its index; UINT32_MAX: there is none. */
static uint32_t take_locked(struct mthca_records *records, bool low)
{
	uint32_t page = low ? 0 : records->count - 1, place = MTHCA_RECORDS;

	while (low ? page < records->low : page + 1 > records->high) {
		place = page_take(&records->pages[page]);
		if (place < MTHCA_RECORDS)
			break;
		page += low ? 1 : -1;
	}
	if (place == MTHCA_RECORDS) {
		page = page_add(records, low);
		if (page == records->count)
			return UINT32_MAX;
		place = page_take(&records->pages[page]);
	}
	return page * MTHCA_RECORDS + (low ? place : MTHCA_RECORDS - 1 - place);
}

int mthca_record_alloc(struct mthca_context *ctx, enum mthca_purpose purpose,
		       struct mthca_record *ret_record)
{
	struct mthca_records *records = &ctx->records;
	uint32_t index;
	char *page;

	if (!records->count)
		return 0;
	pthread_mutex_lock(&records->lock);
	index = take_locked(records, is_low(purpose));
	pthread_mutex_unlock(&records->lock);
	if (index == UINT32_MAX) {
		verbs_err(&ctx->vctx.context, "all doorbell records of the context are in use");
		return -ENOMEM;
	}
	page = records->pages[index / MTHCA_RECORDS].buf.base;
	ret_record->index = index;
	ret_record->words = (void *)(page + index % MTHCA_RECORDS * MTHCA_RECORD_BYTES);
	return 0;
}

void mthca_record_free(struct mthca_context *ctx, struct mthca_record *record)
{
	uint32_t number = record->index / MTHCA_RECORDS, place = record->index % MTHCA_RECORDS;

	if (!record->words)
		return;
	record->words[0] = record->words[1] = 0;
	pthread_mutex_lock(&ctx->records.lock);
	if (number >= ctx->records.high)
		place = MTHCA_RECORDS - 1 - place;
	ctx->records.pages[number].used[place / 64] &= ~(1ull << place % 64);
	pthread_mutex_unlock(&ctx->records.lock);
	*record = (struct mthca_record){};
}

void mthca_record_name(const struct mthca_record *record, enum mthca_purpose purpose,
		       uint32_t number)
{
	if (record->words)
		record->words[1] = htobe32(number << NUMBER_SHIFT | purpose << PURPOSE_SHIFT);
}
