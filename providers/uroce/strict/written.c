/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that the device writes: of receives, reads and atomics, and of regions that a peer may
 * write. Requests may share memory, so that the device itself changes the memory of a send or of a
 * receive.
 */
#include "providers/uroce/strict/record.h"

enum {
	WRITTEN = 1024,
};

/* Entries of completed requests, the last at written_next - 1; with the lock held. */
static struct ibv_sge written[WRITTEN];
static unsigned int written_next;

unsigned int strict_written_position(void)
{
	return written_next;
}

void strict_written_note(struct strict_requests *done)
{
	struct strict_request *request;

	TAILQ_FOREACH(request, done, entry) {
		request->written_at = written_next;
		for (int i = 0; request->writes && i < request->num_sge; i++)
			written[written_next++ % WRITTEN] = request->sge[i];
	}
}

/* --- overlaps --- */

struct overlap {
	struct uroce_keys *keys;
	const struct strict_request *of;
	bool found;
};

/* Return the address of an entry in the process, which is another one than in the region. */
static uint64_t address_of(struct uroce_keys *keys, const struct ibv_sge *sge)
{
	struct uroce_grant grant;

	if (!uroce_key_look(keys, sge->lkey, &grant) || grant.null)
		return sge->addr;
	return grant.base + (sge->addr - grant.iova);
}

static void overlap_range(struct overlap *overlap, uint64_t address, uint64_t length)
{
	for (int i = 0; i < overlap->of->num_sge; i++) {
		const struct ibv_sge *sge = &overlap->of->sge[i];
		uint64_t own = address_of(overlap->keys, sge);

		overlap->found |=
			own < address ? address - own < sge->length : own - address < length;
	}
}

static void overlap_with(struct overlap *overlap, const struct ibv_sge *other)
{
	overlap_range(overlap, address_of(overlap->keys, other), other->length);
}

/* A peer writes by the key of a region, or of a window in it. */
static bool overlap_region(struct strict_record *record, void *arg)
{
	struct overlap *overlap = arg;
	struct uroce_grant grant;

	if (uroce_key_look(overlap->keys, record->number, &grant) && !grant.null &&
	    grant.access &
		    (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND))
		overlap_range(overlap, grant.base, grant.length);
	return overlap->found;
}

static void overlap_in(struct overlap *overlap, const struct strict_queue *queue)
{
	const struct strict_request *request;

	TAILQ_FOREACH(request, &queue->requests, entry)
		for (int i = 0; request->writes && i < request->num_sge; i++)
			overlap_with(overlap, &request->sge[i]);
}

static bool overlap_qp(struct strict_record *record, void *arg)
{
	overlap_in(arg, &((struct strict_qp *)record)->sq);
	overlap_in(arg, &((struct strict_qp *)record)->rq);
	return false;
}

static bool overlap_srq(struct strict_record *record, void *arg)
{
	overlap_in(arg, &((struct strict_srq *)record)->rq);
	return false;
}

/* Return whether the entry at @position is one of the request itself. */
static bool is_own(const struct strict_request *request, unsigned int position)
{
	return request->writes && position - request->written_at < (unsigned int)request->num_sge;
}

bool strict_written(struct uroce_keys *keys, const struct strict_request *request)
{
	struct overlap overlap = { .keys = keys, .of = request };
	unsigned int count;

	strict_lock();
	count = written_next - request->posted_at;
	overlap.found = count > WRITTEN;
	for (unsigned int i = 1; i <= min_of(count, (unsigned int)WRITTEN); i++)
		if (!is_own(request, written_next - i))
			overlap_with(&overlap, &written[(written_next - i) % WRITTEN]);
	strict_records_visit(STRICT_QP, overlap_qp, &overlap);
	strict_records_visit(STRICT_SRQ, overlap_srq, &overlap);
	strict_records_visit(STRICT_MR, overlap_region, &overlap);
	strict_unlock();
	return overlap.found;
}
