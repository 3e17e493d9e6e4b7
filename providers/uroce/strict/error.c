/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Errors that the program ignores. Whether it reads the status of a completion cannot be seen. The
 * check sees its next steps: it continues to post, or destroys the queue pair without a poll.
 */
#include <inttypes.h>
#include <sys/syscall.h>

#include "providers/uroce/strict/record.h"

static __thread unsigned int polls; /* polls that this thread has made */

void strict_error_poll(void)
{
	polls++;
}

void strict_error_note(struct strict_qp *qp, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS || wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	qp->error = (struct strict_error){
		.polled = true,
		.known = true,
		.reported = qp->error.reported,
		.status = wc->status,
		.wr_id = wc->wr_id,
		.thread = syscall(SYS_gettid),
		.polls = polls,
	};
}

void strict_error_state(struct strict_qp *qp, enum ibv_qp_state state)
{
	qp->error.polled = false;
	if (state == IBV_QPS_RESET)
		qp->error = (struct strict_error){};
}

/*
 * Return whether the thread that polled the error has polled again since then. Another thread may
 * post before it learns of the error, and so may the same thread until it has handled all
 * completions of one poll.
 */
static bool is_ignored(const struct strict_error *error)
{
	return error->polled && !error->reported && polls != error->polls &&
	       error->thread == syscall(SYS_gettid);
}

/* Return whether an error has stopped the sends. Some errors do not. */
static bool is_stopped(struct uroce_qp *qp)
{
	bool stopped;

	uroce_lock(&qp->lock);
	stopped = qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE;
	uroce_unlock(&qp->lock);
	return stopped;
}

void strict_error_post(struct strict_qp *qp, const char *verb, uint64_t wr_id)
{
	bool ignored, stopped = is_stopped(qp->qp);
	struct strict_error error;

	strict_lock();
	error = qp->error;
	ignored = stopped && is_ignored(&error);
	if (ignored)
		qp->error.reported = true;
	strict_unlock();
	if (ignored)
		strict_fault(STRICT_RULE_ERROR, qp->record.ctx,
			     "qp 0x%x: %s of request 0x%" PRIx64
			     " after the completion of request 0x%" PRIx64
			     " was polled with status %u, %s",
			     qp->record.number, verb, wr_id, error.wr_id, error.status,
			     ibv_wc_status_str(error.status));
}

/*
 * A program that moves the queue pair to ERR, reads its event or polls a flushed request has
 * noticed that the queue pair ended. If librdmacm created the queue pair, an event of librdmacm
 * reports the end.
 */
void strict_error_destroy(struct strict_qp *sqp)
{
	struct uroce_first_error first;
	struct uroce_qp *qp = sqp->qp;
	bool known;

	uroce_lock(&qp->lock);
	first = qp->first_error;
	uroce_unlock(&qp->lock);
	strict_lock();
	known = sqp->error.known || sqp->state == IBV_QPS_ERR;
	strict_unlock();
	if (!first.valid || first.of_peer || known || sqp->record.site.by_cm)
		return;
	strict_fault(STRICT_RULE_ERROR, sqp->record.ctx,
		     "qp 0x%x: ibv_destroy_qp: the completion of request 0x%" PRIx64
		     " with status %u, %s, was not polled",
		     sqp->record.number, first.wr_id, first.status,
		     ibv_wc_status_str(first.status));
}
