/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tag matching: the adapter compares messages to an SRQ with a list of receives. Requests of a
 * hidden queue pair, the command queue pair, change the list. Formats of messages are in
 * infiniband/tm_types.h.
 */
#ifndef MLX5_TAG_H
#define MLX5_TAG_H

#include "providers/mlx5/done.h"
#include "providers/mlx5/srq.h"

/*
 * A receive of the list.
 * @expected: number of completions that still name it; 0: it is free
 * @unexpected: value of mlx5_tags.dealt when it was added
 * @data, @size: memory for data that the adapter writes into the completion
 */
struct mlx5_tag {
	uint64_t wr_id;
	void *data;
	uint32_t size;
	uint16_t unexpected;
	uint16_t expected;
	uint16_t next; /* in the list of free receives */
};

/* A change of the list that will complete. @tag: index of its receive, or MLX5_NO_TAG */
struct mlx5_tag_op {
	uint64_t wr_id;
	uint32_t head; /* requests posted before it */
	uint32_t tag;
};

enum {
	MLX5_NO_TAG = UINT16_MAX + 1,
};

/*
 * @lock: protects the other members and the send queue of @qp. It is taken after mlx_cq.lock
 * @qp: NULL: it is destroyed, and the SRQ will follow
 * @count: receives that the program may add; all[] has one entry more, which is never used
 * @first_free, @last_free: ends of the list of free receives. The adapter gets the index of the
 * entry behind each receive that is added, and therefore the order of the list matters
 * @arrived, @dealt: unexpected messages that were completed, and those of them that the program has
 * reported as processed
 * @sync_wanted: the last completion asks the program to report its count
 */
struct mlx5_tags {
	struct spinlock lock;
	struct mlx5_qp *qp;
	struct mlx5_tag *all;
	uint32_t count;
	uint16_t first_free, last_free;
	struct mlx5_tag_op *ops; /* a ring as large as the send queue */
	uint32_t op_head, op_tail, op_mask;
	uint16_t arrived, dealt;
	bool sync_wanted;
};

/* The kernel's SRQ exists: make the list and the command queue pair. */
int mlx5_tags_make(struct mlx5_srq *srq, const struct ibv_srq_init_attr_ex *attr);
/* Destroy the command queue pair. Posts are refused from then on, and polls still use the list. */
int mlx5_tags_stop(struct mlx5_srq *srq);
void mlx5_tags_free(struct mlx5_srq *srq);
int mlx5_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op);

/* Return whether a successful entry is about the list, or about a message with a header. */
static inline bool mlx5_is_tagged(const struct mlx5_qp *qp, const struct mlx5_cqe64 *cqe)
{
	return qp->extras & MLX5_EXTRA_TAGS && cqe->app == MLX5_CQE_APP_TAGS;
}

/* Return whether the message of an entry is in a receive of the SRQ, and not in one of the list. */
bool mlx5_tag_in_srq(const struct mlx5_cqe64 *cqe);
/*
 * Read an entry for which mlx5_is_tagged() is true, except for receives of the SRQ: complete its
 * receive or its operation. @data: bytes inside the entry, or NULL. Return: whether it is valid.
 */
bool mlx5_tag_read(struct mlx5_done *done, const struct mlx5_cqe64 *cqe, const void *data);
/* Count a message to the SRQ. */
void mlx5_tag_count(const struct mlx5_qp *qp, const struct mlx5_cqe64 *cqe);
enum ibv_wc_opcode mlx5_tag_opcode(const struct mlx5_cqe64 *cqe);
unsigned int mlx5_tag_wc_flags(const struct mlx5_qp *qp, const struct mlx5_cqe64 *cqe);

#endif
