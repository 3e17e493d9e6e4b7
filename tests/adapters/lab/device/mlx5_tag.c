/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tag matching of mlx5: requests that change the list of an SRQ, and completions of it. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/device/mlx5.h"
#include "tests/adapters/lab/model/tag.h"

enum {
	LIST_NOP = 0,
	LIST_APPEND,
	LIST_REMOVE,
	FLAG_COMPLETE = 0x80,
	FLAG_COUNT = 0x40,
	/* bytes of an operation; an operation that adds a receive has its buffer behind them */
	SEGMENT = 32,
	APP_TAGS = 1,
};

static const uint32_t succeeded = 1u << 31;

/* Values of the byte of an entry that names the event. */
static const uint8_t app_ops[] = {
	[TAG_ADDED] = 5,      [TAG_REMOVED] = 6, [TAG_SYNCED] = 7,    [TAG_MATCHED] = 1,
	[TAG_FETCHED] = 2,    [TAG_WHOLE] = 10,	 [TAG_SOFTWARE] = 11, [TAG_CANCELED] = 12,
	[TAG_UNEXPECTED] = 3, [TAG_NONE] = 4,
};

void mlx5_tagged(struct object *cq, const struct tagged *what)
{
	bool operation = what->event <= TAG_SYNCED;
	bool packet = !operation && what->event != TAG_MATCHED;
	struct mlx5_cqe cqe = {
		.srqn_uidx = htobe32(what->srq->user_index),
		.tag = htobe32((uint32_t)APP_TAGS << 24 | app_ops[what->event] << 16 | what->index),
		.byte_count = htobe32(what->length),
		.timestamp = htobe64(mlx5_clock_now()),
		.opcode_qpn = htobe32(what->qp_num),
		.wqe_counter = htobe16(what->index),
	};
	const uint32_t good = htobe32(what->good ? succeeded : 0);
	const uint16_t unexpected = htobe16(what->unexpected);

	if (operation) {
		memcpy(cqe.path, &good, sizeof(good));
		memcpy(cqe.path + sizeof(good), &unexpected, sizeof(unexpected));
	} else if (what->header) {
		memcpy(cqe.path, what->header, sizeof(*what->header));
	}
	mlx5_write_cqe(cq, &cqe, packet ? CQE_RESP_SEND : CQE_NO_PACKET, 0);
}

int mlx5_tag_op(struct object *qp, const uint8_t *segment, size_t length)
{
	struct object *srq = qp->srq && qp->srq->tags ? qp->srq : NULL;
	struct tagged done = { .srq = srq, .qp_num = qp->number, .good = true };
	uint16_t index;

	if (!srq || length < SEGMENT)
		return -EINVAL;
	if (!device->room(srq->recv_cq))
		return 0;
	index = get16(segment + 2);
	if (segment[1] & FLAG_COUNT)
		model_tag_sync(srq, get16(segment + 6));
	switch (segment[0] >> 4) {
	case LIST_NOP:
		done.event = TAG_SYNCED;
		break;
	case LIST_APPEND:
		if (length < SEGMENT + SGE_SIZE)
			return -EINVAL;
		done.event = TAG_ADDED;
		model_tag_add(srq, index, get64(segment + 16), get64(segment + 24),
			      &(struct ibv_sge){ .addr = get64(segment + 40),
						 .length = get32(segment + 32),
						 .lkey = get32(segment + 36) });
		break;
	case LIST_REMOVE:
		done.event = TAG_REMOVED;
		done.good = model_tag_remove(srq, index);
		break;
	default:
		return -EINVAL;
	}
	done.unexpected = model_tag_unexpected(srq);
	if (segment[1] & FLAG_COMPLETE)
		mlx5_tagged(srq->recv_cq, &done);
	return 1;
}
