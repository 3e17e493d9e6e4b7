/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes of the memory of requests between the post and the poll of the completion. A send has a
 * sum of its memory. A small receive has a copy, of which the bytes behind the message are
 * compared. Memory that the process cannot read has no sum and no copy.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "providers/uroce/strict/record.h"
#include "util/valgrind.h"

enum {
	LIMIT = 65536, /* bytes of an entry that are summed */
	KEPT = 4096,   /* bytes of a receive, of which a copy is kept */
};

/* Add bytes to a sum, by words. */
static void bytes_add(uint64_t *sum, const uint8_t *bytes, size_t size)
{
	uint64_t word;

	for (size_t i = 0; i < size; i += sizeof(word)) {
		word = 0;
		memcpy(&word, bytes + i, min_of(sizeof(word), size - i));
		*sum = (*sum ^ word) * 0x100000001b3u;
		*sum ^= *sum >> 32;
	}
}

/* Return whether the entry was read and added. */
static bool entry_add(uint64_t *sum, struct uroce_keys *keys, const struct ibv_sge *sge)
{
	size_t size = min_of(sge->length, (uint32_t)LIMIT);
	uint8_t *bytes = malloc(size + 1);
	bool whole = bytes && strict_entry_read(keys, sge, size, bytes);

	if (whole)
		bytes_add(sum, bytes, size);
	free(bytes);
	return whole;
}

static bool request_sum(struct uroce_keys *keys, const struct strict_request *request,
			uint64_t *ret_sum)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (int i = 0; i < request->num_sge; i++)
		if (!entry_add(&sum, keys, &request->sge[i]))
			return false;
	*ret_sum = sum;
	return true;
}

void strict_content_sum(struct uroce_keys *keys, struct strict_request *request)
{
	request->summed = request->num_sge && request_sum(keys, request, &request->sum);
}

void strict_content_check(const struct ibv_context *ctx, struct uroce_keys *keys, uint32_t number,
			  const struct strict_requests *done)
{
	const struct strict_request *request;
	uint64_t sum;

	TAILQ_FOREACH(request, done, entry)
		if (request->summed && request_sum(keys, request, &sum) && sum != request->sum &&
		    !strict_written(keys, request))
			strict_fault(STRICT_RULE_CONTENT, ctx,
				     "qp 0x%x: the memory of send request 0x%" PRIx64
				     ", first entry 0x%" PRIx64
				     " of %u bytes, changed before its completion was polled",
				     number, request->wr_id, request->sge[0].addr,
				     request->sge[0].length);
}

/* --- receives --- */

/* Return the bytes of all entries; 0: too many for a copy. */
static uint32_t kept_size(const struct strict_request *request)
{
	uint64_t size = 0;

	for (int i = 0; i < request->num_sge; i++)
		size += request->sge[i].length;
	return size <= KEPT ? size : 0;
}

static uint8_t *entries_copy(struct uroce_keys *keys, const struct strict_request *request,
			     uint32_t size)
{
	uint8_t *copy = malloc(size), *next = copy;

	for (int i = 0; copy && i < request->num_sge; i++) {
		if (!strict_entry_read(keys, &request->sge[i], request->sge[i].length, next)) {
			free(copy);
			return NULL;
		}
		next += request->sge[i].length;
	}
	return copy;
}

/* Return whether only receives may write the memory, and no peer. */
static bool is_private(struct uroce_keys *keys, const struct strict_request *request)
{
	struct uroce_grant grant;

	for (int i = 0; i < request->num_sge; i++)
		if (!uroce_key_look(keys, request->sge[i].lkey, &grant) || grant.null ||
		    grant.access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC))
			return false;
	return true;
}

void strict_content_keep(struct uroce_keys *keys, struct strict_request *request)
{
	uint32_t size = kept_size(request);

	if (size && is_private(keys, request))
		request->copy = entries_copy(keys, request, size);
}

void strict_content_received(const struct ibv_context *ctx, struct uroce_keys *keys,
			     const struct strict_request *request, const struct ibv_wc *wc)
{
	uint32_t size = kept_size(request);
	uint32_t used = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? 0 : wc->byte_len;
	uint8_t *now;

	if (!request->copy || used >= size)
		return;
	now = entries_copy(keys, request, size);
	if (now && memcmp(now + used, request->copy + used, size - used) &&
	    !strict_written(keys, request))
		strict_fault(STRICT_RULE_RECEIVE, ctx,
			     "qp 0x%x: the memory of receive request 0x%" PRIx64
			     ", first entry 0x%" PRIx64
			     ", changed behind the %u bytes that arrived",
			     wc->qp_num, request->wr_id, request->sge[0].addr, used);
	free(now);
}

/* --- receives that are read too early --- */

/* Return whether the addresses in the regions are pointers, and no other request writes to the
 * memory. */
static bool is_plain(struct uroce_keys *keys, const struct strict_request *request)
{
	struct uroce_grant grant;

	for (int i = 0; i < request->num_sge; i++)
		if (!uroce_key_look(keys, request->sge[i].lkey, &grant) || grant.base != grant.iova)
			return false;
	return is_private(keys, request) && !strict_written(keys, request);
}

void strict_content_hide(struct uroce_keys *keys, struct strict_request *request)
{
	request->posted_at = strict_written_position();
	request->hidden = valgrind_runs() && is_plain(keys, request);
	for (int i = 0; request->hidden && i < request->num_sge; i++)
		memory_hide((void *)(uintptr_t)request->sge[i].addr, request->sge[i].length);
}

void strict_content_show(struct strict_request *request)
{
	for (int i = 0; request->hidden && i < request->num_sge; i++)
		memory_show((void *)(uintptr_t)request->sge[i].addr, request->sge[i].length);
}
