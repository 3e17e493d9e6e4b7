/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/mlx5/tag.h"

#include <stdlib.h>

#include "providers/mlx5/wqe.h"

/* Operations of the list in requests. */
enum {
	LIST_NOP = 0x00,
	LIST_APPEND = 0x10,
	LIST_REMOVE = 0x20,
	FLAG_COUNT = 1 << 6,	/* the request has the number of processed messages */
	FLAG_COMPLETE = 1 << 7, /* the operation completes */
};

/* Values of app_op in completions. */
enum {
	CONSUMED = 1,	/* a message matches, and its data follow */
	EXPECTED = 2,	/* these data have arrived */
	UNEXPECTED = 3, /* a message that matches nothing is in a receive of the SRQ */
	NO_TAG = 4,	/* a message without a tag is there */
	APPENDED = 5,
	REMOVED = 6,
	NOTHING_DONE = 7,
	CONSUMED_RNDV = 9, /* as CONSUMED, and the program fetches the data */
	MESSAGE = 10,	   /* a message matches, and its data have arrived */
	MESSAGE_RNDV = 11, /* a message matches, and the program fetches the data */
	CANCELED = 12,	   /* the adapter fetched only a part of the data */
};

enum {
	MOST_UNREPORTED = 0x3fff, /* processed messages that were not reported to the adapter */
};

static struct mlx5_tags *tags_of(const struct mlx5_qp *qp)
{
	return ((struct mlx5_srq *)qp->srq)->tags;
}

/* ---- the list of free receives */

static void tag_free(struct mlx5_tags *tags, uint32_t index)
{
	struct mlx5_tag *tag = &tags->all[index];

	if (!tag->expected || --tag->expected)
		return;
	tags->all[tags->last_free].next = index;
	tags->last_free = index;
}

/* ---- changes of the list */

/* Return 0 or a positive errno, which is logged. */
static int op_check(struct mlx5_tags *tags, const struct ibv_ops_wr *op)
{
	struct ibv_context *ctx = tags->qp->vqp.qp.context;
	const char *why = NULL;

	if (op->opcode == IBV_WR_TAG_ADD) {
		if ((unsigned int)op->tm.add.num_sge > 1)
			why = "a receive has at most one buffer";
		else if (op->tm.add.num_sge && !op->tm.add.sg_list)
			why = "sg_list is NULL";
		else if (tags->first_free == tags->last_free)
			return ENOMEM;
	} else if (op->opcode == IBV_WR_TAG_DEL) {
		if (op->tm.handle > tags->count || !tags->all[op->tm.handle].expected)
			why = "the handle names no receive of the list";
	} else if (op->opcode != IBV_WR_TAG_SYNC) {
		why = "the opcode is unknown";
	}
	if (!why)
		return 0;
	verbs_err(ctx, "ibv_post_srq_ops: opcode %d: %s", op->opcode, why);
	return EINVAL;
}

/* Take a free receive, and write its buffer behind the operation. Return: its index. */
static uint32_t tag_take(struct mlx5_tags *tags, const struct ibv_ops_wr *op,
			 struct mlx5_wqe_tm_seg *list)
{
	const struct ibv_sge *sge = op->tm.add.num_sge ? op->tm.add.sg_list : NULL;
	uint32_t index = tags->first_free;
	struct mlx5_tag *tag = &tags->all[index];

	tags->first_free = tag->next;
	tag->wr_id = op->tm.add.recv_wr_id;
	tag->data = sge ? (void *)(uintptr_t)sge->addr : NULL;
	tag->size = sge ? sge->length : 0;
	tag->unexpected = tags->dealt;
	tag->expected = 1;
	/* The adapter stores the receive in its present last entry; this entry becomes the last. */
	list->index = htobe16(tags->first_free);
	list->append_tag = htobe64(op->tm.add.tag);
	list->append_mask = htobe64(op->tm.add.mask);
	if (tag->size)
		wqe_data((char *)(list + 1), sge->addr, sge->length, sge->lkey);
	else
		wqe_data((char *)(list + 1), 0, 0, MLX_INVALID_LKEY);
	return index;
}

/* Remember an operation that will complete. */
static void op_remember(struct mlx5_tags *tags, const struct ibv_ops_wr *op, uint32_t head,
			uint32_t tag)
{
	tags->ops[tags->op_tail++ & tags->op_mask] = (struct mlx5_tag_op){
		.wr_id = op->wr_id,
		.head = head,
		.tag = tag,
	};
	if (tag != MLX5_NO_TAG)
		tags->all[tag].expected++;
}

/* Build a request. Return: its units. */
static unsigned int op_build(struct mlx5_tags *tags, struct ibv_ops_wr *op, uint32_t head)
{
	struct mlx5_sq *sq = &tags->qp->sq;
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)sq_slot(sq, sq->cur_post);
	struct mlx5_wqe_tm_seg *list = (void *)(ctrl + 1);
	unsigned int ds = (sizeof(*ctrl) + sizeof(*list)) / MLX_SEGMENT;
	uint32_t tag = MLX5_NO_TAG;

	list->flags = op->flags & IBV_OPS_SIGNALED ? FLAG_COMPLETE : 0;
	if (op->flags & IBV_OPS_TM_SYNC) {
		tags->dealt = op->tm.unexpected_cnt;
		list->flags |= FLAG_COUNT;
		list->sw_cnt = htobe16(tags->dealt);
	}
	if (op->opcode == IBV_WR_TAG_ADD) {
		list->opcode = LIST_APPEND;
		op->tm.handle = tag = tag_take(tags, op, list);
		ds++;
	} else if (op->opcode == IBV_WR_TAG_DEL) {
		list->opcode = LIST_REMOVE;
		list->index = htobe16(op->tm.handle);
		tag = op->tm.handle;
	} else {
		list->opcode = LIST_NOP;
	}
	sq->slots[sq->cur_post & sq->mask] = (struct mlx5_sq_slot){
		.wr_id = op->wr_id,
		.head = head,
	};
	if (op->flags & IBV_OPS_SIGNALED)
		op_remember(tags, op, head, tag);
	else if (op->opcode == IBV_WR_TAG_DEL)
		tag_free(tags, tag);
	wqe_ctrl(ctrl, sq->cur_post, MLX5_OPCODE_TAG_MATCHING, tags->qp->vqp.qp.qp_num, 0, ds, 0);
	return ds;
}

/* Post operations. The caller holds the lock. Return: 0 or a positive errno. */
static int ops_post(struct mlx5_tags *tags, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op)
{
	struct mlx5_sq *sq = tags->qp ? &tags->qp->sq : NULL;
	const struct mlx5_wqe_ctrl_seg *last = NULL;
	uint32_t tail, head;
	unsigned int ds = 0;
	int r = 0;

	if (unlikely(!sq)) {
		*bad_op = op;
		return EINVAL;
	}
	tail = mlx_sq_tail(&sq->tail);
	head = sq->head;
	for (; op; op = op->next) {
		r = mlx_sq_full(head, tail, sq->max_post) ? ENOMEM : op_check(tags, op);
		if (r) {
			*bad_op = op;
			break;
		}
		last = (void *)sq_slot(sq, sq->cur_post);
		ds = op_build(tags, op, head++);
		sq->cur_post += wqe_blocks(ds);
	}
	if (last)
		sq_ring(sq, head - sq->head, last, ds);
	return r;
}

int mlx5_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op)
{
	struct mlx5_tags *tags = ((struct mlx5_srq *)srq)->tags;
	int r;

	if (unlikely(!tags)) {
		verbs_err(srq->context, "srq %u: ibv_post_srq_ops: it does not match tags",
			  srq->handle);
		*bad_op = op;
		return EINVAL;
	}
	spinlock_lock(&tags->lock);
	r = ops_post(tags, op, bad_op);
	spinlock_unlock(&tags->lock);
	return r;
}

/* ---- completions */

bool mlx5_tag_in_srq(const struct mlx5_cqe64 *cqe)
{
	return cqe->op_own >> 4 != MLX5_CQE_NO_PACKET &&
	       (cqe->app_op == UNEXPECTED || cqe->app_op == NO_TAG);
}

/* Return whether this is the first of two completions of a receive. */
static bool is_first(uint8_t app_op)
{
	return app_op == CONSUMED || app_op == CONSUMED_RNDV;
}

static bool is_of_receive(uint8_t app_op)
{
	return is_first(app_op) || app_op == EXPECTED || (app_op >= MESSAGE && app_op <= CANCELED);
}

/* Complete a receive of the list. */
static bool receive_done(struct mlx5_tags *tags, struct mlx5_done *done,
			 const struct mlx5_cqe64 *cqe, const void *data)
{
	uint32_t index = be16toh(cqe->app_info), length = be32toh(cqe->byte_cnt);
	struct mlx5_tag *tag;

	if (index > tags->count)
		return false;
	tag = &tags->all[index];
	done->wr_id = tag->wr_id;
	/* The program removed the receive without a completion, but a message came first. */
	if (!tag->expected) {
		done->status = IBV_WC_GENERAL_ERR;
		return true;
	}
	if (cqe->app_op == CONSUMED_RNDV || cqe->app_op >= MESSAGE_RNDV)
		done->status = IBV_WC_TM_RNDV_INCOMPLETE;
	if (data && length > tag->size)
		done->status = IBV_WC_LOC_LEN_ERR;
	else if (data && length)
		memcpy(tag->data, data, length);
	if (!is_first(cqe->app_op))
		tag_free(tags, index);
	return true;
}

/* Complete an operation, and those before it. */
static bool op_done(struct mlx5_tags *tags, struct mlx5_done *done, const struct mlx5_cqe64 *cqe)
{
	bool good = be32toh(cqe->tm_cqe.success) & MLX5_TMC_SUCCESS;
	const struct mlx5_tag_op *op = &tags->ops[tags->op_head & tags->op_mask];

	if (tags->op_head == tags->op_tail)
		return false;
	tags->op_head++;
	if (cqe->app_op == REMOVED && !good)
		done->status = IBV_WC_TM_ERR;
	if (op->tag != MLX5_NO_TAG) {
		tags->sync_wanted =
			be16toh(cqe->tm_cqe.hw_phase_cnt) != tags->all[op->tag].unexpected;
		tag_free(tags, op->tag);
		/* No message will complete a receive that was removed. */
		if (cqe->app_op == REMOVED && good)
			tag_free(tags, op->tag);
	}
	/* release: pairs with the acquire in the next post, which writes the slots again */
	if (tags->qp)
		atomic_store_explicit(&tags->qp->sq.tail, op->head + 1, memory_order_release);
	done->wr_id = op->wr_id;
	return true;
}

bool mlx5_tag_read(struct mlx5_done *done, const struct mlx5_cqe64 *cqe, const void *data)
{
	struct mlx5_tags *tags = tags_of(done->qp);
	bool good = false;

	if (!tags)
		return false;
	done->status = IBV_WC_SUCCESS;
	done->vendor_err = 0;
	done->sent = false;
	spinlock_lock(&tags->lock);
	tags->sync_wanted = false;
	if (is_of_receive(cqe->app_op))
		good = receive_done(tags, done, cqe, data);
	else if (cqe->app_op >= APPENDED && cqe->app_op <= NOTHING_DONE)
		good = op_done(tags, done, cqe);
	spinlock_unlock(&tags->lock);
	return good;
}

void mlx5_tag_count(const struct mlx5_qp *qp, const struct mlx5_cqe64 *cqe)
{
	struct mlx5_tags *tags = tags_of(qp);

	if (!tags)
		return;
	spinlock_lock(&tags->lock);
	tags->sync_wanted = false;
	if (cqe->app_op == UNEXPECTED) {
		tags->arrived++;
		tags->sync_wanted = (int16_t)(tags->arrived - tags->dealt) > MOST_UNREPORTED;
	}
	spinlock_unlock(&tags->lock);
}

enum ibv_wc_opcode mlx5_tag_opcode(const struct mlx5_cqe64 *cqe)
{
	switch (cqe->app_op) {
	case APPENDED:
		return IBV_WC_TM_ADD;
	case REMOVED:
		return IBV_WC_TM_DEL;
	case NOTHING_DONE:
		return IBV_WC_TM_SYNC;
	case NO_TAG:
		return IBV_WC_TM_NO_TAG;
	default:
		return IBV_WC_TM_RECV;
	}
}

unsigned int mlx5_tag_wc_flags(const struct mlx5_qp *qp, const struct mlx5_cqe64 *cqe)
{
	const struct mlx5_tags *tags = tags_of(qp);
	unsigned int flags = tags && tags->sync_wanted ? IBV_WC_TM_SYNC_REQ : 0;

	if (is_first(cqe->app_op))
		return flags | IBV_WC_TM_MATCH;
	if (cqe->app_op == EXPECTED)
		return flags | IBV_WC_TM_DATA_VALID;
	return is_of_receive(cqe->app_op) ? flags | IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID : flags;
}

/* ---- creation */

/*
 * Connect the command queue pair to itself, because the adapter executes requests of connected
 * queue pairs only.
 */
static int command_up(struct mlx5_qp *qp, const struct ibv_port_attr *port)
{
	static const int masks[] = {
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	};
	struct ibv_qp_attr attr = { .port_num = 1 };
	const struct verbs_modify_qp *in;
	int r = 0;

	for (unsigned int i = 0; !r && i < ARRAY_SIZE(masks); i++) {
		attr.qp_state = IBV_QPS_INIT + i;
		in = &(struct verbs_modify_qp){ .attr = &attr, .mask = masks[i] };
		r = uverbs_modify_qp(&qp->vqp, in);
		attr.path_mtu = IBV_MTU_256;
		attr.dest_qp_num = qp->vqp.qp.qp_num;
		attr.ah_attr.dlid = port->lid;
		attr.ah_attr.port_num = 1;
	}
	return r;
}

static int command_make(struct mlx5_srq *srq, const struct ibv_srq_init_attr_ex *init,
			struct mlx5_qp **ret_qp)
{
	struct ibv_srq *ibsrq = &srq->srq.vsrq.srq;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = init->cq,
		.recv_cq = init->cq,
		.srq = ibsrq,
		.cap = { .max_send_wr = init->tm_cap.max_ops, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = ibsrq->pd,
	};
	const struct verbs_create_qp in = { .attr = &attr };
	struct ibv_port_attr port;
	struct ibv_qp *qp = NULL;
	int r = uverbs_query_port(ibsrq->context, 1, &port);

	if (!r)
		r = verbs_qp_create(ibsrq->context, "ibv_create_srq_ex", &in, &qp);
	if (r < 0)
		return r;
	r = command_up(to_mqp(qp), &port);
	if (r < 0) {
		verbs_err(ibsrq->context, "ibv_create_srq_ex: the queue pair for its list: %s",
			  strerror(-r));
		ibv_destroy_qp(qp);
		return r;
	}
	*ret_qp = to_mqp(qp);
	return 0;
}

void mlx5_tags_free(struct mlx5_srq *srq)
{
	struct mlx5_tags *tags = srq->tags;

	if (!tags)
		return;
	free(tags->ops);
	free(tags->all);
	free(tags);
	srq->tags = NULL;
}

/* Allocate the list. Requests have 16 bits for an index. */
static int list_make(struct mlx5_tags *tags, uint32_t count)
{
	if (count > UINT16_MAX)
		return -EINVAL;
	tags->all = calloc(count + 1, sizeof(*tags->all));
	if (!tags->all)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		tags->all[i].next = i + 1;
	tags->count = tags->last_free = count;
	return 0;
}

static int tags_make(struct mlx5_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	struct mlx5_tags *tags = srq->tags;
	int r = list_make(tags, attr->tm_cap.max_num_tags);

	if (!r)
		r = command_make(srq, attr, &tags->qp);
	if (r < 0)
		return r;
	tags->op_mask = tags->qp->sq.mask;
	tags->ops = calloc((size_t)tags->op_mask + 1, sizeof(*tags->ops));
	if (tags->ops)
		return 0;
	mlx5_tags_stop(srq);
	return -ENOMEM;
}

int mlx5_tags_make(struct mlx5_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	int r;

	srq->tags = calloc(1, sizeof(*srq->tags));
	r = srq->tags ? tags_make(srq, attr) : -ENOMEM;
	if (r < 0)
		mlx5_tags_free(srq);
	return r;
}

/* Set the command queue pair; NULL: none. Return: the previous one. */
static struct mlx5_qp *command_swap(struct mlx5_tags *tags, struct mlx5_qp *qp)
{
	struct mlx5_qp *old;

	spinlock_lock(&tags->lock);
	old = tags->qp;
	tags->qp = qp;
	spinlock_unlock(&tags->lock);
	return old;
}

int mlx5_tags_stop(struct mlx5_srq *srq)
{
	struct mlx5_qp *qp = srq->tags ? command_swap(srq->tags, NULL) : NULL;
	int r = qp ? ibv_destroy_qp(&qp->vqp.qp) : 0;

	if (r)
		command_swap(srq->tags, qp);
	return -r;
}
