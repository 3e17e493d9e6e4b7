/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests from their post to the poll of their completion. The device itself forgets a request
 * earlier: when it has executed it. A program may use the memory of a request again only after it
 * has polled the completion.
 */
#include <stdlib.h>
#include <string.h>

#include "providers/uroce/strict/record.h"

enum {
	NAMED = 4096,
	LATER = 64, /* requests in which a number is searched for once more */
};

/* Entries of all requests in queues, by their keys; with the lock held. Keys share counts. */
static unsigned int named[NAMED];

static unsigned int *named_at(uint32_t lkey)
{
	return &named[(lkey * 0x9e3779b1u >> 16) % NAMED];
}

bool strict_key_named(uint32_t lkey)
{
	return *named_at(lkey);
}

struct strict_request *strict_request_new(uint64_t wr_id, bool signaled, int num_sge,
					  const struct ibv_sge *sge)
{
	struct strict_request *request =
		malloc(sizeof(*request) + num_sge * sizeof(struct ibv_sge));

	if (!request)
		return NULL;
	request->wr_id = wr_id;
	request->signaled = signaled;
	request->writes = request->summed = request->hidden = false;
	request->copy = NULL;
	request->num_sge = num_sge;
	if (num_sge)
		memcpy(request->sge, sge, num_sge * sizeof(struct ibv_sge));
	strict_count(STRICT_COUNT_REQUESTS);
	return request;
}

static void request_free(struct strict_request *request)
{
	strict_content_show(request);
	free(request->copy);
	free(request);
}

void strict_requests_free(struct strict_requests *requests)
{
	struct strict_request *request;

	while ((request = TAILQ_FIRST(requests))) {
		TAILQ_REMOVE(requests, request, entry);
		request_free(request);
	}
}

void strict_queue_init(struct strict_queue *queue)
{
	TAILQ_INIT(&queue->requests);
	queue->next = 0;
	queue->count = queue->signaled = 0;
	queue->repeats = false;
}

void strict_queue_add(struct strict_queue *queue, struct strict_request *request)
{
	request->serial = queue->next++;
	request->posted_at = strict_written_position();
	TAILQ_INSERT_TAIL(&queue->requests, request, entry);
	queue->count++;
	queue->signaled += request->signaled;
	for (int i = 0; i < request->num_sge; i++)
		(*named_at(request->sge[i].lkey))++;
}

static void queue_remove(struct strict_queue *queue, struct strict_request *request)
{
	TAILQ_REMOVE(&queue->requests, request, entry);
	queue->count--;
	queue->signaled -= request->signaled;
	for (int i = 0; i < request->num_sge; i++)
		(*named_at(request->sge[i].lkey))--;
}

static void queue_move(struct strict_queue *queue, struct strict_request *request,
		       struct strict_requests *ret_done)
{
	queue_remove(queue, request);
	TAILQ_INSERT_TAIL(ret_done, request, entry);
}

void strict_queue_cut(struct strict_queue *queue, uint32_t serial)
{
	struct strict_request *last;

	while ((last = TAILQ_LAST(&queue->requests, strict_requests))) {
		if ((int32_t)(last->serial - serial) < 0)
			break;
		queue_remove(queue, last);
		request_free(last);
	}
	queue->next = serial;
}

/* Return the oldest request with the number, or NULL. */
static struct strict_request *request_find(const struct strict_queue *queue, uint64_t wr_id)
{
	struct strict_request *request;

	TAILQ_FOREACH(request, &queue->requests, entry)
		if (request->wr_id == wr_id)
			break;
	return request;
}

/*
 * Return the request of a completion. A success belongs to the oldest request that asked for a
 * completion. An error may belong to one that did not ask.
 */
static struct strict_request *request_of(const struct strict_queue *queue, const struct ibv_wc *wc)
{
	struct strict_request *request;

	if (wc->status == IBV_WC_SUCCESS)
		TAILQ_FOREACH(request, &queue->requests, entry)
			if (request->signaled)
				return request->wr_id == wc->wr_id ? request
								   : request_find(queue, wc->wr_id);
	return request_find(queue, wc->wr_id);
}

void strict_queue_complete(struct strict_queue *queue, const struct ibv_wc *wc,
			   struct strict_requests *ret_done)
{
	struct strict_request *last = request_of(queue, wc), *request;

	/* A completion also ends the earlier requests, which did not ask for one. */
	while (last && (request = TAILQ_FIRST(&queue->requests))) {
		queue_move(queue, request, ret_done);
		if (request == last)
			break;
	}
}

void strict_queue_repeats(struct strict_queue *queue)
{
	queue->repeats = true;
}

/* Return whether a later request has the same number. */
static bool is_repeated(const struct strict_request *request)
{
	const struct strict_request *later = request;

	for (int i = 0; i < LATER && (later = TAILQ_NEXT(later, entry)); i++)
		if (later->wr_id == request->wr_id)
			return true;
	return false;
}

void strict_queue_complete_one(struct strict_queue *queue, const struct ibv_wc *wc,
			       struct strict_requests *ret_done)
{
	struct strict_request *request = request_find(queue, wc->wr_id);

	if (!request)
		return;
	if (is_repeated(request))
		strict_queue_repeats(queue);
	if (queue->repeats) {
		free(request->copy);
		request->copy = NULL;
	}
	queue_move(queue, request, ret_done);
}

void strict_queue_clear(struct strict_queue *queue, struct strict_requests *ret_done)
{
	struct strict_request *request;

	while ((request = TAILQ_FIRST(&queue->requests)))
		queue_move(queue, request, ret_done);
}

bool strict_queue_has(const struct strict_queue *queue, uint64_t wr_id)
{
	return request_find(queue, wr_id);
}

const struct strict_request *strict_queue_names(const struct strict_queue *queue, uint32_t lkey)
{
	const struct strict_request *request;

	TAILQ_FOREACH(request, &queue->requests, entry)
		for (int i = 0; i < request->num_sge; i++)
			if (request->sge[i].length && request->sge[i].lkey == lkey)
				return request;
	return NULL;
}
