/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posting sends. The send queue is in the kernel, and a command passes requests to it. A command
 * has as many requests as fit into a buffer on the stack: first all requests, then their entries.
 */
#include <string.h>
#include <unistd.h>

#include "libibverbs/uverbs/cmd.h"
#include "providers/rdmavt/rdmavt.h"

_Static_assert(sizeof(struct ib_uverbs_send_wr) == 56, "as the kernel has it");
_Static_assert(sizeof(struct ibv_sge) == 16, "copied as it is");

enum {
	/* A request with the largest number of entries of any queue pair. */
	BATCH_BYTES = sizeof(struct ib_uverbs_send_wr) + RVT_MAX_SGE * sizeof(struct ibv_sge),
	/* Flags that the kernel passes on. It would ignore others without an error. */
	SEND_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
};

/* One command, without padding between its parts. */
struct batch {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_post_send cmd;
	_Alignas(8) char bytes[BATCH_BYTES];
	struct ib_uverbs_post_send_resp resp;
};

_Static_assert(offsetof(struct batch, cmd) == sizeof(struct ib_uverbs_cmd_hdr), "written as one");
_Static_assert(offsetof(struct batch, bytes) ==
		       offsetof(struct batch, cmd) + sizeof(struct ib_uverbs_post_send),
	       "written as one");

/*
 * Return whether a request with inline data has no bytes. The kernel would read inline data later,
 * when the program may have changed it.
 */
static bool inline_is_empty(const struct ibv_send_wr *wr)
{
	for (int i = 0; i < wr->num_sge; i++)
		if (wr->sg_list[i].length)
			return false;
	return true;
}

static inline enum kit_fault send_check(const struct rvt_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t opcode = wr->opcode;

	if (unlikely(opcode >= 32 || !(qp->send_ops & 1u << opcode)))
		return KIT_FAULT_OPCODE;
	if (unlikely((uint32_t)wr->num_sge > qp->max_send_sge))
		return KIT_FAULT_NUM_SGE;
	if (unlikely(wr->num_sge && !wr->sg_list))
		return KIT_FAULT_SG_LIST;
	if (unlikely(wr->send_flags & ~SEND_FLAGS)) {
		if (wr->send_flags & ~(SEND_FLAGS | IBV_SEND_INLINE))
			return KIT_FAULT_SEND_FLAGS;
		if (!inline_is_empty(wr))
			return KIT_FAULT_INLINE;
	}
	if (unlikely(qp->vqp.qp.qp_type == IBV_QPT_UD && !wr->wr.ud.ah))
		return KIT_FAULT_AH;
	return KIT_FAULT_NONE;
}

/* Count the requests from @wr on, and their entries, until one does not fit or is refused. */
static enum kit_fault batch_measure(const struct rvt_qp *qp, struct batch *batch,
				    const struct ibv_send_wr *wr)
{
	uint32_t requests = 0, entries = 0, bytes = 0;
	enum kit_fault fault = KIT_FAULT_NONE;

	for (; wr; wr = wr->next) {
		fault = send_check(qp, wr);
		if (unlikely(fault))
			break;
		bytes += sizeof(struct ib_uverbs_send_wr) + wr->num_sge * sizeof(struct ibv_sge);
		if (unlikely(bytes > BATCH_BYTES))
			break;
		requests++;
		entries += wr->num_sge;
	}
	batch->cmd.wr_count = requests;
	batch->cmd.sge_count = entries;
	return fault;
}

/* Fill in the part of a request that depends on its operation. */
static inline void send_address(struct ib_uverbs_send_wr *to, const struct ibv_send_wr *wr,
				bool datagram)
{
	if (datagram) {
		to->wr.ud.ah = wr->wr.ud.ah->handle;
		to->wr.ud.remote_qpn = wr->wr.ud.remote_qpn;
		to->wr.ud.remote_qkey = wr->wr.ud.remote_qkey;
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		to->wr.atomic.remote_addr = wr->wr.atomic.remote_addr;
		to->wr.atomic.compare_add = wr->wr.atomic.compare_add;
		to->wr.atomic.swap = wr->wr.atomic.swap;
		to->wr.atomic.rkey = wr->wr.atomic.rkey;
	} else if (wr->opcode <= IBV_WR_RDMA_WRITE_WITH_IMM || wr->opcode == IBV_WR_RDMA_READ) {
		to->wr.rdma.remote_addr = wr->wr.rdma.remote_addr;
		to->wr.rdma.rkey = wr->wr.rdma.rkey;
	}
}

static inline void batch_fill(struct batch *batch, const struct ibv_send_wr *wr, bool datagram)
{
	struct ib_uverbs_send_wr *to = (struct ib_uverbs_send_wr *)batch->bytes;
	char *entries = (char *)(to + batch->cmd.wr_count);

	for (uint32_t i = 0; i < batch->cmd.wr_count; i++, to++, wr = wr->next) {
		*to = (struct ib_uverbs_send_wr){
			.wr_id = wr->wr_id,
			.num_sge = wr->num_sge,
			.opcode = wr->opcode,
			.send_flags = wr->send_flags & SEND_FLAGS,
			/* or the key to invalidate, which is in the same place */
			.ex.imm_data = wr->imm_data,
		};
		send_address(to, wr, datagram);
		for (int k = 0; k < wr->num_sge; k++, entries += sizeof(struct ibv_sge))
			memcpy(entries, &wr->sg_list[k], sizeof(struct ibv_sge));
	}
}

/*
 * A process that has changed its credentials since it opened the device may not write() to it
 * (EACCES). The same command by ioctl is allowed.
 */
__attribute__((noinline, cold)) static int batch_send_again(struct batch *batch, size_t length,
							    struct ibv_context *ctx)
{
	if (errno != EACCES)
		return errno;
	return -uverbs_write(ctx, IB_USER_VERBS_CMD_POST_SEND, &batch->cmd,
			     length - sizeof(batch->hdr), &batch->resp, sizeof(batch->resp), NULL);
}

/* Return: 0 or a positive errno; then batch->resp has the number of the refused request. */
static inline int batch_send(struct batch *batch, const struct ibv_qp *qp)
{
	size_t length = offsetof(struct batch, bytes) +
			batch->cmd.wr_count * sizeof(struct ib_uverbs_send_wr) +
			batch->cmd.sge_count * sizeof(struct ibv_sge);

	batch->hdr = (struct ib_uverbs_cmd_hdr){
		.command = IB_USER_VERBS_CMD_POST_SEND,
		.in_words = length / 4,
		.out_words = sizeof(batch->resp) / 4,
	};
	batch->cmd.response = (uintptr_t)&batch->resp;
	batch->cmd.qp_handle = qp->handle;
	batch->cmd.wqe_size = sizeof(struct ib_uverbs_send_wr);
	batch->resp.bad_wr = 0;
	if (likely(write(qp->context->cmd_fd, batch, length) == (ssize_t)length))
		return 0;
	return batch_send_again(batch, length, qp->context);
}

/* Return the request after @count others. */
static struct ibv_send_wr *wr_skip(struct ibv_send_wr *wr, uint32_t count)
{
	while (count--)
		wr = wr->next;
	return wr;
}

__attribute__((noinline, cold)) static int
send_refuse(struct rvt_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	const struct kit_sq_limits limits = {
		.atomics = true,
		.max_post = qp->max_send_wr,
		.max_sge = qp->max_send_sge,
		.no_flags = ~(unsigned int)(SEND_FLAGS | IBV_SEND_INLINE),
	};

	return kit_post_refuse(&qp->vqp.qp, &qp->said, wr, fault, &limits);
}

static bool state_takes_sends(enum ibv_qp_state state)
{
	return state != IBV_QPS_RESET && state != IBV_QPS_INIT && state != IBV_QPS_RTR;
}

static bool address_is_odd(const struct ibv_send_wr *wr)
{
	return (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) &&
	       wr->wr.atomic.remote_addr % sizeof(uint64_t);
}

/* The kernel refuses a request with @error, a positive errno, and gives no reason. */
__attribute__((noinline, cold)) static int kernel_refused(struct rvt_qp *qp,
							  const struct ibv_send_wr *wr, int error)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	if (error == ENOMEM)
		return send_refuse(qp, wr, KIT_FAULT_FULL);
	if (error == EINVAL && !state_takes_sends(ibqp->state))
		return send_refuse(qp, wr, KIT_FAULT_STATE);
	if (error == EINVAL && address_is_odd(wr))
		return send_refuse(qp, wr, KIT_FAULT_ATOMIC_ADDR);
	if (error == EINVAL)
		return kit_send_refuse_as(ibqp, &qp->said, "ibv_post_send", KIT_FAULT_LENGTH,
					  "the kernel refuses the request: it has a wrong lkey, is "
					  "too long, has an address handle of another PD, or the "
					  "device or QP does not support the operation");
	verbs_err(ibqp->context, "qp 0x%x: the kernel refuses a request: %s", ibqp->qp_num,
		  strerror(error));
	return error;
}

/* Handle a batch that the kernel refused from one request on. The requests before it are posted. */
__attribute__((noinline, cold)) static int batch_refused(struct rvt_qp *qp,
							 const struct batch *batch,
							 struct ibv_send_wr *wr,
							 struct ibv_send_wr **bad_wr, int error)
{
	uint32_t number = batch->resp.bad_wr; /* counted from 1; 0: no request is posted */

	*bad_wr = wr_skip(wr, number && number <= batch->cmd.wr_count ? number - 1 : 0);
	return kernel_refused(qp, *bad_wr, error);
}

int rvt_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct rvt_qp *qp = to_rqp(ibqp);
	struct ibv_send_wr *ignored;
	enum kit_fault fault;
	struct batch batch;
	int error;

	if (unlikely(!bad_wr))
		bad_wr = &ignored;
	*bad_wr = NULL;
	while (wr) {
		fault = batch_measure(qp, &batch, wr);
		if (likely(batch.cmd.wr_count)) {
			batch_fill(&batch, wr, ibqp->qp_type == IBV_QPT_UD);
			error = batch_send(&batch, ibqp);
			if (unlikely(error))
				return batch_refused(qp, &batch, wr, bad_wr, error);
			wr = wr_skip(wr, batch.cmd.wr_count);
		}
		if (unlikely(fault)) {
			*bad_wr = wr;
			return send_refuse(qp, wr, fault);
		}
	}
	return 0;
}
