/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The objects of the process, by kind and key, and the keys of ended regions. */
#include <stdio.h>
#include <stdlib.h>

#include "providers/uroce/strict/record.h"

enum {
	BUCKETS = 1024,
	OLD_KEYS = 256,
};

LIST_HEAD(bucket, strict_record);
static struct bucket buckets[BUCKETS];

static struct {
	uint32_t key;
	struct strict_site site;
} old_keys[OLD_KEYS];
static unsigned int old_next;

/* Names of the kinds, and the functions that end their objects. */
static const struct {
	const char *name, *end;
} kinds[STRICT_KINDS] = {
	[STRICT_CONTEXT] = { "device", "ibv_close_device" },
	[STRICT_PD] = { "pd", "ibv_dealloc_pd" },
	[STRICT_MR] = { "mr", "ibv_dereg_mr" },
	[STRICT_DM] = { "dm", "ibv_free_dm" },
	[STRICT_MW] = { "mw", "ibv_dealloc_mw" },
	[STRICT_CHANNEL] = { "channel", "ibv_destroy_comp_channel" },
	[STRICT_CQ] = { "cq", "ibv_destroy_cq" },
	[STRICT_SRQ] = { "srq", "ibv_destroy_srq" },
	[STRICT_QP] = { "qp", "ibv_destroy_qp" },
	[STRICT_AH] = { "ah", "ibv_destroy_ah" },
	[STRICT_XRCD] = { "xrcd", "ibv_close_xrcd" },
};

void strict_lock(void)
{
	pthread_mutex_lock(&uroce_leaf_locks[UROCE_LEAF_STRICT]);
}

void strict_unlock(void)
{
	pthread_mutex_unlock(&uroce_leaf_locks[UROCE_LEAF_STRICT]);
}

static struct bucket *bucket_of(enum strict_kind kind, uint64_t key)
{
	return &buckets[((key ^ key >> 16) * 0x9e3779b97f4a7c15u + kind) >> 8 & (BUCKETS - 1)];
}

uint64_t strict_key(enum strict_kind kind, const void *object)
{
	const struct ibv_qp *qp = object;

	/* Completions name queue pairs by number. XRC receive QPs share their numbers and have no
	 * completions. */
	if (kind == STRICT_QP && qp->qp_type != IBV_QPT_XRC_RECV)
		return qp->qp_num;
	return (uintptr_t)object;
}

void *strict_record_new(enum strict_kind kind, const struct ibv_context *ctx, size_t size)
{
	struct strict_record *record = calloc(1, size);

	if (!record)
		return NULL;
	record->kind = kind;
	record->ctx = ctx;
	record->pid = getpid();
	record->site = strict_site_here();
	return record;
}

/* Return the number of the object in log lines. */
static uint32_t number_of(enum strict_kind kind, const void *object)
{
	switch (kind) {
	case STRICT_PD:
		return ((const struct ibv_pd *)object)->handle;
	case STRICT_MR:
		return ((const struct ibv_mr *)object)->lkey;
	case STRICT_DM:
		return ((const struct ibv_dm *)object)->handle;
	case STRICT_MW:
		return ((const struct ibv_mw *)object)->rkey;
	case STRICT_CHANNEL:
		return ((const struct ibv_comp_channel *)object)->fd;
	case STRICT_CQ:
		return ((const struct ibv_cq *)object)->handle;
	case STRICT_SRQ:
		return ((const struct ibv_srq *)object)->handle;
	case STRICT_QP:
		return ((const struct ibv_qp *)object)->qp_num;
	case STRICT_AH:
		return ((const struct ibv_ah *)object)->handle;
	default:
		return 0;
	}
}

void strict_record_add(struct strict_record *record, const void *object)
{
	record->key = strict_key(record->kind, object);
	record->number = number_of(record->kind, object);
	strict_count(STRICT_COUNT_OBJECTS);
	strict_lock();
	LIST_INSERT_HEAD(bucket_of(record->kind, record->key), record, entry);
	strict_unlock();
}

void *strict_record_find_locked(enum strict_kind kind, uint64_t key)
{
	struct strict_record *record;

	LIST_FOREACH(record, bucket_of(kind, key), entry)
		if (record->kind == kind && record->key == key)
			break;
	return record;
}

void *strict_record_find(enum strict_kind kind, const void *object)
{
	void *record;

	strict_lock();
	record = strict_record_find_locked(kind, strict_key(kind, object));
	strict_unlock();
	return record;
}

static void queue_empty(struct strict_queue *queue)
{
	struct strict_requests left = TAILQ_HEAD_INITIALIZER(left);

	strict_lock();
	strict_queue_clear(queue, &left);
	strict_written_note(&left);
	strict_unlock();
	strict_requests_free(&left);
}

/* Free the memory of a record that can no longer be found. */
static void record_free(struct strict_record *record)
{
	if (record->kind == STRICT_QP) {
		struct strict_qp *qp = (struct strict_qp *)record;

		queue_empty(&qp->sq);
		queue_empty(&qp->rq);
		pthread_mutex_destroy(&qp->send);
		pthread_mutex_destroy(&qp->recv);
	} else if (record->kind == STRICT_SRQ) {
		struct strict_srq *srq = (struct strict_srq *)record;

		queue_empty(&srq->rq);
		pthread_mutex_destroy(&srq->recv);
	} else if (record->kind == STRICT_CQ) {
		pthread_mutex_destroy(&((struct strict_cq *)record)->poll);
	}
	free(record);
}

void strict_record_end(struct strict_record *record)
{
	strict_lock();
	LIST_REMOVE(record, entry);
	strict_unlock();
	record_free(record);
}

void strict_records_visit(enum strict_kind kind,
			  bool (*visit)(struct strict_record *record, void *arg), void *arg)
{
	struct strict_record *record;
	pid_t pid = getpid();

	for (unsigned int i = 0; i < BUCKETS; i++)
		LIST_FOREACH(record, &buckets[i], entry)
			if (record->kind == kind && record->pid == pid && visit(record, arg))
				return;
}

/* --- leaks --- */

/* Return whether librdmacm made the object for itself, and keeps it while the process lives. In a
 * static program the caller is not known, and each object of these kinds counts as kept. */
static bool is_kept(const struct strict_record *record)
{
	bool by_cm = record->site.by_cm || !record->site.address;

	return by_cm && (record->kind == STRICT_CONTEXT || record->kind == STRICT_PD ||
			 record->kind == STRICT_XRCD);
}

/*
 * Move the records of @ctx to @ret_left. NULL: copy those of all contexts. At the exit of the
 * process other threads may still use the objects and find their records.
 */
static void records_take(const struct ibv_context *ctx, struct bucket *ret_left)
{
	struct strict_record *record, *next, *taken;
	pid_t pid = getpid();

	strict_lock();
	for (unsigned int i = 0; i < BUCKETS; i++) {
		for (record = LIST_FIRST(&buckets[i]); record; record = next) {
			next = LIST_NEXT(record, entry);
			if (record->pid != pid || (ctx && record->ctx != ctx))
				continue;
			taken = ctx ? record : malloc(sizeof(*taken));
			if (ctx)
				LIST_REMOVE(record, entry);
			else if (taken)
				*taken = *record;
			if (taken)
				LIST_INSERT_HEAD(ret_left, taken, entry);
		}
	}
	strict_unlock();
}

static void leak_log(const struct strict_record *record, unsigned int count)
{
	char made[STRICT_SITE_TEXT], more[32] = "";

	strict_site_text(&record->site, made, sizeof(made));
	if (count > 1)
		snprintf(more, sizeof(more), " and %u more", count - 1);
	strict_fault(STRICT_RULE_LEAK, record->ctx, "%s 0x%x%s%s%s: %s() was not called",
		     kinds[record->kind].name, record->number, more, made[0] ? ", made at " : "",
		     made, kinds[record->kind].end);
}

/* Remove the records of objects that one call made, with the first. Return: their number. */
static unsigned int leaks_of_site(struct bucket *left, const struct strict_record *first,
				  struct bucket *ret_gone)
{
	struct strict_record *record = LIST_FIRST(left), *next;
	unsigned int count = 0;

	for (; record; record = next) {
		next = LIST_NEXT(record, entry);
		if (record->kind != first->kind || record->ctx != first->ctx ||
		    record->site.address != first->site.address)
			continue;
		LIST_REMOVE(record, entry);
		LIST_INSERT_HEAD(ret_gone, record, entry);
		count++;
	}
	return count;
}

void strict_leaks(const struct ibv_context *ctx)
{
	static struct bucket kept = LIST_HEAD_INITIALIZER(kept); /* copies */
	struct bucket left = LIST_HEAD_INITIALIZER(left), gone = LIST_HEAD_INITIALIZER(gone);
	struct strict_record *record;
	unsigned int count;

	records_take(ctx, &left);
	while ((record = LIST_FIRST(&left))) {
		count = leaks_of_site(&left, record, ctx ? &gone : &kept);
		if (!is_kept(record))
			leak_log(record, count);
	}
	while ((record = LIST_FIRST(&gone))) {
		LIST_REMOVE(record, entry);
		record_free(record);
	}
}

/* --- keys of ended regions --- */

void strict_old_key_add(uint32_t key)
{
	struct strict_site site = strict_site_here();

	strict_lock();
	old_keys[old_next].key = key;
	old_keys[old_next].site = site;
	old_next = (old_next + 1) % OLD_KEYS;
	strict_unlock();
}

bool strict_old_key_find(uint32_t key, struct strict_site *ret_site)
{
	bool found = false;

	strict_lock();
	for (unsigned int i = 0; i < OLD_KEYS && !found; i++) {
		found = key && old_keys[i].key == key;
		if (found)
			*ret_site = old_keys[i].site;
	}
	strict_unlock();
	return found;
}
